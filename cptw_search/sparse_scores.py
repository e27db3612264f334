"""Scores of the few documents that a query finds.

Most documents have none of a query's words. Arrays over all of them cost more than the search itself: of a million documents,
an array takes 8 MB, which the system has to clear each time.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["SparseScores", "add", "masked", "nonzero"]

FloatArray = npt.NDArray[np.float64]

_DENSE_FROM = 1 / 8  # of the documents: from here on, adding up in an array over all of them is quicker than sorting


class SparseScores(NamedTuple):
    """Scores of some documents; all others have 0.

    Attributes
    ----------
    docs : ndarray of int
        Their numbers, each once.
    scores : ndarray of float64
        Their scores.
    """

    docs: npt.NDArray[np.intp]
    scores: FloatArray


def nonzero(scores: FloatArray) -> SparseScores:
    """Keep the documents whose score is not 0.

    Parameters
    ----------
    scores : ndarray of float64
        One a document.

    Returns
    -------
    SparseScores
        New arrays.

    Examples
    --------
    >>> docs, scores = nonzero(np.array([0.0, 2.0, 0.0, -1.0]))
    >>> docs.tolist(), scores.tolist()
    ([1, 3], [2.0, -1.0])
    """
    docs = np.flatnonzero(scores != 0)  # several times quicker than of the numbers themselves
    return SparseScores(docs, scores[docs])


def masked(found: SparseScores, mask: npt.NDArray[np.bool_]) -> SparseScores:
    """Keep the documents that may be found.

    Parameters
    ----------
    found : SparseScores
        Scores.
    mask : ndarray of bool
        One a document.

    Returns
    -------
    SparseScores
        The same where all may.
    """
    if mask.all():
        return found
    kept = mask[found.docs]
    return SparseScores(found.docs[kept], found.scores[kept])


def add(one: SparseScores, other: SparseScores, n_docs: int) -> SparseScores:
    """Add scores document by document.

    Parameters
    ----------
    one : SparseScores
        Scores.
    other : SparseScores
        Scores.
    n_docs : int
        The number of all documents.

    Returns
    -------
    SparseScores
        Their sums.

    Examples
    --------
    >>> one = nonzero(np.array([0.0, 2.0, 1.0]))
    >>> docs, scores = add(one, nonzero(np.array([4.0, 0.5, 0.0])), 3)
    >>> docs.tolist(), scores.tolist()
    ([0, 1, 2], [4.0, 2.5, 1.0])
    """
    if not len(one.docs):
        return other
    docs, scores = np.concatenate((one.docs, other.docs)), np.concatenate((one.scores, other.scores))
    if len(docs) >= _DENSE_FROM * n_docs:
        return nonzero(np.asarray(np.bincount(docs, weights=scores, minlength=n_docs), dtype=np.float64))
    order = np.argsort(docs, kind="stable")  # those of the first before those of the other
    docs, scores = docs[order], scores[order]
    second = np.flatnonzero(docs[1:] == docs[:-1]) + 1
    scores[second - 1] += scores[second]
    return SparseScores(np.delete(docs, second), np.delete(scores, second))
