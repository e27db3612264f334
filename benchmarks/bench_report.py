"""The records of bench.py as the tables and the picture of docs/speed.md."""

from __future__ import annotations

import json
import textwrap
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pages import fill

Record = Mapping[str, Any]

REACHED, MISSED = "yes", "**no**"


def table(records: Sequence[Record]) -> str:
    """Make the table of what was measured.

    >>> one = {"work": "a sum", "competitor": "numpy", "ours": 0.5, "theirs": 40.0, "limit": 0.25, "unit": "s",
    ...     "ratio": 0.0125, "mark": "at least 60 times faster", "reached": True, "ours_spread": [0.4, 0.6],
    ...     "theirs_spread": [40.0, 40.0], "over_limit": 2.0}
    >>> print(table([one]))
    | work | against | ours | theirs | ours / theirs | mark | reached | the machine's limit | ours / limit |
    |---|---|--:|--:|--:|---|---|--:|--:|
    | a sum | numpy | 0.50 s (0.40 to 0.60) | 40 s | 1/80 | at least 60 times faster | yes | 0.25 s | 2.0 |
    """
    heads = [
        "work",
        "against",
        "ours",
        "theirs",
        "ours / theirs",
        "mark",
        "reached",
        "the machine's limit",
        "ours / limit",
    ]
    lines = ["| " + " | ".join(heads) + " |", "|---|---|--:|--:|--:|---|---|--:|--:|"]
    for one in records:
        unit = one["unit"]
        cells = [
            one["work"],
            one["competitor"],
            _figure(one["ours"], unit, one["ours_spread"]),
            _figure(one["theirs"], unit, one["theirs_spread"]),
            ratio_text(one["ratio"]),
            one["mark"],
            REACHED if one["reached"] else MISSED,
            "-" if one["limit"] is None else _figure(one["limit"], unit),
            "-" if one["limit"] is None else _short(one["over_limit"]),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cluster_block(results: Path) -> str:
    """Show what bench_cluster.py wrote beside the results of bench.py."""
    path = results / "bench-cluster.json"
    if not path.exists():
        return "`python benchmarks/bench_cluster.py` was not run."
    found = json.loads(path.read_text())
    run, machine = found["run"], found["run"]["machine"]
    sentence = (
        f"`{run['command']}`, {run['date']}, {run['seconds'] / 60:.0f} minutes; {run['server']} with a heap of {machine['server_heap']} "
        f"and the client on one machine with {machine['cores']} cores; load before {machine['load_before']:.1f}; "
        f"elasticsearch-py {run['versions']['elasticsearch']}."
    )
    shown = [textwrap.fill(sentence, 120, break_on_hyphens=False), table(found["records"]), limits(found["records"])]
    return "\n\n".join(shown)


def ratio_text(ratio: float) -> str:
    """Write a ratio; a small one as a fraction.

    >>> ratio_text(1.234), ratio_text(0.52), ratio_text(0.0125)
    ('1.23', '0.52', '1/80')
    """
    return f"{ratio:.2f}" if ratio >= 0.2 else f"1/{_short(1 / ratio)}"


def _short(number: float) -> str:
    return f"{number:,.0f}" if number >= 10 else f"{number:.1f}"


def _digits(number: float) -> str:
    return f"{number:,.0f}" if number >= 100 else f"{number:.1f}" if number >= 10 else f"{number:#.2g}"


def _figure(number: float, unit: str, spread: Sequence[float] | None = None) -> str:
    text = f"{number:.0f} {unit}" if 10 <= number < 100 and float(number).is_integer() else f"{_digits(number)} {unit}"
    if spread is None or spread[0] == spread[1]:
        return text
    return f"{text} ({_digits(spread[0])} to {_digits(spread[1])})"


def run_line(provenance: Mapping[str, Any]) -> str:
    """Say in a sentence how the figures were had."""
    machine, versions, parts = provenance["machine"], provenance["versions"], provenance["parts"].values()
    names = ", ".join(f"{name} {version}" for name, version in versions.items() if name != "python")
    loads = [part["load_before"] for part in parts]
    sentence = (
        f"`{provenance['command']}`, {provenance['date']}, {provenance['seconds'] / 60:.0f} minutes, on {machine['processor']}, "
        f"{machine['cores']} cores, {machine['memory_gb']:.0f} GB; load before the parts {min(loads):.1f} to {max(loads):.1f}. "
        f"Python {versions['python']}; {names}."
    )
    return textwrap.fill(sentence, 120, break_on_hyphens=False)


def limits(records: Sequence[Record]) -> str:
    """List what each limit is."""
    known = dict.fromkeys((one["limit_is"], one["work"]) for one in records if one["limit"] is not None)
    return "\n".join(f"- {work}: {limit}." for limit, work in known)


def page(text: str, records: Sequence[Record], provenance: Mapping[str, Any], cluster: str) -> str:
    """Fill all blocks of the page."""
    text = fill(text, "run", run_line(provenance))
    text = fill(text, "table", table(records))
    text = fill(text, "limits", limits(records))
    return fill(text, "cluster", cluster)


def draw(records: Sequence[Record], path: Path) -> None:
    """Draw how far each competitor and the machine's limit are from us: one line a record, times as long as ours."""
    from matplotlib.figure import Figure

    drawn = [one for one in records if one["unit"] in ("s", "ms", "us")]
    figure = Figure(figsize=(10, 0.42 * len(drawn) + 1.2), layout="constrained")
    axis = figure.subplots()
    for place, one in enumerate(reversed(drawn)):
        times = one["theirs"] / one["ours"]
        axis.plot([1, times], [place, place], color="#0072b2" if times >= 1 else "#d55e00", linewidth=2)
        axis.plot(times, place, "o", color="#0072b2" if times >= 1 else "#d55e00", markersize=6)
        if one["limit"]:
            axis.plot(one["limit"] / one["ours"], place, "|", color="#000000", markersize=11, markeredgewidth=2)
    axis.axvline(1, color="0.5", linewidth=1)
    axis.set_xscale("log")
    axis.set_yticks(
        range(len(drawn)), [f"{one['work']}\nagainst {one['competitor']}" for one in reversed(drawn)], fontsize=6.5
    )
    axis.set_xlabel("time of the other, times ours (dot); the bare machine's limit, times ours (bar)")
    axis.grid(alpha=0.25, axis="x")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
