"""Documents to the lines of bulk requests: pure, and the same on every server.

A document becomes its own JSON with up to three fields more: the weighted terms, the terms once for each time they count,
and the id. The terms' order is not kept: one count of the words serves both fields. A field's weight multiplies the
occurrences there, rounded to whole ones, for a text field counts nothing else.
"""

from __future__ import annotations

import functools
import itertools
import json
import operator
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_indexer.mapping import Layout
from cptw_search.cluster import ID_FIELD, RESERVED_PREFIX, TEXT_FIELD, WEIGHTS_FIELD, encode_feature, encode_token
from cptw_search.counting import Document
from cptw_search.document_ids import identify
from cptw_search.errors import InvalidInputError
from cptw_search.model import Cptw
from cptw_search.pruning import prune

__all__ = [
    "VERBS",
    "Action",
    "Encoded",
    "Encoder",
    "Numbered",
    "Rejection",
    "batches",
    "chunks",
    "deletion",
    "name_of",
]

VERBS = ("index", "create", "update")
"""What is done with a document: replace the one of that id, add a new one, add our fields to the one that is there."""

Numbered = tuple[int, Document]
"""A document with its number in the input."""

_SMALLEST = float(np.finfo(np.float32).tiny)  # of the normal floats: servers refuse what is smaller
_LARGEST = float(np.finfo(np.float32).max)
_DROPPED_BITS = 15  # of a float32, when a server stores it

_to_json = json.JSONEncoder(ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode  # made once, for speed


class Rejection(NamedTuple):
    """A document that did not get in.

    Attributes
    ----------
    id : str
        Its id; where it has none, its number in the input.
    reason : str
        Why.
    """

    id: str
    reason: str


@dataclass(frozen=True)
class Action:
    """One entry of a bulk request.

    Parameters
    ----------
    doc_id : str
        The document's id.
    lines : bytes
        One or two lines of JSON, a newline behind each.
    """

    doc_id: str
    lines: bytes


class Encoded(NamedTuple):
    """What became of a batch of documents.

    Attributes
    ----------
    actions : list of Action
        Those that can be sent.
    rejections : list of Rejection
        Those that cannot.
    """

    actions: list[Action]
    rejections: list[Rejection]


class Encoder:
    """Documents to actions.

    Parameters
    ----------
    model : Cptw
        Represents them.
    layout : Layout
        How they are stored.
    verb : {"index", "create", "update"}, default "index"
        What is done with them, see `VERBS`.
    """

    def __init__(self, model: Cptw, layout: Layout, verb: str = "index") -> None:
        self.model = model
        self.layout = layout
        self.verb = verb

    def encode(self, batch: Sequence[Numbered]) -> Encoded:
        """Make actions of a batch of documents.

        Parameters
        ----------
        batch : sequence of (int, mapping or str)
            Each document's number in the input, and the document: a mapping with ``id`` and one of the model's text
            fields at least, or a plain text, whose number becomes its id.

        Returns
        -------
        Encoded
            An action or a rejection for each.
        """
        taken: list[tuple[str, Mapping[str, object], str]] = []
        rejections: list[Rejection] = []
        for number, document in batch:
            try:
                taken.append(self._check(document, number))
            except InvalidInputError as error:
                rejections.append(Rejection(name_of(number, document), str(error)))
        members = self._members([document for _, document, _ in taken])
        actions = [
            Action(doc_id, self._lines(doc_id, source, fields))
            for (doc_id, _, source), fields in zip(taken, members, strict=True)
        ]
        return Encoded(actions, rejections)

    def _check(self, document: Document, number: int) -> tuple[str, Mapping[str, object], str]:
        """Give id, document and JSON, or say why there is none."""
        doc_id, fields = identify([document], number, self.model.text_fields)[0]
        if isinstance(document, str):
            fields = {"id": doc_id, **fields}
        for name in fields:
            if not isinstance(name, str) or name.startswith(RESERVED_PREFIX):
                raise InvalidInputError(
                    f"A field's name must be a string that does not begin with {RESERVED_PREFIX!r}, which is reserved. "
                    f"Got {name!r}."
                )
        texts = [fields[name] for name in self.model.text_fields if fields.get(name) is not None]
        if not texts or not all(isinstance(text, str) for text in texts):
            expected = ", ".join(map(repr, sorted(self.model.text_fields)))
            kinds = [type(text).__name__ for text in texts] or "none"
            raise InvalidInputError(f"A document must have a text in one of the fields {expected}. Got {kinds} there.")
        try:
            source = _to_json(fields)
            source.encode()
        except (TypeError, ValueError, RecursionError) as error:
            raise InvalidInputError(f"A document must be something that JSON can hold: {error}.") from error
        return doc_id, fields, source

    def _members(self, documents: list[Mapping[str, object]]) -> Iterator[str]:
        """Make the members that are added to the JSON of each document, without the id."""
        counts = self.model.count(documents)
        texts = _texts(counts.matrix, _columns(self._tokens, map(encode_token, counts.unknown)))
        if self.layout.field_type == "none":
            return (f'"{TEXT_FIELD}":{text}' for text in texts)
        rows = self.model.represent_counts(counts.matrix, "document", self.layout.placement, True)
        rows = prune(rows, self.layout.pruning)
        weights = _weights(rows, _columns(self._features, map(_feature, counts.unknown)))
        return (
            f'"{TEXT_FIELD}":{text},"{WEIGHTS_FIELD}":{weight}' for text, weight in zip(texts, weights, strict=True)
        )

    def _lines(self, doc_id: str, source: str, members: str) -> bytes:
        quoted = _to_json(doc_id)
        added = f'"{ID_FIELD}":{quoted},{members}}}'
        if self.verb == "update":
            return f'{{"update":{{"_id":{quoted},"retry_on_conflict":3}}}}\n{{"doc":{{{added}}}\n'.encode()
        return f'{{"{self.verb}":{{"_id":{quoted}}}}}\n{source[:-1]},{added}\n'.encode()

    @functools.cached_property
    def _features(self) -> npt.NDArray[np.object_]:
        return np.array([_feature(term) for term in self.model.vocabulary_], dtype=object)

    @functools.cached_property
    def _tokens(self) -> npt.NDArray[np.object_]:
        return np.array([encode_token(term) for term in self.model.vocabulary_], dtype=object)


def _columns(known: npt.NDArray[np.object_], unknown: Iterable[str]) -> npt.NDArray[np.object_]:
    return np.concatenate([known, np.array(list(unknown), dtype=object)])


def _feature(term: str) -> str:
    return _to_json(encode_feature(term)) + ":"


def _texts(counts: sp.csr_matrix, tokens: npt.NDArray[np.object_]) -> Iterator[str]:
    """Write each token as often as it counts, once at least."""
    times = np.maximum(np.rint(counts.data), 1).astype(np.int64)
    repeated = np.repeat(tokens[counts.indices], times).tolist()
    ends = np.concatenate(([0], np.cumsum(times)))[counts.indptr].tolist()
    for start, end in itertools.pairwise(ends):
        yield _to_json(" ".join(repeated[start:end]))


def _weights(rows: sp.csr_matrix, features: npt.NDArray[np.object_]) -> Iterator[str]:
    """Write the weighted terms as JSON objects; what is too small for the servers is left out."""
    kept = rows.data >= _SMALLEST
    ends = np.concatenate(([0], np.cumsum(kept)))[rows.indptr].tolist()
    bits = np.minimum(rows.data[kept], _LARGEST).astype(np.float32).view(np.uint32) >> _DROPPED_BITS
    values = _written_weights()[bits].tolist()
    names = features[rows.indices[kept]].tolist()
    for start, end in itertools.pairwise(ends):
        yield "{" + ",".join(map(operator.add, names[start:end], values[start:end])) + "}"


@functools.cache
def _written_weights() -> npt.NDArray[np.object_]:
    """Write every number that a server can store, by its bits.

    Servers keep 9 significant bits of a weight and cut off the rest. So there are 65,000 weights, and a few digits
    are enough for the same one to be stored: the shortest of these that the cutting off takes to the same number.
    """
    n_numbers = 255 << 8  # eight bits of exponent but for infinity, eight of the fraction
    numbers = (np.arange(n_numbers, dtype=np.uint32) << _DROPPED_BITS).view(np.float32).tolist()
    written = np.full(n_numbers, "", dtype=object)
    for position, (least, next_) in enumerate(itertools.pairwise([*numbers, _LARGEST])):
        middle = (least + next_) / 2
        tries = (f"{middle:.{n_digits}g}" for n_digits in (1, 2, 3))
        written[position] = next((text for text in tries if least <= float(text) < next_), f"{middle:.4g}")
    return written


def name_of(number: int, document: object) -> str:
    """Give a document the name that it is spoken of by.

    Parameters
    ----------
    number : int
        Its number in the input.
    document : object
        A mapping, a text, or something that is no document.

    Returns
    -------
    str
        Its id, where it has one.

    Examples
    --------
    >>> name_of(3, {"id": 7}), name_of(3, "a text"), name_of(3, {"text": "no id"})
    ('7', '3', 'document 3')
    """
    if isinstance(document, str):
        return str(number)
    if isinstance(document, Mapping) and isinstance(document.get("id"), (str, int)):
        return str(document["id"])
    return f"document {number}"


def deletion(doc_id: str) -> Action:
    """Make the action that deletes a document.

    Parameters
    ----------
    doc_id : str
        Its id.

    Returns
    -------
    Action
        One line.
    """
    return Action(doc_id, f'{{"delete":{{"_id":{_to_json(doc_id)}}}}}\n'.encode())


def batches(documents: Iterable[Document], size: int) -> Iterator[list[Numbered]]:
    """Cut an input into batches of numbered documents, without reading ahead.

    Parameters
    ----------
    documents : iterable
        The input.
    size : int
        How many a batch has at most.

    Yields
    ------
    list of (int, document)
        Some of them.

    Examples
    --------
    >>> list(batches(["a", "b", "c"], 2))
    [[(0, 'a'), (1, 'b')], [(2, 'c')]]
    """
    numbered = enumerate(documents)
    while batch := list(itertools.islice(numbered, size)):
        yield batch


def chunks(actions: Iterable[Action], max_actions: int, max_bytes: int) -> Iterator[list[Action]]:
    """Cut actions into requests that are bounded by count and by bytes.

    Parameters
    ----------
    actions : iterable of Action
        What is to be sent.
    max_actions : int
        How many a request has at most.
    max_bytes : int
        How many bytes it has at most; a single action that is larger goes alone.

    Yields
    ------
    list of Action
        One request's.

    Examples
    --------
    >>> actions = [Action(c, c.encode() * n) for c, n in [("a", 3), ("b", 3), ("c", 9), ("d", 1), ("e", 1), ("f", 1)]]
    >>> [[action.doc_id for action in chunk] for chunk in chunks(actions, 2, 7)]
    [['a', 'b'], ['c'], ['d', 'e'], ['f']]
    """
    chunk: list[Action] = []
    n_bytes = 0
    for action in actions:
        if chunk and (len(chunk) == max_actions or n_bytes + len(action.lines) > max_bytes):
            yield chunk
            chunk, n_bytes = [], 0
        chunk.append(action)
        n_bytes += len(action.lines)
    if chunk:
        yield chunk
