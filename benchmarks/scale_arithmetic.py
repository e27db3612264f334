"""What many documents take on a cluster, reckoned from what was measured with few.

The inputs are those of docs/results/cluster-scale.json, which benchmarks/bench_cluster.py writes; the table is put between the
markers of docs/beyond-one-machine.md.

Usage: python benchmarks/scale_arithmetic.py
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pages import fill

ROOT = Path(__file__).parents[1]
INPUTS = ROOT / "docs" / "results" / "cluster-scale.json"
PAGE = ROOT / "docs" / "beyond-one-machine.md"

N_DOCS = 100_000_000
N_MACHINES = 10
SHARD_BYTES = 30e9  # the vendors say 10 to 50 GB
ROWS = {
    "bm25": "BM25 alone",
    "query": "`query`",
    "both": "`both`, 200 terms",
    "document": "`document`, 200 terms",
}


@dataclass(frozen=True)
class Scale:
    """What an index of many documents takes.

    Parameters
    ----------
    index_bytes : float
        On disk at rest, without copies.
    loading_bytes : float
        On disk right after the load, without copies.
    n_shards : int
        Primary shards.
    load_hours : float
        By one indexer on each machine.
    core_ms : float
        What one query takes of all cores together, beside what it takes on an empty index.
    query_ms : float
        How long one query takes with nothing else to do.
    """

    index_bytes: float
    loading_bytes: float
    n_shards: int
    load_hours: float
    core_ms: float
    query_ms: float


def reckon(measured: Mapping[str, float], cores: int, *, n_docs: int = N_DOCS, n_machines: int = N_MACHINES) -> Scale:
    """Scale up what was measured on one machine to machines of the same kind.

    Bytes, loading and the part of a query that grew with the documents are taken to be in proportion to the documents; the
    rest of a query to be the same on each shard. A core searches one shard at a time.

    Parameters
    ----------
    measured : mapping
        One of the placements of docs/results/cluster-scale.json.
    cores : int
        Of a machine.
    n_docs : int, default 100,000,000
        How many documents.
    n_machines : int, default 10
        How many machines.

    Returns
    -------
    Scale
        The figures.

    Examples
    --------
    >>> measured = {"bytes_per_document": 900, "kept_bytes_per_document": 600, "docs_per_second": 1000, "p50_ms": 5,
    ...     "n_docs": 10_000, "p50_ms_larger": 6, "n_docs_larger": 50_000}  # 1 ms for 40,000 documents
    >>> scale = reckon(measured, cores=2, n_docs=36_000_000, n_machines=1)  # 32.4 GB
    >>> scale.n_shards, scale.load_hours, scale.core_ms, scale.query_ms
    (2, 10.0, 900.0, 454.75)
    """
    index_bytes = n_docs * measured["bytes_per_document"]
    n_shards = max(n_machines, math.ceil(index_bytes / SHARD_BYTES))
    n_more = measured["n_docs_larger"] - measured["n_docs"]
    ms_a_document = max(measured["p50_ms_larger"] - measured["p50_ms"], 0.0) / n_more
    at_rest = measured["p50_ms"] - ms_a_document * measured["n_docs"]
    turns = math.ceil(n_shards / (n_machines * cores))
    return Scale(
        index_bytes=index_bytes,
        loading_bytes=index_bytes + n_docs * measured["kept_bytes_per_document"],
        n_shards=n_shards,
        load_hours=n_docs / measured["docs_per_second"] / n_machines / 3600,
        core_ms=ms_a_document * n_docs,
        query_ms=at_rest + turns * ms_a_document * n_docs / n_shards,
    )


def _two_digits(number: float) -> str:
    return f"{float(f'{number:.2g}'):,.0f}" if number >= 10 else f"{number:.2g}"


def table(known: Mapping[str, Any]) -> str:
    """Make the table of the page."""
    cores = known["run"]["machine"]["cores"]
    heads = ["", "bytes a document", "index, GB", "after the load, GB", "shards", "load, hours"]
    heads += ["ms a million documents", "a query, s of one core", "a query, ms", "queries/s"]
    lines = ["|" + " |".join(f" {head}".rstrip() for head in heads) + " |", "|---|" + "--:|" * (len(heads) - 1)]
    for kind, name in ROWS.items():
        scale = reckon(known["placements"][kind], cores)
        per_second = N_MACHINES * cores * 1e3 / scale.core_ms if scale.core_ms else math.inf
        cells = [
            name,
            f"{known['placements'][kind]['bytes_per_document']:,.0f}",
            f"{scale.index_bytes / 1e9:,.0f}",
            f"{scale.loading_bytes / 1e9:,.0f}",
            f"{scale.n_shards}",
            f"{scale.load_hours:.1f}",
            _two_digits(scale.core_ms / N_DOCS * 1e6),
            _two_digits(scale.core_ms / 1e3),
            _two_digits(scale.query_ms),
            _two_digits(per_second) if math.isfinite(per_second) else "-",
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def filled(page: str) -> str:
    """Put the table into the text of the page, or that nothing was measured yet."""
    missing = "`python benchmarks/bench_cluster.py` was not run."
    block = table(json.loads(INPUTS.read_text())) if INPUTS.exists() else missing
    return fill(page, "arithmetic", block)


def main() -> None:
    """Write the page anew."""
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
