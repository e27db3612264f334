"""The results of classification as files: tables in Markdown, CSV and JSON, beside the paper's Table 2."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cptw_search.evaluation.measures import CHOSEN, Line, average_ranks, compare_with_best
from cptw_search.evaluation.paper_figures import TABLE_2, TABLE_2_MACRO

__all__ = ["SIGNIFICANT", "markdown_report", "paper_method", "records", "write_report"]

SIGNIFICANT = 0.05
"""Differences whose corrected p-value is below this are marked."""

_CSV_FIELDS = [
    "dataset",
    "method",
    "variant",
    "votes",
    "vectors",
    "micro_f1",
    "macro_f1",
    "paper_micro_f1",
    "paper_macro_f1",
    "micro_f1_no_copies",
    "macro_f1_no_copies",
    "n_copies",
    "n_test",
    "k",
    "parameters",
    "seconds",
    "tuning_seconds",
    "peak_bytes",
]


def paper_method(method: str, variant: str) -> str:
    """Give the column of the paper's Table 2 that a variant stands for.

    Parameters
    ----------
    method : str
        A method.
    variant : str
        Its variant.

    Returns
    -------
    str
        The method's name in `cptw_search.evaluation.paper_figures`.

    Examples
    --------
    >>> paper_method("cptw", "l2 tf"), paper_method("cptw", "l2 idf-released"), paper_method("bow", "")
    ('cptw', 'cptw-idf', 'bow')
    """
    return "cptw-idf" if method == "cptw" and not variant.endswith("tf") else method


def _paper(line: Line, *, macro: bool = False) -> float | None:
    table = TABLE_2_MACRO if macro else TABLE_2
    return table.get(line.dataset, {}).get(paper_method(line.method, line.variant))


def records(lines: Sequence[Line], vectors: str) -> list[dict[str, object]]:
    """Give lines as plain data.

    Parameters
    ----------
    lines : sequence of Line
        The results.
    vectors : str
        The name of the word vectors.

    Returns
    -------
    list of dict
        One a line; what cannot be computed is None.
    """
    return [
        {
            "dataset": line.dataset,
            "method": line.method,
            "variant": line.variant,
            "votes": line.votes,
            "reported": line.reported,
            "vectors": vectors,
            "micro_f1": _rounded(line.micro_f1),
            "macro_f1": _rounded(line.macro_f1),
            "paper_micro_f1": _paper(line),
            "paper_macro_f1": _paper(line, macro=True),
            "micro_f1_no_copies": _rounded(line.micro_f1_no_copies),
            "macro_f1_no_copies": _rounded(line.macro_f1_no_copies),
            "n_copies": line.n_copies,
            "n_test": line.n_test,
            "k": list(line.ks),
            "parameters": [dict(chosen) for chosen in line.parameters],
            "validation": {name: round(value, 5) for name, value in line.validation.items()},
            "seconds": round(line.seconds, 2),
            "tuning_seconds": round(line.tuning_seconds, 2),
            "peak_bytes": line.peak_bytes,
        }
        for line in lines
    ]


def _rounded(value: float) -> float | None:
    return None if np.isnan(value) else round(value, 5)


def markdown_report(lines: Sequence[Line], ours: str, title: str = "Classification by nearest neighbours") -> str:
    """Lay results beside the paper's, cell by cell.

    Parameters
    ----------
    lines : sequence of Line
        The results.
    ours : str
        The method whose differences to all others are tested, such as ``"cptw l2 idf-released"``.
    title : str, default "Classification by nearest neighbours"
        The first line.

    Returns
    -------
    str
        Markdown.
    """
    shown = [line for line in lines if line.reported]
    parts = [
        f"# {title}",
        "Micro F1: ours, the paper's Table 2 in brackets, and the difference. The best of ours in bold. Every `idf-` variant "
        "of CPTW stands beside the paper's CPTW_IDF.",
        _table(shown, macro=False),
        "Macro F1, in the same way.",
        _table(shown, macro=True),
        _ranks(shown),
        _significance(shown, ours),
        _copies(shown),
        _votes(lines),
        _costs(shown),
        _chosen(shown),
    ]
    return "\n\n".join(part for part in parts if part) + "\n"


def _names(lines: Sequence[Line]) -> tuple[list[str], list[str], dict[tuple[str, str], Line]]:
    cells = {(line.name, line.dataset): line for line in lines}
    return list(dict.fromkeys(name for name, _ in cells)), list(dict.fromkeys(data for _, data in cells)), cells


def _row(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _rows(header: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    return "\n".join([_row(header), _row(["---"] + ["---:"] * (len(header) - 1)), *map(_row, body)])


def _table(lines: Sequence[Line], *, macro: bool) -> str:
    names, datasets, cells = _names(lines)

    def value(line: Line) -> float:
        return line.macro_f1 if macro else line.micro_f1

    best = {
        dataset: max(value(line) for line in lines if line.dataset == dataset and not _sampled(line, lines))
        for dataset in datasets
    }
    body = []
    for name in names:
        row = [name]
        for dataset in datasets:
            line = cells.get((name, dataset))
            row.append(
                ""
                if line is None
                else _cell(
                    value(line), _paper(line, macro=macro), value(line) >= best[dataset] and not _sampled(line, lines)
                )
            )
        own = [cells[name, dataset] for dataset in datasets if (name, dataset) in cells]
        if len(own) == len(datasets):
            printed = [_paper(line, macro=macro) for line in own]
            known = [number for number in printed if number is not None]
            paper_mean = float(np.mean(known)) if len(known) == len(own) else None
            row.append(_cell(float(np.mean([value(line) for line in own])), paper_mean, False))
        else:
            row.append("")
        body.append(row)
    return _rows(["method", *datasets, "mean"], body)


def _sampled(line: Line, lines: Sequence[Line]) -> bool:
    """Tell whether a method was run on some of the test documents only."""
    return line.n_test < max(other.n_test for other in lines if other.dataset == line.dataset)


def _cell(ours: float, paper: float | None, bold: bool) -> str:
    text = f"**{ours:.3f}**" if bold else f"{ours:.3f}"
    return text if paper is None else f"{text} ({paper:.3f}, {ours - paper:+.3f})"


def _ranks(lines: Sequence[Line]) -> str:
    ranks = average_ranks(lines)
    if len(ranks) < 2:
        return ""
    body = [[name, f"{rank:.2f}"] for name, rank in ranks.items()]
    return "Mean rank over the data sets, by micro F1 (1 is the best).\n\n" + _rows(["method", "mean rank"], body)


def _significance(lines: Sequence[Line], ours: str) -> str:
    p_values = compare_with_best(lines, ours)
    if not p_values:
        return ""
    names, datasets, cells = _names(lines)
    body = []
    for name in names:
        row = [name]
        for dataset in datasets:
            p_value = p_values.get((dataset, name))
            if p_value is None:
                row.append("")
                continue
            difference = cells[ours, dataset].right.mean() - cells[name, dataset].right.mean()
            sign = "+" if difference > 0 else "-" if difference < 0 else "="
            row.append(f"{sign} {p_value:.3f}" + ("*" if p_value < SIGNIFICANT else ""))
        if any(row[1:]):
            body.append(row)
    return (
        f"`{ours}` against each other method: + where it is right more often, with the p-value of McNemar's test over the "
        f"test documents after Holm's correction for all {len(p_values)} tests of this table; a star below {SIGNIFICANT:g}."
        "\n\n" + _rows(["against", *datasets], body)
    )


def _copies(lines: Sequence[Line]) -> str:
    names, datasets, cells = _names(lines)
    counted = {line.dataset: line.n_copies for line in reversed(lines) if not _sampled(line, lines)}
    if not any(counted.values()):
        return ""
    body = []
    for name in names:
        own = [cells.get((name, dataset)) for dataset in datasets]
        body.append([name, *("" if line is None else f"{line.micro_f1_no_copies:.3f}" for line in own)])
    said = ", ".join(f"{dataset} {counted.get(dataset, 0)}" for dataset in datasets)
    return f"Micro F1 without the test documents that have an exact copy in the training part ({said}).\n\n" + _rows(
        ["method", *datasets], body
    )


def _votes(lines: Sequence[Line]) -> str:
    if all(line.reported for line in lines):
        return ""
    names, datasets, cells = _names([line for line in lines if line.votes == "uniform"])
    reported = {(line.name, line.dataset): line for line in lines if line.reported}
    body = []
    for name in names:
        row = [name]
        for dataset in datasets:
            plain, weighted = cells.get((name, dataset)), reported.get((name, dataset))
            both = plain is not None and weighted is not None
            row.append(f"{plain.micro_f1:.3f} ({plain.micro_f1 - weighted.micro_f1:+.3f})" if both else "")  # type: ignore[union-attr]
        body.append(row)
    return (
        "Micro F1 with one vote a neighbour in place of votes weighted by distance (BM25: by score), and the difference to the "
        "tables above.\n\n" + _rows(["method", *datasets], body)
    )


def _costs(lines: Sequence[Line]) -> str:
    names, datasets, cells = _names(lines)
    body = []
    for name in names:
        own = [cells.get((name, dataset)) for dataset in datasets]
        body.append([name, *("" if line is None else _cost(line) for line in own)])
    return (
        "Seconds to fit and test with the chosen parameters, on one core, all folds together; in brackets the most memory "
        "that a test took beyond what was there, in MB.\n\n" + _rows(["method", *datasets], body)
    )


def _cost(line: Line) -> str:
    memory = "" if line.peak_bytes is None else f" ({line.peak_bytes / 1e6:.0f})"
    return f"{line.seconds:.1f}{memory}"


def _chosen(lines: Sequence[Line]) -> str:
    names, datasets, cells = _names(lines)
    body = []
    for name in names:
        own = [cells.get((name, dataset)) for dataset in datasets]
        body.append([name, *("" if line is None else _parameters(line) for line in own)])
    return "What validation chose: parameters and k, the middle one of the folds and their range.\n\n" + _rows(
        ["method", *datasets], body
    )


def _parameters(line: Line) -> str:
    if line.variant == CHOSEN:  # which may be another variant in each split, with other parameters
        return ", ".join(line.validation)
    chosen: dict[str, list[float]] = {name: [p[name] for p in line.parameters] for name in line.parameters[0]}
    chosen["k"] = [float(k) for k in line.ks]
    return "; ".join(f"{name} {_spread(values)}" for name, values in chosen.items())


def _spread(values: Sequence[float]) -> str:
    middle = float(np.median(values))
    return f"{middle:g}" if min(values) == max(values) else f"{middle:g} ({min(values):g} to {max(values):g})"


def write_report(
    folder: Path, lines: Sequence[Line], ours: str, vectors: str, provenance: Mapping[str, object]
) -> list[Path]:
    """Write all tables of a report; those of an earlier one are replaced.

    Parameters
    ----------
    folder : Path
        Made if it is missing.
    lines : sequence of Line
        The results.
    ours : str
        The method whose differences to all others are tested.
    vectors : str
        The name of the word vectors.
    provenance : mapping
        How the results were made, as plain data.

    Returns
    -------
    list of Path
        ``knn.md``, ``knn.csv``, ``knn.json`` (a list of records) and ``knn.provenance.json``.
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = records(lines, vectors)
    paths = [folder / name for name in ("knn.md", "knn.csv", "knn.json", "knn.provenance.json")]
    paths[0].write_text(markdown_report(lines, ours), encoding="utf-8")
    with paths[1].open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _CSV_FIELDS, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(
            {**row, "k": json.dumps(row["k"]), "parameters": json.dumps(row["parameters"])} for row in rows
        )
    paths[2].write_text(_json_lines(rows), encoding="utf-8")
    paths[3].write_text(json.dumps(provenance, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return paths


def _json_lines(rows: Sequence[Mapping[str, object]]) -> str:
    """Write a list with one record a line, which a reader of differences can follow."""
    return "[\n" + ",\n".join(json.dumps(row, allow_nan=False) for row in rows) + "\n]\n"
