"""What has to hold for every collection, all vectors and all parameters."""

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from strategies import NONNEGATIVE_WEIGHTINGS, Case, cases, texts, word_vectors

from cptw_search import Cptw
from cptw_search.similarity import term_similarity


@given(case=cases())
def test_tau_above_one_gives_the_plain_bag_of_words(case: Case) -> None:
    def rows(weighting: str) -> np.ndarray:
        model = case.model(tau=1.01, weighting=weighting, row_norm="none").fit(case.documents)
        return model.transform(case.documents).toarray()

    bow = rows("tf")
    vocabulary = sorted({word for text in case.documents for word in text.split()})
    np.testing.assert_array_equal(bow, [[text.split().count(word) for word in vocabulary] for text in case.documents])
    idf = np.log(len(bow) / (bow > 0).sum(axis=0))
    for weighting in ("idf-equation", "idf-weighted", "idf-input"):  # all of them are TF-IDF then
        np.testing.assert_allclose(rows(weighting), bow * idf, atol=1e-12)
    np.testing.assert_allclose(rows("idf-released"), bow * idf / np.log(2), atol=1e-12)


@given(case=cases(weightings=["bm25"]), query=texts)
def test_tau_above_one_gives_bm25_exactly(case: Case, query: str) -> None:
    model = case.model(tau=1.01, k1=1.5, b=0.6).fit(case.documents)
    got = (model.transform(case.documents) @ model.transform_query([query]).T).toarray().ravel()
    tokens = [text.split() for text in case.documents]
    average = sum(map(len, tokens)) / len(tokens)
    for score, document in zip(got, tokens, strict=True):
        expected = 0.0
        for word in query.split():
            df = max(1, sum(word in other for other in tokens))
            tf = document.count(word)
            idf = np.log(1 + (len(tokens) - df + 0.5) / (df + 0.5))
            expected += idf * tf * 2.5 / (tf + 1.5 * (0.4 + 0.6 * len(document) / average))
        assert score == pytest.approx(expected, rel=1e-12, abs=1e-12)


@given(case=cases(), data=st.data())
def test_permuting_the_documents_permutes_the_rows(case: Case, data: st.DataObject) -> None:
    order = data.draw(st.permutations(range(len(case.documents))))
    rows = case.model().fit_transform(case.documents).toarray()
    permuted = case.model().fit_transform([case.documents[i] for i in order]).toarray()
    np.testing.assert_allclose(permuted, rows[list(order)], rtol=1e-9, atol=1e-12)


@given(case=cases(), data=st.data())
def test_renaming_the_words_permutes_the_columns(case: Case, data: st.DataObject) -> None:
    old = [f"w{number}" for number in range(9)]
    renamed = dict(zip(old, data.draw(st.permutations(old)), strict=True))
    documents = [" ".join(renamed[word] for word in text.split()) for text in case.documents]
    vectors = type(case.vectors)([renamed[word] for word in case.vectors.words], case.vectors.vectors)
    model, other = case.model().fit(case.documents), case.model(vectors=vectors).fit(documents)
    rows, permuted = model.transform(case.documents).toarray(), other.transform(documents).toarray()
    columns = [other.vocabulary_.index(renamed[term]) for term in model.vocabulary_]
    np.testing.assert_allclose(permuted[:, columns], rows, rtol=1e-9, atol=1e-9)


@given(case=cases(weightings=["tf", "idf-equation", "idf-released", "idf-weighted", "idf-input"]), a=texts, b=texts)
def test_bare_rows_are_linear_in_the_counts(case: Case, a: str, b: str) -> None:
    model = case.model(row_norm="none").fit(case.documents)
    one, two, both = model.transform([a, b, f"{a} {b}"]).toarray()
    np.testing.assert_allclose(one + two, both, rtol=1e-9, atol=1e-9)


@given(case=cases(), queries=st.lists(texts, min_size=1, max_size=5))
@pytest.mark.parametrize("side", ["document", "query"])
def test_one_document_is_represented_as_in_a_batch(case: Case, queries: list[str], side: str) -> None:
    model = case.model().fit(case.documents)
    batch = model.represent(queries, side=side).matrix.toarray()
    for query, row in zip(queries, batch, strict=True):
        alone = model.represent([query], side=side)
        np.testing.assert_array_equal(
            alone.matrix.toarray()[0, : len(model.vocabulary_)], row[: len(model.vocabulary_)]
        )


@given(case=cases(), query=texts, extra=st.sampled_from(["", "new", "new newer new"]))
@pytest.mark.parametrize("nonnegative", [False, True])
def test_the_three_placements_score_alike(case: Case, query: str, extra: str, nonnegative: bool) -> None:
    # signed weightings agree as well, as long as nothing is dropped or all sides use the same max(M, 0)
    query, documents = f"{query} {extra}", [*case.documents, f"{case.documents[0]} {extra}"]
    model = case.model().fit(case.documents)
    scores = {}
    for placement in ("both", "query", "document"):
        stored = model.represent(documents, placement=placement, nonnegative=nonnegative)
        sent = model.represent([query], side="query", placement=placement, nonnegative=nonnegative)
        features = sorted({*model.vocabulary_, *stored.unknown, *sent.unknown})

        def dense(weighted, features=features):
            names = [*model.vocabulary_, *weighted.unknown]
            out = np.zeros((weighted.matrix.shape[0], len(features)))
            out[:, [features.index(name) for name in names]] = weighted.matrix.toarray()
            return out

        scores[placement] = (dense(stored) @ dense(sent).T).ravel()
    bare = case.model(row_norm="none").fit(case.documents)
    lengths = np.linalg.norm(bare.represent([*documents, query], nonnegative=nonnegative).matrix.toarray(), axis=1)
    assume(((lengths == 0) | (lengths > 1e-6)).all())  # rounding errors have no direction
    np.testing.assert_allclose(scores["query"], scores["both"], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(scores["document"], scores["both"], rtol=1e-7, atol=1e-9)


@given(case=cases(weightings=NONNEGATIVE_WEIGHTINGS))
def test_nonnegative_weightings_are_nonnegative(case: Case) -> None:
    assert case.model().fit_transform(case.documents).toarray().min() >= 0


@given(case=cases())
def test_the_nonnegative_operator_is_the_positive_part_of_the_matrix(case: Case) -> None:
    operator = case.model().fit(case.documents)._operator
    np.testing.assert_allclose(
        operator.nonnegative().explicit().toarray(), np.maximum(operator.explicit().toarray(), 0), atol=1e-12
    )


@given(case=cases(weightings=["tf", "idf-input"]), query=texts)
def test_cosine_scores_stay_between_minus_one_and_one_and_a_document_finds_itself(case: Case, query: str) -> None:
    rows = case.model().fit_transform(case.documents)
    scores = (rows @ rows.T).toarray()
    assert scores.max() <= 1 + 1e-12
    lengths = np.linalg.norm(rows.toarray(), axis=1)
    np.testing.assert_allclose(np.diag(scores), lengths > 0, atol=1e-12)


@given(vectors=word_vectors(), tau=st.floats(0, 1.2), block_size=st.integers(1, 12), cap=st.none() | st.integers(1, 4))
def test_similarity_is_symmetric_and_independent_of_blocks_and_threads(
    vectors: object, tau: float, block_size: int, cap: int | None
) -> None:
    matrix = vectors.vectors  # type: ignore[attr-defined]
    reference = term_similarity(matrix, tau, max_neighbours=cap)
    other = term_similarity(matrix, tau, max_neighbours=cap, block_size=block_size, n_threads=1)
    assert reference.toarray().tobytes() == other.toarray().tobytes()
    assert (reference != reference.T).nnz == 0
    assert (reference.diagonal() == 1).all()


@given(seed=st.integers(0, 2**32 - 1), n_dimensions=st.sampled_from([1, 7, 50, 300]), tau=st.floats(0, 0.9))
def test_similarity_of_real_valued_vectors_is_the_float64_cosine(seed: int, n_dimensions: int, tau: float) -> None:
    vectors = np.random.default_rng(seed).normal(size=(40, n_dimensions))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    got = term_similarity(vectors, tau, block_size=16).toarray()
    clear = np.abs(cosines - tau) > 1e-10  # whoever is closer may fall on either side by rounding
    np.testing.assert_allclose(got[clear], np.where(cosines >= tau, cosines, 0)[clear], atol=1e-12)


@given(seed=st.integers(0, 2**32 - 1), cap=st.integers(1, 30))
def test_capped_neighbourhoods_are_mutual(seed: int, cap: int) -> None:
    vectors = np.random.default_rng(seed).normal(size=(25, 3))
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = unit @ unit.T
    np.fill_diagonal(cosines, -np.inf)
    rank = (-cosines).argsort(axis=1).argsort(axis=1)  # 0 is the nearest
    expected = (rank < cap) & (rank.T < cap) & (cosines >= 0)
    got = term_similarity(vectors, "adaptive", max_neighbours=cap, block_size=4).toarray() > 0
    np.fill_diagonal(got, False)
    np.testing.assert_array_equal(got, expected)


@given(case=cases(), more=st.lists(texts, max_size=4))
def test_partial_fit_counts_as_fit_on_all_would(case: Case, more: list[str]) -> None:
    first = case.model().fit(case.documents)
    grown = first.partial_fit(more)
    together = case.model().fit([*case.documents, *more])
    assert grown.n_docs_ == together.n_docs_
    assert grown.average_length_ == pytest.approx(together.average_length_)
    known = [together.vocabulary_.index(term) for term in grown.vocabulary_]
    np.testing.assert_array_equal(grown.df_, together.df_[known])
    if more:
        assert grown.model_id != first.model_id


def test_no_vectors_at_all_is_the_same_as_tau_above_one() -> None:
    documents = ["boat sea", "ship sea sea"]
    plain = Cptw(vectors=None).fit_transform(documents)
    assert (plain != Cptw(vectors="lsi", tau=2.0).fit_transform(documents)).nnz == 0
