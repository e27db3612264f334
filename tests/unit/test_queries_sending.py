"""Batches, pages and errors of multi-searches, with a client that answers what it is told to."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

from cptw_queries import sending
from cptw_queries.bodies import search_body
from cptw_queries.expansion import expand
from cptw_queries.fitting import prune_to_fit, pruning_message
from cptw_queries.layout import read_fields
from cptw_queries.searching import SearchOptions, check_options
from cptw_queries.sending import TooManyClausesError, best_scores, fetch_documents, multi_search, raw_hits
from cptw_search import Cptw, Pruning
from cptw_search.errors import InvalidInputError, MissingIndexError, RejectedError


class Scripted:
    """A client with an answer for each search, and a record of what was sent."""

    def __init__(self, answer: Any) -> None:
        self.answer = answer
        self.sent: list[list[dict[str, Any]]] = []

    def send_lines(self, path: str, lines: bytes) -> dict[str, Any]:
        assert path == "/news/_msearch"
        parsed = [json.loads(line) for line in lines.splitlines()]
        assert all(header == {"allow_partial_search_results": False} for header in parsed[::2])
        self.sent.append(parsed[1::2])
        return {"responses": [self.answer(body) for body in parsed[1::2]]}

    def request(self, method: str, path: str, *, body: Any, params: Any) -> dict[str, Any]:
        return self.answer(body)


def ranked(body: dict[str, Any]) -> dict[str, Any]:
    """As many hits as are asked for, of a list of 25 000."""
    first = int(body["search_after"][1]) + 1 if "search_after" in body else 0
    last = min(25_000, first + body["size"])
    return {"hits": {"hits": [{"_id": f"{n:05}", "sort": [1.0, f"{n:05}"], "_score": 1.0} for n in range(first, last)]}}


def test_batches_are_bounded_by_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "BATCH_SEARCHES", 3)
    client = Scripted(lambda body: body)
    bodies = [{"size": n} for n in range(8)]
    assert list(multi_search(client, "news", bodies)) == bodies  # type: ignore[arg-type]
    assert [len(batch) for batch in client.sent] == [3, 3, 2]


def test_batches_are_bounded_by_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sending, "BATCH_BYTES", 200)
    client = Scripted(lambda body: body)
    bodies = [{"q": "x" * n} for n in (10, 10, 500, 10)]
    assert list(multi_search(client, "news", bodies)) == bodies  # type: ignore[arg-type]
    assert [len(batch) for batch in client.sent] == [2, 1, 1]


def test_batches_are_bounded_by_the_hits_that_are_asked_for() -> None:
    client = Scripted(lambda body: body)
    bodies = [{"size": n} for n in (4_000, 6_000, 1, 10_000, 50_000, 2)]
    assert list(multi_search(client, "news", bodies)) == bodies  # type: ignore[arg-type]
    assert [len(batch) for batch in client.sent] == [2, 1, 1, 1, 1]


def test_nothing_to_search_sends_nothing() -> None:
    client = Scripted(lambda body: body)
    assert list(multi_search(client, "news", [])) == []  # type: ignore[arg-type]
    assert client.sent == []


def test_what_is_no_json() -> None:
    with pytest.raises(InvalidInputError, match="A search must be JSON"):
        list(multi_search(Scripted(None), "news", [{"q": {1, 2}}]))  # type: ignore[arg-type]


def failed(status: int, kind: str, reason: str) -> dict[str, Any]:
    return {
        "error": {"type": kind, "reason": reason, "root_cause": [{"type": kind, "reason": reason}]},
        "status": status,
    }


@pytest.mark.parametrize(
    ("answer", "error", "message"),
    [
        (failed(404, "index_not_found_exception", "no such index"), MissingIndexError, "no index or alias 'news'"),
        (
            failed(400, "parsing_exception", "unknown query"),
            RejectedError,
            r"failed \(400\): parsing_exception: unknown",
        ),
        (failed(500, "too_many_clauses", "maxClauseCount is set to 77"), TooManyClausesError, "server takes: 77"),
        ({"error": "odd", "status": 503}, RejectedError, r"failed \(503\): odd"),
    ],
)
def test_a_search_that_failed(answer: dict[str, Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message) as caught:
        list(multi_search(Scripted(lambda body: answer), "news", [{}]))  # type: ignore[arg-type]
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)  # noqa: S301 - made here


DISCONNECTED = failed(
    500, "node_disconnected_exception", "[node-0][indices:data/read/search[phase/fetch/id]] disconnected"
)
NOT_CONNECTED = {
    "error": {
        "type": "search_phase_execution_exception",
        "reason": "",
        "phase": "fetch",
        "root_cause": [],
        "caused_by": {"type": "node_not_connected_exception", "reason": "[node-1][127.0.0.1:49827] Node not connected"},
    },
    "status": 500,
}


class Dying:
    """Answers every second search only after some tries: a node died with what it had taken up."""

    def __init__(self, n_losses: int, error: dict[str, Any]) -> None:
        self.n_losses = n_losses
        self.error = error

    def __call__(self, body: dict[str, Any]) -> dict[str, Any]:
        if body["n"] % 2 == 0 or self.n_losses <= 0:
            return body
        self.n_losses -= 1
        return self.error


@pytest.mark.parametrize("error", [DISCONNECTED, NOT_CONNECTED])
def test_a_node_that_dies_takes_no_search_along(error: dict[str, Any]) -> None:
    client = Scripted(Dying(3, error))
    bodies = [{"n": n} for n in range(5)]
    assert list(multi_search(client, "news", bodies)) == bodies  # type: ignore[arg-type]
    assert [[body["n"] for body in batch] for batch in client.sent] == [[0, 1, 2, 3, 4], [1, 3], [1]]


def test_searches_that_nodes_keep_dying_of_fail() -> None:
    client = Scripted(Dying(1_000, DISCONNECTED))
    with pytest.raises(RejectedError, match=r"failed \(500\): node_disconnected_exception") as caught:
        list(multi_search(client, "news", [{"n": 1}]))  # type: ignore[arg-type]
    assert caught.value.is_temporary
    assert len(client.sent) == 3


def test_other_failures_are_not_tried_again() -> None:
    client = Scripted(lambda body: failed(503, "search_phase_execution_exception", "all shards failed"))
    with pytest.raises(RejectedError, match="all shards failed"):
        list(multi_search(client, "news", [{}]))  # type: ignore[arg-type]
    assert len(client.sent) == 1


def test_answers_that_are_missing() -> None:
    client = Scripted(None)
    client.send_lines = lambda path, lines: {"responses": []}  # type: ignore[assignment,method-assign]
    with pytest.raises(RejectedError, match="answered 0 of 1 searches with POST /news/_msearch"):
        list(multi_search(client, "news", [{}]))  # type: ignore[arg-type]


@pytest.mark.parametrize("k", [1, 10_000, 10_001, 20_000, 24_999, 25_000, 30_000])
def test_more_hits_than_a_server_gives_come_in_pages(k: int) -> None:
    client = Scripted(ranked)
    (hits,) = raw_hits(client, "news", [search_body({}, k)])  # type: ignore[arg-type]
    assert [hit["_id"] for hit in hits] == [f"{n:05}" for n in range(min(k, 25_000))]
    assert all(body["size"] <= 10_000 for batch in client.sent for body in batch)


def test_pages_need_an_order_and_no_offset() -> None:
    client = Scripted(ranked)
    with pytest.raises(InvalidInputError, match="offset and k must add up to at most 10,000. Got 9999 and 2"):
        raw_hits(client, "news", [search_body({}, 2, offset=9_999)])  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match="k must be at most 10,000 where hits have no field"):
        raw_hits(client, "news", [search_body({}, 10_001, tie_field=None)])  # type: ignore[arg-type]


def test_best_scores() -> None:
    answers = iter([{"hits": {"hits": [{"_score": 2.5}]}}, {"hits": {"hits": []}}])
    assert best_scores(Scripted(lambda body: next(answers)), "news", [{}, {}]) == [2.5, 0.0]  # type: ignore[arg-type]


def test_documents_that_cannot_be_fetched() -> None:
    error = {"type": "index_not_found_exception", "reason": "no such index"}
    with pytest.raises(MissingIndexError, match="no index or alias 'news'"):
        fetch_documents(Scripted(lambda body: {"docs": [{"error": error}]}), "news", ["a"])  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            {"method": "tfidf"},
            "method must be one of 'cptw', 'bm25', 'hybrid', 'hybrid\\+feedback', 'rrf' on a cluster",
        ),
        ({"offset": 1.5}, "offset must be a whole number >= 0"),
        ({"offset": True}, "offset must be a whole number >= 0"),
        ({"offset": 1, "after": (0.5, "a")}, "offset must be left out with after"),
        ({"fields": "title"}, "fields must come as a list"),
        ({"min_score": float("nan")}, "min_score must be a finite number"),
        ({"scales": (0.0, 1.0)}, "scales must be two numbers > 0"),
        ({"scales": (1.0,)}, "scales must be two numbers > 0"),
    ],
)
def test_options_that_cannot_be_used(options: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        check_options(SearchOptions(**options))


@pytest.mark.parametrize("limit", [0, -1, 1.5, True])
def test_a_limit_is_a_whole_number(limit: object) -> None:
    with pytest.raises(InvalidInputError, match="limit must be a whole number >= 1"):
        prune_to_fit({"boat": 1.0}, limit)  # type: ignore[arg-type]


def test_of_many_queries_the_worst_is_told() -> None:
    pruned = [prune_to_fit({"a": 3.0, "b": 1.0}, 1), prune_to_fit({"a": 1.0, "b": 1.0, "c": 1.0}, 1)]
    assert pruning_message(pruned, 9, 1).startswith(
        "2 of 9 queries had more terms than the server takes in one request (1): at worst 2 of 3 terms, 66.7 % of"
    )


def test_importance_decides_what_stays() -> None:
    fitted = prune_to_fit({"the": 9.0, "boat": 1.0}, 1, importance={"the": 0.5, "boat": 1.5})
    assert (fitted.weights, fitted.dropped_share) == ({"boat": 1.0}, 0.25)
    assert prune_to_fit({"a": 0.0, "b": 0.0}, 1).dropped_share == 0.0


def test_expanded_queries_are_pruned_and_never_negative() -> None:
    model = Cptw(vectors=None, weighting="idf-equation", normalization="sum").fit(["a boat", "the boat", "a ship"])
    (query,) = expand(model, ["boat ship"], "both", Pruning(max_terms=1))
    assert list(query.weights) == ["ship"]
    assert query.counts == {"boat": 1.0, "ship": 1.0}
    assert query.importance["ship"] > query.importance["boat"]


def test_fields_that_can_be_filtered_on() -> None:
    mapping = {
        "properties": {
            "label": {"type": "keyword"},
            "cptw_id": {"type": "keyword"},
            "text": {"type": "text", "fields": {"raw": {"type": "keyword"}}},
            "author": {"properties": {"name": {"type": "keyword"}, "age": {"type": "long"}}},
            "hidden": {"type": "keyword", "index": False},
            "blob": {"type": "object", "enabled": False},
            "parts": {"type": "nested"},
        }
    }
    assert read_fields(mapping) == {
        "label": "keyword",
        "text.raw": "keyword",
        "author.name": "keyword",
        "author.age": "long",
    }
