"""All nearest neighbours of many documents at once, by blocks of matrix products in float32.

A `Comparison` gives the scores of a block of queries with all rows; `nearest` keeps the best of each block. Columns
that most documents share go through BLAS, the others through a sparse product: neither alone is quick on
representations of which a tenth is not zero.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.neighbours import predict_labels

__all__ = ["Comparison", "DenseComparison", "Neighbours", "SparseComparison", "nearest", "unit_sparse"]

Float32 = npt.NDArray[np.float32]
IntArray = npt.NDArray[np.intp]

_BLOCK_CELLS = 2**23
_DENSE_FROM = 0.05  # share of documents from which on a column is cheaper in BLAS than in the sparse product; measured
_COPY = 1e-6  # float32 cosines of equal rows are off by less


class Comparison(Protocol):
    """Queries and rows that can be compared in blocks."""

    n_queries: int
    n_rows: int

    def scores(self, start: int, stop: int) -> Float32:
        """Give the scores of the queries from ``start`` to ``stop`` with all rows."""
        ...


@dataclass(frozen=True)
class Neighbours:
    """The nearest rows of every query.

    Parameters
    ----------
    positions : ndarray of shape (n_queries, k)
        Rows, best first; the first of equal ones first.
    scores : ndarray of shape (n_queries, k)
        Their scores.
    """

    positions: IntArray
    scores: npt.NDArray[np.float64]

    def predict(self, codes: IntArray, n_labels: int, k: int, votes: str) -> IntArray:
        """Let the k nearest vote.

        Parameters
        ----------
        codes : ndarray of int
            The rows' classes.
        n_labels : int
            How many classes there are.
        k : int
            How many neighbours vote.
        votes : {"distance", "similarity", "uniform"}
            How much a vote counts.

        Returns
        -------
        ndarray of int
            One class a query.
        """
        return predict_labels(codes[self.positions[:, :k]], self.scores[:, :k], votes, n_labels)

    def correct(self, codes: IntArray, truth: IntArray, n_labels: int, ks: Sequence[int], votes: str) -> list[float]:
        """Give the share of right classes for every k.

        Parameters
        ----------
        codes : ndarray of int
            The rows' classes.
        truth : ndarray of int
            The queries' classes.
        n_labels : int
            How many classes there are.
        ks : sequence of int
            Numbers of neighbours.
        votes : {"distance", "similarity", "uniform"}
            How much a vote counts.

        Returns
        -------
        list of float
            One share a k.
        """
        return [float(np.mean(self.predict(codes, n_labels, k, votes) == truth)) for k in ks]


def nearest(comparison: Comparison, k: int) -> Neighbours:
    """Find the k rows with the largest scores for every query.

    Parameters
    ----------
    comparison : Comparison
        Queries and rows.
    k : int
        How many; all where there are fewer.

    Returns
    -------
    Neighbours
        Rows and scores. Cosines that are 1 but for float32's rounding are 1.

    Examples
    --------
    >>> rows = sp.csr_matrix([[0.6, 0.8], [1.0, 0.0]])
    >>> found = nearest(SparseComparison(sp.csr_matrix([[1.0, 0.0]]), rows), k=2)
    >>> found.positions.tolist(), found.scores.round(3).tolist()
    ([[1, 0]], [[1.0, 0.6]])
    """
    n_rows = comparison.n_rows
    k = min(k, n_rows)
    positions = np.empty((comparison.n_queries, k), dtype=np.intp)
    scores = np.empty((comparison.n_queries, k))
    step = max(1, _BLOCK_CELLS // max(n_rows, 1))
    for start in range(0, comparison.n_queries, step):
        block = comparison.scores(start, min(start + step, comparison.n_queries))
        kth = np.partition(block, n_rows - k, axis=1)[:, n_rows - k]
        for number, row in enumerate(block):
            candidates = np.flatnonzero(row >= kth[number])
            best = candidates[np.argsort(-row[candidates], kind="stable")[:k]]
            positions[start + number], scores[start + number] = best, row[best]
    scores[np.abs(scores - 1.0) < _COPY] = 1.0
    return Neighbours(positions, scores)


class SparseComparison:
    """Products of sparse rows.

    Parameters
    ----------
    queries : csr_matrix
        One row a query.
    rows : csr_matrix
        What is searched.
    """

    def __init__(self, queries: sp.csr_matrix, rows: sp.csr_matrix) -> None:
        self.n_queries, self.n_rows = int(queries.shape[0]), int(rows.shape[0])
        share = np.bincount(rows.indices, minlength=rows.shape[1]) / max(self.n_rows, 1)
        common = share >= _DENSE_FROM
        self._common_queries = queries[:, common].astype(np.float32)
        self._common_rows = rows[:, common].astype(np.float32).toarray()
        self._queries = sp.csr_matrix(queries[:, ~common], dtype=np.float32)
        self._columns = sp.csr_matrix(rows[:, ~common].T, dtype=np.float32)

    def scores(self, start: int, stop: int) -> Float32:
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
            Queries by rows.
        """
        rare = (self._queries[start:stop] @ self._columns).toarray()
        return np.asarray(rare + self._common_queries[start:stop].toarray() @ self._common_rows.T)


class DenseComparison:
    """Cosines of dense rows, whose columns may have weights, with a sparse part beside them.

    Weights stand apart from the rows so that several weightings share one large matrix.

    Parameters
    ----------
    queries : ndarray of float32
        One row a query.
    rows : ndarray of float32
        What is searched.
    weights : ndarray of float32, optional
        A factor a column, on both sides.
    sparse : (csr_matrix, csr_matrix), optional
        More columns of the queries and of the rows, weighted already.
    """

    def __init__(
        self,
        queries: Float32,
        rows: Float32,
        weights: Float32 | None = None,
        sparse: tuple[sp.csr_matrix, sp.csr_matrix] | None = None,
    ) -> None:
        self.n_queries, self.n_rows = len(queries), len(rows)
        self._queries, self._rows = queries, rows
        self._squares = np.ones(queries.shape[1], np.float32) if weights is None else np.square(weights)
        self._rest = None
        query_lengths, row_lengths = (self._squared_lengths(side) for side in (queries, rows))
        if sparse is not None:
            query_lengths += _squared_lengths(sparse[0])
            row_lengths += _squared_lengths(sparse[1])
            self._rest = SparseComparison(*sparse)
        self._query_inverse, self._row_inverse = _inverse_root(query_lengths), _inverse_root(row_lengths)

    def _squared_lengths(self, side: Float32) -> npt.NDArray[np.float64]:
        step = max(1, _BLOCK_CELLS // max(side.shape[1], 1))
        parts = [np.square(side[at : at + step]) @ self._squares for at in range(0, len(side), step)]
        return np.concatenate([*parts, np.empty(0)]).astype(np.float64)

    def scores(self, start: int, stop: int) -> Float32:
        """Give the cosines of some queries with all rows.

        Parameters
        ----------
        start : int
            The first query.
        stop : int
            Behind the last.

        Returns
        -------
        ndarray of float32
            Queries by rows.
        """
        block = (self._queries[start:stop] * self._squares) @ self._rows.T
        if self._rest is not None:
            block += self._rest.scores(start, stop)
        block *= self._query_inverse[start:stop, None]
        block *= self._row_inverse
        return np.asarray(block)


def _squared_lengths(rows: sp.csr_matrix) -> npt.NDArray[np.float64]:
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    squares = np.square(rows.data.astype(np.float64))
    return np.asarray(np.bincount(row_of, weights=squares, minlength=rows.shape[0]), dtype=np.float64)


def _inverse_root(squares: npt.NDArray[np.float64]) -> Float32:
    return (1.0 / np.sqrt(squares, where=squares > 0, out=np.full_like(squares, np.inf))).astype(np.float32)


def unit_sparse(rows: sp.csr_matrix) -> sp.csr_matrix:
    """Divide rows by their length.

    Parameters
    ----------
    rows : csr_matrix
        Any rows; those of zeros stay so.

    Returns
    -------
    csr_matrix of float32
        Rows of unit length.
    """
    inverse = np.repeat(_inverse_root(_squared_lengths(rows)), np.diff(rows.indptr))
    return sp.csr_matrix(((rows.data * inverse).astype(np.float32), rows.indices, rows.indptr), shape=rows.shape)
