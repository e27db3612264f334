"""Pruning: short vectors in place of long ones, by dropping their lightest weights."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
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
    kept = np.ones(rows.nnz, dtype=bool)
    if pruning.min_share > 0:
        row_of = np.repeat(np.arange(rows.shape[0]), np.diff(rows.indptr))
        largest = np.zeros(rows.shape[0])
        np.maximum.at(largest, row_of, size)
        kept &= size >= pruning.min_share * largest[row_of]
    if pruning.max_terms is not None:
        for row in np.flatnonzero(np.diff(rows.indptr) > pruning.max_terms).tolist():
            span = slice(rows.indptr[row], rows.indptr[row + 1])
            kept[span] &= _heaviest(size[span], rows.indices[span], pruning.max_terms)
    indptr = np.concatenate(([0], np.cumsum(kept)))[rows.indptr]
    return sp.csr_matrix((rows.data[kept], rows.indices[kept], indptr), shape=rows.shape)


def _heaviest(size: npt.NDArray[np.float64], columns: npt.NDArray[np.integer], n: int) -> npt.NDArray[np.bool_]:
    """Mark the n largest of more than n numbers; of equal ones those of the first columns."""
    least = np.partition(size, len(size) - n)[len(size) - n]
    kept = size > least
    equal = np.flatnonzero(size == least)
    n_left = n - np.count_nonzero(kept)
    if n_left < len(equal):
        equal = equal[np.argsort(columns[equal], kind="stable")[:n_left]]
    kept[equal] = True
    return np.asarray(kept)
