"""Results on test collections as files: tables for people, for spreadsheets and for programs, and the runs."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.retrieval import TESTED_MEASURE, SystemResult
from cptw_search.evaluation.retrieval_measures import MEASURES
from cptw_search.evaluation.runs import write_run

__all__ = ["SIGNIFICANT", "cells", "markdown_table", "write_report"]

SIGNIFICANT = 0.05
"""Differences to BM25 whose corrected p-value is below this are marked."""

HEADER = ("collection", "system", "nDCG@10", "MAP", "recall@100", "MRR", "p vs BM25")


def cells(row: Mapping[str, object]) -> list[str]:
    """Say a row of the comparison table in short.

    Parameters
    ----------
    row : mapping
        One of `cptw_search.evaluation.retrieval.comparison_table`.

    Returns
    -------
    list of str
        The cells; a star behind the p-value marks a difference that stays significant after Holm's correction.

    Examples
    --------
    >>> measures = {"ndcg@10": 0.5, "map": 0.25, "recall@100": 1.0, "mrr": 0.125}
    >>> cells({"collection": "boats", "system": "cptw", **measures, "p_value_vs_bm25": 0.01, "p_value_holm": 0.02})
    ['boats', 'cptw', '0.5000', '0.2500', '1.0000', '0.1250', '0.0100*']
    """
    p_value, corrected = row["p_value_vs_bm25"], row["p_value_holm"]
    star = "*" if isinstance(corrected, float) and corrected < SIGNIFICANT else ""
    values = [row["collection"], row["system"], *(f"{row[name]:.4f}" for name in MEASURES)]
    return [*map(str, values), "" if p_value is None else f"{p_value:.4f}{star}"]


def markdown_table(rows: Sequence[Mapping[str, object]]) -> str:
    """Make a Markdown table, the best nDCG@10 of each collection in bold.

    Parameters
    ----------
    rows : sequence of mapping
        The comparison table.

    Returns
    -------
    str
        Markdown, with a line that says what the star means.
    """
    best: dict[object, float] = {}
    for row in rows:
        best[row["collection"]] = max(best.get(row["collection"], 0.0), _number(row[TESTED_MEASURE]))
    lines = [_line(HEADER), _line(["---"] * 2 + ["---:"] * (len(HEADER) - 2))]
    for row in rows:
        shown = [cell.replace("|", "\\|") for cell in cells(row)]
        if _number(row[TESTED_MEASURE]) == best[row["collection"]]:
            shown[2] = f"**{shown[2]}**"
        lines.append(_line(shown))
    note = (
        "p vs BM25: two-sided paired randomisation test of nDCG@10 per query. A star: below "
        f"{SIGNIFICANT:g} after Holm's correction for all tests of this table."
    )
    return "\n".join(lines) + f"\n\n{note}\n"


def _line(shown: Sequence[str]) -> str:
    return f"| {' | '.join(shown)} |"


def _number(value: object) -> float:
    return float(str(value))


def write_report(
    folder: str | Path,
    results: Sequence[SystemResult],
    rows: Sequence[Mapping[str, object]],
    settings: Mapping[str, object],
) -> list[Path]:
    """Write all files of a report; those of an earlier one are replaced.

    Parameters
    ----------
    folder : str or Path
        Made if it is missing.
    results : sequence of SystemResult
        The runs and their measures.
    rows : sequence of mapping
        The comparison table of these results.
    settings : mapping
        Plain data that says how they were made.

    Returns
    -------
    list of Path
        ``results.md``, ``results.csv``, ``results.json`` (a list of records), ``per_query.csv``, ``settings.json``, and the
        TREC run files ``runs/<collection>.<system>.run``.

    Raises
    ------
    InvalidInputError
        If two results have the same file name, or an id cannot stand in a run file.
    """
    folder = Path(folder)
    runs = _run_paths(folder / "runs", results)
    (folder / "runs").mkdir(parents=True, exist_ok=True)
    for path, result in runs.items():
        write_run(result.run, path, tag=result.system)
    texts = {
        "results.md": markdown_table(rows),
        "results.json": json.dumps(list(rows), indent=1, allow_nan=False) + "\n",
        "settings.json": json.dumps(settings, indent=1, allow_nan=False) + "\n",
    }
    for name, text in texts.items():
        (folder / name).write_text(text, encoding="utf-8", newline="\n")
    _write_csv(folder / "results.csv", rows)
    _write_csv(folder / "per_query.csv", _per_query(results))
    return [folder / name for name in ("results.md", "results.csv", *list(texts)[1:], "per_query.csv")] + list(runs)


def _run_paths(folder: Path, results: Sequence[SystemResult]) -> dict[Path, SystemResult]:
    paths: dict[Path, SystemResult] = {}
    for result in results:
        # Names of ir_datasets have slashes and colons.
        path = folder / (re.sub(r"[^\w.+-]+", "-", f"{result.collection}.{result.system}") + ".run")
        if path in paths:
            raise InvalidInputError(
                f"Every result must have a run file of its own. Got two for {path.name!r}: give collections different names."
            )
        paths[path] = result
    return paths


def _per_query(results: Sequence[SystemResult]) -> list[dict[str, object]]:
    return [
        {
            "collection": result.collection,
            "system": result.system,
            "query_id": query_id,
            **{name: result.scores.per_query[name][query_id] for name in MEASURES},
        }
        for result in results
        for query_id in result.scores.per_query[TESTED_MEASURE]
    ]


def _write_csv(path: Path, rows: Sequence[Mapping[str, object]]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]) if rows else [], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
