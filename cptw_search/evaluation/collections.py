"""Test collections for retrieval: documents, queries and judgements.

One common layout, that of BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels.tsv``, gzipped or not. SMART and TREC
files are read as they are (:mod:`cptw_search.evaluation.smart_files`, :mod:`cptw_search.evaluation.trec_files`), and
what the package ``ir_datasets`` knows by ``ir_datasets:<id>``.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

from cptw_search.document_ids import check_id
from cptw_search.document_lines import display_path, shown
from cptw_search.documents import read_documents
from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.smart_files import is_smart_file, read_smart_collection
from cptw_search.evaluation.source_files import (
    MissingDataError,
    check_number,
    content_digest,
    folder_entries,
    locate,
    read_text,
)
from cptw_search.evaluation.trec_files import is_trec_file, read_trec_collection

__all__ = ["RETRIEVAL_COLLECTIONS", "Collection", "load_collection", "make_collection"]

RETRIEVAL_COLLECTIONS = ("cranfield", "cisi", "medline", "cacm", "scifact", "nfcorpus")
"""Names that are looked for in ``<CPTW_DATA>/retrieval`` and never in the current folder."""

_WANTED = (
    "Put it into the folder <CPTW_DATA>/retrieval/{name} in the layout of BEIR: corpus.jsonl (or .gz) with _id, title and "
    "text, queries.jsonl with _id and text, and qrels.tsv with query-id, corpus-id and score."
)
# Cranfield's qrels.nosource.tsv leaves out the 225 papers that the questions were made from.
_DEFAULT_QRELS = ("qrels.nosource.tsv", "qrels.tsv", "qrels/test.tsv")
_IR_DATASETS = "ir_datasets:"

_Parts: TypeAlias = tuple[Iterable[Mapping[str, object]], dict[str, str], dict[str, dict[str, int]]]


@dataclass(frozen=True)
class Collection:
    """A test collection.

    Parameters
    ----------
    name : str
        What it is called in reports.
    documents : tuple of dict
        As `EmbeddedIndex` takes them: ``id``, ``text``, and ``title`` where there is one.
    queries : dict of str to str
        The text of every query that has a judgement, by its id.
    judgements : dict of str to dict of str to int
        For every query the grades of the judged documents, by their ids; above 0 is relevant.

    Examples
    --------
    >>> boats = make_collection(
    ...     "boats", [{"id": "1", "text": "a boat"}], {"a": "ship", "b": "tax"}, {"a": {"1": 1}}
    ... )
    >>> boats.queries
    {'a': 'ship'}
    """

    name: str
    documents: tuple[dict[str, Any], ...]
    queries: dict[str, str]
    judgements: dict[str, dict[str, int]]

    def content_hash(self) -> str:
        """Hash documents, queries and judgements, for provenance and caches.

        Returns
        -------
        str
            SHA-256 as 64 hexadecimal digits. The name does not count, nor does the order of queries and judgements.
        """
        documents = (
            part
            for document in self.documents
            for part in (document["id"], document.get("title", ""), document["text"])
        )
        queries = itertools.chain.from_iterable(sorted(self.queries.items()))
        judgements = (
            part
            for query_id, grades in sorted(self.judgements.items())
            for doc_id, grade in sorted(grades.items())
            for part in (query_id, doc_id, str(grade))
        )
        sizes = (str(len(self.documents)), str(len(self.queries)))
        return content_digest(itertools.chain(sizes, documents, queries, judgements))


def load_collection(source: str | Path, *, data: str | Path | None = None, qrels: str | None = None) -> Collection:
    """Load a test collection by name or path.

    Parameters
    ----------
    source : str or Path
        A name in ``<CPTW_DATA>/retrieval`` such as ``"cranfield"``; the path of a folder in the layout of BEIR, of SMART
        files or of TREC files; or ``"ir_datasets:beir/scifact/test"`` where that package is installed.
    data : str or Path, optional
        The folder that holds ``retrieval``; by default that of the environment variable ``CPTW_DATA``.
    qrels : str, optional
        Which judgements to take: the name of a file in the folder, or the middle of it (``"dev"`` for
        ``qrels.dev.tsv`` or ``qrels/dev.tsv``, with ``queries.dev.jsonl`` if that is there). By default
        ``qrels.nosource.tsv`` (Cranfield without the papers that its questions were made from), else ``qrels.tsv``, else
        ``qrels/test.tsv``.

    Returns
    -------
    Collection
        Documents, the judged queries, and the judgements.

    Raises
    ------
    MissingDataError
        If it is not there; the message says where to put it and in what format.
    InvalidInputError
        If it cannot be read, or its parts do not belong together.

    Notes
    -----
    A line that cannot be used is an error. A document that is judged but not in the collection stays among the
    judgements, as relevant and never found. Where a pair is judged twice the higher grade counts.

    Examples
    --------
    >>> load_collection("cranfield", data="no-such-folder")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cptw_search.evaluation.source_files.MissingDataError: The data set 'cranfield' was not found: it is not in ...
    """
    if isinstance(source, str) and source.startswith(_IR_DATASETS):
        from cptw_search.evaluation.ir_datasets_source import read_ir_dataset

        return make_collection(source, *read_ir_dataset(source.removeprefix(_IR_DATASETS)))
    name, path = locate(source, part="retrieval", endings=("",), names=RETRIEVAL_COLLECTIONS, data=data, wanted=_WANTED)
    if not path.is_dir():
        raise InvalidInputError(f"{display_path(path)}: a collection must be a folder. Got a file. Give its folder.")
    if _find(path, "corpus.jsonl") is not None:
        parts: _Parts = _read_beir(path, qrels)
    elif any(map(is_smart_file, folder_entries(path))):
        parts = read_smart_collection(path, qrels)
    elif any(map(is_trec_file, folder_entries(path))):
        parts = read_trec_collection(path, qrels)
    else:
        raise MissingDataError(
            f"{display_path(path)}: a folder must hold corpus.jsonl, queries.jsonl and qrels.tsv, SMART files (.I, .T, .W) or "
            f"TREC files (<DOC>). Got {shown(entry.name for entry in folder_entries(path))} instead."
        )
    return make_collection(name, *parts, where=display_path(path))


def make_collection(
    name: str,
    documents: Iterable[Mapping[str, object]],
    queries: Mapping[str, str],
    judgements: Mapping[str, Mapping[str, int]],
    *,
    where: str | None = None,
) -> Collection:
    """Put a collection together and check that its parts belong to each other.

    Parameters
    ----------
    name : str
        Its name.
    documents : iterable of mapping
        With ``id``, ``text`` and maybe ``title``; other fields are dropped.
    queries : mapping of str to str
        All queries by id; those without a judgement are dropped.
    judgements : mapping of str to mapping of str to int
        Grades by query id and document id.
    where : str, optional
        The file or folder, for messages; by default the name.

    Returns
    -------
    Collection
        The collection.

    Raises
    ------
    InvalidInputError
        If an id is not unique, a judged query has no text, or nothing is judged.
    """
    where = name if where is None else where
    kept: dict[str, dict[str, Any]] = {}
    for document in documents:
        doc_id = check_id(document["id"], f"{where}: a document's id")
        if doc_id in kept:
            raise InvalidInputError(f"{where}: a document's id must be unique. Got {doc_id[:40]!r} twice.")
        title = document.get("title")
        kept[doc_id] = {"id": doc_id, **({"title": title} if title else {}), "text": document["text"]}
        check_number(len(kept), where)
    if not kept:
        raise InvalidInputError(f"{where}: a collection must have documents. Got none.")
    judged = {query_id: dict(grades) for query_id, grades in judgements.items() if grades}
    if missing := [query_id for query_id in judged if query_id not in queries]:
        raise InvalidInputError(
            f"{where}: every judged query must have a text. Got judgements of {shown(missing)}, which are not among the "
            "queries. Check that queries and qrels belong together."
        )
    if not judged:
        raise InvalidInputError(f"{where}: a collection must have judgements. Got none.")
    if not any(doc_id in kept for grades in judged.values() for doc_id in grades):
        raise InvalidInputError(
            f"{where}: judgements must be about documents of the collection. Got ids such as "
            f"{shown(next(iter(judged.values())))}, of which none is there. Check that corpus and qrels belong together."
        )
    texts = {query_id: text for query_id, text in queries.items() if query_id in judged}
    return Collection(name, tuple(kept.values()), texts, {query_id: judged[query_id] for query_id in texts})


# The layout of BEIR


def _find(folder: Path, name: str) -> Path | None:
    return next((path for path in (folder / name, folder / f"{name}.gz") if path.is_file()), None)


def _read_beir(folder: Path, qrels: str | None) -> _Parts:

    corpus = _find(folder, "corpus.jsonl")
    judgements = _find_qrels(folder, qrels)
    queries = _find(folder, f"queries.{qrels}.jsonl") or _find(folder, "queries.jsonl")
    if corpus is None or queries is None:
        missing = "corpus.jsonl" if corpus is None else "queries.jsonl"
        raise InvalidInputError(f"{display_path(folder)}: a collection must have {missing} (or .gz). It is not there.")
    texts: dict[str, str] = {}
    for query in read_documents(queries, format="jsonl", strict=True):
        query_id = str(query["id"])
        if query_id in texts:
            raise InvalidInputError(
                f"{display_path(queries)}: a query's id must be unique. Got {query_id[:40]!r} twice."
            )
        texts[query_id] = str(query["text"])
    return read_documents(corpus, format="jsonl", strict=True), texts, _read_qrels(judgements)


def _find_qrels(folder: Path, qrels: str | None) -> Path:
    names = _DEFAULT_QRELS if qrels is None else (qrels, f"qrels.{qrels}.tsv", f"qrels/{qrels}.tsv")
    for name in names:
        if (path := _find(folder, name)) is not None:
            return path
    there = [
        path.relative_to(folder).as_posix() for path in sorted(folder.glob("qrels*")) + sorted(folder.glob("qrels/*"))
    ]
    raise InvalidInputError(
        f"{display_path(folder)}: judgements must be in {' or '.join(names)}. Got {shown(there) if there else 'no qrels'} "
        "instead."
    )


def _read_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read ``query-id<TAB>corpus-id<TAB>score``; a header may stand first."""
    judgements: dict[str, dict[str, int]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        cells = line.split("\t")
        try:
            query_id, doc_id, grade = cells[0], cells[1], int(cells[2])
        except (IndexError, ValueError):
            if number > 1 and line.strip():  # the first line may be a header
                raise InvalidInputError(
                    f"{display_path(path)}:{number}: a judgement must be query id, document id and a whole number, "
                    f"separated by tabs. Got {line[:80]!r} instead."
                ) from None
            continue
        grades = judgements.setdefault(query_id, {})
        grades[doc_id] = max(grade, grades.get(doc_id, grade))
    return judgements
