"""Exact nearest neighbours of many rows at once, and their votes: the mathematics of kNN without an index."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = ["VOTES", "nearest_rows", "predict_labels", "unit_distances", "vote_weights"]

VOTES = ("distance", "similarity", "uniform")
"""How much a neighbour's vote counts: 1 / Euclidean distance (the authors' code), its score, or 1."""

SAME = 1e-9
"""Distances below that are rounding: the neighbour is a copy."""

_BLOCK_CELLS = 2**20  # 8 MB, near a core's cache


def nearest_rows(
    queries: sp.csr_matrix, rows: sp.csr_matrix, k: int
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Find the k rows with the largest products.

    Parameters
    ----------
    queries : csr_matrix
        One row a query.
    rows : csr_matrix
        What is searched.
    k : int
        How many; all where there are fewer.

    Returns
    -------
    positions : ndarray of shape (n_queries, k)
        Rows, best first; the first of equal ones first.
    scores : ndarray of shape (n_queries, k)
        Their products.

    Examples
    --------
    >>> positions, scores = nearest_rows(sp.csr_matrix([[1.0, 0.0]]), sp.csr_matrix([[0.2, 1.0], [0.9, 0.1]]), k=2)
    >>> positions.tolist(), scores.tolist()
    ([[1, 0]], [[0.9, 0.2]])
    """
    k = min(k, rows.shape[0])
    if not k:
        return np.empty((queries.shape[0], 0), dtype=np.intp), np.empty((queries.shape[0], 0))
    columns = rows.T.tocsr()
    step = max(1, _BLOCK_CELLS // max(rows.shape[0], 1))
    starts = range(0, queries.shape[0], step)
    with ThreadPoolExecutor(os.cpu_count()) as pool:  # scipy's products let other threads run
        found = list(pool.map(lambda start: _best((queries[start : start + step] @ columns).toarray(), k), starts))
    positions = np.concatenate([block for block, _ in found]) if found else np.empty((0, k), dtype=np.intp)
    scores = np.concatenate([block for _, block in found]) if found else np.empty((0, k))
    return positions, scores


def _best(block: npt.NDArray[np.float64], k: int) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.float64]]:
    """Find the k largest of each row, the first of equal ones first."""
    least = np.partition(block, block.shape[1] - k, axis=1)[:, block.shape[1] - k]
    rows, columns = np.divmod(np.flatnonzero(block >= least[:, None]), block.shape[1])
    values = block[rows, columns]
    order = np.lexsort((columns, -values, rows))
    firsts = order[np.searchsorted(rows, np.arange(len(block)))[:, None] + np.arange(k)]
    return columns[firsts], values[firsts]


def unit_distances(cosines: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Turn cosines into the Euclidean distances of vectors of unit length.

    Parameters
    ----------
    cosines : ndarray
        Cosines; what rounding left above 1 counts as 1.

    Returns
    -------
    ndarray
        Distances, 0 to 2.

    Examples
    --------
    >>> unit_distances(np.array([1.0, 0.5, -1.0]))
    array([0., 1., 2.])
    """
    return np.asarray(np.sqrt(np.maximum(2 - 2 * cosines, 0.0)))


def vote_weights(scores: npt.NDArray[np.float64], votes: str) -> npt.NDArray[np.float64]:
    """Turn the scores of neighbours into the weights of their votes.

    Parameters
    ----------
    scores : ndarray of shape (n_queries, k)
        Cosines; for ``"similarity"`` and ``"uniform"`` any scores.
    votes : {"distance", "similarity", "uniform"}
        How much a vote counts. With ``"distance"``, neighbours at distance 0 outvote all others, as in scikit-learn.

    Returns
    -------
    ndarray of shape (n_queries, k)
        The weights, not negative.

    Examples
    --------
    >>> vote_weights(np.array([[0.5, -1.0]]), "distance")  # distances 1 and 2
    array([[1. , 0.5]])
    """
    if votes == "uniform":
        return np.ones_like(scores)
    if votes == "similarity":
        return np.maximum(scores, 0.0)
    distances = unit_distances(scores)
    copies = distances < SAME
    return np.where(copies.any(axis=1, keepdims=True), copies.astype(float), 1 / np.maximum(distances, SAME))


def predict_labels(
    codes: npt.NDArray[np.intp], scores: npt.NDArray[np.float64], votes: str, n_labels: int
) -> npt.NDArray[np.intp]:
    """Give each query the label with the most votes.

    Parameters
    ----------
    codes : ndarray of shape (n_queries, k)
        The neighbours' labels, as numbers.
    scores : ndarray of shape (n_queries, k)
        The neighbours' scores.
    votes : {"distance", "similarity", "uniform"}
        How much a vote counts.
    n_labels : int
        The number of labels.

    Returns
    -------
    ndarray of shape (n_queries,)
        The winning label; the first of equal ones.
    """
    weights = vote_weights(scores, votes)
    cells = np.arange(len(codes))[:, None] * n_labels + codes
    totals = np.bincount(cells.ravel(), weights=weights.ravel(), minlength=len(codes) * n_labels)
    return np.asarray(totals.reshape(len(codes), n_labels).argmax(axis=1), dtype=np.intp)
