"""The command line on real servers: every command, what it prints, and its status."""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from command_line import DOCUMENTS, Result, fit_model, hear_control_c, write_documents
from servers import secrets

from cptw_indexer import ClusterIndexer
from cptw_queries import ClusterIndex, ExistingIndex
from cptw_search import Cptw, EmbeddedIndex
from cptw_search.analysis import FIELD_TOKENS
from cptw_search.cluster import ClusterClient, connect, make_path

pytestmark = pytest.mark.servers

CPTW = [sys.executable, "-c", "from cptw_search.cli import main; main()"]


class Place:
    """A name on a server, with a model for it, and commands about it."""

    def __init__(self, url: str, name: str, folder: Path) -> None:
        self.url, self.name, self.folder = url, name, folder
        self.model_dir = fit_model(folder)
        self.documents = folder / "documents.jsonl"

    @property
    def model(self) -> Cptw:
        return Cptw.load(self.model_dir)

    def run(self, command: str, *args: object, name: str = "", model: object = None) -> Result:
        where = ("--to" if command == "index" else "--on", self.url, "--name", name or self.name)
        return Result(command, *args, *where, "--model", model or self.model_dir)

    def index(self, *args: object, **options: Any) -> Result:
        new = ("--replicas", 0) if not {"--add", "--update", "--in-place"} & set(args) else ()
        return self.run("index", *args, *new, **options)

    def write(self, *documents: dict[str, object]) -> Path:
        return write_documents(self.folder, list(documents), "more.jsonl")

    def cluster(self, command: str, *args: object, name: str = "") -> Result:
        return Result("cluster", command, "--on", self.url, "--name", name or self.name, *args)


@pytest.fixture(params=["elasticsearch7", "elasticsearch9", "opensearch3"])
def anywhere(request: pytest.FixtureRequest, index_name: str, tmp_path: Path) -> Place:
    return Place(request.getfixturevalue(request.param).url, index_name, tmp_path)


@pytest.fixture
def place(elasticsearch7: Any, index_name: str, tmp_path: Path) -> Place:
    return Place(elasticsearch7.url, index_name, tmp_path)


@pytest.fixture
def client(place: Place) -> Iterator[ClusterClient]:
    with connect(place.url) as client:
        yield client


# The main path, on every server ---------------------------------------------------------------------------------------


def test_index_search_classify_explain_delete(anywhere: Place) -> None:
    loaded = anywhere.index(anywhere.documents, "--json")
    assert (loaded.status, loaded.stderr) == (0, "")
    facts = loaded.json
    assert facts["n_read"] == facts["n_indexed"] == facts["n_docs"] == 4
    assert facts["n_skipped"] == facts["n_rejected"] == 0
    assert (facts["name"], facts["model_id"]) == (anywhere.name, anywhere.model.model_id)
    assert facts["index"].startswith(f"{anywhere.name}-")

    embedded = EmbeddedIndex.build(anywhere.model, DOCUMENTS)
    shown = anywhere.run("search", "boat")
    assert shown.status == 0
    assert [line.split()[2] for line in shown.stdout.splitlines() if line[:1].isdigit()] == ["a", "b"]
    assert "    Two _ships_ at _sea_.\n" in shown.stdout
    assert "A **boat** left the harbour." in shown.stdout
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"):
        hits = anywhere.run("search", "boat", "--method", method, "--json", "-k", 3).json["hits"]
        assert [hit["id"] for hit in hits] == [hit.id for hit in embedded.search("boat", 3, method=method)]
    hits = anywhere.run("search", "boat cat", "--filter", "year>=1995", "--filter", "label=water", "--json").json[
        "hits"
    ]
    assert [hit["id"] for hit in hits] == ["b"]

    explained = anywhere.run("search", "boat", "--method", "cptw", "--explain", "--json").json["hits"][0]
    assert explained["explanation"]["score"] == pytest.approx(explained["score"], rel=0.01)
    alone = anywhere.run("explain", "boat", "--id", "b", "--json").json
    assert (alone["id"], alone["score"]) == ("b", pytest.approx(explained["score"], rel=0.01))

    classified = anywhere.run("classify", "--text", "ships", "-k", 2, "--json").json
    assert (classified["label"], classified["shares"]) == ("water", pytest.approx({"water": 1.0}))
    assert "accuracy 1.0000: 4 of 4 right" in anywhere.run("classify", anywhere.documents, "-k", 1).stdout

    deleted = anywhere.run("delete", "b", "nobody")
    assert (deleted.status, deleted.stdout) == (0, "")
    assert deleted.stderr == "cptw: 1 id not in the index\ncptw: 1 document deleted, 3 left\n"
    assert [hit["id"] for hit in anywhere.run("search", "boat", "--json").json["hits"]] == ["a"]


def test_many_queries_go_in_batches(anywhere: Place) -> None:
    assert anywhere.index(anywhere.documents).status == 0
    queries = anywhere.folder / "queries.txt"
    queries.write_text("boat\ncat\n" * 120)
    found = anywhere.run("search", "--queries", queries, "--json", "-k", 1)
    rows = [json.loads(line) for line in found.stdout.splitlines()]
    assert len(rows) == 240
    embedded = EmbeddedIndex.build(anywhere.model, DOCUMENTS)
    expected = {query: embedded.search(query, 1)[0].id for query in ("boat", "cat")}
    assert [(row["query"], row["hits"][0]["id"]) for row in rows] == list(expected.items()) * 120


# Loads ----------------------------------------------------------------------------------------------------------------


def test_a_name_that_is_served_is_not_taken_over_by_mistake(place: Place) -> None:
    assert place.index(place.documents).status == 0
    again = place.index(place.documents)
    assert again.status == 1
    assert "It is served by" in again.stderr
    assert "--add or --update" in again.stderr
    assert len(again.stderr.splitlines()) == 1
    assert place.cluster("status", "--json").json["serving"]["n_docs"] == 4


def test_the_summary_adds_up_and_rejections_are_status_1(place: Place) -> None:
    file = place.folder / "rejected.jsonl"
    path = place.write(*DOCUMENTS, {"id": "a", "text": "once more"}, {"id": "e", "text": "x", "year": "no number"})
    result = place.index(path, "--rejected", file)
    assert result.status == 1
    said = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert (said["read"], said["indexed"], said["rejected"]) == ("6 documents", "4 documents", "2 documents")
    assert (said["holds"], "skipped" in said) == ("4 documents", False)
    assert result.stderr.count("cptw: rejected '") == 2
    assert sorted(json.loads(line)["id"] for line in file.read_text().splitlines()) == ["a", "e"]
    assert place.run("search", "boat", "--json").status == 0  # the others serve


def test_many_rejections_are_counted_and_some_are_shown(place: Place) -> None:
    result = place.index(place.write(*({"id": "a", "text": "boat"} for _ in range(9))))
    assert result.status == 1
    assert result.stderr.count("cptw: rejected 'a'") == 5
    assert "rejected 3 more; --rejected FILE writes all of them down" in result.stderr


def test_add_and_update(place: Place) -> None:
    path = place.write({"id": "a", "text": "The dog."}, {"id": "z", "text": "A boat."})
    missing = place.index(path, "--add")
    assert (missing.status, len(missing.stderr.splitlines())) == (1, 1)
    assert place.index(place.documents).status == 0
    added = place.index(path, "--add", "--json")
    assert (added.status, added.json["n_indexed"], added.json["n_rejected"], added.json["n_docs"]) == (1, 1, 1, 5)
    updated = place.index(path, "--update", "--json")
    assert (updated.status, updated.json["n_indexed"], updated.json["n_docs"]) == (0, 2, 5)
    assert [hit["id"] for hit in place.run("search", "boat", "--method", "cptw", "--json").json["hits"]] == ["z", "b"]


def test_settings_of_a_new_index(place: Place, client: ClusterClient) -> None:
    options = ("--placement", "both", "--document-max-terms", 2, "--shards", 2, "--field-type", "rank_features")
    index = place.index(place.documents, *options, "--processes", 1, "--json").json["index"]
    settings = client.request("GET", make_path(index, "_settings"))[index]["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == ("2", "0")
    (record,) = ClusterIndexer(client, place.name, place.model).history()
    assert (record.placement, record.field_type) == ("both", "rank_features")
    assert record.meta["pruning"] == {"min_share": 0.0, "max_terms": 2}
    assert place.run("search", "boat", "--query-max-terms", 1, "--json").status == 0
    wrong = place.index(place.documents, "--field-type", "sparse_vector", "--replace")
    assert (wrong.status, "field_type must be one that the server has" in wrong.stderr) == (1, True)


def test_an_interrupted_load_is_resumed(place: Place, client: ClusterClient) -> None:
    n_docs = 20_000
    path = place.folder / "many.jsonl"
    path.write_text("".join(f'{{"id": {n}, "text": "a boat {n}"}}\n' for n in range(n_docs)))
    arguments = ["index", path, "--to", place.url, "--name", place.name, "--model", place.model_dir, "--replicas", 0]
    process = subprocess.Popen(
        [*CPTW, *map(str, arguments)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        preexec_fn=hear_control_c,
    )
    n_there, began = 0, time.monotonic()
    while not n_there and time.monotonic() - began < 120:
        stats = client.request("GET", make_path(f"{place.name}-*", "_stats", "indexing"))["_all"]["primaries"]
        n_there = stats.get("indexing", {}).get("index_total", 0)
        time.sleep(0.02)
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate(timeout=60)
    assert process.returncode == 130
    assert b"Traceback" not in stderr
    state = place.cluster("status", "--json").json
    assert state["serving"] is None
    assert [record["is_complete"] for record in state["history"]] == [False]
    assert "none is served" in place.cluster("status").stdout
    resumed = place.index(path, "--resume", "--json")
    facts = resumed.json
    assert resumed.status == 0
    assert facts["n_skipped"] > 0
    assert facts["n_read"] == facts["n_indexed"] + facts["n_skipped"] == facts["n_docs"] == n_docs
    assert facts["index"] == state["history"][0]["index"]


def test_status_and_prune_old(place: Place, client: ClusterClient) -> None:
    loads = [place.index(place.documents, "--json").json["index"]]
    loads += [place.index(place.documents, "--replace", "--json").json["index"] for _ in range(2)]
    state = place.cluster("status", "--json").json
    assert (state["product"], state["version"], state["name"]) == ("elasticsearch", "7.17.25", place.name)
    assert state["field_types"] == ["rank_features"]
    assert [record["index"] for record in state["history"]] == loads[::-1]
    serving = state["serving"]
    assert (serving["index"], serving["n_docs"], serving["placement"]) == (loads[2], 4, "query")
    assert (serving["model_id"], serving["size_bytes"] > 0) == (place.model.model_id, True)
    shown = place.cluster("status").stdout
    assert "3 indices made for" in shown
    assert all(index in shown for index in loads)
    assert Result("cluster", "status", "--on", place.url).stdout.startswith("server  elasticsearch 7.17.25\n")

    asked = place.cluster("prune-old", "--keep", 0)
    assert (asked.status, asked.stdout) == (1, "")
    assert f"--yes would delete {loads[1]}, {loads[0]}" in asked.stderr
    assert place.cluster("prune-old", "--yes", "--json").json == {"name": place.name, "deleted": [loads[0]]}
    pruned = place.cluster("prune-old", "--keep", 0, "--yes")
    assert (pruned.status, pruned.stdout) == (0, f"{loads[1]}\n")
    assert place.cluster("prune-old", "--keep", 0, "--yes", "--json").json["deleted"] == []
    assert list(client.request("GET", make_path(f"{place.name}*", "_mapping"))) == [loads[2]]
    assert place.cluster("prune-old", "--keep", -1, "--yes").stderr.startswith("cptw: keep must be")


@pytest.mark.parametrize(("answer", "status", "n_left"), [("y", 0, 1), ("n", 1, 2)])
def test_prune_old_asks(place: Place, answer: str, status: int, n_left: int, monkeypatch: pytest.MonkeyPatch) -> None:
    for options in ((), ("--replace",)):
        assert place.index(place.documents, *options).status == 0
    monkeypatch.setattr("cptw_search.cli.cluster.can_ask", lambda: True)
    arguments = ["cluster", "prune-old", "--on", place.url, "--name", place.name, "--keep", "0"]
    result = Result(*arguments, stdin=f"{answer}\n")
    assert result.status == status, result.stderr
    assert "Delete 1 index?" in result.stderr
    assert len(place.cluster("status", "--json").json["history"]) == n_left


# Indices that were there before ---------------------------------------------------------------------------------------


def make_articles(client: ClusterClient, index: str, analyzer: str = "standard") -> None:
    body = {"type": "text", "analyzer": analyzer}
    mapping = {"properties": {"body": body, "label": {"type": "keyword"}, "deep": {"properties": {"note": body}}}}
    client.request("PUT", make_path(index), body={"mappings": mapping})
    for document in DOCUMENTS:
        source = {**document, "body": document["text"], "deep": [{"note": document["text"]}]}
        del source["text"]
        client.request("PUT", make_path(index, "_doc", str(document["id"])), body=source)
    client.request("POST", make_path(index, "_refresh"))


def fit_from(place: Place, *args: object) -> Result:
    vectors = place.folder / "tokens.txt"  # of the field's tokens: the standard analyzer does not stem
    vectors.write_text("boat 1 0\nships 0.8 0.6\nsea 0.6 0.8\ncat -1 1\ndog -0.8 0.9\n")
    common = ("--name", place.name, "--vectors", vectors, "--tau", 0.5, "--model", place.folder / "own")
    return Result("fit", "--from-index", place.url, *common, *args)


def test_fit_from_an_index_and_search_it_as_it_is(anywhere: Place) -> None:
    with connect(anywhere.url) as client:
        make_articles(client, anywhere.name)
        fitted = fit_from(anywhere, "--field", "body", "--json")
        assert (fitted.status, fitted.json["analyzer"], fitted.json["n_docs"]) == (0, "field", 4)
        own = Cptw.load(anywhere.folder / "own")
        assert {"ships", "barks", "the"} <= set(own.vocabulary_)  # the field's own tokens, not our stems
        options: dict[str, Any] = {"model": anywhere.folder / "own"}
        shown = anywhere.run("search", "BOAT", "--field", "body", **options)
        assert shown.status == 0
        assert [line.split()[2] for line in shown.stdout.splitlines() if line[:1].isdigit()] == ["a", "b"]
        assert "A **boat** left the harbour." in shown.stdout
        assert "Two _ships_ at _sea_." in shown.stdout
        hits = ExistingIndex(client, anywhere.name, own, field="body").search("BOAT", method="hybrid")
        found = anywhere.run("search", "BOAT", "--field", "body", "--method", "hybrid", "--json", **options).json
        assert [(hit["id"], hit["score"]) for hit in found["hits"]] == [(hit.id, hit.score) for hit in hits]
        words = anywhere.run("search", "BOAT", "--field", "body", "--method", "bm25", "--json", **options).json
        assert [hit["id"] for hit in words["hits"]] == ["a"]
        explained = anywhere.run("search", "boat", "--field", "body", "--explain", **options)
        assert (explained.status, len(explained.stderr.splitlines())) == (1, 1)


def test_the_fields_analyzer_stems_once(opensearch3: Any, index_name: str, tmp_path: Path) -> None:
    """On OpenSearch, for the test archives of Elasticsearch lack the English analyzer."""
    place = Place(opensearch3.url, index_name, tmp_path)
    with connect(place.url) as client:
        make_articles(client, place.name, "english")
        client.request("PUT", make_path(place.name, "_doc", "n"), body={"body": "Horses"})
        client.request("POST", make_path(place.name, "_refresh"))
        assert fit_from(place, "--field", "body").status == 0
        own = Cptw.load(tmp_path / "own")
        assert "hors" in own.vocabulary_  # which would become "hor", stemmed once more
        assert "the" not in own.vocabulary_
        index = ExistingIndex(client, place.name, own, field="body")
        assert index.model.model_id == own.model_id
        assert [hit.id for hit in index.search("A horse", method="cptw")] == ["n"]
        (clauses,), _ = index._clauses(["horse"], ["cptw"], 100)
        assert [clause["term"]["body"]["value"] for clause in clauses["cptw"]["bool"]["should"]] == ["hors"]


def test_another_analyzer_and_the_documents_of_the_index(place: Place, client: ClusterClient) -> None:
    make_articles(client, place.name)
    assert fit_from(place, "--field", "body", "--field", "title", "--analyzer", "english").status == 0
    model = Cptw.load(place.folder / "own")
    assert (sorted(model.text_fields), "ship" in model.vocabulary_) == (["body", "title"], True)
    name = f"{place.name}-copy"
    loaded = place.index("--from", place.name, "--json", name=name, model=place.folder / "own")
    assert (loaded.status, loaded.json["n_docs"]) == (0, 4)
    index = ClusterIndex(client, name, model)
    assert index.get("b") == {"id": "b", **client.request("GET", make_path(place.name, "_doc", "b"))["_source"]}
    path = place.write({"id": "new", "body": "A boat."})
    assert place.index(path, "--add", name=name, model=place.folder / "own").status == 0
    assert index.search("harbour boat", 1, method="cptw")[0].id == "a"
    assert index.count() == 5


def test_weights_are_added_in_place(place: Place, client: ClusterClient) -> None:
    make_articles(client, place.name)
    options: dict[str, Any] = {"model": place.folder / "own"}
    assert fit_from(place, "--field", "body", "--analyzer", "english").status == 0
    refused = place.index("--from", place.name, **options)
    assert (refused.status, "It is an index" in refused.stderr, "--in-place" in refused.stderr) == (1, True, True)
    added = place.index("--in-place", "--json", **options)
    assert (added.status, added.json["index"], added.json["n_indexed"]) == (0, place.name, 4)
    assert place.run("search", "boat", "--json", **options).json["hits"][0]["fields"]["label"] == "water"
    serving = place.cluster("status", "--json").json["serving"]
    assert (serving["index"], serving["is_complete"]) == (place.name, True)
    assert place.cluster("prune-old", "--keep", 0, "--unfinished", "--yes", "--json").json["deleted"] == []


def test_fields_in_depth_and_documents_without_text(place: Place, client: ClusterClient) -> None:
    make_articles(client, place.name)
    client.request("PUT", make_path(place.name, "_doc", "empty"), body={"label": "x"}, params={"refresh": True})
    fitted = fit_from(place, "--field", "deep.note")
    assert fitted.status == 0
    assert "1 document of 5 without a text in deep.note passed over" in fitted.stderr
    own = Cptw.load(place.folder / "own")
    assert own.analyzer_fitted == FIELD_TOKENS
    shown = place.run("search", "boat", "--field", "deep.note", model=place.folder / "own")
    assert "Two _ships_ at _sea_." in shown.stdout


# Errors ---------------------------------------------------------------------------------------------------------------


def cases(place: Place) -> list[tuple[Callable[[], Result], str]]:
    other = place.folder / "other"
    Cptw(vectors=None).fit(["another model"]).save(other)
    tokens = place.folder / "tokens"
    Cptw(vectors=None, analyzer=FIELD_TOKENS).fit(["boat"]).save(tokens)
    return [
        (lambda: place.run("search", "boat", name=f"{place.name}-none"), "There is no index or alias"),
        (lambda: place.run("search", "boat", model=other), "must be searched with the model that it was built with"),
        (lambda: place.run("search", "boat", "--field", "body"), "must have a searchable text field 'body'"),
        (lambda: place.run("search", "boat", "--method", "tfidf"), "method must be one of"),
        (lambda: place.run("search", "boat", "--filter", "nothing=1"), "nothing"),
        (lambda: place.run("explain", "boat", "--id", "nobody"), f"a document in '{place.name}'. Got 'nobody'"),
        (lambda: place.run("delete", "a", model=other), "must be searched with the model that it was built with"),
        (lambda: place.index(place.documents, "--update", model=other), "was made by the model"),
        (lambda: place.index(place.documents, "--replace", model=tokens), "must make its terms itself"),
        (lambda: place.index(place.documents, name="UPPER"), "UPPER"),
        (lambda: place.index("--from", f"{place.name}-none", "--replace"), "There is no index or alias"),
        (lambda: place.cluster("status", name=f"{place.name}-none"), "no such index or alias"),
        (lambda: fit_from(place, "--field", "nothing"), "must have a searchable text field 'nothing'"),
        (lambda: fit_from(place, "--field", "nothing", "--analyzer", "english"), "None of 4 has one"),
    ]


def test_errors_are_one_line_and_status_1(place: Place) -> None:
    assert place.index(place.documents).status == 0
    for run, said in cases(place):
        result = run()
        assert (result.status, result.stdout) == (1, ""), said
        assert said in result.stderr
        assert len(result.stderr.splitlines()) == 1, result.stderr
    assert not (place.folder / "own").exists()


def test_a_plain_index_is_no_index_of_ours(place: Place, client: ClusterClient) -> None:
    make_articles(client, place.name)
    for result in (place.run("search", "boat"), place.cluster("status")):
        assert (result.status, result.stdout) == (1, "")
        assert "must have been made by cptw_indexer" in result.stderr


# Logging in -----------------------------------------------------------------------------------------------------------


def test_logins_come_from_the_environment_or_a_file(
    secured: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("URL", "API_KEY", "USERNAME", "PASSWORD", "BEARER_TOKEN", "CA_FILE", "CLOUD_ID", "CONFIG_FILE"):
        monkeypatch.delenv(f"CPTW_{name}", raising=False)
    login = secured.login("admin")
    where = ("cluster", "status", "--on", login["url"], "--ca-file", login["ca_file"])
    results = {"no login": Result(*where)}
    monkeypatch.setenv("CPTW_PASSWORD", login["password"])
    results["user"] = Result(*where, "--user", "admin")
    results["wrong user"] = Result(*where, "--user", "nobody")
    results["not trusted"] = Result("cluster", "status", "--on", login["url"], "--user", "admin")
    monkeypatch.delenv("CPTW_PASSWORD")
    config = tmp_path / "cptw.ini"
    config.touch(mode=0o600)
    config.write_text("\n".join(["[cluster]", *(f"{name} = {value}" for name, value in login.items())]))
    results["file"] = Result("cluster", "status", "--config", config)
    for name in ("user", "file"):
        assert (results[name].status, results[name].stderr) == (0, "")
        assert results[name].stdout.startswith("server  elasticsearch")
    for name, said in (
        ("no login", "refused a request without login (401)"),
        ("wrong user", "refused the login (401)"),
        ("not trusted", "is not trusted"),
    ):
        assert (results[name].status, results[name].stdout) == (1, "")
        assert said in results[name].stderr
        assert len(results[name].stderr.splitlines()) == 1
    assert not secrets.found_in("".join(result.stdout + result.stderr for result in results.values()))
