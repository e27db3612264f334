"""Timing for bench.py and guard.py: interleaved repeats, medians, spread, and the record of one comparison."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Record = dict[str, Any]
Work = Callable[[], object]

FIELDS = ("work", "competitor", "ours", "theirs", "limit", "unit", "ratio", "mark", "reached")
"""What every record has; `limit` is None where the bare machine has nothing to do."""


def seconds_of(work: Work) -> float:
    """Time one call."""
    started = time.perf_counter()
    work()
    return time.perf_counter() - started


def interleave(works: Mapping[str, Work], n_repeats: int, *, warm: bool = True) -> dict[str, list[float]]:
    """Time several works in turn, so that what disturbs the machine disturbs all of them.

    >>> sorted(interleave({"a": lambda: None, "b": lambda: None}, 2)), len(interleave({"a": lambda: None}, 3)["a"])
    (['a', 'b'], 3)
    """
    if warm:
        for work in works.values():
            work()
    seconds: dict[str, list[float]] = {name: [] for name in works}
    for _ in range(n_repeats):
        for name, work in works.items():
            seconds[name].append(seconds_of(work))
    return seconds


def record(
    work: str,
    competitor: str,
    ours: float | Sequence[float],
    theirs: float | Sequence[float],
    unit: str,
    *,
    most: float,
    mark: str,
    limit: float | Sequence[float] | None = None,
    limit_is: str = "",
    **facts: Any,
) -> Record:
    """Make a record of our figure and theirs: medians, least and most of the repeats, and whether the mark is reached.

    ``most`` is the largest ratio of ours to theirs that the mark allows.

    >>> made = record("a sum", "numpy", [2.0, 1.0, 4.0], 4.0, "s", most=0.6, mark="at most 0.6 times", limit=1.0)
    >>> made["ours"], made["ratio"], made["reached"], made["ours_spread"], made["over_limit"]
    (2.0, 0.5, True, [1.0, 4.0], 2.0)
    """
    (our, our_spread), (their, their_spread) = _median(ours), _median(theirs)
    bare = None if limit is None else _median(limit)[0]
    ratio = our / their
    return {
        "work": work,
        "competitor": competitor,
        "ours": our,
        "theirs": their,
        "limit": bare,
        "unit": unit,
        "ratio": ratio,
        "mark": mark,
        "reached": bool(ratio <= most),
        "ours_spread": our_spread,
        "theirs_spread": their_spread,
        "over_limit": None if bare is None else our / bare,
        "limit_is": limit_is,
        "facts": facts,
    }


def _median(figures: float | Sequence[float]) -> tuple[float, list[float]]:
    figures = [figures] if isinstance(figures, (int, float)) else list(figures)
    return float(statistics.median(figures)), [float(min(figures)), float(max(figures))]


def line(one: Record) -> str:
    """Say a record in a line."""
    reached = "reached" if one["reached"] else "MISSED"
    limit = "" if one["limit"] is None else f", limit {one['limit']:.3g}"
    return (
        f"{one['work']} | {one['competitor']}: {one['ours']:.3g} and {one['theirs']:.3g} {one['unit']}{limit}; ratio "
        f"{one['ratio']:.3g}, {one['mark']}: {reached}"
    )
