"""Scores of the few documents that a query finds.

Most documents have none of a query's words. Arrays over all of them cost more than the search itself: of a million documents,
an array takes 8 MB, which the system has to clear each time.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

__all__ = ["Mask", "SparseScores", "add", "divide", "masked", "nonzero", "zeros"]

FloatArray = npt.NDArray[np.float64]
Mask = npt.NDArray[np.bool_] | None  # which documents may be found, one a document; None for all of them

_kept = threading.local()


@contextlib.contextmanager
def zeros(n_docs: int) -> Iterator[FloatArray]:
    """Lend memory that is clear already: the system takes longer to give new one than a search does.

    Parameters
    ----------
    n_docs : int
        How many numbers.

    Yields
    ------
    ndarray of float64
        Zeros, to be left as zeros. A borrower who fails does not give them back.

    Examples
    --------
    >>> with zeros(3) as sums:
    ...     sums[1] = 0.5
    ...     sums[1] = 0.0
    """
    array: FloatArray | None = _kept.__dict__.pop("array", None)  # another borrower meanwhile gets an array of his own
    if array is None or len(array) < n_docs:
        array = np.zeros(n_docs)
    yield array[:n_docs]
    _kept.array = array


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


def divide(found: SparseScores, divisors: FloatArray | None) -> SparseScores:
    """Divide scores in place.

    Parameters
    ----------
    found : SparseScores
        Scores.
    divisors : ndarray of float64 or None
        One a document; None for nothing to divide by.

    Returns
    -------
    SparseScores
        The same.
    """
    if divisors is not None:
        np.divide(found.scores, divisors[found.docs], out=found.scores)
    return found


def masked(found: SparseScores, mask: Mask) -> SparseScores:
    """Keep the documents that may be found.

    Parameters
    ----------
    found : SparseScores
        Scores.
    mask : ndarray of bool or None
        One a document; None for all of them.

    Returns
    -------
    SparseScores
        The same where all may.
    """
    if mask is None:
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
        Their sums, in no order.

    Examples
    --------
    >>> one = nonzero(np.array([0.0, 2.0, 1.0]))
    >>> docs, scores = add(one, nonzero(np.array([4.0, 0.5, 0.0])), 3)
    >>> docs.tolist(), scores.tolist()
    ([0, 1, 2], [4.0, 2.5, 1.0])
    """
    if not len(one.docs):
        return other
    with zeros(n_docs) as sums:
        sums[one.docs] = one.scores
        both = sums[other.docs] + other.scores
        sums[other.docs] = 0.0
        alone = np.flatnonzero(sums[one.docs] != 0)
        sums[one.docs] = 0.0
    docs, scores = (other.docs, one.docs[alone]), (both, one.scores[alone])
    return SparseScores(np.concatenate(docs), np.concatenate(scores))
