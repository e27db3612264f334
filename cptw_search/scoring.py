"""Scores of queries over segments, by every method, and their ranking."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.backend import RRF_CONSTANT, RRF_DEPTH
from cptw_search.counting import Counts
from cptw_search.feedback import FEEDBACK_DOCS, LEARNED_SHARE, MAX_DOCUMENT_SHARE, learn_words, rm3
from cptw_search.model import Cptw
from cptw_search.postings import top_k
from cptw_search.propagation import bm25_document_weights, bm25_idf, bm25_saturation, idf, row_lengths
from cptw_search.pruning import Pruning, prune
from cptw_search.segment import Segment

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["Scorer", "rank"]

FloatArray = npt.NDArray[np.float64]
Scores = list[FloatArray]  # one array a segment
Ranked = list[tuple[int, int, float]]  # segment, document, score

_NEEDED = {
    "cptw": ("cptw",),
    "bm25": ("bm25",),
    "tfidf": ("tfidf",),
    "hybrid": ("cptw", "bm25"),
    "rrf": ("cptw", "bm25"),
}


class Scorer:
    """Scores queries with one model.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    placement : {"query", "both", "document"}
        What the segments store.
    query_pruning : Pruning
        What is kept of propagated queries.
    """

    def __init__(self, model: Cptw, placement: str, query_pruning: Pruning) -> None:
        self._model = model
        self._placement = placement
        self._query_pruning = query_pruning
        self._n_terms = len(model.vocabulary_)

    def score(
        self, queries: Sequence[Document], segments: Sequence[Segment], method: str
    ) -> Iterator[Mapping[str, Scores]]:
        """Score every document for each query.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        segments : sequence of Segment
            Where the documents are.
        method : {"cptw", "bm25", "tfidf", "hybrid", "rrf"}
            Which scores are needed.

        Yields
        ------
        mapping
            The scores of each method that is needed, one array a segment.
        """
        yield from self._score_counts(self._model.count(queries), segments, _NEEDED[method])

    def score_with_rm3(
        self, queries: Sequence[Document], segments: Sequence[Segment], masks: Sequence[npt.NDArray[np.bool_]]
    ) -> Iterator[Mapping[str, Scores]]:
        """Score every document by BM25 for each query, after the query learned words from its best documents.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        segments : sequence of Segment
            Where the documents are.
        masks : sequence of ndarray of bool
            Which documents may be found, and so may teach words.

        Yields
        ------
        mapping
            The scores of ``"bm25"``, one array a segment.
        """
        for query, scores in zip(queries, self.score(queries, segments, "bm25"), strict=True):
            best = rank(scores, segments, masks, FEEDBACK_DOCS, "bm25", 0.0)
            # Counted together, so that unknown words have the same columns; documents store no counts of their own.
            counts = self._model.count([query, *(segments[which].document(doc) for which, doc, _ in best)])
            feedback = counts.matrix[1:]
            df = self._model.document_frequencies(feedback.indices)
            feedback.data[df > MAX_DOCUMENT_SHARE * self._model.n_docs_] = 0.0
            feedback.eliminate_zeros()
            expanded = rm3(counts.matrix[:1], feedback, [score for _, _, score in best])
            yield from self._score_counts(Counts(expanded, counts.unknown), segments, ("bm25",))

    def score_with_feedback(
        self,
        queries: Sequence[Document],
        segments: Sequence[Segment],
        masks: Sequence[npt.NDArray[np.bool_]],
        lambda_: float,
    ) -> Iterator[Mapping[str, Scores]]:
        """Score every document by CPTW and BM25 for each query, and by the words of the best documents.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        segments : sequence of Segment
            Where the documents are.
        masks : sequence of ndarray of bool
            Which documents may be found, and so may teach words.
        lambda_ : float
            The share of CPTW in the first search.

        Yields
        ------
        mapping
            The scores of ``"hybrid+feedback"``, one array a segment.
        """
        k1, b = self._model.bm25_parameters
        for scores in self.score(queries, segments, "hybrid"):
            first = _mix(scores["cptw"], scores["bm25"], masks, lambda_)
            best = _best(first, segments, FEEDBACK_DOCS)
            # documents store no counts of their own
            counts = self._model.count([segments[which].document(doc) for which, doc, _ in best])
            saturated = bm25_document_weights(counts.matrix, self._model.average_length_, k1, b)
            weights = self._query_rows("bm25", saturated)
            learned = learn_words(weights, [score for _, _, score in best])
            # the weights hold the IDF already: one row of features, scored against BM25's saturated frequencies
            taught = self._row_scores("bm25", learned, counts.unknown, segments)
            yield {"hybrid+feedback": _mix(taught, first, masks, LEARNED_SHARE)}

    def _row_scores(self, name: str, row: sp.csr_matrix, unknown: Sequence[str], segments: Sequence[Segment]) -> Scores:
        return [
            self._segment_scores(name, segment, segment.features(row.indices, unknown, self._n_terms), row.data)
            for segment in segments
        ]

    def _score_counts(
        self, counts: Counts, segments: Sequence[Segment], names: Sequence[str]
    ) -> Iterator[Mapping[str, Scores]]:
        rows = {name: self._query_rows(name, counts.matrix) for name in names}
        for number in range(counts.matrix.shape[0]):
            yield {
                name: self._row_scores(name, matrix[number], counts.unknown, segments) for name, matrix in rows.items()
            }

    def _query_rows(self, name: str, counts: sp.csr_matrix) -> sp.csr_matrix:
        if name == "cptw":
            rows = self._model.represent_counts(counts, "query", self._placement, False)
            return prune(rows, self._query_pruning)
        df = self._model.document_frequencies(counts.indices)
        if name == "bm25":
            weights = bm25_idf(df, self._model.n_docs_)
            return sp.csr_matrix((counts.data * weights, counts.indices, counts.indptr), counts.shape)
        weights = idf(df, self._model.n_docs_)
        weighted = sp.csr_matrix((counts.data * weights, counts.indices, counts.indptr), counts.shape)
        lengths = row_lengths(weighted)
        inverse = np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))
        data = weighted.data * weights * np.repeat(inverse, np.diff(counts.indptr))  # both sides' IDF
        return sp.csr_matrix((data, counts.indices, counts.indptr), counts.shape)

    def _segment_scores(
        self, name: str, segment: Segment, features: npt.NDArray[np.int64], weights: FloatArray
    ) -> FloatArray:
        saturates = name == "bm25" or (name == "cptw" and self._model.weighting_fitted == "bm25")
        if name == "cptw" and segment.expanded is not None:
            return segment.expanded.scores(features, weights, segment.n_docs)
        if saturates:
            k1, b = self._model.bm25_parameters

            def saturated(tf: FloatArray, docs: npt.NDArray[np.int32]) -> FloatArray:
                return bm25_saturation(tf, segment.text_lengths[docs], self._model.average_length_, k1, b)

            return segment.counts.scores(features, weights, segment.n_docs, saturated)
        lengths = segment.cptw_lengths if name == "cptw" else segment.tfidf_lengths
        scores = segment.counts.scores(features, weights, segment.n_docs)
        return np.asarray(np.divide(scores, lengths, where=lengths > 0, out=np.zeros_like(scores)))


def rank(
    scores: Mapping[str, Scores],
    segments: Sequence[Segment],
    masks: Sequence[npt.NDArray[np.bool_]],
    k: int,
    method: str,
    lambda_: float,
) -> Ranked:
    """Find the k best documents of all segments.

    Parameters
    ----------
    scores : mapping
        The scores of each method that is needed, one array a segment.
    segments : sequence of Segment
        Where the documents are.
    masks : sequence of ndarray of bool
        Which documents may be found.
    k : int
        How many at most.
    method : {"cptw", "bm25", "tfidf", "hybrid", "hybrid+feedback", "rrf"}
        How to combine.
    lambda_ : float
        The share of CPTW in ``"hybrid"``.

    Returns
    -------
    list of (int, int, float)
        Segment, document and score, best first; equal scores are ordered by id.
    """
    if method == "hybrid":
        return _best(_mix(scores["cptw"], scores["bm25"], masks, lambda_), segments, k)
    masked = {name: _masked(parts, masks) for name, parts in scores.items()}
    if method == "rrf":
        return _fuse([_best(parts, segments, max(RRF_DEPTH, k)) for parts in masked.values()], segments)[:k]
    return _best(masked[method], segments, k)


def _masked(parts: Scores, masks: Sequence[npt.NDArray[np.bool_]]) -> Scores:
    return [np.where(mask, part, 0.0) for part, mask in zip(parts, masks, strict=True)]


def _mix(one: Scores, other: Scores, masks: Sequence[npt.NDArray[np.bool_]], share: float) -> Scores:
    """Add two scores, each divided by its best; negative ones count as 0."""
    mixed = [np.zeros(len(mask)) for mask in masks]
    for parts, weight in ((_masked(one, masks), share), (_masked(other, masks), 1 - share)):
        best = max((float(part.max(initial=0.0)) for part in parts), default=0.0)
        if best > 0:
            mixed = [total + weight / best * np.maximum(part, 0.0) for total, part in zip(mixed, parts, strict=True)]
    return mixed


def _best(parts: Scores, segments: Sequence[Segment], k: int) -> Ranked:
    found = [
        (which, int(doc), float(part[doc]))
        for which, (part, segment) in enumerate(zip(parts, segments, strict=True))
        for doc in top_k(part, k, segment.id_ranks)
    ]
    return _in_order(found, segments)[:k]


def _in_order(found: Ranked, segments: Sequence[Segment]) -> Ranked:
    return sorted(found, key=lambda hit: (-hit[2], segments[hit[0]].ids[hit[1]]))


def _fuse(rankings: Sequence[Ranked], segments: Sequence[Segment]) -> Ranked:
    fused: dict[tuple[int, int], float] = {}
    for ranking in rankings:
        for position, (which, doc, _) in enumerate(ranking, start=1):
            fused[which, doc] = fused.get((which, doc), 0.0) + 1 / (RRF_CONSTANT + position)
    return _in_order([(which, doc, score) for (which, doc), score in fused.items()], segments)
