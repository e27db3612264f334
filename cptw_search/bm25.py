"""BM25, Lucene's variant: the weights of a document's terms, and of a query's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

__all__ = ["bm25_document_weights", "bm25_idf", "bm25_norms", "bm25_saturation"]

FloatArray = npt.NDArray[np.float64]


def bm25_idf(df: FloatArray, n_docs: int) -> FloatArray:
    """Compute ln(1 + (N - df + 0.5) / (df + 0.5)), Lucene's IDF, which is never negative.

    Parameters
    ----------
    df : ndarray
        Document frequencies; 0 counts as 1.
    n_docs : int
        N, the number of documents.

    Returns
    -------
    ndarray
        One weight a term.

    Examples
    --------
    >>> bm25_idf(np.array([1.0]), 2).round(4)  # ln(1 + 1.5 / 1.5)
    array([0.6931])
    """
    df = np.maximum(df, 1)
    return np.asarray(np.log1p((n_docs - df + 0.5) / (df + 0.5)))


def bm25_document_weights(counts: sp.csr_matrix, average_length: float, k1: float, b: float) -> sp.csr_matrix:
    """Compute tf (k1 + 1) / (tf + k1 (1 - b + b length / average length)).

    Parameters
    ----------
    counts : csr_matrix
        Term frequencies; a document's length is their sum.
    average_length : float
        Mean length of the model's documents.
    k1 : float
        Saturation.
    b : float
        How much length matters, 0 to 1.

    Returns
    -------
    csr_matrix
        Weights in place of frequencies.

    Examples
    --------
    >>> bm25_document_weights(sp.csr_matrix([[2.0, 1.0]]), 3.0, k1=1.0, b=0.5).toarray().round(4)  # 4/3, 2/2
    array([[1.3333, 1.    ]])
    """
    lengths = np.repeat(np.asarray(counts.sum(axis=1), dtype=np.float64).ravel(), np.diff(counts.indptr))
    weights = bm25_saturation(counts.data, bm25_norms(lengths, average_length, k1, b), k1)
    return sp.csr_matrix((weights, counts.indices, counts.indptr), shape=counts.shape)


def bm25_norms(lengths: FloatArray, average_length: float, k1: float, b: float) -> FloatArray:
    """Compute k1 (1 - b + b length / average length), by which long documents count less.

    Parameters
    ----------
    lengths : ndarray
        Lengths of documents.
    average_length : float
        Mean length of the model's documents.
    k1 : float
        Saturation.
    b : float
        How much length matters, 0 to 1.

    Returns
    -------
    ndarray
        The norms.
    """
    relative = lengths / average_length if average_length > 0 else np.ones_like(lengths)
    return np.asarray(k1 * (1 - b + b * relative))


def bm25_saturation(tf: FloatArray, norms: FloatArray, k1: float) -> FloatArray:
    """Compute tf (k1 + 1) / (tf + norm) entry by entry.

    Parameters
    ----------
    tf : ndarray
        Term frequencies.
    norms : ndarray
        What `bm25_norms` gives for each one's document.
    k1 : float
        Saturation.

    Returns
    -------
    ndarray
        The weights.
    """
    return np.asarray(tf * (k1 + 1) / (tf + norms))
