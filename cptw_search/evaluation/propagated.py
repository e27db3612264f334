"""CPTW in every variant, for many thresholds at once.

Below `DENSE_BELOW` by dense blocks, from there on by the kernels of `cptw_search.propagation` themselves.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import scipy.sparse as sp

from cptw_search.evaluation.dense_propagation import (
    DENSE_BELOW,
    Float32,
    Terms,
    bare_columns,
    column_weights,
    dense_column_scale,
    propagate_counts,
)
from cptw_search.evaluation.knn import Comparison, DenseComparison, SparseComparison, unit_sparse
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.protocol import Round
from cptw_search.propagation import column_scale, propagation
from cptw_search.similarity import raise_threshold, term_similarity

__all__ = ["TAUS", "VARIANTS", "Propagated"]

TAUS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Thresholds to choose from: those of the authors' code, within the paper's 0 to 1."""

VARIANTS = (
    "l2 tf",
    "l2 idf-equation",
    "l2 idf-released",
    "l2 idf-weighted",
    "l2 idf-input",
    "sum tf",
    "sum idf-released",
)
"""Normalization of columns and weighting, as `cptw_search.Cptw` names them: all for ``l2``, the paper's two for ``sum``."""


@dataclass(frozen=True)
class Propagated:
    """Contextually propagated term weights.

    Parameters
    ----------
    variants : sequence of str, default `VARIANTS`
        Which of them.
    taus : sequence of float, default `TAUS`
        Thresholds to choose from.
    name : str, default "cptw"
        What it is called.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.
    """

    variants: Sequence[str] = VARIANTS
    taus: Sequence[float] = TAUS
    name: str = "cptw"
    votes: tuple[str, ...] = ("distance", "uniform")

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            Every variant with every tau.
        """
        return [Setting(variant, (("tau", tau),)) for variant in self.variants for tau in self.taus]

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Fit on the training documents and compare the queries with them.

        Parameters
        ----------
        part : Round
            Counts.
        settings : sequence of Setting
            Which ones.

        Yields
        ------
        setting : Setting
            One of them, by rising tau.
        comparison : Comparison
            Cosines.
        """
        terms = Terms(part)
        sparse_similarity: sp.csr_matrix | None = None
        for tau in sorted({setting.parameters[0][1] for setting in settings}):
            wanted = [setting for setting in settings if setting.parameters[0][1] == tau]
            if tau < DENSE_BELOW:
                yield from _dense_comparisons(terms, tau, wanted)
                continue
            terms.forget_cosines()
            if sparse_similarity is None:
                sparse_similarity = term_similarity(part.vectors, tau, n_threads=1, progress=False)
            similarity = raise_threshold(sparse_similarity, tau)
            for setting in wanted:
                normalization, weighting = setting.variant.split()
                alpha = column_scale(similarity, normalization)
                operator = propagation(similarity, weighting, alpha, part.df, part.n_docs)
                yield (
                    setting,
                    SparseComparison(
                        unit_sparse(operator.apply(part.queries)), unit_sparse(operator.apply(part.train))
                    ),
                )


def _dense_comparisons(
    terms: Terms, tau: float, settings: Sequence[Setting]
) -> Iterator[tuple[Setting, DenseComparison]]:
    S = terms.cosines(tau)
    alphas = {name: dense_column_scale(S, name) for name in {setting.variant.split()[0] for setting in settings}}
    products: dict[str, tuple[Float32, Float32]] = {}
    for setting in sorted(settings, key=lambda one: _product_name(one.variant)):
        normalization, weighting = setting.variant.split()
        alpha, name = alphas[normalization], _product_name(setting.variant)
        if name not in products:
            products.clear()  # one pair of large matrices at a time
            products[name] = propagate_counts(terms, S, alpha, weighting)
        weights = None if weighting == "idf-equation" else column_weights(terms, S, alpha, weighting)
        yield setting, DenseComparison(*products[name], weights, bare_columns(terms, weighting))


def _product_name(variant: str) -> str:
    """Name x S, which the variants share that differ in the scale of columns alone."""
    normalization, weighting = variant.split()
    return {"idf-equation": f"equation {normalization}", "idf-input": "input"}.get(weighting, "counts")
