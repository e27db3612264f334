"""The page on clusters larger than the measured one: its arithmetic, and that it says what was measured."""

import importlib
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
MEASURED = {
    "bytes_per_document": 700.0,
    "kept_bytes_per_document": 300.0,
    "docs_per_second": 2_000.0,
    "n_docs": 10_000,
    "p50_ms": 5.0,
    "n_docs_larger": 50_000,
    "p50_ms_larger": 5.4,  # 10 ms a million documents
}


@pytest.fixture
def arithmetic(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("scale_arithmetic")


def test_a_hundred_million_documents_on_ten_machines(arithmetic: ModuleType) -> None:
    scale = arithmetic.reckon(MEASURED, 2, n_docs=100_000_000, n_machines=10)
    assert scale.index_bytes == 70e9
    assert scale.loading_bytes == 100e9
    assert scale.n_shards == 10  # three would do, but each machine shall have one
    assert scale.load_hours == pytest.approx(100e6 / 20e3 / 3600)
    assert scale.core_ms == pytest.approx(1_000)
    assert scale.query_ms == pytest.approx(4.9 + 100)  # ten million documents a shard, all shards at once


def test_shards_are_bounded_in_size_and_searched_by_turns(arithmetic: ModuleType) -> None:
    scale = arithmetic.reckon(MEASURED, 2, n_docs=100_000_000, n_machines=1)
    assert scale.n_shards == 3
    assert scale.query_ms == pytest.approx(4.9 + 2 * 1_000 / 3)  # two cores: two shards, then one


def test_noise_does_not_make_a_query_cheaper_than_nothing(arithmetic: ModuleType) -> None:
    scale = arithmetic.reckon({**MEASURED, "p50_ms_larger": 4.8}, 2)
    assert (scale.core_ms, scale.query_ms) == (0, 5)


def test_the_page_shows_what_was_measured(arithmetic: ModuleType) -> None:
    page = arithmetic.PAGE.read_text(encoding="utf-8")
    assert arithmetic.filled(page) == page, "make it anew: python benchmarks/scale_arithmetic.py"


def test_a_row_for_each_placement_with_a_cell_for_each_head(arithmetic: ModuleType) -> None:
    known = {"run": {"machine": {"cores": 2}}, "placements": dict.fromkeys(arithmetic.ROWS, MEASURED)}
    head, _, *rows = arithmetic.table(known).splitlines()
    assert [row.split("|")[1].strip() for row in rows] == list(arithmetic.ROWS.values())
    assert {row.count("|") for row in rows} == {head.count("|")}
    # 70 GB, 100 right after the load, 10 shards, 5,000 s, 10 ms a million, 1 s of a core, 105 ms, 20 cores
    assert rows[0] == "| BM25 alone | 700 | 70 | 100 | 10 | 1.4 | 10 | 1 | 100 | 20 |"
