"""A cluster of three nodes loses one, during a load and during searches."""

import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from cluster_faults import MODEL, count, documents, ids, indexer, served, stored_ids
from servers.kinds import ELASTICSEARCH_7

from cptw_indexer import Retries
from cptw_queries import ClusterIndex
from cptw_search.cluster import connect, make_path

pytestmark = pytest.mark.servers

N_DOCS = 6_000
PATIENT = Retries(give_up_after=600, first_pause=0.1, longest_pause=1.0)


def master_of(client, nodes):
    (node,) = client.request("GET", "/_cat/master", params={"format": "json"})
    return nodes[int(node["node"].removeprefix("node-"))]


def test_no_document_is_lost_and_searches_are_answered(own_cluster):
    nodes = own_cluster(ELASTICSEARCH_7, size=3)
    with connect(",".join(node.url for node in nodes), timeout=60) as client:
        master = master_of(client, nodes)
        at_once = {
            "index.unassigned.node_left.delayed_timeout": "0s"
        }  # a server waits a minute for a node to come back
        template = {"index_patterns": ["news-*"], "template": {"settings": at_once}}
        client.request("PUT", "/_index_template/at_once", body=template)

        def with_a_loss():
            for document in documents(N_DOCS):
                if document["id"] == N_DOCS // 2:
                    # what was not copied yet is lost with its node, whoever loads: all copies have to be there
                    copied = {"wait_for_status": "green", "timeout": "60s"}
                    health = client.request("GET", make_path("_cluster", "health"), params=copied, timeout=90)
                    assert not health["timed_out"]
                    master.kill()
                yield document

        work = indexer(client, "news", n_shards=3, n_replicas=1, n_replicas_loading=1, retries=PATIENT)
        summary = work.load(with_a_loss())
        assert (summary.n_indexed, summary.n_rejected) == (N_DOCS, 0)
        assert served(client, "news") == summary.index
        assert count(client, "news") == N_DOCS
        assert stored_ids(client, "news") == ids(N_DOCS)

        master.start()
        green = {"wait_for_status": "green", "wait_for_nodes": 3, "timeout": "120s"}
        health = client.request("GET", make_path("_cluster", "health"), params=green, timeout=150)
        assert not health["timed_out"]

        index = ClusterIndex(client, "news", MODEL)
        expected = [(hit.id, hit.score) for hit in index.search("boat 3", k=50, method="cptw")]
        assert len(expected) == 50
        lost = next(node for node in nodes if node is not master)
        is_lost = threading.Event()
        killer = threading.Timer(1.0, lambda: (lost.kill(), is_lost.set()))

        def search_on(_):
            n_before = n_after = 0
            deadline = time.monotonic() + 120
            while n_after < 25 and time.monotonic() < deadline:
                n_after += is_lost.is_set()
                n_before += not is_lost.is_set()
                assert [(hit.id, hit.score) for hit in index.search("boat 3", k=50, method="cptw")] == expected
                assert index.count() == N_DOCS
            return n_before, n_after

        killer.start()
        # Several at once: then it is sure that the node dies with searches that it has taken up.
        with ThreadPoolExecutor(4) as pool:
            n_searches = list(pool.map(search_on, range(4)))
        killer.join()
        assert all(n_before > 0 and n_after == 25 for n_before, n_after in n_searches)
