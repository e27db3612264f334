"""Files of data sets and test collections: where they are looked for, and how their bytes become text.

One policy for the files of the originals, which are older than UTF-8: NUL becomes U+FFFD, and a file is UTF-8 if all
of it is, else Latin-1, in which every byte is a character. So nothing is lost, and nothing has to be guessed twice.
"""

from __future__ import annotations

import codecs
import gzip
import hashlib
import io
import os
import zlib
from collections.abc import Iterable
from pathlib import Path

from cptw_search.document_lines import display_path, explain_error, mend
from cptw_search.errors import InvalidInputError

__all__ = [
    "DATA_VARIABLE",
    "MAX_DOCUMENTS",
    "MAX_FILE_BYTES",
    "MissingDataError",
    "check_number",
    "content_digest",
    "data_folder",
    "decode",
    "folder_entries",
    "locate",
    "read_bytes",
    "read_text",
]

DATA_VARIABLE = "CPTW_DATA"
"""The environment variable that names the folder of the data."""
MAX_FILE_BYTES = 2**30
"""How large a file may be once it is unpacked; the largest of the originals has 0.1 GB."""
MAX_DOCUMENTS = 10_000_000
"""How many documents a data set may have: it is held in memory."""

_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)


class MissingDataError(InvalidInputError):
    """A data set that is not where it is looked for; the message says where to put it, and in what format."""


def data_folder(data: str | os.PathLike[str] | None = None) -> Path | None:
    """Give the folder that holds the data.

    Parameters
    ----------
    data : str or path-like, optional
        The folder; by default what the environment variable ``CPTW_DATA`` names.

    Returns
    -------
    Path or None
        The folder, None if neither is given.

    Examples
    --------
    >>> data_folder("data").name
    'data'
    """
    named = os.environ.get(DATA_VARIABLE) if data is None else os.fspath(data)
    return Path(named) if named else None


def locate(
    source: str | os.PathLike[str],
    *,
    part: str,
    endings: Iterable[str],
    names: Iterable[str],
    data: str | os.PathLike[str] | None,
    wanted: str,
) -> tuple[str, Path]:
    """Find a data set by its name or its path.

    Parameters
    ----------
    source : str or path-like
        A name, or the path of a file or folder.
    part : str
        The sub-folder of the data folder.
    endings : iterable of str
        What may follow the name there; ``""`` for a folder.
    names : iterable of str
        Names that never mean a path of the current folder.
    data : str or path-like or None
        The data folder, as for `data_folder`.
    wanted : str
        Where a set of this name belongs and in what format, for the message; ``{name}`` stands for the name.

    Returns
    -------
    (str, Path)
        Its name, and where it is.

    Raises
    ------
    MissingDataError
        If it is not there.
    """
    text = display_path(source)
    if not os.fspath(source):
        raise InvalidInputError("source must be a name or the path of a file or folder. Got an empty string instead.")
    is_path = not isinstance(source, str) or "/" in text or (text not in set(names) and _exists(Path(source)))
    if is_path:
        if not _exists(Path(source)):
            raise MissingDataError(f"{text}: there is no such file or folder. Check the path.")
        return _name_of(Path(source)), Path(source)
    folder = data_folder(data)
    if folder is not None:
        for ending in endings:
            path = folder / part / f"{text}{ending}"
            if _exists(path):
                return text, path
    where = f"{DATA_VARIABLE} is not set" if folder is None else f"it is not in {display_path(folder / part)}"
    raise MissingDataError(f"The data set {text!r} was not found: {where}. {wanted.format(name=text)}")


def _name_of(path: Path) -> str:
    """Name a data set after its file or folder."""
    name = path.name or path.resolve().name
    for suffix in (".gz", ".tsv", ".jsonl", ".csv", ".txt"):
        name = name.removesuffix(suffix)
    return mend(name) or "data"


def _exists(path: Path) -> bool:
    try:
        return path.exists()
    except (OSError, ValueError):  # a name that is too long, or with a NUL
        return False


def read_bytes(path: Path) -> bytes:
    """Read a file of limited size, unpacked if it is gzipped.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    bytes
        Its content.

    Raises
    ------
    InvalidInputError
        If it cannot be read, or has more than `MAX_FILE_BYTES` bytes.
    """
    try:
        with path.open("rb") as stream:
            content: io.BufferedIOBase = stream
            if stream.peek(2)[:2] == b"\x1f\x8b":
                content = gzip.GzipFile(fileobj=stream)
            raw = content.read(MAX_FILE_BYTES + 1)
    except (OSError, EOFError, zlib.error, ValueError) as error:
        raise InvalidInputError(
            f"{display_path(path)}: cannot be read: {explain_error(error)}. Check that the file is whole."
        ) from error
    if len(raw) > MAX_FILE_BYTES:
        raise InvalidInputError(f"{display_path(path)}: a file must have at most {MAX_FILE_BYTES:,} bytes. Got more.")
    return raw


def decode(raw: bytes, name: str, *, encoding: str | None = None) -> str:
    r"""Decode the content of a file.

    Parameters
    ----------
    raw : bytes
        The content.
    name : str
        The file, for the message.
    encoding : {"latin-1"}, optional
        What the file is known to be written in. By default UTF-8, and Latin-1 where it is not.

    Returns
    -------
    str
        The text with ``\n`` at the ends of lines; NUL has become U+FFFD.

    Raises
    ------
    InvalidInputError
        If it is UTF-16 or UTF-32.

    Examples
    --------
    >>> decode(b"caf\xc3\xa9", "a.txt"), decode(b"\xa350,000", "b.txt")
    ('café', '£50,000')
    """
    if raw.startswith(_WIDE_MARKS):
        raise InvalidInputError(f"{name}: the text must be UTF-8 or Latin-1. Got UTF-16 or UTF-32. Convert the file.")
    raw = raw.removeprefix(codecs.BOM_UTF8)
    if encoding is None:
        try:
            text = raw.decode()
        except UnicodeDecodeError:
            text = raw.decode("latin-1")
    else:
        text = raw.decode(encoding)
    return mend(text.replace("\r\n", "\n").replace("\r", "\n"))


def read_text(path: Path, *, encoding: str | None = None) -> str:
    """Read a text file of limited size.

    Parameters
    ----------
    path : Path
        The file, gzipped or not.
    encoding : {"latin-1"}, optional
        As for `decode`.

    Returns
    -------
    str
        Its text.

    Raises
    ------
    InvalidInputError
        If it cannot be read.
    """
    return decode(read_bytes(path), display_path(path), encoding=encoding)


def folder_entries(folder: Path) -> list[Path]:
    """List what a folder holds, in the order of the names; hidden files are passed over.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    list of Path
        Files and folders.

    Raises
    ------
    InvalidInputError
        If it cannot be listed.
    """
    try:
        return sorted(entry for entry in folder.iterdir() if not entry.name.startswith("."))
    except OSError as error:
        raise InvalidInputError(f"{display_path(folder)}: cannot be listed: {explain_error(error)}.") from error


def check_number(n_documents: int, name: str) -> None:
    """Raise if a data set has too many documents.

    Parameters
    ----------
    n_documents : int
        How many it has so far.
    name : str
        The data set, for the message.

    Raises
    ------
    InvalidInputError
        If they are more than `MAX_DOCUMENTS`.
    """
    if n_documents > MAX_DOCUMENTS:
        raise InvalidInputError(f"{name}: a data set must have at most {MAX_DOCUMENTS:,} documents. Got more.")


def content_digest(parts: Iterable[str]) -> str:
    """Hash strings so that neither their order nor where one ends can be changed unseen.

    Parameters
    ----------
    parts : iterable of str
        The strings.

    Returns
    -------
    str
        SHA-256, as 64 hexadecimal digits.

    Examples
    --------
    >>> content_digest(["ab", "c"]) == content_digest(["a", "bc"])
    False
    """
    digest = hashlib.sha256()
    for part in parts:
        raw = part.encode(errors="surrogatepass")
        digest.update(f"{len(raw)}:".encode())
        digest.update(raw)
    return digest.hexdigest()
