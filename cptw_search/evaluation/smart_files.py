"""Files of the SMART collections (Cranfield, CISI, MEDLINE, CACM): ``.I`` begins a record, ``.T`` and ``.W`` hold text.

Traps of these files, and what is done about them:

- A line that begins with a full stop is not always a mark: ``.I`` is one with a number behind it, another letter when
  it stands alone on its line.
- Cranfield's queries are numbered 1, 2, 4, 8 ... 365, but its judgements count them by position, 1 to 225. So, where
  judgements name numbers that no query has, they are taken for positions.
- Cranfield's abstracts repeat the title: it is taken off.
- Its grades run from 1, the best, to 4, and -1 marks the paper that a question was made from: the grade becomes
  5 - code, and the source papers are left out.
- Judgements have three columns, or four with the document in the second (CISI, CACM) or third (MEDLINE).
"""

from __future__ import annotations

import re
from collections.abc import Collection as AnyCollection
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

from cptw_search.document_lines import display_path, shown
from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.source_files import MissingDataError, check_number, folder_entries, read_text

__all__ = [
    "SmartRecord",
    "is_smart_file",
    "parse_smart",
    "read_smart_collection",
    "read_smart_documents",
    "read_smart_qrels",
]

_RECORD = re.compile(r"\.I\s+(\d{1,12})\s*")
_FIELD = re.compile(r"\.([A-Z])\s*")
_QRELS_NAME = re.compile(r"qrel|(?:^|[-_.])rels?(?:[-_.]|$)", re.IGNORECASE)
_QUERIES_NAME = re.compile(r"qry|query|queries|(?:^|[-_.])topics?(?:[-_.]|$)", re.IGNORECASE)
_SNIFFED_BYTES = 4096
_SOURCE_PAPER = -1
_BEST_AND_WORST = 5  # Cranfield's code and grade add up to this


@dataclass(frozen=True)
class SmartRecord:
    """A document or a query.

    Parameters
    ----------
    number : str
        Its number, without leading zeros.
    title : str
        What stands under ``.T``, with one space between words.
    text : str
        What stands under ``.W``, without a repeated title.
    """

    number: str
    title: str
    text: str


def is_smart_file(path: Path) -> bool:
    """Tell whether a file begins with a record.

    Parameters
    ----------
    path : Path
        The file; not gzipped.

    Returns
    -------
    bool
        Whether its first line that is not blank is ``.I`` and a number.
    """
    try:
        with path.open("rb") as stream:
            head = stream.read(_SNIFFED_BYTES)
    except OSError:
        return False
    return _RECORD.fullmatch(head.decode("latin-1").lstrip().partition("\n")[0]) is not None


def parse_smart(text: str, name: str) -> list[SmartRecord]:
    r"""Take the records out of a file's text.

    Parameters
    ----------
    text : str
        The text.
    name : str
        The file, for messages.

    Returns
    -------
    list of SmartRecord
        Documents or queries, in order.

    Raises
    ------
    InvalidInputError
        If the text does not begin with a record.

    Examples
    --------
    >>> parse_smart(".I 007\n.T\na boat\n.W\na boat\n.5 metres long\n", "boats.all")
    [SmartRecord(number='7', title='a boat', text='.5 metres long')]
    """
    records: list[SmartRecord] = []
    number: str | None = None
    fields: dict[str, list[str]] = {}
    field = ""
    for position, line in enumerate(text.split("\n"), start=1):
        if mark := _RECORD.fullmatch(line):
            if number is not None:
                records.append(_record(number, fields))
                check_number(len(records), name)
            number, fields, field = mark[1].lstrip("0") or "0", {}, ""
        elif mark := _FIELD.fullmatch(line):
            field = mark[1]
        elif number is not None:
            fields.setdefault(field, []).append(line)
        if number is None and line.strip():
            raise InvalidInputError(f"{name}:{position}: a record must begin with .I and a number. Got {line[:40]!r}.")
    if number is not None:
        records.append(_record(number, fields))
    return records


def _record(number: str, fields: dict[str, list[str]]) -> SmartRecord:
    title, text = (" ".join(" ".join(fields.get(field, ())).split()) for field in "TW")
    if title and (text == title or text.startswith(f"{title} ")):
        text = text[len(title) :].lstrip()
    return SmartRecord(number, title, text)


def read_smart_documents(path: Path) -> list[SmartRecord]:
    """Read a file of documents or queries.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    list of SmartRecord
        Its records.
    """
    return parse_smart(read_text(path), display_path(path))


def read_smart_qrels(path: Path) -> dict[str, dict[str, int]]:
    """Read judgements in columns with white space between them.

    Parameters
    ----------
    path : Path
        Lines of query, document and grade; of query, 0, document and grade, as TREC has them; or of query, document
        and two zeros, which all are relevant. In a file whose name begins with ``cran`` grades are Cranfield's codes.

    Returns
    -------
    dict of str to dict of str to int
        Grades by query and document; numbers without leading zeros. The higher one where a pair comes twice.

    Raises
    ------
    InvalidInputError
        If a line is no judgement.
    """
    rows: list[tuple[int, list[str]]] = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not (cells := line.split()):
            continue
        if len(cells) not in (3, 4):
            _refuse(path, number, line)
        rows.append((number, cells))
    four = [cells for _, cells in rows if len(cells) == 4]
    document_second = bool(four) and all(_is_zero(cells[2]) and _is_zero(cells[3]) for cells in four)
    has_codes = path.name.lower().startswith("cran")
    judgements: dict[str, dict[str, int]] = {}
    for number, cells in rows:
        document = 1 if len(cells) == 3 or document_second else 2
        try:
            grade = 1 if len(cells) == 4 and document_second else int(cells[-1])
        except ValueError:
            _refuse(path, number, " ".join(cells))
        if has_codes:
            if grade == _SOURCE_PAPER:
                continue
            grade = _BEST_AND_WORST - grade
        grades = judgements.setdefault(plain_number(cells[0]), {})
        doc_id = plain_number(cells[document])
        grades[doc_id] = max(grade, grades.get(doc_id, grade))
    return judgements


def _refuse(path: Path, number: int, line: str) -> NoReturn:
    raise InvalidInputError(
        f"{display_path(path)}:{number}: a judgement must have three or four columns and end in a whole number. "
        f"Got {line[:80]!r} instead."
    )


def _is_zero(cell: str) -> bool:
    return not cell.strip("0.")


def plain_number(cell: str) -> str:
    """Take leading zeros off a number; other ids stay as they are."""
    return (cell.lstrip("0") or "0") if cell.isdecimal() else cell


def find_files(folder: Path, qrels: str | None) -> tuple[list[Path], list[Path], Path]:
    """Sort the files of a folder by their names: documents, queries, judgements."""
    files = [path for path in folder_entries(folder) if path.is_file()]
    judgements = [path for path in files if is_qrels_name(path.name)]
    queries = [path for path in files if is_queries_name(path.name) and path not in judgements]
    documents = [path for path in files if path not in judgements and path not in queries]
    if qrels is not None:
        judgements = [path for path in files if path.name == qrels]
    if not judgements or not queries:
        missing = "queries (a name with 'qry', 'query' or 'topics')" if judgements else "judgements (a name with 'rel')"
        raise MissingDataError(
            f"{display_path(folder)}: a collection must have documents, queries and judgements. Got {shown(p.name for p in files)}"
            f", and no {missing if qrels is None or judgements else repr(qrels)}."
        )
    return documents, queries, judgements[0]


def is_qrels_name(name: str) -> bool:
    """Tell by a file's name whether it holds judgements: cranqrel, CISI.REL, qrels.text; MED.REL.OLD is outdated."""
    return _QRELS_NAME.search(name) is not None and not name.lower().endswith(".old")


def is_queries_name(name: str) -> bool:
    """Tell by a file's name whether it holds queries: cran.qry, query.text, topics.301-350."""
    return _QUERIES_NAME.search(name) is not None


def read_smart_collection(
    folder: Path, qrels: str | None
) -> tuple[Iterable[dict[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """Read a folder such as that of Cranfield: ``cran.all.1400``, ``cran.qry`` and ``cranqrel``.

    Parameters
    ----------
    folder : Path
        The folder.
    qrels : str or None
        The name of the file of judgements, if there are several.

    Returns
    -------
    documents : iterable of dict
        With ``id``, ``title`` and ``text``.
    queries : dict of str to str
        By the ids of the judgements.
    judgements : dict of str to dict of str to int
        Grades.

    Raises
    ------
    MissingDataError
        If one of the three is not there.
    InvalidInputError
        If a file cannot be read, or the judgements name queries that are not there.
    """
    documents, queries, judgement_file = find_files(folder, qrels)
    judgements = read_smart_qrels(judgement_file)
    texts = [record for path in queries if is_smart_file(path) for record in read_smart_documents(path)]
    numbers = _query_numbers([record.number for record in texts], judgements, display_path(folder))
    records = [record for path in documents if is_smart_file(path) for record in read_smart_documents(path)]
    return (
        ({"id": record.number, "title": record.title, "text": record.text} for record in records),
        {number: f"{record.title} {record.text}".strip() for number, record in zip(numbers, texts, strict=True)},
        judgements,
    )


def _query_numbers(numbers: list[str], judged: AnyCollection[str], where: str) -> list[str]:
    """Give the queries the ids of the judgements: their own numbers, or positions where those do not fit."""
    positions = [str(position) for position in range(1, len(numbers) + 1)]
    for ids in (numbers, positions):
        if set(judged) <= set(ids) and len(set(ids)) == len(ids):
            return ids
    raise InvalidInputError(
        f"{where}: judgements must name queries by their number or their position, 1 to {len(numbers)}. Got "
        f"{shown(sorted(set(judged) - set(numbers) - set(positions)) or judged)} instead."
    )
