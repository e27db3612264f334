"""The write path on real servers of all three kinds."""

import itertools
import json
import signal
import subprocess
import sys
import threading
import time

import pytest

from cptw_indexer import ClusterIndexer, Retries
from cptw_indexer.aliases import swap
from cptw_search import Cptw, WordVectors
from cptw_search.cluster import connect, make_path
from cptw_search.errors import (
    InvalidInputError,
    LoadError,
    MissingIndexError,
    ModelMismatchError,
    RejectedError,
)
from cptw_search.pruning import Pruning

pytestmark = pytest.mark.servers

VECTORS = WordVectors(["boat", "ship", "cat"], [[1, 0], [4, 3], [-1, 1]])
DOCUMENTS = [
    {"id": "a", "text": "A boat on the sea", "label": "water", "year": 1999, "tags": ["blue", "wood"]},
    {"id": "b", "title": "Ships", "text": "cross the ocean", "label": "water", "year": 2004.5, "fast": True},
    {"id": "ü/ 1?&", "text": "my cat", "label": "pets", "nested": {"deep": [{"x": "y"}, {"x": None}]}},
    {"id": 4, "text": ""},
]
QUICK = Retries(give_up_after=5, first_pause=0.05)

LOAD_SLOWLY = """
import itertools, sys, time
from cptw_indexer import ClusterIndexer
from cptw_search import Cptw
from cptw_search.cluster import connect
def documents():
    for number in itertools.count():
        if number % 500 == 0:
            time.sleep(0.05)
        yield {"id": number, "text": f"a boat {number}"}
with connect(sys.argv[1]) as client:
    ClusterIndexer(client, sys.argv[2], Cptw.load(sys.argv[3])).load(documents())
"""


@pytest.fixture(params=["elasticsearch7", "elasticsearch9", "opensearch3"])
def client(request):
    server = request.getfixturevalue(request.param)
    with connect(server.url) as client:
        yield client


@pytest.fixture(scope="module")
def model():
    return Cptw(vectors=VECTORS, tau=0.5).fit(DOCUMENTS)


@pytest.fixture(scope="module")
def other_model():
    return Cptw(vectors=VECTORS, tau=0.9).fit(DOCUMENTS)


@pytest.fixture
def make(client, index_name, model):
    def indexer(model=model, **options):
        return ClusterIndexer(client, index_name, model, **{"n_replicas": 0, "retries": QUICK, **options})

    return indexer


def stored(client, name):
    hits = client.request("POST", make_path(name, "_search"), body={"size": 1000})["hits"]["hits"]
    return {hit["_id"]: hit["_source"] for hit in hits}


def found(client, name, query):
    hits = client.request("POST", make_path(name, "_search"), body={"query": query, "size": 1000})["hits"]["hits"]
    return {hit["_id"]: hit["_score"] for hit in hits}


def weighted(indexer, **weights):
    """A query that scores the product with the stored weights."""
    if indexer.layout.field_type == "sparse_vector":
        return {"sparse_vector": {"field": "cptw_weights", "query_vector": weights, "prune": False}}
    clauses = [
        {"rank_feature": {"field": f"cptw_weights.{term}", "linear": {}, "boost": weight}}
        for term, weight in weights.items()
    ]
    return {"bool": {"should": clauses}}


def alias_of(client, name):
    return sorted(client.request("GET", make_path("_alias", name)))


class TestLoad:
    def test_documents_come_back_as_they_were_and_the_numbers_add_up(self, client, make, index_name):
        indexer = make()
        summary = indexer.load(iter(DOCUMENTS))
        assert (summary.n_read, summary.n_indexed, summary.n_rejected, summary.rejected) == (4, 4, 0, [])
        assert summary.seconds > 0
        assert alias_of(client, index_name) == [summary.index]
        assert stored(client, index_name) == {str(document["id"]): document for document in DOCUMENTS}
        ((_, described),) = client.request("GET", make_path(index_name)).items()
        settings = described["settings"]["index"]
        assert "refresh_interval" not in settings
        assert (settings["number_of_replicas"], settings["number_of_shards"]) == ("0", "1")
        meta = described["mappings"]["_meta"]["cptw"]
        assert (meta["model_id"], meta["complete"], meta["alias"]) == (indexer.model.model_id, True, index_name)
        assert meta["field_type"] == indexer.layout.field_type

    @pytest.mark.parametrize("placement", ["query", "both", "document"])
    def test_weights_are_those_of_the_model(self, client, make, index_name, model, placement):
        indexer = make(placement=placement)
        indexer.load(DOCUMENTS)
        expected = model.represent(["boats"], side="query", placement=placement, nonnegative=True)
        weights = dict(
            zip(
                [model.vocabulary_[j] for j in expected.matrix.indices],
                expected.matrix.data.tolist(),
                strict=True,
            )
        )
        rows = (model.transform_query(["boats"]) @ model.transform(DOCUMENTS).T).toarray()[0]
        scores = {str(document["id"]): row for document, row in zip(DOCUMENTS, rows, strict=True) if row > 0}
        assert found(client, index_name, weighted(indexer, **weights)) == pytest.approx(scores, rel=0.01)

    def test_terms_with_dots_and_spaces(self, client, make, index_name):
        model = Cptw(vectors=None, analyzer=str.split, unknown="keep")  # a function: it has no id
        with pytest.raises(InvalidInputError, match="cannot be saved"):
            make(model=model.fit(["a"]))
        model = Cptw(vectors=None, analyzer="whitespace").fit(["v1.5 100% x"])
        indexer = make(model=model)
        indexer.load([{"id": "a", "text": "v1.5 100% . %2E"}, {"id": "b", "text": "v1"}])
        for feature in ["v1%2E5", "100%25", "%2E", "%252E"]:
            assert set(found(client, index_name, weighted(indexer, **{feature: 1.0}))) == {"a"}
        for token in ["v1.5", "100%", "."]:
            assert set(found(client, index_name, {"match": {"cptw_text": token}})) == {"a"}

    def test_fields_can_be_filtered_and_sorted_by(self, client, make, index_name):
        make().load(DOCUMENTS)
        assert set(found(client, index_name, {"term": {"label": "water"}})) == {"a", "b"}
        assert set(found(client, index_name, {"range": {"year": {"gt": 2000}}})) == {"b"}
        assert set(found(client, index_name, {"term": {"fast": True}})) == {"b"}
        assert set(found(client, index_name, {"term": {"tags": "wood"}})) == {"a"}
        hits = client.request("POST", make_path(index_name, "_search"), body={"sort": ["cptw_id"]})["hits"]["hits"]
        assert [hit["_id"] for hit in hits] == ["4", "a", "b", "ü/ 1?&"]

    def test_bm25_only(self, client, make, index_name):
        make(field_type="none").load(DOCUMENTS)
        assert set(found(client, index_name, {"match": {"cptw_text": "ship"}})) == {"b"}
        ((_, described),) = client.request("GET", make_path(index_name, "_mapping")).items()
        assert "cptw_weights" not in described["mappings"]["properties"]

    def test_pruned(self, client, make, index_name):
        indexer = make(placement="both", pruning=Pruning(max_terms=1))
        indexer.load(DOCUMENTS)
        assert "a" not in found(client, index_name, weighted(indexer, ship=1.0))

    def test_rejected_documents_are_collected_and_the_others_get_in(self, client, make, index_name, tmp_path):
        documents = [
            {"id": "good", "text": "a boat", "n": 1},
            {"id": "conflict", "text": "a boat", "n": "no number"},  # the mapping has a number there by now
            *[{"id": n, "text": "filler"} for n in range(600)],  # what follows is in another request
            {"id": "good", "text": "twice"},
            {"text": "without id"},
            {"id": "reserved", "text": "a", "cptw_weights": {}},
            {"id": "nan", "text": "a", "n": float("nan")},
            {"id": "surrogate", "text": "a \ud800"},
            {"id": "x" * 513, "text": "a"},
            {"id": "fine", "text": "a ship"},
        ]
        file = tmp_path / "rejected.jsonl"
        indexer = make()
        indexer.load(documents[:1])
        summary = indexer.load(documents, rejected_file=file)
        assert (summary.n_read, summary.n_indexed, summary.n_rejected) == (609, 602, 7)
        rejected = dict(summary.rejected)
        assert set(rejected) == {"conflict", "good", "document 603", "reserved", "nan", "surrogate", "x" * 513}
        assert "[n]" in rejected["conflict"]
        assert [json.loads(line)["id"] for line in file.read_text().splitlines()] == [
            name for name, _ in summary.rejected
        ]
        assert len(stored(client, index_name)) == 602

    def test_a_second_load_takes_the_place_of_the_first(self, client, make, index_name):
        indexer = make()
        first = indexer.load(DOCUMENTS)
        second = indexer.load(DOCUMENTS[:1])
        assert alias_of(client, index_name) == [second.index]
        assert set(stored(client, index_name)) == {"a"}
        assert set(stored(client, first.index)) == {"a", "b", "ü/ 1?&", "4"}

    def test_nothing_takes_the_place_of_something_only_with_documents(self, client, make, index_name):
        indexer = make()
        assert indexer.load([]).n_read == 0  # a new name may begin empty
        first = indexer.load(DOCUMENTS)
        with pytest.raises(LoadError, match="None of 0 documents got in"):
            indexer.load([])
        with pytest.raises(
            LoadError, match="None of 1 documents got in.*The first was rejected because: Every document"
        ):
            indexer.load([{"text": "no id"}])
        assert alias_of(client, index_name) == [first.index]

    def test_a_name_that_is_an_index_is_refused(self, client, make, index_name):
        client.request("PUT", make_path(index_name))
        with pytest.raises(InvalidInputError, match="must be free or an alias. It is an index"):
            make().load(DOCUMENTS)

    def test_bad_arguments(self, client, make, model):
        for documents in ["text", {"id": "a"}]:
            with pytest.raises(InvalidInputError, match="Documents must come as a list"):
                make().load(documents)
        with pytest.raises(InvalidInputError, match="n_shards must be a whole number >= 1"):
            make(n_shards=0)
        with pytest.raises(InvalidInputError, match="n_processes must be a whole number >= 1"):
            make().load([], n_processes=0)
        with pytest.raises(InvalidInputError, match="The name of an alias must be in small letters"):
            ClusterIndexer(client, "a*", model)

    def test_an_input_that_fails_leaves_what_served(self, client, make, index_name):
        indexer = make()
        first = indexer.load(DOCUMENTS)

        def documents():
            yield from DOCUMENTS
            raise KeyError("the input")

        with pytest.raises(KeyError, match="the input"):
            indexer.load(documents())
        assert alias_of(client, index_name) == [first.index]
        assert [record.is_complete for record in indexer.history()] == [False, True]

    def test_in_several_processes_with_several_shards(self, client, make, index_name):
        summary = make(n_shards=3).load(({"id": n, "text": f"boat {n}"} for n in range(2_500)), n_processes=2)
        assert summary.n_indexed == 2_500
        assert client.request("GET", make_path(index_name, "_count"))["count"] == 2_500


class TestResume:
    def test_after_a_killed_client(self, client, make, index_name, model, tmp_path):
        old = make().load(DOCUMENTS)
        model.save(tmp_path / "model")
        url = client._settings.urls[0]
        command = [sys.executable, "-c", LOAD_SLOWLY, url, index_name, str(tmp_path / "model")]
        with subprocess.Popen(command) as process:
            deadline = time.monotonic() + 60
            n_there = 0
            while n_there < 1_000 and time.monotonic() < deadline:
                time.sleep(0.1)
                new = [record for record in make().history() if record.index != old.index]
                for record in new:
                    client.request("POST", make_path(record.index, "_refresh"))
                    n_there = client.request("GET", make_path(record.index, "_count"))["count"]
            process.send_signal(signal.SIGKILL)
        assert n_there >= 1_000
        assert alias_of(client, index_name) == [old.index]
        assert [record.is_complete for record in make().history()] == [False, True]

        documents = [{"id": number, "text": f"a boat {number}"} for number in range(20_000)]
        n_there = client.request("GET", make_path(new[0].index, "_count"))["count"]
        summary = make().load(documents[: n_there + 5_000], resume=True)
        assert summary.index == new[0].index
        assert summary.n_skipped >= 1_000
        assert summary.n_read == summary.n_indexed + summary.n_skipped == n_there + 5_000
        assert alias_of(client, index_name) == [summary.index]
        assert client.request("GET", make_path(index_name, "_count"))["count"] == n_there + 5_000

    def test_with_nothing_to_resume_it_starts_anew(self, make, other_model):
        indexer = make()
        first = indexer.load(DOCUMENTS, resume=True)
        second = indexer.load(DOCUMENTS, resume=True)
        assert first.index != second.index
        assert second.n_skipped == 0
        with pytest.raises(ZeroDivisionError):
            indexer.load(1 / 0 for _ in range(1))
        assert make(model=other_model).load(DOCUMENTS, resume=True).n_skipped == 0  # not the other model's

    def test_more_documents_than_were_read_are_noticed(self, client, make, index_name):
        indexer = make()

        def documents():
            yield from ({"id": n, "text": "a boat"} for n in range(5_000))
            raise KeyError

        with pytest.raises(KeyError):
            indexer.load(documents())
        with pytest.raises(LoadError, match=r"must hold the 4 documents that were sent. It holds 5,?\d+|It holds \d"):
            indexer.load(DOCUMENTS, resume=True)
        with pytest.raises(MissingIndexError):
            alias_of(client, index_name)

    def test_an_index_that_was_deleted_meanwhile_is_noticed(self, client, make, index_name):
        indexer = make()

        def documents():
            yield from ({"id": n, "text": "a boat"} for n in range(3_000))
            (record,) = indexer.history()
            client.request("DELETE", make_path(record.index))
            yield from ({"id": n, "text": "a boat"} for n in range(3_000, 6_000))

        with pytest.raises(LoadError, match="must hold the|is not the index that the load made|no such index"):
            indexer.load(documents())
        with pytest.raises(MissingIndexError):
            alias_of(client, index_name)


class TestSeveral:
    @pytest.mark.parametrize("has_old", [True, False])
    def test_of_two_loads_at_once_one_wins_and_the_other_is_told(self, client, make, index_name, has_old):
        if has_old:
            make().load(DOCUMENTS)
        both_have_begun = threading.Barrier(2)
        outcomes = {}

        def load(name):
            def documents():
                yield {"id": name, "text": "a boat"}
                both_have_begun.wait(30)
                yield {"id": "2", "text": "a ship"}

            try:
                outcomes[name] = make().load(documents())
            except LoadError as error:
                outcomes[name] = error

        threads = [threading.Thread(target=load, args=(name,)) for name in ("one", "other")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        (loser,) = [name for name, outcome in outcomes.items() if isinstance(outcome, LoadError)]
        (winner,) = set(outcomes) - {loser}
        assert "was moved by somebody else during the load" in str(outcomes[loser])
        assert alias_of(client, index_name) == [outcomes[winner].index]
        assert set(stored(client, index_name)) == {winner, "2"}

    def test_the_server_itself_refuses_a_second_one(self, client, index_name):
        # What decides where both looked at the same moment: here the look is skipped.
        for number in (1, 2, 3):
            client.request("PUT", make_path(f"{index_name}-{number}"))
        swap(client, index_name, None, f"{index_name}-1", QUICK)
        add = {"add": {"index": f"{index_name}-2", "alias": index_name, "is_write_index": True}}
        with pytest.raises(RejectedError, match="more than one write index"):
            client.request("POST", "/_aliases", body={"actions": [add]})
        remove = {"remove": {"index": f"{index_name}-3", "alias": index_name, "must_exist": True}}
        with pytest.raises((RejectedError, MissingIndexError)):
            client.request("POST", "/_aliases", body={"actions": [remove, add]})
        assert alias_of(client, index_name) == [f"{index_name}-1"]
        swap(client, index_name, f"{index_name}-1", f"{index_name}-2", QUICK)
        swap(client, index_name, f"{index_name}-1", f"{index_name}-2", QUICK)  # as after an answer that was lost
        with pytest.raises(LoadError, match="moved by somebody else"):
            swap(client, index_name, f"{index_name}-1", f"{index_name}-3", QUICK)
        assert alias_of(client, index_name) == [f"{index_name}-2"]


class TestDailyWork:
    def test_add_update_delete(self, client, make, index_name):
        indexer = make()
        indexer.load(DOCUMENTS)
        summary = indexer.add([{"id": "new", "text": "a zeppelin"}, {"id": "a", "text": "there already"}])
        assert (summary.n_read, summary.n_indexed) == (2, 1)
        assert summary.rejected == [("a", "There is a document with this id already: use update to replace it (409)")]
        assert set(found(client, index_name, weighted(indexer, zeppelin=1.0))) == {"new"}
        summary = indexer.update([{"id": "new", "text": "a ship"}, {"id": "newer", "text": "a ship"}])
        assert summary.n_indexed == 2
        assert set(found(client, index_name, weighted(indexer, zeppelin=1.0))) == set()
        assert stored(client, index_name)["new"] == {"id": "new", "text": "a ship"}
        assert indexer.delete(["new", "newer", "nosuch", 4, 4]) == 3
        assert set(stored(client, index_name)) == {"a", "b", "ü/ 1?&"}
        assert indexer.delete([]) == 0
        with pytest.raises(InvalidInputError, match="ids must come as a list"):
            indexer.delete("a")
        with pytest.raises(InvalidInputError, match="An id to be deleted must be"):
            indexer.delete([None])

    def test_the_index_keeps_its_own_layout(self, client, make, index_name):
        make(placement="both").load(DOCUMENTS)
        indexer = make(placement="query")
        indexer.add([{"id": "new", "text": "boats and boats"}])
        assert "new" in found(client, index_name, weighted(indexer, ship=1.0))  # propagated, as the others are

    def test_another_model_is_refused(self, make, model, other_model):
        make().load(DOCUMENTS)
        for write in (make(model=other_model).add, make(model=other_model).update):
            with pytest.raises(ModelMismatchError, match=f"{model.model_id}.*{other_model.model_id}"):
                write([{"id": "new", "text": "a"}])

    def test_what_is_not_there_or_not_ours(self, client, make, index_name):
        with pytest.raises(MissingIndexError, match="no such index"):
            make().add(DOCUMENTS)
        client.request("PUT", make_path(index_name))
        with pytest.raises(InvalidInputError, match="must have our fields. It has none"):
            make().update(DOCUMENTS)

    def test_a_change_that_went_to_an_index_that_serves_no_more(self, make):
        indexer = make()
        indexer.load(DOCUMENTS)

        def documents():
            yield {"id": "new", "text": "a"}
            make().load(DOCUMENTS)

        with pytest.raises(LoadError, match="was moved from .* to .* meanwhile"):
            indexer.add(documents())


class TestOtherModels:
    def test_reindex(self, client, make, index_name, other_model):
        indexer = make(placement="both")
        first = indexer.load(DOCUMENTS)
        assert "a" in found(client, index_name, weighted(indexer, ship=1.0))
        summary = indexer.reindex(other_model)
        assert (summary.n_read, summary.n_indexed) == (4, 4)
        assert summary.index != first.index
        assert "a" not in found(client, index_name, weighted(indexer, ship=1.0))
        assert stored(client, index_name) == {str(document["id"]): document for document in DOCUMENTS}
        assert indexer.add([{"id": "new", "text": "with the new model"}]).n_indexed == 1

    def test_reindex_of_many(self, client, make, index_name, other_model):
        indexer = make()
        indexer.load({"id": n, "text": f"boat {n}"} for n in range(1_234))
        assert indexer.reindex(other_model).n_indexed == 1_234

    def test_history_and_what_is_deleted_of_it(self, client, make, index_name, model, other_model):
        indexer = make()
        loads = [indexer.load(DOCUMENTS).index for _ in range(3)] + [indexer.reindex(other_model).index]
        bystander = f"{index_name}-bystander"
        client.request("PUT", make_path(bystander))
        pointed_at = make_path("_aliases")
        kept = {"actions": [{"add": {"index": loads[0], "alias": f"{index_name}-kept"}}]}
        client.request("POST", pointed_at, body=kept)
        with pytest.raises(ZeroDivisionError):
            indexer.load(1 / 0 for _ in range(1))
        history = indexer.history()
        assert [record.index for record in history][1:] == loads[::-1]
        assert [record.is_current for record in history] == [False, True, False, False, False]
        assert [record.is_complete for record in history] == [False, True, True, True, True]
        assert {record.model_id for record in history[2:]} == {model.model_id}
        assert [record.n_documents for record in history] == [0, 4, 4, 4, 4]
        assert all(record.size_bytes > 0 for record in history)
        with pytest.raises(InvalidInputError, match="keep must be a whole number >= 0"):
            indexer.prune_old(-1)
        assert indexer.prune_old() == [loads[1]]
        assert indexer.prune_old(0, unfinished=True) == [loads[2], history[0].index]
        assert [record.index for record in indexer.history()] == [loads[3], loads[0]]
        assert client.request("HEAD", make_path(bystander))
        assert alias_of(client, index_name) == [loads[3]]


class TestExistingIndex:
    @pytest.fixture
    def there(self, client, index_name):
        """An index as somebody else has it."""
        mapping = {
            "_meta": {"owner": "them"},
            "dynamic": "strict",
            "properties": {"text": {"type": "text"}, "id": {"type": "long"}, "price": {"type": "float"}},
        }
        client.request("PUT", make_path(index_name), body={"mappings": mapping})
        for number in range(3):
            document = {"id": 100 + number, "text": ["a boat", "a ship", "a cat"][number], "price": 1.5}
            client.request("PUT", make_path(index_name, "_doc", f"doc {number}"), body=document)
        client.request("PUT", make_path(index_name, "_doc", "empty"), body={"price": 2}, params={"refresh": True})
        return index_name

    def test_our_fields_are_added_and_filled(self, client, make, there):
        indexer = make(placement="both")
        summary = indexer.add_to_existing()
        assert (summary.n_read, summary.n_indexed, summary.index) == (4, 3, there)
        assert [rejection.id for rejection in summary.rejected] == ["empty"]
        assert set(found(client, there, weighted(indexer, ship=1.0))) == {"doc 0", "doc 1"}
        assert set(found(client, there, {"match": {"cptw_text": "cat"}})) == {"doc 2"}
        source = stored(client, there)["doc 1"]
        assert {name: value for name, value in source.items() if not name.startswith("cptw_")} == {
            "id": 101,
            "text": "a ship",
            "price": 1.5,
        }
        ((_, described),) = client.request("GET", make_path(there, "_mapping")).items()
        meta = described["mappings"]["_meta"]
        assert meta["owner"] == "them"
        assert (meta["cptw"]["complete"], meta["cptw"]["model_id"]) == (True, indexer.model.model_id)

    def test_once_more_and_with_another_model(self, client, make, there, other_model):
        make().add_to_existing()
        assert make().add_to_existing().n_indexed == 3
        with pytest.raises(ModelMismatchError, match="has fields of the model"):
            make(model=other_model).add_to_existing()
        assert make().history() == []  # it is theirs

    def test_daily_work(self, client, make, there):
        indexer = make(placement="both")
        indexer.add_to_existing()
        indexer.update([{"id": 7, "text": "two ships"}])
        assert "7" in found(client, there, weighted(indexer, boat=1.0))
        assert indexer.delete(["doc 0"]) == 1

    def test_no_such_index(self, make):
        with pytest.raises(MissingIndexError, match="no such index"):
            make().add_to_existing()


class TestTheServerSaysNo:
    def test_an_index_that_takes_no_documents_ends_in_time(self, client, make, index_name):
        indexer = make(retries=Retries(give_up_after=1.5, first_pause=0.05))
        old = indexer.load(DOCUMENTS)

        def documents():
            yield {"id": 1, "text": "a boat"}
            (record, _) = indexer.history()
            block = {"index.blocks.read_only_allow_delete": True}  # what a full disk makes a server do
            client.request("PUT", make_path(record.index, "_settings"), body=block)
            yield from ({"id": number, "text": "a boat"} for number in itertools.count(2))

        began = time.monotonic()
        with pytest.raises(LoadError, match="resume=True to go on"):
            indexer.load(itertools.islice(documents(), 2_000))
        assert time.monotonic() - began < 30
        assert alias_of(client, index_name) == [old.index]
        (record, _) = indexer.history()
        unblock = {"index.blocks.read_only_allow_delete": None}
        client.request("PUT", make_path(record.index, "_settings"), body=unblock)
        summary = indexer.load(({"id": number, "text": "a boat"} for number in range(1, 2_001)), resume=True)
        assert summary.index == record.index
        assert client.request("GET", make_path(index_name, "_count"))["count"] == 2_000

    def test_a_document_over_the_limit_of_a_request(self, client, make, index_name, monkeypatch):
        monkeypatch.setattr(type(client), "max_content_length", lambda _self: 1_000_000)
        summary = make().load([{"id": "large", "text": "a " * 600_000}, {"id": "small", "text": "a boat"}])
        assert (summary.n_indexed, summary.n_rejected) == (1, 1)
        assert "the server takes 1,000,000 or less" in summary.rejected[0].reason
