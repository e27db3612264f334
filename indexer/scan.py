"""All documents of an index, one after the other, and which of some ids are in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from cptw_search.cluster import RESERVED_PREFIX, ClusterClient, make_path
from cptw_search.errors import ClusterConnectionError, ClusterError

__all__ = ["count_documents", "find_ids", "scan"]

PAGE_SIZE = 500
KEPT_FOR = "10m"  # between two pages: a load may have to wait for a server that comes back


def scan(client: ClusterClient, index: str) -> Iterator[dict[str, Any]]:
    """Read all documents of an index, as it is at the beginning.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    index : str
        The index.

    Yields
    ------
    dict
        The document as it was given, with its ``id``.

    Raises
    ------
    ClusterConnectionError
        If not all of them could be read.
    """
    body = {
        "size": PAGE_SIZE,
        "sort": ["_doc"],
        "track_total_hits": True,
        "_source": {"excludes": [f"{RESERVED_PREFIX}*"]},
    }
    params = {"scroll": KEPT_FOR, "allow_partial_search_results": False}
    page = client.request("POST", make_path(index, "_search"), body=body, params=params)
    scroll_id = page.get("_scroll_id")
    total, n_read = page["hits"]["total"]["value"], 0
    try:
        while hits := page["hits"]["hits"]:
            for hit in hits:
                source = dict(hit.get("_source") or {})
                if str(source.get("id")) != hit["_id"]:
                    source["id"] = hit["_id"]
                yield source
            n_read += len(hits)
            page = client.request("POST", "/_search/scroll", body={"scroll_id": scroll_id, "scroll": KEPT_FOR})
            scroll_id = page.get("_scroll_id", scroll_id)
        if n_read != total:
            raise ClusterConnectionError(f"{index} has {total:,} documents, but only {n_read:,} could be read.")
    finally:
        with contextlib.suppress(ClusterError):
            client.request("DELETE", "/_search/scroll", body={"scroll_id": [scroll_id]})


def find_ids(client: ClusterClient, index: str, ids: list[str]) -> set[str]:
    """Find out which ids are in an index, whether it was refreshed or not.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    index : str
        The index.
    ids : list of str
        The ids.

    Returns
    -------
    set of str
        Those that are there.

    Raises
    ------
    ClusterConnectionError
        If the server cannot say.
    """
    if not ids:
        return set()
    answer = client.request("POST", make_path(index, "_mget"), body={"ids": ids}, params={"_source": False})
    if not all("found" in document for document in answer["docs"]):
        raise ClusterConnectionError(f"{index} cannot say which documents it has.", is_temporary=True)
    return {document["_id"] for document in answer["docs"] if document["found"]}


def count_documents(client: ClusterClient, index: str) -> int:
    """Make all documents visible and count them.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    index : str
        The index.

    Returns
    -------
    int
        How many there are, in all shards.

    Raises
    ------
    ClusterConnectionError
        If a shard did not answer.
    """
    for method, what in (("POST", "_refresh"), ("GET", "_count")):
        answer = client.request(method, make_path(index, what))
        if answer["_shards"]["failed"]:
            raise ClusterConnectionError(f"{index}: some shards did not answer {what}.", is_temporary=True)
    return int(answer["count"])
