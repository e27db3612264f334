"""Why a document matches: the exact share that each pair of words has in a score.

With w the weights of the two texts (counts, or BM25's weights) and M the model's operator,

    score(q, d) = sum over k, l of  w_q(k) w_d(l) (M M')[k, l] / (|w_q M| |w_d M|)

without the division where the model does not bring rows to unit length. Each summand is the share of query term k
and document term l. That is no approximation, and it is the same in every placement. A summand is itself a sum,
(M M')[k, l] = sum over j of M[k, j] M[l, j]: the weight meets in term j. An unknown word meets itself alone.

What an engine prunes or rounds is not in it: the explanation is that of the model's own score. The scores of hybrid
methods are mixtures of several such sums: `cptw_search.explain_mixed` puts them together.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.counting import Document, TermNames
from cptw_search.errors import InvalidInputError
from cptw_search.model import Cptw
from cptw_search.propagation import Propagation

__all__ = [
    "DocumentTermShare",
    "Explanation",
    "Meeting",
    "QueryTermShare",
    "TermMatch",
    "explain",
    "surface_words",
]

DIRECT = "direct"
NEIGHBOUR = "neighbour"
SHARED_NEIGHBOURS = "shared neighbours"
PROPAGATED = "propagated"
LEARNED = "learned"

IntArray = npt.NDArray[np.integer[Any]]
FloatArray = npt.NDArray[np.float64]


class Meeting(NamedTuple):
    """A term in which the weights of a query term and a document term meet.

    Attributes
    ----------
    term : str
        A neighbour of both, or one of the two.
    share : float
        What it adds to the score.
    """

    term: str
    share: float


@dataclass(frozen=True)
class TermMatch:
    """What one query term and one document term add to the score.

    Parameters
    ----------
    query_term : str
        Term of the query.
    document_term : str
        Term of the document.
    words : tuple of str
        The document's words that are counted as that term, the most frequent first.
    cosine : float
        The similarity of the two terms: 1 for the same term, the cosine for neighbours, 0 for terms that only have
        neighbours in common.
    share : float
        The contribution to the score; negative where the weighting is.
    via : tuple of Meeting
        The terms in which the two weights of CPTW meet, the heaviest first; not all of them, so their shares add up to
        what CPTW gives only if there are few.
    is_learned : bool, default False
        Whether the term is not the query's own: the query learned it from its best documents.
    """

    query_term: str
    document_term: str
    words: tuple[str, ...]
    cosine: float
    share: float
    via: tuple[Meeting, ...]
    is_learned: bool = False

    @property
    def kind(self) -> str:
        """How the terms are related: "direct" (the same), "neighbour" or "shared neighbours"; or "learned"."""
        if self.is_learned:
            return LEARNED
        if self.query_term == self.document_term:
            return DIRECT
        return NEIGHBOUR if self.cosine else SHARED_NEIGHBOURS

    def to_dict(self) -> dict[str, object]:
        """Give plain data.

        Returns
        -------
        dict
            What JSON can hold.
        """
        return {
            "document_term": self.document_term,
            "words": list(self.words),
            "kind": self.kind,
            "cosine": self.cosine,
            "share": self.share,
            "via": [meeting._asdict() for meeting in self.via],
        }


@dataclass(frozen=True)
class QueryTermShare:
    """What one term of the query adds to the score.

    Parameters
    ----------
    term : str
        The term.
    words : tuple of str
        The query's words that are counted as that term, the most frequent first; none for a term that it learned.
    count : float
        How often it occurs in the query; 0 for a term that it learned.
    share : float
        The sum of its matches' shares.
    matches : tuple of TermMatch
        The document terms that it reaches, the heaviest first; empty if there is none.
    """

    term: str
    words: tuple[str, ...]
    count: float
    share: float
    matches: tuple[TermMatch, ...]

    def to_dict(self) -> dict[str, object]:
        """Give plain data.

        Returns
        -------
        dict
            What JSON can hold.
        """
        return {
            "term": self.term,
            "words": list(self.words),
            "count": self.count,
            "share": self.share,
            "matches": [match.to_dict() for match in self.matches],
        }


@dataclass(frozen=True)
class DocumentTermShare:
    """What one term of the document adds to the score.

    Parameters
    ----------
    term : str
        The term.
    words : tuple of str
        The document's words that are counted as that term, the most frequent first.
    share : float
        The sum of its matches' shares.
    matches : tuple of TermMatch
        One for each query term that reaches it, the heaviest first.
    """

    term: str
    words: tuple[str, ...]
    share: float
    matches: tuple[TermMatch, ...]

    @property
    def kind(self) -> str:
        """Whether the query has the same term: "direct"; else "propagated", or "learned" if it is no more than that."""
        kinds = {match.kind for match in self.matches}
        return DIRECT if DIRECT in kinds else LEARNED if kinds == {LEARNED} else PROPAGATED


@dataclass(frozen=True)
class Explanation:
    """A score, taken apart.

    Parameters
    ----------
    score : float
        What the query and the document get.
    query_terms : tuple of QueryTermShare
        Every term of the query, and the terms that it learned as far as the document has them, the heaviest first. Their
        shares add up to the score.
    parts : mapping of str to float, optional
        What ``"cptw"``, ``"bm25"`` and ``"learned"`` (the words that the query learned) add to the score, as far as the
        method has them.
    """

    score: float
    query_terms: tuple[QueryTermShare, ...]
    parts: Mapping[str, float] = field(default_factory=dict, hash=False)

    @property
    def matches(self) -> tuple[TermMatch, ...]:
        """All matches of all query terms."""
        return tuple(match for term in self.query_terms for match in term.matches)

    @property
    def direct(self) -> float:
        """The part of the score that words have which query and document share."""
        return math.fsum(match.share for match in self.matches if match.kind == DIRECT)

    @property
    def propagated(self) -> float:
        """The part of the score that a bag of words would not see."""
        return math.fsum(match.share for match in self.matches if match.kind not in (DIRECT, LEARNED))

    @property
    def learned(self) -> float:
        """The part of the score of words that the query does not have, but learned from its best documents."""
        return math.fsum(match.share for match in self.matches if match.kind == LEARNED)

    def document_terms(self) -> tuple[DocumentTermShare, ...]:
        """Take the score apart by the terms of the document.

        Returns
        -------
        tuple of DocumentTermShare
            Every document term with a match, the heaviest first. Their shares, too, add up to the score.
        """
        by_term: dict[str, list[TermMatch]] = {}
        for match in self.matches:
            by_term.setdefault(match.document_term, []).append(match)
        shares = []
        for term, matches in by_term.items():
            matches.sort(key=lambda match: (-abs(match.share), match.query_term))
            total = math.fsum(match.share for match in matches)
            shares.append(DocumentTermShare(term, matches[0].words, total, tuple(matches)))
        return tuple(sorted(shares, key=lambda share: (-abs(share.share), share.term)))

    def to_dict(self) -> dict[str, object]:
        """Give plain data, for JSON.

        Returns
        -------
        dict
            Numbers, strings, lists and dicts alone.
        """
        return {
            "score": self.score,
            "direct": self.direct,
            "propagated": self.propagated,
            "learned": self.learned,
            "parts": dict(self.parts),
            "query_terms": [term.to_dict() for term in self.query_terms],
        }


def explain(
    model: Cptw, query: Document, document: Document, *, nonnegative: bool = False, max_via: int = 3
) -> Explanation:
    """Take the score of a query and a document apart.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    query : str or mapping
        The query.
    document : str or mapping
        The document, as it was given to the index.
    nonnegative : bool, default False
        Explain the score with max(M, 0) in place of M, as an engine has it that stores no negative weights.
    max_via : int, default 3
        How many terms `TermMatch.via` names at most.

    Returns
    -------
    Explanation
        The score and the shares that add up to it. A pair of terms without a share is left out, unless it is the
        same term in both: that match is listed even when it weighs nothing, such as a word of every document with
        an IDF weighting.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the query or the document is no text and no mapping with one of the model's fields, or ``max_via`` is
        negative.

    Examples
    --------
    >>> from cptw_search import Cptw, WordVectors
    >>> vectors = WordVectors(["boat", "ship", "cat"], [[1, 0], [0.8, 0.6], [-1, 1]])
    >>> model = Cptw(vectors=vectors, tau=0.5).fit(["a boat", "the ship", "a cat"])
    >>> explanation = explain(model, "boats", "Ships and cats")
    >>> match = explanation.query_terms[0].matches[0]
    >>> match.words, match.kind, round(match.cosine, 4)
    (('ships',), 'neighbour', 0.8)
    >>> round(match.share, 4), round(explanation.score, 4)
    (0.6899, 0.6899)
    """
    for name, text in (("query", query), ("document", document)):
        if not isinstance(text, (str, Mapping)):
            raise InvalidInputError(
                f"{name} must be a string or a mapping of fields. Got {type(text).__name__} instead: give one text."
            )
    if not isinstance(max_via, int) or isinstance(max_via, bool) or max_via < 0:
        raise InvalidInputError(f"max_via must be a whole number >= 0. Got {max_via!r} instead.")

    counts = model.count([query, document])
    # Each side in the placement that leaves it unpropagated: w / |w M|.
    query_row = model.represent_counts(counts.matrix[[0]], "query", "document", nonnegative)
    document_row = model.represent_counts(counts.matrix[[1]], "document", "query", nonnegative)
    operator = model._nonnegative_operator if nonnegative else model._operator
    query_matrix = _weighted_rows(operator, query_row)
    # Only columns that the query reaches can meet; by column, for each query term looks up a few of them.
    document_matrix = _keep_columns(_weighted_rows(operator, document_row), query_matrix.indices).tocsc()

    query_words, document_words = surface_words(model, query), surface_words(model, document)
    names = TermNames(model.vocabulary_, counts.unknown)
    document_terms = [names[position] for position in document_row.indices.tolist()]
    query_terms = []
    for i, position in enumerate(query_row.indices.tolist()):
        row = slice(query_matrix.indptr[i], query_matrix.indptr[i + 1])
        parts = _parts(document_matrix, query_matrix.indices[row], query_matrix.data[row])
        shares = np.asarray(parts.sum(axis=1)).ravel()
        found = np.flatnonzero((shares != 0) | (document_row.indices == position))
        cosines = _cosines(model.similarity_, position, document_row.shape[1])[document_row.indices[found]]
        vias = _meetings(parts, found, query_matrix.indices[row], names, max_via)
        term = names[position]
        matches = [
            TermMatch(term, document_terms[n], document_words[document_terms[n]], cosine, share, via)
            for n, cosine, share, via in zip(
                found.tolist(), cosines.tolist(), shares[found].tolist(), vias, strict=True
            )
        ]
        matches.sort(key=lambda match: (-abs(match.share), match.document_term))
        query_terms.append(
            QueryTermShare(
                term,
                query_words[term],
                float(counts.matrix[0, position]),
                math.fsum(match.share for match in matches),
                tuple(matches),
            )
        )
    query_terms.sort(key=lambda share: (-abs(share.share), share.term))
    score = math.fsum(match.share for q in query_terms for match in q.matches)
    return Explanation(score, tuple(query_terms), {"cptw": score})


def _weighted_rows(operator: Propagation, weights: sp.csr_matrix) -> sp.csr_matrix:
    """Give w(k) M[k, :] for each term k of a row of weights; M as a whole is never made."""
    n_terms = operator.matrix.shape[0]
    positions = weights.indices.astype(np.int64)
    known, unknown = positions[positions < n_terms], positions[positions >= n_terms]
    rows = operator.matrix[known]
    lengths = np.diff(rows.indptr)
    data = rows.data * np.repeat(operator.row_scale[known], lengths) * operator.column_scale[rows.indices]
    lengths = np.concatenate([lengths, np.ones_like(unknown)])
    data = np.concatenate([data, np.full(len(unknown), operator.unknown_weight)])
    return sp.csr_matrix(
        (
            data * np.repeat(weights.data, lengths),
            np.concatenate([rows.indices, unknown]),
            np.concatenate([[0], np.cumsum(lengths)]),
        ),
        shape=(len(positions), weights.shape[1]),
    )


def _keep_columns(rows: sp.csr_matrix, columns: IntArray) -> sp.csr_matrix:
    is_kept = np.zeros(rows.shape[1], dtype=bool)
    is_kept[columns] = True
    kept = is_kept[rows.indices]
    indptr = np.concatenate([[0], np.cumsum(kept)])[rows.indptr]
    return sp.csr_matrix((rows.data[kept], rows.indices[kept], indptr), shape=rows.shape)


def _parts(document_matrix: sp.csc_matrix, columns: IntArray, values: FloatArray) -> sp.csr_matrix:
    """Give the share of each document term (row) in each of the columns that a query term reaches."""
    reached = document_matrix[:, columns]
    data = reached.data * np.repeat(values, np.diff(reached.indptr))
    parts = sp.csc_matrix((data, reached.indices, reached.indptr), shape=reached.shape).tocsr()
    parts.eliminate_zeros()  # a weight of 0, such as the IDF of a word of every document
    return parts


def _cosines(similarity: sp.csr_matrix, position: int, n_columns: int) -> FloatArray:
    """Give a row of S with the unknown words' columns; an unknown word has no row in S, but is similar to itself."""
    cosines = np.zeros(n_columns)
    if position < similarity.shape[0]:
        row = slice(similarity.indptr[position], similarity.indptr[position + 1])
        cosines[similarity.indices[row]] = similarity.data[row]
    cosines[position] = 1.0
    return cosines


def _meetings(
    parts: sp.csr_matrix, found: IntArray, columns: IntArray, names: TermNames, n: int
) -> list[tuple[Meeting, ...]]:
    """Name the n heaviest columns of the rows that were found."""
    lengths = np.diff(parts.indptr)
    rows = np.repeat(np.arange(parts.shape[0]), lengths)
    order = np.lexsort((parts.indices, -np.abs(parts.data), rows))
    heaviest = order[np.arange(parts.nnz) - np.repeat(parts.indptr[:-1], lengths) < n]
    terms = map(names.__getitem__, columns[parts.indices[heaviest]].tolist())
    meetings = list(map(Meeting, terms, parts.data[heaviest].tolist()))
    kept = np.minimum(lengths, n)
    ends = np.cumsum(kept)[found]
    return [tuple(meetings[start:end]) for start, end in zip((ends - kept[found]).tolist(), ends.tolist(), strict=True)]


def surface_words(model: Cptw, document: Document) -> dict[str, tuple[str, ...]]:
    """Collect the words that each term comes from: a person reads "sailing", not "sail".

    Parameters
    ----------
    model : Cptw
        A fitted model.
    document : str or mapping
        A query or a document.

    Returns
    -------
    dict
        Terms to words, the most frequent first.
    """
    fields = model._fitted_with["field_weights"]
    texts = [document] if isinstance(document, str) else [document.get(name) for name in fields]
    words = Counter(word for text in texts if isinstance(text, str) for word in model.analyzer_fitted.words(text))
    by_term: dict[str, list[str]] = {}
    for word, _ in words.most_common():
        term = model.analyzer_fitted.term(word)
        if term is not None:
            by_term.setdefault(term, []).append(word)
    return {term: tuple(words) for term, words in by_term.items()}
