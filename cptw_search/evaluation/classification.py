"""Running a method on a split: parameters by validation, then one fit on the whole training part, one test."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cptw_search.evaluation.knn import nearest
from cptw_search.evaluation.memory import peak_memory
from cptw_search.evaluation.methods import Method, Setting
from cptw_search.evaluation.protocol import KS, CountedTexts, Split

__all__ = ["HOPELESS", "MAX_VALIDATION", "Outcome", "run_split"]

HOPELESS = 0.05
"""A setting that is so far behind the best of its variant after a round is not tried in the next ones: more than three
standard errors of a share among 1,000 documents, and a third of the time of a run."""

MAX_VALIDATION = 1000
"""How many documents of a validation part are classified, at most: with three rounds, that orders settings well enough,
and it halves the time of a run."""


@dataclass(frozen=True)
class Outcome:
    """What a variant of a method did on the test part of a split.

    Parameters
    ----------
    variant : str
        The variant; empty where a method has one.
    votes : str
        How neighbours voted.
    parameters : dict
        What validation chose.
    k : int
        The number of neighbours that validation chose.
    validation : dict
        For each setting that was tried, the best share of right classes over k, as the mean of the rounds.
    predicted : list of int
        The class given to each test document.
    seconds : float
        Of the processor's, for fitting on the training part and classifying the test part with the chosen parameters.
    tuning_seconds : float
        Of the processor's, for choosing parameters, for all variants of the method together.
    peak_bytes : int or None
        The most memory the process had in the test, beyond what it had before; None where that cannot be known.
    sample : list of int or None, default None
        Which of the test documents were classified, where a slow method was run on some of them; None: all.
    """

    variant: str
    votes: str
    parameters: Mapping[str, float]
    k: int
    validation: Mapping[str, float]
    predicted: Sequence[int]
    seconds: float
    tuning_seconds: float
    peak_bytes: int | None
    sample: Sequence[int] | None = None


def run_split(data: CountedTexts, split: Split, method: Method, *, ks: Sequence[int] = KS) -> list[Outcome]:
    """Run a method on a split.

    Parameters
    ----------
    data : CountedTexts
        The data set.
    split : Split
        Training part, test part, and rounds of validation.
    method : Method
        What represents documents.
    ks : sequence of int, default `KS`
        Numbers of neighbours to choose from.

    Returns
    -------
    list of Outcome
        One a variant and way to vote.
    """
    started = time.process_time()
    settings = list(method.grid())
    n_labels = len(data.labels)
    # settings x ways to vote x k, the mean over rounds
    tried = np.zeros((len(settings), len(method.votes), len(ks)))
    if len(settings) * len(ks) > 1:
        tried = _try_settings(data, split, method, settings, ks)
    tuning_seconds = time.process_time() - started

    outcomes = []
    sample = _sample(len(split.test), method)
    part = data.round(split.train, split.test if sample is None else split.test[sample])
    truth_of_train = data.codes[split.train]
    for variant in dict.fromkeys(setting.variant for setting in settings):
        own = [number for number, setting in enumerate(settings) if setting.variant == variant]
        # The parameters are those of the votes that are reported; other ways to vote choose their own k alone.
        best = own[_first_best(tried[own, 0].max(axis=1))]
        setting = settings[best]
        started = time.process_time()
        with peak_memory() as peak:
            ((_, comparison),) = method.compare(part, [setting])
            found = nearest(comparison, max(ks))
        seconds = time.process_time() - started
        del comparison
        for place, votes in enumerate(method.votes):
            k = ks[_first_best(tried[best, place])]
            outcomes.append(
                Outcome(
                    variant,
                    votes,
                    dict(setting.parameters),
                    k,
                    {_describe(settings[one]): float(tried[one, place].max()) for one in own},
                    found.predict(truth_of_train, n_labels, k, votes).tolist(),
                    seconds,
                    tuning_seconds,
                    peak.n_bytes,
                    None if sample is None else sample.tolist(),
                )
            )
    return outcomes


def _try_settings(
    data: CountedTexts, split: Split, method: Method, settings: Sequence[Setting], ks: Sequence[int]
) -> npt.NDArray[np.float64]:
    """Give the share of right classes in validation, the mean over the rounds in which a setting was tried."""
    sums = np.zeros((len(settings), len(method.votes), len(ks)))
    n_rounds = np.zeros(len(settings))
    going_on = np.ones(len(settings), dtype=bool)
    variants = np.array([setting.variant for setting in settings])
    for train, validate in split.rounds[: getattr(method, "n_rounds", len(split.rounds))]:
        numbers = np.flatnonzero(going_on)
        sums[numbers] += _validate(data, train, validate, method, [settings[int(one)] for one in numbers], ks)
        n_rounds[numbers] += 1
        best = (sums[:, 0] / n_rounds[:, None]).max(axis=1)
        for variant in set(variants):
            own = variants == variant
            going_on[own] &= best[own] >= best[own & going_on].max() - HOPELESS
    return np.asarray(sums / n_rounds[:, None, None])


def _validate(
    data: CountedTexts,
    train: npt.NDArray[np.intp],
    validate: npt.NDArray[np.intp],
    method: Method,
    settings: Sequence[Setting],
    ks: Sequence[int],
) -> npt.NDArray[np.float64]:
    right = np.zeros((len(settings), len(method.votes), len(ks)))
    sample = _sample(len(validate), method, MAX_VALIDATION)
    validate = validate if sample is None else validate[sample]
    number = {setting: at for at, setting in enumerate(settings)}
    for setting, comparison in method.compare(data.round(train, validate), settings):
        found = nearest(comparison, max(ks))
        for place, votes in enumerate(method.votes):
            right[number[setting], place] = found.correct(
                data.codes[train], data.codes[validate], len(data.labels), ks, votes
            )
    return right


def _sample(n: int, method: Method, most: int | None = None) -> npt.NDArray[np.intp] | None:
    """Choose the documents that a method is run on, at most ``most`` or as many as it says itself; None: all."""
    size: int | None = getattr(method, "sample", None) or most
    if size is None or size >= n:
        return None
    return np.sort(np.random.default_rng(getattr(method, "seed", 0)).choice(n, size, replace=False))


def _first_best(values: npt.NDArray[np.float64]) -> int:
    """Give the first of the largest values; what differs by rounding is equal."""
    return int(np.argmax(values >= values.max() - 1e-12))


def _describe(setting: Setting) -> str:
    return ", ".join(f"{name} {value:g}" for name, value in setting.parameters)
