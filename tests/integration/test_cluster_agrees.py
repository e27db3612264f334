"""The same documents, queries and pruning on both sides: a cluster ranks and classifies as the embedded engine does.

Needs the data of ``CPTW_DATA``: ``retrieval/cranfield``, ``classification/reuters.tsv.gz`` and the vectors.
"""

from __future__ import annotations

import csv
import gzip
import json
import os
from collections.abc import Iterator
from pathlib import Path

import ir_measures
import pytest
from cluster_documents import load
from ir_measures import nDCG

from cptw_queries import ClusterIndex, aggregate_votes
from cptw_search import Cptw, EmbeddedIndex, Hit, KnnClassifier, Pruning, load_vectors
from cptw_search.cluster import ClusterClient, connect

pytestmark = pytest.mark.servers

PRUNING = Pruning(max_terms=1_000)  # Elasticsearch 7.17 and OpenSearch take 1,024 clauses
WITH_LEARNED_WORDS = Pruning(max_terms=800)  # of which those and the words of the query take some
STORED = 2**-8  # of nine bits, cut off
N_TEST_DOCUMENTS = 500  # of reuters' 2,189, evenly spaced: all of them take a minute a server
SERVERS = ["elasticsearch7", "elasticsearch9", "opensearch3"]


def data(*parts: str) -> Path:
    folder = os.environ.get("CPTW_DATA")
    if not folder:
        pytest.skip("CPTW_DATA is not set")
    path = Path(folder, *parts)
    if not path.exists():
        pytest.skip(f"CPTW_DATA has no {'/'.join(parts)}")
    return path


@pytest.fixture
def client(request: pytest.FixtureRequest) -> Iterator[ClusterClient]:
    with connect(request.getfixturevalue(request.param).url, timeout=120) as client:
        yield client


class TestCranfield:
    @pytest.fixture(scope="class")
    @staticmethod
    def documents() -> list[dict[str, object]]:
        with gzip.open(data("retrieval", "cranfield", "corpus.jsonl.gz"), "rt") as lines:
            read = [json.loads(line) for line in lines]
        return [{"id": entry["_id"], "title": entry.get("title", ""), "text": entry["text"]} for entry in read]

    @pytest.fixture(scope="class")
    @staticmethod
    def queries() -> dict[str, str]:
        with data("retrieval", "cranfield", "queries.jsonl").open() as lines:
            return {entry["_id"]: entry["text"] for entry in map(json.loads, lines)}

    @pytest.fixture(scope="class")
    @staticmethod
    def model(documents: list[dict[str, object]]) -> Cptw:
        return Cptw(vectors="lsi", tau=0.4).fit(documents)

    @pytest.fixture(scope="class", params=["query", "both", "document"])
    @staticmethod
    def expected(
        request: pytest.FixtureRequest, model: Cptw, documents: list[dict[str, object]], queries: dict[str, str]
    ) -> tuple[str, list[list[Hit]]]:
        index = EmbeddedIndex.build(model, documents, placement=request.param, query_pruning=PRUNING)
        return request.param, index.search_many(list(queries.values()), 20, method="cptw")

    @staticmethod
    def ndcg(queries: dict[str, str], results: list[list[Hit]]) -> float:
        with data("retrieval", "cranfield", "qrels.nosource.tsv").open() as lines:
            rows = list(csv.DictReader(lines, delimiter="\t"))
        qrels = [ir_measures.Qrel(row["query-id"], row["corpus-id"], int(row["score"])) for row in rows]
        run = [
            ir_measures.ScoredDoc(query_id, hit.id, hit.score)
            for query_id, hits in zip(queries, results, strict=True)
            for hit in hits[:10]
        ]
        return float(ir_measures.calc_aggregate([nDCG @ 10], qrels, run)[nDCG @ 10])

    @pytest.mark.parametrize("client", SERVERS, indirect=True)
    def test_top_ten_agree(
        self,
        client: ClusterClient,
        index_name: str,
        model: Cptw,
        documents: list[dict[str, object]],
        queries: dict[str, str],
        expected: tuple[str, list[list[Hit]]],
    ) -> None:
        placement, embedded = expected
        load(client, index_name, model, documents, placement=placement)
        index = ClusterIndex(client, index_name, model, query_pruning=PRUNING)
        found = index.search_many(list(queries.values()), 10, method="cptw")
        same = n_hits = 0
        for ours, theirs in zip(embedded, found, strict=True):
            scores = {hit.id: hit.score for hit in ours}
            tenth = ours[9].score * (1 - STORED)  # nearer than that, the server cannot tell documents apart
            same += sum(scores.get(hit.id, 0.0) >= tenth for hit in theirs)
            n_hits += 10
            for hit in theirs:
                assert hit.score == pytest.approx(scores.get(hit.id, hit.score), rel=2 * STORED)
        loss = self.ndcg(queries, embedded) - self.ndcg(queries, found)
        print(f"{placement}: overlap {same / n_hits:.4f}, loss in nDCG@10 {loss:.5f}")
        assert same / n_hits >= 0.99
        assert loss < 0.001

    @pytest.mark.parametrize(
        ("client", "placement"),
        [("elasticsearch7", "query"), ("elasticsearch9", "both"), ("opensearch3", "document")],
        indirect=["client"],
    )
    def test_learned_words_rank_as_well(
        self,
        client: ClusterClient,
        index_name: str,
        model: Cptw,
        documents: list[dict[str, object]],
        queries: dict[str, str],
        placement: str,
    ) -> None:
        embedded = EmbeddedIndex.build(model, documents, placement=placement, query_pruning=WITH_LEARNED_WORDS)
        load(client, index_name, model, documents, placement=placement)
        index = ClusterIndex(client, index_name, model, query_pruning=WITH_LEARNED_WORDS)
        texts = list(queries.values())
        ours, theirs = (each.search_many(texts, 10, method="hybrid+feedback") for each in (embedded, index))
        same = sum(
            len({hit.id for hit in one} & {hit.id for hit in other}) for one, other in zip(ours, theirs, strict=True)
        )
        expected, found = self.ndcg(queries, ours), self.ndcg(queries, theirs)
        print(f"{placement}: overlap {same / 10 / len(texts):.4f}, nDCG@10 {found:.4f}, embedded {expected:.4f}")
        assert found == pytest.approx(expected, abs=0.002)
        assert found > self.ndcg(queries, index.search_many(texts, 10, method="hybrid"))


class TestReuters:
    @pytest.fixture(scope="class")
    @staticmethod
    def documents() -> dict[str, list[dict[str, object]]]:
        found: dict[str, list[dict[str, object]]] = {"train": [], "test": []}
        with gzip.open(data("classification", "reuters.tsv.gz"), "rt") as lines:
            for number, line in enumerate(lines):
                split, label, text = line.rstrip("\n").split("\t")
                found[split].append({"id": str(number), "label": label, "text": text})
        return found

    @pytest.fixture(scope="class")
    @staticmethod
    def model(documents: dict[str, list[dict[str, object]]]) -> Cptw:
        vectors = load_vectors(data("vectors", "googlenews-w2v-300d-31k.f16.npz"))
        return Cptw(vectors=vectors, tau=0.5).fit(documents["train"])

    @pytest.mark.parametrize(
        ("client", "placement"),
        [("elasticsearch7", "document"), ("elasticsearch9", "both"), ("opensearch3", "both")],
        indirect=["client"],
    )
    def test_labels_agree(
        self,
        client: ClusterClient,
        index_name: str,
        model: Cptw,
        documents: dict[str, list[dict[str, object]]],
        placement: str,
    ) -> None:
        step = len(documents["test"]) // N_TEST_DOCUMENTS
        texts = [{"text": document["text"]} for document in documents["test"][::step]]
        embedded = EmbeddedIndex.build(model, documents["train"], placement=placement, query_pruning=PRUNING)
        load(client, index_name, model, documents["train"], placement=placement)
        index = ClusterIndex(client, index_name, model, query_pruning=PRUNING)
        same = KnnClassifier(embedded).predict(texts) == KnnClassifier(index).predict(texts)
        print(f"{placement}: {same.mean():.4f} of {len(texts)} labels agree")
        assert same.mean() >= 0.998

        by_client = KnnClassifier(index, votes="uniform").vote_many(texts[:100])
        by_server = aggregate_votes(index, texts[:100])
        differing = sum(ours != pytest.approx(theirs) for ours, theirs in zip(by_client, by_server, strict=True))
        assert differing <= 2  # ties across the k-th place
