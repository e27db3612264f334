"""Collections of the package ``ir_datasets``, which is used where it is installed and never required."""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator
from typing import Any

from cptw_search.errors import InvalidInputError, MissingExtraError

__all__ = ["read_ir_dataset"]

_TEXT_FIELDS = ("text", "body", "abstract", "contents")
_QUERY_FIELDS = ("text", "query", "title", "description")


def read_ir_dataset(
    dataset_id: str,
) -> tuple[Iterable[dict[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """Read a collection of ``ir_datasets``.

    Parameters
    ----------
    dataset_id : str
        Its id there, such as ``"beir/scifact/test"``; it has to have documents, queries and judgements.

    Returns
    -------
    documents : iterable of dict
        With ``id``, ``title`` and ``text``.
    queries : dict of str to str
        By id.
    judgements : dict of str to dict of str to int
        Grades.

    Raises
    ------
    MissingExtraError
        If the package is not installed.
    InvalidInputError
        If there is no such collection, it lacks one of the three, or it cannot be downloaded.
    """
    try:
        ir_datasets: Any = importlib.import_module("ir_datasets")
    except ImportError as error:
        if error.name not in (None, "ir_datasets"):
            raise  # it is there, something that it needs is not
        raise MissingExtraError(
            f"The collection 'ir_datasets:{dataset_id}' needs the module 'ir_datasets', which is not installed. Install it "
            "with: pip install ir_datasets",
            name="ir_datasets",
        ) from error
    try:
        dataset = ir_datasets.load(dataset_id)
    except KeyError as error:
        raise InvalidInputError(f"ir_datasets has no collection {dataset_id!r}. See its catalogue of ids.") from error
    for part in ("docs", "queries", "qrels"):
        if not getattr(dataset, f"has_{part}")():
            raise InvalidInputError(
                f"ir_datasets:{dataset_id} must have docs, queries and qrels. It has no {part}: try one of its parts, such "
                f"as {dataset_id}/test."
            )
    try:
        queries = {str(query.query_id): _first(query, _QUERY_FIELDS) for query in dataset.queries_iter()}
        judgements: dict[str, dict[str, int]] = {}
        for judgement in dataset.qrels_iter():
            grades = judgements.setdefault(str(judgement.query_id), {})
            grade = int(judgement.relevance)
            grades[str(judgement.doc_id)] = max(grade, grades.get(str(judgement.doc_id), grade))
        documents = list(_documents(dataset))
    except OSError as error:  # a download that failed, or a source that has to be fetched by hand
        raise InvalidInputError(f"ir_datasets:{dataset_id} cannot be read: {error}.") from error
    return documents, queries, judgements


def _documents(dataset: Any) -> Iterator[dict[str, str]]:
    for document in dataset.docs_iter():
        title = str(getattr(document, "title", "") or "")
        yield {"id": str(document.doc_id), "title": title, "text": _first(document, _TEXT_FIELDS)}


def _first(record: Any, names: Iterable[str]) -> str:
    return next((str(value) for name in names if (value := getattr(record, name, None))), "")
