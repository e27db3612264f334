"""The records of cluster_trade.py as tables of docs/cluster-trade.md and as a picture."""

from __future__ import annotations

import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

Record = Mapping[str, Any]

COLOURS = {"bm25": "#000000", "query": "#0072b2", "both": "#009e73", "document": "#d55e00"}
MARKS = {"bm25": "*", "query": "o", "both": "s", "document": "D"}
# What is drawn: the quality, and the latency of the queries that it was measured with.
PANELS = (
    ("micro_f1", "micro F1, kNN", "whole", "p50 of a whole-document query, ms"),
    ("ndcg_hybrid", "nDCG@10, hybrid", "hybrid", "p50 of a judged query, hybrid, ms"),
)


def table(records: Sequence[Record]) -> str:
    """Make the table of one collection.

    >>> print(table([{"variant": "bm25", "terms_per_document": 38.1, "index_bytes": 3_100_000, "index_ratio": 1.0,
    ...     "docs_per_second": 4321.0, "four_p50_ms": 2.04, "four_p95_ms": 3.16, "whole_p50_ms": 5.0, "whole_p95_ms": 11.2,
    ...     "whole_cut_share": 0.0, "micro_f1": 0.9123}]))
    | | terms a document | index, MB | of BM25's | documents/s | four words, ms | whole document, ms | cut | micro F1 |
    |---|--:|--:|--:|--:|--:|--:|--:|--:|
    | BM25 alone | 38 | 3.1 | 1.0 | 4,300 | 2.0 / 3.2 | 5.0 / 11 | 0 % | 0.912 |
    """
    heads = [
        "",
        "terms a document",
        "index, MB",
        "of BM25's",
        "documents/s",
        "four words, ms",
        "whole document, ms",
        "cut",
    ]
    is_retrieval = "ndcg_alone" in records[0]
    heads += ["judged, hybrid, ms", "nDCG@10 alone", "nDCG@10 hybrid"] if is_retrieval else ["micro F1"]
    lines = ["|" + " |".join(f" {head}".rstrip() for head in heads) + " |", "|---|" + "--:|" * (len(heads) - 1)]
    for record in records:
        is_bm25 = record["variant"] == "bm25"
        cells = [
            "BM25 alone" if is_bm25 else str(record["variant"]),
            f"{record['terms_per_document']:,.0f}",
            f"{record['index_bytes'] / 1e6:.1f}",
            f"{record['index_ratio']:.1f}",
            f"{_rounded(record['docs_per_second']):,.0f}",
            _pair(record, "four"),
            _pair(record, "whole"),
            f"{record['whole_cut_share']:.0%}".replace("%", " %"),
        ]
        if is_retrieval:
            cells += ["-" if is_bm25 else _pair(record, "hybrid"), f"{record['ndcg_alone']:.3f}"]
            cells += ["-" if is_bm25 else f"{record['ndcg_hybrid']:.3f}"]
        else:
            cells += [f"{record['micro_f1']:.3f}"]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _rounded(number: float) -> float:
    """Two digits: a rate is not known better."""
    return float(f"{number:.2g}")


def _pair(record: Record, search: str) -> str:
    return " / ".join(_short(record[f"{search}_{point}_ms"]) for point in ("p50", "p95"))


def _short(milliseconds: float) -> str:
    return f"{milliseconds:.1f}" if milliseconds < 10 else f"{milliseconds:.0f}"


def run_line(provenance: Mapping[str, Any]) -> str:
    """Say in a sentence how the figures were had."""
    machine, versions = provenance["machine"], provenance["versions"]
    sentence = (
        f"`{provenance['command']}`, {provenance['date']}, {provenance['seconds'] / 60:.0f} minutes. {versions['server']} with "
        f"a heap of {machine['server_heap']} and Python {versions['python']} on one machine: {machine['cores']} cores, "
        f"{machine['memory_gb']:.0f} GB; load before the start {machine['load_before']:.1f}."
    )
    return textwrap.fill(sentence, 120, break_on_hyphens=False)


def draw(records: Sequence[Record], path: Path) -> None:
    """Draw quality against size and against latency, one row a collection."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10.5, 8.2), layout="constrained")
    axes = figure.subplots(len(PANELS), 2, squeeze=False, sharey="row")
    for row, (quality, quality_label, search, latency_label) in zip(axes, PANELS, strict=True):
        own = [record for record in records if quality in record]
        task = own[0]["task"]
        _panel(row[0], own, quality, "index_ratio")
        _panel(row[1], own, quality, f"{search}_p50_ms")
        row[0].set_ylabel(f"{task}: {quality_label}")
        row[0].set_xlabel("size of the index, times that of BM25 alone")
        row[1].set_xlabel(latency_label)
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=len(labels), frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})


def _panel(axis: Any, records: Sequence[Record], quality: str, cost: str) -> None:
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    for placement in COLOURS:
        own = [record for record in records if record["placement"] == placement]
        costs, heights = [record[cost] for record in own], [record[quality] for record in own]
        label = "BM25 alone" if placement == "bm25" else f"placement {placement}"
        style = {"color": COLOURS[placement], "marker": MARKS[placement], "label": label}
        axis.plot(costs, heights, linewidth=1, markersize=11 if placement == "bm25" else 6, alpha=0.85, **style)
        if placement == "bm25":
            axis.axhline(heights[0], color="0.6", linewidth=0.8, linestyle=":", zorder=0)
    for record in records:
        if record["placement"] != "bm25":
            _name_point(axis, record, quality, cost)
    if cost == "index_ratio":  # latencies lie closer together
        axis.set_xscale("log")
        axis.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
        axis.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        axis.xaxis.set_minor_formatter(NullFormatter())
    axis.margins(x=0.12, y=0.14)
    axis.grid(alpha=0.25)


def _name_point(axis: Any, record: Record, quality: str, cost: str) -> None:
    """Write beside a point how many terms are kept; where, is such that names seldom meet."""
    most = record["document_max_terms"] or record["query_max_terms"]
    sides = {
        ("query", True): (-7, 0, "right", "center"),
        ("query", False): (0, 6, "center", "bottom"),
        ("both", True): (5, -5, "left", "top"),
        ("both", False): (7, 0, "left", "center"),
        ("document", True): (0, 6, "center", "bottom"),
        ("document", False): (0, -6, "center", "top"),
    }
    x, y, horizontal, vertical = sides[record["placement"], most is not None]
    axis.annotate(
        f"{most:,}" if most else "all",
        (record[cost], record[quality]),
        xytext=(x, y),
        textcoords="offset points",
        fontsize=8,
        color=COLOURS[record["placement"]],
        ha=horizontal,
        va=vertical,
    )
