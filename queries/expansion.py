"""Queries as weighted terms: the model's part of a search, before anything is sent or when its first answer is in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.backend import BM25_SCALE
from cptw_search.bm25 import bm25_document_weights, bm25_idf
from cptw_search.counting import TermNames
from cptw_search.feedback import learn_words
from cptw_search.model import Cptw
from cptw_search.pruning import Pruning, prune

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["ExpandedQuery", "LearnedQuery", "expand", "known_scales", "learn"]

LEAST_WEIGHT = 1.1754944e-38  # of a normal float32, which the servers compute with


class ExpandedQuery(NamedTuple):
    """A query's terms.

    Attributes
    ----------
    weights : dict
        Propagated terms to weights above 0, for the field of weights.
    counts : dict
        The query's own terms to their counts, for BM25.
    importance : dict
        The query's own terms to counts times BM25's IDF in the model, which decides what a long query keeps.
    """

    weights: dict[str, float]
    counts: dict[str, float]
    importance: dict[str, float]


def expand(
    model: Cptw, queries: Sequence[Document], placement: str | None, pruning: Pruning | None = None
) -> list[ExpandedQuery]:
    """Turn queries into weighted terms.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    queries : sequence of str or mapping
        Texts or documents.
    placement : {"query", "both", "document"} or None
        Where the propagation is done; None: nowhere, and there are no weights.
    pruning : Pruning, optional
        What is kept of propagated queries.

    Returns
    -------
    list of ExpandedQuery
        One a query; weights are those of max(M, 0), for servers store no negative ones.

    Examples
    --------
    >>> from cptw_search import Cptw, WordVectors
    >>> vectors = WordVectors(["boat", "ship"], [[1, 0], [4, 3]])
    >>> model = Cptw(vectors=vectors, tau=0.5).fit(["a boat", "the ship"])
    >>> (query,) = expand(model, ["two boats"], "both")
    >>> {term: round(weight, 2) for term, weight in query.weights.items()}, query.counts
    ({'boat': 0.55, 'ship': 0.44, 'two': 0.71}, {'boat': 1.0, 'two': 1.0})
    """
    counts = model.count(queries)
    matrix = counts.matrix
    if placement is None:
        rows = sp.csr_matrix(matrix.shape)
    else:
        rows = model.represent_counts(matrix, "query", placement, True)
    if pruning is not None:
        rows = prune(rows, pruning)
    names = TermNames(model.vocabulary_, counts.unknown)
    # The IDF of these terms alone: that of the whole vocabulary takes longer than all the rest of a short query.
    weighted = matrix.data * bm25_idf(model.document_frequencies(matrix.indices), model.n_docs_)
    return [
        ExpandedQuery(
            _row(rows, rows.data, n, names), _row(matrix, matrix.data, n, names), _row(matrix, weighted, n, names)
        )
        for n in range(rows.shape[0])
    ]


class LearnedQuery(NamedTuple):
    """Terms that were learned from documents.

    Attributes
    ----------
    boosts : dict
        Terms to what the server's BM25 of each is multiplied by.
    importance : dict
        Terms to their weights in `EmbeddedIndex`, which hold the IDF; they decide what is kept.
    """

    boosts: dict[str, float]
    importance: dict[str, float]


def learn(model: Cptw, documents: Sequence[Mapping[str, object]], scores: Sequence[float]) -> LearnedQuery:
    """Make a query of the words of the best documents, as `EmbeddedIndex` does for ``"hybrid+feedback"``.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    documents : sequence of mapping
        The best documents as they are stored; one without a text teaches nothing.
    scores : sequence of float
        Their scores, not negative.

    Returns
    -------
    LearnedQuery
        At most `cptw_search.feedback.LEARNED_TERMS` terms; none where there is nothing to learn.

    Examples
    --------
    >>> model = Cptw(vectors=None).fit(["a boat at sea", "the boat"])
    >>> learned = learn(model, [{"text": "a boat at sea"}], [0.8])
    >>> {term: round(boost, 2) for term, boost in learned.boosts.items()}  # each occurs once
    {'boat': 1.14, 'sea': 1.14}
    >>> {term: round(weight, 2) for term, weight in learned.importance.items()}
    {'boat': 0.21, 'sea': 0.79}
    """
    fields = sorted(model.text_fields)
    texts = [{name: text for name in fields if isinstance(text := found.get(name), str)} for found in documents]
    counts = model.count([text or "" for text in texts])
    weights = bm25_document_weights(counts.matrix, model.average_length_, *model.bm25_parameters)
    weights.data = weights.data * bm25_idf(model.document_frequencies(weights.indices), model.n_docs_)
    learned = learn_words(weights, scores)
    learned.sort_indices()
    names = TermNames(model.vocabulary_, counts.unknown)
    terms = [names[column] for column in learned.indices.tolist()]
    # The server multiplies by its IDF: the model's goes out again.
    boosts = learned.data / bm25_idf(model.document_frequencies(learned.indices), model.n_docs_)
    return LearnedQuery(
        {term: boost for term, boost in zip(terms, boosts.tolist(), strict=True) if boost >= LEAST_WEIGHT},
        dict(zip(terms, learned.data.tolist(), strict=True)),
    )


def known_scales(model: Cptw, query: Document) -> tuple[float, float]:
    """Give the scales of ``"hybrid"`` that are known before a search, so that it takes one request.

    BM25 is the product of the query's IDF vector with a document's frequencies, and CPTW a cosine: divided by the length
    of that vector, times `BM25_SCALE`, BM25 has about CPTW's scale.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    query : str or mapping
        The query.

    Returns
    -------
    cptw : float
        CPTW's scale, which is 1.
    bm25 : float
        BM25's.

    Examples
    --------
    >>> model = Cptw(vectors=None).fit(["a boat at sea", "the boat"])
    >>> cptw, bm25 = known_scales(model, "boat sea")
    >>> cptw, round(bm25, 2)
    (1.0, 2.51)
    """
    counts = model.count([query]).matrix
    weights = counts.data * bm25_idf(model.document_frequencies(counts.indices), model.n_docs_)
    length = float(np.linalg.norm(weights))
    return 1.0, BM25_SCALE * length if length > 0 else 1.0


def _row(matrix: sp.csr_matrix, data: npt.NDArray[np.float64], number: int, names: TermNames) -> dict[str, float]:
    """Name the terms of a row, with their entries of ``data``."""
    row = slice(matrix.indptr[number], matrix.indptr[number + 1])
    pairs = zip(matrix.indices[row].tolist(), data[row].tolist(), strict=True)
    return {names[column]: weight for column, weight in pairs if weight >= LEAST_WEIGHT}
