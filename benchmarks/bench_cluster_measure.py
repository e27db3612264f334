"""What bench_cluster.py measures: loads beside helpers.parallel_bulk, bytes at rest, searches beside `match`."""

from __future__ import annotations

import json
import os
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from cluster_trade_measure import SEED

from cptw_indexer import ClusterIndexer
from cptw_indexer.bodies import Encoder, batches
from cptw_indexer.mapping import Layout, index_body
from cptw_queries import ClusterIndex
from cptw_queries.bodies import search_body
from cptw_queries.fitting import QueryPrunedWarning
from cptw_search import Cptw
from cptw_search.cluster import ClusterClient, make_path
from cptw_search.pruning import Pruning

RECOMMENDED = 200  # terms of a document with placement both, see docs/cluster-trade.md
LEASE = "1m"  # how long a server keeps what it may need to copy a shard; 12 hours by default
SECONDS_FOR_LEASE = 90.0  # it looks every 30 seconds
STATS_AGE = 1.1  # seconds
N_HITS = 10
K_COPIES = 4

Documents = Sequence[Mapping[str, object]]
Body = tuple[dict[str, Any], bytes]

LAYOUTS = {
    "bm25": Layout(field_type="none"),
    "query": Layout("query"),
    "both": Layout("both", pruning=Pruning(max_terms=RECOMMENDED)),
    "document": Layout("document", pruning=Pruning(max_terms=RECOMMENDED)),
}
PLAIN = {
    "settings": {"number_of_shards": 1, "number_of_replicas": 0},
    "mappings": {"properties": {"id": {"type": "keyword"}, "text": {"type": "text"}, "label": {"type": "keyword"}}},
}


@dataclass(frozen=True)
class Place:
    """Where it is done: a server, names that are ours, a model."""

    client: ClusterClient
    url: str
    prefix: str
    model: Cptw

    def indexer(self, kind: str, name: str) -> ClusterIndexer:
        """Make an indexer of one of the `LAYOUTS`, as a user would."""
        layout = LAYOUTS[kind]
        return ClusterIndexer(
            self.client,
            f"{self.prefix}-{name}",
            self.model,
            placement=layout.placement,
            field_type="none" if kind == "bm25" else "auto",
            pruning=layout.pruning,
            n_replicas=0,
        )

    def delete(self, name: str) -> None:
        """Delete what begins with a name of ours."""
        for index in self.client.request("GET", make_path(f"{self.prefix}-{name}*", "_settings")):
            self.client.request("DELETE", make_path(index))


# Loads --------------------------------------------------------------------------------------------------------------------


def make_bodies(place: Place, layout: Layout, documents: Documents) -> tuple[list[Body], float]:
    """Make the lines of bulk requests; with the seconds of processor time that took."""
    encoder = Encoder(place.model, layout)
    began = time.process_time()
    actions = [action for batch in batches(documents, 500) for action in encoder.encode(batch).actions]
    seconds = time.process_time() - began
    lines = [action.lines.split(b"\n") for action in actions]
    return [(json.loads(header), body) for header, body, _ in lines], seconds


def plain_bodies(documents: Documents) -> list[Body]:
    """Make the lines of documents as they are."""
    return [({"index": {"_id": document["id"]}}, json.dumps(document).encode()) for document in documents]


def load_by_helper(place: Place, name: str, body: Mapping[str, Any], bodies: Iterable[Body]) -> float:
    """Send bodies by the vendor's own helper into a new index; the seconds, its making included."""
    from elasticsearch import Elasticsearch, helpers

    index = f"{place.prefix}-{name}"
    began = time.perf_counter()
    with Elasticsearch(place.url, request_timeout=60) as client:
        place.client.request("PUT", make_path(index), body=body)
        for is_done, item in helpers.parallel_bulk(client, bodies, index=index, expand_action_callback=_as_it_is):
            if not is_done:
                raise RuntimeError(f"{index} rejected a document: {item}.")
        place.client.request("POST", make_path(index, "_refresh"))
    return time.perf_counter() - began


def _as_it_is(body: Any) -> Any:
    return body


def load_by_us(place: Place, kind: str, name: str, documents: Documents) -> float:
    """Load documents by our indexer, from their texts on; the seconds, of all that it does."""
    began = time.perf_counter()
    summary = place.indexer(kind, name).load(documents, progress=False)
    seconds = time.perf_counter() - began
    if summary.n_indexed != len(documents):
        raise RuntimeError(f"{summary.n_rejected} documents were rejected. The first: {summary.rejected[0]}.")
    return seconds


@dataclass
class Rates:
    """Documents a second of both ways, and where the processors' time went."""

    ours: list[float] = field(default_factory=list)
    theirs: list[float] = field(default_factory=list)
    encode_seconds: float = 0.0
    server_seconds: list[float] = field(default_factory=list)


def measure_rates(place: Place, kind: str, documents: Documents, n_repeats: int) -> Rates:
    """Load in both ways by turns; who is first changes."""
    layout = place.indexer(kind, "rate").layout
    bodies, encode_seconds = make_bodies(place, layout, documents)
    mapping = index_body(place.model, layout, {})
    rates = Rates(encode_seconds=encode_seconds)

    def ours() -> None:
        rates.ours.append(len(documents) / load_by_us(place, kind, "rate", documents))
        place.delete("rate")

    def theirs() -> None:
        before = server_seconds(place.client)
        rates.theirs.append(len(documents) / load_by_helper(place, "helper", mapping, bodies))
        rates.server_seconds.append(server_seconds(place.client) - before)
        place.delete("helper")

    for turn in range(n_repeats):
        for work in (ours, theirs) if turn % 2 else (theirs, ours):
            work()
    return rates


def server_seconds(client: ClusterClient) -> float:
    """Ask how much processor time the server has used so far; what it says may be as old as `STATS_AGE`."""
    time.sleep(STATS_AGE)
    nodes = client.request("GET", "/_nodes/stats/process")["nodes"].values()
    return float(sum(node["process"]["cpu"]["total_in_millis"] for node in nodes)) / 1e3


@contextmanager
def cores_apart(client: ClusterClient) -> Iterator[None]:
    """Give the server on this machine one core and this process another, as if they were two machines."""
    (node,) = client.request("GET", "/_nodes/process")["nodes"].values()
    server, all_cores = int(node["process"]["id"]), os.sched_getaffinity(0)
    own, other = sorted(all_cores)[:2]
    try:
        _pin(server, {other})
        _pin(os.getpid(), {own})
        yield
    finally:
        _pin(server, all_cores)
        _pin(os.getpid(), all_cores)


def _pin(process: int, cores: set[int]) -> None:
    for thread in Path(f"/proc/{process}/task").iterdir():
        with suppress(ProcessLookupError):  # it has ended meanwhile
            os.sched_setaffinity(int(thread.name), cores)


# Bytes --------------------------------------------------------------------------------------------------------------------


def settle(client: ClusterClient, names: Sequence[str], *, wait: bool = True) -> None:
    """Bring indices to where they are hours after a load: one segment, and (by waiting) no request kept for copies.

    Where some fields are left out of `_source`, servers keep the whole request beside it (`_recovery_source`) for copies of
    the shard that fall behind, and drop it by the first merge after its lease has run out.
    """
    for name in names:
        body = {"index": {"soft_deletes.retention_lease.period": LEASE}}
        client.request("PUT", make_path(name, "_settings"), body=body)
    began = time.monotonic()
    while wait and not all(_leases_are_over(client, name) for name in names):
        if time.monotonic() - began > SECONDS_FOR_LEASE:
            raise RuntimeError(f"The leases of {', '.join(names)} must be renewed every 30 seconds. They were not.")
        time.sleep(1)
    for name in names:
        client.request("POST", make_path(name, "_flush"), params={"force": True}, timeout=60)
        client.request("POST", make_path(name, "_forcemerge"), params={"max_num_segments": 1}, timeout=600)
        client.request("POST", make_path(name, "_flush"), params={"force": True}, timeout=60)
        client.request("POST", make_path(name, "_refresh"))


def _leases_are_over(client: ClusterClient, name: str) -> bool:
    stats = client.request("GET", make_path(name, "_stats"), params={"level": "shards"})["indices"]
    shards = [copy for index in stats.values() for shard in index["shards"].values() for copy in shard]
    return all(
        lease["retaining_seq_no"] > shard["seq_no"]["max_seq_no"]
        for shard in shards
        for lease in shard["retention_leases"]["leases"]
    )


def field_bytes(client: ClusterClient, name: str) -> dict[str, int]:
    """Ask what each field of an index takes on disk; ``total`` is the whole."""
    answer = client.request("POST", make_path(name, "_disk_usage"), params={"run_expensive_tasks": True}, timeout=120)
    (usage,) = (usage for index, usage in answer.items() if index != "_shards")
    parts = {name: int(part["total_in_bytes"]) for name, part in usage["fields"].items() if part["total_in_bytes"]}
    return {"total": int(usage["store_size_in_bytes"]), **parts}


# Searches -----------------------------------------------------------------------------------------------------------------


def make_searches(place: Place, names: Mapping[str, str]) -> dict[str, Callable[[str], object]]:
    """Make the ways to search: `match` on the plain index, and ours; bodies made before show what the client takes."""
    path, params = make_path(names["plain"], "_search"), {"allow_partial_search_results": False}

    def match(query: str) -> object:
        body = {"query": {"match": {"text": query}}, "size": N_HITS}
        return place.client.request("POST", path, body=body, params=params)["hits"]["hits"]

    def nothing(_query: str) -> object:
        return place.client.request("POST", path, body={"query": {"match_none": {}}}, params=params)["hits"]["hits"]

    searches: dict[str, Callable[[str], object]] = {"match": match, "nothing": nothing}
    for kind in ("query", "both"):
        index = ClusterIndex(place.client, names[kind], place.model)  # its default pruning
        for method in ("cptw", "hybrid", "hybrid+feedback"):
            searches[kind if method == "cptw" else f"{kind} {method}"] = _searcher(index, method)
        searches[f"{kind} made before"] = _Prepared(index)
    return searches


def _searcher(index: ClusterIndex, method: str, fields: Sequence[str] | None = None) -> Callable[[str], object]:
    return lambda query: index.search(query, N_HITS, method=method, fields=fields)


class _Prepared:
    """Send what a search would send, made when the query was seen for the first time: none of those is timed."""

    def __init__(self, index: ClusterIndex) -> None:
        self._index = index
        self._bodies: dict[str, dict[str, Any]] = {}

    def prepare(self, query: str) -> None:
        clause = self._index.build_queries([query], method="cptw")[0]["cptw"]
        self._bodies[query] = search_body(clause, N_HITS)

    def __call__(self, query: str) -> object:
        params = {"allow_partial_search_results": False}
        path = make_path(self._index.name, "_search")
        return self._index.client.request("POST", path, body=self._bodies[query], params=params)["hits"]["hits"]


def time_searches(
    searches: Mapping[str, Callable[[str], object]], queries: Sequence[str], n_warm: int, n_rounds: int
) -> dict[str, list[list[float]]]:
    """Send every query in all ways, one after the other, in another order each time; milliseconds of each round."""
    random = np.random.default_rng(SEED)
    for search in searches.values():
        for query in queries if isinstance(search, _Prepared) else ():
            search.prepare(query)
    ways = list(searches.items())
    found: dict[str, list[list[float]]] = {name: [] for name in searches}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryPrunedWarning)
        for query in queries[:n_warm]:
            for search in searches.values():
                search(query)
        for _ in range(n_rounds):
            for times in found.values():
                times.append([])
            for query in queries:
                for place in random.permutation(len(ways)):
                    name, search = ways[place]
                    began = time.perf_counter()
                    search(query)
                    found[name][-1].append((time.perf_counter() - began) * 1e3)
    return found


def percentiles(rounds: Sequence[Sequence[float]], percent: float) -> list[float]:
    """Take a percentile of each round."""
    return [float(np.percentile(times, percent)) for times in rounds]


def measure_growth(
    place: Place, names: Mapping[str, str], documents: Documents, queries: Sequence[str], n_warm: int
) -> dict[str, dict[str, float]]:
    """Search each index, add copies of its documents, and search again: what a document more costs."""
    searches = {
        kind: _searcher(
            ClusterIndex(place.client, names[kind], place.model), "bm25" if kind == "bm25" else "cptw", fields=()
        )
        for kind in LAYOUTS
    }
    before = time_searches(searches, queries, n_warm, 1)
    facts: dict[str, dict[str, float]] = {}
    for kind in LAYOUTS:
        summary = place.indexer(kind, kind).add(copies(documents, K_COPIES), progress=False)
        facts[kind] = {"docs_per_second": summary.rate}
    settle(place.client, [names[kind] for kind in LAYOUTS], wait=False)
    after = time_searches(searches, queries, n_warm, 1)
    for kind, known in facts.items():
        known |= {"n_docs": len(documents), "p50_ms": percentiles(before[kind], 50)[0]}
        known |= {"n_docs_larger": (1 + K_COPIES) * len(documents), "p50_ms_larger": percentiles(after[kind], 50)[0]}
    return facts


def copies(documents: Documents, n_copies: int) -> Iterator[dict[str, object]]:
    """Give the documents under other ids, some times over: an index that is larger by that."""
    for number in range(n_copies):
        for document in documents:
            yield {**document, "id": f"{document['id']}-{number}"}
