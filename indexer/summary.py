"""What became of a load: its numbers, and the file of those that were rejected."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from cptw_indexer.bodies import Rejection
from cptw_search.errors import InvalidInputError

__all__ = ["LoadSummary", "rejection_writer"]


@dataclass(frozen=True)
class LoadSummary:
    """What became of the documents: ``n_read == n_indexed + n_skipped + n_rejected``.

    Parameters
    ----------
    n_read : int
        How many were read.
    n_indexed : int
        How many the server acknowledged.
    n_rejected : int
        How many did not get in.
    rejected : list of Rejection
        Which ones, and why.
    index : str
        The concrete index.
    seconds : float
        How long it took.
    n_skipped : int, default 0
        How many were there already, when a load was resumed.
    """

    n_read: int
    n_indexed: int
    n_rejected: int
    rejected: list[Rejection] = field(repr=False)
    index: str
    seconds: float
    n_skipped: int = 0

    @property
    def rate(self) -> float:
        """Documents a second."""
        return self.n_indexed / self.seconds if self.seconds else 0.0


@contextmanager
def rejection_writer(path: str | os.PathLike[str] | None) -> Iterator[Callable[[Rejection], None]]:
    """Write rejected documents down as they come, one JSON object a line.

    Parameters
    ----------
    path : str or path, optional
        The file, which is made anew; None: nothing is written.

    Yields
    ------
    callable
        Takes a rejection.

    Raises
    ------
    InvalidInputError
        If the file cannot be written.
    """
    if path is None:
        yield lambda _rejection: None
        return
    try:
        file = Path(path).open("w", encoding="utf-8", errors="backslashreplace")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InvalidInputError(f"rejected_file {os.fspath(path)!r} cannot be written: {error.strerror}.") from error
    with file:

        def write(rejection: Rejection) -> None:
            file.write(json.dumps(rejection._asdict(), ensure_ascii=False) + "\n")
            file.flush()

        yield write
