"""Word vectors made from a collection itself: nothing to download."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray
from scipy.linalg import qr
from scipy.sparse import csr_matrix

from cptw_search.embeddings import WordVectors
from cptw_search.errors import InvalidInputError
from cptw_search.progress import progress_bar

__all__ = ["fasttext_vectors", "lsi_vectors", "word2vec_vectors"]

_DENSE_CELLS = 4_000_000  # up to here a dense decomposition takes about a second, and cannot fail to converge
_BLOCK_ENTRIES = 4_000_000  # of the counts, weighted at a time: some 50 MB
_SHARES = 4  # threads at most; fixed, so that sums do not depend on the number of cores
_WIDTH = 20  # columns that are multiplied at a time: fewer take longer each, more need more of them
_TOLERANCE = 1e-4  # eigenvalues are then right to about its square, cosines to about 1e-5
_MAX_RESTARTS = 100  # collections of texts took 3 or 4
_GENSIM_MAX_TOKENS = 10_000  # gensim passes over what is behind in a sentence, without a word
_FASTTEXT_BUCKETS = 100_000  # gensim's 2,000,000 would take 800 MB at 100 dimensions, whatever the collection


@dataclass(frozen=True)
class _Tfidf:
    """Counts weighted by ln(N / df), documents scaled to unit length: A, of which no copy is ever held.

    Blocks of documents are made from the counts whenever they are needed, so that counts may be larger than memory.
    """

    counts: csr_matrix
    blocks: list[tuple[int, int]]
    idf: NDArray[np.float64]
    doc_lengths: NDArray[np.float64]
    term_lengths: NDArray[np.float64]

    @classmethod
    def of(cls, counts: csr_matrix) -> _Tfidf:
        """Weigh counts without touching or copying them, unless entries repeat."""
        if not counts.has_canonical_format:
            counts = counts.copy()
            counts.sum_duplicates()
        n_docs, n_terms = counts.shape
        work = counts.indptr.astype(np.int64) + _WIDTH * np.arange(n_docs + 1)  # a row of a product is work, too
        cuts = np.searchsorted(work, np.arange(_BLOCK_ENTRIES, work[-1], _BLOCK_ENTRIES))
        edges: list[int] = np.unique(np.concatenate(([0], cuts, [n_docs]))).tolist()
        blocks = list(pairwise(edges))
        df = np.zeros(n_terms)
        for start, end in blocks:
            entries = slice(counts.indptr[start], counts.indptr[end])
            df += np.bincount(counts.indices[entries][counts.data[entries] != 0], minlength=n_terms)
        idf = np.log(n_docs / np.maximum(df, 1))
        doc_lengths, term_lengths = np.ones(n_docs), np.zeros(n_terms)
        matrix = cls(counts, blocks, idf, doc_lengths, term_lengths)
        for start, end in blocks:
            squares = matrix.rows(start, end).power(2)
            lengths = np.sqrt(squares @ idf**2)
            lengths[lengths == 0] = 1
            doc_lengths[start:end] = lengths
            term_lengths += squares.T @ lengths**-2.0
        term_lengths[:] = idf * np.sqrt(term_lengths)
        return matrix

    def rows(self, start: int, end: int, dtype: npt.DTypeLike = np.float64) -> csr_matrix:
        """Make the counts of some documents, divided by the documents' lengths."""
        indptr = self.counts.indptr[start : end + 1]
        entries = slice(indptr[0], indptr[-1])
        data = self.counts.data[entries] / np.repeat(self.doc_lengths[start:end], np.diff(indptr))
        parts = (data.astype(dtype, copy=False), self.counts.indices[entries], indptr - indptr[0])
        return csr_matrix(parts, shape=(end - start, len(self.idf)))

    def dense(self) -> NDArray[np.float64]:
        """Make the whole of A."""
        whole: NDArray[np.float64] = self.rows(0, len(self.doc_lengths)).toarray() * self.idf
        return whole

    def gram_product(self, columns: NDArray[np.floating]) -> NDArray[np.floating]:
        """Multiply A'A with some columns; the sums are the same however many threads there are."""
        idf = self.idf.astype(columns.dtype)[:, None]
        scaled = np.ascontiguousarray(idf * columns)

        def add_up(blocks: list[tuple[int, int]]) -> NDArray[np.floating]:
            total = np.zeros_like(scaled)
            for block in blocks:
                rows = self.rows(*block, columns.dtype)
                total += rows.T @ (rows @ scaled)
            return total

        with ThreadPoolExecutor(min(_SHARES, os.cpu_count() or 1)) as pool:
            shares = list(pool.map(add_up, [self.blocks[k::_SHARES] for k in range(min(_SHARES, len(self.blocks)))]))
        product: NDArray[np.floating] = idf * np.add.reduce(shares)
        return product


def _truncated_svd(
    matrix: _Tfidf, n_dimensions: int, progress: bool | None
) -> tuple[NDArray[np.float64], NDArray[np.floating], float]:
    """Return the largest singular values in descending order, the right singular vectors in columns, and an accuracy.

    Values that are zero up to rounding are left out. A term that has less than that share of its length in the vectors
    has none of it, up to rounding.
    """
    n_docs, n_terms = matrix.counts.shape
    if n_docs * n_terms <= _DENSE_CELLS or n_docs <= n_dimensions:
        _, values, rows = np.linalg.svd(matrix.dense(), full_matrices=False)
        columns, smallest, accuracy = rows.T, 1e-10, 1e-10
    else:
        if n_terms <= 2 * (n_dimensions + _WIDTH):
            squares, columns = np.linalg.eigh(matrix.gram_product(np.eye(n_terms)))
            squares, columns, smallest, accuracy = squares[::-1], columns[:, ::-1], 1e-7, 1e-7
        else:
            squares, columns = _leading_eigenpairs(matrix, n_dimensions, progress)
            smallest, accuracy = 1e-3, 1e-4  # roots of what is lost in single precision; what random numbers leave
        values = np.sqrt(np.maximum(squares, 0))
    n_kept = min(n_dimensions, int(np.count_nonzero(values > smallest * values[0])))
    return values[:n_kept], columns[:, :n_kept], accuracy


# By hand, for what there is does not serve. The subspace iteration of a randomised SVD (scikit-learn, gensim) converges slowly
# where singular values fall slowly, as those of texts do: many cosines near tau come out on the wrong side. ARPACK is exact,
# but multiplies one column at a time, a pass over the counts each, and keeps its basis in double precision.
def _leading_eigenpairs(
    matrix: _Tfidf, n_pairs: int, progress: bool | None
) -> tuple[NDArray[np.float64], NDArray[np.float32]]:
    """Find the largest eigenvalues of G = A'A and their vectors by block Lanczos with thick restarts.

    A basis grows by blocks of columns until it is full; then its best vectors stay and growing goes on, until every
    pair (t, v) that is asked for has a residual |Gv - tv| of at most `_TOLERANCE` t, or one that single precision does
    not tell from 0. Then an eigenvalue is that near to t. The basis is the one large array, (n_terms, 2 n_pairs + 40) in
    single precision; its columns are orthogonalised twice, which keeps that precision.
    """
    n_terms = len(matrix.idf)
    rng = np.random.default_rng(0)
    # Random numbers as large as the terms' columns, so that what is left of them does not drown the rare terms.
    size = np.maximum(matrix.term_lengths, 1e-3)[:, None]
    n_kept, n_columns = n_pairs + _WIDTH + n_pairs // 4, 2 * (n_pairs + _WIDTH)
    basis = np.empty((n_terms, n_columns), dtype=np.float32, order="F")
    projected = np.zeros((n_columns, n_columns))  # basis' G basis, the upper triangle
    block = _orthonormal((rng.standard_normal((n_terms, _WIDTH)) * size).astype(np.float32))[0]
    n_filled = n_settled = 0
    with progress_bar("Finding dimensions", n_pairs, show=progress) as advance:
        for _ in range(_MAX_RESTARTS):
            while n_filled + _WIDTH <= n_columns:
                new = slice(n_filled, n_filled + _WIDTH)
                basis[:, new] = block
                n_filled += _WIDTH
                filled = basis[:, :n_filled]
                image = matrix.gram_product(block)
                inside = filled.T @ image
                projected[:n_filled, new] = inside
                block, rest = _orthonormal(image - filled @ inside)
                # Where nothing new is left, as with few documents or many equal values, chance has to find the rest.
                spent = np.abs(np.diag(rest)) <= 1e-6 * projected.max()
                block[:, spent] = rng.standard_normal((n_terms, int(spent.sum()))) * size / np.linalg.norm(size)
                for _ in range(2 if spent.any() else 1):
                    block = _orthonormal(block - filled @ (filled.T @ block))[0]
            values, turn = np.linalg.eigh(projected[:n_filled, :n_filled], UPLO="U")
            values, turn = values[::-1][:n_kept], turn[:, ::-1][:, :n_kept].astype(np.float32)
            residuals = np.linalg.norm(rest @ turn[-_WIDTH:, :n_pairs], axis=0)
            settled = residuals <= np.maximum(_TOLERANCE * values[:n_pairs], 1e-6 * values[0])
            advance(int(settled.sum()) - n_settled)
            n_settled = int(settled.sum())
            for start in range(0, n_terms, _WIDTH * n_columns):  # in place
                part = slice(start, start + _WIDTH * n_columns)
                basis[part, :n_kept] = filled[part] @ turn
            if n_settled == n_pairs:
                break
            projected[:] = 0
            np.fill_diagonal(projected[:n_kept, :n_kept], values)
            n_filled = n_kept
    return values[:n_pairs], basis[:, :n_pairs]


def _orthonormal(columns: NDArray[np.float32]) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """Return Q and R; numpy's would compute in double precision, in four times the time."""
    Q, R = qr(columns, mode="economic", overwrite_a=True, check_finite=False)
    return Q, R


def lsi_vectors(
    counts: csr_matrix, terms: Sequence[str], *, n_dimensions: int = 200, progress: bool | None = None
) -> WordVectors:
    """Make vectors of terms by latent semantic indexing.

    Counts are weighted by ln(N / df), documents are scaled to unit length, and the matrix A of documents by terms is
    decomposed: A = U diag(s) V'. The vector of term j is s * V[j], the largest values of s only. With all of them, the
    inner product of two terms is that of their columns of A.

    Parameters
    ----------
    counts : csr_matrix of shape (n_docs, n_terms)
        Term frequencies.
    terms : sequence of str
        The terms of the columns.
    n_dimensions : int, default=200
        Number of singular values, capped to those that are not zero.
    progress : bool, optional
        Show a progress bar or not; by default where standard error is a terminal.

    Returns
    -------
    WordVectors
        The terms that have a vector: those that are in no document or in every one have none.

    Raises
    ------
    InvalidInputError
        If the shapes do not fit, a count is negative or not finite, or no term has a vector.

    Notes
    -----
    The result is reproducible, and the order of documents matters up to rounding only, save where singular values tie
    at the cut: there any of them may stay.

    Small collections are decomposed exactly, large ones in single precision and until the eigenvalues of A'A have
    settled: singular values are then right to 1e-5 of the largest, those below 1e-3 of it count as zero, and a term of
    whose length in A the kept dimensions hold less than 1e-4 has no vector. Memory is that of the counts, which may be
    mapped from files, of about four times the vectors, and of a few numbers a document.

    Examples
    --------
    >>> counts = csr_matrix([[1, 1, 0, 0], [1, 1, 0, 1], [0, 0, 1, 1]])
    >>> vectors = lsi_vectors(counts, ["boat", "ship", "tree", "leaf"], n_dimensions=2)
    >>> vectors
    WordVectors(n_words=4, n_dimensions=2)
    >>> bool(np.allclose(vectors["boat"], vectors["ship"]))  # they are in the same documents
    True
    """
    _check_at_least_one("n_dimensions", n_dimensions)
    counts = csr_matrix(counts)
    if counts.shape[1] != len(terms) or 0 in counts.shape:
        raise InvalidInputError(
            f"counts must have the shape (n_docs, n_terms), neither of them 0, here with {len(terms)} terms. "
            f"Got {counts.shape} instead. Give one column a term."
        )
    if not (counts.data.min(initial=0) >= 0 and counts.data.max(initial=0) < np.inf):  # NaN is neither
        raise InvalidInputError("counts must be finite and not negative. Got others. Give term frequencies.")
    matrix = _Tfidf.of(counts)
    values, columns, accuracy = _truncated_svd(matrix, n_dimensions, progress)
    vectors = np.array(columns, order="C")
    vectors *= values
    del columns  # a whole basis may hang on it
    has_vector = (np.linalg.norm(vectors, axis=1) > accuracy * matrix.term_lengths) & (matrix.term_lengths > 0)
    if not has_vector.any():
        raise InvalidInputError(
            "lsi needs a term that is in some documents but not in all. "
            f"Got none among {len(terms)} terms and {counts.shape[0]} documents. Use more documents, or other vectors."
        )
    vectors *= _signs(vectors)
    words = [term for term, has_one in zip(terms, has_vector, strict=True) if has_one]
    origin = {"source": "lsi", "format": "derived", "n_words_read": len(terms), "n_docs": counts.shape[0]}
    return WordVectors(words, vectors[has_vector], origin)


def _signs(vectors: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the signs that make each column's largest value positive: the first of those equal up to rounding."""
    magnitudes = np.abs(vectors)
    peaks = np.argmax(magnitudes >= (1 - 1e-6) * magnitudes.max(axis=0), axis=0)
    signs: NDArray[np.float64] = np.sign(vectors[peaks, np.arange(vectors.shape[1])])
    return signs


def word2vec_vectors(
    sentences: Sequence[Sequence[str]], *, n_dimensions: int = 100, epochs: int = 20, seed: int = 0
) -> WordVectors:
    """Train word2vec (skip-gram, gensim) on a collection.

    One thread is used, so that the same sentences and seed give the same vectors, and every word gets one, however
    rare. On a small collection all cosines come out high: :func:`lsi_vectors` serves it better.

    Parameters
    ----------
    sentences : sequence of sequence of str
        Sentences or documents as words. Long ones are cut into pieces of 10,000 words.
    n_dimensions : int, default=100
        Length of the vectors.
    epochs : int, default=20
        Number of passes over the collection.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    WordVectors
        All words, by descending frequency.

    Raises
    ------
    InvalidInputError
        If there are no words, a sentence is a string, or a number is out of range.

    Examples
    --------
    >>> word2vec_vectors([["boat", "ship"], ["boat", "sea"]], n_dimensions=5, epochs=1)
    WordVectors(n_words=3, n_dimensions=5)
    """
    from gensim.models import Word2Vec

    return _train(Word2Vec, "word2vec", sentences, n_dimensions, epochs, seed)


def fasttext_vectors(
    sentences: Sequence[Sequence[str]], *, n_dimensions: int = 100, epochs: int = 20, seed: int = 0
) -> WordVectors:
    """Train fastText (skip-gram with character n-grams, gensim) on a collection.

    As :func:`word2vec_vectors`, but words that are spelt alike come close. N-grams share 100,000 buckets.

    Parameters
    ----------
    sentences : sequence of sequence of str
        Sentences or documents as words. Long ones are cut into pieces of 10,000 words.
    n_dimensions : int, default=100
        Length of the vectors.
    epochs : int, default=20
        Number of passes over the collection.
    seed : int, default=0
        Seed of the random numbers.

    Returns
    -------
    WordVectors
        All words, by descending frequency.

    Raises
    ------
    InvalidInputError
        If there are no words, a sentence is a string, or a number is out of range.

    Examples
    --------
    >>> fasttext_vectors([["boat", "ship"], ["boat", "sea"]], n_dimensions=5, epochs=1)
    WordVectors(n_words=3, n_dimensions=5)
    """
    from gensim.models import FastText

    return _train(FastText, "fasttext", sentences, n_dimensions, epochs, seed, bucket=_FASTTEXT_BUCKETS)


def _train(
    model: Any,
    name: str,
    sentences: Sequence[Sequence[str]],
    n_dimensions: int,
    epochs: int,
    seed: int,
    **options: int,
) -> WordVectors:
    _check_at_least_one("n_dimensions", n_dimensions)
    _check_at_least_one("epochs", epochs)
    pieces = list(_pieces(sentences))
    if not pieces:
        raise InvalidInputError(f"{name} needs sentences with words. Got none in {len(sentences)} sentences.")
    trained = model(
        sentences=pieces, vector_size=n_dimensions, epochs=epochs, seed=seed, sg=1, min_count=1, workers=1, **options
    )
    origin = {"source": name, "format": "derived", "n_sentences": len(sentences), "epochs": epochs, "seed": seed}
    return WordVectors(trained.wv.index_to_key, trained.wv.vectors, origin)


def _pieces(sentences: Sequence[Sequence[str]]) -> Iterator[list[str]]:
    for sentence in sentences:
        if isinstance(sentence, str):
            raise InvalidInputError(
                f"a sentence must be a sequence of words. Got the string {sentence[:40]!r} instead."
            )
        for start in range(0, len(sentence), _GENSIM_MAX_TOKENS):
            yield list(sentence[start : start + _GENSIM_MAX_TOKENS])


def _check_at_least_one(name: str, value: int) -> None:
    if not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInputError(f"{name} must be a whole number of at least 1. Got {value!r} instead.")
