"""F1, ranks, significance and IICR: what is said about the outcomes of all splits together."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt

from cptw_search.errors import require_extra
from cptw_search.evaluation.classification import Outcome
from cptw_search.evaluation.protocol import CountedTexts, Split
from cptw_search.evaluation.runner import SplitResult
from cptw_search.evaluation.significance import holm, mcnemar_p_value

__all__ = ["CHOSEN", "Line", "average_ranks", "compare_with_best", "f1_scores", "summarise", "with_chosen_variant"]

IntArray = npt.NDArray[np.intp]

CHOSEN = "chosen"
"""The name of the variant that each split's validation chose among all."""


@dataclass(frozen=True)
class Line:
    """A line of the table: one variant of a method on one data set.

    Parameters
    ----------
    dataset : str
        The data set.
    method : str
        The method.
    variant : str
        The variant; empty where a method has one.
    votes : str
        How neighbours voted.
    reported : bool
        Whether this is the method's way to vote in the table, and not a check.
    micro_f1 : float
        The mean over folds, as in the paper.
    macro_f1 : float
        The mean over folds.
    micro_f1_no_copies : float
        Without the test documents that have an exact copy in the training part.
    macro_f1_no_copies : float
        The same.
    n_copies : int
        How many test documents have one.
    n_test : int
        Documents that were classified.
    parameters : tuple of dict
        What validation chose in each split.
    ks : tuple of int
        The k that validation chose in each split.
    validation : dict
        For each setting, the mean share of right classes in validation over all splits, with the best k.
    seconds : float
        Of fitting and testing with the chosen parameters, over all splits.
    tuning_seconds : float
        Of choosing parameters, for all variants of the method together.
    peak_bytes : int or None
        The most memory of a test, over all splits.
    right : ndarray of bool
        For each document, in the data set's order, whether its class was right; only those that were tested.
    """

    dataset: str
    method: str
    variant: str
    votes: str
    reported: bool
    micro_f1: float
    macro_f1: float
    micro_f1_no_copies: float
    macro_f1_no_copies: float
    n_copies: int
    n_test: int
    parameters: tuple[Mapping[str, float], ...]
    ks: tuple[int, ...]
    validation: Mapping[str, float]
    seconds: float
    tuning_seconds: float
    peak_bytes: int | None
    right: npt.NDArray[np.bool_] = field(repr=False)

    @property
    def name(self) -> str:
        """Method and variant, as one word or two."""
        return f"{self.method} {self.variant}".strip()


def f1_scores(truth: IntArray, predicted: IntArray) -> tuple[float, float]:
    """Compute micro and macro F1 by scikit-learn.

    Parameters
    ----------
    truth : ndarray of int
        The classes.
    predicted : ndarray of int
        The classes given.

    Returns
    -------
    (float, float)
        Micro F1, which is the share of right ones here, and macro F1; NaN for no documents.

    Examples
    --------
    >>> micro, macro = f1_scores(np.array([0, 0, 0, 1]), np.array([0, 0, 0, 0]))
    >>> round(micro, 3), round(macro, 3)  # of class 0: 2 * 3 / (2 * 3 + 1); of class 1: 0
    (0.75, 0.429)
    """
    if not len(truth):
        return float("nan"), float("nan")
    metrics = require_extra("sklearn.metrics", "evaluation", "F1")
    return (
        float(np.mean(truth == predicted)),
        float(metrics.f1_score(truth, predicted, average="macro", zero_division=0)),
    )


def summarise(results: Iterable[SplitResult], datasets: Mapping[str, CountedTexts]) -> list[Line]:
    """Bring the splits of each data set together.

    Parameters
    ----------
    results : iterable of SplitResult
        What the jobs gave.
    datasets : mapping of str to CountedTexts
        The data sets, by name.

    Returns
    -------
    list of Line
        By data set, method, variant and way to vote, in the order in which they came.
    """
    groups: dict[tuple[str, str, str, str], list[tuple[Split, Outcome]]] = defaultdict(list)
    reported: dict[tuple[str, str], str] = {}
    for result in results:
        for outcome in result.outcomes:
            reported.setdefault((result.method, outcome.variant), outcome.votes)
            key = (result.dataset, result.method, outcome.variant, outcome.votes)
            groups[key].append((result.split, outcome))
    return [_line(key, group, datasets[key[0]], reported[key[1], key[2]] == key[3]) for key, group in groups.items()]


def _line(
    key: tuple[str, str, str, str], group: Sequence[tuple[Split, Outcome]], data: CountedTexts, reported: bool
) -> Line:
    scores, without = [], []
    right, tested = np.zeros(len(data.codes), dtype=bool), np.zeros(len(data.codes), dtype=bool)
    n_copies = 0
    for split, outcome in group:
        test = documents_of(split, outcome)
        predicted = np.array(outcome.predicted, dtype=np.intp)
        truth = data.codes[test]
        copies = data.has_copy_in(test, split.train)
        n_copies += int(copies.sum())
        scores.append(f1_scores(truth, predicted))
        without.append(f1_scores(truth[~copies], predicted[~copies]))
        right[test], tested[test] = truth == predicted, True
    outcomes = [outcome for _, outcome in group]
    peaks = [outcome.peak_bytes for outcome in outcomes if outcome.peak_bytes is not None]
    settings = dict.fromkeys(name for outcome in outcomes for name in outcome.validation)
    dataset, method, variant, votes = key
    (micro, macro), (micro_without, macro_without) = np.mean(scores, axis=0), np.mean(without, axis=0)
    return Line(
        dataset=dataset,
        method=method,
        variant=variant,
        votes=votes,
        reported=reported,
        micro_f1=float(micro),
        macro_f1=float(macro),
        micro_f1_no_copies=float(micro_without),
        macro_f1_no_copies=float(macro_without),
        n_copies=n_copies,
        n_test=int(tested.sum()),
        parameters=tuple(outcome.parameters for outcome in outcomes),
        ks=tuple(outcome.k for outcome in outcomes),
        validation={
            name: float(np.mean([o.validation[name] for o in outcomes if name in o.validation])) for name in settings
        },
        seconds=sum(outcome.seconds for outcome in outcomes),
        tuning_seconds=sum(outcome.tuning_seconds for outcome in outcomes),
        peak_bytes=max(peaks, default=None),
        right=right[tested],
    )


def documents_of(split: Split, outcome: Outcome) -> IntArray:
    """Give the documents that an outcome is about.

    Parameters
    ----------
    split : Split
        The split.
    outcome : Outcome
        The outcome.

    Returns
    -------
    ndarray of int
        The test part, or the sample of it that a slow method was run on.
    """
    return split.test if outcome.sample is None else split.test[np.array(outcome.sample, dtype=np.intp)]


def with_chosen_variant(results: Sequence[SplitResult], method: str = "cptw") -> list[SplitResult]:
    """Add to each split of a method with variants what the variant did that validation liked best.

    Parameters
    ----------
    results : sequence of SplitResult
        What the jobs gave; several jobs may share the variants of one split.
    method : str, default "cptw"
        The method.

    Returns
    -------
    list of SplitResult
        The same, and one more for each split: the outcome of the variant with the best validation, called `CHOSEN`. The
        test part has no say in it.
    """
    groups: dict[tuple[str, str, str], list[tuple[Split, Outcome]]] = defaultdict(list)
    for result in results:
        if result.method == method:
            for outcome in result.outcomes:
                votes = outcome.votes if outcome.votes == "uniform" else "own"
                groups[result.dataset, result.split.name, votes].append((result.split, outcome))
    added = []
    for (dataset, _, votes), group in groups.items():
        if len(group) < 2:
            continue
        split, best = max(group, key=lambda pair: max(pair[1].validation.values()))  # the first of equals
        value = max(best.validation.values())
        added.append(
            SplitResult(
                dataset, split, method, [replace(best, variant=CHOSEN, votes=votes, validation={best.variant: value})]
            )
        )
    return [*results, *added]


def average_ranks(lines: Sequence[Line]) -> dict[str, float]:
    """Rank methods by micro F1 on each data set, and average the ranks.

    Parameters
    ----------
    lines : sequence of Line
        One of each method on each data set.

    Returns
    -------
    dict
        Methods to their mean rank, 1 being the best and equals sharing theirs, best first; methods that were not run
        on all data sets are left out.
    """
    from scipy.stats import rankdata

    datasets = list(dict.fromkeys(line.dataset for line in lines))
    scores: dict[str, dict[str, float]] = defaultdict(dict)
    for line in lines:
        scores[line.name][line.dataset] = line.micro_f1
    names = [name for name, found in scores.items() if len(found) == len(datasets)]
    ranks = [rankdata([-scores[name][dataset] for name in names]) for dataset in datasets]
    means = dict(zip(names, np.mean(ranks, axis=0).tolist(), strict=True)) if names else {}
    return dict(sorted(means.items(), key=lambda item: item[1]))


def compare_with_best(lines: Sequence[Line], ours: str) -> dict[tuple[str, str], float]:
    """Test on each data set whether one method differs from every other, document by document.

    Parameters
    ----------
    lines : sequence of Line
        One of each method on each data set.
    ours : str
        The name of the method to compare with the others.

    Returns
    -------
    dict
        (data set, other method) to the p-value of McNemar's test, corrected by Holm for all comparisons given here.
        Methods that were run on a sample are left out.
    """
    own = {line.dataset: line for line in lines if line.name == ours}
    pairs, p_values = [], []
    for line in lines:
        mine = own.get(line.dataset)
        if mine is None or line.name == ours or line.n_test != mine.n_test:
            continue
        pairs.append((line.dataset, line.name))
        p_values.append(mcnemar_p_value(mine.right, line.right))
    return dict(zip(pairs, holm(p_values), strict=True)) if pairs else {}
