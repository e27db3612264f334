"""The search default as it is delivered, on test collections: quality, cost, the queries that got worse, and on clusters.

docs/retrieval.md holds what came out, between its markers. The parameters are the default's own, which were chosen with all of
these collections in sight: what to expect on others is in the table of `retrieval_study.py`, where each is left out.

Usage: CPTW_DATA=... python benchmarks/retrieval_default.py [--server elasticsearch7 ...]
"""

from __future__ import annotations

import argparse
import json
import statistics
import tempfile
import time
import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from cluster_trade import started
from pages import fill
from retrieval_study import COLLECTIONS

from cptw_indexer import ClusterIndexer
from cptw_queries import ClusterIndex, QueryPrunedWarning
from cptw_queries.expansion import learn
from cptw_search import Cptw, EmbeddedIndex, model_for
from cptw_search.backend import DEFAULT_METHOD
from cptw_search.cluster import connect, make_path
from cptw_search.evaluation.collections import Collection, load_collection
from cptw_search.evaluation.retrieval_measures import RetrievalScores, measure_run
from cptw_search.feedback import FEEDBACK_DOCS, TEACHER_LAMBDA

DEPTH = 1_000
METHODS = ("bm25", "bm25+rm3", "hybrid", DEFAULT_METHOD)
N_AT_ONCE = 10  # with a thousand hits each, more of them are too much for a server of 1 GB
N_TIMED = 100
N_TIMED_ON_CLUSTER = 30
N_WORST = 2
Record = dict[str, Any]


def run(index: EmbeddedIndex | ClusterIndex, collection: Collection, method: str) -> RetrievalScores:
    """Search for all queries and measure."""
    ids = list(collection.queries)
    found: dict[str, list[tuple[str, float]]] = {}
    for start in range(0, len(ids), N_AT_ONCE):
        batch = ids[start : start + N_AT_ONCE]
        hits = index.search_many([collection.queries[one] for one in batch], DEPTH, method=method, fields=())
        found |= {one: [(hit.id, hit.score) for hit in own] for one, own in zip(batch, hits, strict=True)}
    return measure_run(found, collection.judgements)


def milliseconds(index: EmbeddedIndex | ClusterIndex, queries: Sequence[str], method: str) -> float:
    """Give the median time of a search for ten documents, one query after the other."""
    times = []
    for query in queries:
        began = time.perf_counter()
        index.search(query, 10, method=method)
        times.append(time.perf_counter() - began)
    return round(1000 * statistics.median(times), 2)


def folder_bytes(folder: Path) -> int:
    """Add up the files of a folder."""
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


def worst(index: EmbeddedIndex, collection: Collection, ours: Mapping[str, float], base: Mapping[str, float]) -> Record:
    """Name the queries that lost most, and the words that they learned; not their texts, which are not ours."""
    change = {query_id: ours[query_id] - base[query_id] for query_id in ours}
    lost = []
    for query_id in sorted(change, key=lambda one: change[one])[:N_WORST]:
        query = collection.queries[query_id]
        teachers = index.search(query, FEEDBACK_DOCS, method="hybrid", lambda_=TEACHER_LAMBDA)
        learned = learn(index.model, [hit.fields for hit in teachers], [hit.score for hit in teachers]).importance
        own = index.model.count([query])
        typed = {
            index.model.vocabulary_[column] for column in own.matrix.indices if column < len(index.model.vocabulary_)
        }
        new = [term for term in sorted(learned, key=lambda term: -learned[term]) if term not in typed][:6]
        relevant = {doc_id for doc_id, grade in collection.judgements[query_id].items() if grade > 0}
        lost.append(
            {
                "query_id": query_id,
                "n_terms": len(typed),
                "bm25": round(base[query_id], 3),
                "default": round(ours[query_id], 3),
                "relevant_teachers": sum(hit.id in relevant for hit in teachers),
                "n_relevant": len(relevant),
                "learned": new,
            }
        )
    return {
        "better": sum(value > 1e-9 for value in change.values()),
        "worse": sum(value < -1e-9 for value in change.values()),
        "same": sum(abs(value) <= 1e-9 for value in change.values()),
        "worst": lost,
    }


def on_cluster(url: str, model: Cptw, collection: Collection) -> tuple[RetrievalScores, dict[str, float]]:
    """Run the default on a cluster; give its scores, and the time of a search by each method."""
    with connect(url, timeout=600) as client, warnings.catch_warnings():
        warnings.simplefilter("ignore", QueryPrunedWarning)
        indexer = ClusterIndexer(client, f"cptw-default-{collection.name}", model, n_replicas=0)
        try:
            indexer.load(collection.documents, progress=False)
            index = ClusterIndex(client, indexer.name, model)
            queries = list(collection.queries.values())[:N_TIMED_ON_CLUSTER]
            times = {method: milliseconds(index, queries, method) for method in ("bm25", "hybrid", DEFAULT_METHOD)}
            return run(index, collection, DEFAULT_METHOD), times
        finally:
            for made in indexer.history():
                client.request("DELETE", make_path(made.index))


def measure(name: str, engines: Mapping[str, str]) -> Record:
    """Measure everything on one collection."""
    collection = load_collection(name)
    began = time.monotonic()
    model = model_for("search").fit(collection.documents)
    fit_seconds = time.monotonic() - began
    queries = list(collection.queries.values())[:N_TIMED]
    with tempfile.TemporaryDirectory() as folder:
        index = EmbeddedIndex.build(model, collection.documents, path=Path(folder) / "index", progress=False)
        plain = Cptw(vectors=None).fit(collection.documents)
        EmbeddedIndex.build(plain, collection.documents, path=Path(folder) / "plain", progress=False)
        n_bytes = {part: folder_bytes(Path(folder) / part) for part in ("index", "plain")}
        scores = {method: run(index, collection, method) for method in METHODS}
        record: Record = {
            "collection": name,
            "n_docs": len(collection.documents),
            "n_queries": len(scores["bm25"].per_query["ndcg@10"]),
            "fit_seconds": round(fit_seconds, 1),
            "ndcg@10": {method: round(found.mean["ndcg@10"], 4) for method, found in scores.items()},
            "recall@100": round(scores[DEFAULT_METHOD].mean["recall@100"], 4),
            "milliseconds": {method: milliseconds(index, queries, method) for method in METHODS},
            "index_bytes": n_bytes["index"],
            "index_bytes_without_vectors": n_bytes["plain"],
            **worst(
                index,
                collection,
                scores[DEFAULT_METHOD].per_query["ndcg@10"],
                scores["bm25"].per_query["ndcg@10"],
            ),
            "on_clusters": {},
        }
        for engine, url in engines.items():
            found, times = on_cluster(url, model, collection)
            record["on_clusters"][engine] = {
                **{measure: round(found.mean[measure], 4) for measure in ("ndcg@10", "map", "recall@100")},
                "milliseconds": times,
            }
            record["on_clusters"][engine]["largest_difference"] = round(
                max(
                    abs(found.mean[measure] - scores[DEFAULT_METHOD].mean[measure])
                    for measure in ("ndcg@10", "map", "recall@100")
                ),
                5,
            )
    return record


def page(records: Sequence[Record]) -> Iterator[str]:
    """Lay out the page's tables."""
    yield "| collection | fit | index (without vectors) | " + " | ".join(f"`{method}`" for method in METHODS) + " |"
    yield "|---" * (3 + len(METHODS)) + "|"
    for record in records:
        sizes = f"{record['index_bytes'] / 1e6:.1f} MB ({record['index_bytes_without_vectors'] / 1e6:.1f})"
        times = " | ".join(f"{record['milliseconds'][method]:.1f} ms" for method in METHODS)
        yield f"| {record['collection']} | {record['fit_seconds']} s | {sizes} | {times} |"
    yield ""
    yield "Queries that got better, worse, or stayed, against BM25 with the same k1 and b; and the two that lost most:"
    yield ""
    yield "| collection | better | worse | same | query | its terms | nDCG@10 | relevant teachers | words it learned |"
    yield "|---" * 9 + "|"
    for record in records:
        for place, lost in enumerate(record["worst"]):
            counts = (record["collection"], record["better"], record["worst"] and record["worse"], record["same"])
            cells = counts if place == 0 else ("", "", "", "")
            yield (
                "| " + " | ".join(str(cell) for cell in cells) + f" | {lost['query_id']} | {lost['n_terms']} | "
                f"{lost['bm25']:.3f} → {lost['default']:.3f} | {lost['relevant_teachers']} of {FEEDBACK_DOCS} | "
                f"{', '.join(lost['learned'])} |"
            )
    engines = list(dict.fromkeys(engine for record in records for engine in record["on_clusters"]))
    if engines:
        yield ""
        yield (
            "| default: nDCG@10, recall@100 | embedded | "
            + " | ".join(f"{engine} | `bm25`, `hybrid`, default there" for engine in engines)
            + " |"
        )
        yield "|---" * (2 + 2 * len(engines)) + "|"
        for record in (one for one in records if one["on_clusters"]):
            cells = [f"{record['ndcg@10'][DEFAULT_METHOD]:.4f}, {record['recall@100']:.4f}"]
            for engine in engines:
                own = record["on_clusters"][engine]
                cells.append(f"{own['ndcg@10']:.4f}, {own['recall@100']:.4f}")
                cells.append(", ".join(f"{value:.0f}" for value in own["milliseconds"].values()) + " ms")
            yield f"| {record['collection']} | " + " | ".join(cells) + " |"


def main() -> None:
    """Measure and write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results/retrieval-default.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/retrieval.md"))
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    parser.add_argument(
        "--server",
        action="append",
        default=[],
        help="also on one of the tests' servers, which is started; may be repeated",
    )
    arguments = parser.parse_args()
    # what is there of other collections stays: one can be measured anew
    names = arguments.collections.split(",")
    known = json.loads(arguments.output.read_text(encoding="utf-8")) if arguments.output.exists() else []
    records = [record for record in known if record["collection"] not in names]
    with ExitStack() as servers:
        engines = {server: servers.enter_context(started(server)) for server in arguments.server}
        for name in names:
            records.append(measure(name, engines))
            print(json.dumps(records[-1]), flush=True)
    records.sort(key=lambda record: COLLECTIONS.index(record["collection"]))
    arguments.output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    if arguments.page.exists():
        text = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(fill(text, "default", "\n".join(page(records))), encoding="utf-8")


if __name__ == "__main__":
    main()
