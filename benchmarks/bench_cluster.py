"""Is the client in the way of the cluster? Loads beside the vendor's own helper, size and latency beside BM25.

Each line has its limit; docs/results/bench-cluster.json gets the records, of which docs/speed.md makes its table, and
docs/results/cluster-scale.json what docs/beyond-one-machine.md reckons with. Documents are those of reuters and classic,
from the folder that CPTW_DATA names (docs/datasets.md), with GoogleNews vectors. A server is started from the archive
that the tests use, and removed in the end; or give the address of one with --url: only indices made here are deleted.

Usage: python benchmarks/bench_cluster.py [--quick --output FILE] [--url http://localhost:9200]
"""

from __future__ import annotations

import argparse
import datetime
import itertools
import json
import math
import os
import platform
import shlex
import statistics
import time
import uuid
from collections.abc import Callable, Mapping
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np
from bench_cluster_measure import (
    LAYOUTS,
    PLAIN,
    RECOMMENDED,
    Documents,
    Place,
    copies,
    cores_apart,
    field_bytes,
    load_by_helper,
    load_by_us,
    make_searches,
    measure_growth,
    measure_rates,
    percentiles,
    plain_bodies,
    settle,
    time_searches,
)
from bench_harness import Record, line, record
from cluster_trade import VECTORS, machine_facts, started
from cluster_trade_measure import SEED, draw_four_words

from cptw_search import Cptw, load_vectors
from cptw_search.cluster import connect
from cptw_search.evaluation.datasets import load_dataset
from cptw_search.evaluation.source_files import DATA_VARIABLE

ROOT = Path(__file__).parents[1]
OUTPUT = ROOT / "docs" / "results" / "bench-cluster.json"
TRADE = ROOT / "docs" / "results" / "cluster-trade.json"
SCALE = "cluster-scale.json"  # beside it
TAU = 0.5

LEAST_RATE = 0.9
MOST_P50, MOST_P95 = 1.3, 2.0
MOST_BYTES = {"query": 1.6, "both": 5.0}


@dataclass(frozen=True)
class Size:
    """How much is done."""

    n_docs: int | None = None
    n_repeats: int = 5
    n_repeats_apart: int = 3
    n_queries: int = 200
    n_rounds: int = 3
    n_warm: int = 40
    at_rest: bool = True  # half a minute of waiting, see `settle`


QUICK = Size(n_docs=600, n_repeats=1, n_repeats_apart=1, n_queries=20, n_rounds=1, n_warm=5, at_rest=False)


def read_documents(size: Size) -> Documents:
    """Take the texts of two data sets, mixed."""
    texts = [
        {"id": f"{name}-{number}", "text": text, "label": label}
        for name in ("reuters", "classic")
        for data in [load_dataset(name)]
        for number, (text, label) in enumerate(zip(data.texts, data.labels, strict=True))
    ]
    order = np.random.default_rng(SEED).permutation(len(texts))
    return [texts[place] for place in order[: size.n_docs]]


# The lines of the table ---------------------------------------------------------------------------------------------------


def bulk_records(
    place: Place, documents: Documents, size: Size, is_local: bool, say: Callable[[str], None]
) -> list[Record]:
    """Load by our indexer, from texts, and the same bodies, made before, by helpers.parallel_bulk.

    Every document twice: a load counts and swaps in the end, which takes a fifth of a second whatever its size.
    """
    records = []
    documents = [*documents, *copies(documents, 1)]
    ways = [("", nullcontext, size.n_repeats, os.cpu_count() or 1)]
    if is_local and len(os.sched_getaffinity(0)) > 1:
        apart = "; a core for the server, another for the client"
        ways.append((apart, lambda: cores_apart(place.client), size.n_repeats_apart, 1))
    for (where, arrange, n_repeats, n_cores), kind in itertools.product(ways, ("query", "both")):
        with arrange():
            rates = measure_rates(place, kind, documents, n_repeats)
        server_ms = statistics.median(rates.server_seconds) / len(documents) * 1e3
        one = record(
            f"bulk load, {_kind(kind)}{where}",
            "the same bodies, made before, by helpers.parallel_bulk",
            rates.ours,
            rates.theirs,
            "documents/s",
            most=math.inf,
            mark=f"at least {LEAST_RATE} of its rate",
            limit=n_cores * 1e3 / server_ms,
            limit_is="what the server's own processor time for a document allows, with all cores its own",
            kind=kind,
            cores="apart" if where else "shared",
            n_docs=len(documents),
            n_repeats=n_repeats,
            encode_ms_per_document=rates.encode_seconds / len(documents) * 1e3,
            server_ms_per_document=server_ms,
        )
        one["reached"] = bool(one["ratio"] >= LEAST_RATE)
        records.append(one)
        say(line(one))
    return records


def size_records(bytes_: Mapping[str, Mapping[str, int]], n_docs: int, kept: Mapping[str, int]) -> list[Record]:
    """Compare bytes at rest with those of an index for BM25 alone."""
    return [
        record(
            f"index size, {_kind(kind)}",
            "BM25 index of the same text",
            bytes_[kind]["total"] / 1e6,
            bytes_["bm25"]["total"] / 1e6,
            "MB",
            most=most,
            mark=f"at most {most:g} times",
            limit=bytes_[kind]["_source"] / 1e6,
            limit_is="the stored documents alone, as the server compresses them",
            kind=kind,
            n_docs=n_docs,
            kept_mb_after_load=kept[kind] / 1e6,
            bm25_kept_mb_after_load=kept["bm25"] / 1e6,
            plain_text_field_mb=bytes_["plain"]["total"] / 1e6,
            fields_mb={name: size / 1e6 for name, size in bytes_[kind].items()},
            bm25_fields_mb={name: size / 1e6 for name, size in bytes_["bm25"].items()},
            **({"quality_all_terms_and_pruned": pruning_loss()} if kind == "both" else {}),
        )
        for kind, most in MOST_BYTES.items()
    ]


def pruning_loss() -> dict[str, list[float]]:
    """Read what `both` loses by the recommended pruning: each quality unpruned and pruned, of docs/cluster-trade.md."""
    known = json.loads(TRADE.read_text())["records"]
    found: dict[str, list[float]] = {}
    for name in ("micro_f1", "ndcg_alone", "ndcg_hybrid"):
        for most in (None, RECOMMENDED):
            wanted = {"placement": "both", "document_max_terms": most, "query_max_terms": None}
            (one,) = (one for one in known if name in one and wanted.items() <= one.items())
            found.setdefault(f"{one['task']} {name}", []).append(one[name])
    return found


def latency_records(times: Mapping[str, list[list[float]]], n_docs: int) -> list[Record]:
    """Compare p50 and p95 of searches with those of `match`."""
    records = []
    for kind, (percent, most) in itertools.product(("query", "both"), ((50, MOST_P50), (95, MOST_P95))):
        points = {name: percentiles(rounds, percent) for name, rounds in times.items()}
        records.append(
            record(
                f"query of four words, {_kind(kind)}, p{percent}",
                "match (BM25) on the same documents",
                points[kind],
                points["match"],
                "ms",
                most=most,
                mark=f"at most {most:g} times",
                limit=points["nothing"],
                limit_is="the round trip of a search that finds nothing",
                kind=kind,
                n_docs=n_docs,
                n_queries=len(times[kind][0]),
                n_rounds=len(times[kind]),
                other_ms={
                    name.removeprefix(f"{kind} "): statistics.median(found)
                    for name, found in points.items()
                    if name.startswith(f"{kind} ")
                },
            )
        )
    return records


def _kind(kind: str) -> str:
    return f"`both`, {RECOMMENDED} terms a document" if kind == "both" else f"`{kind}`"


def measure(
    place: Place, documents: Documents, size: Size, is_local: bool, say: Callable[[str], None]
) -> tuple[list[Record], dict[str, dict[str, float]]]:
    """Load, weigh, search and load again: the records, and for each placement what docs/beyond-one-machine.md needs."""
    names = {kind: f"{place.prefix}-{kind}" for kind in ("plain", *LAYOUTS)}
    load_by_helper(place, "plain", PLAIN, plain_bodies(documents))
    for kind in LAYOUTS:
        load_by_us(place, kind, kind, documents)
    say(f"{len(names)} indices are loaded")
    kept = {kind: field_bytes(place.client, name).get("_recovery_source", 0) for kind, name in names.items()}
    settle(place.client, list(names.values()), wait=size.at_rest)
    bytes_ = {kind: field_bytes(place.client, name) for kind, name in names.items()}
    sizes = size_records(bytes_, len(documents), kept)
    for one in sizes:
        say(line(one))
    random = np.random.default_rng(SEED)
    queries = draw_four_words([str(one["text"]) for one in documents], "english", size.n_queries, random)
    latencies = latency_records(
        time_searches(make_searches(place, names), queries, size.n_warm, size.n_rounds), len(documents)
    )
    for one in latencies:
        say(line(one))
    growth = measure_growth(place, names, documents, queries, size.n_warm)
    for kind, known in growth.items():
        known["bytes_per_document"] = bytes_[kind]["total"] / len(documents)
        known["kept_bytes_per_document"] = kept[kind] / len(documents)
        say(f"{kind}: " + ", ".join(f"{name} {number:.4g}" for name, number in known.items()))
    place.delete("")
    return [*bulk_records(place, documents, size, is_local, say), *latencies, *sizes], growth


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--url", help="a running server in place of one that is started")
    parser.add_argument("--vectors", type=Path, help=f"GoogleNews vectors; by default $CPTW_DATA/{VECTORS}")
    parser.add_argument("--quick", action="store_true", help="a few documents and queries, to see that it works")
    parser.add_argument("--output", type=Path, default=OUTPUT, help="the file to write")
    arguments = parser.parse_args()
    if arguments.quick and arguments.output.resolve() == OUTPUT:
        parser.error("--quick needs --output with another file: its figures are no results")
    if DATA_VARIABLE not in os.environ:
        parser.error(f"{DATA_VARIABLE} must name the folder with the data sets, see docs/datasets.md")
    vectors = arguments.vectors or Path(os.environ[DATA_VARIABLE]) / VECTORS
    size = QUICK if arguments.quick else Size()
    began = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", flush=True)

    documents = read_documents(size)
    model = Cptw(vectors=load_vectors(vectors), tau=TAU, weighting="tf", analyzer="english").fit(documents)
    say(f"{len(documents):,} documents, the model is fitted")
    given = nullcontext(arguments.url) if arguments.url else started("elasticsearch7")
    with given as url, connect(url) as client:
        place = Place(client, url, f"cptw-bench-{uuid.uuid4().hex[:12]}", model)
        machine = machine_facts(client, own_server=not arguments.url)
        server = f"{client.product.title()} {'.'.join(map(str, client.version))}"
        try:
            records, growth = measure(place, documents, size, not arguments.url, say)
        finally:
            place.delete("")
    flags = [*(["--url", "URL"] if arguments.url else []), *(["--quick"] if arguments.quick else [])]
    run = {
        "command": shlex.join(["python", "benchmarks/bench_cluster.py", *flags]),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "seconds": round(time.perf_counter() - began),
        "server": server,
        "machine": machine,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("cptw-search", "elasticsearch", "numpy", "scipy")},
        },
    }
    written = {
        arguments.output: {"run": run, "records": records},
        arguments.output.with_name(SCALE): {"run": run, "placements": growth},
    }
    for path, content in written.items():
        path.write_text(json.dumps(content, indent=1, allow_nan=False) + "\n")
    say(f"written to {arguments.output} and {SCALE} beside it")


if __name__ == "__main__":
    main()
