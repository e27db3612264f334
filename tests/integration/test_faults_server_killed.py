"""The server dies in the middle of a load: with SIGKILL, as in a power cut; what the client then has, and later gets."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster_faults import count, documents, ids, indexer, served, stored_ids

from cptw_indexer import Retries
from cptw_search.cluster import connect
from cptw_search.errors import ClusterConnectionError, LoadError

pytestmark = pytest.mark.servers

N_DOCS = 20_000
MIDDLE = 8_000
PATIENT = Retries(give_up_after=600, first_pause=0.1, longest_pause=1.0)


@pytest.fixture
def client(killable_server):
    with connect(killable_server.url) as client:
        yield client


@pytest.fixture
def name(request, killable_server):
    return f"cptw-test-{abs(hash(request.node.name))}"  # the server and all that is on it go away together


def with_a_kill(server, then=lambda: None):
    """Documents, in the midst of which the server is killed while requests are on their way."""
    for document in documents(N_DOCS):
        if document["id"] == MIDDLE:
            server.kill()
            then()
        yield document


def test_it_comes_back_and_every_document_is_there_once(killable_server, client, name):
    with ThreadPoolExecutor() as pool:
        is_killed = threading.Event()

        def come_back():
            assert is_killed.wait(300)
            return killable_server.start()

        start = pool.submit(come_back)
        summary = indexer(client, name, retries=PATIENT).load(with_a_kill(killable_server, is_killed.set))
        assert start.result() > 0
    assert (summary.n_read, summary.n_indexed, summary.n_rejected) == (N_DOCS, N_DOCS, 0)
    assert served(client, name) == summary.index
    assert count(client, name) == N_DOCS
    assert stored_ids(client, name) == ids(N_DOCS)


def test_it_does_not_come_back_in_time_and_the_load_is_resumed_later(killable_server, client, name):
    old = indexer(client, name).load(documents(10))
    impatient = indexer(client, name, retries=Retries(give_up_after=3, first_pause=0.1, longest_pause=1.0))
    began = time.monotonic()
    with pytest.raises(
        LoadError, match=r"So far [\d,]+ documents are in .* load the same documents with resume"
    ) as caught:
        impatient.load(with_a_kill(killable_server))
    assert time.monotonic() - began < 120
    n_so_far = caught.value.n_indexed
    assert 0 < n_so_far <= MIDDLE
    assert f"So far {n_so_far:,} documents are in {caught.value.index}" in str(caught.value)
    with pytest.raises(ClusterConnectionError, match="cannot be reached"):
        count(client, name)

    killable_server.start()
    patient = indexer(client, name, retries=PATIENT)
    PATIENT.run(lambda: stored_ids(client, name))  # its shards come back one by one
    assert served(client, name) == old.index
    assert stored_ids(client, name) == ids(10)

    summary = patient.load(documents(N_DOCS), resume=True)
    assert summary.index == caught.value.index
    assert summary.n_skipped >= n_so_far  # what was acknowledged was not lost
    assert summary.n_read == summary.n_indexed + summary.n_skipped == N_DOCS
    assert served(client, name) == summary.index
    assert count(client, name) == N_DOCS
    assert stored_ids(client, name) == ids(N_DOCS)
