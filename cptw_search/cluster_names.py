"""Names that go to a cluster: of indices and fields, of features and tokens, and the paths made of them."""

from __future__ import annotations

import re
from urllib.parse import quote, unquote

from cptw_search.errors import InvalidInputError

__all__ = [
    "ID_FIELD",
    "INDEX_FORMAT",
    "RESERVED_PREFIX",
    "TEXT_FIELD",
    "WEIGHTS_FIELD",
    "check_field_name",
    "check_index_name",
    "decode_feature",
    "encode_feature",
    "encode_token",
    "make_path",
]

INDEX_FORMAT = 1
"""The layout of an index: written into its mapping by the indexer, asked for by the queries."""

RESERVED_PREFIX = "cptw_"
"""Fields whose names begin with this are ours."""

WEIGHTS_FIELD = "cptw_weights"
"""The field of the weighted terms."""

TEXT_FIELD = "cptw_text"
"""The field of the terms, each as often as it counts, for BM25."""

ID_FIELD = "cptw_id"
"""The field that holds the document's id once more, for ordering equal scores."""

MAX_INDEX_NAME_BYTES = 255

_NOT_IN_INDEX_NAMES = re.compile(r'[\\/*?"<>|\s,#:\x00-\x1f\x7f]')
_NOT_IN_FEATURES = re.compile(r"[%.\s\x00-\x1f\x7f]")
_NOT_IN_TOKENS = re.compile(r"[\s\x00-\x1f\x7f]|%(?=[0-9A-F]{2})")


def check_index_name(name: object, what: str = "The name of an index") -> str:
    """Check a name by the servers' rules before it gets into a URL.

    Parameters
    ----------
    name : object
        The name of an index or alias.
    what : str, default "The name of an index"
        What it is, for the message.

    Returns
    -------
    str
        The same name.

    Raises
    ------
    InvalidInputError
        If a server would refuse it, or take it for a pattern or a list.

    Examples
    --------
    >>> check_index_name("news-2026")
    'news-2026'
    """
    if (
        not isinstance(name, str)
        or name in ("", ".", "..")
        or name[0] in "-_+"
        or name != name.lower()
        or _NOT_IN_INDEX_NAMES.search(name)
        or not _is_encodable(name)
        or len(name.encode()) > MAX_INDEX_NAME_BYTES
    ):
        raise InvalidInputError(
            f'{what} must be in small letters, without spaces and any of \\ / * ? " < > | , # :, must not begin with '
            f"- _ + and have 1 to {MAX_INDEX_NAME_BYTES} bytes. Got {name!r} instead."
        )
    return name


def check_field_name(name: object, what: str = "The name of a field") -> str:
    """Check the name of a field of documents.

    Parameters
    ----------
    name : object
        The name; dots separate the levels of nested fields.
    what : str, default "The name of a field"
        What it is, for the message.

    Returns
    -------
    str
        The same name.

    Raises
    ------
    InvalidInputError
        If no document of an index can have a field of that name.

    Examples
    --------
    >>> check_field_name("author.name")
    'author.name'
    """
    if (
        not isinstance(name, str)
        or name.startswith("_")
        or re.search(r"[*\x00-\x1f\x7f]", name)
        or not all(map(str.strip, name.split(".")))
        or not _is_encodable(name)
    ):
        raise InvalidInputError(
            f"{what} must be a string without * and empty parts between dots, and must not begin with _. Got {name!r} instead."
        )
    return name


def _is_encodable(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def encode_feature(term: str) -> str:
    """Turn a term into the name of a feature in `WEIGHTS_FIELD`.

    The servers refuse names that are empty, are white space only or hold dots; those characters and the per cent sign
    become their percent-encoded UTF-8 bytes.

    Parameters
    ----------
    term : str
        A term of a model.

    Returns
    -------
    str
        The name; nearly always the term itself.

    Examples
    --------
    >>> encode_feature("boat"), encode_feature("3.5%")
    ('boat', '3%2E5%25')
    """
    return _NOT_IN_FEATURES.sub(_percent_encoded, term)


def decode_feature(feature: str) -> str:
    """Turn the name of a feature back into the term.

    Parameters
    ----------
    feature : str
        What `encode_feature` gave.

    Returns
    -------
    str
        The term.

    Examples
    --------
    >>> decode_feature("3%2E5%25")
    '3.5%'
    """
    return unquote(feature, errors="strict")


def encode_token(term: str) -> str:
    """Turn a term into a token of `TEXT_FIELD`, whose analyzer splits at white space.

    Parameters
    ----------
    term : str
        A term of a model.

    Returns
    -------
    str
        The token: the term itself, unless a user's own analyzer makes terms with white space.

    Examples
    --------
    >>> encode_token("3.5%"), encode_token("New York")
    ('3.5%', 'New%20York')
    """
    return _NOT_IN_TOKENS.sub(_percent_encoded, term)


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode())


def make_path(*segments: str) -> str:
    """Make the path of a request; each segment is percent-encoded.

    Parameters
    ----------
    *segments : str
        Names of indices, ids of documents, names of endpoints.

    Returns
    -------
    str
        The path.

    Raises
    ------
    InvalidInputError
        If a segment is empty or would be taken for another folder.

    Examples
    --------
    >>> make_path("news", "_doc", "a/b?c")
    '/news/_doc/a%2Fb%3Fc'
    """
    for segment in segments:
        if segment in ("", ".", "..") or not _is_encodable(segment):
            raise InvalidInputError(f"A segment of a path must not be empty, '.' or '..', but text. Got {segment!r}.")
    return "/" + "/".join(quote(segment, safe="") for segment in segments)
