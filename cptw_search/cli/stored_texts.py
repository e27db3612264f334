"""Texts that are in an index on a cluster already: found in documents of any shape, and streamed to a fit."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cptw_search.cluster import ClusterClient
    from cptw_search.model import Cptw

__all__ = ["main_field", "stored_texts", "text_of"]

BATCH_SIZE = 200


def main_field(model: Cptw) -> str:
    """Choose the field that a plain text stands in.

    Parameters
    ----------
    model : Cptw
        The model.

    Returns
    -------
    str
        ``text`` where the model has it.
    """
    return "text" if "text" in model.text_fields else min(model.text_fields)


def text_of(document: Mapping[str, object], field: str) -> str:
    r"""Find the text of a field in a document as it is stored.

    Parameters
    ----------
    document : mapping
        The document.
    field : str
        The field as the mapping names it: ``author.name`` is ``name`` in ``author``, and ``body.english`` may be
        another reading of ``body``.

    Returns
    -------
    str
        The strings there, a line each; empty where there are none.

    Examples
    --------
    >>> text_of({"author": [{"name": "Ann"}, {"name": "Bob"}]}, "author.name")
    'Ann\nBob'
    >>> text_of({"body": "A boat."}, "body.english"), text_of({"body": "A boat."}, "title")
    ('A boat.', '')
    """
    parts = field.split(".")
    for n_parts in range(len(parts), 0, -1):
        if found := [text for text in _values(document, parts[:n_parts]) if isinstance(text, str)]:
            return "\n".join(found)
    return ""


def _values(value: object, parts: Sequence[str]) -> Iterator[object]:
    if isinstance(value, (list, tuple)):
        for one in value:
            yield from _values(one, parts)
    elif not parts:
        yield value
    elif isinstance(value, Mapping):
        for n_parts in range(1, len(parts) + 1):  # a name with dots may stand in a document as it is
            if (name := ".".join(parts[:n_parts])) in value:
                yield from _values(value[name], parts[n_parts:])


def stored_texts(
    client: ClusterClient, name: str, fields: Sequence[str], *, own_tokens: bool
) -> Iterator[dict[str, object]]:
    """Read the texts of an index.

    Parameters
    ----------
    client : ClusterClient
        Where it is.
    name : str
        The index or alias.
    fields : sequence of str
        Text fields.
    own_tokens : bool
        Give the tokens that the field's own analyzer makes, with spaces between them, in place of the text.

    Yields
    ------
    dict
        The fields of one document, empty ones left out; documents without any are passed over.

    Raises
    ------
    InvalidInputError
        If the index has no such text field, or no document has a text there.
    ClusterError
        If not all of it could be read.
    """
    from cptw_indexer.scan import scan
    from cptw_queries.field_tokens import FieldTokens, check_text_field
    from cptw_queries.layout import read_mapping
    from cptw_search.cli.output import counted, message
    from cptw_search.errors import InvalidInputError

    index, mapping = read_mapping(client, name)
    if own_tokens:
        for field in fields:
            check_text_field(index, mapping, field)
    analyzers = {field: FieldTokens(client, index, field) for field in fields if own_tokens}
    # With the parents: other readings of a field are not stored under their own names.
    wanted = [".".join(parts[:n]) for parts in (field.split(".") for field in fields) for n in range(1, len(parts) + 1)]
    documents = scan(client, index, wanted)
    n_read = n_empty = 0
    while batch := list(itertools.islice(documents, BATCH_SIZE)):
        texts = {field: [text_of(document, field) for document in batch] for field in fields}
        for field, analyzer in analyzers.items():
            texts[field] = [" ".join(tokens) for tokens in analyzer.of_all(texts[field])]
        for row in zip(*texts.values(), strict=True):
            said: dict[str, object] = {field: text for field, text in zip(fields, row, strict=True) if text}
            n_read += 1
            n_empty += not said
            if said:
                yield said
    if n_empty == n_read:
        raise InvalidInputError(
            f"The documents of {index!r} must have texts in {', '.join(map(repr, fields))} to fit a model on. None of "
            f"{n_read:,} has one, or the index does not store its documents (_source)."
        )
    if n_empty:
        message(f"{counted(n_empty, 'document')} of {n_read:,} without a text in {', '.join(fields)} passed over")
