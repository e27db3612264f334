"""The search default on queries that no parameter was chosen by: NFCorpus's other queries, and texts sought by their titles.

Whoever types the title of a text that he knows has one right answer, and BM25 finds it by its words: the case in which a
method that adds words has most to lose. Titles are taken out of the texts first. docs/retrieval.md holds what came out.

Usage: CPTW_DATA=... python benchmarks/retrieval_unseen.py
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from pages import fill
from retrieval_default import METHODS, run
from retrieval_study import COLLECTIONS, STANDARD

from cptw_search import Cptw, EmbeddedIndex, model_for
from cptw_search.evaluation.collections import Collection, load_collection, make_collection
from cptw_search.evaluation.significance import paired_p_value

N_TITLES = 300
LEAST_WORDS = 20
SEED = 0


def by_title(collection: Collection) -> Collection | None:
    """Make a collection of texts without titles, and some of the titles as queries; None where there are too few."""
    known = [one for one in collection.documents if one.get("title") and len(one["text"].split()) > LEAST_WORDS]
    if len(known) < N_TITLES:
        return None
    documents = [{"id": one["id"], "text": one["text"].removeprefix(one["title"])} for one in known]
    chosen = np.random.default_rng(SEED).permutation(len(known))[:N_TITLES].tolist()
    queries = {known[position]["id"]: known[position]["title"] for position in chosen}
    return make_collection(collection.name, documents, queries, {doc_id: {doc_id: 1} for doc_id in queries})


def tasks() -> Iterator[tuple[str, Collection]]:
    """Give what is searched for, and the collection."""
    yield "other queries", load_collection("nfcorpus", qrels="dev")
    for name in COLLECTIONS:
        if (titled := by_title(load_collection(name))) is not None:
            yield "titles", titled


def measure(task: str, collection: Collection) -> Iterator[dict[str, Any]]:
    """Run every method; BM25 gets the better of the default's k1 and b and the usual ones."""
    index = EmbeddedIndex.build(model_for("search").fit(collection.documents), collection.documents)
    usual = Cptw(vectors=None, analyzer="english", **STANDARD).fit(collection.documents)
    plain = run(EmbeddedIndex.build(usual, collection.documents), collection, "bm25")
    scores = {method: run(index, collection, method) for method in METHODS}
    scores["bm25"] = max(plain, scores["bm25"], key=lambda one: one.mean["ndcg@10"])
    base = scores["bm25"].per_query["ndcg@10"]
    for method, found in scores.items():
        ours = found.per_query["ndcg@10"]
        change = np.array([ours[query_id] - base[query_id] for query_id in base])
        yield {
            "task": task,
            "collection": collection.name,
            "n_docs": len(collection.documents),
            "n_queries": len(collection.queries),
            "system": method,
            "ndcg@10": round(found.mean["ndcg@10"], 4),
            "mrr": round(found.mean["mrr"], 4),
            "better": int((change > 1e-9).sum()),
            "worse": int((change < -1e-9).sum()),
            "p_value_vs_bm25": None if method == "bm25" else paired_p_value(list(ours.values()), list(base.values())),
        }


def table(records: list[dict[str, Any]]) -> str:
    """Lay out the page's table."""
    lines = [
        "| queries | collection | `bm25` | " + " | ".join(f"`{method}`" for method in METHODS[1:]) + " |",
        "|---" * (2 + len(METHODS)) + "|",
    ]
    for start in range(0, len(records), len(METHODS)):
        base, *others = records[start : start + len(METHODS)]
        cells = [
            f"{one['ndcg@10']:.4f} ({one['ndcg@10'] / base['ndcg@10'] - 1:+.1%}; {one['better']} better, {one['worse']} worse"
            f"; p {one['p_value_vs_bm25']:.3f})"
            for one in others
        ]
        what = f"{base['n_queries']} {base['task']}"
        lines.append(f"| {what} | {base['collection']} | {base['ndcg@10']:.4f} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main() -> None:
    """Measure, write the records and fill the page."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--output", type=Path, default=Path("docs/results/retrieval-unseen.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/retrieval.md"))
    arguments = parser.parse_args()
    records = []
    for task, collection in tasks():
        records += measure(task, collection)
        print(f"{task}, {collection.name}: done", file=sys.stderr, flush=True)
    arguments.output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    print(table(records))
    if arguments.page.exists():
        text = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(fill(text, "unseen", table(records)), encoding="utf-8")


if __name__ == "__main__":
    main()
