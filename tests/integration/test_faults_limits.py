"""Limits of the server (disk, size of a request), and what time must not decide: refreshes and the client's clock."""

import time

import pytest
from cluster_faults import MODEL, documents, ids, indexer, served, stored_ids
from servers.kinds import ELASTICSEARCH_7

from cptw_indexer import Retries, aliases
from cptw_queries import ClusterIndex
from cptw_search.cluster import connect, make_path
from cptw_search.errors import LoadError

pytestmark = pytest.mark.servers

BLOCK = "index.blocks.read_only_allow_delete"
DISK = "cluster.routing.allocation.disk"
WATERMARKS = tuple(f"{DISK}.watermark.{level}" for level in ("low", "high", "flood_stage"))
SECONDS = 240


def wait_until(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.1)


@pytest.fixture(scope="module")
def small_server(own_server_of_module):
    """A server with a small limit of its own, which looks at its disk as often as it can be told to."""
    settings = {
        "http.max_content_length": "1mb",
        "cluster.info.update.interval": "10s",
        f"{DISK}.threshold_enabled": True,
        **dict.fromkeys(WATERMARKS, "1b"),
    }
    server = own_server_of_module(ELASTICSEARCH_7, settings)
    server.start()
    return server


@pytest.fixture
def small(small_server):
    with connect(small_server.url) as client:
        yield client


@pytest.fixture
def client(elasticsearch7):
    with connect(elasticsearch7.url) as client:
        yield client


def set_watermarks(client, free):
    """Say how much of the disk has to be free."""
    body = {"persistent": dict.fromkeys(WATERMARKS, free)}
    client.request("PUT", "/_cluster/settings", body=body)


def is_read_only(client, name):
    described = client.request("GET", make_path(name, "_settings"), params={"flat_settings": True})
    return all(of["settings"].get(BLOCK) == "true" for of in described.values())


def test_a_full_disk_ends_an_impatient_load_and_is_waited_for_by_a_patient_one(small, monkeypatch):
    """The server's own watermark, which no disk can keep, makes its indices read-only."""
    impatient = indexer(small, "disk", retries=Retries(give_up_after=1, first_pause=0.1, longest_pause=0.2))
    patient = indexer(small, "disk", retries=Retries(give_up_after=SECONDS, first_pause=0.1, longest_pause=1.0))
    old = impatient.load(documents(10))

    def on_a_full_disk():
        yield from documents(1_000)
        set_watermarks(small, "1pb")
        wait_until(lambda: is_read_only(small, "disk*"))
        yield from documents(1_000, first=1_000)

    with pytest.raises(LoadError, match=r"\(429\).*disk usage exceeded flood-stage watermark.*So far") as caught:
        impatient.load(on_a_full_disk())
    assert served(small, "disk") == old.index
    assert [hit.id for hit in ClusterIndex(small, "disk", MODEL).search("boat 3", k=1, method="cptw")] == ["3"]

    n_refused = 0
    send_lines = small.send_lines

    def make_room(*arguments, **options):
        nonlocal n_refused
        answer = send_lines(*arguments, **options)
        n_refused += sum(item["index"]["status"] == 429 for item in answer["items"])
        if n_refused:
            set_watermarks(small, "1b")
        return answer

    monkeypatch.setattr(small, "send_lines", make_room)
    summary = patient.load(documents(2_000), resume=True)
    assert n_refused > 0
    assert summary.index == caught.value.index
    assert summary.n_skipped >= caught.value.n_indexed
    assert (summary.n_indexed + summary.n_skipped, summary.n_rejected) == (2_000, 0)
    assert served(small, "disk") == summary.index
    assert stored_ids(small, "disk") == ids(2_000)


def test_requests_stay_below_the_limit_and_a_document_over_it_is_told(small):
    given = [{"id": n, "text": "boat " + f"w{n}x{'y' * 100} " * 3_000} for n in range(9)]
    given.insert(4, {"id": "large", "text": "boat " + "z" * 1_100_000})
    assert small.max_content_length() == 1024**2
    summary = indexer(small, "limits").load(given)
    assert (summary.n_indexed, summary.n_rejected) == (9, 1)
    assert summary.rejected[0].id == "large"
    assert "bytes; the server takes 1,048,576 or less (413)" in summary.rejected[0].reason
    assert stored_ids(small, "limits") == ids(9)


def test_many_searches_stay_below_the_limit(small):
    indexer(small, "searches").load(documents(10))
    index = ClusterIndex(small, "searches", MODEL)
    queries = [" ".join(f"w{number}x{n}{'y' * 40}" for n in range(400)) + " boat" for number in range(60)]
    assert [len(hits) for hits in index.search_many(queries, 20, method="cptw")] == [10] * 60


@pytest.mark.parametrize("interval", ["-1", "1h"])
def test_nothing_waits_for_a_refresh(client, index_name, interval):
    work = indexer(client, index_name)
    work.load(documents(5))
    setting = {"index": {"refresh_interval": interval}}
    client.request("PUT", make_path(index_name, "_settings"), body=setting)
    assert work.add(documents(5, first=5)).n_indexed == 5
    index = ClusterIndex(client, index_name, MODEL)
    assert index.count() == len(index.search("boat", k=100, method="cptw")) == 10
    assert work.delete([0]) == 1
    assert index.count() == 9
    work.load(documents(20))
    assert index.count() == len(index.search("boat", k=100, method="cptw")) == 20


def test_a_clock_that_jumps_changes_nothing(client, index_name, monkeypatch):
    work = indexer(client, index_name)
    loaded = []
    for year in (2030, 1995, 2020, 2020):  # as after a dead battery, or on another machine
        monkeypatch.setattr(aliases.time, "time", lambda year=year: (year - 1970) * 365.25 * 86_400)
        loaded.append(work.load(documents(3)).index)
    assert len(set(loaded)) == 4
    assert [record.index for record in work.history()] == loaded[::-1]

    monkeypatch.setattr(aliases.time, "time", lambda: 0.0)

    def fails():
        yield from documents(1_500)
        raise KeyError("the input")

    with pytest.raises(KeyError):
        work.load(fails())
    assert served(client, index_name) == loaded[-1]
    summary = work.load(documents(1_600), resume=True)
    assert summary.n_skipped > 0  # the unfinished one was found, though its clock was behind
    assert stored_ids(client, index_name) == ids(1_600)
    assert work.prune_old(1) == loaded[2::-1]  # the newest of the old ones is kept
    assert [record.index for record in work.history()] == [summary.index, loaded[3]]
