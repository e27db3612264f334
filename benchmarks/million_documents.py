"""Build, open and search an embedded index of many short synthetic documents; time, memory, and how they grow.

Each step runs in a process of its own, so that its peak memory is its own. Documents are 12 words drawn from a Zipf
distribution over 200,000; the 20,000 commonest words have vectors in groups of five, so that queries propagate.

Usage: python benchmarks/million_documents.py [--documents 100000,1000000] [--output docs/results/million.json]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np

N_WORDS = 200_000
N_WITH_VECTORS = 20_000
N_FIT = 100_000
LENGTH = 12
N_QUERIES = 200


def word_ids(n_docs: int, seed: int) -> Iterator[np.ndarray]:
    """Rows of word numbers, in batches; number r is drawn with a probability of 1 / (r + 10)."""
    weights = 1 / (np.arange(N_WORDS) + 10)
    cumulative = np.cumsum(weights / weights.sum())
    random = np.random.default_rng(seed)
    for start in range(0, n_docs, 10_000):
        n = min(10_000, n_docs - start)
        yield np.searchsorted(cumulative, random.random((n, LENGTH)))


def four_words(n_queries: int) -> list[str]:
    """Make queries of the collection's words."""
    return [" ".join(f"w{word}" for word in row[:4]) for row in next(word_ids(n_queries, seed=2)).tolist()]


def documents(n_docs: int) -> Iterator[dict[str, object]]:
    """Make the collection, one document at a time."""
    number = 0
    for batch in word_ids(n_docs, seed=1):
        for row in batch.tolist():
            yield {"id": f"d{number:07}", "text": " ".join(f"w{word}" for word in row), "label": f"l{number % 7}"}
            number += 1


def fit(folder: Path, n_docs: int) -> dict[str, float]:
    """Fit on a part of the collection."""
    from cptw_search import Cptw, WordVectors

    random = np.random.default_rng(0)
    centres = random.normal(size=(N_WITH_VECTORS // 5, 50))
    vectors = np.repeat(centres, 5, axis=0) + 0.5 * random.normal(size=(N_WITH_VECTORS, 50))
    words = [f"w{number}" for number in random.permutation(N_WITH_VECTORS)]
    model = Cptw(vectors=WordVectors(words, vectors), tau=0.6, weighting="idf-weighted", analyzer="whitespace")
    model.fit(document for _, document in zip(range(N_FIT), documents(n_docs), strict=False))
    model.save(folder / "model")
    return {
        "n_terms": len(model.vocabulary_),
        "neighbours_per_term": model.similarity_.nnz / len(model.vocabulary_) - 1,
    }


def build(folder: Path, n_docs: int) -> dict[str, float]:
    """Stream the collection into a directory."""
    from cptw_search import Cptw, EmbeddedIndex

    EmbeddedIndex.build(Cptw.load(folder / "model"), documents(n_docs), path=folder / "index").close()
    size = sum(path.stat().st_size for path in (folder / "index").rglob("*") if path.is_file())
    return {"index_mb": size / 2**20}


def generate(folder: Path, n_docs: int) -> dict[str, float]:
    """Make the documents and throw them away: what of the building time is not ours."""
    return {"n_docs": sum(1 for _ in documents(n_docs))}


def open_index(folder: Path, n_docs: int) -> dict[str, float]:
    """Open the saved index and find one document."""
    from cptw_search import EmbeddedIndex

    started = time.perf_counter()
    index = EmbeddedIndex.open(folder / "index")
    opened = time.perf_counter() - started
    index.search("w500 w2000", k=10)
    return {"open_seconds": opened}


def search(folder: Path, n_docs: int) -> dict[str, float]:
    """Four-word queries, one at a time."""
    from cptw_search import EmbeddedIndex

    index = EmbeddedIndex.open(folder / "index")
    queries = four_words(N_QUERIES)
    result: dict[str, float] = {}
    index.search_many(queries)  # compiled code is loaded after some work
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback"):
        seconds = []
        for query in queries:
            started = time.perf_counter()
            index.search(query, k=10, method=method)
            seconds.append(time.perf_counter() - started)
        result[f"{method}_p50_ms"] = float(np.percentile(seconds, 50) * 1e3)
        result[f"{method}_p95_ms"] = float(np.percentile(seconds, 95) * 1e3)
    return result


STEPS = {step.__name__: step for step in (fit, generate, build, open_index, search)}


def run_step(name: str, folder: Path, n_docs: int) -> dict[str, float]:
    """Run a step in a process of its own."""
    command = [sys.executable, __file__, "--step", name, "--folder", str(folder), "--documents", str(n_docs)]
    result = subprocess.run(command, capture_output=True, text=True, check=True)
    facts: dict[str, float] = json.loads(result.stdout)
    return facts


def main() -> None:
    """Run all steps for each size and print a table."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", default="100000,1000000")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--step", choices=STEPS)
    parser.add_argument("--folder", type=Path)
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.documents.split(",")]
    if arguments.step:
        started = time.perf_counter()
        facts = STEPS[arguments.step](arguments.folder, sizes[0])
        facts["seconds"] = time.perf_counter() - started
        facts["peak_mb"] = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(json.dumps(facts))
        return
    records = []
    for n_docs in sizes:
        with tempfile.TemporaryDirectory() as folder:
            for name in STEPS:
                facts = {"n_docs": n_docs, "step": name, **run_step(name, Path(folder), n_docs)}
                records.append(facts)
                print(
                    "  ".join(f"{k} {v:.3g}" if isinstance(v, float) else f"{k} {v}" for k, v in facts.items()),
                    flush=True,
                )
    if arguments.output:
        machine = {"python": platform.python_version(), "numpy": np.__version__, "cores": os.cpu_count()}
        arguments.output.write_text(json.dumps({"machine": machine, "records": records}, indent=1) + "\n")


if __name__ == "__main__":
    main()
