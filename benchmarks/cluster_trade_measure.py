"""What cluster_trade.py measures: the ways to store a collection, loads, and timed searches with their quality."""

from __future__ import annotations

import re
import statistics
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from cptw_indexer import ClusterIndexer
from cptw_queries import ClusterIndex
from cptw_queries.expansion import expand
from cptw_queries.fitting import QueryPrunedWarning
from cptw_search import Cptw, load_vectors
from cptw_search.analysis import get_analyzer
from cptw_search.backend import Hit
from cptw_search.classify import vote
from cptw_search.cluster import ClusterClient, make_path
from cptw_search.counting import Document
from cptw_search.evaluation.collections import load_collection
from cptw_search.evaluation.datasets import load_dataset
from cptw_search.evaluation.measures import f1_scores
from cptw_search.evaluation.retrieval_measures import measure_run
from cptw_search.pruning import Pruning, prune

SEED = 2019
K_NEIGHBOURS = 11
VOTES = "similarity"  # distances need cosines, which BM25 and pruned documents do not have
LAMBDA = 0.3
N_SAMPLE = 300  # documents whose terms are counted

Record = dict[str, object]
Random = np.random.Generator


@dataclass(frozen=True)
class Size:
    """How much is done."""

    n_docs: int | None = None
    n_four: int = 200
    n_whole: int = 100
    n_classified: int = 400
    n_judged: int | None = None
    n_warm: int = 10
    n_loads: int = 3
    most_load_seconds: float = 15.0  # an index that took longer is not loaded once more


QUICK = Size(n_docs=400, n_four=12, n_whole=6, n_classified=25, n_judged=15, n_warm=2, n_loads=1)


@dataclass(frozen=True)
class Variant:
    """A way to store documents and to ask."""

    placement: str
    document_max_terms: int | None = None
    query_max_terms: int | None = None

    @property
    def name(self) -> str:
        """What it is called in tables."""
        pruned = [("documents", self.document_max_terms), ("queries", self.query_max_terms)]
        return ", ".join([self.placement, *(f"{what} {most:,}" for what, most in pruned if most)])

    @property
    def stored(self) -> Variant:
        """The variant whose index is searched: pruned queries need none of their own."""
        return replace(self, query_max_terms=None)


VARIANTS = (
    Variant("bm25"),
    *(Variant("query", query_max_terms=most) for most in (None, 200, 50)),
    *(Variant("both", most) for most in (None, 200, 50)),
    *(Variant("document", most) for most in (None, 1000, 200, 50)),
)


@dataclass(frozen=True)
class Search:
    """Queries of one kind; ``quality`` makes figures of what was found."""

    name: str
    queries: Sequence[Document]
    k: int = 10
    method: str = "cptw"
    fields: tuple[str, ...] = ()
    quality: Callable[[list[list[Hit]]], dict[str, float]] | None = None


@dataclass(frozen=True)
class Task:
    """A collection with its model and searches."""

    name: str
    model: Cptw
    documents: Sequence[Mapping[str, object]]
    searches: Sequence[Search]
    facts: dict[str, object]


@dataclass
class Found:
    """What came of one search on one variant."""

    seconds: list[float] = field(default_factory=list)
    hits: list[list[Hit]] = field(default_factory=list)
    n_cut: int = 0


# What is searched for -----------------------------------------------------------------------------------------------------


def draw_four_words(texts: Sequence[str], analyzer: str, n_queries: int, random: Random) -> list[str]:
    """Draw four different words from a text, so often; stop words do not count, nor texts with fewer words."""
    is_term = get_analyzer(analyzer).tokens
    queries: list[str] = []
    while len(queries) < n_queries:
        text = texts[random.integers(len(texts))].lower()
        words = [word for word in dict.fromkeys(re.findall(r"[a-z]{2,}", text)) if is_term(word)]
        if len(words) >= 4:
            queries.append(" ".join(random.choice(words, 4, replace=False)))
    return queries


def classification_task(vectors: Path, size: Size) -> Task:
    """Reuters: the training part is indexed, documents of the test part are classified."""
    data = load_dataset("reuters")
    train, test = np.flatnonzero(~data.is_test)[: size.n_docs], np.flatnonzero(data.is_test)
    random = np.random.default_rng(SEED)
    sample = random.choice(test, size.n_classified, replace=False)
    four = draw_four_words([data.texts[n] for n in test], "paper", size.n_four + size.n_warm, random)

    def micro_f1(found: list[list[Hit]]) -> dict[str, float]:
        shares = [vote(hits, "label", VOTES) for hits in found]
        predicted = [max(sorted(share), key=share.__getitem__, default="") for share in shares]
        truth = [data.labels[n] for n in sample]
        codes = {label: code for code, label in enumerate(sorted({*truth, *predicted}))}
        as_codes = [np.array([codes[label] for label in labels]) for labels in (truth, predicted)]
        return {"micro_f1": f1_scores(*as_codes)[0]}

    parameters = {"tau": 0.5, "weighting": "tf", "analyzer": "paper"}
    whole = [data.texts[n] for n in sample]
    return Task(
        "reuters",
        Cptw(vectors=load_vectors(vectors), **parameters).fit(data.texts[n] for n in train),
        [{"id": str(n), "text": data.texts[n], "label": data.labels[n]} for n in train],
        [
            Search("four", four),
            Search("whole", whole, k=K_NEIGHBOURS, fields=("label",), quality=micro_f1),
        ],
        {"content_hash": data.content_hash(), "n_docs": len(train), "vectors": vectors.name, **parameters},
    )


def retrieval_task(name: str, size: Size) -> Task:
    """Take a test collection with vectors made from itself and the defaults of the library; nothing is tuned."""
    collection = load_collection(name)
    documents = collection.documents[: size.n_docs]
    random = np.random.default_rng(SEED)
    four = draw_four_words([d["text"] for d in documents], "english", size.n_four + size.n_warm, random)
    sample = random.choice(len(documents), size.n_whole + size.n_warm, replace=False)
    judged = list(collection.queries)[: size.n_judged]

    def ndcg(key: str) -> Callable[[list[list[Hit]]], dict[str, float]]:
        def measure(found: list[list[Hit]]) -> dict[str, float]:
            run = {query: [(hit.id, hit.score) for hit in hits] for query, hits in zip(judged, found, strict=True)}
            return {key: measure_run(run, {query: collection.judgements[query] for query in judged}).mean["ndcg@10"]}

        return measure

    parameters = {"vectors": "lsi", "tau": 0.5, "weighting": "tf", "analyzer": "english"}
    texts = [collection.queries[query] for query in judged]
    return Task(
        name,
        Cptw(**parameters).fit(documents),
        documents,
        [
            Search("four", four),
            Search("whole", [{part: documents[n].get(part, "") for part in ("title", "text")} for n in sample]),
            Search("judged", texts, quality=ndcg("ndcg_alone")),
            Search("hybrid", texts, method="hybrid", quality=ndcg("ndcg_hybrid")),
        ],
        {"content_hash": collection.content_hash(), "n_docs": len(documents), "lambda": LAMBDA, **parameters},
    )


# What is stored -----------------------------------------------------------------------------------------------------------


@contextmanager
def loaded(
    client: ClusterClient, task: Task, size: Size, prefix: str, say: Callable[[str], None]
) -> Iterator[dict[Variant, tuple[ClusterIndexer, Record]]]:
    """Load every index, several times and in turn; the last ones stay as long as the ``with`` block lasts."""
    random = np.random.default_rng(SEED)
    indexers: dict[Variant, ClusterIndexer] = {}
    for number, variant in enumerate(dict.fromkeys(variant.stored for variant in VARIANTS)):
        indexers[variant] = ClusterIndexer(
            client,
            f"{prefix}-{task.name}-{number}",
            task.model,
            placement="query" if variant.placement == "bm25" else variant.placement,
            field_type="none" if variant.placement == "bm25" else "auto",
            pruning=Pruning(max_terms=variant.document_max_terms),
            n_replicas=0,
        )
    seconds: dict[Variant, list[float]] = {variant: [] for variant in indexers}
    try:
        for variant in (Variant("bm25"), Variant("both")):  # the server's code gets warm
            indexers[variant].load(task.documents, progress=False)
        for turn in range(size.n_loads):
            for place in random.permutation(len(indexers)):
                variant, indexer = list(indexers.items())[place]
                if sum(seconds[variant]) > size.most_load_seconds:
                    continue
                summary = indexer.load(task.documents, progress=False)
                if summary.n_indexed != len(task.documents):
                    raise RuntimeError(f"{variant.name}: {summary.n_rejected} documents were rejected.")
                seconds[variant].append(summary.seconds)
                indexer.prune_old(0)
                say(f"{task.name}: load {turn + 1}, {variant.name}: {summary.seconds:.1f} s")
        yield {
            variant: (indexer, _stored_facts(client, indexer, task, variant, seconds[variant]))
            for variant, indexer in indexers.items()
        }
    finally:
        for indexer in indexers.values():
            for made in indexer.history():
                client.request("DELETE", make_path(made.index))


def _stored_facts(
    client: ClusterClient, indexer: ClusterIndexer, task: Task, variant: Variant, seconds: list[float]
) -> Record:
    counts = task.model.count(task.documents[:N_SAMPLE]).matrix
    if variant.placement != "bm25":
        rows = task.model.represent_counts(counts, "document", variant.placement, True)
        counts = prune(rows, Pruning(max_terms=variant.document_max_terms))
    return {
        "terms_per_document": counts.nnz / counts.shape[0],
        "index_bytes": index_bytes(client, indexer.name),
        "docs_per_second": len(task.documents) / statistics.median(seconds),
        "load_seconds": seconds,
    }


def index_bytes(client: ClusterClient, name: str) -> int:
    """Merge an index into one segment and give its size, when what was merged is gone."""
    client.request("POST", make_path(name, "_forcemerge"), params={"max_num_segments": 1}, timeout=600)
    client.request("POST", make_path(name, "_flush"), params={"force": True}, timeout=60)
    client.request("POST", make_path(name, "_refresh"))
    before = -1
    while True:
        stats = client.request("GET", make_path(name, "_stats", "store,segments"))["_all"]["primaries"]
        now = int(stats["store"]["size_in_bytes"])
        if now == before and stats["segments"]["count"] == 1:
            return now
        before = now
        time.sleep(0.5)


# What is timed ------------------------------------------------------------------------------------------------------------


def run_search(indices: Mapping[Variant, ClusterIndex], search: Search, n_warm: int) -> dict[Variant, Found]:
    """Send every query to all variants one after the other, in another order each time: noise hits all alike."""
    random = np.random.default_rng(SEED)
    found = {variant: Found() for variant in indices}
    for warm in search.queries[:n_warm]:
        for variant, index in indices.items():
            _search(index, variant, search, warm)
    # Queries with a quality are counted all, the others without those that were used to get warm.
    for query in search.queries[0 if search.quality else n_warm :]:
        for place in random.permutation(len(indices)):
            variant, index = list(indices.items())[place]
            seconds, hits, was_cut = _search(index, variant, search, query)
            found[variant].seconds.append(seconds)
            found[variant].hits.append(hits)
            found[variant].n_cut += was_cut
    return found


def _search(index: ClusterIndex, variant: Variant, search: Search, query: Document) -> tuple[float, list[Hit], bool]:
    method = "bm25" if variant.placement == "bm25" else search.method
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", QueryPrunedWarning)
        started = time.perf_counter()
        hits = index.search(query, search.k, method=method, lambda_=LAMBDA, fields=search.fields)
        seconds = time.perf_counter() - started
    return seconds, hits, bool(caught)


def measure_task(
    client: ClusterClient, task: Task, size: Size, prefix: str, say: Callable[[str], None]
) -> list[Record]:
    """Load a collection in all ways, search it, and give one record a variant."""
    with loaded(client, task, size, prefix, say) as stored:
        indices = {
            variant: ClusterIndex(
                client,
                stored[variant.stored][0].name,
                task.model,
                query_pruning=Pruning(max_terms=variant.query_max_terms),
            )
            for variant in VARIANTS
        }
        smallest = stored[Variant("bm25")][1]["index_bytes"]
        records: dict[Variant, Record] = {}
        for variant in VARIANTS:
            facts = stored[variant.stored][1]
            records[variant] = {
                "task": task.name,
                "variant": variant.name,
                "placement": variant.placement,
                "document_max_terms": variant.document_max_terms,
                "query_max_terms": variant.query_max_terms,
                **facts,
                "index_ratio": facts["index_bytes"] / smallest,
            }
        for search in task.searches:
            began = time.perf_counter()
            for variant, found in run_search(indices, search, size.n_warm).items():
                records[variant] |= _searched_facts(task.model, variant, search, found)
            say(f"{task.name}: {search.name} queries: {time.perf_counter() - began:.0f} s")
    return list(records.values())


def _searched_facts(model: Cptw, variant: Variant, search: Search, found: Found) -> Record:
    p50, p95 = np.percentile(np.array(found.seconds) * 1e3, [50, 95])
    facts: Record = {
        f"{search.name}_p50_ms": float(p50),
        f"{search.name}_p95_ms": float(p95),
        f"{search.name}_cut_share": found.n_cut / len(found.seconds),
        f"{search.name}_clauses": _n_clauses(model, variant, search.queries[:50]),
        f"{search.name}_n_queries": len(found.seconds),
    }
    return facts | (search.quality(found.hits) if search.quality else {})


def _n_clauses(model: Cptw, variant: Variant, queries: Sequence[Document]) -> float:
    """Count the terms of queries as they would be sent without the server's limit; the mean."""
    placement = "query" if variant.placement == "bm25" else variant.placement
    expanded = expand(model, queries, placement, Pruning(max_terms=variant.query_max_terms))
    return statistics.mean(len(one.counts if variant.placement == "bm25" else one.weights) for one in expanded)
