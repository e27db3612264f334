"""CPTW in every variant, for many thresholds at once: the mathematics of `cptw_search.propagation` by dense blocks.

At a low tau a document's representation has thousands of features, and a product of two sparse matrices is the slow way
to it. So below `DENSE_BELOW` the cosines stand in one float32 matrix over the terms with vectors, and the formulas of
the kernels are done on it; from there on the kernels themselves do the work. A test compares both with `Cptw`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.evaluation.knn import Comparison, DenseComparison, SparseComparison, unit_sparse
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.protocol import Round
from cptw_search.propagation import column_scale, idf, propagation
from cptw_search.similarity import raise_threshold, term_similarity

__all__ = ["DENSE_BELOW", "TAUS", "VARIANTS", "Propagated"]

Float32 = npt.NDArray[np.float32]
FloatArray = npt.NDArray[np.float64]

TAUS = (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
"""Thresholds to choose from: those of the authors' code, within the paper's 0 to 1."""

VARIANTS = tuple(
    f"{normalization} {weighting}"
    for normalization in ("l2", "sum")
    for weighting in ("tf", "idf-equation", "idf-released", "idf-weighted", "idf-input")
)
"""Normalization of columns and weighting, as `cptw_search.Cptw` names them."""

DENSE_BELOW = 0.4
_BLOCK_COLUMNS = 256  # so that a block of the cosines stays in the processor's cache


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
        terms = _Terms(part)
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


class _Terms:
    """The terms of a round, those with a vector apart from the others."""

    def __init__(self, part: Round) -> None:
        vectors = part.vectors.astype(np.float64)
        lengths = np.linalg.norm(vectors, axis=1)
        self.covered = np.flatnonzero(lengths > 0)
        self.bare = np.flatnonzero(lengths == 0)
        self._unit = (vectors[self.covered] / lengths[self.covered, None]).astype(np.float32)
        self.n_docs = part.n_docs
        self.df = part.df[self.covered]
        self.idf = idf(part.df, part.n_docs)
        self.train, self.queries = (side[:, self.covered].astype(np.float32) for side in (part.train, part.queries))
        self.bare_train, self.bare_queries = (side[:, self.bare] for side in (part.train, part.queries))
        self._cosines: Float32 | None = None
        self._tau = 0.0

    def cosines(self, tau: float) -> Float32:
        """S over the terms with a vector; taus have to come in rising order, for one matrix serves them all."""
        if self._cosines is None:
            self._cosines = self._unit @ self._unit.T
            np.fill_diagonal(self._cosines, 1.0)
        for start in range(0, len(self._cosines), _BLOCK_COLUMNS):
            block = self._cosines[start : start + _BLOCK_COLUMNS]
            block *= block >= tau
        return self._cosines

    def forget_cosines(self) -> None:
        """Give the memory back."""
        self._cosines = None


def _dense_comparisons(
    terms: _Terms, tau: float, settings: Sequence[Setting]
) -> Iterator[tuple[Setting, DenseComparison]]:
    S = terms.cosines(tau)
    alphas = {"l2": _alpha(S, squared=True), "sum": _alpha(S, squared=False)}
    products: dict[str, tuple[Float32, Float32]] = {}
    for setting in sorted(settings, key=lambda one: _product_name(one.variant)):
        normalization, weighting = setting.variant.split()
        alpha, name = alphas[normalization], _product_name(setting.variant)
        if name not in products:
            products.clear()  # one pair of large matrices at a time
            products[name] = _product(terms, S, alpha, weighting)
        weights = None if weighting == "idf-equation" else _column_weights(terms, S, alpha, weighting)
        yield setting, DenseComparison(*products[name], weights, _bare_columns(terms, weighting))


def _product_name(variant: str) -> str:
    """Name x S, which the variants share that differ in the scale of columns alone."""
    normalization, weighting = variant.split()
    return {"idf-equation": f"equation {normalization}", "idf-input": "input"}.get(weighting, "counts")


def _alpha(S: Float32, *, squared: bool) -> FloatArray:
    sums = np.zeros(S.shape[1])
    for start in range(0, len(S), _BLOCK_COLUMNS):
        block = S[start : start + _BLOCK_COLUMNS]
        sums += (np.square(block) if squared else block).sum(axis=0, dtype=np.float64)
    return np.asarray(1.0 / np.sqrt(sums) if squared else 1.0 / sums)


def _product(terms: _Terms, S: Float32, alpha: FloatArray, weighting: str) -> tuple[Float32, Float32]:
    sides = [terms.queries, terms.train]
    own_idf = terms.idf[terms.covered].astype(np.float32)
    if weighting == "idf-input":
        sides = [sp.csr_matrix(side.multiply(own_idf), dtype=np.float32) for side in sides]
    found = [np.empty((side.shape[0], S.shape[1]), dtype=np.float32) for side in sides]
    for start in range(0, S.shape[1], _BLOCK_COLUMNS):
        columns = slice(start, start + _BLOCK_COLUMNS)
        block = S[:, columns].copy()
        if weighting == "idf-equation":
            _apply_equation(block, alpha[columns].astype(np.float32), own_idf)
        for side, target in zip(sides, found, strict=True):
            target[:, columns] = side @ block
    return found[0], found[1]


def _apply_equation(block: Float32, alpha: Float32, own_idf: Float32) -> None:
    """Turn some columns of S into those of M by Eq. (3): P ln(N / df P), and 0 where P is 0."""
    filled = np.flatnonzero(block)
    rows, columns = np.divmod(filled, block.shape[1])
    P = block.ravel()[filled] * alpha[columns]
    block.ravel()[filled] = P * (np.log(P) + own_idf[rows])


def _column_weights(terms: _Terms, S: Float32, alpha: FloatArray, weighting: str) -> Float32:
    if weighting == "idf-released":
        weights = alpha * np.log2(terms.n_docs / (_row_product(np.maximum(terms.df, 1), S) * alpha))
    elif weighting == "idf-weighted":
        weights = alpha * _row_product(terms.idf[terms.covered], S) * alpha
    else:
        weights = alpha
    return weights.astype(np.float32)


def _row_product(row: FloatArray, S: Float32) -> FloatArray:
    return np.asarray(row.astype(np.float32) @ S, dtype=np.float64)


def _bare_columns(terms: _Terms, weighting: str) -> tuple[sp.csr_matrix, sp.csr_matrix]:
    """Terms without vector: S is 1 on the diagonal there, and so is alpha."""
    own = terms.idf[terms.bare]
    factors = {"tf": np.ones_like(own), "idf-released": own / np.log(2.0)}.get(weighting, own)
    queries, train = (sp.csr_matrix(side.multiply(factors)) for side in (terms.bare_queries, terms.bare_train))
    return queries, train
