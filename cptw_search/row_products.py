"""The product of one sparse row with S: what a search needs, without the fixed price of scipy's matrices.

A query has a few words. scipy's product takes 0.1 ms for a matrix object and for arrays as long as the vocabulary, several
times a search; here only the rows of S that the query names are read, which is also what keeps an S of a gigabyte on the
disk. The sums are those of scipy to the last bit.
"""

from __future__ import annotations

from types import ModuleType
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.acceleration import compiled_if_loaded
from cptw_search.errors import CorruptedError
from cptw_search.sparse_scores import zeros

__all__ = ["check_entries", "multiply_row", "sum_by_column"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.integer[Any]]

_SORTED_BELOW = 1 / 64
"""Fewer entries than this share of the columns are added up by sorting, more of them in a dense row."""


def check_entries(indices: IntArray, values: FloatArray, n_terms: int) -> None:
    """Refuse entries that are none of S, as in a file that was changed.

    Parameters
    ----------
    indices : ndarray of int
        Columns.
    values : ndarray of float64
        What stands there.
    n_terms : int
        The number of columns.

    Raises
    ------
    CorruptedError
        If a column is not there, or a value is no cosine above 0.
    """
    if len(indices) and (int(indices.min()) < 0 or int(indices.max()) >= n_terms):
        raise CorruptedError(
            f"similarity_indices.npy must hold columns of {n_terms} terms. It holds {int(indices.min())} to "
            f"{int(indices.max())}: it was changed or belongs to something else."
        )
    if not ((values > 0) & (values <= 1)).all():
        raise CorruptedError("similarity_data.npy must hold cosines above 0 and up to 1. It does not: it was changed.")


def multiply_row(
    columns: IntArray,
    weights: FloatArray,
    matrix: sp.csr_matrix,
    before: FloatArray,
    after: FloatArray,
    unknown_weight: float,
    *,
    checked: bool = True,
) -> tuple[IntArray, FloatArray]:
    """Compute ((x * before) matrix) * after for one row x.

    Parameters
    ----------
    columns : ndarray of int
        The columns of x, ascending; those behind the matrix's belong to unknown words.
    weights : ndarray of float64
        The values of x there.
    matrix : csr_matrix
        Square.
    before : ndarray of float64
        Factors of the rows of the matrix.
    after : ndarray of float64
        Factors of its columns.
    unknown_weight : float
        The factor of an unknown word, which has no neighbours.
    checked : bool, default True
        Whether the matrix is known to be S; the entries that are used are checked otherwise.

    Returns
    -------
    columns : ndarray of int
        The columns of the product, ascending.
    weights : ndarray of float64
        The values there.

    Raises
    ------
    CorruptedError
        If an entry that is used is none of S.

    Examples
    --------
    >>> S = sp.csr_matrix([[1.0, 0.5], [0.5, 1.0]])
    >>> columns, weights = multiply_row(np.array([0, 2]), np.array([2.0, 3.0]), S, np.ones(2), np.ones(2), 1.0)
    >>> columns.tolist(), weights.tolist()
    ([0, 1, 2], [2.0, 1.0, 3.0])
    """
    n_terms = len(before)
    n_known = int(np.searchsorted(columns, n_terms))
    unknown, unknown_weights = columns[n_known:], weights[n_known:] * unknown_weight
    columns, weights = columns[:n_known], weights[:n_known]
    if not n_known:
        return unknown, unknown_weights
    if (compiled := compiled_if_loaded()) is not None:
        columns, sums = _multiply_compiled(compiled, columns, weights, matrix, before, after, checked)
    else:
        columns, sums = _multiply(columns, weights, matrix, before, after, checked)
    if len(unknown):
        columns, sums = np.concatenate([columns, unknown]), np.concatenate([sums, unknown_weights])
    return columns, sums


def _multiply(
    columns: IntArray,
    weights: FloatArray,
    matrix: sp.csr_matrix,
    before: FloatArray,
    after: FloatArray,
    checked: bool,
) -> tuple[IntArray, FloatArray]:
    starts, ends = matrix.indptr[columns], matrix.indptr[columns + 1]
    spans = [slice(start, end) for start, end in zip(starts.tolist(), ends.tolist(), strict=True)]
    reached = np.concatenate([matrix.indices[span] for span in spans])
    values = np.concatenate([matrix.data[span] for span in spans])
    if not checked:
        check_entries(reached, values, len(before))
    products = values * np.repeat(weights * before[columns], ends - starts)
    columns, sums = sum_by_column(reached, products, len(before))
    return columns, sums * after[columns]


def _multiply_compiled(
    compiled: ModuleType,
    columns: IntArray,
    weights: FloatArray,
    matrix: sp.csr_matrix,
    before: FloatArray,
    after: FloatArray,
    checked: bool,
) -> tuple[IntArray, FloatArray]:
    parts = (matrix.indptr, matrix.indices, matrix.data, before, after)
    with zeros(len(before)) as sums:
        is_sound, found, values = compiled.multiply_row(columns, weights, *parts, sums, checked)
        if not is_sound:
            sums[:] = 0.0
    if not is_sound:
        return _multiply(columns, weights, matrix, before, after, checked)  # which says what is wrong
    return found, values


def sum_by_column(columns: IntArray, values: FloatArray, n_columns: int) -> tuple[IntArray, FloatArray]:
    """Add up the values of each column, in the order in which they come.

    Parameters
    ----------
    columns : ndarray of int
        The column of each value.
    values : ndarray of float64
        The values.
    n_columns : int
        The number of columns.

    Returns
    -------
    columns : ndarray of int
        Those whose sum is not 0, ascending.
    sums : ndarray of float64
        Their sums.

    Examples
    --------
    >>> columns, sums = sum_by_column(np.array([3, 1, 3, 2]), np.array([1.0, 2.0, 3.0, 0.0]), 4)
    >>> columns.tolist(), sums.tolist()
    ([1, 3], [2.0, 4.0])
    """
    if len(columns) < _SORTED_BELOW * n_columns:
        order = np.argsort(columns, kind="stable")
        in_order = columns[order]
        is_first = np.ones(len(in_order), dtype=bool)
        np.not_equal(in_order[1:], in_order[:-1], out=is_first[1:])
        found, sums = in_order[is_first], np.bincount(np.cumsum(is_first) - 1, weights=values[order])
        filled = sums != 0
        return found[filled], sums[filled]
    dense = np.bincount(columns, weights=values, minlength=n_columns).astype(np.float64, copy=False)
    found = np.flatnonzero(dense != 0).astype(columns.dtype)  # several times quicker than of the numbers themselves
    return found, dense[found]
