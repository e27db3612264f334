"""The paper's data sets as people have them: folders, review files, tweets, SMART files, tagged articles.

Every reader yields rows of split, label and text; which reader is recognised by the layout of the folder or file:

=============  ========================================================================================
20 Newsgroups  ``*-train/<group>/<file>`` and ``*-test/<group>/<file>``
Reuters R8     ``*-train-*.txt`` and ``*-test-*.txt``, lines of label, tab and text
BBC sport      ``<class>/*.txt``
Amazon         ``<domain>/positive.review`` and ``negative.review``
Twitter        a CSV file with columns ``Sentiment`` and ``TweetText`` (or ``text``)
Classic        SMART files whose names, or whose folders' names, begin with cacm, cisi, cran, med
Wiki10+        ``*tag-data.xml`` and a folder ``*documents``, see `cptw_search.evaluation.wiki_files`
=============  ========================================================================================

Bytes: see :mod:`cptw_search.evaluation.source_files`; 20 Newsgroups is Latin-1.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from cptw_search.document_lines import display_path, explain_error, shown
from cptw_search.errors import InvalidInputError, require_extra
from cptw_search.evaluation.markup import elements
from cptw_search.evaluation.smart_files import is_qrels_name, is_queries_name, is_smart_file, read_smart_documents
from cptw_search.evaluation.source_files import MissingDataError, folder_entries, read_text
from cptw_search.evaluation.wiki_files import find_tag_file, read_tagged_articles

if TYPE_CHECKING:
    from cptw_search.evaluation.datasets import LabelledTexts

__all__ = ["SKLEARN_20NEWS", "Row", "fetch_20news", "read_original"]

SKLEARN_20NEWS = "sklearn:20newsgroups"
"""The name of scikit-learn's copy of 20 Newsgroups."""

Row: TypeAlias = tuple[str, str, str]
"""Split, label and text."""

_LIST_FILE = re.compile(r"(?P<before>.*[-_.])train(?P<after>[-_.].*txt(?:\.gz)?)", re.IGNORECASE)
_SMART_LABELS = ("cacm", "cisi", "cran", "med")
_REVIEWS = ("positive.review", "negative.review")  # there are unlabelled ones, too, which the paper did not take
_TWEET_TEXT = ("tweettext", "text")
_IRRELEVANT = "irrelevant"
_MAX_DEPTH = 3


def read_original(path: Path) -> Iterator[Row] | None:
    """Read a data set in one of the original formats.

    Parameters
    ----------
    path : Path
        A file or a folder. A folder that holds one folder and nothing else stands for that.

    Returns
    -------
    iterator of (str, str, str) or None
        Split (``train``, ``test`` or ``-``), label and text; None if the layout is none of them.

    Raises
    ------
    InvalidInputError
        While reading, if a file cannot be read or is not what its name says.
    """
    if not path.is_dir():
        if _LIST_FILE.fullmatch(path.name):
            return _list_files(path)
        return _tweets(path) if _has_tweets(path) else None
    for _ in range(_MAX_DEPTH):
        for recognised in _FOLDERS:
            if (rows := recognised(path)) is not None:
                return rows
        entries = folder_entries(path)
        if len(entries) != 1 or not entries[0].is_dir():
            break
        path = entries[0]
    return None


def _folders(path: Path) -> list[Path]:
    return [entry for entry in folder_entries(path) if entry.is_dir()]


def _files(path: Path) -> list[Path]:
    return [entry for entry in folder_entries(path) if entry.is_file()]


# A folder for each class


def _class_rows(folder: Path, split: str, encoding: str | None = None) -> Iterator[Row]:
    for class_folder in _folders(folder):
        files = _files(class_folder)
        texts = [file for file in files if file.name.lower().endswith((".txt", ".txt.gz"))]
        for file in texts or files:
            yield split, class_folder.name, read_text(file, encoding=encoding)


def _split_folders(path: Path) -> Iterator[Row] | None:
    """20 Newsgroups: a folder for training and one for testing."""
    parts: dict[str, Path] = {}
    for split in ("train", "test"):
        found = [folder for folder in _folders(path) if re.split(r"[-_.]", folder.name.lower())[-1] == split]
        if len(found) != 1:
            return None
        parts[split] = found[0]

    def rows() -> Iterator[Row]:
        for split, folder in parts.items():
            yield from _class_rows(folder, split, "latin-1" if folder.name.lower().startswith("20news") else None)

    return rows()


def _class_folders(path: Path) -> Iterator[Row] | None:
    """BBC sport: a folder of texts for each class."""
    folders = _folders(path)
    if len(folders) < 2 or not all(_files(folder) for folder in folders):
        return None
    return _class_rows(path, "-")


# Lines of label and text


def _list_files(path: Path) -> Iterator[Row]:
    """Reuters R8: one file for training, one for testing."""
    name = _LIST_FILE.fullmatch(path.name)
    test = path.with_name(f"{name['before']}test{name['after']}") if name else path
    if not test.is_file():
        raise MissingDataError(
            f"{display_path(path)}: its test texts must be in {test.name} beside it. It is not there."
        )
    for split, file in (("train", path), ("test", test)):
        for number, line in enumerate(read_text(file).split("\n"), start=1):
            if not line.strip():
                continue
            label, tab, text = line.partition("\t")
            if not tab or not label.strip():
                raise InvalidInputError(
                    f"{display_path(file)}:{number}: a line must be a label, a tab and a text. Got {line[:40]!r} instead."
                )
            yield split, label.strip(), text


def _folder_of_list_files(path: Path) -> Iterator[Row] | None:
    found = [file for file in _files(path) if _LIST_FILE.fullmatch(file.name)]
    if len(found) > 1:  # all-terms, no-short, no-stop, stemmed: the first is the text as it was
        found = [file for file in found if "all-terms" in file.name.lower()]
    return _list_files(found[0]) if len(found) == 1 else None


# Reviews


def _reviews(path: Path) -> Iterator[Row] | None:
    """Blitzer's Amazon reviews: the domain is the label."""
    if not any((folder / _REVIEWS[0]).is_file() for folder in _folders(path)):
        return None

    def rows() -> Iterator[Row]:
        for folder in _folders(path):
            for file in [folder / name for name in _REVIEWS if (folder / name).is_file()]:
                for number, review in enumerate(elements(read_text(file), "review"), start=1):
                    texts = elements(review, "review_text")
                    if not texts:
                        raise InvalidInputError(
                            f"{display_path(file)}: every <review> must have a <review_text>. Number {number} has none."
                        )
                    yield "-", folder.name.partition("_")[0], texts[0].strip()  # kitchen_&_housewares is kitchen

    return rows()


# Tweets


def _header(path: Path) -> list[str]:
    try:
        with path.open("rb") as stream:
            head = stream.readline(4096).removeprefix(b"\xef\xbb\xbf").decode("latin-1")
        return [name.strip().casefold() for name in next(csv.reader([head]), [])]
    except (OSError, csv.Error):
        return []


def _has_tweets(path: Path) -> bool:
    return "sentiment" in _header(path)


def _tweets(path: Path) -> Iterator[Row]:
    """Sanders' tweets: the sentiment is the label; those that are about something else are left out, as in the paper."""
    text = read_text(path)
    header = _header(path)
    column = next((header.index(name) for name in _TWEET_TEXT if name in header), None)
    if column is None:
        raise InvalidInputError(
            f"{display_path(path)}: the tweets must be there, in a column TweetText or text. Got the columns {shown(header)}: "
            "the list without texts is of no use."
        )
    label = header.index("sentiment")
    reader = csv.reader(io.StringIO(text, newline=""))
    try:
        next(reader)
        for cells in reader:
            if not cells:
                continue
            if len(cells) != len(header):
                raise InvalidInputError(
                    f"{display_path(path)}:{reader.line_num}: a row must have {len(header)} cells. Got {len(cells)} instead."
                )
            if cells[label].strip().casefold() != _IRRELEVANT:
                yield "-", cells[label].strip(), cells[column]
    except csv.Error as error:
        raise InvalidInputError(f"{display_path(path)}:{reader.line_num}: broken CSV: {error}.") from error


def _folder_of_tweets(path: Path) -> Iterator[Row] | None:
    found = [file for file in _files(path) if file.suffix.lower() == ".csv" and _has_tweets(file)]
    full = [file for file in found if set(_header(file)) & set(_TWEET_TEXT)] or found
    return _tweets(full[0]) if len(full) == 1 else None


# The four SMART collections


def _smart_label(file: Path) -> str | None:
    if is_queries_name(file.name) or is_qrels_name(file.name) or not is_smart_file(file):
        return None
    names = (file.name.lower(), file.parent.name.lower())
    return next((label for name in names for label in _SMART_LABELS if name.startswith(label)), None)


def _smart_collections(path: Path) -> Iterator[Row] | None:
    """Classic: title and abstract; what has neither is left out, as the paper's number of documents says."""
    files = [file for folder in (path, *_folders(path)) for file in _files(folder)]
    labelled = sorted((label, file) for file in files if (label := _smart_label(file)) is not None)
    if len({label for label, _ in labelled}) < 2:
        return None
    missing = set(_SMART_LABELS) - {label for label, _ in labelled}
    if missing:
        raise MissingDataError(
            f"{display_path(path)}: classic must have documents of cacm, cisi, cran and med. Got none of {', '.join(sorted(missing))}."
        )

    def rows() -> Iterator[Row]:
        for label, file in labelled:
            for record in read_smart_documents(file):
                if text := f"{record.title} {record.text}".strip():
                    yield "-", label, text

    return rows()


# Tagged articles


def _tagged_articles(path: Path) -> Iterator[Row] | None:
    """Wiki10+: articles, and the tags that readers gave them."""
    found = find_tag_file(path)
    return None if found is None else (("-", label, text) for label, text in read_tagged_articles(*found))


_FOLDERS: tuple[Callable[[Path], Iterator[Row] | None], ...] = (
    _split_folders,
    _folder_of_list_files,
    _reviews,
    _folder_of_tweets,
    _smart_collections,
    _tagged_articles,
    _class_folders,
)


def fetch_20news() -> LabelledTexts:
    """Fetch 20 Newsgroups by scikit-learn, which keeps it in its own cache.

    Returns
    -------
    LabelledTexts
        All texts with their headers, in scikit-learn's order before shuffling, and the split by date.

    Raises
    ------
    MissingExtraError
        If scikit-learn is not installed.
    InvalidInputError
        If it cannot be downloaded.
    """
    from cptw_search.evaluation.datasets import make_labelled_texts

    datasets = require_extra("sklearn.datasets", "evaluation", f"The data set {SKLEARN_20NEWS!r}")
    rows: list[Row] = []
    try:
        for split in ("train", "test"):
            part = datasets.fetch_20newsgroups(subset=split, shuffle=False)
            rows += [
                (split, part.target_names[label], text) for label, text in zip(part.target, part.data, strict=True)
            ]
    except OSError as error:
        raise InvalidInputError(
            f"{SKLEARN_20NEWS} cannot be fetched: {explain_error(error)}. Put the data set into "
            "<CPTW_DATA>/classification/20news.tsv.gz instead and load '20news'."
        ) from error
    return make_labelled_texts("20news", rows, SKLEARN_20NEWS)
