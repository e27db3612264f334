"""Systems on a real server: runs that agree with those of the embedded engine, and an index that is gone afterwards."""

from __future__ import annotations

import pytest

from cptw_search import Cptw, WordVectors
from cptw_search.cluster import connect
from cptw_search.errors import CptwError
from cptw_search.evaluation.collections import Collection, make_collection
from cptw_search.evaluation.systems import SystemSettings, opened_backend, run_systems

pytestmark = pytest.mark.servers

VECTORS = WordVectors(["boat", "ship", "cat", "dog"], [[1, 0], [4, 3], [-1, 1], [-4, 3]])


@pytest.fixture
def collection() -> Collection:
    texts = ["a boat on water", "a ship on deep water", "my cat", "the dog barks at a cat", "a ship, a ship!"]
    documents = [{"id": str(number), "text": text} for number, text in enumerate(texts)]
    return make_collection("tiny", documents, {"a": "ship", "b": "cat water"}, {"a": {"0": 1}, "b": {"2": 1}})


def indices(url: str) -> set[str]:
    with connect(url) as client:
        return {
            entry["index"] for entry in client.request("GET", "/_cat/indices", params={"format": "json", "h": "index"})
        }


def test_runs_on_a_server_are_those_of_the_embedded_engine(elasticsearch7, collection: Collection) -> None:  # type: ignore[no-untyped-def]
    model = Cptw(vectors=VECTORS, tau=0.5)
    before = indices(elasticsearch7.url)
    names = ["bm25", "cptw", "hybrid", "hybrid+feedback", "rrf"]
    there = dict(run_systems(names, collection, SystemSettings(model, engine=elasticsearch7.url)))
    here = dict(run_systems(names, collection, SystemSettings(model)))
    for name in names:
        for query_id in collection.queries:
            assert [d for d, _ in there[name][query_id]] == [d for d, _ in here[name][query_id]], (name, query_id)
    assert indices(elasticsearch7.url) == before


def test_the_index_goes_also_when_a_search_fails(elasticsearch7, collection: Collection) -> None:  # type: ignore[no-untyped-def]
    before = indices(elasticsearch7.url)
    with (
        pytest.raises(CptwError, match="k must be a whole number"),
        opened_backend(collection, Cptw(vectors=None), engine=elasticsearch7.url) as backend,
    ):
        backend.search_many(["ship"], 0, method="cptw")
    assert indices(elasticsearch7.url) == before
