"""Which search setting beats BM25 on collections that it was not chosen on? Leave one collection out at a time.

Every parameter of every system (BM25's k1 and b, RM3's documents, words and share, ours) is chosen on the other collections
and checked on the one left out: the setting with the best mean gain in nDCG@10 over BM25 among those that lose on none of the
collections it is chosen on, for a default has to know when to hold back. Where all of them lose somewhere, the best mean.
All systems read the same words: the analyzer ``english``, title and text together. BM25 gets the better of its chosen k1 and b
and the usual ones (1.2, 0.75), read off the collection itself. p-values are corrected by Holm for each system's collections.

Scores of all documents are held as arrays, so that a grid of settings costs little more than one search; that the engine
gives the same figures is checked by `cptw evaluate retrieval` (docs/retrieval.md).

Usage: CPTW_DATA=... python benchmarks/retrieval_study.py [--output docs/results/retrieval.json] [--page docs/retrieval.md]
"""

from __future__ import annotations

import argparse
import importlib.metadata
import itertools
import json
import sys
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from pages import fill

from cptw_search import Cptw
from cptw_search.backend import BM25_SCALE
from cptw_search.bm25 import bm25_document_weights, bm25_idf
from cptw_search.evaluation.collections import Collection, load_collection
from cptw_search.evaluation.retrieval_measures import MEASURES, RetrievalScores, measure_run
from cptw_search.evaluation.significance import holm, paired_p_value
from cptw_search.feedback import FEEDBACK_DOCS, MAX_DOCUMENT_SHARE, TEACHER_LAMBDA, learn_words, rm3

COLLECTIONS = ("cranfield", "cisi", "medline", "cacm", "scifact", "nfcorpus")
DEPTH = 1_000
Setting = Mapping[str, float]
Scores = np.ndarray  # queries by documents

BM25_GRID = [{"k1": k1, "b": b} for k1, b in itertools.product((0.9, 1.2, 1.5, 2.0), (0.4, 0.6, 0.75, 0.85))]
RM3_GRID = [
    {"n_docs": n_docs, "n_terms": n_terms, "query_weight": weight}
    for n_docs, n_terms, weight in itertools.product((5, 10), (10, 30, 50), (0.5, 0.7, 0.8))
]
TAUS = (0.35, 0.5)
HYBRID_GRID = [{"tau": tau, "lambda": share} for tau, share in itertools.product(TAUS, (0.1, 0.15, 0.2, 0.3, 0.4))]
STANDARD = {"k1": 1.2, "b": 0.75}
FEEDBACK_GRID = [
    {"k1": k1, "b": 0.75, "tau": tau, "lambda": share, "learned": learned, "sharpness": 8.0, "n_terms": 100}
    for k1, tau, share, learned in itertools.product((1.2, 1.5), TAUS, (0.1, 0.2, 0.3), (0.5, 0.6, 0.7, 0.8))
]
LEARNED_ALONE_GRID = [
    {**STANDARD, "tau": 0.5, "lambda": 0.0, "learned": learned, "sharpness": sharpness, "n_terms": 100}
    for learned, sharpness in itertools.product((0.2, 0.3, 0.4, 0.5, 0.6), (4.0, 8.0))
]


def best_is_one(scores: Scores) -> Scores:
    """Divide each query's scores by its best."""
    best = scores.max(axis=1, keepdims=True)
    return np.divide(scores, best, where=best > 0, out=np.zeros_like(scores))


@dataclass
class Prepared:
    """A collection with everything that all settings share."""

    collection: Collection
    model: Cptw
    kept: dict[object, Scores] = field(default_factory=dict)

    @cached_property
    def documents(self) -> sp.csr_matrix:
        """Counts of the documents."""
        return self.model.count(self.collection.documents).matrix

    @cached_property
    def queries(self) -> sp.csr_matrix:
        """Counts of the queries; words that are in no document are left out."""
        counts = self.model.count(self.collection.queries.values()).matrix
        return sp.csr_matrix(counts[:, : len(self.model.vocabulary_)])

    @cached_property
    def idf(self) -> sp.dia_matrix:
        """BM25's."""
        df = self.model.document_frequencies(np.arange(len(self.model.vocabulary_)))
        return sp.diags(bm25_idf(df, self.model.n_docs_))

    def keep(self, key: object, make: Callable[[], Scores]) -> Scores:
        """Compute once."""
        if key not in self.kept:
            self.kept[key] = make()
        return self.kept[key]

    def saturated(self, k1: float, b: float) -> sp.csr_matrix:
        """BM25's document weights, without IDF."""
        return bm25_document_weights(self.documents, self.model.average_length_, k1, b)

    def bm25(self, setting: Setting) -> Scores:
        """BM25."""
        k1, b = setting["k1"], setting["b"]
        return self.keep(("bm25", k1, b), lambda: (self.queries @ self.idf @ self.saturated(k1, b).T).toarray())

    def tfidf(self) -> Scores:
        """TF-IDF's cosine: CPTW without neighbours."""
        plain = Cptw(vectors=None, weighting="idf-input", analyzer="english").fit(self.collection.documents)
        return (
            plain.transform_query(self.collection.queries.values()) @ plain.transform(self.collection.documents).T
        ).toarray()

    def cptw(self, tau: float) -> Scores:
        """CPTW with IDF first, placed in the query: the same scores as in the other placements."""

        def make() -> Scores:
            model = self.model if tau == TAUS[0] else self.model.with_tau(tau)
            rows = model.represent_counts(self.queries, "query", "query", False)
            lengths = model.propagated_lengths(self.documents)
            return (rows @ self.documents.T).toarray() / np.where(lengths > 0, lengths, np.inf)

        return self.keep(("cptw", tau), make)

    def rm3(self, bm25: Setting, setting: Setting) -> Scores:
        """BM25 with the words of its best documents."""
        first = self.bm25(bm25)
        df = self.model.document_frequencies(self.documents.indices)
        teaching = self.documents.copy()
        teaching.data[df > MAX_DOCUMENT_SHARE * self.model.n_docs_] = 0.0
        teaching.eliminate_zeros()
        expanded = []
        for query, scores in zip(self.queries, first, strict=True):
            best = top(scores, int(setting["n_docs"]))
            expanded.append(
                rm3(
                    sp.csr_matrix(query),
                    teaching[best],
                    scores[best],
                    n_terms=int(setting["n_terms"]),
                    query_weight=setting["query_weight"],
                )
            )
        return (sp.vstack(expanded) @ self.idf @ self.saturated(bm25["k1"], bm25["b"]).T).toarray()

    def hybrid(self, bm25: Setting, setting: Setting) -> Scores:
        """CPTW and BM25, each divided by its best score."""
        share = setting["lambda"]
        return share * best_is_one(self.cptw(setting["tau"])) + (1 - share) * best_is_one(self.bm25(bm25))

    def hybrid_known(self, bm25: Setting, setting: Setting) -> Scores:
        """CPTW and BM25, with scales that are known before the search: one request to a cluster."""
        share = setting["lambda"]
        lengths = np.sqrt((self.queries @ self.idf).power(2).sum(axis=1).A1)
        scale = np.where(lengths > 0, BM25_SCALE * lengths, np.inf)[:, None]
        return share * self.cptw(setting["tau"]) + (1 - share) * self.bm25(bm25) / scale

    def feedback(self, bm25: Setting, setting: Setting) -> Scores:
        """Hybrid, and the words of the best documents, which have less of CPTW."""
        first = self.hybrid(bm25, setting)
        teacher_share = min(setting["lambda"], TEACHER_LAMBDA)

        def learned() -> Scores:
            saturated = self.saturated(bm25["k1"], bm25["b"])
            weighted = sp.csr_matrix(saturated @ self.idf)
            rows = []
            for scores in self.hybrid(bm25, {**setting, "lambda": teacher_share}):
                best = top(scores, FEEDBACK_DOCS)
                rows.append(
                    learn_words(
                        weighted[best], scores[best], n_terms=int(setting["n_terms"]), sharpness=setting["sharpness"]
                    )
                )
            return best_is_one((sp.vstack(rows) @ saturated.T).toarray())

        key = ("learned", bm25["k1"], bm25["b"], teacher_share, *(setting[n] for n in ("tau", "sharpness", "n_terms")))
        return setting["learned"] * self.keep(key, learned) + (1 - setting["learned"]) * best_is_one(first)

    def measure(self, scores: Scores, depth: int = DEPTH) -> RetrievalScores:
        """Rank and measure."""
        ids = [str(document["id"]) for document in self.collection.documents]
        run = {
            query_id: [(ids[doc], float(row[doc])) for doc in top(row, depth)]
            for query_id, row in zip(self.collection.queries, scores, strict=True)
        }
        return measure_run(run, self.collection.judgements)


def top(scores: np.ndarray, n: int) -> np.ndarray:
    """Give the documents with the n best scores above 0."""
    best = np.argsort(-scores, kind="stable")[:n]
    return best[scores[best] > 0]


def prepare(name: str) -> Prepared:
    """Load a collection and fit the model on it."""
    began = time.monotonic()
    collection = load_collection(name)
    model = Cptw(vectors="lsi", tau=TAUS[0], weighting="idf-input", analyzer="english").fit(collection.documents)
    print(
        f"{name}: {len(collection.documents)} documents, {time.monotonic() - began:.0f} s", file=sys.stderr, flush=True
    )
    return Prepared(collection, model)


def choose(gains: Mapping[int, Mapping[str, float]], names: Iterable[str]) -> int:
    """Choose the setting with the best mean gain on some collections among those that lose on none of them."""
    names = list(names)
    mean = {number: float(np.mean([gain[name] for name in names])) for number, gain in gains.items()}
    holding_back = [number for number, gain in gains.items() if min(gain[name] for name in names) >= 0]
    return max(holding_back or mean, key=lambda number: mean[number])


@dataclass
class System:
    """A ranking with a grid of settings."""

    name: str
    grid: list[dict[str, float]]
    scores: Callable[[Prepared, Setting, Setting], Scores]  # of a collection, by BM25's setting and its own


SYSTEMS = [
    System("tfidf", [{}], lambda prepared, bm25, _: prepared.keep("tfidf", prepared.tfidf)),
    System("bm25+rm3", RM3_GRID, lambda prepared, bm25, setting: prepared.rm3(bm25, setting)),
    System("hybrid", HYBRID_GRID, lambda prepared, bm25, setting: prepared.hybrid(bm25, setting)),
    System("hybrid, known scale", HYBRID_GRID, lambda prepared, bm25, setting: prepared.hybrid_known(bm25, setting)),
    System("bm25+feedback", LEARNED_ALONE_GRID, lambda prepared, _, setting: prepared.feedback(setting, setting)),
    System("cptw-default", FEEDBACK_GRID, lambda prepared, _, setting: prepared.feedback(setting, setting)),
]


def ndcg(prepared: Prepared, scores: Scores) -> float:
    """Give the measure that settings are chosen by."""
    return prepared.measure(scores, 10).mean["ndcg@10"]


def study(prepared: Mapping[str, Prepared]) -> list[dict[str, object]]:
    """Run everything; give one record a collection and system."""
    names = list(prepared)
    others = {name: [other for other in names if other != name] for name in names}
    plain = {name: ndcg(prepared[name], prepared[name].bm25(STANDARD)) for name in names}
    gains = {
        number: {name: ndcg(prepared[name], prepared[name].bm25(setting)) / plain[name] - 1 for name in names}
        for number, setting in enumerate(BM25_GRID)
    }
    # BM25 itself: the best mean, for there is nothing to hold back from
    bm25 = {
        name: BM25_GRID[max(gains, key=lambda n, o=others[name]: np.mean([gains[n][x] for x in o]))] for name in names
    }
    records = []
    base = {}
    for name in names:
        # the better of the chosen setting and the usual one, read off the collection itself: in favour of BM25
        both = [(setting, prepared[name].measure(prepared[name].bm25(setting))) for setting in (bm25[name], STANDARD)]
        setting, base[name] = max(both, key=lambda pair: pair[1].mean["ndcg@10"])
        records.append(record(name, "bm25", setting, base[name], None))
    per_query: dict[str, list[float]] = {}  # of the system that was measured last
    learned: dict[str, list[float]] = {}
    for system in SYSTEMS:
        began = time.monotonic()
        # each collection's gains with the BM25 that was chosen without it, for that is what it will be added to
        gain = {
            number: {
                name: ndcg(prepared[name], system.scores(prepared[name], bm25[name], setting))
                / base[name].mean["ndcg@10"]
                - 1
                for name in names
            }
            for number, setting in enumerate(system.grid)
        }
        for name in names:
            setting = system.grid[choose(gain, others[name])]
            scores = prepared[name].measure(system.scores(prepared[name], bm25[name], setting))
            per_query[name] = list(scores.per_query["ndcg@10"].values())
            records.append(record(name, system.name, {**bm25[name], **setting}, scores, base[name]))
        everywhere = system.grid[choose(gain, names)]
        print(f"{system.name}: {time.monotonic() - began:.0f} s; on all: {everywhere}", file=sys.stderr, flush=True)
        ours = [row for row in records if row["system"] == system.name]
        if system.name == "bm25+rm3":
            learned = {str(row["collection"]): per_query[str(row["collection"])] for row in ours}
        if system.name == "cptw-default":
            for row in ours:
                name = str(row["collection"])
                row["p_value_vs_rm3"] = paired_p_value(per_query[name], learned[name])
        for row, p_value in zip(ours, holm([float(str(row["p_value_vs_bm25"])) for row in ours]), strict=True):
            row["p_value_holm"] = p_value
    return records


def record(
    collection: str, system: str, setting: Setting, scores: RetrievalScores, base: RetrievalScores | None
) -> dict[str, object]:
    """One line of the results."""
    p_value = None
    if base is not None:
        ours, theirs = (list(s.per_query["ndcg@10"].values()) for s in (scores, base))
        p_value = paired_p_value(ours, theirs)
    return {
        "collection": collection,
        "system": system,
        **{name: round(scores.mean[name], 4) for name in MEASURES},
        "p_value_vs_bm25": p_value,
        "p_value_holm": None,
        "setting": dict(setting),
    }


def table(records: list[dict[str, object]]) -> str:
    """Lay out the page's tables."""
    systems = list(dict.fromkeys(str(r["system"]) for r in records))
    cell = {(r["collection"], r["system"]): r for r in records}
    names = list(dict.fromkeys(str(r["collection"]) for r in records))
    lines = []
    for measure in ("ndcg@10", "map", "recall@100"):
        lines += [f"| {measure} | " + " | ".join(f"`{s}`" for s in systems) + " |", "|---" * (len(systems) + 1) + "|"]
        for name in names:
            lines.append(f"| {name} | " + " | ".join(shown(cell[name, s], measure) for s in systems) + " |")
        mean = {s: float(np.mean([float(str(cell[n, s][measure])) for n in names])) for s in systems}
        gain = {
            s: float(
                np.mean([float(str(cell[n, s][measure])) / float(str(cell[n, "bm25"][measure])) - 1 for n in names])
            )
            for s in systems
        }
        lines.append("| mean | " + " | ".join(f"{mean[s]:.4f}" for s in systems) + " |")
        lines.append("| mean gain | " + " | ".join(f"{gain[s]:+.1%}" for s in systems) + " |")
        lines.append("")
    return "\n".join(lines).rstrip()


def shown(row: Mapping[str, object], measure: str) -> str:
    """Show a figure, with a star where its difference to BM25 in nDCG@10 is significant after Holm's correction."""
    star = measure == "ndcg@10" and row["p_value_holm"] is not None and float(str(row["p_value_holm"])) < 0.05
    return f"{float(str(row[measure])):.4f}" + ("*" if star else "")


def main() -> None:
    """Run the study and write its results."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=Path("docs/results/retrieval.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/retrieval.md"))
    parser.add_argument("--collections", default=",".join(COLLECTIONS))
    arguments = parser.parse_args()
    prepared = {name: prepare(name) for name in arguments.collections.split(",")}
    records = study(prepared)
    provenance = {
        "command": "python benchmarks/retrieval_study.py",
        "versions": {n: importlib.metadata.version(n) for n in ("cptw-search", "numpy", "scipy", "ir-measures")},
        "collections": {name: part.collection.content_hash() for name, part in prepared.items()},
    }
    arguments.output.write_text(json.dumps(records, indent=1) + "\n", encoding="utf-8")
    arguments.output.with_suffix(".provenance.json").write_text(
        json.dumps(provenance, indent=1) + "\n", encoding="utf-8"
    )
    print(table(records))
    if arguments.page.exists():
        text = arguments.page.read_text(encoding="utf-8")
        arguments.page.write_text(fill(text, "study", table(records)), encoding="utf-8")


if __name__ == "__main__":
    main()
