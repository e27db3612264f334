"""Documents onto a real server, for tests of the read path."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from cptw_indexer import ClusterIndexer
from cptw_search import Cptw, Pruning
from cptw_search.cluster import ClusterClient, make_path


def load(
    client: ClusterClient,
    name: str,
    model: Cptw,
    documents: Iterable[Mapping[str, object]],
    *,
    placement: str = "query",
    field_type: str = "auto",
    pruning: Pruning | None = None,
    n_shards: int = 1,
) -> str:
    """Index documents under an alias, ready to be searched, and return the index behind it."""
    indexer = ClusterIndexer(
        client,
        name,
        model,
        placement=placement,
        field_type=field_type,
        pruning=pruning,
        n_shards=n_shards,
        n_replicas=0,
    )
    summary = indexer.load(documents, progress=False)
    assert summary.n_rejected == 0, summary.rejected
    client.request("POST", make_path(name, "_refresh"))
    return summary.index
