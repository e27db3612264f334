"""An alias and the indices behind it: which one serves, which were before, and the step from one to the next.

The alias makes its index the *write index*, of which a server allows one at a time. So of two loads that end together
one gets the alias, and the other is told, even where neither of them found an alias to begin with.
"""

from __future__ import annotations

import time
import uuid
from dataclasses import dataclass, field, replace
from typing import Any

from cptw_indexer.loader import Retries
from cptw_search.cluster import ClusterClient, make_path
from cptw_search.errors import ClusterError, InvalidInputError, LoadError, MissingIndexError

__all__ = [
    "IndexRecord",
    "current_index",
    "find_indices",
    "new_index_name",
    "resolve",
    "swap",
    "with_sizes",
]


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


def new_index_name(alias: str) -> tuple[str, str]:
    """Make the name of a new index, and the time that it is made at.

    Parameters
    ----------
    alias : str
        The alias that it is for.

    Returns
    -------
    name : str
        The alias, the date and time and something that no other has.
    created : str
        The time to the microsecond, UTC; later ones sort behind.
    """
    nanoseconds = time.time_ns()
    now = time.gmtime(nanoseconds // 10**9)
    created = f"{time.strftime('%Y-%m-%dT%H:%M:%S', now)}.{nanoseconds // 1000 % 10**6:06d}Z"
    return f"{alias}-{time.strftime('%Y%m%d-%H%M%S', now)}-{uuid.uuid4().hex[:8]}", created


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
    try:
        found = sorted(client.request("GET", make_path("_alias", alias)))
    except MissingIndexError:
        if client.request("HEAD", make_path(alias)):
            raise InvalidInputError(
                f"{alias!r} must be free or an alias. It is an index: choose another name, or use add_to_existing."
            ) from None
        return None
    if len(found) != 1:
        raise InvalidInputError(f"The alias {alias!r} must point at one index. It points at {', '.join(found)}.")
    return str(found[0])


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
    found = client.request("GET", make_path(name, "_mapping"))
    if len(found) != 1:
        raise InvalidInputError(f"{name!r} must stand for one index. It stands for {', '.join(sorted(found))}.")
    ((index, mapping),) = found.items()
    return index, dict(mapping.get("mappings", {}).get("_meta") or {})


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
    mappings = client.request("GET", make_path(pattern, "_mapping"))
    aliases = client.request("GET", make_path(pattern, "_alias"))
    records = []
    for index, mapping in mappings.items():
        ours = (mapping.get("mappings", {}).get("_meta") or {}).get("cptw")
        if not isinstance(ours, dict) or ours.get("alias") != alias:
            continue
        pointing = tuple(sorted(aliases.get(index, {}).get("aliases", {})))
        records.append(
            IndexRecord(
                index=index,
                model_id=str(ours.get("model_id")),
                placement=str(ours.get("placement")),
                field_type=str(ours.get("field_type")),
                created=str(ours.get("created")),
                is_complete=bool(ours.get("complete")),
                is_current=alias in pointing,
                aliases=pointing,
                meta=ours,
            )
        )
    return sorted(records, key=lambda record: (record.created, record.index), reverse=True)


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
        stats = client.request("GET", make_path(record.index, "_stats", "docs,store")).get("_all", {})
        n_documents = stats.get("primaries", {}).get("docs", {}).get("count")
        size = stats.get("total", {}).get("store", {}).get("size_in_bytes")
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
        client.request("POST", "/_aliases", body={"actions": actions})

    try:
        retries.run(attempt)
    except LoadError:
        raise
    except ClusterError as error:
        if not error.is_temporary and (there := current_index(client, alias)) not in (old, new):
            raise _overtaken(alias, old, there, new) from error
        raise


def _overtaken(alias: str, old: str | None, there: str | None, new: str) -> LoadError:
    return LoadError(
        f"The alias {alias!r} was moved by somebody else during the load: it pointed at {old or 'nothing'} and points at "
        f"{there or 'nothing'} now. It is left there. {new} holds all documents of this load.",
        index=new,
    )
