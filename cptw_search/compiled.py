"""What a search adds up, by compiled code: what the extra ``fast`` brings. Importing this module needs numba.

numpy goes over the postings of a query seven times, here it is once. The sums are the same to the last bit: they are made
of the same float64 products in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, cast

import numba
import numpy as np

__all__ = ["add_lists", "multiply_row"]

Kernel = Callable[..., Any]


def _compiled(kernel: Kernel) -> Kernel:
    """Compile when it is first called, and divide as numpy does; kept on disk, for compiling takes a second."""
    try:
        made = numba.njit(kernel, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # there is no folder to keep it in
        made = numba.njit(kernel, nogil=True, error_model="numpy")
    return cast("Kernel", made)


@_compiled
def add_lists(starts, ends, query_weights, docs, weights, zeros, norms, k1, divisors, found, scores):  # type: ignore[no-untyped-def]
    """Add query weight times document weight over the documents of some lists.

    Parameters
    ----------
    starts : ndarray of int64
        Where each list begins.
    ends : ndarray of int64
        Where it ends.
    query_weights : ndarray of float64
        The weight of each list.
    docs : ndarray of int32
        The documents of all lists.
    weights : ndarray of float32
        Their weights, or frequencies that BM25 saturates.
    zeros : ndarray of float64
        A zero a document, to add up in. Where documents are listed, they are zeros again in the end, unless -1 is returned.
    norms : ndarray of float64
        For BM25, what `cptw_search.bm25.bm25_norms` gives for each document; empty for weights as they are.
    k1 : float
        For BM25, its saturation.
    divisors : ndarray of float64
        What the score of each listed document is divided by; empty for nothing.
    found : ndarray of int64
        Takes the documents whose score is not 0; as long as all lists together, or empty: then none are listed.
    scores : ndarray of float64
        Takes their scores.

    Returns
    -------
    int
        How many were found; -1 if a list names a document that is not there.
    """
    n_docs = len(zeros)
    is_saturated, is_listed, is_divided = len(norms) > 0, len(found) > 0, len(divisors) > 0
    n_touched = 0
    for which in range(len(starts)):
        for at in range(starts[which], ends[which]):
            doc = docs[at]
            if doc < 0 or doc >= n_docs:
                return -1
            weight = float(weights[at])
            if is_saturated:
                weight = weight * (k1 + 1) / (weight + norms[doc])  # as cptw_search.bm25.bm25_saturation
            before = zeros[doc]
            if is_listed and before == 0:  # for the first time, or after weights that cancelled out
                found[n_touched] = doc
                n_touched += 1
            zeros[doc] = before + weight * query_weights[which]
    n_found = 0
    for place in range(n_touched):
        doc = found[place]
        score = zeros[doc]
        if score != 0:  # and 0 the second time
            found[n_found] = doc
            scores[n_found] = score / divisors[doc] if is_divided else score
            zeros[doc] = 0.0
            n_found += 1
    return n_found


@_compiled
def multiply_row(columns, weights, indptr, indices, values, before, after, zeros, is_checked):  # type: ignore[no-untyped-def]
    """Compute ((x * before) S) * after for one row x, see `cptw_search.row_products.multiply_row`.

    Parameters
    ----------
    columns : ndarray of int
        The columns of x, ascending; all of them are rows of S.
    weights : ndarray of float64
        The values of x there.
    indptr : ndarray of int
        Where the rows of S begin.
    indices : ndarray of int
        Its columns.
    values : ndarray of float64
        Its values.
    before : ndarray of float64
        Factors of its rows.
    after : ndarray of float64
        Factors of its columns.
    zeros : ndarray of float64
        A zero a column, to add up in; zeros again in the end where True is returned.
    is_checked : bool
        Whether the entries of S are known to be sound.

    Returns
    -------
    is_sound : bool
        False if an entry is none of S; what follows means nothing then.
    columns : ndarray of int
        The columns of the product, ascending.
    weights : ndarray of float64
        The values there.
    """
    n_terms, n_entries = len(zeros), 0
    for row in columns:
        start, end = indptr[row], indptr[row + 1]
        if start < 0 or end < start or end > len(indices):
            return False, np.empty(0, indices.dtype), np.empty(0)
        n_entries += end - start
    found = np.empty(n_entries, indices.dtype)
    n_touched = 0
    for place in range(len(columns)):
        row = columns[place]
        weight = weights[place] * before[row]
        for at in range(indptr[row], indptr[row + 1]):
            column, value = indices[at], values[at]
            if not is_checked and not (0 <= column < n_terms and 0 < value <= 1):
                return False, found, np.empty(0)
            if zeros[column] == 0:  # for the first time, or after products that cancelled out
                found[n_touched] = column
                n_touched += 1
            zeros[column] += value * weight
    found = np.sort(found[:n_touched])
    sums = np.empty(n_touched)
    n_found = 0
    for place in range(n_touched):
        column = found[place]
        if zeros[column] != 0:  # and 0 the second time
            found[n_found] = column
            sums[n_found] = zeros[column] * after[column]
            zeros[column] = 0.0
            n_found += 1
    return True, found[:n_found], sums[:n_found]
