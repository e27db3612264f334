"""When compiled code is used: after so much work that loading it pays, where the extra ``fast`` (numba) is installed.

Loading takes more than half a second, which a command that searches once would only lose. So it is done when about as much
was lost by doing without: whatever follows, nobody waits for more than twice as long as with the best choice.
"""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from types import ModuleType

__all__ = ["COMPILED_FROM", "NEVER", "compiled_for", "compiled_if_loaded"]

NEVER = sys.maxsize
COMPILED_FROM = 20_000_000
"""So many postings were added up by numpy when compiled code is loaded; it would have saved 40 ns on each."""


class _Tally:
    """How many postings numpy has added up; threads that count at the same time may lose some, which does no harm."""

    n_postings = 0


@functools.cache
def _load() -> ModuleType | None:
    if importlib.util.find_spec("numba") is None:
        return None
    try:
        from cptw_search import compiled
    except ImportError as error:  # for example: this numba is older than this numpy
        message = f"numba is installed and cannot be used: {error}. Searches go on without it, and more slowly."
        warnings.warn(message, RuntimeWarning, stacklevel=2)
        return None
    return compiled


def compiled_for(n_postings: int) -> ModuleType | None:
    """Give the compiled functions, or note what is done without them.

    Parameters
    ----------
    n_postings : int
        How many postings are to be added up.

    Returns
    -------
    module or None
        `cptw_search.compiled`; None before it pays, or without numba.
    """
    if (compiled := compiled_if_loaded()) is not None:
        return compiled
    _Tally.n_postings += n_postings
    return _load() if _Tally.n_postings >= COMPILED_FROM else None


def compiled_if_loaded() -> ModuleType | None:
    """Give the compiled functions to whoever has too little to do to count.

    Returns
    -------
    module or None
        `cptw_search.compiled`; None before it was loaded, or without numba.
    """
    return _load() if COMPILED_FROM < NEVER and _load.cache_info().currsize else None
