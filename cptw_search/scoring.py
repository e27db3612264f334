"""Scores of queries over segments, by every method, and their ranking."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.backend import RRF_CONSTANT, RRF_DEPTH
from cptw_search.batch_scoring import pays, scores_of_many
from cptw_search.bm25 import bm25_document_weights, bm25_idf
from cptw_search.counting import Counts, TermNames
from cptw_search.feedback import FEEDBACK_DOCS, LEARNED_SHARE, MAX_DOCUMENT_SHARE, TEACHER_LAMBDA, learn_words, rm3
from cptw_search.model import Cptw
from cptw_search.placement import row_lengths
from cptw_search.postings import Postings, Saturation, Wanted, top_k
from cptw_search.propagation import idf
from cptw_search.pruning import Pruning, prune
from cptw_search.segment import Segment
from cptw_search.sparse_scores import Mask, SparseScores, add, divide, masked, nonzero

if TYPE_CHECKING:
    from cptw_search.counting import Document
    from cptw_search.explain_mixed import Mixture

__all__ = ["Scorer", "rank"]

FloatArray = npt.NDArray[np.float64]
Scores = list[SparseScores]  # one a segment
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
            The scores of each method that is needed, one a segment.
        """
        yield from self._score_counts(self._model.count(queries), segments, _NEEDED[method])

    def score_with_rm3(
        self, queries: Sequence[Document], segments: Sequence[Segment], masks: Sequence[Mask]
    ) -> Iterator[Mapping[str, Scores]]:
        """Score every document by BM25 for each query, after the query learned words from its best documents.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        segments : sequence of Segment
            Where the documents are.
        masks : sequence of ndarray of bool or None
            Which documents may be found, and so may teach words.

        Yields
        ------
        mapping
            The scores of ``"bm25"``, one a segment.
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
        masks: Sequence[Mask],
        lambda_: float,
        k: int,
    ) -> Iterator[Mapping[str, Scores]]:
        """Score documents by CPTW and BM25 for each query, and by the words of the best documents.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        segments : sequence of Segment
            Where the documents are.
        masks : sequence of ndarray of bool or None
            Which documents may be found, and so may teach words.
        lambda_ : float
            The share of CPTW in the first search; in choosing the documents that teach it is `TEACHER_LAMBDA` at most.
        k : int
            How many documents are looked for; others may be left out.

        Yields
        ------
        mapping
            The scores of ``"hybrid+feedback"``, one a segment.
        """
        for scores in self.score(queries, segments, "hybrid"):
            first = _mix(scores["cptw"], scores["bm25"], segments, masks, lambda_)
            learned = self._learn(scores, segments, masks, lambda_)
            # A hundred words find most documents. Of those that the query itself did not find, only the k best matter.
            wanted = [Wanted(found.docs, k, mask) for found, mask in zip(first, masks, strict=True)]
            taught = self._taught(learned, segments, wanted)
            yield {"hybrid+feedback": _mix(taught, first, segments, masks, LEARNED_SHARE)}

    def _learn(
        self,
        scores: Mapping[str, Scores],
        segments: Sequence[Segment],
        masks: Sequence[Mask],
        lambda_: float,
    ) -> Counts:
        """Make a query of the words of the best documents; its weights stand in place of counts."""
        k1, b = self._model.bm25_parameters
        teachers = _mix(scores["cptw"], scores["bm25"], segments, masks, min(lambda_, TEACHER_LAMBDA))
        best = _best(teachers, segments, FEEDBACK_DOCS)
        # documents store no counts of their own
        counts = self._model.count([segments[which].document(doc) for which, doc, _ in best])
        saturated = bm25_document_weights(counts.matrix, self._model.average_length_, k1, b)
        weights = self._query_rows("bm25", saturated)
        return Counts(learn_words(weights, [score for _, _, score in best]), counts.unknown)

    def mixture(
        self,
        query: Document,
        segments: Sequence[Segment],
        masks: Sequence[Mask],
        method: str,
        lambda_: float,
    ) -> Mixture:
        """Say what the scores of a query are made of, for explanations; it is searched for once more.

        Parameters
        ----------
        query : str or mapping
            A text or a document.
        segments : sequence of Segment
            Where the documents are.
        masks : sequence of ndarray of bool or None
            Which documents may be found.
        method : {"cptw", "bm25", "hybrid", "hybrid+feedback"}
            How documents are scored.
        lambda_ : float
            The share of CPTW in the hybrid methods.

        Returns
        -------
        Mixture
            The factors of each part, and the weights of learned words.
        """
        from cptw_search.explain_mixed import Mixture

        if method in ("cptw", "bm25"):
            return Mixture(float(method == "cptw"), float(method == "bm25"))
        (scores,) = self.score([query], segments, "hybrid")
        cptw = _factor(scores["cptw"], masks, lambda_)
        bm25 = _factor(scores["bm25"], masks, 1 - lambda_)
        if method == "hybrid":
            return Mixture(cptw, bm25)
        first = _factor(_mix(scores["cptw"], scores["bm25"], segments, masks, lambda_), masks, 1 - LEARNED_SHARE)
        learned = self._learn(scores, segments, masks, lambda_)
        taught = self._taught(learned, segments)
        weights = _factor(taught, masks, LEARNED_SHARE) * learned.matrix.data
        names = TermNames(self._model.vocabulary_, learned.unknown)
        words = {names[n]: w for n, w in zip(learned.matrix.indices.tolist(), weights.tolist(), strict=True)}
        return Mixture(first * cptw, first * bm25, words)

    def _taught(
        self, learned: Counts, segments: Sequence[Segment], wanted: Sequence[Wanted | None] | None = None
    ) -> Scores:
        """Score documents by learned words: one row, whose weights hold the IDF already."""
        scores = []
        for segment, of_segment in zip(segments, wanted or itertools.repeat(None), strict=False):
            lists, saturation, _ = self._lists("bm25", segment)
            features = segment.features(learned.matrix.indices, learned.unknown, self._n_terms)
            scores.append(lists.scores(features, learned.matrix.data, segment.n_docs, saturation, wanted=of_segment))
        return scores

    def _scores_of_rows(
        self, name: str, rows: sp.csr_matrix, unknown: Sequence[str], segment: Segment
    ) -> Iterator[SparseScores]:
        """Score the documents of a segment for each row."""
        lists, saturation, divisors = self._lists(name, segment)
        features = segment.features(rows.indices, unknown, self._n_terms)
        n_docs = segment.n_docs
        if rows.shape[0] > 1 and pays(lists, lists_found := lists.find(features)):
            many = scores_of_many(lists, rows, lists_found, n_docs, saturation)
            return (divide(nonzero(scores), divisors) for scores in many)
        spans = itertools.starmap(
            slice, itertools.pairwise(rows.indptr.tolist())
        )  # rows[number] costs as much as a search
        return (lists.scores(features[span], rows.data[span], n_docs, saturation, divisors) for span in spans)

    def _score_counts(
        self, counts: Counts, segments: Sequence[Segment], names: Sequence[str]
    ) -> Iterator[Mapping[str, Scores]]:
        rows = {name: self._query_rows(name, counts.matrix) for name in names}
        streams = {
            name: [self._scores_of_rows(name, matrix, counts.unknown, segment) for segment in segments]
            for name, matrix in rows.items()
        }
        for _ in range(counts.matrix.shape[0]):
            yield {name: [next(stream) for stream in parts] for name, parts in streams.items()}

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

    def _lists(self, name: str, segment: Segment) -> tuple[Postings, Saturation | None, FloatArray | None]:
        """Give what a method's scores are made of: lists, how to weigh their entries, and what to divide sums by."""
        if name == "cptw" and segment.expanded is not None:
            return segment.expanded, None, None
        if name == "bm25" or (name == "cptw" and self._model.weighting_fitted == "bm25"):
            return segment.counts, segment.saturation(self._model.average_length_, *self._model.bm25_parameters), None
        return segment.counts, None, segment.cptw_divisors if name == "cptw" else segment.tfidf_divisors


def rank(
    scores: Mapping[str, Scores],
    segments: Sequence[Segment],
    masks: Sequence[Mask],
    k: int,
    method: str,
    lambda_: float,
) -> Ranked:
    """Find the k best documents of all segments.

    Parameters
    ----------
    scores : mapping
        The scores of each method that is needed, one a segment.
    segments : sequence of Segment
        Where the documents are.
    masks : sequence of ndarray of bool or None
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
        return _best(_mix(scores["cptw"], scores["bm25"], segments, masks, lambda_), segments, k)
    allowed = {name: _masked(parts, masks) for name, parts in scores.items()}
    if method == "rrf":
        return _fuse([_best(parts, segments, max(RRF_DEPTH, k)) for parts in allowed.values()], segments)[:k]
    return _best(allowed[method], segments, k)


def _masked(parts: Scores, masks: Sequence[Mask]) -> Scores:
    return list(map(masked, parts, masks))


def _mix(first: Scores, second: Scores, segments: Sequence[Segment], masks: Sequence[Mask], share: float) -> Scores:
    """Add two scores, each divided by its best; negative ones count as 0."""
    mixed = [nonzero(np.empty(0)) for _ in segments]
    for parts, weight in ((_masked(first, masks), share), (_masked(second, masks), 1 - share)):
        best = _best_score(parts)
        if best > 0:
            scaled = [SparseScores(found.docs, weight / best * np.maximum(found.scores, 0.0)) for found in parts]
            sizes = (segment.n_docs for segment in segments)
            mixed = [add(one, other, n_docs) for one, other, n_docs in zip(mixed, scaled, sizes, strict=True)]
    return mixed


def _best_score(parts: Scores) -> float:
    return max((float(found.scores.max(initial=0.0)) for found in parts), default=0.0)


def _factor(parts: Scores, masks: Sequence[Mask], share: float) -> float:
    """Give what `_mix` multiplies a score by."""
    best = _best_score(_masked(parts, masks))
    return share / best if best > 0 else 0.0


def _best(parts: Scores, segments: Sequence[Segment], k: int) -> Ranked:
    found: Ranked = []
    least = 0.0  # what a document needs after k others were found; an equal score may still come first by its id
    for which, (part, segment) in enumerate(zip(parts, segments, strict=True)):
        if len(found) >= k:
            least = heapq.nlargest(k, (score for _, _, score in found))[-1]
        docs, scores = top_k(part, k, segment.id_ranks, least)
        found += zip(itertools.repeat(which), docs.tolist(), scores.tolist(), strict=False)
    return found if len(segments) == 1 else _in_order(found, segments)[:k]  # one segment's are in order


def _in_order(found: Ranked, segments: Sequence[Segment]) -> Ranked:
    return sorted(found, key=lambda hit: (-hit[2], segments[hit[0]].ids[hit[1]]))


def _fuse(rankings: Sequence[Ranked], segments: Sequence[Segment]) -> Ranked:
    fused: dict[tuple[int, int], float] = {}
    for ranking in rankings:
        for position, (which, doc, _) in enumerate(ranking, start=1):
            fused[which, doc] = fused.get((which, doc), 0.0) + 1 / (RRF_CONSTANT + position)
    return _in_order([(which, doc, score) for (which, doc), score in fused.items()], segments)
