import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from cptw_search.errors import CorruptedError, InvalidInputError
from cptw_search.filters import FieldIndex, document_keys

scalars = st.one_of(
    st.booleans(), st.integers(-(10**20), 10**20), st.floats(allow_nan=False), st.text(max_size=5), st.just(10**400)
)


def as_number(value: object) -> float:
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return math.inf


def same_kind(one: object, two: object) -> bool:
    kinds = (bool, str)
    return all(isinstance(one, kind) == isinstance(two, kind) for kind in kinds)


@given(values=st.lists(scalars, min_size=1, max_size=8), wanted=scalars)
def test_equality_and_ranges_compare_as_python_does(values: list[object], wanted: object) -> None:
    index = FieldIndex.of([list(document_keys({"f": value}, ignore=())) for value in values])

    def key(value: object) -> object:
        return value if isinstance(value, (bool, str)) else as_number(value)

    def expected(compare) -> list[bool]:
        return [same_kind(value, wanted) and compare(key(value), key(wanted)) for value in values]

    n = len(values)
    assert index.mask({"f": wanted}, n).tolist() == expected(lambda a, b: a == b)
    assert index.mask({"f": {"gte": wanted}}, n).tolist() == expected(lambda a, b: a >= b)
    assert index.mask({"f": {"gt": wanted}}, n).tolist() == expected(lambda a, b: a > b)
    assert index.mask({"f": {"lte": wanted}}, n).tolist() == expected(lambda a, b: a <= b)
    assert index.mask({"f": {"lt": wanted}}, n).tolist() == expected(lambda a, b: a < b)


def test_fields_that_are_prefixes_of_each_other_are_kept_apart() -> None:
    documents = [{"a": "x", "ab": "y"}, {"ab": "x"}, {"a": ["x", "z"], "": "x"}]
    index = FieldIndex.of([list(document_keys(document, ignore=())) for document in documents])
    assert index.fields() == ["", "a", "ab"]
    assert index.mask({"a": "x"}, 3).tolist() == [True, False, True]
    assert index.mask({"ab": "x"}, 3).tolist() == [False, True, False]
    assert index.strings("a", np.array([True, True, False])) == ["x"]
    assert index.has_field("ab")
    assert not index.has_field("abc")


def test_long_texts_mappings_and_nul_fields_are_not_filtered_on() -> None:
    document = {"long": "x" * 257, "nested": {"a": 1}, "none": None, "nul\0": "x", "text": "a", "ok": "x" * 256}
    assert len(list(document_keys(document, ignore=["text"]))) == 1


def test_a_range_has_bounds_of_one_type() -> None:
    index = FieldIndex.of([[]])
    with pytest.raises(InvalidInputError, match="bounds of a range must be of one type. Got {'gte': 1, 'lt': 'x'}"):
        index.mask({"f": {"gte": 1, "lt": "x"}}, 1)


def test_documents_that_are_not_there_are_an_error() -> None:
    index = FieldIndex.of([list(document_keys({"f": "x"}, ignore=()))])
    with pytest.raises(CorruptedError, match="names documents that are not there"):
        index.mask({"f": "x"}, 0)
