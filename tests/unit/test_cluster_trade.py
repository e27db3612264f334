"""The table of the placements' costs: what is drawn of texts, and that page and picture say what the records say."""

import importlib
import json
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
BLOCKS = {"classification": "micro_f1", "retrieval": "ndcg_hybrid"}


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("cluster_trade_report")


@pytest.fixture
def fill(monkeypatch: pytest.MonkeyPatch) -> Callable[[str, str, str], str]:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("pages").fill


@pytest.fixture
def measure(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    return importlib.import_module("cluster_trade_measure")


def made_up(measure: ModuleType) -> list[dict]:
    random = np.random.default_rng(0)
    records = []
    for task, qualities in (("a", ["micro_f1"]), ("b", ["ndcg_alone", "ndcg_hybrid"])):
        for variant in measure.VARIANTS:
            record = {"task": task, "variant": variant.name, "placement": variant.placement}
            record |= {"document_max_terms": variant.document_max_terms, "query_max_terms": variant.query_max_terms}
            record |= {"terms_per_document": 38.0, "index_bytes": 3e6, "index_ratio": 1 + 4 * random.random()}
            record |= {"docs_per_second": 1234.5, "whole_cut_share": 0.26}
            for search in ("four", "whole", "hybrid"):
                record |= {f"{search}_{point}_ms": 5 + 9 * random.random() for point in ("p50", "p95")}
            records.append(record | {quality: 0.3 + 0.1 * random.random() for quality in qualities})
    return records


def test_the_page_shows_the_records_of_a_full_run(
    report: ModuleType, measure: ModuleType, fill: Callable[[str, str, str], str]
) -> None:
    results = json.loads((DOCS / "results" / "cluster-trade.json").read_text())
    assert results["provenance"]["size"]["n_docs"] is None
    page = (DOCS / "cluster-trade.md").read_text()
    made = fill(page, "run", report.run_line(results["provenance"]))
    for block, quality in BLOCKS.items():
        own = [record for record in results["records"] if quality in record]
        assert [record["variant"] for record in own] == [variant.name for variant in measure.VARIANTS]
        assert own[0]["index_ratio"] == 1
        made = fill(made, block, report.table(own))
    assert made == page, "make it anew: python benchmarks/cluster_trade.py --redraw"


def test_rows_have_a_cell_for_every_head(report: ModuleType, measure: ModuleType) -> None:
    records = made_up(measure)
    for quality in BLOCKS.values():
        lines = report.table([record for record in records if quality in record]).splitlines()
        assert len(lines) == 2 + len(measure.VARIANTS)
        assert len({line.count("|") for line in lines}) == 1


def test_a_page_without_markers_is_refused(report: ModuleType, fill: Callable[[str, str, str], str]) -> None:
    with pytest.raises(ValueError, match="made: run.* once"):
        fill("no markers", "run", "text")
    with pytest.raises(ValueError, match="made: run.* once"):
        fill("<!-- made: run -->\nno end\n", "run", "text")


def test_the_picture_can_be_drawn(report: ModuleType, measure: ModuleType, tmp_path: Path) -> None:
    report.draw(made_up(measure), tmp_path / "trade.png")
    assert (tmp_path / "trade.png").stat().st_size > 10_000


def test_four_words_are_of_one_text_and_no_stop_words(measure: ModuleType) -> None:
    texts = ["The ship and the boat sail at sea", "too short", "Banks raise rates of interest in the spring"]
    queries = measure.draw_four_words(texts, "english", 20, np.random.default_rng(1))
    assert len(queries) == 20
    for query in queries:
        words = query.split()
        assert len(set(words)) == 4
        assert any(set(words) <= set(text.lower().split()) for text in texts)
        assert not {"the", "and", "at", "of", "in"} & set(words)
    assert queries == measure.draw_four_words(texts, "english", 20, np.random.default_rng(1))


def test_only_pruned_queries_share_an_index(measure: ModuleType) -> None:
    assert measure.Variant("query", query_max_terms=50).stored == measure.Variant("query")
    assert measure.Variant("both", 200).stored == measure.Variant("both", 200)
    assert measure.Variant("document", 1000).name == "document, documents 1,000"
