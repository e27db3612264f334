"""What each placement and pruning costs on a cluster, and what it is worth: size, bulk rate, latency beside quality.

Reuters (kNN, micro F1) and Cranfield (nDCG@10) go into a server by BM25 alone and in every placement, unpruned and pruned.
The data sets and the vectors are in the folder that CPTW_DATA names, see docs/datasets.md. A server is started from the
archive that the tests use, and removed in the end; or give the address of one with --url: only indices made here are deleted.

The figures of docs/cluster-trade.md, docs/results/cluster-trade.json and docs/figures/cluster-trade.png are all made anew.

Usage: python benchmarks/cluster_trade.py [--server opensearch3 | --url http://localhost:9200] [--quick --docs FOLDER]
"""

from __future__ import annotations

import argparse
import datetime
import hashlib
import json
import os
import platform
import shlex
import shutil
import sys
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from cluster_trade_measure import (
    K_NEIGHBOURS,
    QUICK,
    SEED,
    VOTES,
    Record,
    Size,
    classification_task,
    measure_task,
    retrieval_task,
)
from cluster_trade_report import draw, run_line, table
from pages import fill

from cptw_search.cluster import ClusterClient, connect
from cptw_search.evaluation.source_files import DATA_VARIABLE

ROOT = Path(__file__).parents[1]
VECTORS = "vectors/googlenews-w2v-300d-31k.f16.npz"
HEAP = "1g"


@contextmanager
def started(server: str, settings: dict[str, object] | None = None) -> Iterator[str]:
    """Start a server of the tests on loopback, perhaps with settings of its own, and give its address."""
    sys.path.append(str(ROOT / "tests"))
    from servers.kinds import KINDS
    from servers.process import LocalServer

    kinds = {kind.name: kind for kind in KINDS}
    if server not in kinds:
        raise SystemExit(f"--server must be one of {', '.join(kinds)}. Got {server!r} instead.")
    local = LocalServer(kinds[server], settings, heap=HEAP)
    try:
        local.start()
        yield local.url
    finally:
        local.close()


def measure(
    client: ClusterClient, vectors: Path, collection: str, size: Size
) -> tuple[list[Record], dict[str, object]]:
    """Measure both collections; the records, and facts about the data."""

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", flush=True)

    began = time.perf_counter()
    prefix = f"cptw-trade-{uuid.uuid4().hex[:12]}"
    records: list[Record] = []
    facts: dict[str, object] = {"vectors_sha256": hashlib.sha256(vectors.read_bytes()).hexdigest()}
    for make in (lambda: classification_task(vectors, size), lambda: retrieval_task(collection, size)):
        task = make()
        say(f"{task.name}: {len(task.documents):,} documents, the model is fitted")
        records += measure_task(client, task, size, prefix, say)
        facts[task.name] = task.facts
    return records, facts


def machine_facts(client: ClusterClient, own_server: bool) -> dict[str, object]:
    """Say what the figures depend on beside the code."""
    return {
        "processor": platform.machine(),
        "system": sys.platform,
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_before": round(os.getloadavg()[0], 2),
        "server_heap": HEAP if own_server else "its own setting",
        "max_clause_count": client.max_clause_count(),
    }


def write(docs: Path, records: list[Record], provenance: dict[str, object]) -> None:
    """Write the records, the tables and the picture."""
    page = docs / "cluster-trade.md"
    (docs / "results").mkdir(parents=True, exist_ok=True)
    if not page.exists():
        shutil.copy(ROOT / "docs" / "cluster-trade.md", page)
    (docs / "results" / "cluster-trade.json").write_text(
        json.dumps({"provenance": provenance, "records": records}, indent=1, allow_nan=False) + "\n"
    )
    text = fill(page.read_text(encoding="utf-8"), "run", run_line(provenance))
    for block, quality in (("classification", "micro_f1"), ("retrieval", "ndcg_hybrid")):
        text = fill(text, block, table([record for record in records if quality in record]))
    page.write_text(text, encoding="utf-8")
    draw(records, docs / "figures" / "cluster-trade.png")


def main() -> None:
    """Measure, write, and print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--server", default="elasticsearch7", help="which of the tests' servers to start")
    parser.add_argument("--url", help="a running server in place of that")
    parser.add_argument(
        "--collection", default="cranfield", help="the test collection of nDCG; larger ones take longer"
    )
    parser.add_argument("--vectors", type=Path, help=f"GoogleNews vectors; by default $CPTW_DATA/{VECTORS}")
    parser.add_argument("--quick", action="store_true", help="a few documents and queries, to see that it works")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder to write into")
    parser.add_argument("--redraw", action="store_true", help="tables and picture anew from the records that are there")
    arguments = parser.parse_args()
    if arguments.redraw:
        known = json.loads((arguments.docs / "results" / "cluster-trade.json").read_text())
        write(arguments.docs, known["records"], known["provenance"])
        return
    if arguments.quick and arguments.docs.resolve() == ROOT / "docs":
        parser.error("--quick needs --docs with another folder: its figures are no results")
    if arguments.vectors is None and DATA_VARIABLE not in os.environ:
        parser.error(f"{DATA_VARIABLE} must name the folder with the data sets, see docs/datasets.md")
    vectors = arguments.vectors or Path(os.environ[DATA_VARIABLE]) / VECTORS
    size = QUICK if arguments.quick else Size()
    flags = [*(["--url", "URL"] if arguments.url else []), *(["--quick"] if arguments.quick else [])]
    for option in ("server", "collection"):
        if getattr(arguments, option) != parser.get_default(option):
            flags += [f"--{option}", getattr(arguments, option)]
    began = time.perf_counter()
    with started(arguments.server) if not arguments.url else _given(arguments.url) as url, connect(url) as client:
        machine = machine_facts(client, own_server=not arguments.url)
        server = f"{client.product.title()} {'.'.join(map(str, client.version))}"
        records, facts = measure(client, vectors, arguments.collection, size)
    provenance = {
        "command": shlex.join(["python", "benchmarks/cluster_trade.py", *flags]),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "seconds": round(time.perf_counter() - began),
        "seed": SEED,
        "size": asdict(size),
        "knn": {"k": K_NEIGHBOURS, "votes": VOTES},
        "data": facts,
        "versions": {
            "server": server,
            "python": platform.python_version(),
            **{name: version(name) for name in ("cptw-search", "numpy", "scipy", "elasticsearch", "ir-measures")},
        },
        "machine": machine,
    }
    write(arguments.docs, records, provenance)
    print(f"Written to {arguments.docs} after {provenance['seconds']} s.")


@contextmanager
def _given(url: str) -> Iterator[str]:
    yield url


if __name__ == "__main__":
    main()
