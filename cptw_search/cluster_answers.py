"""What a server's refusal means: the status and the reason as one of our errors."""

from __future__ import annotations

import re

from cptw_search.cluster_settings import ClusterSettings
from cptw_search.cluster_transport import Answer
from cptw_search.errors import AccessDeniedError, ClusterError, MissingIndexError, RejectedError

__all__ = ["error_of", "read_reason"]

_MAX_REASON = 1000


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
        said = f"{cause.get('type', '')}: {cause.get('reason', '')}"
        if said not in reasons:
            reasons.append(said)
        cause = cause.get("caused_by")
    return str(error.get("type", "")), "; ".join(reasons)[:_MAX_REASON]
