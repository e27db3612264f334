"""Inverted lists: for each feature the documents that have it, with a weight each, and scores summed over them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.errors import CorruptedError
from cptw_search.stored_arrays import open_array

__all__ = ["Postings", "top_k"]

FloatArray = npt.NDArray[np.float64]
WeightFunction = Callable[[FloatArray, npt.NDArray[np.int32]], FloatArray]


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
        document_weight: WeightFunction | None = None,
    ) -> FloatArray:
        """Sum query weight times document weight over the features of a query.

        Parameters
        ----------
        features : ndarray of int
            The query's features; those that no document has are passed over.
        query_weights : ndarray of float64
            Their weights.
        n_docs : int
            The number of documents.
        document_weight : callable, optional
            Makes the document's weights from what is stored and from the documents' numbers; by default what is stored.

        Returns
        -------
        ndarray of float64
            One score a document.

        Raises
        ------
        CorruptedError
            If the lists name documents that are not there.
        """
        positions = np.searchsorted(self.features, features)
        positions[positions == len(self.features)] = 0
        present = self.features[positions] == features if len(self.features) else np.zeros(len(features), dtype=bool)
        positions, query_weights = positions[present], query_weights[present]
        starts = np.where(positions > 0, self.ends[positions - 1], 0) if len(positions) else positions
        lengths = self.ends[positions] - starts if len(positions) else positions
        if not lengths.sum():
            return np.zeros(n_docs)
        # The lists one behind the other: where each begins here, shifted to where it stands there.
        shifts = starts - np.concatenate(([0], np.cumsum(lengths)[:-1]))
        which = np.repeat(shifts, lengths) + np.arange(int(lengths.sum()))
        docs, weights = self.docs[which], self.weights[which].astype(np.float64)
        if int(docs.max()) >= n_docs or int(docs.min()) < 0:
            raise CorruptedError("An inverted list names a document that is not there: the index was changed.")
        if document_weight is not None:
            weights = document_weight(weights, docs)
        products = weights * np.repeat(query_weights, lengths)
        return np.bincount(docs, weights=products, minlength=n_docs).astype(np.float64, copy=False)


def top_k(scores: FloatArray, k: int, tie_break: npt.NDArray[np.int32]) -> npt.NDArray[np.intp]:
    """Find the k best documents with a positive score.

    Parameters
    ----------
    scores : ndarray of float64
        One a document.
    k : int
        How many at most.
    tie_break : ndarray of int32
        Among equal scores the lowest comes first.

    Returns
    -------
    ndarray of int
        Documents, best first.

    Examples
    --------
    >>> top_k(np.array([0.5, 0.0, 0.7, 0.5]), 2, np.array([3, 0, 1, 2], dtype=np.int32)).tolist()
    [2, 3]
    """
    candidates = np.flatnonzero(scores > 0)
    if len(candidates) > k:
        found = scores[candidates]
        kth = np.partition(found, len(found) - k)[len(found) - k]
        candidates = candidates[found >= kth]
    return candidates[np.lexsort((tie_break[candidates], -scores[candidates]))[:k]]
