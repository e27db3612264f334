"""Word vectors made from a collection itself: nothing to download."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_matrix, diags
from scipy.sparse.linalg import ArpackError, svds

from cptw_search.embeddings import WordVectors
from cptw_search.errors import InvalidInputError

__all__ = ["fasttext_vectors", "lsi_vectors", "word2vec_vectors"]

_NEGLIGIBLE = 1e-10  # singular values and vectors below this share of the largest singular value are rounding errors
_DENSE_CELLS = 4_000_000  # up to here a dense decomposition takes about a second, and cannot fail to converge
_GENSIM_MAX_TOKENS = 10_000  # gensim passes over what is behind in a sentence, without a word
_FASTTEXT_BUCKETS = 100_000  # gensim's 2,000,000 would take 800 MB at 100 dimensions, whatever the collection


def _tfidf(counts: csr_matrix) -> csr_matrix:
    """Weight counts by ln(N / df) and scale each document to unit length."""
    tf = csr_matrix(counts, dtype=np.float64, copy=True)
    tf.sum_duplicates()
    tf.eliminate_zeros()
    df = np.bincount(tf.indices, minlength=tf.shape[1])
    idf = np.log(tf.shape[0] / np.maximum(df, 1))
    weighted = csr_matrix(tf @ diags(idf))
    lengths = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1)).ravel())
    lengths[lengths == 0] = 1
    return csr_matrix(diags(1 / lengths) @ weighted)


def _truncated_svd(matrix: csr_matrix, n_dimensions: int) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the largest singular values, in descending order, and the right singular vectors in rows."""
    n_smaller = min(matrix.shape)
    if n_dimensions >= n_smaller or matrix.shape[0] * matrix.shape[1] <= _DENSE_CELLS:
        _, values, rows = np.linalg.svd(matrix.toarray(), full_matrices=False)
        return values[:n_dimensions], rows[:n_dimensions]
    # a fixed start makes the result reproducible; a random one, for a regular one can miss directions by symmetry
    rng = np.random.default_rng(0)
    try:
        _, values, rows = svds(matrix, k=n_dimensions, v0=rng.standard_normal(n_smaller))
    except ArpackError:  # many equal singular values, as when no two documents share a word
        _, values, rows = svds(matrix, k=n_dimensions, solver="lobpcg", random_state=rng)
    return np.asarray(values[::-1], dtype=np.float64), rows[::-1]


def lsi_vectors(counts: csr_matrix, terms: Sequence[str], *, n_dimensions: int = 200) -> WordVectors:
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
    if not np.isfinite(counts.data).all() or (counts.data < 0).any():
        raise InvalidInputError("counts must be finite and not negative. Got others. Give term frequencies.")
    values, rows = _truncated_svd(_tfidf(counts), n_dimensions)
    largest = values.max()
    keep = values > _NEGLIGIBLE * largest
    vectors = np.ascontiguousarray(rows[keep].T) * values[keep]
    has_vector = np.linalg.norm(vectors, axis=1) > _NEGLIGIBLE * largest
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
