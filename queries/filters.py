"""Filters: ours, in the form that every backend takes, or the server's own query language passed through."""

from __future__ import annotations

import math
import operator
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from cptw_queries.builders import Clause
from cptw_search.errors import InvalidInputError
from cptw_search.filters import Filter, check_filter

__all__ = ["AnyFilter", "RawFilter", "filter_clauses"]

NUMBERS = frozenset(
    ("double", "float", "half_float", "scaled_float", "long", "integer", "short", "byte", "unsigned_long")
)
STRINGS = frozenset(("keyword", "constant_keyword", "wildcard"))
_LARGEST = 1.7976931348623157e308
_COMPARE = {"gt": operator.gt, "gte": operator.ge, "lt": operator.lt, "lte": operator.le}
_NOTHING: Clause = {"match_none": {}}


@dataclass(frozen=True)
class RawFilter:
    """A filter in the server's own query language, passed through as it is.

    Parameters
    ----------
    query : mapping
        A clause, such as ``{"range": {"date": {"gte": "now-7d"}}}``.
    """

    query: Mapping[str, Any]

    def __post_init__(self) -> None:
        if not isinstance(self.query, Mapping) or not self.query or not all(isinstance(key, str) for key in self.query):
            raise InvalidInputError(
                "A raw filter must be one clause of the server's query language, such as {'term': {'label': 'sport'}}. "
                f"Got {self.query!r} instead."
            )


AnyFilter = Filter | RawFilter


def filter_clauses(conditions: AnyFilter | None, field_types: Mapping[str, str]) -> list[Clause]:
    """Turn a filter into clauses that all have to match.

    Values are compared by type, as in the embedded engine: a string never equals a number.

    Parameters
    ----------
    conditions : mapping, RawFilter or None
        A field to a value, to a list of values of which one has to match, or to a range such as ``{"gte": 1990}``.
    field_types : mapping of str to str
        The fields that can be filtered on, and their types on the server.

    Returns
    -------
    list of dict
        Clauses; none for no condition.

    Raises
    ------
    InvalidInputError
        If it is no filter, or a field is not there.

    Examples
    --------
    >>> filter_clauses({"label": "sport", "year": {"gte": 1990}}, {"label": "keyword", "year": "double"})
    [{'term': {'label': 'sport'}}, {'range': {'year': {'gte': 1990.0}}}]
    >>> filter_clauses({"year": "1990"}, {"year": "double"})
    [{'match_none': {}}]
    """
    if conditions is None:
        return []
    if isinstance(conditions, RawFilter):
        return [dict(conditions.query)]
    checked = check_filter(conditions)
    for field in checked:
        if field not in field_types:
            raise InvalidInputError(
                f"A filter's fields must be stored in the index with values that can be compared. Got {field!r}; there are "
                f"{sorted(field_types)}."
            )
    return [_condition(field, content, field_types[field]) for field, content in checked.items()]


def _condition(field: str, content: Any, kind: str) -> Clause:
    if isinstance(content, Mapping):
        return _range(field, content, kind)
    if isinstance(content, list):
        values = [_value(value) for value in content if _fits(value, kind)]
        return {"terms": {field: values}} if values else _NOTHING
    return {"term": {field: _value(content)}} if _fits(content, kind) else _NOTHING


def _fits(value: object, kind: str) -> bool:
    """Tell whether a field of a type can hold a value; any value for types that only the server knows, such as dates."""
    if isinstance(value, str) and any("\ud800" <= character <= "\udfff" for character in value):
        return False  # no server stores lone surrogates
    if kind == "boolean":
        return isinstance(value, bool)
    if kind in STRINGS:
        return isinstance(value, str)
    if kind in NUMBERS:
        return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(_number(value))
    return True


def _number(value: float) -> float:
    try:
        return float(value)
    except OverflowError:
        return math.inf if value > 0 else -math.inf


def _value(value: Any) -> Any:
    return _number(value) if isinstance(value, (int, float)) and not isinstance(value, bool) else value


def _range(field: str, bounds: Mapping[str, Any], kind: str) -> Clause:
    if kind == "boolean":
        if not all(isinstance(bound, bool) for bound in bounds.values()):
            return _NOTHING
        values = [v for v in (False, True) if all(_COMPARE[name](v, bound) for name, bound in bounds.items())]
        return {"terms": {field: values}} if values else _NOTHING
    if kind not in NUMBERS:
        return {"range": {field: dict(bounds)}} if all(_fits(v, kind) for v in bounds.values()) else _NOTHING
    numbers: dict[str, float] = {}
    for name, bound in bounds.items():
        if isinstance(bound, (str, bool)):
            return _NOTHING
        number = _number(bound)
        if math.isinf(number):  # JSON has no infinity; every stored number lies between the largest ones
            is_open = (number > 0) == name.startswith("l")
            if not is_open:
                return _NOTHING
            name, number = name[:2] + "e", math.copysign(_LARGEST, number)
        numbers[name] = number
    return {"range": {field: numbers}}
