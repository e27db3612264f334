"""All documents of an index, one after the other, and which of some ids are in it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import Any

from cptw_indexer.loader import read_documents
from cptw_search.cluster import RESERVED_PREFIX, ClusterClient, make_path
from cptw_search.cluster_answers import read_optional, read_part
from cptw_search.errors import ClusterConnectionError, ClusterError

__all__ = ["count_documents", "find_ids", "scan"]

PAGE_SIZE = 500
KEPT_FOR = "10m"  # between two pages: a load may have to wait for a server that comes back


def scan(client: ClusterClient, index: str, fields: Sequence[str] | None = None) -> Iterator[dict[str, Any]]:
    """Read all documents of an index, as it is at the beginning.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    index : str
        The index.
    fields : sequence of str, optional
        What is read of the documents; by default all of them.

    Yields
    ------
    dict
        The document as it was given, with its ``id``.

    Raises
    ------
    ClusterConnectionError
        If not all of them could be read.
    """
    source = {"excludes": [f"{RESERVED_PREFIX}*"], **({} if fields is None else {"includes": list(fields)})}
    body = {"size": PAGE_SIZE, "sort": ["_doc"], "track_total_hits": True, "_source": source}
    params = {"scroll": KEPT_FOR, "allow_partial_search_results": False}
    page = client.request("POST", make_path(index, "_search"), body=body, params=params)
    scroll_id = read_part(page, str, "_scroll_id")
    total, n_read = read_part(page, int, "hits", "total", "value"), 0
    try:
        while hits := read_part(page, list, "hits", "hits"):
            for hit in hits:
                document = dict(read_optional(hit, dict, "_source") or {})
                doc_id, given = read_part(hit, str, "_id"), document.get("id")
                if not isinstance(given, (str, int, float)) or str(given) != doc_id:
                    document["id"] = doc_id
                yield document
            n_read += len(hits)
            if n_read > total:
                raise ClusterConnectionError(f"{index} has {total:,} documents, but gives more and more of them.")
            page = client.request("POST", "/_search/scroll", body={"scroll_id": scroll_id, "scroll": KEPT_FOR})
            scroll_id = read_optional(page, str, "_scroll_id") or scroll_id
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
    return {document["_id"] for document in read_documents(answer) if document["found"]}


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
        if read_part(answer, int, "_shards", "failed"):
            raise ClusterConnectionError(f"{index}: some shards did not answer {what}.", is_temporary=True)
    return read_part(answer, int, "count")
