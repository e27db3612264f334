"""The measures on a ranking that is small enough for pencil and paper."""

from math import log2

import pytest

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.retrieval_measures import MEASURES, measure_run

RUN = {
    "one": [("a", 9.0), ("b", 8.0), ("c", 7.0), ("d", 6.0)],
    "late": [(f"x{n}", 200.0 - n) for n in range(120)],
    "silent": [],
}
JUDGEMENTS = {
    "one": {"b": 2, "d": 1, "e": 1, "c": 0},  # e is never found
    "late": {"x19": 1, "x110": 1},  # at ranks 20 and 111
    "silent": {"a": 1},
    "absent": {"a": 1},  # the run does not know the query
    "hopeless": {"a": 0},  # nothing to be found: left out
}
EXPECTED = {
    "ndcg@10": {
        "one": (2 / log2(3) + 1 / log2(5)) / (2 / log2(2) + 1 / log2(3) + 1 / log2(4)),
        "late": 0.0,
    },
    "map": {"one": (1 / 2 + 2 / 4) / 3, "late": (1 / 20 + 2 / 111) / 2},
    "recall@100": {"one": 2 / 3, "late": 1 / 2},
    "mrr": {"one": 1 / 2, "late": 1 / 20},
}


@pytest.mark.parametrize("measure", EXPECTED)
def test_measures_are_those_of_the_definitions(measure: str) -> None:
    scores = measure_run(RUN, JUDGEMENTS)
    expected = {**EXPECTED[measure], "silent": 0.0, "absent": 0.0}
    assert scores.per_query[measure] == pytest.approx(expected)
    assert list(scores.per_query[measure]) == ["one", "late", "silent", "absent"]
    assert scores.mean[measure] == pytest.approx(sum(expected.values()) / 4)


def test_the_names_are_those_of_the_reports() -> None:
    scores = measure_run(RUN, JUDGEMENTS)
    assert list(scores.mean) == list(scores.per_query) == list(MEASURES) == ["ndcg@10", "map", "recall@100", "mrr"]


def test_the_order_of_the_run_counts_among_equal_scores() -> None:
    for order, expected in (("ab", 1.0), ("ba", 0.5)):
        run = {"q": [(doc_id, 1.0) for doc_id in order]}
        assert measure_run(run, {"q": {"a": 1}}).mean["mrr"] == expected


def test_a_run_without_any_hit_scores_zero() -> None:
    assert measure_run({}, {"q": {"a": 1}}).mean == dict.fromkeys(MEASURES, 0.0)


def test_judgements_without_a_relevant_document_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="a query with a relevant document.*Got 1 queries without one"):
        measure_run(RUN, {"one": {"a": 0}})
