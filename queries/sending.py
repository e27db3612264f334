"""Many searches in few requests, and the raw hits that come back."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from cptw_queries.builders import Clause
from cptw_search.cluster import RESERVED_PREFIX, ClusterClient, make_path
from cptw_search.cluster_answers import read_number, read_optional, read_part, read_reason
from cptw_search.errors import AccessDeniedError, ClusterError, InvalidInputError, MissingIndexError, RejectedError

__all__ = [
    "MAX_WINDOW",
    "RawHit",
    "TooManyClausesError",
    "best_scores",
    "each_hits",
    "fetch_documents",
    "multi_search",
    "raw_hits",
]

MAX_WINDOW = 10_000
"""How many hits a server gives in one go (``index.max_result_window``); more come in pages."""

BATCH_SEARCHES = 100
BATCH_BYTES = 8 * 1024**2
BATCH_HITS = 10_000  # the server holds all answers of a request in its memory before it sends them

# A shard that failed must not make a search that looks as if it had found less.
_HEADER = b'{"allow_partial_search_results":false}\n'
_TOO_MANY = re.compile(r"maxClauseCount is set to ([0-9]{1,9})")

# A node that dies between finding hits and fetching them: a server goes to another copy for the first, not for the second.
# Some say so in the error itself, some in what it was caused by.
_LOST_NODE = re.compile(r"\b(connect_transport|node_closed|node_disconnected|node_not_connected)_exception\b")
_N_TRIES = 3

_to_json = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode  # made once, for speed

RawHit = dict[str, Any]


class TooManyClausesError(RejectedError):
    """A query with more clauses than the server takes; ``limit`` is how many it does.

    Parameters
    ----------
    message : str
        What was refused.
    limit : int
        The server's limit.
    """

    def __init__(self, message: str, limit: int) -> None:
        super().__init__(message, status=400)
        self.limit = limit

    def __reduce__(self) -> tuple[type[TooManyClausesError], tuple[str, int]]:
        return type(self), (str(self), self.limit)


def multi_search(client: ClusterClient, name: str, bodies: Iterable[Clause]) -> Iterator[dict[str, Any]]:
    """Send searches in batches that are bounded by count, by bytes and by the hits that are asked for.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    bodies : iterable of dict
        Request bodies.

    Yields
    ------
    dict
        The answer to each, in order.

    Raises
    ------
    ClusterError
        If one of them fails, whole or on a shard.
    """
    path = make_path(name, "_msearch")
    for searches in _batches(bodies):
        for answer in _answers_of_the_living(client, path, searches):
            if "error" in answer:
                raise _error(answer, name)
            yield answer


def _answers_of_the_living(client: ClusterClient, path: str, searches: list[bytes]) -> list[dict[str, Any]]:
    """Ask again at once what a node had taken up that died: by then the others know, and its shards have other copies."""
    answers = _answers(client, path, searches)
    for _ in range(_N_TRIES - 1):
        failed = {position: answer["error"] for position, answer in enumerate(answers) if "error" in answer}
        lost = [position for position, error in failed.items() if _LOST_NODE.search(json.dumps(error))]
        if not lost:
            break
        again = _answers(client, path, [searches[position] for position in lost])
        for position, answer in zip(lost, again, strict=True):
            answers[position] = answer
    return answers


def _answers(client: ClusterClient, path: str, searches: list[bytes]) -> list[dict[str, Any]]:
    try:
        answers = read_part(client.send_lines(path, _HEADER + _HEADER.join(searches)), list, "responses")
    except RejectedError as error:
        if error.status != 413 or len(searches) == 1:
            raise
        middle = len(searches) // 2  # the server takes less than most do
        return _answers(client, path, searches[:middle]) + _answers(client, path, searches[middle:])
    if len(answers) != len(searches):
        raise RejectedError(f"The server answered {len(answers)} of {len(searches)} searches with POST {path}.")
    return [read_part(answer, dict) for answer in answers]


def _batches(bodies: Iterable[Clause]) -> Iterator[list[bytes]]:
    lines: list[bytes] = []
    n_bytes = n_hits = 0
    for body in bodies:
        try:
            line = _to_json(body).encode() + b"\n"
        except (TypeError, ValueError) as error:
            raise InvalidInputError(f"A search must be JSON: {error}. Look at the values of the filter.") from error
        size = body.get("size", 0)
        is_full = len(lines) == BATCH_SEARCHES or n_bytes + len(line) > BATCH_BYTES or n_hits + size > BATCH_HITS
        if lines and is_full:
            yield lines
            lines, n_bytes, n_hits = [], 0, 0
        lines.append(line)
        n_bytes += len(line) + len(_HEADER)
        n_hits += size
    if lines:
        yield lines


def _error(answer: dict[str, Any], name: str) -> ClusterError:
    status, error = answer.get("status"), answer["error"]
    if not isinstance(status, int):
        status = 500
    causes = error.get("root_cause") if isinstance(error, dict) else None
    said = [read_reason(part) for part in (error, *(causes if isinstance(causes, list) else ()))]
    kinds = {kind for kind, _ in said}
    reason = "; ".join(dict.fromkeys(words for _, words in said[1:] or said))[:1000]
    if limit := _TOO_MANY.search("; ".join(words for _, words in said)):
        return TooManyClausesError(f"The query has more clauses than the server takes: {limit[1]}.", int(limit[1]))
    if "index_not_found_exception" in kinds:
        return MissingIndexError(f"There is no index or alias {name!r}: {reason}")
    if "security_exception" in kinds:
        return AccessDeniedError(f"The login may not search {name!r} ({status}). The server says: {reason}")
    return RejectedError(f"The search on {name!r} failed ({status}): {reason}", status=status, reason=reason)


def raw_hits(client: ClusterClient, name: str, bodies: Sequence[Clause]) -> list[list[RawHit]]:
    """Send searches and give their hits; more than a server gives in one go are asked for in pages.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    bodies : sequence of dict
        What `cptw_queries.bodies.search_body` made.

    Returns
    -------
    list of list of dict
        The hits of each search, as the server gave them.

    Raises
    ------
    InvalidInputError
        If more hits are asked for than pages can be made of.
    ClusterError
        If a search fails.
    """
    found: list[list[RawHit]] = [[] for _ in bodies]
    open_ = list(range(len(bodies)))
    pages = [_first_page(body) for body in bodies]
    while open_:
        answers = list(multi_search(client, name, [pages[position] for position in open_]))
        still_open = []
        for position, answer in zip(open_, answers, strict=True):
            hits = _hits(answer)
            found[position] += hits
            missing = bodies[position]["size"] - len(found[position])
            if missing > 0 and len(hits) == MAX_WINDOW:
                pages[position] = {
                    **pages[position],
                    "size": min(missing, MAX_WINDOW),
                    "search_after": read_part(hits[-1], list, "sort"),
                }
                still_open.append(position)
        open_ = still_open
    return found


def _hits(answer: object) -> list[RawHit]:
    hits = read_part(answer, list, "hits", "hits")
    for hit in hits:
        read_number(hit, "_score")
        read_optional(hit, dict, "_source")
    return hits


def _first_page(body: Clause) -> Clause:
    if body["size"] + body.get("from", 0) <= MAX_WINDOW:
        return body
    if body.get("from"):
        raise InvalidInputError(
            f"offset and k must add up to at most {MAX_WINDOW:,}. Got {body['from']} and {body['size']}: pass the last hit of the "
            "page before as after, and no offset."
        )
    if "sort" not in body:
        raise InvalidInputError(
            f"k must be at most {MAX_WINDOW:,} where hits have no field to order equal scores by. Got {body['size']} instead."
        )
    return {**body, "size": MAX_WINDOW}


def each_hits(client: ClusterClient, name: str, bodies: Iterable[Clause]) -> Iterator[list[RawHit]]:
    """Send searches and give the hits of one after the other, for those that need not be kept.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    bodies : iterable of dict
        Request bodies for no more hits than `MAX_WINDOW`.

    Yields
    ------
    list of dict
        The hits of each search, as the server gave them.

    Raises
    ------
    ClusterError
        If a search fails.
    """
    for answer in multi_search(client, name, bodies):
        yield _hits(answer)


def best_scores(client: ClusterClient, name: str, bodies: Iterable[Clause]) -> list[float]:
    """Ask for the best score of each query.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    bodies : iterable of dict
        What `cptw_queries.bodies.best_score_body` made.

    Returns
    -------
    list of float
        0 where nothing was found.
    """
    return [float(hits[0]["_score"]) if hits else 0.0 for hits in each_hits(client, name, bodies)]


def fetch_documents(
    client: ClusterClient, name: str, ids: Sequence[str], *, fields: Sequence[str] | None = None
) -> dict[str, RawHit]:
    """Get stored documents by their ids.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    ids : sequence of str
        Which ones.
    fields : sequence of str, optional
        What is returned of the documents; by default all that the user stored.

    Returns
    -------
    dict
        Ids to documents as the server gave them; those that are not there are left out.

    Raises
    ------
    ClusterError
        If the request fails.
    """
    found: dict[str, RawHit] = {}
    params: dict[str, object] = {"_source_excludes": f"{RESERVED_PREFIX}*"}
    if fields is not None:
        params["_source_includes"] = list(fields)
    for start in range(0, len(ids), MAX_WINDOW):
        body = {"ids": list(ids[start : start + MAX_WINDOW])}
        answer = client.request("POST", make_path(name, "_mget"), body=body, params=params)
        for document in read_part(answer, list, "docs"):
            if "error" in read_part(document, dict):
                raise _error({"error": document["error"], "status": 404}, name)
            if document.get("found"):
                read_optional(document, dict, "_source")
                found[read_part(document, str, "_id")] = document
    return found
