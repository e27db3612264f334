"""IICR, the ratio of distances between and within classes, as a function of tau: the curves of the paper's Fig. 2."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.methods import Method, Setting
from cptw_search.evaluation.protocol import CountedTexts
from cptw_search.neighbours import unit_distances

__all__ = ["SAMPLE", "iicr_curves", "iicr_of_cosines"]

IntArray = npt.NDArray[np.intp]

SAMPLE = 2000
"""How many documents the curves are drawn from, at most: all pairs of them are compared."""


def iicr_of_cosines(cosines: npt.NDArray[np.floating[Any]], codes: IntArray, k: int) -> float:
    """Compute the ratio from the cosines of all pairs; `cptw_search.tuning.iicr` does so from rows.

    Parameters
    ----------
    cosines : ndarray of shape (n_docs, n_docs)
        Cosines.
    codes : ndarray of int
        The documents' classes.
    k : int
        How many nearest documents of its own class, and of the others, count for each document.

    Returns
    -------
    float
        The mean over classes.

    Raises
    ------
    InvalidInputError
        If there are fewer than two classes.

    Examples
    --------
    >>> rows = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0], [0.6, 0.8]])
    >>> round(iicr_of_cosines(rows @ rows.T, np.array([0, 0, 1, 1]), k=1), 3)
    1.825
    """
    classes = np.unique(codes)
    if len(classes) < 2:
        raise InvalidInputError(f"IICR compares classes: it needs at least two. Got {len(classes)}.")
    distances = unit_distances(np.asarray(cosines, dtype=np.float64))
    np.fill_diagonal(distances, np.inf)  # nobody is a neighbour of itself
    ratios = []
    for label in classes:
        inside, outside = np.flatnonzero(codes == label), np.flatnonzero(codes != label)
        if len(inside) < 2:
            continue
        inter = np.sort(distances[np.ix_(inside, outside)], axis=1)[:, :k]  # Eq. (5)
        intra = np.sort(distances[np.ix_(inside, inside)], axis=1)[:, : min(k, len(inside) - 1)]  # Eq. (6)
        within = intra.sum(axis=1).mean()
        if within > 0:
            ratios.append(inter.sum(axis=1).mean() / within)
    return float(np.mean(ratios)) if ratios else 1.0  # Eq. (7)


def iicr_curves(
    data: CountedTexts, documents: IntArray, method: Method, k: int, *, seed: int = 0, sample: int = SAMPLE
) -> dict[str, list[tuple[float, float]]]:
    """Compute IICR for every variant and tau.

    Parameters
    ----------
    data : CountedTexts
        The data set.
    documents : ndarray of int
        The documents to compare: a training part.
    method : Method
        `cptw_search.evaluation.propagated.Propagated`.
    k : int
        How many nearest documents count.
    seed : int, default 0
        Of the sample.
    sample : int, default `SAMPLE`
        How many of the documents are compared, at most.

    Returns
    -------
    dict
        Variants to pairs of tau and IICR.
    """
    if len(documents) > sample:
        documents = np.sort(np.random.default_rng(seed).choice(documents, sample, replace=False))
    curves: dict[str, list[tuple[float, float]]] = {}
    settings: Sequence[Setting] = method.grid()
    for setting, comparison in method.compare(data.round(documents, documents), settings):
        ratio = iicr_of_cosines(comparison.scores(0, len(documents)), data.codes[documents], k)
        curves.setdefault(setting.variant, []).append((setting.parameters[0][1], ratio))
    return curves
