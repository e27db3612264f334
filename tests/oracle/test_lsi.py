"""LSI of a collection that counts as large against numpy's exact decomposition."""

import numpy as np
import pytest
from scipy.sparse import csr_matrix

from cptw_search import derive
from cptw_search.derive import lsi_vectors


@pytest.fixture(scope="module")
def counts() -> np.ndarray:
    """Documents of common words and of the words of one of 80 topics."""
    rng = np.random.default_rng(0)
    n_docs, n_terms = 900, 1300
    popularity = 1 / np.arange(10, n_terms + 10)
    topics = rng.integers(0, n_terms, size=(80, 25))
    counts = np.zeros((n_docs, n_terms))
    for number in range(n_docs):
        common = rng.choice(n_terms, size=20, p=popularity / popularity.sum())
        np.add.at(counts[number], np.concatenate([common, rng.choice(topics[number % 80], size=15)]), 1)
    return counts[:, counts.any(axis=0)]


def test_values_and_cosines_are_those_of_the_exact_decomposition(
    counts: np.ndarray, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(derive, "_DENSE_CELLS", 0)
    monkeypatch.setattr(derive, "_BLOCK_ENTRIES", 10_000)
    n_terms = counts.shape[1]
    vectors = lsi_vectors(csr_matrix(counts), [f"t{k}" for k in range(n_terms)], n_dimensions=200).vectors
    weighted = counts * np.log(len(counts) / (counts > 0).sum(axis=0))
    weighted /= np.linalg.norm(weighted, axis=1, keepdims=True)
    _, values, rows = np.linalg.svd(weighted, full_matrices=False)
    assert vectors.shape == (n_terms, 200)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=0), values[:200], rtol=1e-5)

    def unit(matrix: np.ndarray) -> np.ndarray:
        return matrix / np.linalg.norm(matrix, axis=1, keepdims=True)

    exact, ours = unit(rows[:200].T * values[:200]), unit(vectors.astype(np.float64))
    differences = np.abs(exact @ exact.T - ours @ ours.T)
    assert differences.mean() < 1e-4
    assert differences.max() < 0.01
