"""Labelled texts for classification: the paper's seven data sets, and sets of one's own.

One common format, ``split<TAB>label<TAB>text`` with one document a line; the originals are read as people have them,
see :mod:`cptw_search.evaluation.original_formats`.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from cptw_search.document_lines import display_path
from cptw_search.documents import Problems, read_documents
from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.source_files import check_number, content_digest, locate

__all__ = ["PAPER_DATASETS", "LabelledTexts", "load_dataset", "make_labelled_texts"]

PAPER_DATASETS = ("bbcsport", "twitter", "classic", "amazon", "reuters", "20news", "wiki")
"""The data sets of the paper's Table 1, in its order."""

_ENDINGS = (".tsv.gz", ".tsv", ".jsonl.gz", ".jsonl", ".csv.gz", ".csv", "")
_WANTED = (
    "Put it at <CPTW_DATA>/classification/{name}.tsv.gz with one document a line, split<TAB>label<TAB>text, where split "
    "is train, test or - for none; or its original files into the folder <CPTW_DATA>/classification/{name}."
)
_TRAIN, _TEST, _NONE = "train", "test", "-"
# A validation part belongs to what may be learned from: the protocol makes its own.
_SPLITS = {"": _NONE, _NONE: _NONE, _TRAIN: _TRAIN, _TEST: _TEST} | dict.fromkeys(
    ("dev", "val", "valid", "validation"), _TRAIN
)


@dataclass(frozen=True)
class LabelledTexts:
    """Texts with one label each.

    Parameters
    ----------
    name : str
        What it is called in reports.
    texts : tuple of str
        The texts.
    labels : tuple of str
        Their labels.
    is_test : ndarray of bool or None
        The official split: which texts are for testing. None if there is none, and cross-validation is to be done.

    Examples
    --------
    >>> boats = LabelledTexts("boats", ("a boat", "a tax"), ("sea", "money"), None)
    >>> boats.classes
    ('money', 'sea')
    """

    name: str
    texts: tuple[str, ...]
    labels: tuple[str, ...]
    is_test: NDArray[np.bool_] | None

    def __post_init__(self) -> None:
        if len(self.texts) != len(self.labels):
            raise InvalidInputError(
                f"{self.name}: every text must have one label. Got {len(self.texts)} texts and {len(self.labels)} labels."
            )
        if self.is_test is None:
            return
        if self.is_test.shape != (len(self.texts),):
            raise InvalidInputError(
                f"{self.name}: is_test must have the shape ({len(self.texts)},). Got {self.is_test.shape} instead."
            )
        self.is_test.setflags(write=False)

    @property
    def classes(self) -> tuple[str, ...]:
        """The distinct labels, sorted."""
        return tuple(sorted(set(self.labels)))

    def content_hash(self) -> str:
        """Hash texts, labels and split, for provenance and caches.

        Returns
        -------
        str
            SHA-256 as 64 hexadecimal digits. The name does not count: the same content from another file is the same.
        """
        split = [_NONE] if self.is_test is None else (_TEST if test else _TRAIN for test in self.is_test)
        return content_digest(itertools.chain([str(len(self.texts))], self.texts, self.labels, split))


def load_dataset(source: str | Path, *, data: str | Path | None = None) -> LabelledTexts:
    """Load labelled texts by name or path.

    Parameters
    ----------
    source : str or Path
        One of `PAPER_DATASETS`, or another name in ``<CPTW_DATA>/classification``; the path of a file or folder, whose
        format is recognised by its layout; or ``"sklearn:20newsgroups"`` for scikit-learn's copy.
    data : str or Path, optional
        The folder that holds ``classification``; by default that of the environment variable ``CPTW_DATA``.

    Returns
    -------
    LabelledTexts
        Texts, labels and the official split.

    Raises
    ------
    MissingDataError
        If it is not there; the message says where to put it and in what format.
    InvalidInputError
        If it cannot be read, or a document has no label.

    Notes
    -----
    A file is ``split<TAB>label<TAB>text`` or ``label<TAB>text``, or anything else that
    :func:`cptw_search.documents.read_documents` takes with a ``label`` and maybe a ``split``. It has to be UTF-8, and a
    line that cannot be used is an error: a set with holes would be another set. Validation parts (``dev``, ``val``)
    count as training texts.

    Examples
    --------
    >>> load_dataset("reuters", data="no-such-folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cptw_search.evaluation.source_files.MissingDataError: The data set 'reuters' was not found: it is not in ...
    """
    from cptw_search.evaluation import original_formats  # it makes LabelledTexts, too

    if str(source) == original_formats.SKLEARN_20NEWS:
        return original_formats.fetch_20news()
    name, path = locate(
        source, part="classification", endings=_ENDINGS, names=PAPER_DATASETS, data=data, wanted=_WANTED
    )
    rows = original_formats.read_original(path)
    return make_labelled_texts(name, _common_rows(path) if rows is None else rows, display_path(path))


def _common_rows(path: Path) -> Iterable[tuple[str, str, str]]:
    if path.is_dir():
        raise InvalidInputError(
            f"{display_path(path)}: a folder must hold one of the known layouts (a folder of texts for each class, "
            "*-train and *-test, *.review, SMART files, ...). Got none of them. See docs/datasets.md."
        )
    file_format, columns = _layout(path)
    for document in read_documents(path, format=file_format, columns=columns, strict=True):
        if document.get("label") is None:
            raise InvalidInputError(
                f"{display_path(path)}: every document must have a label. Got {str(document['id'])[:40]!r} without one. A line is "
                "split<TAB>label<TAB>text or label<TAB>text."
            )
        yield str(document.get("split") or _NONE), str(document["label"]), str(document["text"])


def _layout(path: Path) -> tuple[str, list[str] | None]:
    """Look at the first line: a split says what the columns are, so that a label 'text' is not taken for a header."""
    first = next(read_documents(path, format="lines", problems=Problems()), {"text": ""})
    cells = str(first["text"]).split("\t")
    if len(cells) == 1 or cells[0].lstrip().startswith("{") or ".csv" in path.suffixes:
        return "auto", None
    return "tsv", ["split", "label", "text"] if len(cells) > 2 and cells[0] in _SPLITS else None


def make_labelled_texts(name: str, rows: Iterable[tuple[str, str, str]], where: str) -> LabelledTexts:
    """Put rows together and check that they make a data set.

    Parameters
    ----------
    name : str
        Its name.
    rows : iterable of (str, str, str)
        Split, label and text.
    where : str
        The file or folder, for messages.

    Returns
    -------
    LabelledTexts
        The data set.

    Raises
    ------
    InvalidInputError
        If there are no rows, or only some of them say to which part they belong.
    """
    splits, labels, texts = [], [], []
    for split, label, text in rows:
        if split not in _SPLITS:
            raise InvalidInputError(f"{where}: split must be train, test or -. Got {split[:40]!r} instead.")
        splits.append(_SPLITS[split])
        labels.append(label)
        texts.append(text)
        check_number(len(texts), where)
    parts = set(splits)
    if parts not in ({_NONE}, {_TRAIN, _TEST}):
        got = " and ".join(sorted(parts)) or "no documents"
        raise InvalidInputError(
            f"{where}: a data set must have train and test documents, or - for all of them. Got {got} instead."
        )
    is_test = None if parts == {_NONE} else np.array([split == _TEST for split in splits])
    return LabelledTexts(name, tuple(texts), tuple(labels), is_test)
