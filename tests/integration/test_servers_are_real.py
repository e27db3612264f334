"""What the product relies on, seen on real servers by the vendors' own clients."""

import os
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path

import elasticsearch
import opensearchpy
import pytest
from command_line import hear_control_c
from servers.kinds import ELASTICSEARCH_7

pytestmark = pytest.mark.servers

REFUSED = (elasticsearch.BadRequestError, opensearchpy.exceptions.RequestError)
RANK_FEATURES = {"properties": {"terms": {"type": "rank_features"}}}
SPARSE_VECTOR = {"properties": {"terms": {"type": "sparse_vector"}}}

START_AND_SLEEP = """
import sys, time
sys.path.insert(0, sys.argv[1])
from servers.kinds import ELASTICSEARCH_7
from servers.process import LocalServer
server = LocalServer(ELASTICSEARCH_7)
server.launch()
print(server.process_group, server.home, flush=True)
time.sleep(600)
"""


def weighted(term: str, weight: float) -> dict:
    """A clause that scores weight * stored value."""
    return {"rank_feature": {"field": f"terms.{term}", "linear": {}, "boost": weight}}


def scores(client, index: str, query: dict) -> dict[str, float]:
    hits = client.search(index=index, body={"query": query, "size": 100})["hits"]["hits"]
    return {hit["_id"]: hit["_score"] for hit in hits}


def is_running(process_group: int) -> bool:
    try:
        os.killpg(process_group, 0)
    except ProcessLookupError:
        return False
    return True


class TestRankFeatures:
    @pytest.fixture
    def client(self, rank_features_server, index_name):
        with rank_features_server.client() as client:
            client.indices.create(index=index_name, body={"mappings": RANK_FEATURES})
            yield client

    @pytest.mark.parametrize("value", [0, -1, 1e-38])
    def test_refuses_what_is_not_a_positive_normal_float(self, client, index_name, value):
        with pytest.raises(REFUSED, match="parsing_exception"):
            client.index(index=index_name, body={"terms": {"boat": value}})

    def test_scores_weight_times_value_of_nine_bits(self, client, index_name):
        values = {"a": 0.75, "b": 1 / 3, "c": 0.001, "d": 123.456}
        for doc_id, value in values.items():
            client.index(index=index_name, id=doc_id, body={"terms": {"boat": value}})
        client.indices.refresh(index=index_name)
        found = scores(client, index_name, weighted("boat", 2.0))
        assert found["a"] == 1.5  # 0.75 needs no more than nine bits
        assert found == pytest.approx({doc_id: 2 * value for doc_id, value in values.items()}, rel=2**-8)
        assert all(found[doc_id] <= 2 * value * (1 + 1e-6) for doc_id, value in values.items())  # cut off, not rounded

    def test_adds_up_the_clauses(self, client, index_name):
        client.index(index=index_name, id="both", body={"terms": {"boat": 0.5, "ship": 0.25}}, refresh=True)
        query = {"bool": {"should": [weighted("boat", 1.0), weighted("ship", 2.0), weighted("absent", 3.0)]}}
        assert scores(client, index_name, query) == {"both": 1.0}

    def test_refuses_a_term_query(self, client, index_name):
        with pytest.raises(REFUSED, match=r"Queries on \[rank_features\] fields are not supported"):
            client.search(index=index_name, body={"query": {"term": {"terms": "boat"}}})

    def test_takes_1024_clauses_and_no_more(self, client, index_name, rank_features_server):
        if rank_features_server.version.startswith(("8.", "9.")):
            pytest.skip("Elasticsearch 8 and later derive the limit from the heap")
        clauses = [weighted(f"t{number}", 1.0) for number in range(1025)]
        assert scores(client, index_name, {"bool": {"should": clauses[:1024]}}) == {}
        with pytest.raises(REFUSED, match="maxClauseCount is set to 1024"):
            client.search(index=index_name, body={"query": {"bool": {"should": clauses}}})


class TestSparseVector:
    @pytest.fixture
    def client(self, elasticsearch9, index_name):
        with elasticsearch9.client() as client:
            client.indices.create(index=index_name, mappings=SPARSE_VECTOR)
            yield client

    def test_unpruned_scores_weight_times_value(self, client, index_name):
        client.index(
            index=index_name, id="1", document={"terms": {"boat": 0.5, "ship": 0.25, "v1.5": 1.0}}, refresh=True
        )
        weights = {"boat": 1.0, "ship": 2.0, "v1.5": 4.0, "absent": 1.0}
        query = {"sparse_vector": {"field": "terms", "query_vector": weights, "prune": False}}
        assert scores(client, index_name, query) == {"1": 5.0}

    def test_takes_5000_terms(self, client, index_name):
        client.index(index=index_name, id="1", document={"terms": {"t4999": 0.5}}, refresh=True)
        weights = {f"t{number}": 1.0 for number in range(5000)}
        query = {"sparse_vector": {"field": "terms", "query_vector": weights, "prune": False}}
        assert scores(client, index_name, query) == {"1": 0.5}


class TestOwnServers:
    def test_what_was_acknowledged_survives_a_kill(self, own_server, index_name):
        server = own_server(ELASTICSEARCH_7)
        server.start()
        with closing(server.client()) as client:
            acknowledged = [client.index(index=index_name, document={"n": n})["_id"] for n in range(200)]
            server.kill()
            assert not server.is_running()
            with pytest.raises(elasticsearch.ConnectionError):
                client.count(index=index_name)
            server.start()
            client.cluster.health(index=index_name, wait_for_status="yellow")
            client.indices.refresh(index=index_name)
            found = client.search(index=index_name, size=1000, source=False)["hits"]["hits"]
        assert sorted(hit["_id"] for hit in found) == sorted(acknowledged)

    def test_three_nodes_form_a_cluster(self, own_cluster):
        first, second, third = own_cluster(ELASTICSEARCH_7, size=3)
        with closing(first.client()) as client:
            assert client.cluster.health()["number_of_nodes"] == 3
        third.kill()
        with closing(second.client()) as client:
            health = client.cluster.health(wait_for_nodes="2", timeout="60s")
        assert (health["number_of_nodes"], health["timed_out"]) == (2, False)

    @pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
    def test_no_server_outlives_who_started_it(self, own_server, number):
        own_server(ELASTICSEARCH_7)  # skips where the machine has no Java or Maven
        tests = Path(__file__).parents[1]
        command = [sys.executable, "-c", START_AND_SLEEP, tests]
        with subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, preexec_fn=hear_control_c
        ) as starter:
            group, home = starter.stdout.readline().split()
            assert is_running(int(group))
            starter.send_signal(number)
        deadline = time.monotonic() + 60
        while is_running(int(group)) and time.monotonic() < deadline:
            time.sleep(0.1)
        assert not is_running(int(group))
        assert not Path(home).exists()
