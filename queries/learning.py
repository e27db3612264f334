"""Words that a query learns from its best documents, as clauses that the server has room for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from cptw_queries.builders import Clause, bm25_query
from cptw_queries.expansion import learn
from cptw_queries.fitting import FittedQuery, prune_to_fit
from cptw_search.feedback import LEARNED_TERMS
from cptw_search.model import Cptw

__all__ = ["Learner"]


class Learner:
    """Makes queries of documents.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    limit : int
        How many clauses the server takes in one request. At most a third of them are learned words, so that the query
        itself has room.

    Attributes
    ----------
    pruned : list of FittedQuery
        The queries so far that learned more words than there was room for.
    """

    def __init__(self, model: Cptw, limit: int) -> None:
        self._model = model
        self.n_terms = max(1, min(LEARNED_TERMS, limit // 3))
        self.pruned: list[FittedQuery] = []

    @property
    def fields(self) -> list[str]:
        """What has to be known of a document: the model's text fields."""
        return sorted(self._model.text_fields)

    def learn(self, documents: Sequence[Mapping[str, object]], scores: Sequence[float]) -> Clause | None:
        """Make a query of the words of the best documents.

        Parameters
        ----------
        documents : sequence of mapping
            The documents as they are stored.
        scores : sequence of float
            Their scores, not negative.

        Returns
        -------
        dict or None
            A clause; None where there is nothing to learn.
        """
        terms = learn(self._model, documents, scores)
        fitted = prune_to_fit(terms.boosts, self.n_terms, importance=terms.importance)
        self.pruned += [fitted] if fitted.n_dropped else []
        return bm25_query(fitted.weights) if fitted.weights else None
