import itertools

import numpy as np
import pytest
from scipy.stats import binomtest

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.significance import (
    bootstrap_interval,
    holm,
    mcnemar_p_value,
    paired_p_value,
    paired_t_p_value,
)

RNG = np.random.default_rng(7)
OURS = RNG.uniform(size=10)
THEIRS = np.clip(OURS - RNG.normal(0.05, 0.1, size=10), 0, 1)


def test_few_pairs_are_tested_with_every_change_of_signs() -> None:
    differences = OURS - THEIRS
    means = [float(np.mean(differences * signs)) for signs in itertools.product([1, -1], repeat=10)]
    expected = np.mean(np.abs(means) >= abs(differences.mean()) - 1e-12)
    assert paired_p_value(OURS, THEIRS) == pytest.approx(expected)


def test_many_pairs_are_sampled_the_same_way_every_time() -> None:
    ours, theirs = RNG.uniform(size=60), RNG.uniform(size=60)
    assert paired_p_value(ours, theirs) == paired_p_value(ours, theirs)
    assert paired_p_value(ours, theirs, seed=1) == pytest.approx(paired_p_value(ours, theirs), abs=0.02)
    assert paired_p_value(ours, theirs) == pytest.approx(paired_p_value(theirs, ours), abs=0.02)
    assert paired_p_value(ours + 1, theirs) == pytest.approx(2 / 10_000)  # the least that 9,999 resamples can say


def test_randomisation_and_t_agree_on_well_behaved_values() -> None:
    ours = RNG.normal(0.5, 0.1, size=200)
    theirs = ours - RNG.normal(0.01, 0.1, size=200)
    assert paired_p_value(ours, theirs) == pytest.approx(paired_t_p_value(ours, theirs), abs=0.02)


def test_equal_systems_do_not_differ() -> None:
    for test in (paired_p_value, paired_t_p_value):
        assert test([0.3, 0.4], [0.3, 0.4]) == 1.0
    assert mcnemar_p_value([True, False], [True, False]) == 1.0
    assert paired_t_p_value([0.3], [0.4]) == 1.0
    assert paired_p_value([0.3, 0.4], [0.3, 0.9]) == 1.0
    assert paired_t_p_value([0.3, 0.4], [0.1, 0.2]) == 0.0


def test_pairs_that_tie_change_nothing() -> None:
    tied = np.full(2_000, 0.25)
    assert paired_p_value(np.append(OURS, tied), np.append(THEIRS, tied)) == paired_p_value(OURS, THEIRS)


def test_mcnemar_is_randomisation_of_right_and_wrong() -> None:
    ours = np.array([1] * 8 + [0] * 2 + [1] * 30, dtype=bool)
    theirs = np.array([0] * 8 + [1] * 2 + [1] * 30, dtype=bool)
    assert mcnemar_p_value(ours, theirs) == pytest.approx(binomtest(8, 10).pvalue)
    assert mcnemar_p_value(ours, theirs) == pytest.approx(paired_p_value(ours, theirs))
    with pytest.raises(InvalidInputError, match="needs values of 0 and 1"):
        mcnemar_p_value([0.5, 1], [0, 1])


def test_holm_multiplies_by_the_comparisons_that_are_left() -> None:
    assert holm([0.04, 0.01, 0.03]) == pytest.approx([0.06, 0.03, 0.06])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([0.02]) == [0.02]
    assert holm([]) == []
    with pytest.raises(InvalidInputError, match=r"p-values must be from 0 to 1. Got \[0.1, nan\]"):
        holm([0.1, float("nan")])


def test_the_bootstrap_interval_holds_the_mean_and_narrows_with_more_values() -> None:
    few, many = RNG.uniform(size=20), RNG.uniform(size=2_000)
    widths = []
    for values in (few, many):
        low, high = bootstrap_interval(values)
        assert low < values.mean() < high
        widths.append(high - low)
        # of a mean of values from 0 to 1, about 1.96 standard errors on each side
        assert high - low == pytest.approx(2 * 1.96 * values.std() / np.sqrt(len(values)), rel=0.15)
    assert widths[1] < widths[0] / 5
    narrower = bootstrap_interval(few, confidence=0.5)
    assert narrower[1] - narrower[0] < widths[0]
    assert bootstrap_interval([0.4]) == (0.4, 0.4)
    assert bootstrap_interval([0.4, 0.4]) == (0.4, 0.4)


def test_what_cannot_be_tested_is_named() -> None:
    with pytest.raises(InvalidInputError, match=r"same length.*\(2,\) and \(1,\)"):
        paired_p_value([1, 2], [1])
    with pytest.raises(InvalidInputError, match="same length"):
        paired_t_p_value([], [])
    with pytest.raises(InvalidInputError, match="must be finite. Got nan"):
        paired_p_value([1.0, float("nan")], [1.0, 1.0])
    with pytest.raises(InvalidInputError, match="needs a list of values"):
        bootstrap_interval([])
    with pytest.raises(InvalidInputError, match="confidence must be a number between 0 and 1. Got 95"):
        bootstrap_interval([1.0], confidence=95)
