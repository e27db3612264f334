"""Inverted lists: for each feature the documents that have it, with a weight each, and scores summed over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.acceleration import compiled_for
from cptw_search.bm25 import bm25_saturation
from cptw_search.errors import CorruptedError
from cptw_search.sparse_scores import Mask, SparseScores, divide, nonzero, zeros
from cptw_search.stored_arrays import open_array

__all__ = ["Postings", "Saturation", "Wanted", "top_k"]

FloatArray = npt.NDArray[np.float64]
_LONG_LISTS = 150  # postings a list from which a copy of each is quicker than one of every entry
_NOT_THERE = "An inverted list names a document that is not there: the index was changed."
_FEW_POSTINGS = 1 / 4  # of the documents: up to here, listing what is found is quicker than looking through all of them
_SPARSE_TABLE = 8  # places for each feature that is looked for: a file that was changed must not ask for all the memory
_SAMPLED = 64  # one score of so many gives the bound from which candidates are looked for


class Saturation(NamedTuple):
    """How BM25 makes weights of frequencies, see `cptw_search.bm25.bm25_saturation`.

    Attributes
    ----------
    norms : ndarray of float64
        One a document.
    k1 : float
        Saturation.
    """

    norms: FloatArray
    k1: float


class Wanted(NamedTuple):
    """Which scores matter to a caller who adds others to them: those of some documents, and the k best of the rest.

    Attributes
    ----------
    docs : ndarray of int
        Documents, each once.
    k : int
        How many of the others.
    mask : ndarray of bool or None
        Which of those may be found, one a document; None for all of them.
    """

    docs: npt.NDArray[np.intp]
    k: int
    mask: Mask


@dataclass(frozen=True)
class Postings:
    """The inverted lists of a set of documents.

    Parameters
    ----------
    features : ndarray of int32
        Ids of the features that occur, ascending.
    ends : ndarray of int64
        Where the list of each feature ends.
    docs : ndarray of int32
        The documents of all lists, ascending within each.
    weights : ndarray of float32
        Their weights.
    """

    features: npt.NDArray[np.int32]
    ends: npt.NDArray[np.int64]
    docs: npt.NDArray[np.int32]
    weights: npt.NDArray[np.float32]

    @classmethod
    def of(cls, rows: sp.csr_matrix) -> Postings:
        """Invert documents.

        Parameters
        ----------
        rows : csr_matrix
            Documents by features.

        Returns
        -------
        Postings
            Their inverted lists.
        """
        columns = rows.tocsc()
        columns.sort_indices()
        present = np.flatnonzero(np.diff(columns.indptr))
        return cls(
            present.astype(np.int32),
            columns.indptr[present + 1].astype(np.int64),
            columns.indices.astype(np.int32, copy=False),
            columns.data.astype(np.float32),
        )

    @classmethod
    def open(cls, paths: Mapping[str, Path], name: str) -> Postings:
        """Open what `files` described.

        Parameters
        ----------
        paths : mapping
            What `storage.check_files` returned.
        name : str
            The name that was given to `files`.

        Returns
        -------
        Postings
            Memory-mapped.

        Raises
        ------
        CorruptedError
            If the files do not belong together.
        """
        postings = cls(
            open_array(paths, f"{name}_features.npy", np.int32),
            open_array(paths, f"{name}_ends.npy", np.int64),
            open_array(paths, f"{name}_docs.npy", np.int32),
            open_array(paths, f"{name}_weights.npy", np.float32),
        )
        n_postings = int(postings.ends[-1]) if len(postings.ends) else 0
        if (
            len(postings.features) != len(postings.ends)
            or not n_postings == len(postings.docs) == len(postings.weights)
            or (np.diff(postings.ends, prepend=0) < 0).any()
        ):
            raise CorruptedError(
                f"{name}_features.npy, {name}_ends.npy, {name}_docs.npy and {name}_weights.npy must belong together. They do "
                "not: one of them was changed."
            )
        return postings

    def files(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Give the arrays to be written.

        Parameters
        ----------
        name : str
            Names the files.

        Returns
        -------
        dict
            File names to arrays.
        """
        return {
            f"{name}_features.npy": self.features,
            f"{name}_ends.npy": self.ends,
            f"{name}_docs.npy": self.docs,
            f"{name}_weights.npy": self.weights,
        }

    def triples(self) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.float32]]:
        """Give all postings, for merging.

        Returns
        -------
        tuple of ndarray
            Documents, features and weights.
        """
        return self.docs, np.repeat(self.features, np.diff(self.ends, prepend=0)), self.weights

    def scores(
        self,
        features: npt.NDArray[np.integer[Any]],
        query_weights: FloatArray,
        n_docs: int,
        saturation: Saturation | None = None,
        divisors: FloatArray | None = None,
        wanted: Wanted | None = None,
    ) -> SparseScores:
        """Sum query weight times document weight over the features of a query.

        Parameters
        ----------
        features : ndarray of int
            The query's features; those that no document has are passed over.
        query_weights : ndarray of float64
            Their weights.
        n_docs : int
            The number of documents.
        saturation : Saturation, optional
            Makes the document's weights of what is stored; by default they are what is stored.
        divisors : ndarray of float64, optional
            What the score of each document is divided by.
        wanted : Wanted, optional
            Others may be left out, where there are so many that listing them takes longer than finding them.

        Returns
        -------
        SparseScores
            The scores that are not 0, and those of the documents that are wanted.

        Raises
        ------
        CorruptedError
            If the lists name documents that are not there.
        """
        positions, is_there = self.find(features)
        positions, query_weights = positions[is_there], query_weights[is_there]
        lengths = self.lengths(positions)
        starts = self.ends[positions] - lengths
        n_postings = int(lengths.sum())
        if not n_postings:
            return nonzero(np.empty(0))
        if (compiled := compiled_for(n_postings)) is not None:
            return self._compiled_scores(compiled, starts, lengths, query_weights, n_docs, saturation, divisors, wanted)
        docs, weights = self._lists(starts, lengths)
        _check_docs(docs, n_docs)
        if saturation is not None:
            weights = bm25_saturation(weights, saturation.norms[docs], saturation.k1)
        weights *= np.repeat(query_weights, lengths)
        return _take(
            np.asarray(np.bincount(docs, weights=weights, minlength=n_docs), dtype=np.float64), divisors, wanted
        )

    def _compiled_scores(
        self,
        compiled: ModuleType,
        starts: npt.NDArray[np.int64],
        lengths: npt.NDArray[np.int64],
        query_weights: FloatArray,
        n_docs: int,
        saturation: Saturation | None,
        divisors: FloatArray | None,
        wanted: Wanted | None,
    ) -> SparseScores:
        norms, k1 = (np.empty(0), 0.0) if saturation is None else saturation
        lists = (starts, starts + lengths, query_weights, self.docs, self.weights)
        n_postings = int(lengths.sum())
        n_listed = n_postings if n_postings < _FEW_POSTINGS * n_docs else 0
        docs, scores = np.empty(n_listed, dtype=np.intp), np.empty(n_listed)
        with zeros(n_docs) as sums:
            each = np.empty(0) if divisors is None else divisors
            n_found = compiled.add_lists(*lists, sums, norms, float(k1), each, docs, scores)
            if n_found < 0:
                raise CorruptedError(_NOT_THERE)
            if n_listed:
                return SparseScores(docs[:n_found], scores[:n_found])
            found = _take(sums, divisors, wanted)
            sums[:] = 0.0
        return found

    def find(self, features: npt.NDArray[np.integer[Any]]) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """Find the lists of features.

        Parameters
        ----------
        features : ndarray of int
            Ids of features.

        Returns
        -------
        positions : ndarray of int
            The place of each one's list.
        is_there : ndarray of bool
            Whether it has one; its position means nothing otherwise.
        """
        if len(features) > len(self.features):  # a table of all is made sooner than so many are searched for
            n_places = 2 + max(int(features.max(initial=0)), int(self.features.max(initial=0)))
            if n_places < _SPARSE_TABLE * len(features):
                table = np.full(n_places, -1, dtype=np.intp)  # the last place is for those that are less than 0
                table[self.features] = np.arange(len(self.features))
                positions = table[features]
                return positions, positions >= 0
        features = features.astype(self.features.dtype)  # not the other way round: that would copy all of them
        positions = np.searchsorted(self.features, features)
        if not len(self.features):
            return positions, np.zeros(len(features), dtype=bool)
        positions[positions == len(self.features)] = 0
        return positions, self.features[positions] == features

    def lengths(self, positions: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
        """Give the lengths of lists.

        Parameters
        ----------
        positions : ndarray of int
            Their places.

        Returns
        -------
        ndarray of int64
            The number of documents of each.
        """
        if not len(positions):
            return np.zeros(0, dtype=np.int64)
        if len(positions) > len(self.ends):
            return np.diff(self.ends, prepend=0)[positions]
        return self.ends[positions] - np.where(positions > 0, self.ends[positions - 1], 0)

    def matrix(self, n_docs: int, saturation: Saturation | None = None) -> sp.csr_matrix:
        """Give all lists as one sparse matrix.

        Parameters
        ----------
        n_docs : int
            The number of documents.
        saturation : Saturation, optional
            As for `scores`.

        Returns
        -------
        csr_matrix
            Lists by documents, float64.

        Raises
        ------
        CorruptedError
            If the lists name documents that are not there.
        """
        _check_docs(self.docs, n_docs)
        weights = self.weights.astype(np.float64)
        if saturation is not None:
            weights = bm25_saturation(weights, saturation.norms[self.docs], saturation.k1)
        indptr = np.concatenate(([0], self.ends)).astype(np.int32 if len(self.docs) < 2**31 else np.int64)
        return sp.csr_matrix((weights, self.docs, indptr), shape=(len(self.features), n_docs))

    def _lists(
        self, starts: npt.NDArray[np.int64], lengths: npt.NDArray[np.int64]
    ) -> tuple[npt.NDArray[np.int32], FloatArray]:
        """Give some lists one behind the other: copied list by list, or entry by entry where lists are short."""
        n_postings = int(lengths.sum())
        if n_postings > _LONG_LISTS * len(lengths):
            spans = [slice(start, end) for start, end in zip(starts.tolist(), (starts + lengths).tolist(), strict=True)]
            weights = np.empty(n_postings)
            np.concatenate([self.weights[span] for span in spans], out=weights)
            return np.concatenate([self.docs[span] for span in spans]), weights
        # where each list begins here, shifted to where it stands there
        shifts = starts - np.concatenate(([0], np.cumsum(lengths)[:-1]))
        which = np.repeat(shifts, lengths) + np.arange(n_postings)
        return self.docs[which], self.weights[which].astype(np.float64)


def _check_docs(docs: npt.NDArray[np.int32], n_docs: int) -> None:
    # as unsigned numbers, in which a negative one is larger than any document
    if len(docs) and int(docs.view(np.uint32).max()) >= n_docs:
        raise CorruptedError(_NOT_THERE)


def _take(sums: FloatArray, divisors: FloatArray | None, wanted: Wanted | None) -> SparseScores:
    """Take the scores that matter out of an array of all documents, which is used up."""
    if wanted is None:
        return divide(nonzero(sums), divisors)
    if divisors is not None:
        sums /= divisors
    docs, scores = wanted.docs, sums[wanted.docs]
    sums[docs] = 0.0
    if wanted.mask is not None:
        sums[~wanted.mask] = 0.0
    least = _least(sums, wanted.k)
    rest = np.flatnonzero(sums >= least if least > 0 else sums > 0)
    return SparseScores(np.concatenate((docs, rest)), np.concatenate((scores, sums[rest])))


def _least(scores: FloatArray, k: int) -> float:
    """Give a score that the k best reach: the k-th best of a sample is no better than the k-th best of all."""
    sample = scores[::_SAMPLED]
    return max(0.0, float(np.partition(sample, len(sample) - k)[len(sample) - k])) if len(sample) > k else 0.0


def top_k(found: SparseScores, k: int, tie_break: npt.NDArray[np.int32], least: float = 0.0) -> SparseScores:
    """Find the k best documents with a positive score.

    Parameters
    ----------
    found : SparseScores
        Scores.
    k : int
        How many at most.
    tie_break : ndarray of int32
        One a document of all; among equal scores the lowest comes first.
    least : float, default 0.0
        Lower scores do not matter, for others found k better ones already.

    Returns
    -------
    SparseScores
        The best, in order.

    Examples
    --------
    >>> found = SparseScores(np.array([0, 2, 3]), np.array([0.5, 0.7, 0.5]))
    >>> docs, scores = top_k(found, 2, np.array([3, 0, 1, 2], dtype=np.int32))
    >>> docs.tolist(), scores.tolist()
    ([2, 3], [0.7, 0.5])
    """
    docs, scores = found
    least = max(least, _least(scores, k))  # leaves few candidates, and loses none
    candidates = np.flatnonzero(scores >= least if least > 0 else scores > 0)
    scores = scores[candidates]
    if len(candidates) > k:
        kth = np.partition(scores, len(scores) - k)[len(scores) - k]
        candidates, scores = candidates[scores >= kth], scores[scores >= kth]
    docs = docs[candidates]
    best = np.lexsort((tie_break[docs], -scores))[:k]
    return SparseScores(docs[best], scores[best])
