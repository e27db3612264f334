"""What a server's answer means: its parts, checked, and a refusal as one of our errors."""

from __future__ import annotations

import contextlib
import math
import re
from typing import NoReturn, TypeVar

from cptw_search.cluster_settings import ClusterSettings
from cptw_search.cluster_transport import Answer
from cptw_search.errors import (
    AccessDeniedError,
    ClusterConnectionError,
    ClusterError,
    MissingIndexError,
    RejectedError,
)

__all__ = ["error_of", "read_number", "read_optional", "read_part", "read_reason", "shown"]

_MAX_REASON = 1000
_MAX_SHOWN = 200

_T = TypeVar("_T")


def error_of(answer: Answer, method: str, path: str, settings: ClusterSettings) -> ClusterError:
    """Find the error that says what a status other than success means.

    Parameters
    ----------
    answer : Answer
        What the server answered.
    method : str
        What it was asked.
    path : str
        Where.
    settings : ClusterSettings
        For the address, and for the secrets that must not show.

    Returns
    -------
    ClusterError
        To be raised.
    """
    kind, reason = read_reason(answer.body)
    reason = settings.redact(reason)
    where = settings.shown
    if answer.status == 401:
        given = "the login" if settings.authorization else "a request without login"
        return AccessDeniedError(f"{where} refused {given} (401). It says: {reason}")
    if answer.status == 403 and kind in ("", "security_exception"):
        return AccessDeniedError(f"{where}: the login may not do {method} {path} (403). It says: {reason}")
    if answer.status == 404 and (kind == "index_not_found_exception" or re.match(r"alias(es)? \[.*missing", reason)):
        return MissingIndexError(f"{where} has no such index or alias: {reason}")
    return RejectedError(
        f"{where} refused {method} {path} ({answer.status}). It says: {reason}", status=answer.status, reason=reason
    )


def read_reason(body: object) -> tuple[str, str]:
    """Give the type of an error and the server's own words.

    Parameters
    ----------
    body : object
        The JSON of an answer, or the text of one that is none.

    Returns
    -------
    kind : str
        The type that the server names, if it does.
    reason : str
        What it says, the deepest cause last.

    Examples
    --------
    >>> cause = {"type": "illegal_argument_exception", "reason": "must be positive"}
    >>> read_reason({"error": {"type": "parsing_exception", "reason": "failed", "caused_by": cause}})
    ('parsing_exception', 'parsing_exception: failed; illegal_argument_exception: must be positive')
    """
    error = body.get("error", body) if isinstance(body, dict) else body
    if not isinstance(error, dict):
        text = re.sub(r"<[^>]*>|\s+", " ", error) if isinstance(error, str) else ""
        return "", " ".join(text.split())[:_MAX_REASON] or "nothing"
    reasons: list[str] = []
    cause: object = error
    while isinstance(cause, dict) and len(reasons) < 10:
        said = f"{_words(cause.get('type'))}: {_words(cause.get('reason'))}"
        if said not in reasons:
            reasons.append(said)
        cause = cause.get("caused_by")
    return _words(error.get("type")), "; ".join(reasons)[:_MAX_REASON]


def _words(said: object) -> str:
    return said[:_MAX_REASON] if isinstance(said, str) else ""


def read_part(answer: object, kind: type[_T], *names: str) -> _T:
    """Take a part out of an answer that has to be there.

    What stands between client and server may answer in its place, with JSON that is none of the server's.

    Parameters
    ----------
    answer : object
        The JSON of an answer.
    kind : type
        What the part has to be.
    *names : str
        The way to it, one name a level; none: the answer itself.

    Returns
    -------
    object
        The part.

    Raises
    ------
    ClusterConnectionError
        If it is not there, or is something else.

    Examples
    --------
    >>> read_part({"hits": {"hits": []}}, list, "hits", "hits")
    []
    """
    part = _find(answer, names)
    if not isinstance(part, kind) or isinstance(part, bool) is not (kind is bool):
        _raise_changed(names)
    return part


def read_optional(answer: object, kind: type[_T], *names: str) -> _T | None:
    """Take a part out of an answer that need not be there.

    Parameters
    ----------
    answer : object
        The JSON of an answer.
    kind : type
        What the part has to be.
    *names : str
        The way to it, one name a level.

    Returns
    -------
    object or None
        The part; None where it is not there, or null.

    Raises
    ------
    ClusterConnectionError
        If it is something else.

    Examples
    --------
    >>> read_optional({"_source": {"text": "a boat"}}, dict, "_source")
    {'text': 'a boat'}
    >>> read_optional({}, dict, "_source")
    """
    return None if _find(answer, names) is None else read_part(answer, kind, *names)


def read_number(answer: object, *names: str) -> float:
    """Take a number out of an answer.

    Parameters
    ----------
    answer : object
        The JSON of an answer.
    *names : str
        The way to it, one name a level.

    Returns
    -------
    float
        A finite number.

    Raises
    ------
    ClusterConnectionError
        If it is not there, or is something else.

    Examples
    --------
    >>> read_number({"_score": 2}, "_score")
    2.0
    """
    part, number = _find(answer, names), math.nan
    if isinstance(part, (int, float)) and not isinstance(part, bool):
        with contextlib.suppress(OverflowError):
            number = float(part)
    if not math.isfinite(number):
        _raise_changed(names)
    return number


def _find(answer: object, names: tuple[str, ...]) -> object:
    part = answer
    for name in names:
        part = part.get(name) if isinstance(part, dict) else None
    return part


def _raise_changed(names: tuple[str, ...]) -> NoReturn:
    where = f"have {shown('.'.join(names))}" if names else "be JSON of the server's own"
    raise ClusterConnectionError(
        f"The server's answer must {where}. It does not: something between this program and the server may have changed it.",
        is_temporary=True,
    )


def shown(value: object) -> str:
    """Write something that a server said, for a message.

    Parameters
    ----------
    value : object
        Some JSON.

    Returns
    -------
    str
        How Python writes it, if it is short; else its beginning, or what it is.

    Examples
    --------
    >>> shown("8.19.0"), shown([[]] * 3), shown("a" * 1000)[-6:]
    ("'8.19.0'", 'a list', "aa'...")
    """
    if isinstance(value, (dict, list)):
        return f"a {type(value).__name__}"
    return repr(value) if len(str(value)) <= _MAX_SHOWN else f"{str(value)[:_MAX_SHOWN]!r}..."
