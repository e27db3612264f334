"""Where the time of one search goes: the stages of a query of four words, with compiled additions, as docs/speed.md shows them.

Usage: CPTW_DATA=... python benchmarks/query_stages.py
"""

from __future__ import annotations

import cProfile
import os
import pstats
import tempfile
from collections.abc import Sequence
from pathlib import Path

from bench import VECTORS
from bench_queries import draw_queries
from bench_scale import run_step
from bench_size import Size
from bench_texts import TAU
from million_documents import four_words

from cptw_search import Cptw, EmbeddedIndex, acceleration, load_vectors
from cptw_search.evaluation.datasets import load_dataset
from cptw_search.evaluation.source_files import DATA_VARIABLE

STAGES = {
    "reading and counting the words": ("model.py", "count"),
    "propagating them, S twice": ("placement.py", "place"),
    "adding up the postings": ("postings.py", "_compiled_scores"),
    "finding the ten best": ("scoring.py", "rank"),
    "their ids": ("engine.py", "_hit"),
}


def stages(index: EmbeddedIndex, queries: Sequence[str]) -> tuple[float, dict[str, float]]:
    """Profile searches by CPTW: milliseconds a query under the profiler, and each stage's share of them."""
    for query in queries:
        index.search_many([query], method="cptw", fields=())
    profiler = cProfile.Profile()
    profiler.enable()
    for query in queries:
        index.search_many([query], method="cptw", fields=())
    profiler.disable()
    calls = pstats.Stats(profiler).stats.items()  # type: ignore[attr-defined]
    seconds = {
        (Path(file).name, name): found[3] for (file, _, name), found in calls if file.endswith(".py") and found[3] > 0
    }
    total = seconds["engine.py", "search_many"]
    shares = {stage: seconds[where] / total for stage, where in STAGES.items()}
    return 1e3 * total / len(queries), shares | {"the rest, most of it for each segment": 1 - sum(shares.values())}


def main() -> None:
    """Print a table."""
    acceleration.COMPILED_FROM = 0
    size = Size()
    texts = load_dataset("20news").texts
    vectors = load_vectors(Path(os.environ[DATA_VARIABLE]) / VECTORS)
    model = Cptw(vectors=vectors, tau=TAU, weighting="idf-weighted", analyzer="paper").fit(texts)
    tokens = [model._analyzer.tokens(text) for text in texts]  # type: ignore[attr-defined]
    news = EmbeddedIndex.build(model, texts, progress=False)
    found = {"20news": stages(news, draw_queries(tokens, size))}
    with tempfile.TemporaryDirectory() as name:
        n_docs = size.growth[-1]
        run_step("fit", Path(name), size.n_fit)
        run_step("load", Path(name), n_docs)
        made_up = EmbeddedIndex.open(Path(name) / f"index-{n_docs}")
        queries = four_words(size.n_queries)
        found[f"{n_docs:,} made-up documents, {len(made_up._parts)} segments"] = stages(made_up, queries)
        made_up.merge()
        found["the same, merged"] = stages(made_up, queries)
    print("| stage | " + " | ".join(found) + " |")
    print("|---|" + "--:|" * len(found))
    for stage in next(iter(found.values()))[1]:
        print(f"| {stage} | " + " | ".join(f"{100 * shares[stage]:.0f} %" for _, shares in found.values()) + " |")
    print(
        "| all, with the profiler's own time | " + " | ".join(f"{total:.1f} ms" for total, _ in found.values()) + " |"
    )


if __name__ == "__main__":
    main()
