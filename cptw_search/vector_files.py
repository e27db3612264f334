"""Readers of word-vector files, one a format: the private half of :func:`cptw_search.embeddings.load_vectors`.

A file may come from a stranger and may be larger than memory. So every reader streams, keeps only the words that are
needed, allocates for what it has seen and never for what a header declares, and ends in a :class:`Reading` or a
:class:`~cptw_search.errors.VectorFileError`.
"""

from __future__ import annotations

import gzip
import io
import math
import re
import sys
import tokenize
import warnings
import zipfile
import zlib
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from cptw_search.errors import VectorFileError

__all__ = ["FORMATS", "Reading", "read_file", "read_keyed_vectors"]

FORMATS = ("word2vec-text", "word2vec-binary", "glove", "fasttext", "npz", "keyedvectors")

MAX_DIMENSIONS = 100_000
MAX_WORD_LENGTH = 10_000
MAX_LINE_BYTES = 4 << 20  # MAX_DIMENSIONS numbers of some 40 characters
BLOCK_BYTES = 1 << 20
PROGRESS_FROM_BYTES = 50_000_000
DEFLATE_MAX_RATIO = 1032  # zlib's documentation: nothing shrinks further, so a larger claim is a lie
BYTE_ORDER_MARK = b"\xef\xbb\xbf"

COLUMNS = "wrong number of columns"
NUMBERS = "values that are not numbers"
NOT_FINITE = "NaN or infinite values"
BAD_WORD = "words that are empty, too long or hold NUL"
NOT_UTF8 = "words that are not UTF-8"
ZERO = "all-zero vectors"
REPEATED = "repeated words"
MALFORMED = (COLUMNS, NUMBERS, NOT_FINITE, BAD_WORD)


@dataclass(frozen=True)
class Reading:
    """What a file gave: words, their vectors (not writeable), and what was left out and why."""

    words: list[str]
    vectors: NDArray[np.float32]
    format: str
    n_read: int
    problems: dict[str, int]
    summary: str


def _fail(name: str, problem: str, advice: str) -> NoReturn:
    raise VectorFileError(f"{name}: {problem} {advice}")


class _Collector:
    """The words kept so far, and the counts of what was left out.

    With ``needed``, the words kept are those that are in it and, for each case-folded form, the first one met: whether
    a needed word has an exact counterpart further down is known at the end only.
    """

    def __init__(self, name: str, unit: str, n_dimensions: int, needed: Collection[str] | None) -> None:
        if not 1 <= n_dimensions <= MAX_DIMENSIONS:
            problem = f"vectors must have from 1 to {MAX_DIMENSIONS:,} dimensions. Got {n_dimensions:,} instead."
            _fail(name, problem, "Check that this is a file of word vectors.")
        self.name = name
        self.unit = unit
        self.needed = None if needed is None else frozenset(needed)
        self.keys = None if needed is None else frozenset(word.casefold() for word in needed)
        self.rows: dict[str, int] = {}
        self.first_of_key: dict[str, str] = {}
        self.vectors = np.empty((0, n_dimensions), dtype=np.float32)
        self.problems: Counter[str] = Counter()
        self.first_at: dict[str, int] = {}
        self.n_read = 0
        self.at = 0  # the line or the word that is being read, from 1
        self.examples: list[str] = []

    def count(self, problem: str, times: int = 1) -> None:
        self.problems[problem] += times
        self.first_at.setdefault(problem, self.at)

    def decode(self, raw: bytes) -> str | None:
        try:
            return raw.decode()
        except UnicodeDecodeError:
            self.count(NOT_UTF8)
            return None

    def has_key(self, word: str, keys: frozenset[str]) -> bool:
        if len(self.examples) < 3:
            self.examples.append(word)
        return word.casefold() in keys

    def is_needed(self, word: str) -> bool:
        """Tell whether a word's vector has to be read."""
        if self.keys is not None and not self.has_key(word, self.keys):
            return False
        if not word or "\0" in word or len(word) > MAX_WORD_LENGTH:
            self.count(BAD_WORD)
            return False
        if word in self.rows:
            self.count(REPEATED)
            return False
        return self.needed is None or word in self.needed or word.casefold() not in self.first_of_key

    def put(self, word: str, values: Any) -> None:
        n = len(self.rows)
        if n == len(self.vectors):
            # grown in place by realloc, without a second copy; no view of the array outlives this method
            self.vectors.resize((max(16, 2 * n), self.vectors.shape[1]), refcheck=False)
        self.vectors[n] = values
        row = self.vectors[n]
        if not 0 < float(row @ row) < math.inf:  # nearly all pass this cheap test, the others get the exact ones
            problem = ZERO if not row.any() else None if np.isfinite(row).all() else NOT_FINITE
            if problem is not None:
                self.count(problem)
                return
        self.rows[word] = n
        if self.keys is not None:
            self.first_of_key.setdefault(word.casefold(), word)

    def put_all(self, words: Iterable[bytes | str], rows: Iterable[Any]) -> None:
        for raw, row in zip(words, rows, strict=True):
            self.at += 1
            self.n_read += 1
            word = self.decode(raw) if isinstance(raw, bytes) else raw
            if word is not None and self.is_needed(word):
                self.put(word, row)

    def summary(self) -> str:
        parts = (f"{what}: {n:,} (first: {self.unit} {self.first_at[what]:,})" for what, n in self.problems.items())
        return "; ".join(parts)

    def finish(self, file_format: str, n_declared: int | None = None) -> Reading:
        """Check that enough was usable, and choose between the exact and the case-insensitive matches."""
        n_malformed = sum(self.problems.get(kind, 0) for kind in MALFORMED)
        n_not_utf8 = self.problems.get(NOT_UTF8, 0)
        n_looked_at = len(self.rows) + self.problems.total() - n_not_utf8
        if 2 * n_malformed > n_looked_at or 2 * n_not_utf8 > self.n_read:
            problem = f"at most half of what is read may be malformed. Got {self.summary()}, of {self.n_read:,} words."
            _fail(self.name, problem, f"Check that the file is whole and that its format is {file_format!r}.")
        if not self.rows:
            self.fail_without_words()
        words = list(self.rows)
        if self.needed is not None:
            fallback = {word.casefold() for word in self.needed if word not in self.rows}
            chosen = self.needed.union(first for key, first in self.first_of_key.items() if key in fallback)
            words = [word for word in words if word in chosen]
        if len(words) == len(self.rows):
            self.vectors.resize((len(words), self.vectors.shape[1]), refcheck=False)
        else:
            self.vectors = self.vectors[[self.rows[word] for word in words]]
        self.vectors.setflags(write=False)
        if n_declared is not None and n_declared != self.n_read:
            self.at = 1
            self.count("words more or fewer than the header declares", abs(n_declared - self.n_read))
        return Reading(words, self.vectors, file_format, self.n_read, dict(self.problems), self.summary())

    def fail_without_words(self) -> NoReturn:
        left_out = f" Left out: {self.summary()}." if self.problems else ""
        if self.needed is None or self.problems.keys() - {NOT_UTF8}:
            problem = f"at least one usable word is needed. Got none among {self.n_read:,} words read.{left_out}"
            _fail(self.name, problem, "Check that the file is whole.")
        problem = (
            f"at least one of the {len(self.needed):,} words asked for must be there. Got none: {self.n_read:,} words "
            f"were read, such as {self.examples}; asked for were such as {sorted(self.needed)[:3]}.{left_out}"
        )
        _fail(self.name, problem, "Check that both are of the same language, and that the words are not stems.")


def _parse_header(line: bytes) -> tuple[int, int] | None:
    columns = line.split()
    if len(columns) == 2 and all(column.isdigit() and len(column) < 19 for column in columns):
        return int(columns[0]), int(columns[1])
    return None


def _n_numbers(line: bytes) -> int:
    """Count the numbers at the end of a line, its first column apart."""
    n = 0
    for column in reversed(line.split()[1:]):
        try:
            float(column)
        except ValueError:
            break
        n += 1
    return n


def _first_lines(head: bytes) -> list[bytes]:
    """Return up to a dozen whole lines from the start of a file, blank ones left out."""
    lines = head.removeprefix(BYTE_ORDER_MARK).split(b"\n", 12)
    if len(lines) > 12 or len(head) >= MAX_LINE_BYTES:
        lines.pop()  # the rest, or a line that may go on
    return [line for line in lines if line.strip()]


def _sniff(head: bytes, name: str) -> str:
    """Return the format that the content has, whatever the file is called."""
    if head.startswith(b"PK"):
        return "npz"
    if re.match(rb"\x80[\x02-\x05]", head):  # the opcode that begins a pickle, and its protocol
        return "keyedvectors"
    lines = _first_lines(head)
    declared = _parse_header(lines[0]) if lines else None
    if declared is not None:
        if len(lines) > 1 and _n_numbers(lines[1]) == declared[1]:
            return "word2vec-text"
        start = head.index(b"\n") if b"\n" in head else 0
        has_control_characters = re.search(rb"[\x00-\x08\x0e-\x1f]", head[start : start + 4096])
        return "word2vec-binary" if has_control_characters or not any(map(_n_numbers, lines[1:])) else "word2vec-text"
    if any(map(_n_numbers, lines)):
        return "glove"
    problem = (
        f"vectors begin with two numbers, a word and its numbers, or as an .npz archive. Got {head[:40]!r} instead."
    )
    _fail(name, problem, "Pass the format with format=. Of fastText, use the .vec file: models (.bin) are not read.")


def _layout(head: bytes, name: str, file_format: str) -> tuple[int | None, int]:
    """Return the declared number of words and the number of dimensions of a text file."""
    lines = _first_lines(head) or [b""]
    if file_format == "glove":
        return None, Counter(map(_n_numbers, lines)).most_common(1)[0][0]
    declared = _parse_header(lines[0])
    if declared is None:
        problem = f"the first line in {file_format!r} format must be two whole numbers. Got {lines[0][:40]!r} instead."
        _fail(name, problem, "Use format='glove' for a file without header, or format='auto'.")
    found = Counter(map(_n_numbers, lines[1:]))
    if 2 * found.get(declared[1], 0) < found.total():
        n_found = found.most_common(1)[0][0]
        problem = f"lines must have the {declared[1]:,} numbers that the header declares. Got {n_found:,} instead."
        _fail(name, problem, "Mend the header, or remove it and use format='glove'.")
    return declared


def _read_text(stream: IO[bytes], head: bytes, name: str, file_format: str, needed: Collection[str] | None) -> Reading:
    """Read one word a line, with or without a header.

    Of a line whose word is not needed, only the first column is decoded and looked up: 512 MB with 200,000 words, 1,000
    of them needed, took 0.4 to 0.6 s from the page cache, about three times as long as iterating over the lines does.
    The first column decides, for words may have spaces: ``heads`` are the first columns of the words needed.
    """
    n_declared, n_dimensions = _layout(head, name, file_format)
    collector = _Collector(name, "line", n_dimensions, needed)
    heads = None
    if collector.keys is not None:
        heads = frozenset(re.split(r"[ \t\n\r\v\f]", key, maxsplit=1)[0] for key in collector.keys)
    if head.startswith(BYTE_ORDER_MARK):
        stream.read(len(BYTE_ORDER_MARK))
    n_headers = 0 if n_declared is None else 1
    for number, line in enumerate(iter(partial(stream.readline, MAX_LINE_BYTES), b""), start=1):
        collector.at = number
        columns = line.split(None, 1)
        if not columns:
            continue
        if len(line) == MAX_LINE_BYTES and line[-1:] != b"\n":
            problem = f"a line must have less than {MAX_LINE_BYTES:,} bytes. Got more in line {number:,}."
            _fail(name, problem, "Check that this is a text file of word vectors.")
        if n_headers:
            n_headers = 0
            continue
        collector.n_read += 1
        if heads is not None:
            first_column = collector.decode(columns[0])
            if first_column is None or not collector.has_key(first_column, heads):
                continue
        columns = line.rsplit(None, n_dimensions)
        if len(columns) <= n_dimensions:
            collector.count(BAD_WORD if len(columns) == n_dimensions and line[:1].isspace() else COLUMNS)
            continue
        word = collector.decode(columns[0].strip())
        if word is not None and collector.is_needed(word):
            try:
                values = list(map(float, columns[1:]))
            except ValueError:
                collector.count(NUMBERS)
            else:
                collector.put(word, values)
    return collector.finish(file_format, n_declared)


def _read_binary(stream: IO[bytes], name: str, size: int | None, needed: Collection[str] | None) -> Reading:
    """Read the binary format of word2vec: a header, then each word, a space and its little-endian float32 values."""
    line = stream.readline(64)
    declared = _parse_header(line)
    if declared is None:
        problem = f"the first line in 'word2vec-binary' format must be two whole numbers. Got {line!r} instead."
        _fail(name, problem, "Use format='auto'.")
    n_words, n_dimensions = declared
    collector = _Collector(name, "word", n_dimensions, needed)
    expected = f"the header declares {n_words:,} words of {n_dimensions:,} dimensions."
    n_bytes = 4 * n_dimensions
    if size is not None and n_words * (n_bytes + 1) > size:
        _fail(name, f"{expected} Got {size:,} bytes, which cannot hold them.", "The file is truncated: fetch it again.")
    data, at = b"", 0
    for number in range(1, n_words + 1):
        collector.at = number
        end = data.find(b" ", at, at + MAX_WORD_LENGTH + 2)
        while end < 0 or end + 1 + n_bytes > len(data):
            if end < 0 and len(data) - at > MAX_WORD_LENGTH + 1:
                problem = (
                    f"a word must have at most {MAX_WORD_LENGTH:,} bytes and a space after it. "
                    f"Got {data[at : at + 20]!r}... as word {number:,}."
                )
                _fail(name, problem, "The file is damaged, or its format is another: pass it with format=.")
            more = stream.read(max(BLOCK_BYTES, n_bytes))
            if not more:
                problem = f"{expected} Got the end of the file at word {number:,}."
                _fail(name, problem, "The file is truncated: fetch it again.")
            data, at = data[at:] + more, 0
            end = data.find(b" ", 0, MAX_WORD_LENGTH + 2)
        collector.n_read += 1
        word = collector.decode(data[at:end].lstrip(b"\n"))  # word2vec's own tool ends each vector with a newline
        if word is not None and collector.is_needed(word):
            collector.put(word, np.frombuffer(data, dtype="<f4", count=n_dimensions, offset=end + 1))
        at = end + 1 + n_bytes
    reading = collector.finish("word2vec-binary")
    if (data[at:] + stream.read(2)).strip():
        problem = f"{expected} Got more bytes after the last of them."
        _fail(name, problem, "The file is damaged, or its format is another: pass it with format=.")
    return reading


def _open_array(
    archive: zipfile.ZipFile, key: str, kinds: str, name: str, size: int
) -> tuple[IO[bytes], tuple[int, ...], bool, np.dtype[Any]]:
    """Open an array of an archive behind its header, which may not declare more than is there."""
    if f"{key}.npy" not in archive.namelist():
        problem = f"an .npz file must hold arrays 'words' and 'vectors'. Got {archive.namelist()[:5]} instead."
        _fail(name, problem, "Write it with numpy.savez(path, words=words, vectors=vectors).")
    info = archive.getinfo(f"{key}.npy")
    member = archive.open(info)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about headers of Python 2: what they say is checked below
        is_first_version = np.lib.format.read_magic(member)[0] == 1
        read_header = np.lib.format.read_array_header_1_0 if is_first_version else np.lib.format.read_array_header_2_0
        shape, fortran_order, dtype = read_header(member)
    if dtype.kind not in kinds:
        problem = (
            f"the array {key!r} must hold {'strings' if key == 'words' else 'numbers'}. Got dtype {dtype} instead."
        )
        _fail(name, problem, "Objects would be a pickle, which runs code when it is read: save words with dtype=str.")
    n_bytes = member.tell() + math.prod(shape) * dtype.itemsize
    if min(shape, default=0) < 0 or n_bytes != info.file_size or n_bytes > DEFLATE_MAX_RATIO * size:
        problem = f"the array {key!r} declares shape {shape} and dtype {dtype}. Got {info.file_size:,} bytes, packed."
        _fail(name, problem, "They do not fit: the file is damaged, fetch it again.")
    return member, shape, fortran_order, dtype


def _check_shapes(name: str, words: tuple[int, ...], vectors: tuple[int, ...]) -> None:
    if len(words) != 1 or len(vectors) != 2 or words[0] != vectors[0]:
        problem = f"n words need vectors of shape (n, n_dimensions). Got shapes {words} and {vectors} instead."
        _fail(name, problem, "Check how they were saved.")


def _read_npz(stream: IO[bytes], name: str, size: int, needed: Collection[str] | None) -> Reading:
    """Read the arrays ``words`` and ``vectors`` side by side, in blocks of rows."""
    with zipfile.ZipFile(stream) as archive, ExitStack() as stack:
        word_file, word_shape, _, word_type = _open_array(archive, "words", "US", name, size)
        stack.enter_context(word_file)
        vector_file, shape, fortran_order, vector_type = _open_array(archive, "vectors", "fiu", name, size)
        stack.enter_context(vector_file)
        _check_shapes(name, word_shape, shape)
        if not 1 <= word_type.itemsize <= 4 * MAX_WORD_LENGTH:
            problem = f"words must have from 1 to {MAX_WORD_LENGTH:,} characters. Got dtype {word_type}."
            _fail(name, problem, "Check how they were saved.")
        collector = _Collector(name, "word", shape[1], needed)
        row_bytes = shape[1] * vector_type.itemsize
        # rows of an array that is stored by columns come out of the whole only
        step = max(1, shape[0] if fortran_order else BLOCK_BYTES // max(row_bytes, word_type.itemsize))
        for start in range(0, shape[0], step):
            n = min(step, shape[0] - start)
            words = np.frombuffer(word_file.read(n * word_type.itemsize), dtype=word_type)
            rows = np.frombuffer(vector_file.read(n * row_bytes), dtype=vector_type)
            collector.put_all(words.tolist(), rows.reshape((n, shape[1]), order="F" if fortran_order else "C"))
    return collector.finish("npz")


def read_keyed_vectors(source: Any, needed: Collection[str] | None, name: str | None = None) -> Reading:
    """Read gensim's ``KeyedVectors``, or a model that has them as ``wv``."""
    source = getattr(source, "wv", source)
    name = name or type(source).__name__
    words, vectors = list(source.index_to_key), np.asarray(source.vectors)
    _check_shapes(name, (len(words),), vectors.shape)
    if vectors.dtype.kind not in "fiu" or not all(isinstance(word, str) for word in words):
        problem = f"keys must be strings, vectors numbers. Got keys such as {words[:3]}, vectors of {vectors.dtype}."
        _fail(name, problem, "Convert them first.")
    collector = _Collector(name, "word", vectors.shape[1], needed)
    with np.errstate(all="ignore"):
        collector.put_all(words, vectors)
    return collector.finish("keyedvectors")


def _read_pickle(path: Path, needed: Collection[str] | None, trusted: bool) -> Reading:
    if not trusted:
        problem = (
            "a file that gensim pickled must be trusted, for a pickle runs code when it is read. Got trusted=False."
        )
        advice = "Pass trusted=True if it is your own, or have it saved with KeyedVectors.save_word2vec_format."
        _fail(path.name, problem, advice)
    from gensim.utils import SaveLoad

    try:
        loaded = SaveLoad.load(str(path))
        return read_keyed_vectors(loaded, needed, path.name)
    except VectorFileError:
        raise
    except Exception as error:
        raise VectorFileError(
            f"{path.name}: the file must be one that the installed gensim can load, with vectors in it. "
            f"Got {type(error).__name__}: {error}. Save it again with KeyedVectors.save_word2vec_format."
        ) from error


@contextmanager
def _open(path: Path, size: int, progress: bool | None) -> Iterator[tuple[IO[bytes], bool]]:
    """Open a file, unpacked if it is gzipped; a bar follows the bytes of the file itself."""
    with ExitStack() as stack:
        raw: Any = stack.enter_context(path.open("rb", buffering=0))
        if progress is None:
            progress = size > PROGRESS_FROM_BYTES and sys.stderr.isatty()
        if progress:
            from rich.console import Console
            from rich.markup import escape
            from rich.progress import wrap_file

            console = Console(stderr=True)
            bar = wrap_file(raw, size, description=escape(path.name), console=console, transient=console.is_terminal)
            raw = stack.enter_context(bar)
        stream = stack.enter_context(io.BufferedReader(raw, BLOCK_BYTES))
        is_gzip = stream.read(2) == b"\x1f\x8b"
        stream.seek(0)
        if is_gzip:
            unpacked: Any = stack.enter_context(gzip.GzipFile(fileobj=stream))
            stream = stack.enter_context(io.BufferedReader(unpacked, BLOCK_BYTES))
        yield stream, is_gzip


def _read_stream(path: Path, needed: Collection[str] | None, file_format: str, progress: bool | None) -> Reading | None:
    """Read anything but a pickle: for that, return None."""
    if not path.is_file():
        what = "a directory" if path.is_dir() else "something else" if path.exists() else "nothing"
        _fail(path.name, f"the source must be a file. Got {what} at {str(path)!r}.", "Check the path.")
    name, size = path.name, path.stat().st_size
    with np.errstate(all="ignore"), _open(path, size, progress) as (stream, is_gzip):
        head = stream.read(MAX_LINE_BYTES)
        stream.seek(0)
        if not head:
            _fail(name, "the file must not be empty. Got 0 bytes.", "Fetch it again.")
        if file_format == "auto":
            file_format = _sniff(head, name)
        if file_format == "npz" and is_gzip:
            _fail(name, "an .npz file must not be gzipped as well. Got one that is.", "Unpack it with gunzip.")
        if file_format == "npz":
            return _read_npz(stream, name, size, needed)
        if file_format == "word2vec-binary":
            return _read_binary(stream, name, None if is_gzip else size, needed)
        if file_format == "keyedvectors":
            return None
        return _read_text(stream, head, name, file_format, needed)


def read_file(
    path: Path, needed: Collection[str] | None, file_format: str, *, trusted: bool, progress: bool | None
) -> Reading:
    """Read a file in one of :data:`FORMATS`, or in the one that its content shows (``"auto"``)."""
    unreadable = (
        OSError,  # including gzip.BadGzipFile
        EOFError,
        zlib.error,
        zipfile.BadZipFile,
        NotImplementedError,  # what zipfile cannot unpack
        RuntimeError,  # what needs a password
        ValueError,  # damaged headers of arrays, as the next three
        TypeError,
        SyntaxError,
        tokenize.TokenError,
    )
    try:
        reading = _read_stream(path, needed, file_format, progress)
    except VectorFileError:
        raise
    except unreadable as error:
        raise VectorFileError(
            f"{path.name}: the file must be readable and whole. Got {type(error).__name__}: {error}. "
            "Fetch it again, or pass its format with format=."
        ) from error
    return _read_pickle(path, needed, trusted) if reading is None else reading
