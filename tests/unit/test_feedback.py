import numpy as np
import pytest
import scipy.sparse as sp

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.errors import InvalidInputError
from cptw_search.feedback import learn_words, rm3

QUERY = sp.csr_matrix([[1.0, 0.0, 0.0]])
FEEDBACK = sp.csr_matrix([[1.0, 1.0, 0.0], [1.0, 0.0, 3.0]])


def test_weights_sum_to_one_and_nothing_given_is_changed() -> None:
    before = FEEDBACK.copy()
    assert rm3(QUERY, FEEDBACK, [5.0, 1.0]).sum() == pytest.approx(1)
    assert (FEEDBACK != before).nnz == 0


def test_zeros_that_are_stored_stay_where_they_were_given() -> None:
    given = sp.csr_matrix((np.array([0.0, 2.0, 1.0]), np.array([0, 1, 2]), np.array([0, 2, 3])), shape=(2, 3))
    before = [part.tolist() for part in (given.data, given.indices, given.indptr)]
    rm3(QUERY, given, [5.0, 1.0])
    assert [part.tolist() for part in (given.data, given.indices, given.indptr)] == before


def test_the_scale_of_the_scores_does_not_matter() -> None:
    one, two = (rm3(QUERY, FEEDBACK, np.array([3.0, 1.0]) * scale).toarray() for scale in (1, 40))
    np.testing.assert_allclose(one, two)


@pytest.mark.parametrize("scores", [[], [0.0, 0.0]])
def test_with_nothing_to_learn_the_query_stays(scores: list[float]) -> None:
    assert rm3(2 * QUERY, FEEDBACK[: len(scores)], scores).toarray().tolist() == [[1.0, 0.0, 0.0]]


def test_an_empty_query_without_documents_stays_empty() -> None:
    assert rm3(0 * QUERY, FEEDBACK[:0], []).nnz == 0


@pytest.mark.parametrize(
    ("query", "scores", "options", "problem"),
    [
        (QUERY, [1.0], {}, r"one score a document \(2\), finite and not negative. Got \[1.0\]"),
        (QUERY[:, :2], [1.0, 1.0], {}, "documents over the same columns"),
        (QUERY, [1.0, -1.0], {}, r"finite and not negative. Got \[1.0, -1.0\]"),
        (QUERY, [1.0, np.nan], {}, "finite and not negative"),
        (QUERY, [1.0, 1.0], {"query_weight": 1.5}, "query_weight must be a number from 0 to 1. Got 1.5"),
        (QUERY, [1.0, 1.0], {"n_terms": 0}, "max_terms must be None or a whole number >= 1. Got 0"),
    ],
)
def test_what_cannot_be_used_is_named(query, scores, options, problem: str) -> None:  # type: ignore[no-untyped-def]
    with pytest.raises(InvalidInputError, match=problem):
        rm3(query, FEEDBACK, scores, **options)


@pytest.fixture
def index() -> EmbeddedIndex:
    documents = [
        {"id": "a", "text": "captain sails vessel", "label": "old"},
        {"id": "b", "text": "vessel in harbour", "label": "new"},
        {"id": "c", "text": "captain plays football", "label": "new"},
        *({"id": f"d{n}", "text": f"filler number {n} {'common' * (n % 2)}", "label": "new"} for n in range(40)),
    ]
    return EmbeddedIndex.build(Cptw(vectors=None).fit(documents), documents)


def test_the_engine_finds_documents_by_words_that_it_learned(index: EmbeddedIndex) -> None:
    assert [hit.id for hit in index.search("sails", method="bm25")] == ["a"]
    assert [hit.id for hit in index.search("sails", method="bm25+rm3")] == ["a", "b", "c"]


def test_it_learns_from_documents_that_the_filter_lets_through(index: EmbeddedIndex) -> None:
    assert index.search("sails", method="bm25+rm3", filter={"label": "new"}) == []
    found = index.search("vessel", method="bm25+rm3", filter={"label": "new"})
    assert [hit.id for hit in found] == ["b"]  # and not c, whose captain a alone would have taught


def test_it_learns_from_documents_that_are_alive(index: EmbeddedIndex) -> None:
    index.delete(["a"])
    assert index.search("sails", method="bm25+rm3") == []
    assert [hit.id for hit in index.search("vessel", method="bm25+rm3")] == ["b"]


def test_words_of_many_documents_are_not_learned(index: EmbeddedIndex) -> None:
    """Number and common are in more than a tenth of the documents."""
    assert [hit.id for hit in index.search("17", method="bm25+rm3")] == ["d17"]


def test_it_has_no_explanation(index: EmbeddedIndex) -> None:
    with pytest.raises(InvalidInputError, match="explain needs one of the methods 'cptw'.*Got 'bm25\\+rm3'"):
        index.search("sails", method="bm25+rm3", explain=True)


def test_learned_weights_sum_to_one_and_the_scale_of_scores_does_not_matter() -> None:
    one, two = (learn_words(FEEDBACK, np.array([3.0, 1.0]) * scale).toarray() for scale in (1, 40))
    np.testing.assert_allclose(one, two)
    assert one.sum() == pytest.approx(1)


def test_one_clear_answer_teaches_alone() -> None:
    np.testing.assert_allclose(learn_words(FEEDBACK, [4.0, 1.0]).toarray(), [[0.5, 0.5, 0.0]], atol=1e-4)


def test_at_sharpness_zero_all_documents_count_alike() -> None:
    alike = [learn_words(FEEDBACK, scores, sharpness=0).toarray() for scores in ([4.0, 1.0], [1.0, 1.0])]
    np.testing.assert_allclose(*alike)


def test_the_heaviest_words_are_learned() -> None:
    assert learn_words(FEEDBACK, [1.0, 1.0], n_terms=1).indices.tolist() == [0]


@pytest.mark.parametrize("scores", [[], [0.0, 0.0]])
def test_there_may_be_nothing_to_learn(scores: list[float]) -> None:
    assert learn_words(FEEDBACK[: len(scores)], scores).nnz == 0


@pytest.mark.parametrize(
    ("scores", "sharpness", "problem"),
    [([1.0], 8.0, "one score a document"), ([1.0, 1.0], -1.0, "sharpness must be a number >= 0. Got -1.0")],
)
def test_what_words_cannot_be_learned_from_is_named(scores: list[float], sharpness: float, problem: str) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        learn_words(FEEDBACK, scores, sharpness=sharpness)


def test_hybrid_with_feedback_finds_documents_by_words_that_it_learned(index: EmbeddedIndex) -> None:
    assert [hit.id for hit in index.search("sails", method="hybrid")] == ["a"]
    assert [hit.id for hit in index.search("sails", method="hybrid+feedback")] == ["a", "b", "c"]
    assert index.search("sails", method="hybrid+feedback", filter={"label": "new"}) == []
    index.delete(["a"])
    assert index.search("sails", method="hybrid+feedback") == []
