"""``cptw evaluate knn`` on files of made-up texts."""

import json
from pathlib import Path

import pytest
from command_line import Result
from made_up_texts import make_texts, make_vectors


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    make_vectors().save(tmp_path / "vectors.npz")
    data = make_texts(60, name="small")
    lines = [f"-\t{label}\t{text}\n" for label, text in zip(data.labels, data.texts, strict=True)]
    (tmp_path / "small.tsv").write_text("".join(lines))
    return tmp_path


def run(folder: Path, *args: object) -> Result:
    return Result(
        "evaluate", "knn", folder / "small.tsv", "--vectors", folder / "vectors.npz", "--out", folder / "out", "--quick",
        "--processes", 1, *args,
    )  # fmt: skip


def test_a_quick_evaluation_writes_tables_and_figures(folder: Path) -> None:
    result = run(folder, "--methods", "bow,cptw", "--engine", "embedded")
    assert result.status == 0, result.stderr
    assert "not for a comparison" in result.stderr
    assert "100.00% of the labels are the same" in result.stderr
    written = {path.name for path in (folder / "out").iterdir()}
    assert {"knn.md", "knn.csv", "knn.json", "knn.provenance.json", "f1.png", "tau.svg", "iicr.png"} <= written
    rows = json.loads((folder / "out" / "knn.json").read_text())
    assert {row["method"] for row in rows} == {"bow", "cptw"}
    (agreement,) = json.loads((folder / "out" / "engine.json").read_text())
    assert agreement["agreement"] == 1.0
    assert str(folder) not in (folder / "out" / "knn.provenance.json").read_text()


def test_wmd_is_run_where_it_is_asked_for(folder: Path) -> None:
    result = run(folder, "--methods", "bow", "--with-wmd")
    assert result.status == 0, result.stderr
    rows = json.loads((folder / "out" / "knn.json").read_text())
    assert {row["method"] for row in rows} == {"bow", "wmd"}


def test_wrong_options_are_one_line(folder: Path) -> None:
    result = run(folder, "--methods", "bow", "--engine", "embedded")
    assert result.status == 1
    assert "--engine needs cptw" in result.stderr
    result = Result("evaluate", "knn", folder / "small.tsv", "--vectors", "lsi", "--out", folder / "out")
    assert result.status == 1
    assert "--vectors must be a file" in result.stderr
