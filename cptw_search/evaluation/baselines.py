"""The methods that CPTW is compared with, each by the library that people would use for it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.errors import require_extra
from cptw_search.evaluation.knn import Comparison, DenseComparison, SparseComparison, unit_sparse
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.protocol import Round
from cptw_search.propagation import idf

__all__ = ["BagOfWords", "Bm25", "Lda", "Lsi", "MeanVector", "Sif"]

Float32 = npt.NDArray[np.float32]

DISTANCE_VOTES = ("distance", "uniform")


def _scaled(rows: sp.csr_matrix, factors: npt.NDArray[np.float64]) -> sp.csr_matrix:
    return sp.csr_matrix((rows.data * factors[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


@dataclass(frozen=True)
class BagOfWords:
    """Term frequencies, alone or times IDF, as rows of unit length.

    Parameters
    ----------
    name : {"bow", "tfidf"}
        Without or with ln(N / df).
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.
    """

    name: str
    votes: tuple[str, ...] = DISTANCE_VOTES

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One: there is nothing to choose.
        """
        return [Setting("")]

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
            One of them.
        comparison : Comparison
            Cosines.
        """
        queries, rows = part.queries, part.train
        if self.name == "tfidf":
            factors = idf(part.df, part.n_docs)
            queries, rows = _scaled(queries, factors), _scaled(rows, factors)
        for setting in settings:
            yield setting, SparseComparison(unit_sparse(queries), unit_sparse(rows))


@dataclass(frozen=True)
class Bm25:
    """BM25 by bm25s: the query is the document to be classified, with its term frequencies.

    Parameters
    ----------
    k1s : sequence of float, default (1.0, 1.25, 1.5, 1.75, 2.0)
        Saturations to choose from.
    bs : sequence of float, default (0.5, 0.75, 1.0)
        Influences of length to choose from.
    name : str, default "bm25"
        What it is called.
    votes : tuple of str, default ("similarity", "uniform")
        How neighbours may vote: scores are no cosines, so they vote by score.
    """

    k1s: Sequence[float] = (1.0, 1.25, 1.5, 1.75, 2.0)
    bs: Sequence[float] = (0.5, 0.75, 1.0)
    name: str = "bm25"
    votes: tuple[str, ...] = ("similarity", "uniform")

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            Every k1 with every b.
        """
        return [Setting("", (("k1", k1), ("b", b))) for k1 in self.k1s for b in self.bs]

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
            One of them.
        comparison : Comparison
            BM25's scores.
        """
        bm25s = require_extra("bm25s", "evaluation", "The baseline BM25")
        tokens = [np.repeat(row.indices, row.data.astype(np.int64)).tolist() for row in part.train]
        vocabulary = {str(term): term for term in range(part.train.shape[1])}
        for setting in settings:
            parameters = dict(setting.parameters)
            retriever = bm25s.BM25(k1=parameters["k1"], b=parameters["b"])
            retriever.index((tokens, vocabulary), create_empty_token=False, show_progress=False)
            found = retriever.scores  # the score of every term in every document, column by column
            weights = sp.csc_matrix((found["data"], found["indices"], found["indptr"]), part.train.shape)
            yield setting, SparseComparison(part.queries, sp.csr_matrix(weights))


@dataclass(frozen=True)
class Lsi:
    """Latent semantic indexing: scikit-learn's truncated SVD of the counts.

    The leading dimensions of a large decomposition are those of a smaller one, so one decomposition serves all sizes.

    Parameters
    ----------
    sizes : sequence of int, default (10, 25, 50, 100, 200, 300, 500, 1000)
        Numbers of dimensions to choose from.
    weighted : bool, default False
        Decompose TF-IDF in place of counts.
    seed : int, default 0
        Of the randomised decomposition.
    name : str, default "lsi"
        What it is called.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.
    """

    sizes: Sequence[int] = (10, 25, 50, 100, 200, 300, 500, 1000)
    weighted: bool = False
    seed: int = 0
    name: str = "lsi"
    votes: tuple[str, ...] = DISTANCE_VOTES

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One a size.
        """
        return [Setting("", (("dimensions", size),)) for size in self.sizes]

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Fit on the training documents and compare the queries with them.

        Parameters
        ----------
        part : Round
            Counts.
        settings : sequence of Setting
            Which ones; sizes beyond the rank of the counts are cut there.

        Yields
        ------
        setting : Setting
            One of them.
        comparison : Comparison
            Cosines.
        """
        decomposition = require_extra("sklearn.decomposition", "evaluation", "The baseline LSI")
        factors = idf(part.df, part.n_docs) if self.weighted else np.ones(part.train.shape[1])
        train, queries = (_scaled(side, factors).astype(np.float32) for side in (part.train, part.queries))
        wanted = [int(dict(setting.parameters)["dimensions"]) for setting in settings]
        largest = min(*train.shape, max(wanted))
        svd = decomposition.TruncatedSVD(max(largest, 1), random_state=self.seed, n_iter=4)
        rows = np.asarray(svd.fit_transform(train), dtype=np.float32)
        folded = np.asarray(svd.transform(queries), dtype=np.float32)
        for setting, size in zip(settings, wanted, strict=True):
            yield setting, DenseComparison(folded[:, :size], rows[:, :size])


@dataclass(frozen=True)
class Lda:
    """Latent Dirichlet allocation, by gensim.

    Parameters
    ----------
    sizes : sequence of int, default (10, 50, 100, 200)
        Numbers of topics to choose from.
    passes : int, default 2
        How often the documents are read.
    n_rounds : int, default 1
        In how many of the rounds of validation the number of topics is tried: it is by far the slowest baseline.
    seed : int, default 0
        Of its random numbers.
    name : str, default "lda"
        What it is called.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.
    """

    sizes: Sequence[int] = (10, 50, 100, 200)
    passes: int = 2
    n_rounds: int = 1
    seed: int = 0
    name: str = "lda"
    votes: tuple[str, ...] = DISTANCE_VOTES

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One a size.
        """
        return [Setting("", (("topics", size),)) for size in self.sizes]

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
            One of them.
        comparison : Comparison
            Cosines of the documents' topics.
        """
        from gensim.models import LdaModel

        rows, queries = (_gensim_corpus(side) for side in (part.train, part.queries))
        words = {term: str(term) for term in range(part.train.shape[1])}
        for setting in settings:
            model = LdaModel(
                rows,
                int(dict(setting.parameters)["topics"]),
                words,
                passes=self.passes,
                random_state=self.seed,
                eval_every=None,
                dtype=np.float32,
            )
            topics = [np.asarray(model.inference(side)[0], dtype=np.float32) for side in (queries, rows)]
            shares = [side / side.sum(axis=1, keepdims=True) for side in topics]
            yield setting, DenseComparison(shares[0], shares[1])


def _gensim_corpus(rows: sp.csr_matrix) -> list[list[tuple[int, float]]]:
    return [list(zip(row.indices.tolist(), row.data.tolist(), strict=True)) for row in rows]


@dataclass(frozen=True)
class MeanVector:
    """The mean of a document's word vectors.

    Parameters
    ----------
    name : str, default "we-avg"
        What it is called.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.
    """

    name: str = "we-avg"
    votes: tuple[str, ...] = DISTANCE_VOTES

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One: there is nothing to choose.
        """
        return [Setting("")]

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
            One of them.
        comparison : Comparison
            Cosines.
        """
        vectors = part.vectors
        sides = [np.asarray(side @ vectors, dtype=np.float32) for side in (part.queries, part.train)]
        for setting in settings:
            yield setting, DenseComparison(sides[0], sides[1])


@dataclass(frozen=True)
class Sif:
    """Smooth inverse frequency: word vectors weighted by a / (a + p(w)), without their first singular vector.

    p(w) and the singular vector are those of the training documents; the authors of SIF take p(w) from a corpus of
    their own.

    Parameters
    ----------
    alphas : sequence of float, default (1e-2, 1e-3, 1e-4, 1e-5)
        Values of a to choose from.
    seed : int, default 0
        Of the randomised decomposition.
    name : str, default "sif"
        What it is called.
    votes : tuple of str, default ("distance", "uniform")
        How neighbours may vote.

    References
    ----------
    S. Arora, Y. Liang, T. Ma, "A Simple but Tough-to-Beat Baseline for Sentence Embeddings", ICLR 2017.
    """

    alphas: Sequence[float] = (1e-2, 1e-3, 1e-4, 1e-5)
    seed: int = 0
    name: str = "sif"
    votes: tuple[str, ...] = DISTANCE_VOTES

    def grid(self) -> list[Setting]:
        """List the settings to choose from.

        Returns
        -------
        list of Setting
            One an a.
        """
        return [Setting("", (("a", alpha),)) for alpha in self.alphas]

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
            One of them.
        comparison : Comparison
            Cosines.
        """
        decomposition = require_extra("sklearn.decomposition", "evaluation", "The baseline SIF")
        probability = np.asarray(part.train.sum(axis=0)).ravel() / part.train.sum()
        covered = np.asarray(part.vectors.any(axis=1))
        for setting in settings:
            alpha = dict(setting.parameters)["a"]
            weighted = part.vectors * (alpha / (alpha + probability))[:, None].astype(np.float32)
            queries, rows = (_means(side, weighted, covered) for side in (part.queries, part.train))
            svd = decomposition.TruncatedSVD(1, n_iter=7, random_state=self.seed).fit(rows)
            first: Any = svd.components_.astype(np.float32)
            yield setting, DenseComparison(queries - queries @ first.T @ first, rows - rows @ first.T @ first)


def _means(counts: sp.csr_matrix, vectors: Float32, covered: npt.NDArray[np.bool_]) -> Float32:
    """Give each document's sum of vectors over its number of words that have one."""
    n_words = np.asarray(counts @ covered.astype(np.float64)).ravel()
    return np.asarray((counts @ vectors) / np.maximum(n_words, 1)[:, None], dtype=np.float32)
