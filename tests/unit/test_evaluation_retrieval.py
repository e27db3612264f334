"""Systems on a made-up collection: what is run, measured, tested and written."""

import csv
import json
from pathlib import Path

import pytest

from cptw_search import Cptw, EmbeddedIndex, WordVectors
from cptw_search.errors import InvalidInputError, UnknownNameError
from cptw_search.evaluation.collections import Collection, make_collection
from cptw_search.evaluation.retrieval import check_ids, comparison_table, evaluate_systems, first_queries
from cptw_search.evaluation.retrieval_measures import MEASURES
from cptw_search.evaluation.retrieval_report import markdown_table, write_report
from cptw_search.evaluation.runs import read_run
from cptw_search.evaluation.systems import SYSTEMS, SystemSettings, check_systems, run_system, run_systems

VECTORS = WordVectors(["boat", "ship", "cat", "dog"], [[1, 0], [4, 3], [-1, 1], [-4, 3]])
MODEL = Cptw(vectors=VECTORS, tau=0.5)


@pytest.fixture
def collection() -> Collection:
    documents = [
        {"id": "1", "title": "Harbour", "text": "a boat on the water"},
        {"id": "2", "text": "a ship on the water"},
        {"id": "3", "text": "my cat"},
        {"id": "4", "text": "the dog barks"},
    ]
    queries = {"q1": "ship", "q2": "cat", "q3": "nothing of that kind"}
    return make_collection("tiny", documents, queries, {"q1": {"1": 1, "2": 2}, "q2": {"3": 1}, "q3": {"4": 1}})


def test_a_run_holds_what_the_engine_finds(collection: Collection) -> None:
    settings = SystemSettings(MODEL, lambda_=0.4)
    index = EmbeddedIndex.build(Cptw(vectors=VECTORS, tau=0.5).fit(collection.documents), collection.documents)
    for system, run in run_systems(SYSTEMS, collection, settings):
        assert list(run) == ["q1", "q2", "q3"]
        for query_id, text in collection.queries.items():
            hits = index.search(text, 10, method=system, lambda_=0.4)
            assert list(run[query_id]) == [(hit.id, hit.score) for hit in hits]
    assert not hasattr(MODEL, "vocabulary_")  # the settings' model is a description


def test_cptw_finds_what_bm25_does_not(collection: Collection) -> None:
    assert [doc_id for doc_id, _ in run_system("bm25", collection)["q1"]] == ["2"]
    assert [doc_id for doc_id, _ in run_system("cptw", collection, SystemSettings(MODEL))["q1"]] == ["2", "1"]
    assert len(run_system("cptw", collection, SystemSettings(MODEL, depth=1))["q1"]) == 1


def test_systems_without_vectors_need_none(collection: Collection) -> None:
    settings = SystemSettings(Cptw(vectors=Path("nowhere.txt")))
    assert run_system("tfidf", collection, settings)["q2"]


def test_progress_counts_the_queries(collection: Collection) -> None:
    steps: list[float] = []
    evaluate_systems(collection, ["bm25", "tfidf"], SystemSettings(MODEL), advance=steps.append)
    assert sum(steps) == 2 * len(collection.queries)


@pytest.mark.parametrize(
    ("systems", "engine", "problem"),
    [
        (["bm25", "magic"], None, "system must be one of 'bm25'.*Got 'magic'"),
        (["bm25", "bm25"], None, "Got 'bm25' twice"),
        ([], None, "systems must be some of bm25.*Got none"),
        (["bm25+rm3"], "http://localhost:9", "Got 'bm25\\+rm3', which the embedded engine alone has"),
    ],
)
def test_what_cannot_be_run(systems: list[str], engine: str | None, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        check_systems(systems, engine)


def test_an_unknown_system_is_known_before_anything_is_indexed(collection: Collection) -> None:
    with pytest.raises(UnknownNameError, match="Got 'magic'"):
        run_system("magic", collection, SystemSettings(Cptw(vectors=Path("nowhere.txt"))))


def test_the_table_compares_with_bm25_on_the_same_collection(collection: Collection) -> None:
    results = evaluate_systems(collection, ["cptw", "bm25", "tfidf"], SystemSettings(MODEL))
    rows = comparison_table(results)
    assert [row["system"] for row in rows] == ["cptw", "bm25", "tfidf"]
    assert [row["n_queries"] for row in rows] == [3, 3, 3]
    by_system = {row["system"]: row for row in rows}
    assert by_system["bm25"]["p_value_vs_bm25"] is None
    assert by_system["cptw"]["p_value_vs_bm25"] == 1.0  # a single query differs: both signs are as far from 0
    assert by_system["tfidf"]["p_value_vs_bm25"] == 1.0
    assert by_system["cptw"]["recall@100"] == pytest.approx(2 / 3)
    assert by_system["bm25"]["recall@100"] == pytest.approx(1 / 2)
    alone = comparison_table([results[0]])
    assert alone[0]["p_value_vs_bm25"] is None
    assert alone[0]["p_value_holm"] is None


def test_first_queries_keep_all_documents(collection: Collection) -> None:
    few = first_queries(collection, 2)
    assert list(few.queries) == list(few.judgements) == ["q1", "q2"]
    assert few.documents == collection.documents
    with pytest.raises(InvalidInputError, match="n must be a whole number >= 1. Got 0"):
        first_queries(collection, 0)


def test_ids_with_spaces_are_known_before_anything_is_searched(collection: Collection) -> None:
    check_ids(collection)
    documents = [*collection.documents, {"id": "a b", "text": "x"}]
    with pytest.raises(InvalidInputError, match="tiny: a document's id must be without white space.*'a b'"):
        check_ids(make_collection("tiny", documents, collection.queries, collection.judgements))


def test_the_report_says_the_same_in_every_format(collection: Collection, tmp_path: Path) -> None:
    results = evaluate_systems(collection, ["bm25", "cptw"], SystemSettings(MODEL))
    rows = comparison_table(results)
    written = write_report(tmp_path / "out", results, rows, {"quick": False})
    assert sorted(written) == sorted(path for path in (tmp_path / "out").rglob("*") if path.is_file())
    records = json.loads((tmp_path / "out" / "results.json").read_text())
    assert records == rows
    assert list(records[0])[:2] == ["collection", "system"]
    assert {"ndcg@10", "map", "recall@100", "mrr", "p_value_vs_bm25"} < set(records[0])
    with (tmp_path / "out" / "results.csv").open() as file:
        table = list(csv.DictReader(file))
    assert [float(row["ndcg@10"]) for row in table] == [row["ndcg@10"] for row in rows]
    with (tmp_path / "out" / "per_query.csv").open() as file:
        per_query = list(csv.DictReader(file))
    assert len(per_query) == 6
    for row, record in zip(rows, records, strict=True):
        mine = [float(one["map"]) for one in per_query if one["system"] == record["system"]]
        assert sum(mine) / 3 == pytest.approx(row["map"])
    for result in results:
        back = read_run(tmp_path / "out" / "runs" / f"tiny.{result.system}.run")
        assert [d for d, _ in back["q1"]] == [d for d, _ in result.run["q1"]]
    assert json.loads((tmp_path / "out" / "settings.json").read_text()) == {"quick": False}


def test_two_results_of_one_name_are_refused(collection: Collection, tmp_path: Path) -> None:
    results = evaluate_systems(collection, ["bm25"], SystemSettings(MODEL))
    with pytest.raises(InvalidInputError, match="Got two for 'tiny.bm25.run'"):
        write_report(tmp_path, results * 2, comparison_table(results), {})
    assert not list(tmp_path.iterdir())


def test_the_best_is_bold_and_what_is_significant_has_a_star() -> None:
    measures = dict.fromkeys(MEASURES, 0.25)
    rows = [
        {"collection": "a|b", "system": "bm25", **measures, "p_value_vs_bm25": None, "p_value_holm": None},
        {"collection": "a|b", "system": "cptw", **measures, "p_value_vs_bm25": 0.02, "p_value_holm": 0.06},
        {"collection": "a|b", "system": "rrf", **measures, "p_value_vs_bm25": 0.01, "p_value_holm": 0.03},
    ]
    rows[2]["ndcg@10"] = 0.5
    lines = markdown_table(rows).splitlines()
    assert lines[2] == "| a\\|b | bm25 | 0.2500 | 0.2500 | 0.2500 | 0.2500 |  |"
    assert lines[3].endswith("| 0.0200 |")
    assert lines[4] == "| a\\|b | rrf | **0.5000** | 0.2500 | 0.2500 | 0.2500 | 0.0100* |"
