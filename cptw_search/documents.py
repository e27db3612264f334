"""Documents from files: JSON lines, TSV, CSV, plain lines, a folder of text files, standard input, gzipped or not.

Everything streams: what is held in memory is one line, never the file. A line that cannot be used is left out and
counted with its file and line number (:class:`Problems`), or is an error (``strict``).
"""

from __future__ import annotations

import os
import stat
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import BinaryIO, NoReturn

from cptw_search.document_formats import FORMATS, read_folder, read_stream
from cptw_search.document_lines import BadLineError, Names, Record, display_path, explain_error, kind_of, shown
from cptw_search.errors import InvalidInputError, check_choice

__all__ = ["FORMATS", "DocumentError", "DocumentWarning", "Problem", "Problems", "read_documents"]


class DocumentError(InvalidInputError):
    """A document, or a file of documents, that cannot be read; the message begins with ``file:line:``."""


class DocumentWarning(UserWarning):
    """Some documents could not be read, and nobody asked to be told which."""


@dataclass(frozen=True)
class Problem:
    """One line, or one file of a folder, that could not be used as it is.

    Parameters
    ----------
    file : str
        The file, as it was given; ``<stdin>`` for standard input.
    line : int or None
        The line, counted from 1; None where the file is one document.
    reason : str
        What is wrong with it.

    Examples
    --------
    >>> print(Problem("news.jsonl", 3, "text must be a string. Got null instead"))
    news.jsonl:3: text must be a string. Got null instead
    """

    file: str
    line: int | None
    reason: str

    def __str__(self) -> str:
        return f"{self.file}: {self.reason}" if self.line is None else f"{self.file}:{self.line}: {self.reason}"


@dataclass
class Problems:
    r"""What :func:`read_documents` met on its way; it may go through several files.

    Parameters
    ----------
    max_examples : int, default 10
        How many problems to keep; all are counted.
    n_documents : int
        Documents given out.
    count : int
        Lines, or files of a folder, that were left out.
    n_replaced : int
        Documents given out in which characters had to be replaced by U+FFFD: bytes that are not UTF-8, NUL, and
        halves of surrogate pairs.
    n_empty : int
        Documents given out whose text is empty or white space. They are no problem, but many of them may be one.
    examples : list of Problem
        The first ones that were left out or had characters replaced.

    Examples
    --------
    >>> import io
    >>> problems = Problems()
    >>> documents = list(read_documents(io.BytesIO(b'{"text": "a boat"}\n{"text": 7}\n'), problems=problems))
    >>> len(documents), problems.count
    (1, 1)
    >>> print(problems)
    1 document read, 1 left out; first: <stream>:2: text must be a string. Got a number instead
    """

    max_examples: int = 10
    n_documents: int = 0
    count: int = 0
    n_replaced: int = 0
    n_empty: int = 0
    examples: list[Problem] = field(default_factory=list)

    def __str__(self) -> str:
        parts = [f"{self.n_documents:,} document{'' if self.n_documents == 1 else 's'} read"]
        parts += [f"{self.count:,} left out"] if self.count else []
        parts += [f"{self.n_replaced:,} with replaced characters"] if self.n_replaced else []
        parts += [f"{self.n_empty:,} without text"] if self.n_empty else []
        first = f"; first: {self.examples[0]}" if self.examples else ""
        return ", ".join(parts) + first

    def _keep(self, problem: Problem) -> None:
        if len(self.examples) < self.max_examples:
            self.examples.append(problem)


@dataclass
class _Report:
    """Where problems go: into the collector, or out as an error."""

    file: str
    strict: bool
    problems: Problems

    @property
    def n_skipped(self) -> int:
        return self.problems.count

    def skip(self, line: int | None, reason: str) -> None:
        problem = Problem(self.file, line, reason)
        if self.strict:
            raise DocumentError(f"{problem}. Correct it, or read without strict to leave it out.")
        self.problems.count += 1
        self.problems._keep(problem)

    def replaced(self, line: int | None) -> None:
        problem = Problem(self.file, line, "what is not UTF-8, or NUL, was replaced by U+FFFD")
        if self.strict:
            raise DocumentError(f"{problem}. Convert it to UTF-8, or read without strict to accept that.")
        self.problems.n_replaced += 1
        self.problems._keep(problem)

    def fail(self, line: int | None, reason: str, cause: Exception | None = None) -> NoReturn:
        raise DocumentError(str(Problem(self.file, line, reason))) from cause


def read_documents(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    format: str = "auto",
    columns: Sequence[str] | None = None,
    rename: Mapping[str, str] | None = None,
    strict: bool = False,
    problems: Problems | None = None,
) -> Iterator[dict[str, object]]:
    r"""Read documents one by one.

    Parameters
    ----------
    source : str, path-like or binary file
        A file, a folder, ``"-"`` for standard input, or a file opened in binary mode, which stays open. What is
        gzipped is recognised by its content, on standard input, too.
    format : {"auto", "jsonl", "tsv", "csv", "lines", "folder"}, default="auto"
        See Notes. By default what the suffix says (``.jsonl``, ``.ndjson``, ``.json``, ``.tsv``, ``.csv``, ``.txt``
        for lines; each also with ``.gz``), else what the first line looks like: ``{`` begins JSON lines, a tab makes
        TSV, a header with a known column name CSV, and all else is lines.
    columns : sequence of str, default=None
        The names of the columns of a TSV or CSV file that has no header line.
    rename : mapping of str to str, default=None
        Names of fields in the file to names here, such as ``{"body": "text", "category": "label"}``.
    strict : bool, default=False
        Raise at the first line that would be left out, or changed because it is not UTF-8.
    problems : Problems, default=None
        Where to count what was left out, while reading. Without it there is a warning at the end.

    Returns
    -------
    iterator of dict
        ``id``, a string; ``text``, a string, maybe empty; ``title``, a string, and ``label``, if they are there; and
        all other fields as they are. Every string can be encoded as UTF-8 and has no NUL. Ids may repeat.

    Raises
    ------
    InvalidInputError
        At once, if there is no such file or an argument cannot be used.
    DocumentError
        While reading, if nothing can be made of the file (it is UTF-16, its compressed data is cut off, a column
        ``text`` is missing), or with ``strict`` at the first problem.

    Warns
    -----
    DocumentWarning
        Once, at the end, if documents were left out or changed and neither ``problems`` nor ``strict`` was given.

    Notes
    -----
    jsonl
        One JSON object a line. ``_id`` is taken for ``id`` where that is missing, and dropped otherwise; so the
        corpora of BEIR work as they are. A null ``title`` or ``label`` counts as missing.
    tsv
        Cells are separated by tabs, without quoting. Where the first line holds one of the names ``id``, ``_id``,
        ``text``, ``title``, ``label`` (or a name of ``rename``) it is a header. Otherwise the number of columns
        decides: ``text``; ``label text``; ``split label text`` if the first cell is ``train``, ``test``, ``dev``,
        ``val``, ``valid``, ``validation`` or ``-``, else ``id label text``; for anything else give ``columns``. An
        empty cell counts as missing, but for ``text``. Further tabs belong to the last column if that is the text.
    csv
        As ``tsv``, with commas (semicolons or tabs, if the header has them) and with quoted cells, which may go over
        several lines.
    lines
        Each line is a text; blank ones are passed over, as in all formats.
    folder
        Each ``.txt`` or ``.txt.gz`` file is a document, in the order of the names; other files and hidden ones are
        passed over. The id is the path inside the folder, the label the name of the sub-folder that the file is in,
        if it is in one. Symbolic links are followed.

    A document without an id gets the number of its line, counted from 1, the header included: ``"3"``. Ids that are
    whole numbers become strings. Left out are: lines over 64 MB, broken JSON, what is not an object, objects whose
    ``text`` is missing or is no string, ids, titles and labels of other kinds, NaN and infinite numbers, rows with
    more or fewer cells than columns, and files that cannot be opened.

    Examples
    --------
    >>> import io
    >>> lines = io.BytesIO(b'{"_id": 7, "title": "Boats", "text": "on a lake"}\n{"text": "a ship"}\n')
    >>> for document in read_documents(lines):
    ...     print(document)
    {'id': '7', 'title': 'Boats', 'text': 'on a lake'}
    {'id': '2', 'text': 'a ship'}
    >>> list(read_documents(io.BytesIO(b"sport\ta race\n"), rename={"label": "topic"}))
    [{'id': '1', 'topic': 'sport', 'text': 'a race'}]
    >>> list(read_documents(io.BytesIO(b'{"text": null}\n'), strict=True))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cptw_search.documents.DocumentError: <stream>:1: text must be a string. Got null instead. Correct it, or read ...
    """
    check_choice("format", format, FORMATS)
    names = _checked_names(columns, rename)
    warn = problems is None and not strict
    report = _Report(_name_of(source), strict, Problems() if problems is None else problems)
    if isinstance(source, str | os.PathLike) and os.fspath(source) != "-":
        path, is_folder = Path(source), _is_folder(source, report.file)
        if format == "folder" and not is_folder:
            raise InvalidInputError(f"{report.file}: format 'folder' needs a folder. Got a file. Leave the format out.")
        if is_folder and format not in ("auto", "folder"):
            raise InvalidInputError(
                f"{report.file}: format {format!r} needs a file. Got a folder. Give its files one by one, or leave the "
                "format out to read the .txt files in it."
            )
        if is_folder:
            return _documents(read_folder(path, names, report), report, warn)
        return _documents(_file_records(path, format, names, report), report, warn)
    if format == "folder":
        raise InvalidInputError(f"{report.file}: format 'folder' needs the path of a folder. Got a stream instead.")
    return _documents(read_stream(_checked_stream(source), format, names, report), report, warn)


def _documents(records: Iterator[Record], report: _Report, warn: bool) -> Iterator[dict[str, object]]:
    problems = report.problems
    for line, fields, replaced in records:
        try:
            document, text = _make_document(fields, report.file if line is None else str(line))
        except BadLineError as error:
            report.skip(line, str(error))
            continue
        if replaced:
            report.replaced(line)
        problems.n_documents += 1
        problems.n_empty += not text or text.isspace()
        yield document
    if warn and problems.examples:
        message = f"{problems}. Give problems to see all, or strict to stop at the first."
        warnings.warn(message, DocumentWarning, stacklevel=2)


def _make_document(fields: dict[str, object], default_id: str) -> tuple[dict[str, object], str]:
    doc_id, other_id = fields.pop("id", None), fields.pop("_id", None)
    if doc_id is None or doc_id == "":
        doc_id = other_id
    if doc_id is None or doc_id == "":
        doc_id = default_id
    if not isinstance(doc_id, str) and (isinstance(doc_id, bool) or not isinstance(doc_id, int)):
        raise BadLineError(f"id must be a string or a whole number. Got {kind_of(doc_id)} instead")
    if "text" not in fields:
        raise BadLineError(f"text is missing. Got the fields {shown(fields)} instead")
    text = fields["text"]
    if not isinstance(text, str):
        raise BadLineError(f"text must be a string. Got {kind_of(text)} instead")
    if "title" in fields and not isinstance(title := fields["title"], str):
        if title is not None:
            raise BadLineError(f"title must be a string. Got {kind_of(title)} instead")
        del fields["title"]
    if "label" in fields and not isinstance(label := fields["label"], str | int | float):
        if label is not None:
            raise BadLineError(f"label must be a string or a number. Got {kind_of(label)} instead")
        del fields["label"]
    return {"id": str(doc_id), **fields}, text


def _is_folder(path: str | os.PathLike[str], name: str) -> bool:
    if not os.fspath(path):  # Path("") would be the current folder: not what an empty shell variable means
        raise InvalidInputError("source must be the path of a file or folder, or '-'. Got an empty string instead.")
    try:
        return stat.S_ISDIR(Path(path).stat().st_mode)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the path
        raise InvalidInputError(f"{name}: cannot be opened: {explain_error(error)}. Check the path.") from error


def _checked_stream(source: object) -> BinaryIO:
    if isinstance(source, str | os.PathLike):
        source = getattr(sys.stdin, "buffer", None)
        if source is None:
            raise InvalidInputError("<stdin>: standard input must be a stream of bytes. Got none: it is closed.")
    if not hasattr(source, "read"):
        raise InvalidInputError(
            f"source must be a path, '-' or a file opened in binary mode. Got {type(source).__name__} instead."
        )
    return source  # type: ignore[return-value]  # whether it gives bytes is seen when it is read


def _checked_names(columns: Sequence[str] | None, rename: Mapping[str, str] | None) -> Names:
    new_names = dict(rename or {})
    if not all(isinstance(name, str) for name in [*new_names, *new_names.values()]):
        raise InvalidInputError(f"rename must be a mapping of names to names. Got {rename!r} instead.")
    if columns is None:
        return Names(None, new_names)
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise InvalidInputError(f"columns must be a list of names. Got {columns!r} instead.")
    if "text" not in [new_names.get(name, name) for name in columns]:
        raise InvalidInputError(f"columns must hold the name 'text'. Got {list(columns)} instead.")
    return Names(list(columns), new_names)


def _file_records(path: Path, file_format: str, names: Names, report: _Report) -> Iterator[Record]:
    try:
        stream = path.open("rb")
    except OSError as error:
        report.fail(None, f"cannot be opened: {explain_error(error)}. Check its permissions.", error)
    with stream:
        yield from read_stream(stream, file_format, names, report)


def _name_of(source: object) -> str:
    if isinstance(source, str | os.PathLike):
        return "<stdin>" if os.fspath(source) == "-" else display_path(source)
    name = getattr(source, "name", None)  # of a file opened by number it is the number
    return display_path(name) if isinstance(name, str) and name else "<stream>"
