"""Readers of document files, one a format: the private half of :func:`cptw_search.documents.read_documents`.

A file may come from a stranger and may be larger than memory. So every reader streams, holds one line or record of
limited size, and ends in records, in reports of what was left out, or in the error that the report raises.
"""

from __future__ import annotations

import contextlib
import csv
import itertools
import json
import math
import re
import stat
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from cptw_search.document_lines import (
    BadLineError,
    Line,
    Names,
    Record,
    RecordLines,
    Report,
    TextLine,
    display_path,
    explain_error,
    kind_of,
    mend,
    numbered_lines,
    read_whole,
    shown,
    usable_lines,
)
from cptw_search.errors import InvalidInputError

__all__ = ["FORMATS", "read_folder", "read_stream"]

FORMATS = ("auto", "jsonl", "tsv", "csv", "lines", "folder")

_FORMAT_OF_SUFFIX = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".tsv": "tsv",
    ".csv": "csv",
    ".txt": "lines",
}
_KNOWN_COLUMNS = frozenset({"id", "_id", "text", "title", "label"})
_SPLITS = frozenset({"train", "test", "dev", "val", "valid", "validation", "-"})
_JSON_ARRAY = re.compile(r"\s*\[\s*(\{|$)")
_UNUSABLE_ESCAPE = re.compile(r"\\u(?:0000|[dD][89a-fA-F])")
CSV_CELL_LIMIT = 2**31 - 1  # the largest that a C long holds everywhere; what bounds a row is RecordLines


def read_stream(stream: BinaryIO, file_format: str, names: Names, report: Report) -> Iterator[Record]:
    """Read a file of one of the formats that have lines.

    Parameters
    ----------
    stream : binary file
        Where to read from.
    file_format : str
        One of FORMATS, but for "folder".
    names : Names
        The caller's names.
    report : Report
        Where problems go.

    Yields
    ------
    Record
        One a document.
    """
    lines = numbered_lines(stream, report)
    first = next(usable_lines(lines, report), None)
    if first is None:
        return
    if file_format == "auto":
        file_format = _format_of_name(report.file) or _format_of_content(first.text, names)
    if names.columns is not None and file_format not in ("tsv", "csv"):
        raise InvalidInputError(
            f"{report.file}: columns are for TSV and CSV. Got them for {file_format!r}. Leave them out, or give the "
            "format."
        )
    yield from _READERS[file_format](first, lines, names, report)


def _format_of_name(file: str) -> str | None:
    path = Path(file)
    if path.suffix.lower() == ".gz":
        path = path.with_suffix("")
    return _FORMAT_OF_SUFFIX.get(path.suffix.lower())


def _format_of_content(first: str, names: Names) -> str:
    if first.lstrip().startswith("{") or _JSON_ARRAY.match(first):
        return "jsonl"
    if "\t" in first:
        return "tsv"
    _, header = _csv_header(first, names) or ("", [])
    return "csv" if "text" in (names.rename.get(name, name) for name in header) else "lines"


# Formats


def _lines_records(first: TextLine, lines: Iterator[Line], names: Names, report: Report) -> Iterator[Record]:
    for number, text, replaced in itertools.chain([first], usable_lines(lines, report)):
        yield Record(number, names.renamed({"text": text}), replaced)


def _jsonl_records(first: TextLine, lines: Iterator[Line], names: Names, report: Report) -> Iterator[Record]:
    if _JSON_ARRAY.match(first.text):
        report.fail(
            first.number,
            "there must be one JSON object a line. Got the beginning of an array instead. Convert it, for example "
            "with: jq -c '.[]'",
        )
    for number, text, replaced in itertools.chain([first], usable_lines(lines, report)):
        try:
            fields, mended = _parse_json(text)
        except BadLineError as error:
            report.skip(number, str(error))
            continue
        yield Record(number, names.renamed(fields), replaced or mended)


def _parse_json(text: str) -> tuple[dict[str, object], bool]:
    mended = False
    try:
        value = _DECODER.decode(text)
        if _UNUSABLE_ESCAPE.search(text):
            value, original = _mend_all(value), value
            mended = value != original
    except json.JSONDecodeError as error:
        raise BadLineError(f"broken JSON: {error.msg.removesuffix(' at')} at column {error.colno}") from None
    except ValueError:
        raise BadLineError("broken JSON: a whole number of too many digits") from None
    except RecursionError:
        raise BadLineError("JSON is nested too deeply") from None
    if not isinstance(value, dict):
        raise BadLineError(f"the line must be a JSON object. Got {kind_of(value)} instead")
    return value, mended


def _mend_all(value: object) -> object:
    """Replace in all strings of a JSON value what cannot be stored or sent."""
    if isinstance(value, str):
        return mend(value)
    if isinstance(value, list):
        return [_mend_all(item) for item in value]
    if isinstance(value, dict):
        return {_mend_all(key): _mend_all(item) for key, item in value.items()}
    return value


def _refuse_constant(constant: str) -> object:
    raise BadLineError(f"broken JSON: {constant} is not a JSON value")


def _parse_float(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise BadLineError("numbers must be finite. Got one over 1.8e308 instead")
    return number


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_float=_parse_float)


def _tsv_records(first: TextLine, lines: Iterator[Line], names: Names, report: Report) -> Iterator[Record]:
    columns, is_header = _layout(first.text.split("\t"), first.number, names, report)
    max_split = len(columns) - 1 if columns[-1] == "text" else -1
    for number, text, replaced in itertools.chain([] if is_header else [first], usable_lines(lines, report)):
        try:
            yield Record(number, _fields(text.split("\t", max_split), columns), replaced)
        except BadLineError as error:
            report.skip(number, str(error))


def _csv_records(first: TextLine, lines: Iterator[Line], names: Names, report: Report) -> Iterator[Record]:
    delimiter, _ = _csv_header(first.text, names) or (",", [])
    feed = RecordLines(itertools.chain([Line(*first)], lines))
    rows = csv.reader(feed, delimiter=delimiter, strict=True)
    columns: list[str] = []
    while True:
        feed.start_record()
        try:
            row = _next_row(rows)
            if row is None:
                return
            if len(row) <= 1 and not "".join(row).strip():
                continue
            if not columns:
                columns, is_header = _layout(row, feed.first_line, names, report)
                if is_header:
                    continue
            fields = _fields(row, columns)
        except BadLineError as error:
            report.skip(feed.first_line, str(error))
        except csv.Error as error:
            until = f" in the lines up to {feed.last_line}" if feed.last_line > feed.first_line else ""
            report.skip(feed.first_line, f"broken CSV{until}: {error}")
        else:
            yield Record(feed.first_line, fields, feed.replaced)


_CSV_LOCK = threading.RLock()


def _next_row(rows: Iterator[list[str]]) -> list[str] | None:
    """Read a row with the limit of the csv module lifted, for that limit is the whole process's."""
    with _CSV_LOCK:
        limit = csv.field_size_limit(CSV_CELL_LIMIT)
        try:
            return next(rows, None)
        finally:
            csv.field_size_limit(limit)


def _csv_header(first: str, names: Names) -> tuple[str, list[str]] | None:
    """Find the delimiter that makes the first line a header of several columns."""
    for delimiter in ",;\t":
        with contextlib.suppress(csv.Error):
            cells = _next_row(csv.reader([first], delimiter=delimiter, strict=True)) or []
            if len(cells) > 1 and (header := _header(cells, names)):
                return delimiter, header
    return None


def _header(cells: list[str], names: Names) -> list[str] | None:
    """Return the names of the columns if the cells are names, known ones in lower case."""
    header = [cell.strip() for cell in cells]
    header = [name.lower() if name.lower() in _KNOWN_COLUMNS else name for name in header]
    return header if any(name in _KNOWN_COLUMNS or name in names.rename for name in header) else None


def _layout(cells: list[str], line: int, names: Names, report: Report) -> tuple[list[str], bool]:
    """Return the names of the columns, and whether the cells are those names."""
    header = _header(cells, names) if names.columns is None else None
    if known := names.columns or header:
        columns = known
    elif len(cells) <= 2:
        columns = ["label", "text"][-len(cells) :]
    elif len(cells) == 3:
        columns = ["split" if cells[0].strip().lower() in _SPLITS else "id", "label", "text"]
    else:
        report.fail(
            line,
            f"without a header there must be at most 3 columns. Got {len(cells)} instead. Put a line with the names of "
            "the columns first, or give columns.",
        )
    columns = [names.rename.get(name, name) for name in columns]
    if "text" not in columns:
        report.fail(
            line,
            f"one of the columns must be 'text'. Got {shown(columns)} instead. Rename the one that holds the text: "
            f"rename={{{columns[-1]!r}: 'text'}}.",
        )
    if repeated := {name for name in columns if name and columns.count(name) > 1}:
        report.fail(
            line,
            f"columns must have different names. Got {shown(sorted(repeated))} more than once. Give columns or rename.",
        )
    return columns, header is not None


def _fields(cells: list[str], columns: list[str]) -> dict[str, object]:
    if len(cells) != len(columns):
        raise BadLineError(f"the row must have {len(columns)} columns. Got {len(cells)} instead")
    return {name: cell for name, cell in zip(columns, cells, strict=True) if name and (cell or name == "text")}


_READERS = {"jsonl": _jsonl_records, "tsv": _tsv_records, "csv": _csv_records, "lines": _lines_records}


# Folders


def read_folder(root: Path, names: Names, report: Report) -> Iterator[Record]:
    """Read the text files of a folder and its sub-folders.

    Parameters
    ----------
    root : Path
        The folder.
    names : Names
        The caller's names.
    report : Report
        Where problems go.

    Yields
    ------
    Record
        One a file.
    """
    n_files, n_skipped_before = 0, report.n_skipped
    for path in _text_files(root, report):
        n_files += 1
        report.file = display_path(path)
        try:
            text, replaced = read_whole(path)
        except BadLineError as error:
            report.skip(None, str(error))
            continue
        relative = path.relative_to(root)
        fields: dict[str, object] = {"id": display_path(relative)}
        if len(relative.parts) > 1:
            fields["label"] = display_path(relative.parts[-2])
        fields["text"] = text
        yield Record(None, names.renamed(fields), replaced)
    if n_files == 0 and report.n_skipped == n_skipped_before:
        report.file = display_path(root)
        report.fail(
            None,
            "a folder must hold files that end in .txt or .txt.gz. Got none. Rename the files, or give the documents "
            "as JSON lines.",
        )


def _text_files(root: Path, report: Report) -> Iterator[Path]:
    """Walk through the folders in a fixed order: the files of a folder, then its sub-folders."""
    seen: set[tuple[int, int]] = set()
    folders = [root]
    while folders:
        folder = folders.pop()
        report.file = display_path(folder)
        try:
            status = folder.stat()
            paths = sorted(folder.iterdir())
        except OSError as error:
            report.skip(None, f"cannot be read: {explain_error(error)}")
            continue
        if (status.st_dev, status.st_ino) in seen:  # would go on for ever if the link points upwards
            report.skip(None, "a folder is read once. Got a link to one that was read already")
            continue
        seen.add((status.st_dev, status.st_ino))
        sub_folders = []
        for path in paths:
            if path.name.startswith("."):
                continue
            try:
                mode = path.stat().st_mode
            except OSError as error:
                report.file = display_path(path)
                report.skip(None, f"cannot be read: {explain_error(error)}")
                continue
            if stat.S_ISDIR(mode):
                sub_folders.append(path)
            elif path.name.lower().endswith((".txt", ".txt.gz")):
                if stat.S_ISREG(mode):
                    yield path
                else:  # a named pipe would wait for a writer, a device may have no end
                    report.file = display_path(path)
                    report.skip(None, "documents must be regular files. Got a pipe, a socket or a device instead")
        folders.extend(reversed(sub_folders))
