"""Classification by nearest neighbours, over any backend: the labels live in the index."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cptw_search.backend import Hit, SearchBackend
from cptw_search.errors import InvalidInputError, check_choice
from cptw_search.estimator import Estimator
from cptw_search.neighbours import VOTES, vote_weights

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from cptw_search.counting import Document

__all__ = ["KnnClassifier", "vote"]


def vote(hits: Sequence[Hit], label_field: str, votes: str) -> dict[str, float]:
    """Add up the votes of neighbours.

    Parameters
    ----------
    hits : sequence of Hit
        The neighbours.
    label_field : str
        The field that holds the label; neighbours without one do not vote.
    votes : {"distance", "similarity", "uniform"}
        How much a vote counts. With ``"distance"``, neighbours at distance 0 outvote all others, as in scikit-learn.

    Returns
    -------
    dict
        Labels to their share of the votes; empty where nobody voted.

    Examples
    --------
    >>> hits = [Hit("a", 0.9, {"label": "x"}), Hit("b", 0.5, {"label": "y"}), Hit("c", 0.5, {"label": "y"})]
    >>> vote(hits, "label", "uniform")["y"]
    0.6666666666666666
    >>> vote(hits, "label", "distance")["x"] > 0.5  # sqrt(2 - 2 * 0.9) = 0.45 against 1 and 1
    True
    """
    labelled = [(str(hit.fields[label_field]), hit.score) for hit in hits if hit.fields.get(label_field) is not None]
    if not labelled:
        return {}
    weights = vote_weights(np.array([[score for _, score in labelled]]), votes)[0]
    shares: dict[str, float] = {}
    for (label, _), weight in zip(labelled, (weights / weights.sum()).tolist(), strict=True):
        shares[label] = shares.get(label, 0.0) + weight
    return shares


class KnnClassifier(Estimator):
    """Labels texts by the labels of the most similar documents of an index.

    There is nothing to fit: a labelled document that is added to the index counts at once.

    Parameters
    ----------
    backend : SearchBackend
        An `EmbeddedIndex` or a cluster's index.
    k : int, default 11
        How many neighbours vote.
    votes : {"distance", "similarity", "uniform"}, default "distance"
        How much a neighbour's vote counts. ``"distance"`` needs scores that are cosines.
    label_field : str, default "label"
        The field of the documents that holds the label.

    Examples
    --------
    >>> from cptw_search import Cptw, EmbeddedIndex, KnnClassifier
    >>> documents = [{"id": 1, "text": "a boat at sea", "label": "water"}, {"id": 2, "text": "my cat", "label": "pets"}]
    >>> index = EmbeddedIndex.build(Cptw(vectors=None).fit(documents), documents)
    >>> classifier = KnnClassifier(index, k=1)
    >>> classifier.predict(["boats", "cats"]).tolist()
    ['water', 'pets']
    >>> index.add([{"id": 3, "text": "aeroplanes", "label": "air"}])
    1
    >>> classifier.predict(["an aeroplane"]).tolist()
    ['air']
    """

    def __init__(
        self, backend: SearchBackend, *, k: int = 11, votes: str = "distance", label_field: str = "label"
    ) -> None:
        self.backend = backend
        self.k = k
        self.votes = votes
        self.label_field = label_field

    def fit(self, documents: object = None, y: object = None) -> KnnClassifier:
        """Do nothing: the index is what it learned from.

        Parameters
        ----------
        documents : object, optional
            Ignored.
        y : object, optional
            Ignored.

        Returns
        -------
        KnnClassifier
            Itself.
        """
        return self

    @property
    def classes_(self) -> npt.NDArray[np.object_]:
        """The labels in the index, sorted."""
        return np.array(self.backend.values(self.label_field), dtype=object)

    def vote_many(self, documents: Sequence[Document]) -> list[dict[str, float]]:
        """Give the votes for each text.

        Parameters
        ----------
        documents : sequence of str or mapping
            Texts, or mappings with the model's fields.

        Returns
        -------
        list of dict
            Labels to their share of the votes; empty for a text that is similar to nothing.

        Raises
        ------
        InvalidInputError
            If a parameter or a text cannot be used.
        """
        check_choice("votes", self.votes, VOTES)
        if self.votes == "distance" and not self.backend.model.unit_length:
            raise InvalidInputError(
                "votes='distance' needs scores that are cosines. The index's model has bare rows (weighting 'bm25' or "
                "row_norm 'none'): use votes='similarity' or 'uniform'."
            )
        hits = self.backend.search_many(documents, self.k, method="cptw")
        return [vote(neighbours, self.label_field, self.votes) for neighbours in hits]

    def predict(self, documents: Sequence[Document]) -> npt.NDArray[np.object_]:
        """Give each text the label with the most votes.

        Parameters
        ----------
        documents : sequence of str or mapping
            As for `vote_many`.

        Returns
        -------
        ndarray of str
            Labels; of labels with equal votes the first by name, and where nobody votes (a text that is similar to
            nothing) the commonest label of the index.
        """
        predicted = [
            min(votes, key=lambda label: (-votes[label], label), default=None) for votes in self.vote_many(documents)
        ]
        if None in predicted:
            fallback = self._commonest_label()
            predicted = [fallback if label is None else label for label in predicted]
        return np.array(predicted, dtype=object)

    def predict_proba(self, documents: Sequence[Document]) -> npt.NDArray[np.float64]:
        """Give each text the share of votes of every label.

        Parameters
        ----------
        documents : sequence of str or mapping
            As for `vote_many`.

        Returns
        -------
        ndarray of shape (n_documents, n_classes)
            Columns in the order of `classes_`; rows add up to 1. Where nobody votes, all labels have the same share.
        """
        labels = {label: column for column, label in enumerate(self.classes_)}
        shares = np.zeros((len(documents), len(labels)))
        for row, votes in enumerate(self.vote_many(documents)):
            for label, share in votes.items():
                shares[row, labels[label]] = share
            if not votes and labels:
                shares[row] = 1 / len(labels)
        return shares

    def score(self, documents: Sequence[Document], y: Sequence[str]) -> float:
        """Give the share of texts whose label is predicted rightly (micro F1).

        Parameters
        ----------
        documents : sequence of str or mapping
            As for `vote_many`.
        y : sequence of str
            Their labels.

        Returns
        -------
        float
            0 to 1.

        Raises
        ------
        InvalidInputError
            If there are not as many labels as texts, or none.
        """
        if len(documents) != len(y) or not len(y):
            raise InvalidInputError(
                f"score needs as many labels as texts, at least one. Got {len(documents)} texts and {len(y)} labels."
            )
        right = self.predict(documents) == np.array([str(label) for label in y], dtype=object)
        return float(np.mean(right))

    def _commonest_label(self) -> str:
        labels = self.backend.values(self.label_field)
        if not labels:
            raise InvalidInputError(
                f"The index must hold documents with a {self.label_field!r} to classify by. It holds none: add some, or name "
                "the field with label_field."
            )
        counts = {label: self.backend.count({self.label_field: label}) for label in labels}
        return min(counts, key=lambda label: (-counts[label], label))

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import ClassifierTags, InputTags, Tags, TargetTags

        return Tags(
            estimator_type="classifier",
            target_tags=TargetTags(required=False),
            classifier_tags=ClassifierTags(),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
            requires_fit=False,
        )
