"""A segment: an immutable set of documents, inverted, with all that scoring and filtering need."""

from __future__ import annotations

import functools
import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cptw_search.bm25 import bm25_norms
from cptw_search.bytes_table import BytesTable
from cptw_search.errors import CorruptedError
from cptw_search.filters import FieldIndex
from cptw_search.postings import Postings, Saturation
from cptw_search.stored_arrays import open_array

__all__ = ["Segment", "hash_id"]

FloatArray = npt.NDArray[np.float64]


def hash_id(doc_id: bytes) -> int:
    """Hash a document's id to 64 bits; equal hashes are told apart by the ids themselves.

    Parameters
    ----------
    doc_id : bytes
        The id, UTF-8.

    Returns
    -------
    int
        0 to 2 ** 64 - 1.
    """
    return int.from_bytes(hashlib.blake2b(doc_id, digest_size=8).digest(), "little")


@dataclass(frozen=True)
class Segment:
    """Documents that never change.

    Parameters
    ----------
    ids : BytesTable
        The documents' ids, UTF-8; a document's position is its number.
    id_hashes : ndarray of uint64
        Hashes of the ids, ascending.
    id_positions : ndarray of int32
        The documents of these hashes.
    id_ranks : ndarray of int32
        Each document's place when sorted by id, for breaking ties.
    documents : BytesTable
        What was stored, as JSON.
    fields : FieldIndex
        What can be filtered on.
    unknown : BytesTable
        Terms outside the model's vocabulary, sorted; their feature ids stand behind the vocabulary's.
    counts : Postings
        Term frequencies.
    expanded : Postings or None
        Propagated weights, in the placements that store them.
    text_lengths : ndarray of float64
        Number of counted words a document.
    cptw_lengths : ndarray of float64
        |d M| a document (1 where rows are bare).
    tfidf_lengths : ndarray of float64
        Length of the TF-IDF vector a document.
    """

    ids: BytesTable
    id_hashes: npt.NDArray[np.uint64]
    id_positions: npt.NDArray[np.int32]
    id_ranks: npt.NDArray[np.int32]
    documents: BytesTable
    fields: FieldIndex
    unknown: BytesTable
    counts: Postings
    expanded: Postings | None
    text_lengths: FloatArray
    cptw_lengths: FloatArray
    tfidf_lengths: FloatArray

    @functools.cached_property
    def cptw_divisors(self) -> FloatArray:
        """What CPTW's products are divided by: `cptw_lengths`, and infinity for a document without length."""
        return _divisors(self.cptw_lengths)

    @functools.cached_property
    def tfidf_divisors(self) -> FloatArray:
        """What TF-IDF's products are divided by: `tfidf_lengths`, and infinity for a document without length."""
        return _divisors(self.tfidf_lengths)

    @functools.cached_property
    def _saturations(self) -> dict[tuple[float, float, float], Saturation]:
        return {}

    def saturation(self, average_length: float, k1: float, b: float) -> Saturation:
        """Say how BM25 weighs the frequencies of this segment; made once for each model.

        Parameters
        ----------
        average_length : float
            Mean length of the model's documents.
        k1 : float
            Saturation.
        b : float
            How much length matters, 0 to 1.

        Returns
        -------
        Saturation
            For `Postings.scores`.
        """
        known = self._saturations
        if (average_length, k1, b) not in known:
            known[average_length, k1, b] = Saturation(bm25_norms(self.text_lengths, average_length, k1, b), k1)
        return known[average_length, k1, b]

    @property
    def n_docs(self) -> int:
        """The number of documents, deleted ones included."""
        return len(self.ids)

    def find(self, doc_id: str) -> int:
        """Find a document by its id.

        Parameters
        ----------
        doc_id : str
            The id.

        Returns
        -------
        int
            The document's number, -1 where there is none.
        """
        encoded = doc_id.encode("utf-8", "surrogatepass")
        wanted = np.uint64(hash_id(encoded))
        position = int(np.searchsorted(self.id_hashes, wanted))
        while position < len(self.id_hashes) and self.id_hashes[position] == wanted:
            doc = int(self.id_positions[position])
            if not 0 <= doc < self.n_docs:
                raise CorruptedError(f"id_positions.npy names document {doc} of {self.n_docs}: it was changed.")
            if self.ids[doc] == encoded:
                return doc
            position += 1
        return -1

    def id_of(self, doc: int) -> str:
        """Give the id of a document.

        Parameters
        ----------
        doc : int
            Its number.

        Returns
        -------
        str
            Its id.

        Raises
        ------
        CorruptedError
            If what is stored is no id.
        """
        try:
            return self.ids[doc].decode()
        except UnicodeDecodeError as error:
            raise CorruptedError(
                f"The stored id of document {doc} is not readable ({error}): it was changed."
            ) from error

    def document(self, doc: int) -> dict[str, object]:
        """Give a document as it was stored.

        Parameters
        ----------
        doc : int
            Its number.

        Returns
        -------
        dict
            Its fields, with the id.

        Raises
        ------
        CorruptedError
            If what is stored is no document.
        """
        try:
            document = json.loads(self.documents[doc].decode("utf-8", "surrogatepass"))
            if not isinstance(document, dict):
                raise ValueError(f"{type(document).__name__} in place of an object")
        except (ValueError, RecursionError) as error:
            raise CorruptedError(
                f"The stored text of document {doc} is not readable ({error}): it was changed."
            ) from error
        return document

    def features(
        self, columns: npt.NDArray[np.integer[Any]], unknown: Sequence[str], n_terms: int
    ) -> npt.NDArray[np.int64]:
        """Translate the columns of a query into this segment's features.

        Parameters
        ----------
        columns : ndarray of int
            Columns over the vocabulary and the query's unknown words.
        unknown : sequence of str
            The query's unknown words.
        n_terms : int
            The size of the vocabulary.

        Returns
        -------
        ndarray of int64
            Feature ids, -1 for an unknown word that no document has.
        """
        features = columns.astype(np.int64)
        for place in np.flatnonzero(features >= n_terms):
            position = self.unknown.find(unknown[features[place] - n_terms].encode("utf-8", "surrogatepass"))
            features[place] = n_terms + position if position >= 0 else -1
        return features

    def files(self) -> dict[str, npt.NDArray[Any]]:
        """Give the arrays to be written.

        Returns
        -------
        dict
            File names to arrays.
        """
        return {
            **self.ids.files("ids"),
            "id_hashes.npy": self.id_hashes,
            "id_positions.npy": self.id_positions,
            "id_ranks.npy": self.id_ranks,
            **self.documents.files("documents"),
            **self.fields.files(),
            **self.unknown.files("unknown"),
            **self.counts.files("counts"),
            **({} if self.expanded is None else self.expanded.files("expanded")),
            "text_lengths.npy": self.text_lengths,
            "cptw_lengths.npy": self.cptw_lengths,
            "tfidf_lengths.npy": self.tfidf_lengths,
        }

    @classmethod
    def open(cls, paths: Mapping[str, Path]) -> Segment:
        """Open what `files` described; everything is memory-mapped.

        Parameters
        ----------
        paths : mapping
            What `storage.check_files` returned.

        Returns
        -------
        Segment
            The segment.

        Raises
        ------
        CorruptedError
            If the files do not belong together.
        """
        segment = cls(
            ids=BytesTable.open(paths, "ids"),
            id_hashes=open_array(paths, "id_hashes.npy", np.uint64),
            id_positions=open_array(paths, "id_positions.npy", np.int32),
            id_ranks=open_array(paths, "id_ranks.npy", np.int32),
            documents=BytesTable.open(paths, "documents"),
            fields=FieldIndex.open(paths),
            unknown=BytesTable.open(paths, "unknown"),
            counts=Postings.open(paths, "counts"),
            expanded=Postings.open(paths, "expanded") if "expanded_docs.npy" in paths else None,
            text_lengths=open_array(paths, "text_lengths.npy", np.float64),
            cptw_lengths=open_array(paths, "cptw_lengths.npy", np.float64),
            tfidf_lengths=open_array(paths, "tfidf_lengths.npy", np.float64),
        )
        per_document = {
            name: len(getattr(segment, name))
            for name in (
                "id_hashes",
                "id_positions",
                "id_ranks",
                "documents",
                "text_lengths",
                "cptw_lengths",
                "tfidf_lengths",
            )
        }
        if set(per_document.values()) != {segment.n_docs}:
            raise CorruptedError(
                f"A segment of {segment.n_docs} documents must have as many of each. It has {per_document}."
            )
        return segment


def _divisors(lengths: FloatArray) -> FloatArray:
    return lengths if (lengths > 0).all() else np.where(lengths > 0, lengths, np.inf)
