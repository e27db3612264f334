"""The term similarity matrix S: cosines of word vectors, kept where they reach tau.

The work is one matrix product of the vectors with themselves, done in float32 blocks that fit the cache: a dense
V x V matrix never exists. A block only *proposes* pairs: whoever comes within `FLOAT32_MARGIN` of the threshold is
computed again in float64, one dot product a pair, and that number decides and is stored. So the result does not
depend on the size of the blocks, and each pair is computed once and written twice: S is symmetric to the last bit.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import threadpoolctl

from cptw_search.errors import InvalidInputError
from cptw_search.progress import progress_bar

__all__ = ["ADAPTIVE_NEIGHBOURS", "check_tau", "raise_threshold", "term_similarity"]

ADAPTIVE_NEIGHBOURS = 10
"""How many neighbours a term has at most with ``tau="adaptive"``, unless ``max_neighbours`` says otherwise."""

FLOAT32_MARGIN = 1e-5
"""How far a float32 cosine of unit vectors may be off; about ten times what was seen with 300 dimensions."""

ROUNDING = 1e-12
"""Equal vectors have a cosine of 1 up to rounding: tau = 1 has to find them."""

_EXACT_BATCH = 8192
_MAX_BLOCK_BYTES = 64 * 2**20

Pairs = tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float64]]  # rows, columns, cosines

_T = TypeVar("_T")
_R = TypeVar("_R")


def check_tau(tau: object, max_neighbours: object) -> None:
    """Raise unless ``tau`` and ``max_neighbours`` can be used.

    Parameters
    ----------
    tau : object
        Has to be a number of at least 0, or ``"adaptive"``.
    max_neighbours : object
        Has to be None or a whole number of at least 1.

    Raises
    ------
    InvalidInputError
        If one of them is something else.

    Examples
    --------
    >>> check_tau(-0.1, None)
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: tau must be a number >= 0 (above 1: no neighbours) or 'adaptive'. Got -0.1 \
instead.
    """
    is_number = isinstance(tau, (int, float, np.integer, np.floating)) and not isinstance(tau, bool)
    if tau != "adaptive" and not (is_number and tau >= 0):  # type: ignore[operator]
        raise InvalidInputError(
            f"tau must be a number >= 0 (above 1: no neighbours) or 'adaptive'. Got {tau!r} instead."
        )
    is_count = isinstance(max_neighbours, (int, np.integer)) and not isinstance(max_neighbours, bool)
    if max_neighbours is not None and not (is_count and max_neighbours >= 1):  # type: ignore[operator]
        raise InvalidInputError(f"max_neighbours must be None or a whole number >= 1. Got {max_neighbours!r} instead.")


def term_similarity(
    vectors: npt.ArrayLike,
    tau: float | str,
    *,
    max_neighbours: int | None = None,
    block_size: int = 2048,
    n_threads: int | None = None,
    progress: bool | None = None,
) -> sp.csr_matrix:
    """Compute S[k, j] = cos(v_k, v_j) where that is at least tau, else 0, and S[j, j] = 1.

    Parameters
    ----------
    vectors : array-like of shape (n_terms, n_dimensions)
        One vector a term; a row of zeros stands for a term without a vector, which is similar to itself alone.
    tau : float or "adaptive"
        The threshold, at least 0; above 1 there are no neighbours. ``"adaptive"`` gives each term k a threshold
        tau_k of its own, the cosine of its ``max_neighbours``-th nearest term, and keeps a pair that reaches both
        terms' thresholds (the several thresholds that the paper names as future work).
    max_neighbours : int, optional
        Keep a pair only if each of the two is among the ``max_neighbours`` nearest of the other (equal cosines
        count as equally near). With ``tau="adaptive"`` the default is `ADAPTIVE_NEIGHBOURS`.
    block_size : int, default 2048
        Rows and columns of a block; the result does not depend on it.
    n_threads : int, optional
        Threads to use; by default one a core.
    progress : bool, optional
        Show a progress bar or not; by default where standard error is a terminal.

    Returns
    -------
    csr_matrix of shape (n_terms, n_terms)
        float64, symmetric, indices sorted, with a full diagonal of ones.

    Raises
    ------
    InvalidInputError
        If ``vectors`` is not a matrix of finite numbers, or ``tau`` or ``max_neighbours`` cannot be used.

    Examples
    --------
    >>> term_similarity([[1, 0], [1, 1], [0, 2], [0, 0]], tau=0.5).toarray().round(3)
    array([[1.   , 0.707, 0.   , 0.   ],
           [0.707, 1.   , 0.707, 0.   ],
           [0.   , 0.707, 1.   , 0.   ],
           [0.   , 0.   , 0.   , 1.   ]])
    """
    check_tau(tau, max_neighbours)
    unit, with_vector, n_terms = _unit_rows(vectors)
    if tau == "adaptive":
        tau, max_neighbours = 0.0, max_neighbours or ADAPTIVE_NEIGHBOURS
    threshold = float(tau) - ROUNDING

    threads = n_threads or os.cpu_count() or 1
    if float(tau) > 1 or len(unit) < 2:
        pairs = (np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0))
    elif max_neighbours is None:
        pairs = _pairs_above(unit, threshold, block_size, threads, progress)
    else:
        pairs = _mutual_neighbours(unit, threshold, max_neighbours, block_size, threads, progress)
    rows, columns, cosines = with_vector[pairs[0]], with_vector[pairs[1]], pairs[2]

    everyone = np.arange(n_terms, dtype=np.int32)
    similarity = sp.csr_matrix(
        (
            np.concatenate([cosines, cosines, np.ones(n_terms)]),
            (np.concatenate([rows, columns, everyone]), np.concatenate([columns, rows, everyone])),
        ),
        shape=(n_terms, n_terms),
    )
    np.maximum(similarity.data, 0.0, out=similarity.data)  # with tau = 0: what rounding left below
    similarity.eliminate_zeros()
    similarity.sort_indices()
    return similarity


def _unit_rows(vectors: npt.ArrayLike) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.int32], int]:
    """Bring the vectors to unit length: those that are not zeros, which rows they are, and how many rows there were.

    Nothing of the size of the vectors is made but the result.
    """
    matrix = np.asarray(vectors)
    if matrix.dtype.kind not in "fiu":
        matrix = matrix.astype(np.float64)
    if matrix.ndim != 2 or not all(np.isfinite(part).all() for part in _parts(matrix)):
        raise InvalidInputError(
            "vectors must be a matrix of finite numbers, one row a term. "
            f"Got shape {matrix.shape}{'' if matrix.ndim != 2 else ' with NaN or infinite values'} instead."
        )
    with_vector = np.flatnonzero(matrix.any(axis=1)).astype(np.int32)
    unit = matrix.astype(np.float64) if len(with_vector) == len(matrix) else matrix[with_vector].astype(np.float64)
    for part in _parts(unit):
        # Dividing by the largest value first keeps the squares of huge and tiny vectors inside float64.
        part /= np.maximum(part.max(axis=1), -part.min(axis=1))[:, None]
        part /= np.linalg.norm(part, axis=1)[:, None]
    return unit, with_vector, len(matrix)


def _parts(matrix: npt.NDArray[Any]) -> Iterator[npt.NDArray[Any]]:
    return (matrix[start : start + _EXACT_BATCH] for start in range(0, len(matrix), _EXACT_BATCH))


def raise_threshold(similarity: sp.csr_matrix, tau: float) -> sp.csr_matrix:
    """Keep the cosines of a similarity matrix that reach a higher threshold.

    Parameters
    ----------
    similarity : csr_matrix
        What `term_similarity` gave for a lower tau, without a cap.
    tau : float
        The higher threshold.

    Returns
    -------
    csr_matrix
        What `term_similarity` would give for it.
    """
    row_of = np.repeat(np.arange(similarity.shape[0]), np.diff(similarity.indptr))
    kept = (similarity.data >= tau - ROUNDING) & (tau <= 1) | (row_of == similarity.indices)
    indptr = np.concatenate(([0], np.cumsum(kept)))[similarity.indptr]
    return sp.csr_matrix((similarity.data[kept], similarity.indices[kept], indptr), shape=similarity.shape)


def _exact_cosines(
    unit: npt.NDArray[np.float64], rows: npt.NDArray[np.intp], columns: npt.NDArray[np.intp]
) -> npt.NDArray[np.float64]:
    """Compute one float64 dot product a pair: the same bits whichever block the pair was found in."""
    cosines = np.empty(len(rows))
    for start in range(0, len(rows), _EXACT_BATCH):
        part = slice(start, start + _EXACT_BATCH)
        np.einsum("ij,ij->i", unit[rows[part]], unit[columns[part]], out=cosines[part])
    return np.clip(cosines, -1.0, 1.0, out=cosines)


def _run(
    work: Callable[[_T], _R], items: Iterable[_T], n_items: int, threads: int, progress: bool | None
) -> Iterator[_R]:
    """Map over threads of one BLAS thread each: whole blocks in parallel beat parallel products of one block."""
    with (
        threadpoolctl.threadpool_limits(limits=1, user_api="blas"),
        ThreadPoolExecutor(threads) as pool,
        progress_bar("Comparing terms", n_items, show=progress) as advance,
    ):
        for result in pool.map(work, items):
            advance(1)
            yield result


def _pairs_above(
    unit: npt.NDArray[np.float64], threshold: float, block_size: int, threads: int, progress: bool | None
) -> Pairs:
    """Find the pairs of the upper triangle that reach the threshold."""
    single = unit.astype(np.float32)
    proposed_from = np.float32(threshold - FLOAT32_MARGIN)
    starts = range(0, len(unit), block_size)
    blocks = [(row, column) for row in starts for column in starts if row <= column]
    own = threading.local()  # one block's memory a thread: new memory for each would cost a tenth of the time

    def compare(block: tuple[int, int]) -> Pairs:
        row, column = block
        above, below = single[row : row + block_size], single[column : column + block_size]
        if not hasattr(own, "product"):
            own.product = np.empty(min(block_size, len(unit)) ** 2, dtype=np.float32)
            own.reaches = np.empty(own.product.shape, dtype=bool)
        product = own.product[: len(above) * len(below)]
        np.matmul(above, below.T, out=product.reshape(len(above), len(below)))
        reaches = np.greater_equal(product, proposed_from, out=own.reaches[: len(product)])
        rows, columns = np.divmod(np.flatnonzero(reaches), len(below))
        if row == column:
            above_diagonal = rows < columns
            rows, columns = rows[above_diagonal], columns[above_diagonal]
        rows, columns = rows + row, columns + column
        cosines = _exact_cosines(unit, rows, columns)
        kept = cosines >= threshold
        return rows[kept].astype(np.int32), columns[kept].astype(np.int32), cosines[kept]

    found = list(_run(compare, blocks, len(blocks), threads, progress))
    rows, columns, cosines = (np.concatenate([result[part] for result in found]) for part in range(3))
    return rows, columns, cosines


def _mutual_neighbours(
    unit: npt.NDArray[np.float64], threshold: float, n: int, block_size: int, threads: int, progress: bool | None
) -> Pairs:
    """Find the pairs in which each is among the n nearest of the other and that reach the threshold."""
    single = unit.astype(np.float32)
    n_terms = len(unit)
    n = min(n, n_terms - 1)
    n_rows = max(1, min(block_size, _MAX_BLOCK_BYTES // (4 * n_terms)))

    def nearest(row: int) -> sp.csr_matrix:
        product = single[row : row + n_rows] @ single.T
        own = np.arange(len(product))
        product[own, own + row] = -2  # nobody is a neighbour of itself
        # Whoever is among the n nearest in float64 comes within twice the margin of the n-th in float32.
        nth = np.partition(product, n_terms - n, axis=1)[:, n_terms - n]
        proposed_from = np.maximum(nth - 2 * FLOAT32_MARGIN, threshold - FLOAT32_MARGIN)
        rows, columns = np.nonzero(product >= proposed_from[:, None].astype(np.float32))
        cosines = _exact_cosines(unit, rows + row, columns)
        # Descending within each row; the n-th value is the row's threshold, and its equals are kept with it.
        order = np.lexsort((-cosines, rows))
        rows, columns, cosines = rows[order], columns[order], cosines[order]
        first = np.searchsorted(rows, own)
        last = np.searchsorted(rows, own, side="right") - 1
        row_threshold = np.full(len(product), np.inf)
        filled = last >= first
        row_threshold[filled] = cosines[np.minimum(first + n - 1, last)[filled]]
        kept = cosines >= np.maximum(row_threshold[rows], threshold)
        return sp.csr_matrix((cosines[kept], (rows[kept], columns[kept])), shape=(len(product), n_terms))

    starts = range(0, n_terms, n_rows)
    directed = sp.vstack(list(_run(nearest, starts, len(starts), threads, progress)), format="csr")
    mutual = sp.triu(directed.minimum(directed.T), k=1, format="coo")  # 0 where only one of the two names the other
    return mutual.row, mutual.col, mutual.data
