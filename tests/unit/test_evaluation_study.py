"""The whole evaluation on made-up texts: results, cache, tables, figures, the index."""

import csv
import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from made_up_texts import make_texts, make_vectors

from cptw_search.errors import InvalidInputError, UnknownNameError
from cptw_search.evaluation import runner
from cptw_search.evaluation.cache import ResultCache, code_version
from cptw_search.evaluation.classification import Outcome
from cptw_search.evaluation.measures import CHOSEN, Line, average_ranks, compare_with_best
from cptw_search.evaluation.report import markdown_report, paper_method, records
from cptw_search.evaluation.study import METHODS, Plan, make_methods, run_study
from cptw_search.evaluation.through_index import classify_through_index

PLAN = replace(Plan.quick(), topics=(3,), dimensions=(5, 10), ks=(1, 3), wmd_sample=5)


@pytest.fixture(scope="module")
def study(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Line], Path]:
    out = tmp_path_factory.mktemp("study")
    lines = run_study(
        [make_texts(name="bbcsport"), make_texts(seed=3, split=True, name="reuters")],
        make_vectors(),
        METHODS,
        out,
        plan=PLAN,
        cache=ResultCache(out / "cache"),
        n_processes=1,
        command="cptw evaluate knn",
        vectors_name="made-up",
        progress=False,
    )
    return lines, out


def test_every_method_and_variant_is_measured_on_every_set(study: tuple[list[Line], Path]) -> None:
    lines, _ = study
    expected = {
        *(name for name in METHODS if name != "cptw"),
        "cptw l2 tf",
        "cptw l2 idf-released",
        "cptw hybrid",
        "cptw chosen",
    }
    for dataset, n_test in (("bbcsport", 90), ("reuters", 22)):
        own = {line.name: line for line in lines if line.dataset == dataset and line.reported}
        assert set(own) == expected
        for name, line in own.items():
            assert line.n_test == (n_test if name != "wmd" else 10 if dataset == "bbcsport" else 5)
            assert (0 if name == "lda" else 1 / 3) < line.micro_f1 <= 1  # LDA needs more texts than these
            assert line.right.mean() == pytest.approx(line.micro_f1, abs=0.01)


def test_neighbours_of_words_help_where_words_differ(study: tuple[list[Line], Path]) -> None:
    found = {line.name: line.micro_f1 for line in study[0] if line.dataset == "bbcsport" and line.reported}
    assert found["cptw l2 tf"] > found["bow"]


def test_copies_in_the_training_part_are_counted(study: tuple[list[Line], Path]) -> None:
    copies = {line.n_copies for line in study[0] if line.dataset == "bbcsport" and line.name == "bow"}
    assert copies in ({0}, {2})  # both in one fold, or each the copy of the other
    (line,) = [line for line in study[0] if line.dataset == "reuters" and line.name == "bow" and line.reported]
    assert line.n_copies == 0
    assert line.micro_f1_no_copies == line.micro_f1


def test_the_chosen_variant_is_the_one_that_validation_liked(study: tuple[list[Line], Path]) -> None:
    lines = {line.name: line for line in study[0] if line.dataset == "reuters" and line.reported}
    validated = {name: max(line.validation.values()) for name, line in lines.items() if name.startswith("cptw l2")}
    best = max(validated, key=lambda name: validated[name])
    assert lines[f"cptw {CHOSEN}"].micro_f1 == lines[best].micro_f1
    assert list(lines[f"cptw {CHOSEN}"].validation) == [best.removeprefix("cptw ")]


def test_tables_are_written_for_people_spreadsheets_and_programs(study: tuple[list[Line], Path]) -> None:
    lines, out = study
    written = json.loads((out / "knn.json").read_text())
    assert written == records(lines, "made-up")
    needed = {"dataset", "method", "variant", "vectors", "micro_f1", "macro_f1", "paper_micro_f1", "seconds"}
    assert all(needed <= set(record) for record in written)
    bow = next(record for record in written if (record["dataset"], record["method"]) == ("bbcsport", "bow"))
    assert (bow["paper_micro_f1"], bow["paper_macro_f1"]) == (0.980, 0.979)
    with (out / "knn.csv").open(newline="") as file:
        assert len(list(csv.DictReader(file))) == len(written)
    text = (out / "knn.md").read_text()
    (line,) = [line for line in lines if (line.dataset, line.name, line.reported) == ("bbcsport", "bow", True)]
    assert f"{line.micro_f1:.3f} (0.980, {line.micro_f1 - 0.980:+.3f})" in text.replace("*", "")
    facts = json.loads((out / "knn.provenance.json").read_text())
    assert facts["command"] == "cptw evaluate knn"
    assert facts["datasets"]["bbcsport"]["n_docs"] == 90
    assert {"numpy", "scipy", "code", "python"} <= set(facts["versions"])


def test_figures_are_drawn(study: tuple[list[Line], Path]) -> None:
    for name in ("f1", "tau", "iicr"):
        assert (study[1] / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (study[1] / f"{name}.svg").read_text()[:1000]


def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done: list[str] = []
    run_one = runner._run_one

    def run_twice(job: runner.Job) -> list[Outcome]:
        if len(done) == 2:
            raise KeyboardInterrupt
        done.append(job.method.name)
        return run_one(job)

    def start() -> list[Line]:
        return run_study(
            [make_texts(split=True)], make_vectors(), ["bow", "tfidf", "we-avg"], tmp_path, plan=PLAN,
            cache=ResultCache(tmp_path / "cache"), n_processes=1, progress=False,
        )  # fmt: skip

    monkeypatch.setattr(runner, "_run_one", run_twice)
    with pytest.raises(KeyboardInterrupt):
        start()
    monkeypatch.setattr(runner, "_run_one", lambda job: (done.append(job.method.name), run_one(job))[1])
    first = start()
    assert sorted(done) == ["bow", "tfidf", "we-avg"]
    second = start()
    assert len(done) == 3
    assert [line.micro_f1 for line in first] == [line.micro_f1 for line in second]


def test_two_processes_give_what_one_gives(tmp_path: Path) -> None:
    def right(n_processes: int) -> list[list[bool]]:
        lines = run_study(
            [make_texts(split=True)],
            make_vectors(),
            ["bow", "cptw"],
            tmp_path / str(n_processes),
            plan=PLAN,
            n_processes=n_processes,
            progress=False,
        )
        return [line.right.tolist() for line in lines]

    assert right(2) == right(1)


def test_a_cache_entry_is_found_by_content_and_a_damaged_one_is_not_used(tmp_path: Path) -> None:
    cache = ResultCache(tmp_path)
    key: dict[str, object] = {"data": "x", "parameters": [1, 2]}
    cache.put(key, {"f1": 0.5})
    assert cache.get({"parameters": [1, 2], "data": "x"}) == {"f1": 0.5}
    assert cache.get({**key, "data": "y"}) is None
    (path,) = tmp_path.iterdir()
    path.write_text("{")
    assert cache.get(key) is None


def test_the_version_of_code_changes_with_the_code() -> None:
    assert code_version(["propagation.py"])["code"] != code_version(["similarity.py"])["code"]


def test_ranks_share_places_and_leave_out_what_was_not_run_everywhere() -> None:
    def line(dataset: str, method: str, micro: float) -> Line:
        right = np.arange(100) < 100 * micro
        return Line(
            dataset,
            method,
            "",
            "distance",
            True,
            micro,
            micro,
            micro,
            micro,
            0,
            100,
            ({},),
            (1,),
            {},
            0,
            0,
            None,
            right,
        )

    lines = [line("x", "a", 0.9), line("x", "b", 0.5), line("x", "c", 0.5), line("y", "a", 0.4), line("y", "b", 0.8)]
    assert average_ranks(lines) == {"a": 1.5, "b": 1.5}
    assert average_ranks(lines[:3]) == {"a": 1.0, "b": 2.5, "c": 2.5}
    p_values = compare_with_best(lines, "a")
    assert set(p_values) == {("x", "b"), ("x", "c"), ("y", "b")}
    assert all(p_value < 0.001 for p_value in p_values.values())
    assert "+ 0.000*" in markdown_report(lines, "a")


def test_paper_columns() -> None:
    assert paper_method("cptw", "sum tf") == "cptw"
    assert paper_method("cptw", CHOSEN) == "cptw-idf"


def test_wrong_requests_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match="method must be one of 'bow'"):
        make_methods(["boww"], Plan())
    with pytest.raises(InvalidInputError, match="Got none"):
        make_methods([], Plan())
    with pytest.raises(InvalidInputError, match="different names"):
        run_study([make_texts(), make_texts()], make_vectors(), ["bow"], tmp_path)


def test_the_embedded_index_classifies_as_the_mathematics_does(study: tuple[list[Line], Path]) -> None:
    texts = make_texts(seed=3, split=True, name="reuters")
    for name in ("cptw l2 tf", "cptw l2 idf-released"):
        found = classify_through_index(texts, make_vectors(), study[0], name, PLAN)
        assert found.agreement == 1.0
        assert found.micro_f1 == found.expected_micro_f1
    with pytest.raises(InvalidInputError, match="evaluate it first"):
        classify_through_index(texts, make_vectors(), study[0], "cptw sum tf", PLAN)


def test_the_chosen_variant_may_be_another_in_each_split(study: tuple[list[Line], Path]) -> None:
    lines = [
        replace(line, parameters=({"tau": 0.3, "lambda": 0.5}, {"tau": 0.4})) if line.name == "cptw chosen" else line
        for line in study[0]
    ]
    assert "cptw chosen" in markdown_report(lines, "cptw l2 tf")
