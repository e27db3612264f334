"""Scores of many long queries over one set of inverted lists, as products of sparse matrices on all cores.

A query of a few words is quickest by itself, see `Postings.scores`. Whole documents as queries touch most lists again and
again: then the lists become one sparse matrix, once, and a block of queries is one product. The sums are the same to the
last bit.
"""

from __future__ import annotations

import itertools
import os
from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.postings import Postings, Saturation

__all__ = ["pays", "scores_of_many"]

FloatArray = npt.NDArray[np.float64]
FoundLists = tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]

_BLOCK_CELLS = 2**20  # scores of a block: 8 MB, near a core's cache


def pays(lists: Postings, found: FoundLists) -> bool:
    """Tell whether all queries together touch more postings than there are.

    Parameters
    ----------
    lists : Postings
        The inverted lists.
    found : (ndarray of int, ndarray of bool)
        What `Postings.find` gives for the features of all queries, one behind the other.

    Returns
    -------
    bool
        Whether making a matrix of all lists costs less than what is saved.
    """
    positions, is_there = found
    return int(lists.lengths(positions[is_there]).sum()) > len(lists.docs)


def scores_of_many(
    lists: Postings,
    queries: sp.csr_matrix,
    found: FoundLists,
    n_docs: int,
    saturation: Saturation | None = None,
) -> Iterator[FloatArray]:
    """Sum query weight times document weight over the features of each query.

    Parameters
    ----------
    lists : Postings
        The inverted lists.
    queries : csr_matrix
        One row a query; its columns are not used.
    found : (ndarray of int, ndarray of bool)
        What `Postings.find` gives for the features that stand for ``queries.indices``.
    n_docs : int
        The number of documents.
    saturation : Saturation, optional
        As for `Postings.scores`.

    Yields
    ------
    ndarray of float64
        The scores of a query, one a document.

    Raises
    ------
    CorruptedError
        If the lists name documents that are not there.
    """
    positions, is_there = found
    indptr = np.concatenate(([0], np.cumsum(is_there)))[queries.indptr]
    shape = (queries.shape[0], len(lists.features))
    rows = sp.csr_matrix((queries.data[is_there], positions[is_there], indptr), shape=shape)
    matrix = lists.matrix(n_docs, saturation)
    step = max(1, _BLOCK_CELLS // max(n_docs, 1))
    n_threads = os.cpu_count() or 1
    starts = iter(range(0, shape[0], step))

    def multiply(start: int) -> FloatArray:
        block: FloatArray = (rows[start : start + step] @ matrix).toarray()
        return block

    with ThreadPoolExecutor(n_threads) as pool:  # scipy's products let other threads run
        # Some blocks ahead of what is read, so that nobody waits; all of them at once might not fit.
        ahead = deque(pool.submit(multiply, start) for start in itertools.islice(starts, n_threads + 1))
        while ahead:
            block = ahead.popleft().result()
            ahead.extend(pool.submit(multiply, start) for start in itertools.islice(starts, 1))
            yield from block
