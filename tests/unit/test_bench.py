"""The benchmarks' records and their report, on made-up measurements; and that docs/speed.md says what its records say."""

import importlib
import json
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGE = "".join(f"{name}:\n<!-- made: {name} -->\nold\n<!-- end -->\n" for name in ("run", "table", "limits", "cluster"))
PROVENANCE = {
    "command": "python benchmarks/bench.py",
    "date": "2026-01-02",
    "seconds": 300,
    "parts": {"start": {"date": "2026-01-02", "seconds": 300, "load_before": 0.1}},
    "machine": {"processor": "a processor", "cores": 2, "memory_gb": 8.0},
    "versions": {"python": "3.12.1", "numpy": "2.4.6"},
}


@pytest.fixture
def module(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module


@pytest.fixture
def harness(module) -> ModuleType:
    return module("bench_harness")


@pytest.fixture
def report(module) -> ModuleType:
    return module("bench_report")


def made_up(harness: ModuleType) -> list[dict]:
    limit = {"limit": [0.2, 0.3, 0.4], "limit_is": "the bare sum"}
    return [
        harness.record(
            "a sum", "abacus", [0.5, 0.4, 0.9], 60.0, "s", most=1 / 60, mark="at least 60 times faster", **limit
        ),
        harness.record("a sum", "fingers", [0.5, 0.4, 0.9], [0.2, 0.3], "s", most=1.0, mark="fastest", **limit),
        harness.record("its memory", "1 GB", 250.0, 1000.0, "MB", most=1.0, mark="under 1 GB", n_summands=3),
    ]


def test_a_record_has_every_field_and_tells_whether_its_mark_is_reached(harness: ModuleType) -> None:
    faster, slower, memory = made_up(harness)
    for one in (faster, slower, memory):
        assert set(harness.FIELDS) <= set(one)
    assert (faster["ours"], faster["theirs"], faster["limit"]) == (0.5, 60.0, 0.3)
    assert faster["ours_spread"] == [0.4, 0.9]
    assert faster["reached"]
    assert slower["ratio"] == 2.0
    assert not slower["reached"]
    assert slower["over_limit"] == pytest.approx(0.5 / 0.3)
    assert memory["limit"] is None
    assert memory["facts"] == {"n_summands": 3}


def test_works_are_timed_in_turn(harness: ModuleType) -> None:
    calls: list[str] = []
    seconds = harness.interleave({"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2)
    assert calls == ["a", "b"] * 3  # the first ones warm up
    assert [len(times) for times in seconds.values()] == [2, 2]


def test_the_page_gets_a_line_for_every_record(harness: ModuleType, report: ModuleType) -> None:
    records = made_up(harness)
    text = report.page(PAGE, records, PROVENANCE, "| what ran on a cluster |")
    lines = [line for line in text.splitlines() if line.startswith("| a sum") or line.startswith("| its memory")]
    assert len(lines) == len(records)
    assert len({line.count("|") for line in report.table(records).splitlines()}) == 1
    assert "| 1/120 | at least 60 times faster | yes |" in lines[0]
    assert "| 2.00 | fastest | **no** |" in lines[1]
    assert lines[2].endswith("| - | - |")
    assert "- a sum: the bare sum." in text
    assert "old" not in text
    assert "a processor, 2 cores" in text
    assert "| what ran on a cluster |" in text


def test_the_cluster_records_are_shown_where_there_are_any(
    harness: ModuleType, report: ModuleType, tmp_path: Path
) -> None:
    assert "was not run" in report.cluster_block(tmp_path)
    run = {"command": "a command", "date": "2026-11-16", "seconds": 300, "server": "A server 1"}
    run |= {"machine": {"server_heap": "1g", "cores": 2, "load_before": 0.5}, "versions": {"elasticsearch": "8"}}
    (tmp_path / "bench-cluster.json").write_text(json.dumps({"run": run, "records": made_up(harness)}))
    shown = report.cluster_block(tmp_path)
    assert "`a command`, 2026-11-16, 5 minutes; A server 1 with a heap of 1g" in shown
    assert report.table(made_up(harness)) in shown
    assert "- a sum: the bare sum." in shown


def test_a_page_without_its_markers_is_refused(report: ModuleType) -> None:
    with pytest.raises(ValueError, match="must have '<!-- made: table -->' once"):
        report.fill("nothing here", "table", "new")


def test_the_picture_is_drawn(harness: ModuleType, report: ModuleType, tmp_path: Path) -> None:
    report.draw(made_up(harness), tmp_path / "figures" / "speed.png")
    assert (tmp_path / "figures" / "speed.png").stat().st_size > 5_000


def test_speed_md_shows_the_records_of_a_full_run(harness: ModuleType, report: ModuleType) -> None:
    results = json.loads((DOCS / "results" / "bench.json").read_text())
    assert results["provenance"]["size"]["n_terms"] is None
    for one in results["records"]:
        assert set(harness.FIELDS) <= set(one)
    text = (DOCS / "speed.md").read_text()
    made = report.page(text, results["records"], results["provenance"], report.cluster_block(DOCS / "results"))
    assert made == text, "make it anew: python benchmarks/bench.py --redraw"


def test_the_guard_tells_what_is_too_slow_and_tries_twice(module, monkeypatch: pytest.MonkeyPatch) -> None:
    guard = module("guard")
    tried: list[str] = []

    def ratio(works: tuple[str, list[float]]) -> float:
        tried.append(works[0])
        return works[1].pop(0)

    monkeypatch.setattr(guard, "ratio", ratio)
    makers = [lambda: ("quick", [1.0]), lambda: ("disturbed", [9.0, 1.0]), lambda: ("slow", [9.0, 8.0])]
    assert guard.check(makers, {"a": 2.0, "b": 2.0, "c": 2.0}) == ["c"]
    assert tried == ["quick", "disturbed", "disturbed", "slow", "slow"]
