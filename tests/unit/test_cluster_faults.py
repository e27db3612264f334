"""Answers that must not be half believed; the server here is a tiny one that answers what a test wants."""

import json

import pytest
from garbage_server import garbage_server

from cptw_indexer import Retries, aliases
from cptw_indexer.aliases import current_index, new_index_name, swap
from cptw_indexer.bodies import Action
from cptw_indexer.loader import BulkSender, read_documents
from cptw_queries.sending import multi_search
from cptw_search.cluster import connect
from cptw_search.cluster_answers import read_part
from cptw_search.errors import ClusterConnectionError, InvalidInputError, RejectedError

QUICK = Retries(give_up_after=5, first_pause=0.001, longest_pause=0.01)


@pytest.fixture
def server():
    with garbage_server() as answers:
        yield answers


@pytest.fixture
def client(server):
    with connect(server.url) as client:
        yield client


def in_turn(*answers):
    left = list(answers)
    return lambda _asked: left.pop(0)


@pytest.mark.parametrize(
    ("answer", "kind", "names"),
    [
        ({}, list, ["hits"]),
        ([], dict, []),
        ({"hits": []}, list, ["hits", "hits"]),
        ({"count": "3"}, int, ["count"]),
        ({"count": True}, int, ["count"]),
        ({"found": 1}, bool, ["found"]),
        (None, dict, []),
    ],
)
def test_a_part_that_is_not_there(answer, kind, names):
    with pytest.raises(ClusterConnectionError, match="The server's answer must") as caught:
        read_part(answer, kind, *names)
    assert caught.value.is_temporary


def test_nothing_is_tried_twice_by_the_client(client, server):
    server.answer("/a", 503, {"error": "busy"})
    with pytest.raises(RejectedError, match="busy"):
        client.request("PUT", "/a")
    assert [asked[1] for asked in server.asked] == ["/", "/a"]


def test_an_addition_that_a_gateway_lost_the_answer_to_is_found_again(client, server):
    refused = {"items": [{"create": {"_id": "a", "status": 409, "error": {"type": "version_conflict"}}}]}
    server.answer("/i/_bulk", 200, in_turn((504, b"<h1>Gateway Time-out</h1>"), (200, refused)))
    # The shard is on its way at first: no reason to call the document rejected.
    missing = {"docs": [{"_id": "a", "error": {"type": "no_shard_available_action_exception"}}]}
    there = {"docs": [{"_id": "a", "found": True, "_source": {"id": "a"}}]}
    server.answer("/i/_mget", 200, in_turn((200, missing), (200, there)))
    action = Action("a", b'{"create":{"_id":"a"}}\n{"id":"a"}\n')
    sent = BulkSender(client, "i", retries=QUICK).send([action])
    assert (sent.n_done, sent.rejections) == (1, [])


@pytest.mark.parametrize("item", [{}, {"index": {"_id": "a"}}, {"index": 3}, 7, {"index": {"_id": "b", "status": 200}}])
def test_an_entry_that_says_nothing_is_sent_again(client, server, item):
    done = {"items": [{"index": {"_id": "a", "status": 200}}]}
    server.answer("/i/_bulk", 200, in_turn((200, {"items": [item]}), (200, done)))
    assert BulkSender(client, "i", retries=QUICK).send([Action("a", b"{}\n{}\n")]).n_done == 1


def test_documents_that_a_shard_does_not_give():
    with pytest.raises(ClusterConnectionError, match="'found'"):
        read_documents({"docs": [{"_id": "a", "error": "no shard"}]})


class TestAlias:
    MISSING = (404, {"error": "alias [news] missing", "status": 404})

    def test_one_that_is_made_between_two_looks_is_no_index(self, client, server):
        made = (200, {"news-1": {"aliases": {"news": {}}}})
        server.answer("/_alias/news", 200, in_turn(self.MISSING, made))
        server.answer("/news", 200, {})
        assert current_index(client, "news") == "news-1"

    def test_an_index_of_that_name_is_refused(self, client, server):
        server.answer("/_alias/news", 404, self.MISSING[1])
        server.answer("/news", 200, {})
        with pytest.raises(InvalidInputError, match="It is an index"):
            current_index(client, "news")

    def test_a_move_that_was_sent_twice_on_the_way_is_made(self, client, server):
        before, after = ({index: {"aliases": {"news": {}}}} for index in ("old", "new"))
        server.answer("/_alias/news", 200, in_turn((200, before), (200, after)))
        server.answer("/_aliases", 404, {"error": {"type": "resource_not_found_exception", "reason": "no alias"}})
        swap(client, "news", "old", "new", QUICK)

    @pytest.mark.parametrize("answer", [{}, {"acknowledged": False}, []])
    def test_a_move_that_is_not_acknowledged_is_looked_at(self, client, server, answer):
        looks = [(200, {index: {"aliases": {"news": {}}}}) for index in ("old", "old", "new")]
        server.answer("/_alias/news", 200, in_turn(*looks))
        server.answer("/_aliases", 200, answer)
        swap(client, "news", "old", "new", QUICK)
        assert [asked[1] for asked in server.asked].count("/_aliases") == 2


def test_new_indices_sort_behind_the_newest_whatever_the_clock_says(monkeypatch):
    created = ""
    for now in (2e9, 1e9, 0.0, 1.5e9, 2.1e9):
        monkeypatch.setattr(aliases.time, "time", lambda now=now: now)
        before, (name, created) = created, new_index_name("news", created)
        assert created > before
        assert name.startswith("news-20" if now < 1 else "news-")
    assert created == "2036-07-18T13:20:00.000000Z"
    for odd in ("yesterday", "9999-12-31T23:59:59.999999Z"):
        assert new_index_name("news", odd)[1] == created


def test_searches_that_are_too_many_bytes_are_halved(client, server):
    def answer(asked):
        bodies = [json.loads(line) for line in asked[3].splitlines()][1::2]
        return (413, b"") if len(bodies) > 2 else (200, {"responses": bodies})

    server.answer("/news/_msearch", 200, answer)
    bodies = [{"size": n} for n in range(7)]
    assert list(multi_search(client, "news", bodies)) == bodies
    server.answer("/news/_msearch", 413, b"")
    with pytest.raises(RejectedError, match="413"):
        list(multi_search(client, "news", bodies))
