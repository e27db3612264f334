"""How fast we are beside others and beside the bare machine: the tables and the picture of docs/speed.md.

The data sets and the vectors are in the folder that CPTW_DATA names, see docs/datasets.md; the large collections are made up.
What runs on a cluster is measured by bench_cluster.py; its records are shown where there are any.

Usage: python benchmarks/bench.py [--quick --docs FOLDER] [--only texts,news,vectors,growth,model,start] [--redraw]
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import platform
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench_harness import Record
from bench_report import cluster_block, draw, page
from bench_scale import growth_records, large_similarity_records, model_records, start_records
from bench_size import QUICK, Size

from cptw_search import load_vectors
from cptw_search.evaluation.source_files import DATA_VARIABLE

ROOT = Path(__file__).parents[1]
VECTORS = "vectors/glove6b-100d-100k.f16.npz"
PARTS = ("texts", "news", "vectors", "growth", "model", "start")
PER_PART = ("date", "seconds", "load_before")
COMPETITORS = ("numpy", "scipy", "scikit-learn", "gensim", "bm25s", "numba", "POT")


def measure(
    parts: list[str], vectors_path: Path, size: Size, say: Callable[[str], None]
) -> Iterator[tuple[str, list[Record]]]:
    """Measure the parts that are wanted, one after the other."""
    if "start" in parts:
        yield "start", start_records(size, say)
    if "texts" in parts:
        from bench_texts import measure_texts

        yield "texts", measure_texts(load_vectors(vectors_path), size, say)
    if "news" in parts:
        from bench_queries import measure_news

        yield "news", measure_news(load_vectors(vectors_path), size, say)
    if "vectors" in parts:
        yield "vectors", large_similarity_records(size, say)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        if "model" in parts:
            yield "model", model_records(folder, size, say)
        if "growth" in parts:
            from bench_queries import measure_made_up

            grown = growth_records(folder, size, say)
            large = size.growth[-1]
            yield "growth", [*measure_made_up(folder / f"index-{large}", large, size, say), *grown]


def machine_facts() -> dict[str, Any]:
    """Say what the figures depend on beside the code."""
    models = [text for text in Path("/proc/cpuinfo").read_text().splitlines() if text.startswith("model name")]
    return {
        "processor": models[0].partition(":")[2].strip() if models else platform.machine(),
        "cores": os.cpu_count(),
        "memory_gb": round(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9, 1),
        "load_before": round(os.getloadavg()[0], 2),
    }


def write(docs: Path, results: dict[str, Any]) -> None:
    """Write the records, the page and the picture."""
    (docs / "results").mkdir(parents=True, exist_ok=True)
    target = docs / "speed.md"
    if not target.exists():
        shutil.copy(ROOT / "docs" / "speed.md", target)
    (docs / "results" / "bench.json").write_text(json.dumps(results, indent=1, allow_nan=False) + "\n")
    shown = target.read_text(encoding="utf-8")
    text = page(shown, results["records"], results["provenance"], cluster_block(docs / "results"))
    target.write_text(text, encoding="utf-8")
    draw(results["records"], docs / "figures" / "speed.png")


def merge(known: dict[str, Any], part: str, records: list[Record], run: dict[str, Any]) -> dict[str, Any]:
    """Put a part that was measured in place of what is known of it; the page has the parts in their order.

    >>> known = {"records": [{"part": "start", "work": "a"}, {"part": "model", "work": "b"}], "provenance": {}}
    >>> made = merge(known, "start", [{"work": "c"}], {"seconds": 3})
    >>> [one["work"] for one in made["records"]], made["provenance"]
    (['b', 'c'], {'seconds': 3, 'parts': {'start': {'seconds': 3}}})
    """
    by_part = {name: [one for one in known["records"] if one["part"] == name] for name in PARTS}
    by_part[part] = [{"part": part, **one} for one in records]
    parts = {**known["provenance"].get("parts", {}), part: {name: run[name] for name in PER_PART if name in run}}
    provenance = {**run, "seconds": sum(one["seconds"] for one in parts.values()), "parts": parts}
    return {"provenance": provenance, "records": [one for name in PARTS for one in by_part[name]]}


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it works")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs", help="the folder to write into")
    parser.add_argument("--only", help=f"some of {','.join(PARTS)}, the others as they are known")
    parser.add_argument("--redraw", action="store_true", help="page and picture anew from the records that are there")
    arguments = parser.parse_args()
    path = arguments.docs / "results" / "bench.json"
    known = json.loads(path.read_text()) if path.exists() else {"records": [], "provenance": {}}
    if arguments.redraw:
        write(arguments.docs, known)
        return
    if arguments.quick and arguments.docs.resolve() == ROOT / "docs":
        parser.error("--quick needs --docs with another folder: its figures are no results")
    if DATA_VARIABLE not in os.environ:
        parser.error(f"{DATA_VARIABLE} must name the folder with the data sets, see docs/datasets.md")
    parts = arguments.only.split(",") if arguments.only else list(PARTS)
    if wrong := sorted(set(parts) - set(PARTS)):
        parser.error(f"--only must name parts of {', '.join(PARTS)}. Got {', '.join(wrong)} instead.")
    size = QUICK if arguments.quick else Size()
    began = time.perf_counter()

    def say(what: str) -> None:
        print(f"{time.perf_counter() - began:6.0f} s  {what}", flush=True)

    started, machine = began, machine_facts()
    for part, records in measure(parts, Path(os.environ[DATA_VARIABLE]) / VECTORS, size, say):
        run = {
            "command": "python benchmarks/bench.py" + (" --quick" if arguments.quick else ""),
            "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
            "seconds": round(time.perf_counter() - started),
            "load_before": machine["load_before"],
            "size": asdict(size),
            "versions": {
                "python": platform.python_version(),
                **{name: version(name) for name in ("cptw-search", *COMPETITORS)},
            },
            "machine": machine,
        }
        known = merge(known, part, records, run)
        write(arguments.docs, known)  # after every part: an interrupted run loses little
        started, machine = time.perf_counter(), machine_facts()
    print(f"Written to {arguments.docs} after {time.perf_counter() - began:.0f} s.")


if __name__ == "__main__":
    main()
