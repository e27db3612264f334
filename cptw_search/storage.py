"""Directories that survive crashes and strangers: one manifest, plain files, no pickle.

A directory holds ``manifest.json`` and folders of data files that the manifest names with size and SHA-256. New data
goes into a new folder; when all of it is on the disk the manifest is replaced in one step, and only then is the old
folder removed. Whoever is interrupted leaves the old state whole; whoever has the old arrays memory-mapped keeps them.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from cptw_search.errors import CorruptedError, FormatVersionError, StorageError

__all__ = [
    "MANIFEST",
    "Manifest",
    "check_files",
    "claim_directory",
    "hash_contents",
    "hash_object",
    "read_manifest",
    "remove_folders",
    "replace_manifest",
    "verify_files",
    "write_folder",
]

Manifest = dict[str, object]
FileTable = dict[str, dict[str, object]]
Content = npt.NDArray[Any] | Iterable[str]

MANIFEST = "manifest.json"
MAX_MANIFEST_BYTES = 64 * 2**20
_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}")


class _HashingWriter:
    """Hashes what goes through on its way to a file, if there is one."""

    def __init__(self, file: BinaryIO | None = None) -> None:
        self._file = file
        self.sha256 = hashlib.sha256()
        self.size = 0

    def write(self, data: bytes) -> int:
        self.sha256.update(data)
        self.size += len(data)
        return len(data) if self._file is None else self._file.write(data)

    def write_content(self, content: Content) -> None:
        if isinstance(content, np.ndarray):
            np.lib.format.write_array(self, np.ascontiguousarray(content), allow_pickle=False)
        else:
            for line in content:
                self.write(f"{line}\n".encode())


def hash_object(value: object) -> str:
    """Hash plain data by its canonical JSON.

    Parameters
    ----------
    value : object
        Anything that JSON can hold.

    Returns
    -------
    str
        SHA-256, 64 hexadecimal digits.

    Examples
    --------
    >>> hash_object({"a": 1, "b": 2}) == hash_object({"b": 2, "a": 1})
    True
    """
    text = json.dumps(value, sort_keys=True, ensure_ascii=True, separators=(",", ":"), allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()


def hash_contents(files: Mapping[str, Content]) -> dict[str, str]:
    """Hash contents as `write_folder` would write them.

    Parameters
    ----------
    files : mapping
        File names to arrays or to lines of text.

    Returns
    -------
    dict
        File names to SHA-256.
    """
    hashes = {}
    for name, content in files.items():
        writer = _HashingWriter()
        writer.write_content(content)
        hashes[name] = writer.sha256.hexdigest()
    return hashes


def _hash_file(path: Path) -> str:
    sha256 = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(2**20):
            sha256.update(block)
    return sha256.hexdigest()


@contextlib.contextmanager
def _storage_errors(action: str, path: Path) -> Iterator[None]:
    """Turn what the operating system says into one sentence of ours."""
    try:
        yield
    except OSError as error:
        raise StorageError(f"Cannot {action} {str(path)!r}: {error.strerror or error}.") from error


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def claim_directory(directory: Path, kind: str, *, also_ours: Iterable[str] = ()) -> None:
    """Make a directory for something to be saved in, or refuse one that holds something else.

    Parameters
    ----------
    directory : Path
        Made if it is missing.
    kind : str
        What is to be saved.
    also_ours : iterable of str, optional
        Other entries that an interrupted first save may have left.

    Raises
    ------
    StorageError
        If it cannot be made, is no directory, or holds files that are not of that kind.
    """
    with _storage_errors("write", directory):
        directory.mkdir(parents=True, exist_ok=True)
        entries = list(directory.iterdir())
        if not (directory / MANIFEST).is_file():
            foreign = [entry.name for entry in entries if not _is_ours(entry) and entry.name not in also_ours]
            if foreign:
                raise StorageError(
                    f"The directory {str(directory)!r} must be empty or hold a {kind}. It holds {sorted(foreign)[:3]}: "
                    "choose another one."
                )
            return
        try:
            found = json.loads((directory / MANIFEST).read_bytes())["kind"]
        except (ValueError, TypeError, KeyError, RecursionError) as error:
            raise StorageError(
                f"The directory {str(directory)!r} must be empty or hold a {kind}. Its {MANIFEST} is something else or "
                "damaged: choose another directory, or remove this one."
            ) from error
        if found != kind:
            raise StorageError(
                f"The directory {str(directory)!r} must be empty or hold a {kind}. It holds a {found}: choose another one."
            )


def _is_ours(entry: Path) -> bool:
    """Tell whether an entry is a data folder or what an interrupted writer left."""
    return bool(re.fullmatch(r"[0-9a-f]{16}", entry.name)) or entry.name.startswith(f".{MANIFEST}.")


def write_folder(directory: Path, files: Mapping[str, Content]) -> tuple[str, FileTable]:
    """Write data files into a new folder and see them onto the disk.

    Parameters
    ----------
    directory : Path
        Where; made if it is missing.
    files : mapping
        File names to arrays (written as ``.npy``) or to lines of text (UTF-8).

    Returns
    -------
    folder : str
        Name of the new folder.
    table : dict
        Size and SHA-256 of each file, for the manifest.

    Raises
    ------
    StorageError
        If the disk is full, the directory read-only and the like; what was begun is removed.
    """
    folder = directory / uuid.uuid4().hex[:16]
    table: FileTable = {}
    with _storage_errors("write", directory):
        folder.mkdir(parents=True)
        try:
            for name, content in files.items():
                with (folder / name).open("wb") as file:
                    writer = _HashingWriter(file)
                    writer.write_content(content)
                    file.flush()
                    os.fsync(file.fileno())
                table[name] = {"size": writer.size, "sha256": writer.sha256.hexdigest()}
            _sync_folder(folder)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise
    return folder.name, table


def replace_manifest(directory: Path, manifest: Manifest) -> None:
    """Make the manifest the directory's state, in one step.

    Parameters
    ----------
    directory : Path
        An existing directory.
    manifest : dict
        Plain data.

    Raises
    ------
    StorageError
        If it cannot be written; the old manifest is then still there.
    """
    temporary = directory / f".{MANIFEST}.{uuid.uuid4().hex[:8]}"
    with _storage_errors("write", directory):
        try:
            with temporary.open("w", encoding="utf-8") as file:
                json.dump(manifest, file, indent=1, ensure_ascii=False, allow_nan=False)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(directory / MANIFEST)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
        _sync_folder(directory)


def remove_folders(directory: Path, keep: Iterable[str]) -> None:
    """Remove the data folders that the manifest no longer names, and what interrupted writers left.

    Parameters
    ----------
    directory : Path
        The directory.
    keep : iterable of str
        Folders that stay.
    """
    kept = set(keep)
    for entry in directory.iterdir():
        if not _is_ours(entry) or entry.name in kept:
            continue
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)  # a leftover is found again by the next writer
        else:
            entry.unlink(missing_ok=True)


def read_manifest(directory: Path, kind: str, format_version: int) -> Manifest:
    """Read a manifest and refuse what this version cannot use.

    Parameters
    ----------
    directory : Path
        The directory.
    kind : str
        What it has to hold, for example ``"cptw-model"``.
    format_version : int
        The format that this version reads.

    Returns
    -------
    dict
        The manifest.

    Raises
    ------
    StorageError
        If there is no such directory, or it holds something else.
    CorruptedError
        If the manifest is damaged.
    FormatVersionError
        If it was written in another format.
    """
    path = directory / MANIFEST
    if not directory.is_dir():
        raise StorageError(f"There is no directory {str(directory)!r}. Check the path, or save a {kind} there first.")
    if not path.is_file():
        raise StorageError(
            f"The directory {str(directory)!r} must hold a file {MANIFEST} to be a {kind}. It does not: either it is "
            "something else, or its first save was interrupted."
        )
    with _storage_errors("read", path):
        size = path.stat().st_size
        if size > MAX_MANIFEST_BYTES:
            raise CorruptedError(f"{str(path)!r} must be at most {MAX_MANIFEST_BYTES} bytes. It has {size}.")
        data = path.read_bytes()
    try:
        manifest = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise CorruptedError(
            f"{str(path)!r} is not valid JSON ({error}). Restore it or make the {kind} anew."
        ) from error
    if not isinstance(manifest, dict) or not isinstance(manifest.get("kind"), str):
        raise CorruptedError(f"{str(path)!r} must be a JSON object with a 'kind'. Make the {kind} anew.")
    if manifest["kind"] != kind:
        raise StorageError(f"{str(directory)!r} must be a {kind}. Its manifest says {manifest['kind']!r}.")
    found = manifest.get("format_version")
    if found != format_version:
        age = "a newer" if isinstance(found, int) and found > format_version else "another"
        raise FormatVersionError(
            f"{str(directory)!r} is a {kind} of {age} format, {found!r}; this version of cptw-search reads format "
            f"{format_version}. Use the version that wrote it ({manifest.get('written_by', 'unknown')!s}), or make it anew."
        )
    return manifest


def check_files(directory: Path, folder: object, table: object) -> dict[str, Path]:
    """Check that the files that a manifest names are there with the sizes it names.

    Parameters
    ----------
    directory : Path
        The directory.
    folder : object
        The manifest's folder name.
    table : object
        The manifest's table of files.

    Returns
    -------
    dict
        File names to paths.

    Raises
    ------
    CorruptedError
        If the table is damaged, or a file is missing or of another size.
    """
    if not isinstance(folder, str) or not _SAFE_NAME.fullmatch(folder) or not isinstance(table, dict):
        raise CorruptedError(
            f"The manifest in {str(directory)!r} must name a folder and its files. It names {folder!r}."
        )
    paths = {}
    for name, facts in table.items():
        if not _SAFE_NAME.fullmatch(name) or not isinstance(facts, dict):
            raise CorruptedError(f"The manifest in {str(directory)!r} names a file that cannot be: {name!r}.")
        path = directory / folder / name
        try:
            size = path.stat().st_size
        except OSError as error:
            raise CorruptedError(
                f"{str(path)!r}, which the manifest names, cannot be read: {error.strerror}."
            ) from error
        if size != facts.get("size"):
            raise CorruptedError(
                f"{str(path)!r} must have {facts.get('size')} bytes, as the manifest says. It has {size}: it was cut off or "
                "changed. Restore it or make it anew."
            )
        paths[name] = path
    return paths


def verify_files(paths: Mapping[str, Path], table: Mapping[str, Mapping[str, object]]) -> None:
    """Check the hashes of files.

    Parameters
    ----------
    paths : mapping
        What `check_files` returned.
    table : mapping
        The manifest's table of files.

    Raises
    ------
    CorruptedError
        If a file was changed.
    """
    for name, path in paths.items():
        with _storage_errors("read", path):
            found = _hash_file(path)
        expected = table[name].get("sha256")
        if found != expected:
            raise CorruptedError(
                f"{str(path)!r} must have the SHA-256 {expected}, as the manifest says. It has {found}: it was changed after "
                "it was written. Restore it or make it anew."
            )
