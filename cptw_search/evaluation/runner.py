"""Many runs of the protocol: both cores, results from the cache where they are there, the longest first."""

from __future__ import annotations

import multiprocessing
import os
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import asdict, dataclass

from cptw_search.evaluation.cache import ResultCache, code_version
from cptw_search.evaluation.classification import Outcome, run_split
from cptw_search.evaluation.methods import Method
from cptw_search.evaluation.protocol import KS, CountedTexts, Split, make_splits
from cptw_search.progress import progress_bar

__all__ = ["Job", "SplitResult", "make_jobs", "run_jobs"]

_SHARED = (
    "evaluation/classification.py",
    "evaluation/knn.py",
    "evaluation/protocol.py",
    "neighbours.py",
    "counting.py",
)
_PROPAGATION = ("evaluation/dense_propagation.py", "propagation.py", "similarity.py")
_MODULES = {
    "Propagated": ("evaluation/propagated.py", *_PROPAGATION),
    "Hybrid": ("evaluation/hybrid.py", "evaluation/propagated.py", "evaluation/baselines.py", *_PROPAGATION),
    "WordMovers": ("evaluation/word_movers.py",),
}
_SLOW = ("lda", "cptw", "lsi", "wmd")


@dataclass(frozen=True)
class Job:
    """One method on one split.

    Parameters
    ----------
    data : CountedTexts
        The data set.
    split : Split
        The split.
    method : Method
        The method.
    seed : int
        That the split was made with.
    ks : tuple of int, default `KS`
        Numbers of neighbours to choose from.
    """

    data: CountedTexts
    split: Split
    method: Method
    seed: int
    ks: tuple[int, ...] = KS

    def key(self) -> dict[str, object]:
        """Give all that the result depends on.

        Returns
        -------
        dict
            Plain data.
        """
        parameters = {name: _plain(value) for name, value in vars(self.method).items()}
        return {
            "data": self.data.content,
            "split": [self.split.name, len(self.split.train), len(self.split.test), len(self.split.rounds)],
            "seed": self.seed,
            "method": type(self.method).__name__,
            "parameters": parameters,
            "ks": list(self.ks),
            "versions": code_version(
                (*_SHARED, *_MODULES.get(type(self.method).__name__, ("evaluation/baselines.py",)))
            ),
        }

    @property
    def cost(self) -> float:
        """A guess at the work, so that the longest jobs start first and both cores end together."""
        slow = 10.0 if self.method.name in _SLOW else 1.0
        return slow * len(self.split.train) * len(self.split.test) * len(self.data.terms)


@dataclass(frozen=True)
class SplitResult:
    """What came of a job.

    Parameters
    ----------
    dataset : str
        The data set's name.
    split : Split
        The split.
    method : str
        The method's name.
    outcomes : list of Outcome
        One a variant and way to vote.
    """

    dataset: str
    split: Split
    method: str
    outcomes: list[Outcome]


def _plain(value: object) -> object:
    return list(value) if isinstance(value, (tuple, list)) else value


def make_jobs(
    datasets: Iterable[CountedTexts],
    methods: Sequence[Method],
    *,
    seed: int = 0,
    n_folds: int = 5,
    n_rounds: int = 3,
    ks: Sequence[int] = KS,
) -> list[Job]:
    """List all jobs of an evaluation.

    Parameters
    ----------
    datasets : iterable of CountedTexts
        The data sets.
    methods : sequence of Method
        The methods.
    seed : int, default 0
        Of the splits.
    n_folds : int, default 5
        Folds where a data set has no official split.
    n_rounds : int, default 3
        Rounds of validation.
    ks : sequence of int, default `KS`
        Numbers of neighbours to choose from.

    Returns
    -------
    list of Job
        Every method on every split of every data set.
    """
    return [
        Job(data, split, method, seed, tuple(ks))
        for data in datasets
        for split in make_splits(data.codes, data.is_test, n_folds=n_folds, n_rounds=n_rounds, seed=seed)
        for method in methods
    ]


def run_jobs(
    jobs: Sequence[Job], cache: ResultCache | None, *, n_processes: int = 2, progress: bool | None = None
) -> list[SplitResult]:
    """Run jobs, or take their results from the cache.

    Parameters
    ----------
    jobs : sequence of Job
        What to do.
    cache : ResultCache or None
        Where results are kept; None keeps nothing.
    n_processes : int, default 2
        How many run at once, each on one core; 1 stays in this process.
    progress : bool, optional
        Show a progress bar or not; by default where standard error is a terminal.

    Returns
    -------
    list of SplitResult
        In the order of ``jobs``.
    """
    found: dict[int, list[Outcome]] = {}
    keys = [job.key() for job in jobs]  # once, at the start: the code that runs is the one of now
    for number, key in enumerate(keys):
        kept = None if cache is None else cache.get(key)
        if kept is not None:
            found[number] = [Outcome(**outcome) for outcome in kept]
    waiting = sorted((n for n in range(len(jobs)) if n not in found), key=lambda n: -jobs[n].cost)
    total = sum(jobs[number].cost for number in waiting)
    with progress_bar("Evaluating (percent)", 100, show=progress) as advance:
        for number, outcomes in _run(jobs, waiting, n_processes):
            found[number] = outcomes
            if cache is not None:
                cache.put(keys[number], [asdict(outcome) for outcome in outcomes])
            advance(100 * jobs[number].cost / total)
    return [SplitResult(job.data.name, job.split, job.method.name, found[number]) for number, job in enumerate(jobs)]


def _run(jobs: Sequence[Job], waiting: Sequence[int], n_processes: int) -> Iterable[tuple[int, list[Outcome]]]:
    if n_processes == 1 or len(waiting) < 2:
        for number in waiting:
            yield number, _run_one(jobs[number])
        return
    context = multiprocessing.get_context("spawn")  # a fork of a process with BLAS threads may hang
    # One thread of BLAS a process: whole jobs in parallel beat parallel products.
    limits = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    before = {name: os.environ.get(name) for name in limits}
    os.environ.update(limits)
    try:
        with ProcessPoolExecutor(n_processes, mp_context=context) as pool:
            started = {pool.submit(_run_one, jobs[number]): number for number in waiting}
            try:
                for future in as_completed(started):
                    yield started[future], future.result()
            except BaseException:
                pool.shutdown(cancel_futures=True)
                raise
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _run_one(job: Job) -> list[Outcome]:
    from threadpoolctl import threadpool_limits

    with threadpool_limits(1):
        return run_split(job.data, job.split, job.method, ks=job.ks)
