"""What the search default's choices are worth: one is changed at a time, the rest stays as delivered.

Vectors, tau, stems, weighting, and the way two lists are mixed, by nDCG@10 of the embedded engine. All of it was looked at on
the collections themselves: it says what matters, and nothing about other collections. docs/retrieval.md holds the table.

Usage: CPTW_DATA=... python benchmarks/retrieval_choices.py [--page docs/retrieval.md] [--collections cranfield,cacm] [--missing]
"""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pages import fill
from retrieval_study import COLLECTIONS

from cptw_search import EmbeddedIndex, load_vectors, model_for
from cptw_search.backend import DEFAULT_METHOD
from cptw_search.evaluation.collections import Collection, load_collection
from cptw_search.evaluation.retrieval_measures import measure_run
from cptw_search.pruning import Pruning

GOOGLENEWS, GLOVE = "googlenews-w2v-300d-31k.f16.npz", "glove6b-100d-100k.f16.npz"
CHOICES: dict[str, dict[str, Any]] = {
    "the default": {},
    "tau 0.5": {"tau": 0.5},
    "tau adaptive": {"tau": "adaptive"},
    "GoogleNews, tau 0.4": {"vectors": GOOGLENEWS, "tau": 0.4},
    "GoogleNews, tau 0.6": {"vectors": GOOGLENEWS, "tau": 0.6},
    "GloVe, tau 0.65": {"vectors": GLOVE, "tau": 0.65},
    "LSI and GoogleNews, tau 0.4": {"vectors": ["lsi", GOOGLENEWS], "tau": 0.4},
    "no stems (`unicode`)": {"analyzer": "unicode"},
    "weighting `tf`": {"weighting": "tf"},
    "weighting `idf-weighted`": {"weighting": "idf-weighted"},
    "weighting `bm25`": {"weighting": "bm25"},
    "800 terms a query, as on clusters": {"query_max_terms": 800},
    "200 terms a query": {"query_max_terms": 200},
}
METHODS = ("bm25", "cptw", "hybrid", "rrf", DEFAULT_METHOD)
Record = dict[str, Any]


def source(vectors: object) -> object:
    """Load vectors of the data folder; what is made from the collection stays a name."""
    if isinstance(vectors, list):
        return [source(one) for one in vectors]
    folder = Path(os.environ["CPTW_DATA"]) / "vectors"
    return load_vectors(folder / str(vectors)) if str(vectors).endswith(".npz") else vectors


def measure(collection: Collection, choice: str) -> Record:
    """Measure all methods with one choice."""
    changes = dict(CHOICES[choice])
    if "vectors" in changes:
        changes["vectors"] = source(changes["vectors"])
    pruning = {}
    if (most := changes.pop("query_max_terms", None)) is not None:
        pruning = {"placement": "query", "query_pruning": Pruning(max_terms=most)}
    model = model_for("search", **changes).fit(collection.documents)
    index = EmbeddedIndex.build(model, collection.documents, progress=False, **pruning)
    record: Record = {"collection": collection.name, "choice": choice}
    for method in METHODS:
        found = index.search_many(list(collection.queries.values()), 10, method=method, fields=())
        run = {
            query_id: [(hit.id, hit.score) for hit in hits]
            for query_id, hits in zip(collection.queries, found, strict=True)
        }
        record[method] = round(measure_run(run, collection.judgements).mean["ndcg@10"], 4)
    return record


def table(records: Sequence[Record]) -> str:
    """Lay out the mean over the collections, and the default method on each."""
    names = list(dict.fromkeys(record["collection"] for record in records))
    lines = [
        "| changed | " + " | ".join(f"mean `{method}`" for method in METHODS) + " | " + " | ".join(names) + " |",
        "|---" + "|---:" * (len(METHODS) + len(names)) + "|",
    ]
    for choice in dict.fromkeys(record["choice"] for record in records):
        own = {record["collection"]: record for record in records if record["choice"] == choice}
        means = [sum(record[method] for record in own.values()) / len(own) for method in METHODS]
        cells = [f"{mean:.4f}" for mean in means] + [f"{own[name][DEFAULT_METHOD]:.4f}" for name in names]
        lines.append(f"| {choice} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results/retrieval-choices.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/retrieval.md"))
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument("--missing", action="store_true", help="measure only what the output lacks")
    arguments = parser.parse_args()
    is_known = arguments.missing and arguments.output.exists()
    known = json.loads(arguments.output.read_text(encoding="utf-8")) if is_known else []
    measured = {(record["collection"], record["choice"]): record for record in known}
    records = []
    for name in arguments.collections.split(","):
        collection = load_collection(name)
        for choice in CHOICES:
            records.append(measured.get((name, choice)) or measure(collection, choice))
            print(json.dumps(records[-1]), flush=True)
    arguments.output.write_text("[\n" + ",\n".join(map(json.dumps, records)) + "\n]\n", encoding="utf-8")
    if arguments.page.exists():
        text = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(fill(text, "choices", table(records)), encoding="utf-8")


if __name__ == "__main__":
    main()
