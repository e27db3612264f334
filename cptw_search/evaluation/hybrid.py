"""CPTW mixed with BM25, as the search method ``hybrid`` mixes them: each score divided by the query's best one.

The paper does not have it. With lambda 0 it would be BM25, with lambda 1 CPTW.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from cptw_search.evaluation.baselines import Bm25
from cptw_search.evaluation.knn import Comparison
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.propagated import Propagated
from cptw_search.evaluation.protocol import Round

__all__ = ["HYBRID_VARIANT", "Hybrid"]

Float32 = npt.NDArray[np.float32]

HYBRID_VARIANT = "hybrid"
"""What the variant is called in tables."""


@dataclass(frozen=True)
class Hybrid:
    """A weighted mean of BM25 and CPTW.

    Parameters
    ----------
    taus : sequence of float, default (0.2, 0.3, 0.4, 0.5)
        Thresholds to choose from.
    lambdas : sequence of float, default (0.3, 0.5, 0.7)
        CPTW's shares to choose from.
    bm25s : sequence of (float, float), default ((1.0, 0.5), (1.5, 0.75))
        Pairs of BM25's k1 and b to choose from.
    variant : str, default "l2 idf-weighted"
        The variant of CPTW.
    name : str, default "cptw"
        What it is called.
    votes : tuple of str, default ("similarity", "uniform")
        How neighbours may vote: scores are no cosines, so they vote by score.
    """

    taus: Sequence[float] = (0.2, 0.3, 0.4, 0.5)
    lambdas: Sequence[float] = (0.3, 0.5, 0.7)
    bm25s: Sequence[tuple[float, float]] = ((1.0, 0.5), (1.5, 0.75))
    variant: str = "l2 idf-weighted"
    name: str = "cptw"
    votes: tuple[str, ...] = ("similarity", "uniform")

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            Every tau with every lambda and every pair of k1 and b.
        """
        return [
            Setting(HYBRID_VARIANT, (("tau", tau), ("lambda", share), ("k1", k1), ("b", b)))
            for tau in self.taus
            for share in self.lambdas
            for k1, b in self.bm25s
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
            Mixed scores, between 0 and 1.
        """
        wanted = [(setting, dict(setting.parameters)) for setting in settings]
        pairs = sorted({(chosen["k1"], chosen["b"]) for _, chosen in wanted})
        bm25 = {
            pair: _ShareOfBest(comparison)
            for pair in pairs
            for _, comparison in Bm25().compare(part, [Setting("", (("k1", pair[0]), ("b", pair[1])))])
        }
        taus = sorted({chosen["tau"] for _, chosen in wanted})
        for own, comparison in Propagated((self.variant,)).compare(
            part, [Setting(self.variant, (("tau", tau),)) for tau in taus]
        ):
            cptw = _ShareOfBest(comparison)
            for setting, chosen in wanted:
                if chosen["tau"] == own.parameters[0][1]:
                    yield setting, _Mixed(bm25[chosen["k1"], chosen["b"]], cptw, chosen["lambda"])


class _ShareOfBest:
    """Scores divided by the largest of their query; blocks are kept, for several mixtures share them."""

    def __init__(self, comparison: Comparison) -> None:
        self.n_queries, self.n_rows = comparison.n_queries, comparison.n_rows
        self._comparison = comparison
        self._blocks: dict[tuple[int, int], Float32] = {}

    def scores(self, start: int, stop: int) -> Float32:
        """Give the shares of some queries with all rows."""
        if (start, stop) not in self._blocks:
            block = self._comparison.scores(start, stop)
            best = block.max(axis=1, keepdims=True)
            block /= np.where(best > 0, best, np.float32(1.0))
            self._blocks[start, stop] = block
        return self._blocks[start, stop]


class _Mixed:
    """The weighted mean of two comparisons."""

    def __init__(self, bm25: _ShareOfBest, cptw: _ShareOfBest, share: float) -> None:
        self.n_queries, self.n_rows = bm25.n_queries, bm25.n_rows
        self._bm25, self._cptw, self._share = bm25, cptw, np.float32(share)

    def scores(self, start: int, stop: int) -> Float32:
        """Give the mixed scores of some queries with all rows."""
        bm25, cptw = self._bm25.scores(start, stop), self._cptw.scores(start, stop)
        return np.asarray((1 - self._share) * bm25 + self._share * cptw)
