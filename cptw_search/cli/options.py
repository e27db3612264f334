"""Options that several commands have, and the reading of their values.

The choices and defaults are the library's. They are written down here, too, for importing the library takes half a
second; a test compares them.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Sequence
from enum import Enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from cptw_search.term_vectors import VectorSource

__all__ = [
    "AsJson",
    "Columns",
    "DocumentSources",
    "FieldType",
    "Format",
    "FormatName",
    "IndexDir",
    "Method",
    "Normalization",
    "Placement",
    "PrefixIds",
    "Rename",
    "Strict",
    "Votes",
    "Weighting",
    "parse_filters",
    "parse_pairs",
    "parse_tau",
    "parse_weights",
    "read_all",
    "resolve_vectors",
]

NO_VECTORS = "none"


class FormatName(str, Enum):
    """How documents are written in a file."""

    auto = "auto"
    jsonl = "jsonl"
    tsv = "tsv"
    csv = "csv"
    lines = "lines"
    folder = "folder"


class FieldType(str, Enum):
    """How a cluster stores weighted terms."""

    auto = "auto"
    rank_features = "rank_features"
    sparse_vector = "sparse_vector"
    none = "none"


class Method(str, Enum):
    """How documents are scored."""

    cptw = "cptw"
    bm25 = "bm25"
    bm25_rm3 = "bm25+rm3"
    tfidf = "tfidf"
    hybrid = "hybrid"
    hybrid_feedback = "hybrid+feedback"
    rrf = "rrf"


class Normalization(str, Enum):
    """How the columns of the similarity matrix are normalised."""

    l2 = "l2"
    sum = "sum"
    none = "none"


class Placement(str, Enum):
    """Where the propagation is done."""

    query = "query"
    both = "both"
    document = "document"


class Purpose(str, Enum):
    """What a model is for."""

    search = "search"
    classification = "classification"


class Votes(str, Enum):
    """How much a neighbour's vote counts."""

    distance = "distance"
    similarity = "similarity"
    uniform = "uniform"


class Weighting(str, Enum):
    """How term and document frequencies enter."""

    tf = "tf"
    idf_equation = "idf-equation"
    idf_released = "idf-released"
    idf_weighted = "idf-weighted"
    idf_input = "idf-input"
    bm25 = "bm25"


DocumentSources = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="DOCUMENTS",
        help="Files (JSON lines, TSV, CSV or plain lines, gzipped or not), folders of .txt files, or - for standard "
        "input.",
        show_default=False,
    ),
]
Format = Annotated[
    FormatName,
    typer.Option("--format", help="How the documents are written; auto goes by the file's name and its first line."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        metavar="NAMES",
        help="Names of the columns of a TSV or CSV file without a header, such as id,label,text.",
        show_default=False,
    ),
]
Rename = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OLD=NEW",
        help="Take the field OLD of the file for NEW, such as body=text. May be repeated.",
        show_default=False,
    ),
]
Strict = Annotated[bool, typer.Option("--strict", help="Stop at the first line that cannot be used.")]
PrefixIds = Annotated[
    bool,
    typer.Option(
        "--prefix-ids",
        help="Put the file's name in front of every id, for several files without ids of their own: their documents "
        "are numbered by line.",
    ),
]
IndexDir = Annotated[
    Path | None, typer.Option("--index", metavar="DIR", help="The index, made by: cptw index.", show_default=False)
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON, one object a line.")]

_CONDITION = re.compile(r"(?P<field>[^<>=]+)(?P<operator>>=|<=|==?|>|<)(?P<value>.*)", re.DOTALL)
_RANGES = {">": "gt", ">=": "gte", "<": "lt", "<=": "lte"}


def parse_pairs(values: Sequence[str] | None, option: str) -> dict[str, str]:
    """Read values such as ``body=text``.

    Parameters
    ----------
    values : sequence of str or None
        What was given.
    option : str
        The option's name, for the message.

    Returns
    -------
    dict
        What is left of the first ``=`` to what is right of it.

    Raises
    ------
    typer.BadParameter
        If one of them has no ``=``, or nothing on one of its sides.

    Examples
    --------
    >>> parse_pairs(["body=text"], "--rename")
    {'body': 'text'}
    """
    pairs = {}
    for pair in values or ():
        left, _, right = pair.partition("=")
        if not left or not right:
            raise typer.BadParameter(f"{pair!r} must be two names with = between them.", param_hint=option)
        pairs[left] = right
    return pairs


def parse_weights(values: Sequence[str] | None, option: str) -> dict[str, float] | None:
    """Read values such as ``title=2``.

    Parameters
    ----------
    values : sequence of str or None
        What was given.
    option : str
        The option's name, for the message.

    Returns
    -------
    dict or None
        Names to numbers; None if none was given.

    Raises
    ------
    typer.BadParameter
        If one of them is something else.

    Examples
    --------
    >>> parse_weights(["title=2", "text=1"], "--field-weight")
    {'title': 2.0, 'text': 1.0}
    """
    weights = {}
    for name, number in parse_pairs(values, option).items():
        try:
            weights[name] = float(number)
        except ValueError:
            raise typer.BadParameter(f"{name}={number} must end with a number.", param_hint=option) from None
    return weights or None


def parse_tau(value: str) -> float | str:
    """Read a threshold.

    Parameters
    ----------
    value : str
        A number or ``adaptive``.

    Returns
    -------
    float or str
        The number, or the text as it is: the library says what is wrong with it.

    Examples
    --------
    >>> parse_tau("0.3"), parse_tau("adaptive")
    (0.3, 'adaptive')
    """
    try:
        return float(value)
    except ValueError:
        return value


def parse_filters(conditions: Sequence[str] | None) -> dict[str, object] | None:
    """Read conditions such as ``label=sport`` and ``year>=1990``.

    Parameters
    ----------
    conditions : sequence of str or None
        What was given. Several equalities of one field are alternatives; comparisons of one field all have to hold.

    Returns
    -------
    dict or None
        A filter of the library. Texts that look like a number or a truth value match both, the text and the value,
        for files of some formats have texts only; a comparison takes what looks like a number for one, unless it is
        in double quotes.

    Raises
    ------
    typer.BadParameter
        If one of them is no condition, or a field has equalities and comparisons.

    Examples
    --------
    >>> parse_filters(["label=sport", "label=tech", "year>=1990", "year<2000"])
    {'label': ['sport', 'tech'], 'year': {'gte': 1990, 'lt': 2000}}
    >>> parse_filters(["year=1990", 'code="7"'])
    {'year': ['1990', 1990], 'code': ['7']}
    """
    values: dict[str, list[object]] = {}
    ranges: dict[str, dict[str, object]] = {}
    for condition in conditions or ():
        match = _CONDITION.fullmatch(condition)
        if match is None:
            raise typer.BadParameter(
                f"{condition!r} must be a condition such as label=sport or 'year>=1990'.", param_hint="--filter"
            )
        field, operator = match["field"].strip(), match["operator"]
        text, value = _parse_value(match["value"].strip())
        if operator in _RANGES:
            ranges.setdefault(field, {})[_RANGES[operator]] = value
        else:
            values.setdefault(field, []).extend([text] if value == text else [text, value])
    if both := sorted(values.keys() & ranges.keys()):
        raise typer.BadParameter(
            f"{both[0]!r} must have either values (=) or bounds (<, >=), not both.", param_hint="--filter"
        )
    return {**values, **ranges} or None


def _parse_value(text: str) -> tuple[str, object]:
    """Give a value as text, and as what it looks like."""
    if len(text) >= 2 and text[0] == text[-1] == '"':
        return text[1:-1], text[1:-1]
    try:
        value = json.loads(text)
    except ValueError:
        return text, text
    is_value = isinstance(value, (bool, int)) or (isinstance(value, float) and math.isfinite(value))
    return text, value if is_value else text


def resolve_vectors(sources: Sequence[str] | None) -> VectorSource | list[VectorSource] | None:
    """Find what ``--vectors`` names.

    Parameters
    ----------
    sources : sequence of str or None
        What was given.

    Returns
    -------
    str, Path, list of these or None
        What the model takes.

    Raises
    ------
    InvalidInputError
        If one of them is neither a name nor a file.
    """
    from cptw_search.cli.output import message
    from cptw_search.errors import InvalidInputError
    from cptw_search.term_vectors import DERIVED
    from cptw_search.vector_sources import KNOWN_VECTORS, fetch_vectors

    if not sources:
        return DERIVED[0]
    if NO_VECTORS in sources:
        if len(sources) > 1:
            raise InvalidInputError(f"--vectors none must stand alone. Got {', '.join(sources)}.")
        return None
    resolved: list[VectorSource] = []
    for source in sources:
        if source in DERIVED:
            resolved.append(source)
        elif source in KNOWN_VECTORS:
            message(f"fetching the vectors {source!r}, unless they are here already")
            resolved.append(fetch_vectors(source))
        elif Path(source).exists():
            resolved.append(Path(source))
        else:
            names = ", ".join([*DERIVED, NO_VECTORS, *KNOWN_VECTORS])
            raise InvalidInputError(f"--vectors must be a file or one of {names}. Got {source!r}, which is neither.")
    return resolved[0] if len(resolved) == 1 else resolved


def read_all(sources: Sequence[str], *, format: str = "auto", strict: bool = False) -> list[dict[str, object]]:
    """Read all documents into memory, and say what was wrong with them.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, or ``-``.
    format : str, default "auto"
        As for `cptw_search.documents.read_documents`.
    strict : bool, default False
        As there.

    Returns
    -------
    list of dict
        The documents.
    """
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.errors import check_choice

    check_choice("--format", format, [name.value for name in FormatName])
    with DocumentReader(sources, FormatName(format), strict=strict).reading() as documents:
        return list(documents)
