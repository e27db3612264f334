"""Every variant against loops over the paper's sums."""

import numpy as np
import pytest
from hypothesis import given
from oracle.slow_cptw import SlowCptw
from strategies import Case, cases, texts

import cptw_search.propagation as kernels


def slow(case: Case) -> SlowCptw:
    vectors = {word: case.vectors[word].tolist() for word in case.vectors.words}
    tokens = [text.split() for text in case.documents]
    return SlowCptw(tokens, vectors, case.tau, case.normalization, case.weighting)


@given(case=cases(), text=texts)
@pytest.mark.parametrize("side", ["document", "query"])
@pytest.mark.parametrize("row_norm", ["l2", "none"])
def test_representations_agree(case: Case, text: str, side: str, row_norm: str) -> None:
    text += " word-that-fit-never-saw"
    model = case.model(row_norm=row_norm).fit(case.documents)
    got = model.represent([text], side=side)
    terms = [*model.vocabulary_, *got.unknown]
    expected = slow(case).represent(text.split(), side, unit_length=row_norm == "l2")
    if row_norm == "l2" and np.hypot.reduce(list(slow(case).represent(text.split(), side, False).values())) < 1e-9:
        return  # a vector of rounding errors has no direction to compare
    np.testing.assert_allclose(
        got.matrix.toarray()[0], [expected.get(term, 0.0) for term in terms], rtol=1e-9, atol=1e-9
    )


def test_the_released_codes_two_numbers_of_documents_differ_by_a_constant() -> None:
    """The quirk: for test documents N counts all documents, the document frequencies the training part."""
    S = kernels.sp.csr_matrix([[1.0, 0.6], [0.6, 1.0]])
    alpha = kernels.column_scale(S, "l2")
    df = np.array([2.0, 5.0])
    train = kernels.idf_released(S, alpha, df, 10)
    test = kernels.idf_released(S, alpha, df, 10, n_docs_in_log=16)
    np.testing.assert_allclose(test.column_scale / alpha - train.column_scale / alpha, np.log2(16 / 10))
    assert test.unknown_weight - train.unknown_weight == pytest.approx(np.log2(16 / 10))
    # by hand: (df P)_0 = (2 + 0.6 * 5) / sqrt(1.36)
    np.testing.assert_allclose(train.column_scale[0] / alpha[0], np.log2(10 / (5 / np.sqrt(1.36))))
