"""Filters on stored fields: equality, lists of values, ranges.

Every filterable value of a document is turned into a key, ``field NUL type value``, whose bytes sort as the values
do. A sorted table of keys with the documents of each answers all three kinds of condition by binary search.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from cptw_search.bytes_table import BytesTable
from cptw_search.errors import CorruptedError, InvalidInputError
from cptw_search.stored_arrays import open_array

__all__ = ["FieldIndex", "Filter", "document_keys"]

MAX_KEYWORD_LENGTH = 256
"""Longer strings are text and not values: they are stored, but not filtered on."""

Scalar = str | int | float | bool
Filter = Mapping[str, object]

_RANGES = ("gt", "gte", "lt", "lte")


def _encode(value: Scalar) -> bytes:
    """Turn a value into bytes that sort as the values of its type do."""
    if isinstance(value, bool):
        return b"b1" if value else b"b0"
    if isinstance(value, str):
        return b"s" + value.encode("utf-8", "surrogatepass")
    try:
        bits: int = struct.unpack(">Q", struct.pack(">d", float(value) + 0.0))[0]  # + 0.0 makes -0.0 a 0.0
    except OverflowError:
        bits = struct.unpack(">Q", struct.pack(">d", math.inf if value > 0 else -math.inf))[0]
    bits = bits ^ 0xFFFFFFFFFFFFFFFF if bits >> 63 else bits | 1 << 63
    return b"n" + struct.pack(">Q", bits)


def _prefix(field: str) -> bytes:
    return field.encode("utf-8", "surrogatepass") + b"\0"


def _decode(text: bytes) -> str:
    try:
        return text.decode("utf-8", "surrogatepass")
    except UnicodeDecodeError as error:
        raise CorruptedError(f"field_keys_blob.npy is not readable ({error}): it was changed.") from error


def document_keys(document: Mapping[str, object], *, ignore: Sequence[str]) -> Iterator[bytes]:
    """Give the keys of a document's values; a list counts with each of its values.

    Parameters
    ----------
    document : mapping
        Fields to values.
    ignore : sequence of str
        Fields that are searched as text.

    Yields
    ------
    bytes
        One key a value that can be filtered on: strings up to 256 characters, numbers (compared as float64), booleans.
    """
    for field, content in document.items():
        if field in ignore or "\0" in field:
            continue
        for value in content if isinstance(content, (list, tuple)) else (content,):
            if isinstance(value, (bool, int, float)) or (isinstance(value, str) and len(value) <= MAX_KEYWORD_LENGTH):
                yield _prefix(field) + _encode(value)


@dataclass(frozen=True)
class FieldIndex:
    """Which documents have which values.

    Parameters
    ----------
    keys : BytesTable
        Distinct keys, sorted.
    ends : ndarray of int64
        Where the documents of each key end.
    docs : ndarray of int32
        The documents of all keys.
    """

    keys: BytesTable
    ends: npt.NDArray[np.int64]
    docs: npt.NDArray[np.int32]

    @classmethod
    def of(cls, keys_of_documents: Sequence[Sequence[bytes]]) -> FieldIndex:
        """Build it.

        Parameters
        ----------
        keys_of_documents : sequence of sequence of bytes
            The keys of each document.

        Returns
        -------
        FieldIndex
            The index.
        """
        docs_of_key: dict[bytes, list[int]] = {}
        for doc, keys in enumerate(keys_of_documents):
            for key in keys:
                docs_of_key.setdefault(key, []).append(doc)
        ordered = sorted(docs_of_key)
        ends = np.cumsum([len(docs_of_key[key]) for key in ordered], dtype=np.int64)
        docs = np.array([doc for key in ordered for doc in docs_of_key[key]], dtype=np.int32)
        return cls(BytesTable.of(ordered), ends, docs)

    @classmethod
    def open(cls, paths: Mapping[str, Path]) -> FieldIndex:
        """Open what `files` described.

        Parameters
        ----------
        paths : mapping
            What `storage.check_files` returned.

        Returns
        -------
        FieldIndex
            Memory-mapped.

        Raises
        ------
        CorruptedError
            If the files do not belong together.
        """
        keys = BytesTable.open(paths, "field_keys")
        ends = open_array(paths, "field_ends.npy", np.int64)
        docs = open_array(paths, "field_docs.npy", np.int32)
        if len(ends) != len(keys) or (len(ends) and ends[-1] != len(docs)):
            raise CorruptedError("field_keys, field_ends.npy and field_docs.npy must belong together. They do not.")
        return cls(keys, ends, docs)

    def files(self) -> dict[str, npt.NDArray[Any]]:
        """Give the arrays to be written.

        Returns
        -------
        dict
            File names to arrays.
        """
        return {**self.keys.files("field_keys"), "field_ends.npy": self.ends, "field_docs.npy": self.docs}

    def has_field(self, field: str) -> bool:
        """Tell whether any document has a value in a field.

        Parameters
        ----------
        field : str
            The field.

        Returns
        -------
        bool
            True if one has.
        """
        position = self.keys.bisect(_prefix(field))
        return position < len(self.keys) and self.keys[position].startswith(_prefix(field))

    def fields(self) -> list[str]:
        """List the fields that have values.

        Returns
        -------
        list of str
            Sorted.
        """
        found: list[str] = []
        position = 0
        while position < len(self.keys):
            field = self.keys[position].split(b"\0", 1)[0]
            found.append(_decode(field))
            position = max(position + 1, self.keys.bisect(field + b"\1"))  # onwards, also in a table that was changed
        return found

    def strings(self, field: str, alive: npt.NDArray[np.bool_]) -> list[str]:
        """List the strings that living documents have in a field.

        Parameters
        ----------
        field : str
            The field.
        alive : ndarray of bool
            Which documents count.

        Returns
        -------
        list of str
            Sorted.
        """
        prefix = _prefix(field) + b"s"
        first, last = self.keys.bisect(prefix), self.keys.bisect(_prefix(field) + b"t")
        return [
            _decode(self.keys[position][len(prefix) :])
            for position in range(first, last)
            if alive[self._docs(position, position + 1, len(alive))].any()
        ]

    def _docs(self, first: int, last: int, n_docs: int) -> npt.NDArray[np.int32]:
        """Give the documents of keys first to last - 1."""
        if first >= last:
            return self.docs[:0]
        docs = self.docs[(self.ends[first - 1] if first else 0) : self.ends[last - 1]]
        if len(docs) and not 0 <= int(docs.min()) <= int(docs.max()) < n_docs:
            raise CorruptedError("field_docs.npy names documents that are not there: it was changed.")
        return docs

    def mask(self, conditions: Filter, n_docs: int) -> npt.NDArray[np.bool_]:
        """Tell which documents meet all conditions.

        Parameters
        ----------
        conditions : mapping
            A field to a value, to a list of values of which one has to match, or to a range such as
            ``{"gte": 1990, "lt": 2000}``.
        n_docs : int
            The number of documents.

        Returns
        -------
        ndarray of bool
            One a document.

        Raises
        ------
        InvalidInputError
            If a condition is something else.

        Examples
        --------
        >>> documents = [{"label": "sport", "year": 1999}, {"label": "politics", "year": 2004}]
        >>> index = FieldIndex.of([list(document_keys(d, ignore=())) for d in documents])
        >>> index.mask({"label": ["sport", "economy"]}, 2), index.mask({"year": {"gt": 1999}}, 2)
        (array([ True, False]), array([False,  True]))
        """
        mask = np.ones(n_docs, dtype=bool)
        for field, condition in check_filter(conditions).items():
            matches = np.zeros(n_docs, dtype=bool)
            for first, last in self._key_ranges(field, condition):
                matches[self._docs(first, last, n_docs)] = True
            mask &= matches
        return mask

    def _key_ranges(self, field: str, condition: Any) -> Iterator[tuple[int, int]]:
        prefix = _prefix(field)
        if isinstance(condition, Mapping):
            bounds = {name: prefix + _encode(value) for name, value in condition.items()}
            kind = next(iter(bounds.values()))[: len(prefix) + 1]  # a number is compared with numbers alone
            low = max(
                self.keys.bisect(kind),
                self.keys.bisect(bounds["gte"]) if "gte" in bounds else 0,
                self.keys.bisect(bounds["gt"] + b"\0") if "gt" in bounds else 0,
            )
            high = min(
                self.keys.bisect(kind[:-1] + bytes([kind[-1] + 1])),
                self.keys.bisect(bounds["lt"]) if "lt" in bounds else len(self.keys),
                self.keys.bisect(bounds["lte"] + b"\0") if "lte" in bounds else len(self.keys),
            )
            yield low, high
            return
        for value in condition if isinstance(condition, list) else [condition]:
            position = self.keys.find(prefix + _encode(value))
            if position >= 0:
                yield position, position + 1


def check_filter(conditions: object) -> dict[str, object]:
    """Check a filter and bring it into one form.

    Parameters
    ----------
    conditions : object
        What the user gave.

    Returns
    -------
    dict
        Fields to a value, a list of values, or a range.

    Raises
    ------
    InvalidInputError
        If it is not a filter.

    Examples
    --------
    >>> check_filter({"year": {"from": 1990}})
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: A range in a filter must use 'gt', 'gte', 'lt' or 'lte'. Got \
{'from': 1990} for 'year' instead.
    """
    if not isinstance(conditions, Mapping):
        raise InvalidInputError(
            "filter must map fields to values, lists of values or ranges, such as {'label': 'sport'}. "
            f"Got {conditions!r} instead."
        )
    checked: dict[str, object] = {}
    for field, condition in conditions.items():
        if not isinstance(field, str) or "\0" in field:
            raise InvalidInputError(f"A filter's fields must be strings without NUL. Got {field!r} instead.")
        if isinstance(condition, Mapping):
            if not condition or not all(name in _RANGES for name in condition):
                raise InvalidInputError(
                    f"A range in a filter must use 'gt', 'gte', 'lt' or 'lte'. Got {dict(condition)!r} for {field!r} instead."
                )
            kinds = {type(value) if isinstance(value, (str, bool)) else float for value in condition.values()}
            if len(kinds) > 1:
                raise InvalidInputError(
                    f"The bounds of a range must be of one type. Got {dict(condition)!r} for {field!r} instead."
                )
            values, checked[field] = list(condition.values()), dict(condition)
        elif isinstance(condition, (list, tuple, set, frozenset)):
            values = list(condition)
            checked[field] = values
        else:
            values, checked[field] = [condition], condition
        for value in values:
            if not isinstance(value, (str, bool, int, float)) or value != value:
                raise InvalidInputError(
                    f"A filter's values must be strings, numbers or booleans. Got {value!r} for {field!r} instead."
                )
    return checked
