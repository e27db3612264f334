"""An alias and the indices behind it: which one serves, which were before, and the step from one to the next.

The alias makes its index the *write index*, of which a server allows one at a time. So of two loads that end together
one gets the alias, and the other is told, even where neither of them found an alias to begin with.
"""

from __future__ import annotations

import contextlib
import time
import uuid
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, timezone
from typing import Any

from cptw_indexer.loader import Retries
from cptw_search.cluster import ClusterClient, check_index_name, make_path
from cptw_search.cluster_answers import read_optional, read_part
from cptw_search.errors import ClusterConnectionError, ClusterError, InvalidInputError, LoadError, MissingIndexError

__all__ = [
    "IndexRecord",
    "check_acknowledged",
    "current_index",
    "delete_indices",
    "find_indices",
    "find_old",
    "find_served",
    "new_index_name",
    "resolve",
    "swap",
    "with_sizes",
]

_TIME = "%Y-%m-%dT%H:%M:%S.%fZ"


@dataclass(frozen=True)
class IndexRecord:
    """An index that was made for an alias.

    Parameters
    ----------
    index : str
        Its name.
    model_id : str
        The model of its documents.
    placement : str
        Where their propagation is done.
    field_type : str
        How the weighted terms are stored.
    created : str
        When it was made, UTC.
    is_complete : bool
        Whether its load came to its end.
    is_current : bool
        Whether the alias points at it.
    aliases : tuple of str
        All that point at it.
    meta : dict
        All that we wrote about it.
    n_documents : int, optional
        How many documents can be searched.
    size_bytes : int, optional
        What it takes on the disks, replicas included.
    """

    index: str
    model_id: str
    placement: str
    field_type: str
    created: str
    is_complete: bool
    is_current: bool
    aliases: tuple[str, ...] = ()
    meta: dict[str, Any] = field(default_factory=dict, repr=False)
    n_documents: int | None = None
    size_bytes: int | None = None


def new_index_name(alias: str, after: str = "") -> tuple[str, str]:
    """Make the name of a new index, and the time that it is made at.

    Parameters
    ----------
    alias : str
        The alias that it is for.
    after : str, default ""
        The time of the newest index that is there. Where this machine's clock is behind, the next microsecond is taken.

    Returns
    -------
    name : str
        The alias, the date and time and something that no other has.
    created : str
        The time to the microsecond, UTC; later ones sort behind.

    Examples
    --------
    >>> new_index_name("news", "2999-12-31T23:59:59.999999Z")[1]
    '3000-01-01T00:00:00.000000Z'
    """
    now = datetime.fromtimestamp(time.time(), timezone.utc)
    with contextlib.suppress(ValueError, OverflowError):  # not ours, or the end of time
        now = max(now, datetime.strptime(after, _TIME).replace(tzinfo=timezone.utc) + timedelta(microseconds=1))
    return f"{alias}-{now:%Y%m%d-%H%M%S}-{uuid.uuid4().hex[:8]}", now.strftime(_TIME)


def current_index(client: ClusterClient, alias: str) -> str | None:
    """Tell which index an alias points at.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    alias : str
        The alias.

    Returns
    -------
    str or None
        The index; None where there is no such alias.

    Raises
    ------
    InvalidInputError
        If it is the name of an index, or points at several.
    """
    found = _pointed_at(client, alias)
    if not found and client.request("HEAD", make_path(alias)):
        found = _pointed_at(client, alias)  # another load may have made it between the two looks
        if not found:
            raise InvalidInputError(
                f"{alias!r} must be free or an alias. It is an index: choose another name, or use add_to_existing (--in-place)."
            )
    if len(found) > 1:
        raise InvalidInputError(f"The alias {alias!r} must point at one index. It points at {', '.join(found)}.")
    return found[0] if found else None


def _pointed_at(client: ClusterClient, alias: str) -> list[str]:
    try:
        found = read_part(client.request("GET", make_path("_alias", alias)), dict)
    except MissingIndexError:
        return []
    for index in found or [""]:  # nothing is a 404, never an empty answer
        read_part(found, dict, index, "aliases", alias)
    return sorted(found)


def resolve(client: ClusterClient, name: str) -> tuple[str, dict[str, Any]]:
    """Find the index that a name stands for, with its ``_meta``.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    name : str
        An index or an alias.

    Returns
    -------
    index : str
        The concrete index.
    meta : dict
        Its mapping's ``_meta``; empty where it has none.

    Raises
    ------
    MissingIndexError
        If there is none.
    InvalidInputError
        If there are several.
    """
    found = read_part(client.request("GET", make_path(name, "_mapping")), dict)
    if len(found) > 1:
        raise InvalidInputError(f"{name!r} must stand for one index. It stands for {', '.join(sorted(found))}.")
    index = next(iter(found), "")
    mapping = read_part(found, dict, index, "mappings")
    return index, dict(read_optional(mapping, dict, "_meta") or {})


def find_indices(client: ClusterClient, alias: str) -> list[IndexRecord]:
    """List the indices that were made for an alias, the newest first.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    alias : str
        The alias.

    Returns
    -------
    list of IndexRecord
        Those alone whose ``_meta`` names the alias.
    """
    pattern = f"{alias}-*"
    mappings = read_part(client.request("GET", make_path(pattern, "_mapping")), dict)
    aliases = read_part(client.request("GET", make_path(pattern, "_alias")), dict)
    records = []
    for index in mappings:
        ours = (read_optional(read_part(mappings, dict, index, "mappings"), dict, "_meta") or {}).get("cptw")
        if not isinstance(ours, dict) or ours.get("alias") != alias:
            continue
        if index not in aliases:  # deleted between the two looks
            continue
        pointing = tuple(sorted(read_optional(aliases, dict, index, "aliases") or {}))
        records.append(_record(index, ours, alias in pointing, pointing))
    return sorted(records, key=lambda record: (record.created, record.index), reverse=True)


def _record(index: str, ours: dict[str, Any], is_current: bool, pointing: tuple[str, ...]) -> IndexRecord:
    return IndexRecord(
        index=index,
        model_id=str(ours.get("model_id")),
        placement=str(ours.get("placement")),
        field_type=str(ours.get("field_type")),
        created=str(ours.get("created")),
        is_complete=bool(ours.get("complete")),
        is_current=is_current,
        aliases=pointing,
        meta=ours,
    )


def find_served(client: ClusterClient, name: str) -> IndexRecord:
    """Tell what serves under a name, whoever made it.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    name : str
        An index or an alias.

    Returns
    -------
    IndexRecord
        The index.

    Raises
    ------
    MissingIndexError
        If there is none.
    InvalidInputError
        If there are several, or it has no fields of ours.
    """
    index, meta = resolve(client, name)
    ours = meta.get("cptw")
    if not isinstance(ours, dict):
        raise InvalidInputError(f"The index {index!r} must have been made by cptw_indexer, whose _meta it lacks.")
    return _record(index, ours, True, () if index == name else (name,))


def find_old(client: ClusterClient, alias: str, keep: int = 1, *, unfinished: bool = False) -> list[IndexRecord]:
    """List the indices that were made for an alias and that no alias points at any more.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    alias : str
        The alias.
    keep : int, default 1
        How many of them to leave out, the newest.
    unfinished : bool, default False
        List what failed loads left behind, too, all of it.

    Returns
    -------
    list of IndexRecord
        The newest first, those of failed loads last.

    Raises
    ------
    InvalidInputError
        If ``keep`` is no whole number of at least 0.
    """
    if not isinstance(keep, int) or isinstance(keep, bool) or keep < 0:
        raise InvalidInputError(f"keep must be a whole number >= 0. Got {keep!r} instead.")
    unused = [record for record in find_indices(client, alias) if not record.aliases]
    old = [record for record in unused if record.is_complete][keep:]
    return old + [record for record in unused if unfinished and not record.is_complete]


def delete_indices(client: ClusterClient, records: list[IndexRecord]) -> list[str]:
    """Delete indices.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    records : list of IndexRecord
        What `find_old` found.

    Returns
    -------
    list of str
        Their names.
    """
    for record in records:
        client.request("DELETE", make_path(check_index_name(record.index)))
    return [record.index for record in records]


def with_sizes(client: ClusterClient, records: list[IndexRecord]) -> list[IndexRecord]:
    """Ask how large some indices are.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    records : list of IndexRecord
        The indices.

    Returns
    -------
    list of IndexRecord
        The same with numbers, where the server gives them.
    """
    sized = []
    for record in records:
        stats = client.request("GET", make_path(record.index, "_stats", "docs,store"))
        n_documents = read_optional(stats, int, "_all", "primaries", "docs", "count")
        size = read_optional(stats, int, "_all", "total", "store", "size_in_bytes")
        sized.append(replace(record, n_documents=n_documents, size_bytes=size))
    return sized


def swap(client: ClusterClient, alias: str, old: str | None, new: str, retries: Retries) -> None:
    """Point an alias at another index, in one step.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    alias : str
        The alias.
    old : str or None
        Where it has to point now; None: nowhere.
    new : str
        Where it shall point.
    retries : Retries
        When to try again.

    Raises
    ------
    LoadError
        If it points elsewhere by now.
    ClusterError
        If the server cannot be reached.
    """
    actions: list[dict[str, Any]] = [{"add": {"index": new, "alias": alias, "is_write_index": True}}]
    if old is not None:
        actions.insert(0, {"remove": {"index": old, "alias": alias, "must_exist": True}})

    def attempt() -> None:
        there = current_index(client, alias)  # an earlier try may have come through, its answer lost
        if there == new:
            return
        if there != old:
            raise _overtaken(alias, old, there, new)
        answer = client.request("POST", "/_aliases", body={"actions": actions})
        check_acknowledged(answer, f"The move of the alias {alias!r}")

    try:
        retries.run(attempt)
    except LoadError:
        raise
    except ClusterError as error:
        there = old if error.is_temporary else retries.run(lambda: current_index(client, alias))
        if there == old:
            raise
        if there != new:  # else a gateway in between has sent the request twice
            raise _overtaken(alias, old, there, new) from error


def check_acknowledged(answer: object, what: str) -> None:
    """Raise unless a server says that a change of an index or alias is done.

    Parameters
    ----------
    answer : object
        The answer's JSON.
    what : str
        The change, for the message.

    Raises
    ------
    ClusterConnectionError
        If it does not say so; the change may have been made all the same.
    """
    if not isinstance(answer, dict) or answer.get("acknowledged") is not True:
        raise ClusterConnectionError(f"{what} must be acknowledged by the server. It was not.", is_temporary=True)


def _overtaken(alias: str, old: str | None, there: str | None, new: str) -> LoadError:
    return LoadError(
        f"The alias {alias!r} was moved by somebody else during the load: it pointed at {old or 'nothing'} and points at "
        f"{there or 'nothing'} now. It is left there. {new} holds all documents of this load.",
        index=new,
    )
