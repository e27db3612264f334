"""Make LSI vectors of collections of growing size; time, memory, and agreement with an exact decomposition.

Each size runs in a process of its own, so that its peak memory is its own. Documents are those of
million_documents.py: 12 words drawn from a Zipf distribution over 200,000.

Usage: python benchmarks/lsi_scale.py [--documents 10000,100000,1000000] [--docs docs]
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
from million_documents import N_WORDS, word_ids
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import svds

N_DIMENSIONS = 200
N_EXACT = 10_000  # up to here the exact decomposition is made, too


def count(n_docs: int) -> csr_matrix:
    """Count the words of the collection; those that never occur get no column."""
    batches = list(word_ids(n_docs, seed=1))
    ids = np.concatenate(batches).astype(np.int32)
    _, columns = np.unique(ids, return_inverse=True)
    indptr = np.arange(0, ids.size + 1, ids.shape[1])
    counts = csr_matrix((np.ones(ids.size), columns.ravel().astype(np.int32), indptr))
    counts.sum_duplicates()
    return counts


def peak_mb() -> float:
    """Give the most memory that this process has held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def measure(n_docs: int) -> dict[str, float]:
    """Make the vectors of one collection."""
    from cptw_search.derive import lsi_vectors

    counts = count(n_docs)
    terms = [f"w{number}" for number in range(counts.shape[1])]
    facts: dict[str, float] = {"n_docs": n_docs, "n_terms": len(terms), "n_counts": counts.nnz}
    facts["before_mb"] = peak_mb()
    started, started_cpu = time.perf_counter(), time.process_time()
    vectors = lsi_vectors(counts, terms, n_dimensions=N_DIMENSIONS)
    facts["seconds"] = time.perf_counter() - started
    facts["cpu_seconds"] = time.process_time() - started_cpu
    facts["peak_mb"] = peak_mb()
    facts["n_words"] = vectors.n_words
    if n_docs <= N_EXACT:
        facts |= compare(counts, terms, vectors.rows(terms), vectors.vectors.astype(np.float64))
    return facts


def compare(counts: csr_matrix, terms: list[str], rows: np.ndarray, vectors: np.ndarray) -> dict[str, float]:
    """Compare with ARPACK in double precision: singular values, and the cosines of a thousand terms with all."""
    df = np.bincount(counts.indices)
    weighted = csr_matrix(counts @ diags(np.log(counts.shape[0] / df)))
    weighted = csr_matrix(diags(1 / np.sqrt(weighted.power(2).sum(axis=1).A1)) @ weighted)
    started_cpu = time.process_time()
    start = np.random.default_rng(0).standard_normal(min(counts.shape))
    _, values, right = svds(weighted, k=N_DIMENSIONS, v0=start)
    arpack = time.process_time() - started_cpu
    values, right = values[::-1], right[::-1]
    exact = (right.T * values)[rows >= 0]
    ours = np.linalg.norm(vectors, axis=0)
    exact /= np.linalg.norm(exact, axis=1, keepdims=True)
    vectors = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    sample = np.random.default_rng(1).choice(len(exact), 1000, replace=False)
    differences = np.abs(exact[sample] @ exact.T - vectors[sample] @ vectors.T)
    return {
        "arpack_cpu_seconds": arpack,
        "largest_error_of_values": float(np.abs(ours / values - 1).max()),
        "mean_difference_of_cosines": float(differences.mean()),
        "largest_difference_of_cosines": float(differences.max()),
    }


def table(records: list[dict[str, float]]) -> str:
    """Write the records as a table."""
    lines = [
        "| documents | terms | counts | time | processor time | peak memory | peak while the counts were made |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in records:
        lines.append(
            f"| {one['n_docs']:,} | {one['n_terms']:,} | {one['n_counts']:,} | {one['seconds']:.0f} s "
            f"| {one['cpu_seconds']:.0f} s | {one['peak_mb']:,.0f} MB | {one['before_mb']:,.0f} MB |"
        )
    for one in records:
        if "arpack_cpu_seconds" in one:
            lines.append(
                f"\nAt {one['n_docs']:,} documents, against ARPACK in double precision ({one['arpack_cpu_seconds']:.0f} s of "
                f"processor time): singular values differ by at most {one['largest_error_of_values']:.0e} of their size, "
                f"cosines of 1,000 terms with all others by {one['mean_difference_of_cosines']:.0e} on average and "
                f"{one['largest_difference_of_cosines']:.0e} at most."
            )
    return "\n".join(lines)


def main() -> None:
    """Run all sizes; write the figures and the table between the page's marks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--documents", default="10000,100000,1000000")
    parser.add_argument("--docs", type=Path, help="folder with lsi-at-scale.md and results/")
    parser.add_argument("--child", action="store_true")
    arguments = parser.parse_args()
    sizes = [int(size) for size in arguments.documents.split(",")]
    if arguments.child:
        print(json.dumps(measure(sizes[0])))
        return
    records = []
    for n_docs in sizes:
        command = [sys.executable, __file__, "--child", "--documents", str(n_docs)]
        load = os.getloadavg()[0]
        result = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
        records.append({**json.loads(result.stdout), "load_before": load})
        print(json.dumps(records[-1]), flush=True)
    if arguments.docs:
        machine = {"python": platform.python_version(), "numpy": np.__version__, "cores": os.cpu_count()}
        figures = {"machine": machine, "n_words": N_WORDS, "n_dimensions": N_DIMENSIONS, "records": records}
        (arguments.docs / "results" / "lsi-scale.json").write_text(json.dumps(figures, indent=1) + "\n")
        page = arguments.docs / "lsi-at-scale.md"
        made = f"<!-- made: sizes -->\n{table(records)}\n<!-- end -->"
        page.write_text(re.sub(r"<!-- made: sizes -->.*?<!-- end -->", lambda _: made, page.read_text(), flags=re.S))


if __name__ == "__main__":
    main()
