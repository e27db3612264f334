"""When compiled code is used: for large indices, where the extra ``fast`` (numba) is installed."""

from __future__ import annotations

import functools
import importlib.util
import sys
import warnings
from types import ModuleType

__all__ = ["COMPILED_FROM", "NEVER", "compiled_for", "compiled_if_loaded"]

NEVER = sys.maxsize
COMPILED_FROM = 500_000
"""Postings of a set of documents; for fewer, loading the compiled code takes longer than it saves."""


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
    """Give the compiled functions where there is enough for them to do, and load them for that.

    Parameters
    ----------
    n_postings : int
        How long the inverted lists of a set of documents are in all.

    Returns
    -------
    module or None
        `cptw_search.compiled`; None for few postings or without numba.
    """
    return _load() if n_postings >= COMPILED_FROM else None


def compiled_if_loaded() -> ModuleType | None:
    """Give the compiled functions to whoever has too little to do to load them for that alone.

    Returns
    -------
    module or None
        `cptw_search.compiled`; None before something large was searched.
    """
    return _load() if COMPILED_FROM < NEVER and _load.cache_info().currsize else None
