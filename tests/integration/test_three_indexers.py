"""Three indexers with a third of the documents each, into one alias: they share the cluster and nothing else."""

import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from cluster_faults import ids, served, stored_ids
from made_up_texts import make_texts, make_vectors

from cptw_indexer import ClusterIndexer
from cptw_indexer.aliases import find_indices
from cptw_indexer.bodies import Encoder
from cptw_indexer.loader import BulkSender
from cptw_queries import ClusterIndex
from cptw_search import Cptw, Pruning
from cptw_search.cluster import ClusterClient, connect, make_path
from cptw_search.errors import InvalidInputError

pytestmark = pytest.mark.servers

CPTW = [sys.executable, "-c", "from cptw_search.cli import main; main()"]
N_DOCS = 3_000
N_PARTS = 3
N_SHARDS = 2
N_QUERIES = 12
SECONDS = 240


@pytest.fixture(params=["elasticsearch7", "elasticsearch9", "opensearch3"])
def url(request: pytest.FixtureRequest) -> str:
    return request.getfixturevalue(request.param).url


@pytest.fixture
def client(url: str) -> Iterator[ClusterClient]:
    with connect(url) as client:
        yield client


@pytest.fixture(scope="module")
def documents() -> list[dict[str, object]]:
    made = make_texts(N_DOCS)
    return [
        {"id": str(number), "text": text, "label": label}
        for number, (text, label) in enumerate(zip(made.texts, made.labels, strict=True))
    ]


@pytest.fixture(scope="module")
def model(documents: list[dict[str, object]]) -> Cptw:
    return Cptw(vectors=make_vectors(), tau=0.5, analyzer="whitespace").fit(documents[:200])


class Part:
    """One machine's folder: its third of the documents, and a copy of the model."""

    def __init__(self, folder: Path, model: Path, documents: list[dict[str, object]]) -> None:
        self.folder, self.lines = folder, [json.dumps(document) + "\n" for document in documents]
        folder.mkdir()
        (folder / "part.jsonl").write_text("".join(self.lines))
        shutil.copytree(model, folder / "model")

    def start(self, url: str, name: str, *more: str, source: str = "part.jsonl") -> subprocess.Popen[str]:
        settings = ["--shards", str(N_SHARDS), "--replicas", "0", "--placement", "both", "--document-max-terms", "50"]
        command = ["index", source, "--to", url, "--name", name, "--model", "model", "--add", "--create", *settings]
        pipe = subprocess.PIPE
        return subprocess.Popen(
            [*CPTW, *command, "--json", *more], cwd=self.folder, stdin=pipe, stdout=pipe, stderr=pipe, text=True
        )


@pytest.fixture
def parts(tmp_path: Path, model: Cptw, documents: list[dict[str, object]]) -> list[Part]:
    model.save(tmp_path / "model")
    return [Part(tmp_path / str(n), tmp_path / "model", documents[n::N_PARTS]) for n in range(N_PARTS)]


def finish(process: subprocess.Popen[str]) -> dict:
    stdout, stderr = process.communicate(timeout=SECONDS)
    assert process.returncode == 0, stderr
    return json.loads(stdout)


def check_as_if_by_one(client: ClusterClient, name: str, model: Cptw, documents: list[dict[str, object]]) -> None:
    """Every document is there once, in one index, and searches find what they find after one load of them all."""
    index = served(client, name)
    assert [record.index for record in find_indices(client, name)] == [index]  # nothing is left of those who came late
    assert stored_ids(client, name) == ids(N_DOCS)
    settings = client.request("GET", make_path(index, "_settings"))[index]["settings"]["index"]
    assert (settings["number_of_shards"], settings["number_of_replicas"]) == (str(N_SHARDS), "0")
    alone = f"{name}-alone"
    one = ClusterIndexer(
        client, alone, model, placement="both", pruning=Pruning(max_terms=50), n_shards=N_SHARDS, n_replicas=0
    )
    one.load(documents, progress=False)
    by_three, by_one = ClusterIndex(client, name, model), ClusterIndex(client, alone, model)
    random = np.random.default_rng(0)
    queries = [str(documents[n]["text"]) for n in random.choice(N_DOCS, N_QUERIES, replace=False)]
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"):
        found, expected = (index.search_many(queries, 20, method=method) for index in (by_three, by_one))
        assert all(len(hits) == 20 for hits in expected)
        for ours, theirs in zip(found, expected, strict=True):
            assert [hit.id for hit in ours] == [hit.id for hit in theirs], method
            assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs], rel=1e-6)


def test_three_at_once_are_as_one(
    url: str,
    client: ClusterClient,
    index_name: str,
    parts: list[Part],
    model: Cptw,
    documents: list[dict[str, object]],
) -> None:
    facts = [finish(process) for process in [part.start(url, index_name) for part in parts]]
    assert [(fact["n_read"], fact["n_indexed"]) for fact in facts] == [(N_DOCS // N_PARTS,) * 2] * N_PARTS
    assert len({fact["index"] for fact in facts}) == 1
    check_as_if_by_one(client, index_name, model, documents)


def test_one_is_killed_and_resumes(
    elasticsearch7: object, index_name: str, parts: list[Part], model: Cptw, documents: list[dict[str, object]]
) -> None:
    url, (first, *others) = elasticsearch7.url, parts
    n_given, n_own = len(first.lines) * 2 // 3, len(first.lines)
    with connect(url) as client:
        victim = first.start(url, index_name, source="-")
        rest = [part.start(url, index_name) for part in others]
        victim.stdin.write("".join(first.lines[:n_given]))  # and no end: it waits for more when it is killed
        victim.stdin.flush()
        own = [json.loads(line)["id"] for line in first.lines]
        began, n_there = time.monotonic(), 0
        while not n_there and time.monotonic() - began < SECONDS:
            time.sleep(0.1)
            if client.request("HEAD", make_path(index_name)):
                found = client.request("POST", make_path(index_name, "_mget"), body={"ids": own})["docs"]
                n_there = sum(document["found"] for document in found)
        victim.kill()
        victim.communicate(timeout=SECONDS)
        assert victim.returncode != 0
        assert 0 < n_there < n_own
        assert [finish(process)["n_indexed"] for process in rest] == [n_own] * 2

        resumed = finish(first.start(url, index_name, "--resume"))
        assert resumed["n_skipped"] > 0
        assert resumed["n_indexed"] > 0
        assert resumed["n_indexed"] + resumed["n_skipped"] == n_own
        check_as_if_by_one(client, index_name, model, documents)
        again = finish(first.start(url, index_name, "--resume"))
        assert (again["n_indexed"], again["n_skipped"], again["n_docs"]) == (0, n_own, N_DOCS)


def test_of_many_who_create_one_does(client: ClusterClient, index_name: str, model: Cptw) -> None:
    n_indexers = 4
    for race in range(5):
        name = f"{index_name}-{race}"
        start = threading.Barrier(n_indexers)

        def create(_number: int, name: str = name, start: threading.Barrier = start) -> str:
            indexer = ClusterIndexer(client, name, model, n_replicas=0)
            start.wait(60)
            return indexer.create()

        with ThreadPoolExecutor(n_indexers) as pool:
            made = set(pool.map(create, range(n_indexers)))
        assert made == {served(client, name)}
        assert {record.index for record in find_indices(client, name)} == made


def test_all_have_to_ask_for_the_same(client: ClusterClient, index_name: str, model: Cptw) -> None:
    index = ClusterIndexer(client, index_name, model, n_replicas=0).create()
    with pytest.raises(InvalidInputError, match="must store documents as is asked for: .*'both'.* It has .*'query'"):
        ClusterIndexer(client, index_name, model, placement="both").create()
    assert served(client, index_name) == index


def test_what_an_interrupted_request_still_brings_is_compared(client: ClusterClient, index_name: str) -> None:
    model = Cptw(vectors=None).fit(["a boat"])
    indexer = ClusterIndexer(client, index_name, model, n_replicas=0)
    index = indexer.create()
    indexer.add([{"id": "same", "text": "a boat"}, {"id": "other", "text": "a ship"}])
    encoder = Encoder(model, indexer.layout, "create")
    actions = encoder.encode([(0, {"id": "same", "text": "a boat"}), (1, {"id": "other", "text": "a raft"})]).actions
    sent = BulkSender(client, index, is_again=True).send(actions)
    assert (sent.n_done, [rejection.id for rejection in sent.rejections]) == (1, ["other"])
    sent = BulkSender(client, index).send(actions)
    assert (sent.n_done, [rejection.id for rejection in sent.rejections]) == (0, ["same", "other"])
