"""Retries and accounts; the server here is a tiny one that answers what a test wants."""

import json
import threading
import time

import pytest
from garbage_server import garbage_server

from cptw_indexer.bodies import Action, Encoder, Rejection, deletion
from cptw_indexer.loader import BulkSender, Retries, StoppedError
from cptw_indexer.mapping import Layout, choose_field_type
from cptw_indexer.pipeline import Pipeline
from cptw_indexer.summary import LoadSummary, rejection_writer
from cptw_search import Cptw
from cptw_search.cluster import connect
from cptw_search.errors import (
    AccessDeniedError,
    ClusterConnectionError,
    InvalidInputError,
    RejectedError,
    UnknownNameError,
)
from cptw_search.pruning import Pruning

QUICK = Retries(give_up_after=0.3, first_pause=0.001, longest_pause=0.01)


class Bulk:
    """Answers bulk requests: by default all is well; ``statuses`` says otherwise for an id, once for each entry."""

    def __init__(self):
        self.statuses = {}
        self.requests = []
        self.whole = []  # (status, body) for whole requests to come

    def __call__(self, asked):
        lines = [json.loads(line) for line in asked[3].splitlines()]
        heads = [line for line in lines if len(line) == 1 and isinstance(next(iter(line.values())), dict)]
        self.requests.append([next(iter(head.values()))["_id"] for head in heads])
        if self.whole and (answer := self.whole.pop(0)) is not None:
            return answer
        items = []
        for head in heads:
            ((verb, about),) = head.items()
            queue = self.statuses.get(about["_id"])
            status = queue.pop(0) if queue else 200
            failed = (
                {} if status in (200, 201, 404) else {"error": {"type": "some_exception", "reason": f"so {status}"}}
            )
            items.append({verb: {"_id": about["_id"], "status": status, **failed}})
        return 200, {"errors": True, "items": items}


@pytest.fixture
def server():
    with garbage_server() as answers:
        answers.bulk = Bulk()
        answers.answer("/a/_bulk", 200, answers.bulk)
        yield answers


@pytest.fixture
def client(server):
    with connect(server.url) as client:
        yield client


def action(doc_id, verb="index", source=None):
    head = json.dumps({verb: {"_id": doc_id}})
    return Action(doc_id, f"{head}\n{json.dumps({'id': doc_id, 'cptw_id': doc_id, 'n': [1, 2]})}\n".encode())


def test_pauses_double_up_to_a_limit_and_differ():
    retries = Retries(first_pause=1.0, longest_pause=8.0)
    for n_failures, whole in [(1, 1), (2, 2), (3, 4), (4, 8), (5, 8), (5000, 8)]:
        pauses = {retries.pause(n_failures) for _ in range(20)}
        assert len(pauses) > 1
        assert all(whole / 2 <= pause <= whole for pause in pauses)


class TestSender:
    def test_all_is_well(self, client, server):
        sent = BulkSender(client, "a", max_actions=2).send(map(action, "abcde"))
        assert (sent.n_done, sent.rejections) == (5, [])
        assert server.bulk.requests == [["a", "b"], ["c", "d"], ["e"]]

    def test_entries_that_are_refused_for_now_are_sent_again_alone(self, client, server):
        server.bulk.statuses = {"b": [429, 503], "c": [429]}
        sent = BulkSender(client, "a", retries=QUICK).send(map(action, "abcd"))
        assert (sent.n_done, sent.rejections) == (4, [])
        assert server.bulk.requests == [["a", "b", "c", "d"], ["b", "c"], ["b"]]

    def test_entries_that_are_refused_are_collected(self, client, server):
        server.bulk.statuses = {"b": [400]}
        sent = BulkSender(client, "a", retries=QUICK).send(map(action, "abc"))
        assert sent.n_done == 2
        assert sent.rejections == [Rejection("b", "some_exception: so 400 (400)")]

    def test_a_login_that_may_not_write_rejects_no_documents(self, client, server):
        error = {"type": "security_exception", "reason": "unauthorized for [bob]"}
        server.bulk.whole = [(200, {"items": [{"index": {"_id": "a", "status": 403, "error": error}}]})]
        with pytest.raises(AccessDeniedError, match=r"may not write to a \(403\).*unauthorized for \[bob\]"):
            BulkSender(client, "a", retries=QUICK).send([action("a")])
        assert len(server.bulk.requests) == 1

    def test_other_documents_than_those_that_were_asked_for(self, client, server):
        server.bulk.whole = [(502, b"lost")]
        server.bulk.statuses = {"a": [409]}
        server.answer("/a/_mget", 200, {"docs": []})
        with pytest.raises(ClusterConnectionError, match="gave other documents than"):
            BulkSender(client, "a", retries=QUICK).send([action("a", "create")])

    @pytest.mark.parametrize(
        "answer",
        [
            (429, {"error": "busy"}),
            (503, b"<html>"),
            (200, b'{"items": [{"ind'),
            (200, {"items": []}),
            (200, {"nothing": 1}),
            (200, {"items": [{"index": {"_id": "x", "status": 200}}]}),
        ],
    )
    def test_requests_are_sent_again(self, client, server, answer):
        server.bulk.whole = [answer, answer]
        assert BulkSender(client, "a", retries=QUICK).send([action("a")]).n_done == 1
        assert len(server.bulk.requests) == 3

    def test_it_gives_up_in_time(self, client, server):
        server.bulk.whole = [(503, {"error": "still down"})] * 10_000
        began = time.monotonic()
        with pytest.raises(RejectedError, match="still down"):
            BulkSender(client, "a", retries=QUICK).send([action("a")])
        assert 0.3 <= time.monotonic() - began < 5
        server.bulk.whole = []
        server.bulk.statuses = {"a": [429] * 10_000}
        with pytest.raises(
            RejectedError, match=r"a takes no documents for now \(429\). It says: some_exception: so 429"
        ):
            BulkSender(client, "a", retries=QUICK).send([action("a")])

    def test_what_does_not_help_is_not_tried_again(self, client, server):
        server.bulk.whole = [(401, {"error": "no"})]
        with pytest.raises(AccessDeniedError, match="401"):
            BulkSender(client, "a", retries=QUICK).send([action("a")])
        assert len(server.bulk.requests) == 1

    def test_a_stopped_sender_stops(self, client, server):
        server.bulk.whole = [(503, b"")] * 10_000
        sender = BulkSender(client, "a", retries=Retries(give_up_after=60, first_pause=30))
        threading.Timer(0.1, sender.stop.set).start()
        with pytest.raises(StoppedError):
            sender.send([action("a")])
        with pytest.raises(StoppedError):
            sender.send([action("a")])

    def test_requests_that_are_too_large_are_halved(self, client, server):
        too_large = (413, b"")
        server.bulk.whole = [too_large, None, too_large, too_large, None]
        sent = BulkSender(client, "a", retries=QUICK).send(map(action, "abcd"))
        assert server.bulk.requests == [list("abcd"), list("ab"), list("cd"), ["c"], ["d"]]
        assert sent.n_done == 3
        assert [rejection.id for rejection in sent.rejections] == ["c"]

    def test_documents_over_the_limit_are_not_sent_at_all(self, client, server):
        server.answer("/_nodes/_all/http", 200, {"nodes": {"a": {"http": {"max_content_length_in_bytes": 100}}}})
        large = Action("b", b"x" * 101)
        sent = BulkSender(client, "a").send([action("a"), large, action("c")])
        assert (sent.n_done, [rejection.id for rejection in sent.rejections]) == (2, ["b"])
        assert "101 bytes; the server takes 100 or less (413)" in sent.rejections[0].reason
        assert server.bulk.requests == [["a"], ["c"]]

    def test_additions_and_deletions(self, client, server):
        server.bulk.statuses = {"a": [409], "b": [404]}
        sender = BulkSender(client, "a", retries=QUICK)
        sent = sender.send([action("a", "create")])
        assert sent.rejections == [
            Rejection("a", "There is a document with this id already: use update to replace it (409)")
        ]
        sent = sender.send(map(deletion, "bc"))
        assert (sent.n_done, sent.n_missing, sent.rejections) == (1, 1, [])

    def test_an_addition_whose_answer_was_lost_is_found_again(self, client, server):
        server.bulk.whole = [(200, b"{")]
        server.bulk.statuses = {"a": [409], "b": [409]}
        mine, other = {"id": "a", "n": [1, 2]}, {"id": "b", "n": 3}
        docs = [{"_id": "a", "found": True, "_source": mine}, {"_id": "b", "found": True, "_source": other}]
        server.answer("/a/_mget", 200, {"docs": docs})
        sent = BulkSender(client, "a", retries=QUICK).send([action("a", "create"), action("b", "create")])
        assert sent.n_done == 1
        assert [rejection.id for rejection in sent.rejections] == ["b"]

    def test_an_addition_that_a_lost_shard_had_passed_on_is_found_again(self, client, server):
        server.bulk.statuses = {"a": [503, 409]}
        server.answer("/a/_mget", 200, {"docs": [{"_id": "a", "found": True, "_source": {"id": "a", "n": [1, 2]}}]})
        sent = BulkSender(client, "a", retries=QUICK).send([action("a", "create"), action("b", "create")])
        assert (sent.n_done, sent.rejections) == (2, [])
        assert server.bulk.requests == [["a", "b"], ["a"]]


class TestPipeline:
    @pytest.fixture
    def encoder(self):
        return Encoder(Cptw(vectors=None).fit(["a boat", "the ship"]), Layout())

    @pytest.mark.parametrize("n_processes", [1, 2])
    def test_the_numbers_add_up(self, client, server, encoder, n_processes):
        server.bulk.statuses = {"17": [400], "18": [429]}
        documents = [{"id": n, "text": "a boat"} for n in range(1_200)]
        documents += [
            {"id": 3, "text": "again"},
            {"text": "no id"},
            {"id": "x"},
            {"id": "y", "text": "b", "cptw_z": 1},
            7,
        ]
        told, seen = [], []
        pipeline = Pipeline(encoder, BulkSender(client, "a", retries=QUICK), n_processes)
        pipeline.advance, pipeline.on_rejection = told.append, seen.append
        pipeline.run(iter(documents))
        assert (pipeline.n_read, pipeline.sent.n_done, len(pipeline.sent.rejections)) == (1205, 1199, 6)
        assert sum(told) == 1205
        assert seen == pipeline.sent.rejections
        reasons = dict(pipeline.sent.rejections)
        assert sorted(reasons) == ["17", "3", "document 1201", "document 1204", "x", "y"]
        assert "must have an 'id'" in reasons["document 1201"]
        assert "must be a mapping of fields or a text. Got int" in reasons["document 1204"]
        assert "A document must have a text in one of the fields 'text', 'title'. Got none there" in reasons["x"]
        assert "does not begin with 'cptw_', which is reserved. Got 'cptw_z'" in reasons["y"]
        assert "An earlier document of the same input has this one, too" in reasons["3"]

    def test_what_is_there_is_skipped(self, client, server, encoder):
        pipeline = Pipeline(encoder, BulkSender(client, "a"), existing=lambda ids: set(ids) & {"0", "1"})
        pipeline.run(["a", "b", "c", {"id": 0, "text": "twice"}])
        assert (pipeline.n_read, pipeline.n_skipped, pipeline.sent.n_done) == (4, 2, 1)
        assert [rejection.id for rejection in pipeline.sent.rejections] == ["0"]
        assert server.bulk.requests == [["2"]]

    def test_a_failure_ends_all_and_the_account_is_right(self, client, server, encoder):
        server.bulk.whole = [None, None, *[(503, b"")] * 10_000]
        pipeline = Pipeline(encoder, BulkSender(client, "a", retries=QUICK))
        with pytest.raises(RejectedError, match="503"):
            pipeline.run(f"text {n}" for n in range(100_000))
        assert pipeline.sent.n_done == 1_000
        assert pipeline.n_read < 10_000

    def test_an_input_that_fails_fails(self, client, encoder):
        def documents():
            yield "a text"
            raise KeyError("input")

        with pytest.raises(KeyError, match="input"):
            Pipeline(encoder, BulkSender(client, "a")).run(documents())


@pytest.mark.parametrize("value", [float("nan"), {1, 2}, "\ud800", object()])
def test_what_json_cannot_hold_is_rejected(value):
    encoded = Encoder(Cptw(vectors=None).fit(["a boat"]), Layout()).encode([(0, {"id": "a", "text": "b", "x": value})])
    assert encoded.actions == []
    assert encoded.rejections[0].id == "a"
    assert "A document must be something that JSON can hold" in encoded.rejections[0].reason


class TestLayout:
    def test_field_types(self):
        both = frozenset({"rank_features", "sparse_vector"})
        assert choose_field_type("auto", both) == "rank_features"
        assert choose_field_type("sparse_vector", both) == "sparse_vector"
        assert choose_field_type("none", frozenset()) == "none"
        with pytest.raises(InvalidInputError, match="Got 'rank_features'; the server has sparse_vector"):
            choose_field_type("rank_features", frozenset({"sparse_vector"}))
        with pytest.raises(InvalidInputError, match="the server has neither"):
            choose_field_type("auto", frozenset())
        with pytest.raises(UnknownNameError, match="field_type must be one of 'auto', 'rank_features'"):
            choose_field_type("dense", both)

    def test_pruning_needs_propagated_documents(self):
        with pytest.raises(InvalidInputError, match="pruning must be left out with placement 'query'"):
            Layout("query", pruning=Pruning(max_terms=3))
        with pytest.raises(UnknownNameError, match="placement must be one of"):
            Layout("nowhere")


def test_the_file_of_rejections(tmp_path):
    file = tmp_path / "rejected.jsonl"
    with rejection_writer(file) as write:
        write(Rejection("ü", "why"))
        write(Rejection("\ud800", "why not"))
        assert json.loads(file.read_text().splitlines()[0]) == {"id": "ü", "reason": "why"}  # at once
    assert len(file.read_text().splitlines()) == 2
    with rejection_writer(None) as write:
        write(Rejection("a", "b"))
    with (
        pytest.raises(InvalidInputError, match="rejected_file .* cannot be written: Is a directory"),
        rejection_writer(tmp_path),
    ):
        pass


def test_the_rate():
    assert LoadSummary(10, 8, 2, [], "a", 4.0).rate == 2.0
    assert LoadSummary(0, 0, 0, [], "a", 0.0).rate == 0.0


def test_retries_around_any_work():
    failures = [ClusterConnectionError("gone", is_temporary=True)] * 2

    def work():
        if failures:
            raise failures.pop()
        return 7

    assert QUICK.run(work) == 7
