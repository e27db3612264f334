"""Queries that learn more words from the best documents of a first search.

`rm3` is what people compare with: the relevance model of Lavrenko and Croft, mixed with the query as Abdul-Jaleel et al.
did, with the details of Anserini. `learn_words` is ours: it trusts a document the more, the closer its score comes to the
best one, so that a query with one clear answer learns from that answer alone. docs/retrieval.md compares them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.errors import InvalidInputError
from cptw_search.placement import row_lengths
from cptw_search.pruning import Pruning, prune

__all__ = [
    "FEEDBACK_DOCS",
    "FEEDBACK_TERMS",
    "LEARNED_SHARE",
    "LEARNED_TERMS",
    "MAX_DOCUMENT_SHARE",
    "QUERY_WEIGHT",
    "SHARPNESS",
    "TEACHER_LAMBDA",
    "learn_words",
    "rm3",
]

FEEDBACK_DOCS = 10
"""How many of the best documents teach words."""

FEEDBACK_TERMS = 10
"""How many words RM3 learns."""

QUERY_WEIGHT = 0.5
"""The share of the query as typed in RM3's new one."""

MAX_DOCUMENT_SHARE = 0.1
"""RM3 learns no word of more than this share of all documents: it would be a stop word of the collection."""

LEARNED_TERMS = 100
"""How many words `learn_words` learns."""

SHARPNESS = 8.0
"""The power of a document's score, relative to the best one, by which `learn_words` trusts it."""

LEARNED_SHARE = 0.8
"""The share of the learned words in the method ``hybrid+feedback``; the rest is the first search's score."""

TEACHER_LAMBDA = 0.1
"""The share of CPTW, at most, in choosing the documents that teach: a word that is only similar finds good answers, but
makes poor teachers."""


def rm3(
    query: sp.csr_matrix,
    feedback: sp.csr_matrix,
    scores: Sequence[float] | npt.NDArray[np.float64],
    *,
    n_terms: int = FEEDBACK_TERMS,
    query_weight: float = QUERY_WEIGHT,
) -> sp.csr_matrix:
    """Expand a query by the words of the documents that it found.

    With p(w|d) the share of w among the ``n_terms`` commonest words of d, and s(d) the document's score, the relevance
    model is p(w|R) = sum over d of p(w|d) s(d), cut to its ``n_terms`` heaviest words and scaled to sum 1. The new query
    is ``query_weight`` p(w|q) + (1 - ``query_weight``) p(w|R).

    Parameters
    ----------
    query : csr_matrix of shape (1, n_columns)
        The query's term counts.
    feedback : csr_matrix of shape (n_docs, n_columns)
        The term counts of the best documents, over the same columns; without the words that may not be learned.
    scores : sequence of float
        The documents' scores, not negative.
    n_terms : int, default 10
        How many words are learned at most; of equal ones the first columns.
    query_weight : float, default 0.5
        The share of the query as typed, 0 to 1.

    Returns
    -------
    csr_matrix of shape (1, n_columns)
        The weights of the new query, which sum to 1. Where there is nothing to learn, the query's alone.

    Raises
    ------
    InvalidInputError
        If the shapes do not belong together, a score is negative, or a number is out of range.

    References
    ----------
    V. Lavrenko, W. B. Croft, "Relevance-Based Language Models", SIGIR 2001.
    N. Abdul-Jaleel et al., "UMass at TREC 2004: Novelty and HARD", TREC 2004.
    P. Yang, H. Fang, J. Lin, "Anserini: Reproducible Ranking Baselines Using Lucene", JDIQ 2018.

    Examples
    --------
    >>> query = sp.csr_matrix([[1.0, 0.0, 0.0]])
    >>> feedback = sp.csr_matrix([[1.0, 1.0, 0.0], [1.0, 0.0, 3.0]])
    >>> rm3(query, feedback, [2.0, 2.0]).toarray()  # p(w|R) is 3/8, 1/4, 3/8
    array([[0.6875, 0.125 , 0.1875]])
    """
    weights = np.asarray(scores, dtype=np.float64)
    _check(query, feedback, weights, query_weight)
    pruning = Pruning(max_terms=n_terms)
    typed = _unit_sum(query)
    documents = _unit_sum(prune(feedback, pruning))
    learned = _unit_sum(prune(sp.csr_matrix(sp.csr_matrix(weights[np.newaxis, :]) @ documents), pruning))
    if not learned.nnz:
        return typed
    mixed = sp.csr_matrix(query_weight * typed + (1 - query_weight) * learned)
    mixed.eliminate_zeros()
    return mixed


def learn_words(
    documents: sp.csr_matrix,
    scores: Sequence[float] | npt.NDArray[np.float64],
    *,
    n_terms: int = LEARNED_TERMS,
    sharpness: float = SHARPNESS,
) -> sp.csr_matrix:
    """Make a query of the words of the best documents.

    With s(d) a document's score and s* the best one, d counts (s(d) / s*) ** ``sharpness``: the sum of the documents' unit
    vectors, weighted by that, is cut to its ``n_terms`` heaviest words.

    Parameters
    ----------
    documents : csr_matrix of shape (n_docs, n_columns)
        The weights of the words of the best documents, not negative.
    scores : sequence of float
        The documents' scores, not negative.
    n_terms : int, default 100
        How many words are learned at most; of equal ones the first columns.
    sharpness : float, default 8.0
        At 0 all documents count alike; the larger, the more the best one alone.

    Returns
    -------
    csr_matrix of shape (1, n_columns)
        The weights of the learned words, which sum to 1; empty where there is nothing to learn.

    Raises
    ------
    InvalidInputError
        If there is not one score a document, or one is negative, or ``sharpness`` is.

    Examples
    --------
    >>> documents = sp.csr_matrix([[1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])
    >>> learn_words(documents, [2.0, 2.0], sharpness=1.0).toarray().round(3)  # unit vectors 0.707, 0.707, 0 and 0, 0, 1
    array([[0.293, 0.293, 0.414]])
    >>> learn_words(documents, [2.0, 1.0], sharpness=8.0).toarray().round(3)
    array([[0.499, 0.499, 0.003]])
    """
    relative = np.asarray(scores, dtype=np.float64)
    _check_scores(relative, documents.shape[0])
    if not sharpness >= 0:
        raise InvalidInputError(f"sharpness must be a number >= 0. Got {sharpness!r} instead.")
    best = relative.max(initial=0.0)
    trust = (relative / best) ** sharpness if best > 0 else relative
    lengths = row_lengths(documents)
    factors = np.divide(trust, lengths, where=lengths > 0, out=np.zeros_like(lengths))
    learned = sp.csr_matrix(sp.csr_matrix(factors[np.newaxis, :]) @ documents)
    return _unit_sum(prune(learned, Pruning(max_terms=n_terms)))


def _check(query: sp.csr_matrix, feedback: sp.csr_matrix, scores: npt.NDArray[np.float64], query_weight: float) -> None:
    if query.shape != (1, feedback.shape[1]):
        raise InvalidInputError(
            f"rm3 needs one query and documents over the same columns. Got the shapes {query.shape} and {feedback.shape}."
        )
    _check_scores(scores, feedback.shape[0])
    if not 0 <= query_weight <= 1:
        raise InvalidInputError(f"query_weight must be a number from 0 to 1. Got {query_weight!r} instead.")


def _check_scores(scores: npt.NDArray[np.float64], n_docs: int) -> None:
    if scores.shape != (n_docs,) or not ((scores >= 0) & (scores < np.inf)).all():
        raise InvalidInputError(
            f"Feedback needs one score a document ({n_docs}), finite and not negative. Got {scores.tolist()}."
        )


def _unit_sum(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Scale each row to the sum 1; rows without entries stay."""
    sums = np.asarray(rows.sum(axis=1), dtype=np.float64).ravel()
    inverse = np.divide(1.0, sums, where=sums > 0, out=np.zeros_like(sums))
    data = rows.data * np.repeat(inverse, np.diff(rows.indptr))
    # a copy: eliminate_zeros writes into these arrays, and `prune` gives back the caller's where nothing is dropped
    scaled = sp.csr_matrix((data, rows.indices, rows.indptr), shape=rows.shape, copy=True)
    scaled.eliminate_zeros()
    return scaled
