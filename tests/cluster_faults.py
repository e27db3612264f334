"""What the tests of faults share: small documents, and what an alias really holds."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from cptw_indexer import ClusterIndexer
from cptw_search import Cptw, WordVectors
from cptw_search.cluster import ClusterClient, make_path

MODEL = Cptw(vectors=WordVectors(["boat", "ship", "cat"], [[1, 0], [4, 3], [-1, 1]]), tau=0.5).fit(["a boat", "ships"])
PAGE = 10_000


def documents(n_docs: int, first: int = 0) -> Iterator[dict[str, Any]]:
    """Tiny ones, ids counted up."""
    for number in range(first, first + n_docs):
        yield {"id": number, "text": f"boat {number % 7}", "n": number}


def ids(n_docs: int, first: int = 0) -> list[str]:
    """The ids of `documents`, sorted as the servers sort them."""
    return sorted(str(number) for number in range(first, first + n_docs))


def indexer(client: ClusterClient, name: str, **options: Any) -> ClusterIndexer:
    return ClusterIndexer(client, name, MODEL, **{"n_replicas": 0, **options})


def stored_ids(client: ClusterClient, name: str) -> list[str]:
    """The ids of all documents that searches can see, page by page; one that is there twice is here twice."""
    found: list[str] = []
    body: dict[str, Any] = {"size": PAGE, "sort": ["cptw_id"], "_source": False}
    while True:
        params = {"allow_partial_search_results": False}
        hits = client.request("POST", make_path(name, "_search"), body=body, params=params)["hits"]["hits"]
        found += [hit["_id"] for hit in hits]
        if len(hits) < PAGE:
            return found
        body["search_after"] = hits[-1]["sort"]


def count(client: ClusterClient, name: str) -> int:
    return client.request("GET", make_path(name, "_count"))["count"]


def served(client: ClusterClient, alias: str) -> str:
    """The one index behind an alias, which has to be marked as complete."""
    ((index, described),) = client.request("GET", make_path(alias)).items()
    assert described["mappings"]["_meta"]["cptw"]["complete"] is True, f"{index} is not complete"
    return index
