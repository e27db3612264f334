"""Models for a purpose, and the default of search."""

import pytest
from made_up_texts import make_texts

from cptw_search import EmbeddedIndex, model_for
from cptw_search.errors import InvalidInputError
from cptw_search.tuning import suggest_search


def test_a_purpose_s_parameters_can_be_changed() -> None:
    assert model_for("search", k1=0.9).get_params()["k1"] == 0.9
    assert model_for("search").tau != model_for("search", vectors=None).tau  # tau belongs to the vectors
    assert model_for("classification").weighting == "idf-released"


def test_an_unknown_purpose_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="purpose must be one of 'search', 'classification'. Got 'fun'"):
        model_for("fun")


def test_a_search_learns_words_by_default() -> None:
    texts = make_texts().texts
    index = EmbeddedIndex.build(model_for("search", n_dimensions=10).fit(texts), texts)
    query = " ".join(texts[0].split()[:3])
    assert index.search(query) == index.search(query, method="hybrid+feedback", lambda_=0.3)
    assert index.search_many([query]) == [index.search(query)]


@pytest.mark.parametrize(
    ("n_docs", "length", "share"), [(1_400, 90, 0.3), (100, 90, 0.1), (10**6, 90, 0.1), (3_000, 5, 0.1)]
)
def test_where_nothing_was_measured_the_share_is_careful(n_docs: int, length: float, share: float) -> None:
    assert suggest_search(n_docs, length)["lambda"] == share
