"""Segments made: of documents, batch by batch, and of other segments."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.bytes_table import BytesTable
from cptw_search.errors import InvalidInputError
from cptw_search.filters import FieldIndex, document_keys
from cptw_search.model import Cptw
from cptw_search.placement import row_lengths
from cptw_search.postings import Postings
from cptw_search.propagation import idf
from cptw_search.pruning import Pruning, prune
from cptw_search.segment import Segment, hash_id

__all__ = ["SegmentBuilder", "merge_segments"]

FloatArray = npt.NDArray[np.float64]


@dataclass
class SegmentBuilder:
    """Collects documents, batch by batch, and makes a segment of them.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    placement : {"both", "query", "document"}
        What is stored beside the term frequencies: propagated weights, or nothing.
    pruning : Pruning
        What is kept of the propagated weights.
    """

    model: Cptw
    placement: str
    pruning: Pruning
    ids: list[bytes] = field(default_factory=list)
    documents: list[bytes] = field(default_factory=list)
    keys: list[list[bytes]] = field(default_factory=list)
    _unknown: dict[str, int] = field(default_factory=dict)
    _counts: list[sp.csr_matrix] = field(default_factory=list)
    _expanded: list[sp.csr_matrix] = field(default_factory=list)
    _lengths: list[tuple[FloatArray, FloatArray, FloatArray]] = field(default_factory=list)

    def add(self, documents: Sequence[tuple[str, Mapping[str, object]]]) -> None:
        """Add a batch.

        Parameters
        ----------
        documents : sequence of (str, mapping)
            Ids and documents.

        Raises
        ------
        InvalidInputError
            If a document cannot be represented or stored.
        """
        model = self.model
        n_terms = len(model.vocabulary_)
        text_fields = model.text_fields
        stored = [_to_json(doc_id, document) for doc_id, document in documents]
        has_text = [any(document.get(name) is not None for name in text_fields) for _, document in documents]
        counts = model.count(
            [document if text else "" for (_, document), text in zip(documents, has_text, strict=True)]
        )
        cptw_lengths = model.propagated_lengths(counts.matrix)
        term_idf = idf(model.document_frequencies(counts.matrix.indices), model.n_docs_)
        weighted = sp.csr_matrix(
            (counts.matrix.data * term_idf, counts.matrix.indices, counts.matrix.indptr), shape=counts.matrix.shape
        )
        # Unknown words get numbers of this segment; the final order comes at the end.
        numbers = np.array(
            [self._unknown.setdefault(term, len(self._unknown)) for term in counts.unknown], dtype=np.int64
        )
        columns = np.concatenate([np.arange(n_terms), n_terms + numbers])
        if self.placement != "query":
            expanded = prune(model.represent_counts(counts.matrix, "document", self.placement, False), self.pruning)
            self._expanded.append(_with_columns(expanded, columns))
        self._counts.append(_with_columns(counts.matrix, columns))
        text_lengths = np.asarray(counts.matrix.sum(axis=1), dtype=np.float64).ravel()
        self._lengths.append((text_lengths, cptw_lengths, row_lengths(weighted)))
        self.ids.extend(doc_id.encode() for doc_id, _ in documents)
        self.documents.extend(stored)
        self.keys.extend(list(document_keys(document, ignore=sorted(text_fields))) for _, document in documents)

    def __len__(self) -> int:
        return len(self.ids)

    def build(self) -> Segment:
        """Make the segment.

        Returns
        -------
        Segment
            All documents that were added.
        """
        n_terms = len(self.model.vocabulary_)
        unknown = sorted(self._unknown)
        final = np.empty(len(unknown), dtype=np.int64)
        final[[self._unknown[term] for term in unknown]] = np.arange(len(unknown))
        columns = np.concatenate([np.arange(n_terms), n_terms + final])
        lengths = [np.concatenate(parts) for parts in zip(*self._lengths, strict=True)]
        return _assemble(
            ids=self.ids,
            documents=BytesTable.of(self.documents),
            fields=FieldIndex.of(self.keys),
            unknown=BytesTable.of(term.encode("utf-8", "surrogatepass") for term in unknown),
            counts=_stack(self._counts, columns),
            expanded=_stack(self._expanded, columns) if self.placement != "query" else None,
            lengths=lengths,
        )


def _to_json(doc_id: str, document: Mapping[str, object]) -> bytes:
    try:
        text = json.dumps({**document, "id": doc_id}, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as error:
        raise InvalidInputError(
            f"Document {doc_id!r} must hold nothing but strings, finite numbers, booleans, lists and mappings, so that it "
            f"can be stored as JSON. It does not: {error}."
        ) from error
    return text.encode("utf-8", "surrogatepass")


def _with_columns(rows: sp.csr_matrix, columns: npt.NDArray[np.int64]) -> sp.csr_matrix:
    """Renumber the columns; the shape is settled when rows are stacked."""
    indices = columns[rows.indices].astype(np.int32)
    return sp.csr_matrix((rows.data, indices, rows.indptr), shape=(rows.shape[0], int(columns.max(initial=0)) + 1))


def _stack(batches: list[sp.csr_matrix], columns: npt.NDArray[np.int64]) -> Postings:
    for batch in batches:
        batch.resize((batch.shape[0], len(columns)))
    return Postings.of(_with_columns(sp.csr_matrix(sp.vstack(batches, format="csr")), columns))


def _assemble(
    ids: Iterable[bytes],
    documents: BytesTable,
    fields: FieldIndex,
    unknown: BytesTable,
    counts: Postings,
    expanded: Postings | None,
    lengths: Sequence[FloatArray],
) -> Segment:
    ids = list(ids)
    hashes = np.array([hash_id(doc_id) for doc_id in ids], dtype=np.uint64)
    by_hash = np.argsort(hashes, kind="stable")
    ranks = np.empty(len(ids), dtype=np.int32)
    ranks[sorted(range(len(ids)), key=ids.__getitem__)] = np.arange(len(ids), dtype=np.int32)
    return Segment(
        ids=BytesTable.of(ids),
        id_hashes=hashes[by_hash],
        id_positions=by_hash.astype(np.int32),
        id_ranks=ranks,
        documents=documents,
        fields=fields,
        unknown=unknown,
        counts=counts,
        expanded=expanded,
        text_lengths=lengths[0],
        cptw_lengths=lengths[1],
        tfidf_lengths=lengths[2],
    )


def merge_segments(parts: Sequence[tuple[Segment, npt.NDArray[np.bool_]]], n_terms: int) -> Segment:
    """Make one segment of several, without their deleted documents.

    Parameters
    ----------
    parts : sequence of (Segment, ndarray of bool)
        The segments, and which of their documents are alive.
    n_terms : int
        The size of the model's vocabulary.

    Returns
    -------
    Segment
        All living documents.
    """
    kept = [np.flatnonzero(alive) for _, alive in parts]
    unknown = sorted({term for segment, _ in parts for term in segment.unknown})
    position_of = {term: position for position, term in enumerate(unknown)}

    def postings(name: str) -> Postings:
        docs, features, weights = [], [], []
        offset = 0
        for (segment, alive), living in zip(parts, kept, strict=True):
            d, f, w = getattr(segment, name).triples()
            new_number = np.cumsum(alive) - 1 + offset
            new_unknown = np.array([n_terms + position_of[term] for term in segment.unknown], dtype=np.int64)
            wanted = alive[d]
            d, f, w = d[wanted], f[wanted].astype(np.int64), w[wanted]
            is_unknown = f >= n_terms
            f[is_unknown] = new_unknown[f[is_unknown] - n_terms]
            docs.append(new_number[d])
            features.append(f)
            weights.append(w)
            offset += len(living)
        matrix = sp.coo_matrix(
            (np.concatenate(weights), (np.concatenate(docs), np.concatenate(features))),
            shape=(offset, n_terms + len(unknown)),
        )
        return Postings.of(matrix.tocsr())

    documents = [
        segment.documents[int(doc)] for (segment, _), living in zip(parts, kept, strict=True) for doc in living
    ]
    keys: list[list[bytes]] = [[] for _ in documents]
    offset = 0
    for (segment, alive), living in zip(parts, kept, strict=True):
        number = np.cumsum(alive) - 1 + offset
        start = 0
        for key, end in zip(segment.fields.keys, segment.fields.ends.tolist(), strict=True):
            for doc in segment.fields.docs[start:end]:
                if alive[doc]:
                    keys[number[doc]].append(key)
            start = end
        offset += len(living)
    lengths = [
        np.concatenate([getattr(segment, name)[living] for (segment, _), living in zip(parts, kept, strict=True)])
        for name in ("text_lengths", "cptw_lengths", "tfidf_lengths")
    ]
    has_expanded = any(segment.expanded is not None for segment, _ in parts)
    # Unknown words of deleted documents only may be left in the table; they cost nothing and match nothing.
    return _assemble(
        ids=[segment.ids[int(doc)] for (segment, _), living in zip(parts, kept, strict=True) for doc in living],
        documents=BytesTable.of(documents),
        fields=FieldIndex.of(keys),
        unknown=BytesTable.of(unknown),
        counts=postings("counts"),
        expanded=postings("expanded") if has_expanded else None,
        lengths=lengths,
    )
