"""Where the propagation is done: at the documents, at the query, or at both, with the same scores."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from cptw_search.propagation import FloatArray, Propagation
from cptw_search.row_products import IntArray

__all__ = ["PLACEMENTS", "place", "row_lengths"]

PLACEMENTS = {"both": (1, 1), "query": (0, 2), "document": (2, 0)}
"""How often the document and the query side are multiplied by M (then by its transpose)."""


def row_lengths(rows: sp.csr_matrix) -> FloatArray:
    """Compute the Euclidean length of each row.

    Parameters
    ----------
    rows : csr_matrix
        Any rows.

    Returns
    -------
    ndarray of shape (n_rows,)
        The lengths.
    """
    # as a product with ones, which adds up each row in its order and needs no array of row numbers
    squares = sp.csr_matrix((rows.data**2, rows.indices, rows.indptr), shape=rows.shape)
    return np.asarray(np.sqrt(squares @ np.ones(rows.shape[1])))


def place(rows: sp.csr_matrix, operator: Propagation, times: int, *, unit_length: bool) -> sp.csr_matrix:
    """Multiply rows by M not at all, once, or by M and then its transpose; divide by the length of x M.

    Parameters
    ----------
    rows : csr_matrix
        Documents or queries, weighted but not propagated.
    operator : Propagation
        M.
    times : {0, 1, 2}
        0: x, 1: x M, 2: x M M'. See `PLACEMENTS`.
    unit_length : bool
        Divide by |x M|, whatever ``times`` is: then score(q, d) is the same cosine in every placement.

    Returns
    -------
    csr_matrix
        The rows to store or to send; a row of zeros stays one.
    """
    if rows.shape[0] == 1:
        return _place_one(rows, operator, times, unit_length)
    propagated = operator.apply(rows) if times > 0 or unit_length else rows
    placed = (rows, propagated, None)[times]
    if placed is None:
        placed = operator.apply_transposed(propagated)
    if not unit_length:
        return placed
    lengths = row_lengths(propagated)
    inverse = np.divide(1.0, lengths, where=lengths > 0, out=np.zeros_like(lengths))
    data = placed.data * np.repeat(inverse, np.diff(placed.indptr))
    return sp.csr_matrix((data, placed.indices, placed.indptr), shape=placed.shape)


def _place_one(row: sp.csr_matrix, operator: Propagation, times: int, unit_length: bool) -> sp.csr_matrix:
    """Do what `place` does for a single row, which is what a search has."""
    row.sort_indices()
    placed: tuple[IntArray, FloatArray] = (row.indices, row.data)
    propagated = placed
    if times > 0 or unit_length:
        propagated = operator.apply_row(*placed)
    if times > 0:
        placed = propagated if times == 1 else operator.apply_row_transposed(*propagated)
    columns, weights = placed
    if unit_length:
        squares = propagated[1] ** 2
        length = float(np.sqrt(np.bincount(np.zeros(len(squares), dtype=np.intp), weights=squares, minlength=1)[0]))
        weights = weights * (1.0 / length if length > 0 else 0.0)
    return sp.csr_matrix((weights, columns, np.array([0, len(columns)], dtype=np.int32)), shape=row.shape)
