"""Is a difference more than chance? Paired tests, correction for many comparisons, confidence intervals.

All of them are scipy's but Holm's correction, which scipy does not have. Random numbers start from a fixed seed: the
same figures give the same p-value on every run.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cptw_search.errors import InvalidInputError

__all__ = ["N_RESAMPLES", "bootstrap_interval", "holm", "mcnemar_p_value", "paired_p_value", "paired_t_p_value"]

N_RESAMPLES = 9_999
"""Resamples of the tests below: with them, the smallest p-value of the randomisation test is 0.0002."""

_BATCH_CELLS = 4_000_000  # so that the resamples of a large test set need some 100 MB and not gigabytes

Values = Sequence[float] | npt.NDArray[np.floating[Any]] | npt.NDArray[np.bool_]


def _differences(ours: Values, theirs: Values) -> npt.NDArray[np.float64]:
    first, second = (np.asarray(values, dtype=np.float64) for values in (ours, theirs))
    if first.ndim != 1 or first.shape != second.shape or not len(first):
        raise InvalidInputError(
            "A paired test needs two lists of the same length, one value of each system for every query or document. "
            f"Got the shapes {first.shape} and {second.shape}."
        )
    _check_finite(first, second)
    return first - second


def _check_finite(*arrays: npt.NDArray[np.float64]) -> None:
    for array in arrays:
        if not np.isfinite(array).all():
            raise InvalidInputError(
                f"The values of a test must be finite. Got {array[~np.isfinite(array)][0]} among {len(array)} of them."
            )


def _sum(values: npt.NDArray[np.float64], axis: int) -> npt.NDArray[np.float64]:
    return np.asarray(values.sum(axis=axis))


def paired_p_value(ours: Values, theirs: Values, *, seed: int = 0, n_resamples: int = N_RESAMPLES) -> float:
    """Test by randomisation whether two systems differ in the mean.

    If they did not, each pair's difference could as well have the other sign. The p-value is the share of such sign
    changes whose mean is at least as far from 0 as the one observed, two-sided; all of them are tried where there are
    no more than ``n_resamples``. Of values 0 and 1 (a label that is right or wrong) it is McNemar's test.

    Parameters
    ----------
    ours : sequence of float
        One value a query or document.
    theirs : sequence of float
        The other system's values, in the same order.
    seed : int, default 0
        Of the random sign changes.
    n_resamples : int, default 9999
        How many sign changes are tried.

    Returns
    -------
    float
        The p-value; 1 where no pair differs, or a single one.

    Raises
    ------
    InvalidInputError
        If the lists are empty, differ in length, or hold something that is not finite.

    References
    ----------
    M. D. Smucker, J. Allan, B. Carterette, "A Comparison of Statistical Significance Tests for Information Retrieval
    Evaluation", CIKM 2007.

    Examples
    --------
    >>> paired_p_value([0.5, 0.6, 0.7, 0.9], [0.4, 0.5, 0.6, 0.8])  # 2 of the 16 sign changes are as far from 0
    0.125
    """
    from scipy.stats import permutation_test

    differences = _differences(ours, theirs)
    differences = differences[differences != 0]  # the sign of a zero changes nothing
    if len(differences) < 2:  # of a single one, both signs are as far from 0
        return 1.0
    result = permutation_test(
        (differences,),
        _sum,
        permutation_type="samples",
        vectorized=True,
        n_resamples=n_resamples,
        batch=max(1, _BATCH_CELLS // len(differences)),
        random_state=seed,
    )
    return float(result.pvalue)


def paired_t_p_value(ours: Values, theirs: Values) -> float:
    """Test by Student's paired t whether two systems differ in the mean.

    Parameters
    ----------
    ours : sequence of float
        One value a query or document.
    theirs : sequence of float
        The other system's values, in the same order.

    Returns
    -------
    float
        The two-sided p-value; 1 where no pair differs, and where a single one was given.

    Raises
    ------
    InvalidInputError
        If the lists are empty, differ in length, or hold something that is not finite.

    Examples
    --------
    >>> round(paired_t_p_value([0.5, 0.6, 0.9], [0.4, 0.4, 0.5]), 4)
    0.1181
    """
    from scipy.stats import ttest_rel

    differences = _differences(ours, theirs)
    if len(differences) < 2 or not differences.any():
        return 1.0
    if np.ptp(differences) <= 1e-12 * np.abs(differences).max():  # the same everywhere: t is infinite
        return 0.0
    return float(ttest_rel(np.asarray(ours, dtype=np.float64), np.asarray(theirs, dtype=np.float64)).pvalue)


def mcnemar_p_value(ours: Values, theirs: Values) -> float:
    """Test exactly whether two classifiers differ in how often they are right.

    Parameters
    ----------
    ours : sequence of bool
        Whether each document was classified rightly.
    theirs : sequence of bool
        The same of the other classifier, in the same order.

    Returns
    -------
    float
        The two-sided p-value of the binomial test on the documents that one of them alone got right; 1 where there
        is none.

    Raises
    ------
    InvalidInputError
        If the lists are empty, differ in length, or hold something other than 0 and 1.

    Examples
    --------
    >>> mcnemar_p_value([1, 1, 1, 1, 1, 0], [0, 0, 0, 0, 0, 0])  # all five that differ are ours: 2 / 2**5
    0.0625
    """
    from scipy.stats import binomtest

    differences = _differences(ours, theirs)
    if not set(np.unique(np.asarray([ours, theirs], dtype=np.float64)).tolist()) <= {0.0, 1.0}:
        raise InvalidInputError("McNemar's test needs values of 0 and 1, right or wrong. Got others.")
    n_ours, n_theirs = int((differences > 0).sum()), int((differences < 0).sum())
    if not n_ours + n_theirs:
        return 1.0
    return float(binomtest(n_ours, n_ours + n_theirs, 0.5).pvalue)


def holm(p_values: Sequence[float]) -> list[float]:
    """Correct p-values for the number of comparisons, by Holm's step-down method.

    The smallest is multiplied by their number n, the next by n - 1 and so on; none comes out below one that was
    smaller, none above 1. To reject what is below 0.05 then errs anywhere at all in one case of twenty.

    Parameters
    ----------
    p_values : sequence of float
        One a comparison.

    Returns
    -------
    list of float
        In the same order.

    Raises
    ------
    InvalidInputError
        If one of them is not between 0 and 1.

    References
    ----------
    S. Holm, "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics, 1979.

    Examples
    --------
    >>> holm([0.5, 0.01, 0.02])
    [0.5, 0.03, 0.04]
    """
    values = np.asarray(p_values, dtype=np.float64)
    if not ((values >= 0) & (values <= 1)).all():
        raise InvalidInputError(f"p-values must be from 0 to 1. Got {list(p_values)}.")
    order = np.argsort(values, kind="stable")
    factors = np.arange(len(values), 0, -1)
    corrected = np.empty_like(values)
    corrected[order] = np.minimum(np.maximum.accumulate(values[order] * factors), 1.0)
    return [float(value) for value in corrected]


def bootstrap_interval(
    values: Values, *, confidence: float = 0.95, seed: int = 0, n_resamples: int = N_RESAMPLES
) -> tuple[float, float]:
    """Give a confidence interval of a mean, by the percentiles of resampled means.

    Parameters
    ----------
    values : sequence of float
        One a query or document: a measure, or the difference of two systems.
    confidence : float, default 0.95
        How often such an interval holds the true mean, between 0 and 1.
    seed : int, default 0
        Of the resamples.
    n_resamples : int, default 9999
        How many resamples are drawn.

    Returns
    -------
    (float, float)
        The lower and the upper end; both the value itself where there is only one.

    Raises
    ------
    InvalidInputError
        If there are no values, or one is not finite, or ``confidence`` is no share.

    Examples
    --------
    >>> low, high = bootstrap_interval([0.2, 0.4, 0.6, 0.8])
    >>> 0.2 <= low < 0.5 < high <= 0.8
    True
    """
    from scipy.stats import bootstrap

    array = np.asarray(values, dtype=np.float64)
    if array.ndim != 1 or not len(array):
        raise InvalidInputError(f"A confidence interval needs a list of values. Got the shape {array.shape}.")
    _check_finite(array)
    if not 0 < confidence < 1:
        raise InvalidInputError(f"confidence must be a number between 0 and 1. Got {confidence!r} instead.")
    if len(array) == 1:
        return float(array[0]), float(array[0])
    interval = bootstrap(
        (array,),
        np.mean,
        confidence_level=confidence,
        method="percentile",
        n_resamples=n_resamples,
        batch=max(1, _BATCH_CELLS // len(array)),
        random_state=seed,
    ).confidence_interval
    return float(interval.low), float(interval.high)
