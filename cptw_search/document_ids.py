"""Document ids: what they may be, and what they are where none was given."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from cptw_search.errors import InvalidInputError

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["MAX_ID_BYTES", "check_id", "identify"]

MAX_ID_BYTES = 512
"""Elasticsearch's limit, so that an index can move there."""


def check_id(doc_id: object, what: str) -> str:
    """Check an id and bring it into its one form.

    Parameters
    ----------
    doc_id : object
        What was received.
    what : str
        What it is, for the message.

    Returns
    -------
    str
        The id; a whole number becomes its digits.

    Raises
    ------
    InvalidInputError
        If it cannot be an id.

    Examples
    --------
    >>> check_id(7, "An id")
    '7'
    """
    if isinstance(doc_id, bool) or not isinstance(doc_id, (str, int)) or doc_id == "":
        raise InvalidInputError(f"{what} must be a non-empty string or a whole number. Got {doc_id!r} instead.")
    checked = str(doc_id)
    try:
        n_bytes = len(checked.encode())
    except UnicodeEncodeError:
        raise InvalidInputError(f"{what} must be valid Unicode. Got {doc_id!r}, with a lone surrogate.") from None
    if n_bytes > MAX_ID_BYTES:
        raise InvalidInputError(f"{what} must have at most {MAX_ID_BYTES} bytes. Got {n_bytes}: {checked[:40]!r}...")
    return checked


def identify(
    documents: Sequence[Document], number: int, text_fields: frozenset[str]
) -> list[tuple[str, Mapping[str, object]]]:
    """Give each document its id; plain texts are numbered.

    Parameters
    ----------
    documents : sequence of mapping or str
        What was received.
    number : int
        The id of the first, if it is a plain text.
    text_fields : frozenset of str
        The model's text fields.

    Returns
    -------
    list of (str, mapping)
        Ids and documents.

    Raises
    ------
    InvalidInputError
        If one of them has no id, or is no document.

    Examples
    --------
    >>> identify(["a boat", {"id": "x", "text": "a ship"}], 0, frozenset({"text"}))
    [('0', {'text': 'a boat'}), ('x', {'id': 'x', 'text': 'a ship'})]
    """
    identified: list[tuple[str, Mapping[str, object]]] = []
    for position, document in enumerate(documents, start=number):
        if isinstance(document, Mapping):
            if "id" not in document:
                raise InvalidInputError(
                    f"Every document must have an 'id'. Got one with {sorted(map(str, document))} only."
                )
            identified.append((check_id(document["id"], "A document's id"), document))
        elif not isinstance(document, str):
            raise InvalidInputError(
                f"A document must be a mapping of fields or a text. Got {type(document).__name__} instead."
            )
        elif "text" not in text_fields:
            raise InvalidInputError(
                f"A document must be a mapping, for the model's fields are {sorted(text_fields)}. Got a plain text instead."
            )
        else:
            identified.append((str(position), {"text": document}))
    return identified
