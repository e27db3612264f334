"""Progress bars: on a terminal, for work that takes longer than a second; silent everywhere else."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]

SHOW_AFTER_SECONDS = 1.0


@contextmanager
def progress_bar(
    description: str, total: float | None, *, show: bool | None = None
) -> Iterator[Callable[[float], None]]:
    """Show how far some work has got.

    Parameters
    ----------
    description : str
        What is being done.
    total : float or None
        How many steps there are; None where that is not known.
    show : bool, optional
        Show the bar or not; by default only where standard error is a terminal.

    Yields
    ------
    callable
        To be called with the number of steps done since the last call.

    Examples
    --------
    >>> with progress_bar("Counting", 3) as advance:
    ...     for _ in range(3):
    ...         advance(1)
    """
    if show is None:
        show = sys.stderr.isatty()
    if not show:
        yield lambda _steps: None
        return

    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        ProgressColumn,
        Task,
        TextColumn,
        TimeRemainingColumn,
    )
    from rich.text import Text

    class RateColumn(ProgressColumn):
        def render(self, task: Task) -> Text:
            return Text("" if task.speed is None else f"{task.speed:,.0f}/s")

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        RateColumn(),
        TimeRemainingColumn(),
    )
    progress = Progress(*columns, console=Console(stderr=True, force_terminal=True), transient=True)
    task = progress.add_task(description, total=total)
    started_at = time.monotonic()
    started = False

    def advance(steps: float) -> None:
        nonlocal started
        progress.advance(task, steps)
        if not started and time.monotonic() - started_at > SHOW_AFTER_SECONDS:
            progress.start()
            started = True

    try:
        yield advance
    finally:
        progress.stop()
