"""CPTW over BM25's weights: saturated frequencies on one side, IDF on the other, both propagated.

With a tau above all cosines this is BM25, so that what it gains is gained by propagation. The paper does not have it: its
CPTW weighs by counts and IDF alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.evaluation.knn import Comparison, DenseComparison, SparseComparison
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.propagated import DENSE_BELOW, TAUS, _alpha, _product, _Terms
from cptw_search.evaluation.protocol import Round
from cptw_search.propagation import bm25_document_weights, bm25_idf, column_scale, propagation
from cptw_search.similarity import raise_threshold, term_similarity

__all__ = ["BM25_VARIANT", "PropagatedBm25"]

BM25_VARIANT = "l2 bm25"
"""What the variant is called in tables."""


@dataclass(frozen=True)
class PropagatedBm25:
    """Contextually propagated BM25, the weighting ``bm25`` of `cptw_search.Cptw`.

    Parameters
    ----------
    taus : sequence of float, default `TAUS`
        Thresholds to choose from.
    k1s : sequence of float, default (1.5,)
        Saturations to choose from.
    bs : sequence of float, default (0.75, 1.0)
        Influences of length to choose from.
    name : str, default "cptw"
        What it is called.
    votes : tuple of str, default ("similarity", "uniform")
        How neighbours may vote: scores are no cosines, so they vote by score.
    """

    taus: Sequence[float] = TAUS
    k1s: Sequence[float] = (1.5,)
    bs: Sequence[float] = (0.75, 1.0)
    name: str = "cptw"
    votes: tuple[str, ...] = ("similarity", "uniform")

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            Every tau with every k1 and b.
        """
        return [
            Setting(BM25_VARIANT, (("tau", tau), ("k1", k1), ("b", b)))
            for tau in self.taus
            for k1 in self.k1s
            for b in self.bs
        ]

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
            Products, which are no cosines.
        """
        lengths = float(part.train.sum()) / part.n_docs
        weights = bm25_idf(part.df, part.n_docs)
        queries = sp.csr_matrix(part.queries.multiply(weights))
        sides: dict[tuple[float, float], Round] = {}
        for setting in settings:
            chosen = dict(setting.parameters)
            key = chosen["k1"], chosen["b"]
            if key not in sides:
                rows = bm25_document_weights(part.train, lengths, *key)
                sides[key] = replace(part, train=rows, queries=queries)
        terms = {key: _Terms(side) for key, side in sides.items()}
        (any_terms, *_) = terms.values()
        similarity: sp.csr_matrix | None = None
        for tau in sorted({dict(setting.parameters)["tau"] for setting in settings}):
            wanted = [setting for setting in settings if dict(setting.parameters)["tau"] == tau]
            if tau < DENSE_BELOW:
                S = any_terms.cosines(tau)
                alpha = _alpha(S, squared=True)
                for setting in wanted:
                    chosen = dict(setting.parameters)
                    own = terms[chosen["k1"], chosen["b"]]
                    yield (
                        setting,
                        _BareComparison(
                            *_product(own, S, alpha, "tf"),
                            alpha.astype(np.float32),
                            (own.bare_queries, own.bare_train),
                        ),
                    )
                continue
            any_terms.forget_cosines()
            if similarity is None:
                similarity = term_similarity(part.vectors, tau, n_threads=1, progress=False)
            raised = raise_threshold(similarity, tau)
            operator = propagation(raised, "bm25", column_scale(raised, "l2"), part.df, part.n_docs)
            for setting in wanted:
                chosen = dict(setting.parameters)
                side = sides[chosen["k1"], chosen["b"]]
                yield setting, SparseComparison(operator.apply(side.queries), operator.apply(side.train))


class _BareComparison(DenseComparison):
    """Products in place of cosines."""

    def scores(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Give the products of some queries with all rows."""
        block = (self._queries[start:stop] * self._squares) @ self._rows.T
        if self._rest is not None:
            block += self._rest.scores(start, stop)
        return np.asarray(block)
