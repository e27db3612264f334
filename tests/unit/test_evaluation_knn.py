"""Nearest neighbours by blocks, and the choice of parameters."""

import numpy as np
import pytest
import scipy.sparse as sp
from made_up_texts import make_texts, make_vectors

from cptw_search.evaluation import knn
from cptw_search.evaluation.baselines import BagOfWords
from cptw_search.evaluation.classification import run_split
from cptw_search.evaluation.knn import DenseComparison, SparseComparison, nearest, unit_sparse
from cptw_search.evaluation.protocol import count_texts, make_splits
from cptw_search.evaluation.word_movers import WordMovers
from cptw_search.neighbours import nearest_rows


@pytest.fixture
def rows() -> sp.csr_matrix:
    random = np.random.default_rng(1)
    dense = random.random((40, 30)) * (random.random((40, 30)) < np.linspace(0.01, 0.9, 30))
    dense[7] = dense[3]  # a copy
    dense[9] = 0  # an empty document
    return sp.csr_matrix(dense)


def test_blocks_of_any_size_give_the_neighbours_of_the_library(
    rows: sp.csr_matrix, monkeypatch: pytest.MonkeyPatch
) -> None:
    unit = unit_sparse(rows)
    positions, scores = nearest_rows(unit.astype(np.float64), unit.astype(np.float64), 5)
    for cells in (1, 100, 10**6):
        monkeypatch.setattr(knn, "_BLOCK_CELLS", cells)
        for comparison in (SparseComparison(unit, unit), DenseComparison(*(rows.toarray().astype(np.float32),) * 2)):
            found = nearest(comparison, 5)
            np.testing.assert_allclose(found.scores, scores, atol=1e-6)
            assert np.array_equal(found.positions[found.scores[:, 4] > 0], positions[scores[:, 4] > 0])


def test_weights_and_a_sparse_part_count_in_products_and_lengths(rows: sp.csr_matrix) -> None:
    weights = np.linspace(0.5, 2.0, 30).astype(np.float32)
    dense = rows.toarray().astype(np.float32)
    whole = DenseComparison(dense * weights, dense * weights)
    apart = DenseComparison(
        dense[:, :20],
        dense[:, :20],
        weights[:20],
        (sp.csr_matrix(dense[:, 20:] * weights[20:]), sp.csr_matrix(dense[:, 20:] * weights[20:])),
    )
    np.testing.assert_allclose(apart.scores(0, 40), whole.scores(0, 40), atol=1e-6)
    assert not apart.scores(9, 10).any()


def test_a_copy_has_the_cosine_one_and_outvotes_all_others(rows: sp.csr_matrix) -> None:
    dense = rows.toarray().astype(np.float32)
    found = nearest(DenseComparison(dense[[7]], np.delete(dense, 7, axis=0)), 5)
    assert found.scores[0, 0] == 1.0
    codes = np.ones(39, dtype=np.intp)
    codes[3] = 0
    assert found.predict(codes, 2, 5, "distance").tolist() == [0]
    assert found.predict(codes, 2, 5, "uniform").tolist() == [1]


def test_parameters_are_those_with_the_best_validation() -> None:
    data = count_texts(make_texts(), make_vectors())
    split = make_splits(data.codes, None)[0]
    (weighted, plain) = run_split(data, split, BagOfWords("bow"), ks=(1, 3, 5, 9))
    assert (weighted.votes, plain.votes) == ("distance", "uniform")
    # by hand: each k's mean over the rounds
    means = []
    for k in (1, 3, 5, 9):
        shares = []
        for train, validate in split.rounds:
            ((_, comparison),) = BagOfWords("bow").compare(data.round(train, validate), BagOfWords("bow").grid())
            predicted = nearest(comparison, k).predict(data.codes[train], 3, k, "distance")
            shares.append(np.mean(predicted == data.codes[validate]))
        means.append(np.mean(shares))
    assert weighted.k == (1, 3, 5, 9)[int(np.argmax(means))]
    assert weighted.validation == {"": pytest.approx(max(means))}
    assert len(weighted.predicted) == len(split.test)
    assert weighted.sample is None


def test_a_slow_method_is_run_on_a_sample_of_each_part() -> None:
    data = count_texts(make_texts(), make_vectors())
    split = make_splits(data.codes, None)[0]
    outcome = run_split(data, split, WordMovers(sample=4), ks=(1, 3))[0]
    assert outcome.sample is not None
    assert len(outcome.sample) == len(outcome.predicted) == 4
    assert max(outcome.sample) < len(split.test)
