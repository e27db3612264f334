"""Every error that this package raises on purpose.

::

    CptwError
    ├── InvalidInputError (ValueError)       an argument, a text, a document that cannot be used
    │   └── UnknownNameError                 a name that is none of the choices
    ├── VectorFileError (ValueError)         a file of word vectors that cannot be read or trusted
    ├── NotFittedError (ValueError, AttributeError)   a model used before ``fit``
    ├── StorageError                         a model or index directory
    │   ├── CorruptedError                   truncated, changed, incomplete
    │   ├── FormatVersionError               written by an older or newer format
    │   └── LockedError                      another writer is at work
    ├── ModelMismatchError                   an index and a model that do not belong together
    ├── ClusterError                         something between this program and a cluster
    │   ├── ClusterConnectionError           not reachable, too slow, not trusted, or not a search server
    │   ├── AccessDeniedError                a login that was refused, or may not do this
    │   ├── MissingIndexError                an index or alias that is not there
    │   ├── RejectedError                    a request that the server refused, with status and reason
    │   └── LoadError                        a load that failed; says how far it got
    └── MissingExtraError (ImportError)      an optional dependency that is not installed

A message names the thing, the rule, what was received, and what to do.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable
from types import ModuleType

__all__ = [
    "AccessDeniedError",
    "ClusterConnectionError",
    "ClusterError",
    "CorruptedError",
    "CptwError",
    "FormatVersionError",
    "InvalidInputError",
    "LoadError",
    "LockedError",
    "MissingExtraError",
    "MissingIndexError",
    "ModelMismatchError",
    "NotFittedError",
    "RejectedError",
    "StorageError",
    "UnknownNameError",
    "VectorFileError",
    "check_choice",
    "require_extra",
]


class CptwError(Exception):
    """Root of all errors that this package raises on purpose."""


class InvalidInputError(CptwError, ValueError):
    """An argument, a text or a document that cannot be used."""


class UnknownNameError(InvalidInputError):
    """A name that is none of the choices."""


class VectorFileError(CptwError, ValueError):
    """A file of word vectors that cannot be read or trusted."""


class NotFittedError(CptwError, ValueError, AttributeError):
    """A model used before ``fit``: the same two bases as scikit-learn's error of that name."""


class StorageError(CptwError):
    """A model or index directory that cannot be read or written."""


class CorruptedError(StorageError):
    """A directory whose files are truncated, changed or missing."""


class FormatVersionError(StorageError):
    """A directory written in a format that this version does not read."""


class LockedError(StorageError):
    """A directory that another writer is working on."""


class ModelMismatchError(CptwError):
    """An index and a model that do not belong together."""


class ClusterError(CptwError):
    """Something between this program and a cluster went wrong."""

    is_temporary: bool = False
    """Whether the same request may succeed a little later."""


class ClusterConnectionError(ClusterError):
    """A server that is not reachable, too slow, not trusted, or no search server.

    Parameters
    ----------
    message : str
        What happened, and what to do.
    is_temporary : bool, default False
        Whether the same request may succeed a little later.
    """

    def __init__(self, message: str, *, is_temporary: bool = False) -> None:
        super().__init__(message)
        self.is_temporary = is_temporary


class AccessDeniedError(ClusterError):
    """A login that the server refused (401), or that may not do what was asked (403)."""


class MissingIndexError(ClusterError):
    """An index or alias that is not there."""


class RejectedError(ClusterError):
    """A request that the server refused.

    Parameters
    ----------
    message : str
        What was refused, and why.
    status : int, default 0
        The HTTP status.
    reason : str, default ""
        The server's own words.
    """

    def __init__(self, message: str, *, status: int = 0, reason: str = "") -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.is_temporary = status == 429 or status >= 500


class LoadError(ClusterError):
    """A load that failed.

    Parameters
    ----------
    message : str
        What happened, how far it got, and how to go on.
    index : str, default ""
        The index that it was writing to; what served before, serves still.
    n_indexed : int, default 0
        How many documents the server had acknowledged.
    n_rejected : int, default 0
        How many documents had been rejected.
    """

    def __init__(self, message: str, *, index: str = "", n_indexed: int = 0, n_rejected: int = 0) -> None:
        super().__init__(message)
        self.index = index
        self.n_indexed = n_indexed
        self.n_rejected = n_rejected


class MissingExtraError(CptwError, ImportError):
    """An optional dependency that is not installed."""


def check_choice(what: str, value: object, choices: Iterable[str]) -> None:
    """Raise unless ``value`` is one of ``choices``.

    Parameters
    ----------
    what : str
        Name of the parameter, for the message.
    value : object
        What was received.
    choices : iterable of str
        What is allowed.

    Raises
    ------
    UnknownNameError
        If ``value`` is not among ``choices``; the message lists them.

    Examples
    --------
    >>> check_choice("normalization", "l3", ["l2", "sum", "none"])
    Traceback (most recent call last):
    ...
    cptw_search.errors.UnknownNameError: normalization must be one of 'l2', 'sum', 'none'. Got 'l3' instead.
    """
    allowed = list(choices)
    if value not in allowed:
        names = ", ".join(map(repr, allowed))
        raise UnknownNameError(f"{what} must be one of {names}. Got {value!r} instead.")


def require_extra(module: str, extra: str, purpose: str) -> ModuleType:
    """Import an optional dependency, or say how to install it.

    Parameters
    ----------
    module : str
        Name of the module to import.
    extra : str
        The extra of ``cptw-search`` that brings it.
    purpose : str
        What needs it, for the message.

    Returns
    -------
    module
        The imported module.

    Raises
    ------
    MissingExtraError
        If the module is not installed.

    Examples
    --------
    >>> require_extra("no_such_module", "plot", "Drawing an explanation")
    Traceback (most recent call last):
    ...
    cptw_search.errors.MissingExtraError: Drawing an explanation needs the module 'no_such_module', which is not \
installed. Install it with: pip install 'cptw-search[plot]'
    """
    try:
        return importlib.import_module(module)
    except ImportError as error:
        if error.name is not None and error.name.split(".")[0] != module.split(".")[0]:
            raise  # the module is there, something that it needs is not: its own message is the better one
        raise MissingExtraError(
            f"{purpose} needs the module {module!r}, which is not installed. "
            f"Install it with: pip install 'cptw-search[{extra}]'",
            name=module,
        ) from error
