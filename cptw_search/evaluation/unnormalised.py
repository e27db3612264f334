"""Euclidean distances of rows that have no unit length: a check of what the paper may have done for BOW.

The paper's Fig. 1 divides counts by their sum and takes Euclidean distances; with rows of unit length, which the authors'
code has for CPTW_IDF, the ranking is that of cosines.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.evaluation.knn import Comparison, SparseComparison
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.protocol import Round

__all__ = ["EuclideanComparison", "UnnormalisedBagOfWords"]


class EuclideanComparison:
    """Scores 1 - distance^2 / 2, so that the distance is that of two unit vectors with this cosine.

    Parameters
    ----------
    queries : csr_matrix
        One row a query.
    rows : csr_matrix
        What is searched.
    """

    def __init__(self, queries: sp.csr_matrix, rows: sp.csr_matrix) -> None:
        self._products = SparseComparison(queries, rows)
        self._query_squares, self._row_squares = (
            np.asarray(side.multiply(side).sum(axis=1), dtype=np.float32).ravel() for side in (queries, rows)
        )
        self.n_queries, self.n_rows = int(queries.shape[0]), int(rows.shape[0])

    def scores(self, start: int, stop: int) -> npt.NDArray[np.float32]:
        """Give the scores of some queries with all rows.

        Parameters
        ----------
        start : int
            The first query.
        stop : int
            Behind the last.

        Returns
        -------
        ndarray of float32
            Queries by rows; larger is nearer.
        """
        squares = self._query_squares[start:stop, None] + self._row_squares - 2 * self._products.scores(start, stop)
        return np.asarray(1 - np.maximum(squares, 0) / 2, dtype=np.float32)


@dataclass(frozen=True)
class UnnormalisedBagOfWords:
    """Term frequencies by Euclidean distance, without rows of unit length.

    Parameters
    ----------
    name : {"bow-counts", "bow-shares"}
        Bare counts, or counts divided by their sum as in the paper's Fig. 1.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.
    """

    name: str
    votes: tuple[str, ...] = ("distance", "uniform")

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One: there is nothing to choose.
        """
        return [Setting("")]

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Compare the queries with the training documents.

        Parameters
        ----------
        part : Round
            Counts.
        settings : sequence of Setting
            Which ones.

        Yields
        ------
        setting : Setting
            One of them.
        comparison : Comparison
            Scores that fall with the distance.
        """
        queries, rows = part.queries, part.train
        if self.name == "bow-shares":
            queries, rows = (_shares(side) for side in (queries, rows))
        for setting in settings:
            yield setting, EuclideanComparison(queries, rows)


def _shares(counts: sp.csr_matrix) -> sp.csr_matrix:
    sums = np.maximum(np.asarray(counts.sum(axis=1)).ravel(), 1)
    return sp.csr_matrix(sp.diags(1 / sums) @ counts)
