"""Should a server be told to count hits? It may pass over documents that cannot be among the best only if it need not.

The queries of benchmarks/bench_cluster.py, cut to a number of terms, are sent with and without `track_total_hits` to one
server of each kind; see `cptw_queries.bodies`. A server is started from the archive that the tests use, and removed in the end.

Usage: CPTW_DATA=... python benchmarks/count_hits.py [--server elasticsearch7] [--copies 4]
"""

from __future__ import annotations

import argparse
import os
import statistics
import uuid
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from bench_cluster import TAU, Size, read_documents
from bench_cluster_measure import N_HITS, Place, copies, percentiles, settle, time_searches
from cluster_trade import VECTORS, started
from cluster_trade_measure import SEED, draw_four_words

from cptw_queries.bodies import search_body
from cptw_queries.builders import weights_query
from cptw_queries.expansion import expand
from cptw_search import Cptw, load_vectors
from cptw_search.cluster import connect, make_path
from cptw_search.evaluation.source_files import DATA_VARIABLE
from cptw_search.pruning import Pruning

N_TERMS = (4, 8, 16, 32, 64, 128, 256)
N_QUERIES, N_WARM, N_ROUNDS = 60, 20, 3


def sender(place: Place, path: str, bodies: Mapping[str, dict[str, Any]]) -> Callable[[str], object]:
    """Make what sends a body that was made before."""
    params = {"allow_partial_search_results": False}
    return lambda query: place.client.request("POST", path, body=bodies[query], params=params)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="elasticsearch7")
    parser.add_argument("--copies", type=int, default=1, help="each document so many times, under ids of its own")
    arguments = parser.parse_args()
    documents = read_documents(Size())
    vectors = load_vectors(Path(os.environ[DATA_VARIABLE]) / VECTORS)
    # a lower tau than in the benchmark, for long queries
    model = Cptw(vectors=vectors, tau=TAU - 0.1, weighting="tf", analyzer="english").fit(documents)
    queries = draw_four_words(
        [str(one["text"]) for one in documents], "english", N_QUERIES, np.random.default_rng(SEED)
    )
    weights = {query: expand(model, [query], "query", Pruning())[0].weights for query in queries}
    with started(arguments.server) as url, connect(url) as client:
        place = Place(client, url, f"cptw-bench-{uuid.uuid4().hex[:12]}", model)
        indexer = place.indexer("query", "counted")
        summary = indexer.load(copies(documents, arguments.copies), progress=False)
        print(f"{arguments.server}, {summary.n_indexed:,} documents; p50 and p95, ms")
        name = f"{place.prefix}-counted"
        settle(client, [name], wait=False)
        for n_terms in N_TERMS:
            kept = {query: dict(sorted(w.items(), key=lambda one: -one[1])[:n_terms]) for query, w in weights.items()}
            bodies = {
                query: search_body(weights_query(indexer.layout.field_type, w), N_HITS) for query, w in kept.items()
            }
            ways = {
                name_: sender(
                    place, make_path(name, "_search"), {q: {**b, "track_total_hits": all_} for q, b in bodies.items()}
                )
                for name_, all_ in (("skipping", False), ("counting", True))
            }
            times = time_searches(ways, queries, N_WARM, N_ROUNDS)
            points = {
                way: [statistics.median(percentiles(rounds, percent)) for percent in (50, 95)]
                for way, rounds in times.items()
            }
            print(
                f"{n_terms:4} terms: " + ", ".join(f"{way} {p50:.1f} {p95:.1f}" for way, (p50, p95) in points.items())
            )


if __name__ == "__main__":
    main()
