"""Pruning: short vectors in place of long ones, by dropping their lightest weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from cptw_search.errors import InvalidInputError

__all__ = ["Pruning", "prune"]


@dataclass(frozen=True)
class Pruning:
    """What is kept of a vector.

    Parameters
    ----------
    min_share : float, default 0.0
        Weights below this share of the vector's largest are dropped, 0 to 1.
    max_terms : int, optional
        The heaviest so many are kept.
    """

    min_share: float = 0.0
    max_terms: int | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.min_share, (int, float)) or not 0 <= self.min_share <= 1:
            raise InvalidInputError(f"min_share must be a number from 0 to 1. Got {self.min_share!r} instead.")
        is_count = isinstance(self.max_terms, int) and not isinstance(self.max_terms, bool)
        if self.max_terms is not None and not (is_count and self.max_terms >= 1):
            raise InvalidInputError(f"max_terms must be None or a whole number >= 1. Got {self.max_terms!r} instead.")


def prune(rows: sp.csr_matrix, pruning: Pruning) -> sp.csr_matrix:
    """Drop the lightest weights of each row.

    Parameters
    ----------
    rows : csr_matrix
        Vectors; a weight's absolute value counts.
    pruning : Pruning
        What is kept. Among equal weights the first columns are.

    Returns
    -------
    csr_matrix
        The rows with fewer entries; the same matrix where nothing is dropped.

    Examples
    --------
    >>> prune(sp.csr_matrix([[4.0, 1.0, 2.0, 3.0]]), Pruning(min_share=0.5)).toarray()
    array([[4., 0., 2., 3.]])
    >>> prune(sp.csr_matrix([[4.0, 1.0, 2.0, 3.0]]), Pruning(max_terms=2)).toarray()
    array([[4., 0., 0., 3.]])
    """
    if pruning.min_share == 0 and (
        pruning.max_terms is None or int(np.diff(rows.indptr).max(initial=0)) <= pruning.max_terms
    ):
        return rows
    size = np.abs(rows.data)
    row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
    kept = np.ones(rows.nnz, dtype=bool)
    if pruning.min_share > 0:
        largest = np.zeros(rows.shape[0])
        np.maximum.at(largest, row_of, size)
        kept &= size >= pruning.min_share * largest[row_of]
    if pruning.max_terms is not None:
        order = np.lexsort((rows.indices, -size, row_of))  # the rows stay one behind the other
        rank = np.empty(rows.nnz, dtype=np.int64)
        rank[order] = np.arange(rows.nnz) - np.repeat(rows.indptr[:-1], np.diff(rows.indptr))
        kept &= rank < pruning.max_terms
    indptr = np.concatenate(([0], np.cumsum(kept)))[rows.indptr]
    return sp.csr_matrix((rows.data[kept], rows.indices[kept], indptr), shape=rows.shape)
