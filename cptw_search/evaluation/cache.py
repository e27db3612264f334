"""Results kept on disk by what they were made of, so that an interrupted run goes on where it stopped."""

from __future__ import annotations

import hashlib
import json
import os
import uuid
from collections.abc import Mapping, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

__all__ = ["ResultCache", "code_version"]

_LIBRARIES = ("numpy", "scipy", "scikit-learn", "gensim", "bm25s", "POT")
_PACKAGE = Path(__file__).parent.parent


def code_version(modules: Sequence[str]) -> dict[str, str]:
    """Describe the code that results depend on.

    Parameters
    ----------
    modules : sequence of str
        Files of the package, such as ``"propagation.py"``.

    Returns
    -------
    dict
        A hash of the files, and the versions of the libraries; ``"missing"`` for one that is not installed.
    """
    digest = hashlib.sha256()
    for module in sorted(modules):
        digest.update((_PACKAGE / module).read_bytes())
    versions = {"code": digest.hexdigest()[:16]}
    for library in _LIBRARIES:
        try:
            versions[library] = version(library)
        except PackageNotFoundError:
            versions[library] = "missing"
    return versions


class ResultCache:
    """A folder with one JSON file a result.

    Parameters
    ----------
    folder : path
        Where the files are; made when the first one is written.

    Examples
    --------
    >>> import tempfile
    >>> cache = ResultCache(tempfile.mkdtemp())
    >>> cache.get({"data": "boats", "seed": 0}) is None
    True
    >>> cache.put({"data": "boats", "seed": 0}, [1, 2])
    >>> cache.get({"seed": 0, "data": "boats"})
    [1, 2]
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        self.folder = Path(folder)

    def _path(self, key: Mapping[str, object]) -> Path:
        text = json.dumps(key, sort_keys=True)
        return self.folder / f"{hashlib.sha256(text.encode()).hexdigest()[:32]}.json"

    def get(self, key: Mapping[str, object]) -> Any:
        """Find a result.

        Parameters
        ----------
        key : mapping
            All that the result depends on, as plain data.

        Returns
        -------
        object
            What `put` was given; None if there is nothing, or if the file is damaged.
        """
        path = self._path(key)
        try:
            entry = json.loads(path.read_text(encoding="utf-8"))
        except (FileNotFoundError, ValueError):
            return None
        matches = isinstance(entry, dict) and entry.get("key") == json.loads(json.dumps(key))
        return entry.get("result") if matches else None

    def put(self, key: Mapping[str, object], result: object) -> None:
        """Keep a result; a reader sees all of it or nothing.

        Parameters
        ----------
        key : mapping
            All that the result depends on, as plain data.
        result : object
            Plain data.
        """
        self.folder.mkdir(parents=True, exist_ok=True)
        path = self._path(key)
        temporary = path.with_name(f"{path.name}.{uuid.uuid4().hex}.tmp")
        try:
            temporary.write_text(json.dumps({"key": key, "result": result}), encoding="utf-8")
            temporary.replace(path)
        finally:
            temporary.unlink(missing_ok=True)
