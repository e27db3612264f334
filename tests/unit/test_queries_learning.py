"""Words that a query learns on a cluster: which requests are sent, and what is in them."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from contract import fitted
from garbage_server import garbage_server
from recorded_server import ALIAS, RecordedServer

from cptw_queries import ClusterIndex, ExistingIndex, QueryPrunedWarning
from cptw_queries.builders import bm25_query, rank_features_query
from cptw_queries.expansion import learn
from cptw_queries.learning import Learner
from cptw_queries.searching import SearchOptions, run_searches
from cptw_search import Cptw
from cptw_search.cluster import ClusterClient, connect
from cptw_search.errors import InvalidInputError
from cptw_search.pruning import Pruning

TEXTS = ["boat sea sea", "boat ship", "ship", "cat"]
CPTW = rank_features_query({"boat": 1.0})
BM25 = bm25_query({"boat": 1.0})
HALVES = {"cptw": CPTW, "bm25": BM25}
SPORT = {"term": {"label": "sport"}}


@pytest.fixture
def model() -> Cptw:
    return Cptw(vectors=None, analyzer="whitespace").fit(TEXTS)


class Rounds:
    """A client that answers each multi-search with what the round has for it, and a record of what was sent."""

    def __init__(self, *answers: list[list[tuple[float, str]]]) -> None:
        self._answers = list(answers)
        self.sent: list[list[dict[str, Any]]] = []

    def send_lines(self, path: str, lines: bytes) -> dict[str, Any]:
        self.sent.append([json.loads(line) for line in lines.splitlines()][1::2])
        found = self._answers.pop(0)
        assert len(found) == len(self.sent[-1])
        return {
            "responses": [
                {"hits": {"hits": [{"_score": score, "_source": {"text": text}} for score, text in hits]}}
                for hits in found
            ]
        }


def search(client: Rounds, model: Cptw, queries: list[dict[str, Any]], **options: Any) -> list[list[dict[str, Any]]]:
    given = SearchOptions(method="hybrid+feedback", **options)
    return run_searches(client, "news", queries, given, Learner(model, 1_024))  # type: ignore[arg-type]


def idf(model: Cptw, term: str) -> float:
    df = model.df_[list(model.vocabulary_).index(term)] if term in model.vocabulary_ else 1
    return math.log(1 + (len(TEXTS) - df + 0.5) / (df + 0.5))


def test_weights_are_the_formula_and_boosts_leave_the_idf_to_the_server(model: Cptw) -> None:
    average = sum(len(text.split()) for text in TEXTS) / len(TEXTS)
    expected: dict[str, float] = {}
    for text, trust in (("boat sea sea", 1.0), ("sea raft", 0.5**8)):  # nobody knows a raft
        words = text.split()
        saturated = {
            word: 2.2 * words.count(word) / (words.count(word) + 1.2 * (0.25 + 0.75 * len(words) / average))
            for word in words
        }
        weights = {word: weight * idf(model, word) for word, weight in saturated.items()}
        length = math.sqrt(sum(weight**2 for weight in weights.values()))
        for word, weight in weights.items():
            expected[word] = expected.get(word, 0.0) + trust * weight / length
    total = sum(expected.values())
    learned = learn(model, [{"text": "boat sea sea"}, {"text": "sea raft"}], [0.8, 0.4])
    assert learned.importance == pytest.approx({word: weight / total for word, weight in expected.items()})
    assert learned.boosts == pytest.approx(
        {word: weight / total / idf(model, word) for word, weight in expected.items()}
    )


@pytest.mark.parametrize("documents", [[], [{}], [{"text": ["boat"]}], [{"text": None, "label": "boat"}]])
def test_documents_without_a_text_teach_nothing(model: Cptw, documents: list[dict[str, object]]) -> None:
    assert learn(model, documents, [1.0] * len(documents)) == ({}, {})
    assert Learner(model, 1_024).learn(documents, [1.0] * len(documents)) is None


def test_a_title_teaches_words(model: Cptw) -> None:
    assert set(learn(model, [{"title": "sea", "text": "boat"}], [1.0]).boosts) == {"boat", "sea"}


@pytest.mark.parametrize(("limit", "n_terms"), [(1_024, 100), (300, 100), (299, 99), (9, 3), (2, 1)])
def test_learned_words_take_a_third_of_the_servers_limit_at_most(model: Cptw, limit: int, n_terms: int) -> None:
    assert Learner(model, limit).n_terms == n_terms


def test_words_that_have_no_room_are_the_lightest_and_told(model: Cptw) -> None:
    learner = Learner(model, 6)
    clause = learner.learn([{"text": "boat sea sea cat"}], [1.0])
    assert clause is not None
    assert [part["term"]["cptw_text"]["value"] for part in clause["bool"]["should"]] == ["cat", "sea"]
    (pruned,) = learner.pruned
    assert (pruned.n_terms, pruned.n_dropped) == (3, 1)
    assert 0 < pruned.dropped_share < 1 / 3


def test_the_requests_of_a_search(model: Cptw) -> None:
    client = Rounds(
        [[(0.5, "")], [(8.0, "")]],  # the best scores of the halves
        [[(0.9, "")], [(0.8, "boat sea sea"), (0.4, "boat ship")]],  # the best score of the query, and the teachers
        [[(2.5, "")]],  # the best score of the learned words
        [[(1.0, "found")]],
    )
    found = search(client, model, [HALVES], k=3, filters=[SPORT], fields=["label"], min_score=0.1, offset=2)
    assert [[hit["_source"]["text"] for hit in hits] for hits in found] == [["found"]]
    halves, (best_first, teachers), (best_learned,), final = client.sent
    assert [(body["size"], body["query"]["bool"]["filter"]) for body in halves] == [(1, [SPORT]), (1, [SPORT])]
    first, teaching = (
        {
            "bool": {
                "should": [
                    {"bool": {**CPTW["bool"], "boost": share / 0.5}},
                    {"bool": {**BM25["bool"], "boost": (1 - share) / 8.0}},
                ]
            }
        }
        for share in (0.3, 0.1)  # documents that teach have less of CPTW
    )
    assert teachers == {
        "query": {"bool": {"must": [teaching], "filter": [SPORT]}},
        "size": 10,
        "_source": {"includes": ["text", "title"], "excludes": ["cptw_*"]},
        "track_total_hits": False,
        "sort": ["_score", {"cptw_id": "asc"}],
    }
    learned = bm25_query(learn(model, [{"text": "boat sea sea"}, {"text": "boat ship"}], [0.8, 0.4]).boosts)
    assert [best_first, best_learned] == [
        {
            "query": {"bool": {"must": [clause], "filter": [SPORT]}},
            "size": 1,
            "_source": False,
            "stored_fields": "_none_",
            "track_total_hits": False,
        }
        for clause in (first, learned)
    ]
    both = [
        {"bool": {**first["bool"], "boost": pytest.approx(0.2 / 0.9)}},
        {"bool": {**learned["bool"], "boost": 0.8 / 2.5}},
    ]
    assert final == [
        {
            "query": {"bool": {"must": [{"bool": {"should": both}}], "filter": [SPORT]}},
            "size": 3,
            "from": 2,
            "min_score": 0.1,
            "_source": {"includes": ["label"], "excludes": ["cptw_*"]},
            "track_total_hits": False,
            "sort": ["_score", {"cptw_id": "asc"}],
        }
    ]


def test_many_queries_go_through_the_same_four_requests(model: Cptw) -> None:
    queries = [HALVES, {}, {"bm25": BM25}, HALVES, HALVES]  # the second has no words
    client = Rounds(
        [[(0.5, "")], [(8.0, "")], [(4.0, "")], [], [], [(0.5, "")], [(8.0, "")]],  # the fourth finds nothing
        # the fifth's documents are gone; the third's have no text
        [[(0.9, "")], [(0.7, "")], [], [(0.8, "boat")], [(0.7, "")], []],
        [[(2.5, "")]],
        [[(1.0, "one")], [(1.0, "three")]],
    )
    found = search(client, model, queries)
    assert [[hit["_source"]["text"] for hit in hits] for hits in found] == [["one"], [], ["three"], [], []]
    assert [len(requests) for requests in client.sent] == [7, 6, 1, 2]
    (untaught,) = client.sent[-1][1]["query"]["bool"]["should"]
    assert untaught["bool"]["boost"] == pytest.approx(0.2 / 0.7)


def test_given_scales_save_a_request(model: Cptw) -> None:
    client = Rounds([[(0.9, "")], [(0.8, "boat")]], [[(2.5, "")]], [[(1.0, "found")]])
    search(client, model, [HALVES], scales=(0.5, 8.0))
    assert len(client.sent) == 3


@contextmanager
def recorded(model: Cptw, max_clauses: int) -> Iterator[ClusterClient]:
    with garbage_server() as answers:
        server = RecordedServer(model)

        def every(request: tuple[str, str, object, bytes]) -> tuple[int, dict[str, str], object]:
            status, content = server.answer(request[0], request[1], request[3])
            return status, server.headers(), content

        answers.every = every
        with connect(answers.url, timeout=5) as client:
            client.max_clause_count = lambda: max_clauses  # type: ignore[method-assign]
            yield client


def test_an_index_that_was_there_before_refuses() -> None:
    model = fitted()
    with recorded(model, 1_024) as client:
        index = ExistingIndex(client, ALIAS, model)
        for ask in (
            lambda: index.search("ship", method="hybrid+feedback"),
            lambda: index.search_many([], method="tfidf"),
        ):
            with pytest.raises(
                InvalidInputError, match="method must be one of 'cptw', 'bm25', 'hybrid', 'rrf' on an index"
            ):
                ask()


def test_the_query_leaves_room_for_what_it_learns() -> None:
    model = fitted()
    query = " ".join(f"filler{number}" for number in range(1_000))
    with recorded(model, 1_024) as client:
        index = ClusterIndex(client, ALIAS, model, query_pruning=Pruning())
        for method, n_clauses in (("hybrid", 1_024), ("hybrid+feedback", 924)):
            (halves,) = index.build_queries([query], method=method)
            assert sum(len(half["bool"]["should"]) for half in halves.values()) == n_clauses


def test_by_default_a_query_has_800_terms_at_most() -> None:
    model = fitted()
    with recorded(model, 1_000_000) as client:
        index = ClusterIndex(client, ALIAS, model)
        query = " ".join(f"filler{number}" for number in range(1_000))
        (halves,) = index.build_queries([query], method="hybrid+feedback")
        assert {name: len(half["bool"]["should"]) for name, half in halves.items()} == {"cptw": 800, "bm25": 1_000}


def test_the_caller_is_told_of_learned_words_without_room() -> None:
    model = fitted()
    with recorded(model, 8) as client:
        index = ClusterIndex(client, ALIAS, model)
        assert [hit.id for hit in index.search("xk", method="hybrid")] == ["a", "c"]
        with pytest.warns(QueryPrunedWarning, match=r"in one request \(8\): 2 of 4 terms") as caught:
            assert [hit.id for hit in index.search("xk", method="hybrid+feedback")] == ["a", "c"]
        assert caught[0].filename == __file__
