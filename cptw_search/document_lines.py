"""Bytes to numbered lines: what all readers of :mod:`cptw_search.document_formats` share.

Nothing here trusts its input: a line has a limit, bytes that are not UTF-8 are replaced and reported, and compressed
data that is cut off ends in the error of the report.
"""

from __future__ import annotations

import codecs
import gzip
import io
import itertools
import os
import re
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, NamedTuple, NoReturn, Protocol

from cptw_search.errors import InvalidInputError

__all__ = [
    "BadLineError",
    "Line",
    "Names",
    "Record",
    "RecordLines",
    "Report",
    "TextLine",
    "display_path",
    "explain_error",
    "kind_of",
    "mend",
    "numbered_lines",
    "read_whole",
    "shown",
    "usable_lines",
]

MAX_LINE_BYTES = 64 * 2**20  # also the limit of a CSV record and of a text file in a folder
BLOCK_BYTES = 2**16

_GZIP_MAGIC = b"\x1f\x8b"
_WIDE_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)  # that of UTF-32-LE begins as UTF-16-LE
_UNUSABLE = re.compile("[\0\ud800-\udfff]")  # what UTF-8 cannot hold, and what ends strings in half of the world
_REPLACEMENT = "\ufffd"
_NOT_UTF8 = "the text must be UTF-8. Got UTF-16 or UTF-32 instead"
_TOO_LONG = "a {} must have at most {:,} bytes. Got more"


class BadLineError(Exception):
    """Why a line cannot be used; it never reaches the user."""


class Record(NamedTuple):
    """The fields of one document as the file has them."""

    line: int | None
    fields: dict[str, object]
    replaced: bool


class Report(Protocol):
    """What a reader tells about the file it is in."""

    file: str

    @property
    def n_skipped(self) -> int:
        """How many lines or files were left out so far."""
        ...

    def skip(self, line: int | None, reason: str) -> None:
        """Leave out a line, or a file."""
        ...

    def fail(self, line: int | None, reason: str, cause: Exception | None = None) -> NoReturn:
        """Give up."""
        ...


@dataclass(frozen=True)
class Names:
    """What the caller said about the names of fields."""

    columns: Sequence[str] | None
    rename: Mapping[str, str]

    def renamed(self, fields: dict[str, object]) -> dict[str, object]:
        """Rename fields in place; a renamed one comes before one that had the name already."""
        fields.update({new: fields.pop(old) for old, new in self.rename.items() if old in fields})
        return fields


class Line(NamedTuple):
    """A line, decoded, with its number in the file."""

    number: int
    text: str | None  # None: too long to be held
    replaced: bool


class TextLine(NamedTuple):
    """A line that is not too long."""

    number: int
    text: str
    replaced: bool


class _Rejoined(io.RawIOBase):
    """A stream with the bytes in front that were read to look at them."""

    def __init__(self, head: bytes, rest: BinaryIO) -> None:
        self._head = head
        # read1 gives what is there: a line from a pipe is not held back until a whole block has come
        self._read = getattr(rest, "read1", rest.read)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._head[: len(buffer)] or self._read(len(buffer))
        self._head = self._head[len(chunk) :]
        buffer[: len(chunk)] = chunk
        return len(chunk)


def _open_bytes(stream: BinaryIO) -> io.BufferedIOBase:
    head = b""
    while len(head) < len(_GZIP_MAGIC) and (chunk := stream.read(len(_GZIP_MAGIC) - len(head))):
        if not isinstance(chunk, bytes):
            raise InvalidInputError(
                "source must be a file opened in binary mode. Got one opened as text. Open it with mode 'rb'."
            )
        head += chunk
    whole = io.BufferedReader(_Rejoined(head, stream), BLOCK_BYTES)
    return gzip.GzipFile(fileobj=whole) if head == _GZIP_MAGIC else whole


def numbered_lines(stream: BinaryIO, report: Report) -> Iterator[Line]:
    """Decode and count the lines; those that are too long come without their text."""
    number = 0
    try:
        content = _open_bytes(stream)
        while raw := content.readline(MAX_LINE_BYTES + 1):
            number += 1
            if number == 1:
                if raw.startswith(_WIDE_MARKS):
                    report.fail(1, f"{_NOT_UTF8}. Convert the file.")
                raw = raw.removeprefix(codecs.BOM_UTF8)
            if len(raw) > MAX_LINE_BYTES and not raw.endswith(b"\n"):
                while raw and not raw.endswith(b"\n"):
                    raw = content.readline(BLOCK_BYTES)
                yield Line(number, None, False)
            else:
                yield Line(number, *_decode(raw.removesuffix(b"\n").removesuffix(b"\r")))
    except (OSError, EOFError, zlib.error) as error:
        reason = f"cannot be read from here on: {explain_error(error)}. Check that the file is whole."
        report.fail(number + 1, reason, error)


def _decode(raw: bytes) -> tuple[str, bool]:
    """Decode UTF-8, and tell whether something had to be replaced."""
    try:
        text = raw.decode()
    except UnicodeDecodeError:
        return mend(raw.decode(errors="replace")), True
    return (mend(text), True) if "\0" in text else (text, False)


def usable_lines(lines: Iterable[Line], report: Report) -> Iterator[TextLine]:
    """Pass over blank lines, and over those that are too long."""
    for number, text, replaced in lines:
        if text is None:
            report.skip(number, _TOO_LONG.format("line", MAX_LINE_BYTES))
        elif text and not text.isspace():
            yield TextLine(number, text, replaced)


class RecordLines:
    """The lines of one CSV record after the other, for :func:`csv.reader`.

    Parameters
    ----------
    lines : iterator of Line
        The lines of the file.

    Attributes
    ----------
    first_line, last_line : int
        The numbers of the record's lines so far.
    replaced : bool
        Whether bytes had to be replaced in one of them.
    """

    def __init__(self, lines: Iterator[Line]) -> None:
        self._lines = lines
        self.start_record()

    def start_record(self) -> None:
        """Forget about the last record."""
        self.first_line = 0
        self.last_line = 0
        self.replaced = False
        self._size = 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        self.last_line, text, replaced = next(self._lines)
        self.first_line = self.first_line or self.last_line
        if text is None:
            raise BadLineError(_TOO_LONG.format("line", MAX_LINE_BYTES))
        self.replaced = self.replaced or replaced
        self._size += len(text) + 1
        if self._size > MAX_LINE_BYTES + 1:  # a quote that is never closed would take the rest of the file
            raise BadLineError(f"{_TOO_LONG.format('row', MAX_LINE_BYTES)}: is a quote closed?")
        return f"{text}\n"


def read_whole(path: Path) -> tuple[str, bool]:
    """Decode a file that is one text, and tell whether something had to be replaced."""
    try:
        with path.open("rb") as stream:
            raw = _open_bytes(stream).read(MAX_LINE_BYTES + 1)
    except (OSError, EOFError, zlib.error) as error:
        raise BadLineError(f"cannot be read: {explain_error(error)}") from error
    if len(raw) > MAX_LINE_BYTES:
        raise BadLineError(_TOO_LONG.format("file", MAX_LINE_BYTES))
    if raw.startswith(_WIDE_MARKS):
        raise BadLineError(_NOT_UTF8)
    text, replaced = _decode(raw.removeprefix(codecs.BOM_UTF8))
    return text.replace("\r\n", "\n"), replaced


def mend(value: str) -> str:
    """Replace in a string what cannot be stored or sent."""
    return _UNUSABLE.sub(_REPLACEMENT, value)


# Words for messages


def display_path(path: str | os.PathLike[str]) -> str:
    """Return a path that can be printed and stored, whatever bytes it is made of; with slashes on every system."""
    return mend(Path(path).as_posix())


def explain_error(error: Exception) -> str:
    """Say in a few words what an error is about, without the path."""
    return getattr(error, "strerror", None) or str(error) or type(error).__name__


def kind_of(value: object) -> str:
    """Name the type of a JSON value, for messages."""
    if value is None:
        return "null"
    kinds = {bool: "a boolean", int: "a number", float: "a number", str: "a string", list: "an array"}
    return kinds.get(type(value), "an object")


def shown(names: Iterable[str]) -> str:
    """List some names for a message, the first five and not more than the beginning of each."""
    first = [repr(name[:40]) for name in itertools.islice(names, 6)]
    return ", ".join(first[:5] + ["..."] * (len(first) > 5)) or "no fields"
