import gzip
import inspect
import json
from pathlib import Path

import pytest
from command_line import Result

from cptw_search import Cptw, model_for
from cptw_search.cli import evaluate_retrieval
from cptw_search.evaluation.systems import SYSTEMS, SystemSettings

TEXTS = {
    "d1": ("Storm", "A ship was lost in the storm off the coast."),
    "d2": ("Harbour", "The ship left the harbour before the storm."),
    "d3": ("Taxes", "The government raised the tax on income."),
    "d4": ("Voters", "Voters and the government argue about income tax."),
    "d5": ("", "A cat sleeps in the harbour."),
}
QUERIES = {
    f"q{n}": text for n, text in enumerate(["lost ship", "income tax", "harbour", "voters", "nobody wrote this"])
}
QRELS = {"q0": {"d1": 2, "d2": 1}, "q1": {"d3": 1, "d4": 1}, "q2": {"d2": 1, "d5": 1}, "q3": {"d4": 1}, "q4": {"d5": 1}}


def write_collection(folder: Path) -> Path:
    folder.mkdir(parents=True)
    with gzip.open(folder / "corpus.jsonl.gz", "wt") as file:
        for doc_id, (title, text) in TEXTS.items():
            file.write(json.dumps({"_id": doc_id, "title": title, "text": text}) + "\n")
    (folder / "queries.jsonl").write_text(
        "".join(json.dumps({"_id": query_id, "text": text}) + "\n" for query_id, text in QUERIES.items())
    )
    rows = [f"{q}\t{d}\t{grade}" for q, grades in QRELS.items() for d, grade in grades.items()]
    (folder / "qrels.tsv").write_text("\n".join(["query-id\tcorpus-id\tscore", *rows]) + "\n")
    return folder


@pytest.fixture
def harbour(tmp_path: Path) -> Path:
    return write_collection(tmp_path / "harbour")


def test_all_systems_on_two_collections(harbour: Path, tmp_path: Path) -> None:
    other = write_collection(tmp_path / "other")
    shown = Result("evaluate", "retrieval", harbour, other, "--out", tmp_path / "out")
    assert shown.status == 0, shown.stderr
    header, *lines = shown.stdout.splitlines()
    assert header.split() == ["collection", "system", "nDCG@10", "MAP", "recall@100", "MRR", "p", "vs", "BM25"]
    assert [line.split()[:2] for line in lines] == [
        [name, system] for name in ("harbour", "other") for system in SYSTEMS
    ]
    records = json.loads((tmp_path / "out" / "results.json").read_text())
    assert [(record["collection"], record["system"]) for record in records] == [
        tuple(line.split()[:2]) for line in lines
    ]
    for record, line in zip(records, lines, strict=True):
        assert f"{record['ndcg@10']:.4f}" == line.split()[2]
        assert record["n_queries"] == 5
    first = records[0]
    assert {name: first[name] for name in ("recall@100", "p_value_vs_bm25")} == {
        "recall@100": 0.8,
        "p_value_vs_bm25": None,
    }
    assert len(list((tmp_path / "out" / "runs").iterdir())) == 2 * len(SYSTEMS)
    settings = json.loads((tmp_path / "out" / "settings.json").read_text())
    assert settings["collections"]["harbour"]["n_docs"] == 5
    assert settings["collections"]["harbour"]["sha256"] == settings["collections"]["other"]["sha256"]
    assert f"wrote tables and runs to {tmp_path / 'out'}" in shown.stderr


def test_options_reach_the_systems(harbour: Path, tmp_path: Path) -> None:
    def scores(*options: str) -> list[str]:
        shown = Result("evaluate", "retrieval", harbour, "--systems", "bm25", "--out", tmp_path / "out", *options)
        assert shown.status == 0, shown.stderr
        return [line.split()[4] for line in (tmp_path / "out" / "runs" / "harbour.bm25.run").read_text().splitlines()]

    usual = scores()
    for options in (["--k1", "2"], ["--b", "0.1"], ["--analyzer", "unicode"], ["--analyzer", "reference"]):
        assert scores(*options) != usual
    assert len(scores("--depth", "1")) == 4
    assert scores("--vectors", "none", "--tau", "0.9", "--weighting", "bm25", "--lambda", "0.5") == usual


def test_quick_takes_some_queries_and_says_so(harbour: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluate_retrieval, "QUICK_QUERIES", 2)
    shown = Result("evaluate", "retrieval", harbour, "--systems", "bm25,tfidf", "--quick", "--out", tmp_path / "out")
    assert shown.status == 0, shown.stderr
    assert "2 queries a collection at most: not for a comparison" in shown.stderr
    assert {record["n_queries"] for record in json.loads((tmp_path / "out" / "results.json").read_text())} == {2}
    assert json.loads((tmp_path / "out" / "settings.json").read_text())["quick"] is True


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        (["--systems", "bm25,magic"], "system must be one of 'bm25'"),
        (["--systems", ","], "systems must be some of"),
        (["--analyzer", "klingon"], "--analyzer must be one of 'reference', 'english'"),
        (["--engine", "http://localhost:9", "--systems", "tfidf"], "which the embedded engine alone has"),
        (["--vectors", "nowhere.bin"], "--vectors must be a file or one of"),
        (["--lambda", "2"], "lambda_ must be a number from 0 to 1"),
        (["--depth", "0"], "k must be a whole number >= 1"),
    ],
)
def test_mistakes_are_one_line(options: list[str], problem: str, harbour: Path, tmp_path: Path) -> None:
    shown = Result("evaluate", "retrieval", harbour, "--out", tmp_path / "out", *options)
    assert shown.status == 1
    assert problem in shown.stderr
    assert len(shown.stderr.splitlines()) == 1
    assert not (tmp_path / "out").exists()


def test_two_collections_of_one_name_are_refused(harbour: Path, tmp_path: Path) -> None:
    again = write_collection(tmp_path / "elsewhere" / "harbour")
    shown = Result("evaluate", "retrieval", harbour, again, "--out", tmp_path / "out")
    assert shown.status == 1
    assert "COLLECTIONS must have different names, for results go by them. Got 'harbour' twice" in shown.stderr


def test_a_collection_that_is_not_there(tmp_path: Path) -> None:
    shown = Result("evaluate", "retrieval", tmp_path / "nowhere", "--out", tmp_path / "out")
    assert shown.status == 1
    assert "nowhere" in shown.stderr


def test_defaults_are_the_library_s() -> None:
    defaults = {
        name: getattr(parameter.default, "value", parameter.default)
        for name, parameter in inspect.signature(evaluate_retrieval.retrieval).parameters.items()
    }
    model, settings = model_for("search"), SystemSettings()
    assert defaults["systems"].split(",") == list(SYSTEMS)
    assert (float(defaults["tau"]), defaults["weighting"], defaults["analyzer"]) == (
        model.tau,
        model.weighting,
        model.analyzer,
    )
    assert (defaults["k1"], defaults["b"]) == (Cptw().k1, model.b)  # as in published figures of BM25
    assert (defaults["lambda_"], defaults["depth"]) == (settings.lambda_, settings.depth)
