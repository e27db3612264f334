"""Inverted lists added up by compiled code: what the extra ``fast`` brings. Importing this module needs numba.

numpy goes over the postings of a query seven times, here it is once. The sums are the same to the last bit: they are made
of the same float64 products in the same order.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import cast

import numba

__all__ = ["add_lists"]

Kernel = Callable[..., int]


def _compiled(kernel: Kernel) -> Kernel:
    """Compile when it is first called, and divide as numpy does; kept on disk, for compiling takes a second."""
    try:
        made = numba.njit(kernel, cache=True, nogil=True, error_model="numpy")
    except RuntimeError:  # there is no folder to keep it in
        made = numba.njit(kernel, nogil=True, error_model="numpy")
    return cast("Kernel", made)


@_compiled
def add_lists(starts, ends, query_weights, docs, weights, zeros, norms, k1, found, scores):  # type: ignore[no-untyped-def]
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
        For BM25, what `cptw_search.propagation.bm25_norms` gives for each document; empty for weights as they are.
    k1 : float
        For BM25, its saturation.
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
    is_saturated, is_listed = len(norms) > 0, len(found) > 0
    n_touched = 0
    for which in range(len(starts)):
        for at in range(starts[which], ends[which]):
            doc = docs[at]
            if doc < 0 or doc >= n_docs:
                return -1
            weight = float(weights[at])
            if is_saturated:
                weight = weight * (k1 + 1) / (weight + norms[doc])  # as cptw_search.propagation.bm25_saturation
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
            scores[n_found] = score
            zeros[doc] = 0.0
            n_found += 1
    return n_found
