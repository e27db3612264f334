"""Choosing parameters on data of one's own: tau and k for classification, tau, lambda and method for search.

What is chosen is chosen on parts of the data and measured on others, so that the figure that is reported is not the
one that was maximised.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.backend import DEFAULT_LAMBDA, DEFAULT_METHOD
from cptw_search.counting import Document
from cptw_search.engine import EmbeddedIndex
from cptw_search.errors import InvalidInputError, check_choice, require_extra
from cptw_search.model import Cptw
from cptw_search.neighbours import VOTES, nearest_rows, predict_labels, unit_distances
from cptw_search.progress import progress_bar
from cptw_search.purposes import PURPOSES

__all__ = ["Tuned", "iicr", "suggest_search", "tune_by_iicr", "tune_classification", "tune_search"]

FloatArray = npt.NDArray[np.float64]
Setting = dict[str, Any]

SEARCH_METHODS = ("hybrid", "hybrid+feedback")
"""What tuning by judged queries chooses from; with lambda 0 the first is BM25."""

STUDIED_DOCS = (1_000, 6_000)
"""How many documents the collections of docs/retrieval.md have."""

STUDIED_LENGTHS = (20, 250)
"""How many terms their documents have on average."""

CAREFUL_LAMBDA = 0.1
"""CPTW's share where nothing was measured: on none of the studied collections a smaller one lost less."""


@dataclass(frozen=True)
class Tuned:
    """What tuning found.

    Parameters
    ----------
    best : dict
        The parameters to use, chosen on all of the data.
    measure : str
        What was measured: ``"accuracy"``, ``"nDCG@10"`` or ``"IICR"``.
    table : list of dict
        Every setting that was tried, with its mean measure under ``"mean"``.
    held_out : float or None
        The measure on parts of the data that the parameters were not chosen on; None for IICR.
    """

    best: Setting
    measure: str
    table: list[Setting]
    held_out: float | None


def _folds(n: int, n_folds: int, seed: int) -> list[npt.NDArray[np.intp]]:
    if n < n_folds:
        raise InvalidInputError(f"Tuning in {n_folds} parts needs at least {n_folds} items. Got {n}.")
    return np.array_split(np.random.default_rng(seed).permutation(n), n_folds)


def _choose(settings: Sequence[Setting], results: FloatArray, measure: str) -> Tuned:
    """Choose by the mean over folds; hold out each fold in turn for the honest figure."""
    total = results.sum(axis=1)
    n_folds = results.shape[1]
    held_out = [results[(total - results[:, fold]).argmax(), fold] for fold in range(n_folds)]
    table = [{**setting, "mean": float(mean)} for setting, mean in zip(settings, results.mean(axis=1), strict=True)]
    return Tuned(dict(settings[int(total.argmax())]), measure, table, float(np.mean(held_out)))


def tune_classification(
    model: Cptw,
    documents: Sequence[Document],
    labels: Sequence[str],
    *,
    taus: Sequence[float],
    ks: Sequence[int],
    votes: str = "distance",
    n_folds: int = 5,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuned:
    """Choose tau and k for classification by nearest neighbours.

    Parameters
    ----------
    model : Cptw
        All other parameters; it is not changed.
    documents : sequence of str or mapping
        Labelled texts.
    labels : sequence of str
        Their labels.
    taus : sequence of float
        Values of tau to try.
    ks : sequence of int
        Values of k to try.
    votes : {"distance", "similarity", "uniform"}, default "distance"
        How much a neighbour's vote counts.
    n_folds : int, default 5
        In how many parts; each is classified by the others.
    seed : int, default 0
        Of the division into parts.
    progress : bool, optional
        Show a progress bar or not; by default where standard error is a terminal.

    Returns
    -------
    Tuned
        With ``tau`` and ``k`` in ``best``.

    Raises
    ------
    InvalidInputError
        If there are fewer texts than parts, or not as many labels as texts.
    """
    check_choice("votes", votes, VOTES)
    _check_grid(taus=taus, ks=ks)
    codes, n_labels = _label_codes(documents, labels)
    folds = _folds(len(documents), n_folds, seed)
    settings: list[Setting] = [{"tau": tau, "k": k} for tau in taus for k in ks]
    results = np.zeros((len(settings), n_folds))
    with progress_bar("Tuning", n_folds * len(taus), show=progress) as advance:
        for fold, test in enumerate(folds):
            train = np.concatenate([other for other in folds if other is not test])
            widest = _with(model, tau=min(taus)).fit([documents[i] for i in train])
            for number, tau in enumerate(taus):
                fitted = widest.with_tau(tau)
                rows = fitted.represent([documents[i] for i in train]).matrix[:, : len(fitted.vocabulary_)]
                queries = fitted.transform_query([documents[i] for i in test])
                nearest, scores = nearest_rows(queries, rows, max(ks))
                for place, k in enumerate(ks):
                    predicted = predict_labels(codes[train][nearest[:, :k]], scores[:, :k], votes, n_labels)
                    results[number * len(ks) + place, fold] = np.mean(predicted == codes[test])
                advance(1)
    return _choose(settings, results, "accuracy")


def tune_search(
    model: Cptw,
    documents: Sequence[Mapping[str, object]],
    queries: Mapping[str, str],
    judgements: Mapping[str, Mapping[str, int]],
    *,
    taus: Sequence[float],
    lambdas: Sequence[float],
    methods: Sequence[str] = SEARCH_METHODS,
    n_folds: int = 5,
    seed: int = 0,
    progress: bool | None = None,
) -> Tuned:
    """Choose tau, lambda and method for search by judged queries.

    Parameters
    ----------
    model : Cptw
        All other parameters; it is not changed.
    documents : sequence of mapping
        The collection, with ids.
    queries : mapping of str to str
        Query ids to texts.
    judgements : mapping of str to mapping
        Query ids to document ids to grades; above 0 is relevant.
    taus : sequence of float
        Values of tau to try.
    lambdas : sequence of float
        Shares of CPTW to try, 0 to 1.
    methods : sequence of str, default ("hybrid", "hybrid+feedback")
        Methods to try; ``"hybrid"`` with lambda 0 is BM25.
    n_folds : int, default 5
        In how many parts the queries are divided for the honest figure.
    seed : int, default 0
        Of the division into parts.
    progress : bool, optional
        Show a progress bar or not; by default where standard error is a terminal.

    Returns
    -------
    Tuned
        With ``tau``, ``lambda`` and ``method`` in ``best``.

    Raises
    ------
    InvalidInputError
        If fewer queries than parts are judged.
    MissingExtraError
        If ``ir-measures`` is not installed.
    """
    ir_measures = require_extra("ir_measures", "evaluation", "Tuning by judged queries")
    _check_grid(taus=taus, lambdas=lambdas)
    judged = sorted(
        query_id for query_id in queries if any(grade > 0 for grade in judgements.get(query_id, {}).values())
    )
    folds = _folds(len(judged), n_folds, seed)
    evaluator = ir_measures.evaluator(
        [ir_measures.nDCG @ 10], {query_id: dict(judgements[query_id]) for query_id in judged}
    )
    settings: list[Setting] = [
        {"tau": tau, "lambda": share, "method": method} for tau in taus for share in lambdas for method in methods
    ]
    per_query = np.zeros((len(settings), len(judged)))
    texts = [queries[query_id] for query_id in judged]
    widest = _with(model, tau=min(taus)).fit(documents)
    with progress_bar("Tuning", len(settings), show=progress) as advance:
        index: EmbeddedIndex | None = None
        for number, setting in enumerate(settings):
            if index is None or index.model.tau != setting["tau"]:
                index = EmbeddedIndex.build(widest.with_tau(setting["tau"]), documents, progress=False)
            hits = index.search_many(texts, 10, method=setting["method"], lambda_=setting["lambda"], fields=[])
            run = {q: {hit.id: hit.score for hit in found} for q, found in zip(judged, hits, strict=True)}
            values = {metric.query_id: metric.value for metric in evaluator.iter_calc(run)}
            per_query[number] = [values.get(query_id, 0.0) for query_id in judged]
            advance(1)
    results = np.stack([per_query[:, fold].mean(axis=1) for fold in folds], axis=1)
    return _choose(settings, results, "nDCG@10")


def suggest_search(n_docs: int, average_length: float) -> Setting:
    """Suggest settings for search where no query is judged, by the size of a collection alone.

    Within what docs/retrieval.md measured, the default: nothing that is known of a collection or query before its answers
    are judged told there where another lambda would do better. Outside of it, the careful share.

    Parameters
    ----------
    n_docs : int
        How many documents there are.
    average_length : float
        How many terms they have on average.

    Returns
    -------
    dict
        ``tau``, ``lambda`` and ``method``.

    Examples
    --------
    >>> suggest_search(3_000, 90)
    {'tau': 0.35, 'lambda': 0.3, 'method': 'hybrid+feedback'}
    >>> suggest_search(5_000_000, 90)["lambda"]
    0.1
    """
    studied = (
        STUDIED_DOCS[0] <= n_docs <= STUDIED_DOCS[1] and STUDIED_LENGTHS[0] <= average_length <= STUDIED_LENGTHS[1]
    )
    return {
        "tau": PURPOSES["search"]["tau"],
        "lambda": DEFAULT_LAMBDA if studied else CAREFUL_LAMBDA,
        "method": DEFAULT_METHOD,
    }


def tune_by_iicr(
    model: Cptw,
    documents: Sequence[Document],
    labels: Sequence[str],
    *,
    taus: Sequence[float],
    k: int = 11,
    progress: bool | None = None,
) -> Tuned:
    """Choose tau by the paper's ratio of distances between and within classes; no classification is run.

    Parameters
    ----------
    model : Cptw
        All other parameters; it is not changed.
    documents : sequence of str or mapping
        Labelled texts.
    labels : sequence of str
        Their labels.
    taus : sequence of float
        Values of tau to try.
    k : int, default 11
        How many neighbours of each kind count.
    progress : bool, optional
        Show a progress bar or not; by default where standard error is a terminal.

    Returns
    -------
    Tuned
        With ``tau`` in ``best``.

    Raises
    ------
    InvalidInputError
        If there are fewer than two labels, or not as many labels as texts.
    """
    _check_grid(taus=taus, ks=[k])
    codes, _ = _label_codes(documents, labels)
    widest = _with(model, tau=min(taus)).fit(documents)
    ratios = []
    with progress_bar("Tuning", len(taus), show=progress) as advance:
        for tau in taus:
            ratios.append(iicr(widest.with_tau(tau).transform(documents), codes, k))
            advance(1)
    table: list[Setting] = [{"tau": tau, "mean": ratio} for tau, ratio in zip(taus, ratios, strict=True)]
    return Tuned({"tau": taus[int(np.argmax(ratios))]}, "IICR", table, None)


def iicr(rows: sp.csr_matrix, codes: npt.NDArray[np.intp], k: int) -> float:
    """Compute the inter- and intra-class ratio of distances, averaged over classes.

    Parameters
    ----------
    rows : csr_matrix
        Documents, of unit length.
    codes : ndarray of int
        Their classes.
    k : int
        How many nearest documents of its own class, and of the others, count for each document.

    Returns
    -------
    float
        Above 1: the nearest documents of other classes are farther away than those of the same class.

    Raises
    ------
    InvalidInputError
        If there are fewer than two classes.

    Examples
    --------
    >>> rows = sp.csr_matrix([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> round(iicr(rows, np.array([0, 0, 1, 1]), k=1), 3)  # class 0: distances within are 0, and so left out
    1.825
    """
    classes = np.unique(codes)
    if len(classes) < 2:
        raise InvalidInputError(f"IICR compares classes: it needs at least two. Got {len(classes)}.")
    ratios = []
    for label in classes:
        inside, outside = np.flatnonzero(codes == label), np.flatnonzero(codes != label)
        # Eq. (5): the k nearest of the other classes; Eq. (6): of its own, of which the nearest is the document itself.
        inter = unit_distances(nearest_rows(rows[inside], rows[outside], k)[1]).sum(axis=1).mean()
        intra = unit_distances(nearest_rows(rows[inside], rows[inside], k + 1)[1])[:, 1:].sum(axis=1).mean()
        if intra > 0:  # a class of one document, or of copies, has no ratio
            ratios.append(inter / intra)
    return float(np.mean(ratios)) if ratios else 1.0  # Eq. (7)


def _with(model: Cptw, **parameters: object) -> Cptw:
    return type(model)(**{**model.get_params(), **parameters})


def _label_codes(documents: Sequence[Document], labels: Sequence[str]) -> tuple[npt.NDArray[np.intp], int]:
    if len(documents) != len(labels):
        raise InvalidInputError(f"There must be one label a text. Got {len(documents)} texts and {len(labels)} labels.")
    names, codes = np.unique(np.array([str(label) for label in labels], dtype=object), return_inverse=True)
    return codes.astype(np.intp), len(names)


def _check_grid(**grids: Sequence[float]) -> None:
    for name, values in grids.items():
        if not len(values) or any(isinstance(value, (str, bool)) for value in values):
            raise InvalidInputError(f"{name} must be a list of at least one number. Got {values!r} instead.")
