"""The whole evaluation of classification: data sets in, tables and figures out."""

from __future__ import annotations

import platform
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import numpy as np

from cptw_search.embeddings import WordVectors
from cptw_search.errors import InvalidInputError, check_choice
from cptw_search.evaluation.baselines import BagOfWords, Bm25, Lda, Lsi, MeanVector, Sif
from cptw_search.evaluation.cache import ResultCache, code_version
from cptw_search.evaluation.datasets import LabelledTexts
from cptw_search.evaluation.hybrid import HYBRID_VARIANT, Hybrid
from cptw_search.evaluation.inter_intra import iicr_curves
from cptw_search.evaluation.measures import Line, summarise, with_chosen_variant
from cptw_search.evaluation.methods import Method
from cptw_search.evaluation.plots import draw_f1, draw_iicr, draw_validation
from cptw_search.evaluation.propagated import TAUS, VARIANTS, Propagated
from cptw_search.evaluation.protocol import KS, CountedTexts, count_texts, make_splits
from cptw_search.evaluation.report import write_report
from cptw_search.evaluation.runner import make_jobs, run_jobs
from cptw_search.evaluation.word_movers import WordMovers

__all__ = ["DRAWN", "METHODS", "OURS", "Plan", "make_methods", "run_study"]

METHODS = ("bow", "tfidf", "bm25", "lsi", "lda", "we-avg", "sif", "wmd", "cptw")
"""The methods that can be run; WMD is run only where it is asked for."""

OURS = "cptw l2 idf-released"
"""The variant that is compared with all others: the authors' own code."""

DRAWN = ("l2 tf", "l2 idf-released", "l2 idf-weighted", "l2 idf-input", "l2 idf-equation")
"""The variants of the figures."""


@dataclass(frozen=True)
class Plan:
    """How thorough an evaluation is.

    Parameters
    ----------
    n_folds : int, default 5
        Folds where a data set has no official split.
    n_rounds : int, default 3
        Rounds of validation in each.
    seed : int, default 0
        Of all random numbers.
    ks : tuple of int, default `KS`
        Numbers of neighbours to choose from.
    taus : tuple of float, default `TAUS`
        Thresholds to choose from.
    variants : tuple of str, default `VARIANTS` and `HYBRID_VARIANT`
        Variants of CPTW.
    topics : tuple of int, default (10, 50, 100, 200)
        Sizes of LDA to choose from.
    dimensions : tuple of int, default (10, 25, 50, 100, 200, 300, 500, 1000)
        Sizes of LSI to choose from.
    wmd_sample : int, default 100
        On how many documents of each test part WMD is run.
    """

    n_folds: int = 5
    n_rounds: int = 3
    seed: int = 0
    ks: tuple[int, ...] = KS
    taus: tuple[float, ...] = TAUS
    variants: tuple[str, ...] = (*VARIANTS, HYBRID_VARIANT)
    topics: tuple[int, ...] = (10, 50, 100, 200)
    dimensions: tuple[int, ...] = (10, 25, 50, 100, 200, 300, 500, 1000)
    wmd_sample: int = 100

    @classmethod
    def quick(cls, seed: int = 0) -> Plan:
        """Make a plan for a look: fewer folds, rounds, thresholds, variants and sizes.

        Parameters
        ----------
        seed : int, default 0
            Of all random numbers.

        Returns
        -------
        Plan
            A plan whose figures are not for a comparison with others.
        """
        return cls(
            n_folds=2,
            n_rounds=1,
            seed=seed,
            ks=(1, 5, 11, 19),
            taus=(0.3, 0.5, 0.7, 1.0),
            variants=("l2 tf", "l2 idf-released", HYBRID_VARIANT),
            topics=(10, 50),
            dimensions=(50, 100),
            wmd_sample=10,
        )


def make_methods(names: Sequence[str], plan: Plan) -> list[Method]:
    """Make the methods of a plan.

    Parameters
    ----------
    names : sequence of str
        Some of `METHODS`.
    plan : Plan
        Their grids.

    Returns
    -------
    list of Method
        In the order of the names; CPTW comes as two, alone and mixed with BM25, which are run apart.

    Raises
    ------
    InvalidInputError
        If there are none, or one is unknown.
    """
    if not names:
        raise InvalidInputError(f"methods must be some of {', '.join(METHODS)}. Got none.")
    made: list[Method] = []
    for name in dict.fromkeys(names):
        check_choice("method", name, METHODS)
        if name in ("bow", "tfidf"):
            made.append(BagOfWords(name))
        elif name == "bm25":
            made.append(Bm25())
        elif name == "lsi":
            made.append(Lsi(plan.dimensions, seed=plan.seed))
        elif name == "lda":
            made.append(Lda(plan.topics, seed=plan.seed))
        elif name == "we-avg":
            made.append(MeanVector())
        elif name == "sif":
            made.append(Sif(seed=plan.seed))
        elif name == "wmd":
            made.append(WordMovers(plan.wmd_sample, seed=plan.seed))
        else:
            counted = tuple(variant for variant in plan.variants if variant != HYBRID_VARIANT)
            if counted:
                made.append(Propagated(counted, plan.taus))
            if HYBRID_VARIANT in plan.variants:
                made.append(Hybrid())
    return made


def run_study(
    datasets: Sequence[LabelledTexts],
    vectors: WordVectors,
    methods: Sequence[str],
    out: Path,
    *,
    plan: Plan | None = None,
    cache: ResultCache | None = None,
    n_processes: int = 2,
    command: str = "",
    vectors_name: str = "",
    progress: bool | None = None,
) -> list[Line]:
    """Evaluate methods on data sets and write the report.

    Parameters
    ----------
    datasets : sequence of LabelledTexts
        The data sets, with different names.
    vectors : WordVectors
        Word vectors.
    methods : sequence of str
        Some of `METHODS`.
    out : Path
        The folder for tables and figures.
    plan : Plan, optional
        How thorough; by default the paper's protocol.
    cache : ResultCache, optional
        Where results are kept and found again.
    n_processes : int, default 2
        How many run at once.
    command : str, default ""
        How this was called, for the provenance.
    vectors_name : str, default ""
        What the vectors are called in the tables.
    progress : bool, optional
        Show progress bars or not; by default where standard error is a terminal.

    Returns
    -------
    list of Line
        The results.

    Raises
    ------
    InvalidInputError
        If two data sets have the same name, or there are none.
    """
    plan = Plan() if plan is None else plan
    names = [data.name for data in datasets]
    if not names or len(set(names)) < len(names):
        raise InvalidInputError(f"data sets must be at least one and have different names. Got {names}.")
    started = time.time()
    made = make_methods(methods, plan)
    counted = {data.name: count_texts(data, vectors) for data in datasets}
    jobs = make_jobs(counted.values(), made, seed=plan.seed, n_folds=plan.n_folds, n_rounds=plan.n_rounds, ks=plan.ks)
    results = run_jobs(jobs, cache, n_processes=n_processes, progress=progress)
    lines = summarise(with_chosen_variant(results), counted)
    provenance: dict[str, object] = {
        "command": command,
        "seconds": round(time.time() - started),
        "seed": plan.seed,
        "n_folds": plan.n_folds,
        "n_rounds": plan.n_rounds,
        "vectors": {"name": vectors_name, **{k: v for k, v in vectors.provenance.items() if k != "source"}},
        "datasets": {data.name: _facts(data, counted[data.name]) for data in datasets},
        "grids": {f"{method.name} {number}": repr(method) for number, method in enumerate(made)},
        "versions": {
            "cptw-search": version("cptw-search"),
            "python": platform.python_version(),
            **code_version(
                (
                    "propagation.py",
                    "similarity.py",
                    *(f"evaluation/{one}.py" for one in ("baselines", "dense_propagation", "hybrid", "propagated")),
                )
            ),
        },
        "machine": {"processor": platform.machine(), "system": sys.platform, "processes": n_processes},
    }
    write_report(out, lines, OURS, vectors_name, provenance)
    draw_f1(lines, out)
    draw_validation(lines, DRAWN, out)
    propagated = [method for method in made if isinstance(method, Propagated)]
    if propagated:
        drawn = Propagated(tuple(v for v in propagated[0].variants if v in DRAWN), plan.taus)
        curves = {data.name: _curves(data, drawn, lines, plan, cache) for data in counted.values()}
        draw_iicr(curves, _chosen_taus(lines), DRAWN, out)
    return lines


def _facts(data: LabelledTexts, counted: CountedTexts) -> dict[str, object]:
    covered = counted.vectors.any(axis=1)
    occurrences = np.asarray(counted.counts.sum(axis=0)).ravel()
    return {
        "content_hash": data.content_hash(),
        "n_docs": len(data.texts),
        "n_terms": len(counted.terms),
        "n_terms_with_vector": int(covered.sum()),
        "share_of_words_with_vector": round(float(occurrences[covered].sum() / max(occurrences.sum(), 1)), 4),
        "min_df": counted.min_df,
    }


def _chosen_taus(lines: Sequence[Line]) -> dict[str, dict[str, float]]:
    chosen: dict[str, dict[str, float]] = {}
    for line in lines:
        if line.method == "cptw" and line.reported:
            chosen.setdefault(line.dataset, {})[line.variant] = float(np.mean([p["tau"] for p in line.parameters]))
    return chosen


def _curves(
    data: CountedTexts, method: Propagated, lines: Sequence[Line], plan: Plan, cache: ResultCache | None
) -> Mapping[str, Sequence[tuple[float, float]]]:
    """Draw from the training part of the first split, with the k that validation chose."""
    ks = [k for line in lines if (line.dataset, line.method) == (data.name, "cptw") for k in line.ks]
    k = int(np.median(ks))
    key = {
        "iicr": data.content,
        "method": repr(method),
        "k": k,
        "seed": plan.seed,
        "versions": code_version(
            ("evaluation/dense_propagation.py", "evaluation/propagated.py", "evaluation/inter_intra.py")
        ),
    }
    kept = None if cache is None else cache.get(key)
    if kept is None:
        (first, *_) = make_splits(data.codes, data.is_test, n_folds=plan.n_folds, n_rounds=1, seed=plan.seed)
        kept = iicr_curves(data, first.train, method, k, seed=plan.seed)
        if cache is not None:
            cache.put(key, kept)
    return {str(variant): [(tau, ratio) for tau, ratio in curve] for variant, curve in kept.items()}
