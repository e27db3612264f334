import numpy as np
import pytest

from cptw_search.errors import InvalidInputError
from cptw_search.similarity import term_similarity


@pytest.mark.parametrize("vectors", [[1.0, 2.0], [[np.nan, 1.0]], [[np.inf, 1.0]], 3.0])
def test_vectors_have_to_be_a_matrix_of_finite_numbers(vectors: object) -> None:
    with pytest.raises(
        InvalidInputError, match="vectors must be a matrix of finite numbers, one row a term. Got shape"
    ):
        term_similarity(vectors, 0.5)  # type: ignore[arg-type]


def test_equal_directions_are_found_at_tau_one() -> None:
    random = np.random.default_rng(0)
    vector = random.normal(size=300)
    similarity = term_similarity([vector, vector * 3.7, random.normal(size=300)], 1.0)
    assert similarity.toarray()[0, 1] == pytest.approx(1.0, abs=1e-12)
    assert similarity.nnz == 5


def test_huge_and_tiny_vectors_have_the_same_cosines() -> None:
    vectors = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 0.0]])
    expected = term_similarity(vectors, 0.1).toarray()
    scales = np.array([[1e200], [1e-200], [1.0]])
    np.testing.assert_allclose(term_similarity(vectors * scales, 0.1).toarray(), expected)


def test_pairs_at_the_threshold_are_decided_in_float64() -> None:
    """Cosines a few 1e-8 on either side of tau: float32 cannot tell them apart."""
    angles = np.arccos(0.7 + np.array([-4e-8, -2e-8, 2e-8, 4e-8]))
    vectors = np.stack([np.cos([0.0, *angles]), np.sin([0.0, *angles])], axis=1)
    assert (term_similarity(vectors, 0.7).toarray()[0, 1:] > 0).tolist() == [False, False, True, True]


def test_nobody_has_neighbours_above_one_or_without_vectors() -> None:
    assert term_similarity(np.ones((4, 2)), 1.1).nnz == 4
    assert term_similarity(np.zeros((4, 2)), 0.0).nnz == 4
    assert term_similarity(np.ones((1, 2)), 0.0).nnz == 1
    assert term_similarity(np.zeros((0, 2)), 0.0).shape == (0, 0)
