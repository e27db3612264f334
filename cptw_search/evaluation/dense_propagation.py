"""The formulas of `cptw_search.propagation` on one dense matrix of cosines, for thresholds that leave it full.

At a low tau a document's representation has thousands of features, and a product of two sparse matrices is the slow way
to it. Here the cosines stand in one float32 matrix over the terms with vectors; a test compares with `Cptw`.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.evaluation.protocol import Round
from cptw_search.propagation import idf

__all__ = ["DENSE_BELOW", "Terms", "bare_columns", "column_weights", "dense_column_scale", "propagate_counts"]

Float32 = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]

DENSE_BELOW = 0.4
"""The threshold below which this is quicker than sparse products; measured."""

_BLOCK_COLUMNS = 256  # so that a block of the cosines stays in the processor's cache


class Terms:
    """The terms of a round, those with a vector apart from the others.

    Parameters
    ----------
    part : Round
        Counts.
    """

    def __init__(self, part: Round) -> None:
        vectors = part.vectors.astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1)
        self.covered = np.flatnonzero(lengths > 0)
        self.bare = np.flatnonzero(lengths == 0)
        self._unit = (vectors[self.covered] / lengths[self.covered, None]).astype(np.float32)
        self.n_docs = part.n_docs
        self.df = part.df[self.covered]
        self.idf = idf(part.df, part.n_docs)
        self.train, self.queries = (side[:, self.covered].astype(np.float32) for side in (part.train, part.queries))
        self.bare_train, self.bare_queries = (side[:, self.bare] for side in (part.train, part.queries))
        self._cosines: Float32 | None = None
        self._tau = 0.0

    def cosines(self, tau: float) -> Float32:
        """Give S over the terms with a vector.

        Parameters
        ----------
        tau : float
            The threshold; calls have to come by rising tau, for one matrix serves them all.

        Returns
        -------
        ndarray of float32
            Terms by terms.
        """
        if self._cosines is None:
            self._cosines = self._unit @ self._unit.T
            np.fill_diagonal(self._cosines, 1.0)
        for start in range(0, len(self._cosines), _BLOCK_COLUMNS):
            block = self._cosines[start : start + _BLOCK_COLUMNS]
            block *= block >= tau
        return self._cosines

    def forget_cosines(self) -> None:
        """Give the memory back."""
        self._cosines = None


def dense_column_scale(S: Float32, normalization: str) -> FloatArray:
    """Compute the factor of every column, as `cptw_search.propagation.column_scale` does.

    Parameters
    ----------
    S : ndarray of float32
        Cosines.
    normalization : {"l2", "sum"}
        What is to be 1: the columns' length, or their sum.

    Returns
    -------
    ndarray of float64
        One factor a column.
    """
    squared = normalization == "l2"
    sums = np.zeros(S.shape[1])
    for start in range(0, len(S), _BLOCK_COLUMNS):
        block = S[start : start + _BLOCK_COLUMNS]
        sums += (np.square(block) if squared else block).sum(axis=0, dtype=np.float64)
    return np.asarray(1.0 / np.sqrt(sums) if squared else 1.0 / sums)


def propagate_counts(terms: Terms, S: Float32, alpha: FloatArray, weighting: str) -> tuple[Float32, Float32]:
    """Propagate the counts of both sides, but for the columns' factors, which variants do not share.

    Parameters
    ----------
    terms : Terms
        Counts.
    S : ndarray of float32
        Cosines.
    alpha : ndarray of float64
        The columns' factors, which ``idf-equation`` needs inside.
    weighting : str
        One of `cptw_search.propagation`.

    Returns
    -------
    queries : ndarray of float32
        Queries by terms with a vector.
    train : ndarray of float32
        Training documents by terms with a vector.
    """
    sides = [terms.queries, terms.train]
    own_idf = terms.idf[terms.covered].astype(np.float32)
    if weighting == "idf-input":
        sides = [sp.csr_matrix(side.multiply(own_idf), dtype=np.float32) for side in sides]
    found = [np.empty((side.shape[0], S.shape[1]), dtype=np.float32) for side in sides]
    for start in range(0, S.shape[1], _BLOCK_COLUMNS):
        columns = slice(start, start + _BLOCK_COLUMNS)
        block = S[:, columns].copy()
        if weighting == "idf-equation":
            _apply_equation(block, alpha[columns].astype(np.float32), own_idf)
        for side, target in zip(sides, found, strict=True):
            target[:, columns] = side @ block
    return found[0], found[1]


def _apply_equation(block: Float32, alpha: Float32, own_idf: Float32) -> None:
    """Turn some columns of S into those of M by Eq. (3): P ln(N / df P), and 0 where P is 0."""
    filled = np.flatnonzero(block)
    rows, columns = np.divmod(filled, block.shape[1])
    P = block.ravel()[filled] * alpha[columns]
    block.ravel()[filled] = P * (np.log(P) + own_idf[rows])


def column_weights(terms: Terms, S: Float32, alpha: FloatArray, weighting: str) -> Float32:
    """Compute what the columns of propagated counts are multiplied with.

    Parameters
    ----------
    terms : Terms
        Counts.
    S : ndarray of float32
        Cosines.
    alpha : ndarray of float64
        The columns' factors.
    weighting : str
        One of `cptw_search.propagation` but ``idf-equation``, whose columns are done.

    Returns
    -------
    ndarray of float32
        One weight a column.
    """
    if weighting == "idf-released":
        weights = alpha * np.log2(terms.n_docs / (_row_product(np.maximum(terms.df, 1), S) * alpha))
    elif weighting == "idf-weighted":
        weights = alpha * _row_product(terms.idf[terms.covered], S) * alpha
    else:
        weights = alpha
    return weights.astype(np.float32)


def _row_product(row: FloatArray, S: Float32) -> FloatArray:
    return np.asarray(row.astype(np.float32) @ S, dtype=np.float64)


def bare_columns(terms: Terms, weighting: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Weigh the terms without vector: S is 1 on the diagonal there, and so is alpha.

    Parameters
    ----------
    terms : Terms
        Counts.
    weighting : str
        One of `cptw_search.propagation`.

    Returns
    -------
    queries : csr_matrix
        Queries by terms without vector.
    train : csr_matrix
        Training documents by terms without vector.
    """
    own = terms.idf[terms.bare]
    factors = {"tf": np.ones_like(own), "idf-released": own / np.log(2.0)}.get(weighting, own)
    queries, train = (sp.csr_matrix(side.multiply(factors)) for side in (terms.bare_queries, terms.bare_train))
    return queries, train
