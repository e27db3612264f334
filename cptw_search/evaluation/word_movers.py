"""The word mover's distance: the least work of moving one document's words onto another's, exactly, by POT.

It costs a linear programme a pair of documents, so it is run on a sample of the test documents, and a pair is computed
only if its lower bound (the relaxed distance, in which each word moves to its nearest) leaves it a chance to be among
the nearest.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.errors import require_extra
from cptw_search.evaluation.knn import Comparison
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.protocol import KS, Round

__all__ = ["WordMovers", "WordMoversComparison"]

FloatArray = npt.NDArray[np.float64]


@dataclass(frozen=True)
class WordMovers:
    """Nearest neighbours by the word mover's distance.

    Parameters
    ----------
    sample : int or None, default 100
        On how many documents of each test and validation part it is run; None: on all.
    seed : int, default 0
        Of the sample.
    name : str, default "wmd"
        What it is called.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.

    References
    ----------
    M. Kusner, Y. Sun, N. Kolkin, K. Weinberger, "From Word Embeddings To Document Distances", ICML 2015.
    """

    sample: int | None = 100
    seed: int = 0
    name: str = "wmd"
    votes: tuple[str, ...] = ("distance", "uniform")

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One: there is nothing to choose.
        """
        return [Setting("")]

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Compare the queries with the training documents.

        Parameters
        ----------
        part : Round
            Counts.
        settings : sequence of Setting
            Which ones.

        Yields
        ------
        setting : Setting
            One of them.
        comparison : Comparison
            Scores of which only the largest are exact.
        """
        for setting in settings:
            yield setting, WordMoversComparison(part.queries, part.train, part.vectors, max(KS))


class WordMoversComparison:
    """Scores 1 - distance^2 / 2, so that the distance is that of two unit vectors with this cosine.

    Parameters
    ----------
    queries : csr_matrix
        Counts.
    rows : csr_matrix
        Counts of what is searched.
    vectors : ndarray
        One vector a term; terms without one (a row of zeros) are left out.
    k : int
        How many of the nearest have to be exact; rows that cannot be among them score minus infinity.
    """

    def __init__(self, queries: sp.csr_matrix, rows: sp.csr_matrix, vectors: npt.NDArray[np.float32], k: int) -> None:
        self._ot = require_extra("ot", "evaluation", "The word mover's distance")
        covered = np.flatnonzero(vectors.any(axis=1))
        self._vectors = vectors[covered].astype(np.float64)
        self._squares = np.square(self._vectors).sum(axis=1)
        self._queries, self._rows = (_shares(side[:, covered]) for side in (queries, rows))
        self._filled = np.flatnonzero(np.diff(self._rows.indptr))
        self._k = k
        self.n_queries, self.n_rows = int(queries.shape[0]), int(rows.shape[0])
        self.n_exact = 0

    def scores(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Give the scores of some queries with all rows.

        Parameters
        ----------
        start : int
            The first query.
        stop : int
            Behind the last.

        Returns
        -------
        ndarray of float32
            Queries by rows; minus infinity where a lower bound says that a row is not among the nearest.
        """
        scores = np.full((stop - start, self.n_rows), -np.inf, dtype=np.float32)
        for number in range(start, stop):
            for row, distance in self._nearest(number).items():
                scores[number - start, row] = 1 - distance**2 / 2
        return scores

    def _nearest(self, number: int) -> dict[int, float]:
        words, shares = _row(self._queries, number)
        if not len(words) or not len(self._filled):
            return {}
        costs = self._costs(words)
        bounds = self._lower_bounds(costs, shares)
        found: dict[int, float] = {}
        kept: list[float] = []
        for at in np.argsort(bounds, kind="stable"):
            if len(kept) == self._k and bounds[at] > kept[-1]:
                break
            row = int(self._filled[at])
            others, other_shares = _row(self._rows, row)
            found[row] = distance = float(self._ot.emd2(shares, other_shares, costs[:, others].copy()))
            self.n_exact += 1
            kept = sorted([*kept, distance])[: self._k]
        return found

    def _costs(self, words: npt.NDArray[np.intp]) -> FloatArray:
        """Distances of some words to all words."""
        squares = self._squares[words][:, None] + self._squares - 2 * self._vectors[words] @ self._vectors.T
        costs = np.sqrt(np.maximum(squares, 0.0))
        costs[np.arange(len(words)), words] = 0.0  # not what rounding left
        return np.asarray(costs)

    def _lower_bounds(self, costs: FloatArray, shares: FloatArray) -> FloatArray:
        """Relaxed distances to all rows that have words: the larger one of both directions."""
        to_query = np.asarray(self._rows @ costs.min(axis=0)).ravel()[self._filled]
        nearest = np.minimum.reduceat(costs[:, self._rows.indices], self._rows.indptr[self._filled], axis=1)
        return np.asarray(np.maximum(to_query, shares @ nearest))


def _shares(counts: sp.csr_matrix) -> sp.csr_matrix:
    """Divide rows by their sum."""
    sums = np.asarray(counts.sum(axis=1)).ravel()
    inverse = np.divide(1.0, sums, where=sums > 0, out=np.zeros_like(sums))
    data = counts.data * np.repeat(inverse, np.diff(counts.indptr))
    return sp.csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)


def _row(rows: sp.csr_matrix, number: int) -> tuple[npt.NDArray[np.intp], FloatArray]:
    part = slice(rows.indptr[number], rows.indptr[number + 1])
    return rows.indices[part].astype(np.intp), rows.data[part]
