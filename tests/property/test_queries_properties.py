"""Pruning to fit keeps the heaviest terms; fusion does not depend on what it is not told."""

import math

from hypothesis import given
from hypothesis import strategies as st

from cptw_queries.fitting import prune_to_fit
from cptw_queries.fusion import fuse

weighted = st.dictionaries(st.text(max_size=3), st.floats(1e-30, 1e6), max_size=30)
limits = st.integers(1, 40)
rankings = st.lists(st.lists(st.sampled_from("abcdefgh"), unique=True), max_size=4)


@given(weighted, limits)
def test_the_heaviest_stay_in_their_order(weights: dict[str, float], limit: int) -> None:
    fitted = prune_to_fit(weights, limit)
    assert len(fitted.weights) == min(limit, len(weights)) == fitted.n_terms - fitted.n_dropped
    assert [term for term in weights if term in fitted.weights] == list(fitted.weights)
    assert all(fitted.weights[term] == weights[term] for term in fitted.weights)
    lightest = min(fitted.weights.values(), default=0.0)
    assert all(weight <= lightest for term, weight in weights.items() if term not in fitted.weights)


@given(weighted, limits)
def test_the_share_that_is_told_is_what_went(weights: dict[str, float], limit: int) -> None:
    fitted = prune_to_fit(weights, limit)
    assert 0 <= fitted.dropped_share <= 1
    kept = math.fsum(fitted.weights.values())
    total = math.fsum(weights.values())
    assert math.isclose(kept, total * (1 - fitted.dropped_share), rel_tol=1e-9, abs_tol=1e-9 * total)
    assert (fitted.dropped_share > 0) <= (len(weights) > limit)


@given(weighted.filter(bool), limits)
def test_pruning_twice_changes_nothing(weights: dict[str, float], limit: int) -> None:
    once = prune_to_fit(weights, limit).weights
    assert prune_to_fit(once, limit).weights == once


@given(rankings)
def test_fusion_is_sorted_and_whole(lists: list[list[str]]) -> None:
    fused = fuse(lists)
    assert {doc_id for doc_id, _ in fused} == {doc_id for ranking in lists for doc_id in ranking}
    assert fused == sorted(fused, key=lambda pair: (-pair[1], pair[0]))


@given(st.lists(st.sampled_from("abcdefgh"), unique=True))
def test_fusion_of_one_ranking_is_that_ranking(ranking: list[str]) -> None:
    assert [doc_id for doc_id, _ in fuse([ranking])] == ranking
    assert [doc_id for doc_id, _ in fuse([ranking, ranking])] == ranking
