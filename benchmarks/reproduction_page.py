"""Fill the tables of docs/reproduction.md from docs/results/knn.json and knn-wmd.json; `make reproduce` calls it.

Usage: python benchmarks/reproduction_page.py [--results docs/results/knn.json] [--page docs/reproduction.md]
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pages import fill

Record = Mapping[str, Any]


def name(record: Record) -> str:
    """Name a line of the tables."""
    return f"{record['method']} {record['variant']}".strip()


def by_cell(records: Sequence[Record]) -> dict[tuple[str, str], Record]:
    """Find the reported figure of each line and data set."""
    return {(name(record), record["dataset"]): record for record in records if record["reported"]}


def table(records: Sequence[Record]) -> str:
    """Lay out micro F1, the paper's in brackets."""
    cells = by_cell(records)
    names, datasets = (list(dict.fromkeys(key[place] for key in cells)) for place in (0, 1))
    lines = [f"| micro F1 (paper) | {' | '.join(datasets)} | mean |", "|---" + "|---:" * (len(datasets) + 1) + "|"]
    for one in names:
        own = [cells[one, dataset] for dataset in datasets]
        shown = [f"{record['micro_f1']:.3f} ({record['paper_micro_f1']:.3f})" for record in own]
        mean, paper = (sum(record[key] for record in own) / len(own) for key in ("micro_f1", "paper_micro_f1"))
        lines.append(f"| {one} | {' | '.join(shown)} | {mean:.4f} ({paper:.3f}) |")
    return "\n".join(lines)


def sampled(records: Sequence[Record]) -> str:
    """Lay out a method that was run on a sample: micro F1, with how many documents it was measured on."""
    lines = ["| | micro F1 (paper) | documents | seconds, testing and choosing k |", "|---|---:|---:|---:|"]
    for (one, dataset), record in by_cell(records).items():
        paper = record["paper_micro_f1"]
        figure = f"{record['micro_f1']:.3f} ({'none' if paper is None else f'{paper:.3f}'})"
        seconds = record["seconds"] + record["tuning_seconds"]
        lines.append(f"| {one}, {dataset} | {figure} | {record['n_test']} | {seconds:,.0f} |")
    return "\n".join(lines)


def variants(records: Sequence[Record]) -> str:
    """Lay out how far each variant of CPTW is from the paper."""
    cells = by_cell(records)
    lines = ["| variant | beside the paper's | mean absolute difference | largest |", "|---|---|---:|---:|"]
    for one in dict.fromkeys(key[0] for key in cells):
        if one.startswith(("cptw l2", "cptw sum")):
            off = [
                abs(record["micro_f1"] - record["paper_micro_f1"]) for (own, _), record in cells.items() if own == one
            ]
            paper = "CPTW" if one.endswith(" tf") else "CPTW_IDF"
            lines.append(f"| `{one.removeprefix('cptw ')}` | {paper} | {sum(off) / len(off):.4f} | {max(off):.4f} |")
    return "\n".join(lines)


def fixed(records: Sequence[Record]) -> str:
    """Lay out what each variant of CPTW has in validation with one tau for all data sets."""
    cells = by_cell(records)
    datasets = list(dict.fromkeys(key[1] for key in cells))
    lines = [
        "| variant | best tau for all | mean micro F1 in validation | lowest tau to 0.005 below | highest |",
        "|---|---:|---:|---:|---:|",
    ]
    for one in dict.fromkeys(key[0] for key in cells):
        if one.startswith(("cptw l2", "cptw sum")):
            own = [cells[one, dataset]["validation"] for dataset in datasets]
            means = {tau: sum(values[tau] for values in own) / len(own) for tau in own[0]}
            best = max(means, key=lambda tau: means[tau])
            near = [float(tau.removeprefix("tau ")) for tau, mean in means.items() if mean >= means[best] - 0.005]
            lines.append(
                f"| `{one.removeprefix('cptw ')}` | {best.removeprefix('tau ')} | {means[best]:.4f} | {min(near):g} | {max(near):g} |"
            )
    return "\n".join(lines)


def main() -> None:
    """Read, lay out, write."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--results", type=Path, default=Path("docs/results/knn.json"))
    parser.add_argument("--page", type=Path, default=Path("docs/reproduction.md"))
    arguments = parser.parse_args()
    records = json.loads(arguments.results.read_text(encoding="utf-8"))
    text = arguments.page.read_text(encoding="utf-8")
    for marker, content in (("knn", table), ("variants", variants), ("fixed", fixed)):
        text = fill(text, marker, content(records))
    slow = json.loads(arguments.results.with_name("knn-wmd.json").read_text(encoding="utf-8"))
    text = fill(text, "wmd", sampled(slow))
    arguments.page.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
