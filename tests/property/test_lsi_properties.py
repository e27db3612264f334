"""What holds for the LSI vectors of any collection, in each of the three ways that they are made."""

from unittest import mock

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from scipy.sparse import csr_matrix

from cptw_search import derive

WAYS = {"dense": (10**6, 20), "gram": (0, 20), "lanczos": (0, 1)}
matrices = arrays(
    np.int64, st.tuples(st.integers(4, 12), st.integers(9, 14)), elements=st.sampled_from([0, 0, 0, 1, 2])
)


def lengths(counts: np.ndarray, n_dimensions: int, way: str) -> np.ndarray:
    """Make the vectors and measure their dimensions: the singular values, which ties leave alone."""
    cells, width = WAYS[way]
    terms = [f"t{k}" for k in range(counts.shape[1])]
    with mock.patch.multiple(derive, _DENSE_CELLS=cells, _WIDTH=width, _BLOCK_ENTRIES=20):
        vectors = derive.lsi_vectors(csr_matrix(counts), terms, n_dimensions=n_dimensions).vectors
    found = np.zeros(n_dimensions)
    found[: vectors.shape[1]] = np.linalg.norm(vectors.astype(np.float64), axis=0)
    return found


@pytest.mark.parametrize("way", WAYS)
@given(counts=matrices, n_dimensions=st.integers(1, 3), seed=st.integers(0, 99))
def test_values_are_numpys_whatever_the_order_and_the_lengths_of_documents(
    way: str, counts: np.ndarray, n_dimensions: int, seed: int
) -> None:
    df = (counts > 0).sum(axis=0)
    assume(((df > 0) & (df < len(counts))).any())
    weighted = counts * np.log(len(counts) / np.maximum(df, 1))
    norms = np.linalg.norm(weighted, axis=1, keepdims=True)
    exact = np.linalg.svd(weighted / np.where(norms, norms, 1), compute_uv=False)[:n_dimensions]
    np.testing.assert_allclose(lengths(counts, n_dimensions, way), exact, atol=1e-3 * exact[0])
    rng = np.random.default_rng(seed)
    changed = rng.permutation(counts) * rng.integers(1, 9, size=(len(counts), 1))
    np.testing.assert_allclose(lengths(changed, n_dimensions, way), exact, atol=1e-3 * exact[0])
