"""Filters compare by type, as the embedded engine does."""

import math

import pytest

from cptw_queries import RawFilter
from cptw_queries.filters import filter_clauses
from cptw_search.errors import InvalidInputError

TYPES = {"label": "keyword", "year": "double", "fast": "boolean", "day": "date"}
NOTHING = [{"match_none": {}}]
LARGEST = 1.7976931348623157e308


@pytest.mark.parametrize(
    "conditions",
    [
        {"label": []},
        {"label": 3},
        {"label": True},
        {"label": "\ud800"},
        {"label": {"gt": 3}},
        {"year": "1990"},
        {"year": True},
        {"year": ["1990", True]},
        {"year": {"gt": "1990"}},
        {"year": math.inf},
        {"year": 10**400},
        {"year": {"gt": math.inf}},
        {"year": {"lt": -math.inf}},
        {"fast": 1},
        {"fast": {"gt": True}},
        {"fast": {"gt": 0}},
    ],
)
def test_a_value_of_another_type_matches_nothing(conditions: dict[str, object]) -> None:
    assert filter_clauses(conditions, TYPES) == NOTHING


@pytest.mark.parametrize(
    ("conditions", "clause"),
    [
        ({"year": [1990, "x"]}, {"terms": {"year": [1990.0]}}),
        ({"year": {"lt": math.inf}}, {"range": {"year": {"lte": LARGEST}}}),
        ({"year": {"gte": -(10**400)}}, {"range": {"year": {"gte": -LARGEST}}}),
        ({"fast": {"gte": False}}, {"terms": {"fast": [False, True]}}),
        ({"label": {"gte": "a", "lt": "b"}}, {"range": {"label": {"gte": "a", "lt": "b"}}}),
        ({"day": 3}, {"term": {"day": 3.0}}),
    ],
)
def test_conditions(conditions: dict[str, object], clause: dict[str, object]) -> None:
    assert filter_clauses(conditions, TYPES) == [clause]


def test_no_filter() -> None:
    assert filter_clauses(None, TYPES) == []
    assert filter_clauses({}, TYPES) == []


def test_a_field_that_is_not_there() -> None:
    with pytest.raises(InvalidInputError, match="filter.*Got 'lable'; there are \\['day', 'fast', 'label', 'year'\\]"):
        filter_clauses({"lable": "x"}, TYPES)


@pytest.mark.parametrize("query", [{}, "label", {3: 4}, None])
def test_a_raw_filter_is_a_clause(query: object) -> None:
    with pytest.raises(InvalidInputError, match="A raw filter must be one clause"):
        RawFilter(query)  # type: ignore[arg-type]
