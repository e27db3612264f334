"""How much memory a piece of work needs, as the operating system saw it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

__all__ = ["Peak", "peak_memory"]

_STATUS = Path("/proc/self/status")
_RESET = Path("/proc/self/clear_refs")


@dataclass
class Peak:
    """The most memory that was held.

    Parameters
    ----------
    n_bytes : int or None, default None
        Beyond what was held before; None until the work is done, and where the system does not tell.
    """

    n_bytes: int | None = None


def _field(name: str) -> int:
    for line in _STATUS.read_text(encoding="ascii").splitlines():
        if line.startswith(f"{name}:"):
            return int(line.split()[1]) * 1024
    raise OSError(f"{_STATUS} has no {name}")


@contextmanager
def peak_memory() -> Iterator[Peak]:
    """Measure the most memory that the process holds while the block runs.

    In a large process the figure may be too small: the system may take pages from it that it does not use meanwhile.

    Yields
    ------
    Peak
        Filled in at the end of the block. On Linux only; elsewhere the number stays None.

    Examples
    --------
    >>> with peak_memory() as peak:
    ...     _ = b"x" * 50_000_000
    >>> peak.n_bytes is None or peak.n_bytes >= 0
    True
    """
    peak = Peak()
    try:
        _RESET.write_text("5", encoding="ascii")  # sets the mark of the largest size to the present one
        before = _field("VmRSS")
    except OSError:
        yield peak
        return
    yield peak
    try:
        peak.n_bytes = max(0, _field("VmHWM") - before)
    except OSError:
        peak.n_bytes = None
