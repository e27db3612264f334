import numpy as np
import pytest

import cptw_search
from cptw_search import Cptw, WordVectors, load_vectors
from cptw_search.errors import InvalidInputError, NotFittedError, UnknownNameError, VectorFileError
from cptw_search.model import Neighbour

VECTORS = WordVectors(["boat", "ship", "sea", "cat"], [[1, 0], [4, 3], [1, 1], [-1, 1]])
DOCUMENTS = ["The boats sail", "a ship at sea", "cats"]


def test_the_front_page_holds_what_it_promises() -> None:
    assert cptw_search.__all__ == sorted(cptw_search.__all__)
    assert set(cptw_search.__all__) <= set(dir(cptw_search))
    for name in cptw_search.__all__:
        assert getattr(cptw_search, name).__name__ == name
    assert set(cptw_search._MODULES) == set(cptw_search.__all__)
    assert len(cptw_search.__all__) <= 12
    with pytest.raises(AttributeError, match="module 'cptw_search' has no attribute 'Nothing'"):
        cptw_search.Nothing  # noqa: B018


def test_a_query_finds_what_shares_no_word_with_it() -> None:
    model = Cptw(vectors=VECTORS, tau=0.7).fit(DOCUMENTS)
    scores = (model.transform(DOCUMENTS) @ model.transform_query(["a boat"]).T).toarray().ravel()
    assert scores[0] > 0
    assert scores[1] > 0  # "a ship at sea"
    assert scores[2] == 0


def test_neighbours_are_listed_nearest_first_for_words_and_terms() -> None:
    model = Cptw(vectors=VECTORS, tau=0.7).fit([*DOCUMENTS, "boat"])
    expected = [Neighbour("ship", pytest.approx(0.8)), Neighbour("sea", pytest.approx(np.sqrt(0.5)))]
    assert model.neighbours("Boats") == model.neighbours("boat") == expected
    assert model.neighbours("boat", n=1) == expected[:1]
    assert model.neighbours("submarine") == []


@pytest.mark.parametrize("term", ["the", "two boats", ""])
def test_neighbours_needs_one_word(term: str) -> None:
    model = Cptw(vectors=VECTORS).fit(DOCUMENTS)
    with pytest.raises(InvalidInputError, match="neighbours needs one word that is counted. Got"):
        model.neighbours(term)


def test_a_stem_has_the_mean_vector_of_its_forms() -> None:
    vectors = WordVectors(["boat", "boats", "ship"], [[1, 0], [0, 1], [1, 1]])
    balanced = Cptw(vectors=vectors, tau=0.1).fit(["boat boats ship"])
    assert balanced.neighbours("boat") == [Neighbour("ship", pytest.approx(1.0))]
    often = Cptw(vectors=vectors, tau=0.1).fit(["boat boat boat boats ship"])
    assert often.neighbours("boat") == [Neighbour("ship", pytest.approx(4 / np.sqrt(20)))]


def test_unknown_words_count_in_the_length_and_are_kept_or_dropped() -> None:
    kept = Cptw(vectors=None, analyzer="unicode").fit(["boat sea"])
    assert kept.represent(["boat x1 x1 x2"]).unknown == ["x1", "x2"]
    np.testing.assert_allclose(kept.represent(["boat x1 x1 x2"]).matrix.toarray(), [[1, 0, 2, 1] / np.sqrt(6)])
    np.testing.assert_allclose(kept.transform(["boat x1 x1 x2"]).toarray(), [[1, 0] / np.sqrt(6)])
    dropped = Cptw(vectors=None, analyzer="unicode", unknown="drop").fit(["boat sea"])
    assert dropped.represent(["boat x1"]).unknown == []
    np.testing.assert_allclose(dropped.transform(["boat x1"]).toarray(), [[1, 0]])


def test_unknown_words_of_one_call_do_not_show_in_the_next() -> None:
    model = Cptw(vectors=None).fit(["boat"])
    assert model.represent(["zeppelin airship"]).unknown == ["airship", "zeppelin"]
    assert model.represent(["yacht"]).unknown == ["yacht"]
    assert model.represent(["boat"]).unknown == []


def test_the_memory_of_words_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cptw_search.model._MAX_REMEMBERED_WORDS", 10)
    model = Cptw(vectors=None).fit(["boat"])
    for number in range(30):
        assert model.represent([f"boat word{number}"]).unknown == [f"word{number}"]
    assert len(model._lookup) <= 12


def test_min_df_leaves_rare_terms_out() -> None:
    model = Cptw(vectors=None, min_df=2).fit(["boat sea", "boat", "sea ship", "boat"])
    assert model.vocabulary_ == ["boat", "sea"]
    assert model.df_.tolist() == [3, 2]
    assert model.represent(["ship"]).unknown == ["ship"]


def test_fields_count_with_their_weights() -> None:
    model = Cptw(vectors=None, row_norm="none", field_weights={"title": 3, "body": 1, "summary": 0.5})
    model.fit([{"title": "boat", "body": "boat sea", "id": 7}, {"body": "sea"}])
    rows = model.transform([{"title": "boat", "body": "boat sea", "summary": "sea"}, {"summary": "boat"}, "boat sea"])
    np.testing.assert_allclose(rows.toarray(), [[4, 1.5], [0.5, 0], [1, 1]])
    assert model.average_length_ == (3 + 2 + 1) / 2


def test_several_sources_are_averaged() -> None:
    first = WordVectors(["boat", "ship"], [[2, 0], [0, 1]])
    second = WordVectors(["boat", "ship"], [[1, 0, 0], [5, 0, 0]])
    model = Cptw(vectors=[first, second], tau=0.1).fit(["boat ship"])
    assert model.neighbours("boat") == [Neighbour("ship", pytest.approx((0 + 1) / 2))]
    assert len(model.vector_sources_) == 2


def test_vectors_can_be_a_path_and_come_from_the_collection(tmp_path) -> None:
    VECTORS.save(tmp_path / "vectors.npz")
    from_file = Cptw(vectors=tmp_path / "vectors.npz", tau=0.7).fit(DOCUMENTS)
    assert from_file.model_id == Cptw(vectors=str(tmp_path / "vectors.npz"), tau=0.7).fit(DOCUMENTS).model_id
    assert from_file.neighbours("ship") == Cptw(vectors=VECTORS, tau=0.7).fit(DOCUMENTS).neighbours("ship")
    assert Cptw(vectors=["lsi", VECTORS]).fit(DOCUMENTS).vector_sources_[0]["source"] == "lsi"


@pytest.mark.parametrize("source", ["lsi", "word2vec", "fasttext"])
def test_vectors_made_from_the_collection_are_reproducible(source: str) -> None:
    documents = ["boats and ships sail the sea", "a ship on the sea", "cats and dogs", "the cat chased a dog"] * 5
    first = Cptw(vectors=source, tau=0.3, n_dimensions=3).fit(documents)
    assert first.model_id == Cptw(vectors=source, tau=0.3, n_dimensions=3).fit(documents).model_id
    assert first.vector_sources_[0]["source"] == source
    if source == "lsi":
        near = [neighbour.term for neighbour in first.neighbours("sea")]
        assert "ship" in near
        assert "cat" not in near


def test_vectors_without_a_word_of_the_collection_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="None of its 1 terms .* Is it the right language"):
        Cptw(vectors=VECTORS).fit(["zeppelin"])


def test_a_missing_vector_file_is_named(tmp_path) -> None:
    with pytest.raises(VectorFileError, match="nowhere.bin"):
        Cptw(vectors=tmp_path / "nowhere.bin").fit(DOCUMENTS)
    with pytest.raises(VectorFileError, match="nowhere.bin"):
        load_vectors(tmp_path / "nowhere.bin")


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"tau": -0.1}, "tau must be a number >= 0 .* Got -0.1"),
        ({"tau": float("nan")}, "tau must be a number >= 0 .* Got nan"),
        ({"tau": "low"}, "tau must be .* or 'adaptive'. Got 'low'"),
        ({"tau": True}, "tau must be .* Got True"),
        ({"max_neighbours": 0}, "max_neighbours must be None or a whole number >= 1. Got 0"),
        ({"min_df": 0}, "min_df must be a whole number >= 1. Got 0"),
        ({"n_dimensions": 1.5}, "n_dimensions must be a whole number >= 1. Got 1.5"),
        ({"k1": -1}, "k1 must be a number >= 0. Got -1"),
        ({"k1": float("inf")}, "k1 must be a number >= 0. Got inf"),
        ({"b": 1.5}, "b must be a number from 0 to 1. Got 1.5"),
        ({"field_weights": {}}, "field_weights must name at least one field"),
        ({"field_weights": {"text": 0}}, "field_weights must map .* > 0. Got 'text': 0"),
        ({"field_weights": {"text": float("inf")}}, "field_weights must map .* Got 'text': inf"),
        ({"vectors": 3}, "vectors must be WordVectors .* Got 3"),
    ],
)
def test_parameters_are_checked_at_fit(parameters: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Cptw(**parameters).fit(DOCUMENTS)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", ["normalization", "weighting", "row_norm", "unknown", "analyzer"])
def test_a_wrong_name_lists_the_choices(name: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{name} must be one of '.*', '.*Got 'wrong'"):
        Cptw(**{name: "wrong"}).fit(DOCUMENTS)  # type: ignore[arg-type]


@pytest.mark.parametrize("option", ["side", "placement"])
def test_a_wrong_option_of_represent_lists_the_choices(option: str) -> None:
    with pytest.raises(UnknownNameError, match=f"{option} must be one of 'both'|{option} must be one of 'document'"):
        Cptw(vectors=None).fit(DOCUMENTS).represent(DOCUMENTS, **{option: "wrong"})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ("one text", "must come as a list .* Got one str instead: put it into a list"),
        ({"text": "one"}, "Got one dict instead"),
        ([3], "Document 0 must be a string or a mapping of fields. Got int"),
        ([b"bytes"], "Document 0 must be a string .* Got bytes"),
        (["boat", None], "Document 1 must be a string .* Got NoneType"),
        ([{"text": 3}], "Field 'text' of document 0 must be a string. Got int"),
        ([{"body": "x"}], r"at least one of the fields 'title', 'text'. Got \['body'\]"),
    ],
)
def test_documents_that_cannot_be_used_are_named(documents: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        Cptw(vectors=None).fit(documents)  # type: ignore[arg-type]
    with pytest.raises(InvalidInputError, match=message):
        Cptw(vectors=None).fit(["boat"]).transform(documents)  # type: ignore[arg-type]


@pytest.mark.parametrize("documents", [[], [""], ["the of and"]])
def test_fit_needs_a_word(documents: list[str]) -> None:
    with pytest.raises(InvalidInputError, match="fit needs at least one document with a word that is counted"):
        Cptw(vectors=None).fit(documents)


def test_empty_and_stop_word_documents_are_rows_of_zeros() -> None:
    model = Cptw(vectors=VECTORS).fit(DOCUMENTS)
    assert model.transform(["", "the of", "\0"]).nnz == 0
    assert model.transform([]).shape == (0, len(model.vocabulary_))


def test_documents_may_come_from_a_generator() -> None:
    rows = Cptw(vectors=VECTORS).fit_transform(text for text in DOCUMENTS)
    assert (rows != Cptw(vectors=VECTORS).fit_transform(DOCUMENTS)).nnz == 0


def test_a_single_text_is_refused_by_fit_transform_too() -> None:
    with pytest.raises(InvalidInputError, match="put it into a list"):
        Cptw(vectors=None).fit_transform("one text")


def test_partial_fit_of_a_model_that_is_not_fitted_fits_a_new_one() -> None:
    model = Cptw(vectors=None)
    assert model.partial_fit(["boat"]).vocabulary_ == ["boat"]
    with pytest.raises(NotFittedError, match="call fit with some texts first"):
        model.transform(["boat"])


def test_partial_fit_leaves_the_old_model_as_it_was() -> None:
    model = Cptw(vectors=None, weighting="idf-input").fit(["boat sea", "boat"])
    before, model_id = model.transform(["sea boat"]).toarray(), model.model_id
    grown = model.partial_fit(["sea", "sea", "new words"])
    assert grown.n_docs_ == 5
    assert grown.df_.tolist() == [2, 3]
    assert grown.model_id != model_id == model.model_id
    np.testing.assert_array_equal(model.transform(["sea boat"]).toarray(), before)


def test_a_function_of_ones_own_analyses() -> None:
    model = Cptw(vectors=None, analyzer=lambda text: text.split("|")).fit(["a b|c"])
    assert model.vocabulary_ == ["a b", "c"]


def test_vectors_with_no_usable_similarity_say_so() -> None:
    with pytest.raises(InvalidInputError, match="(?i)lsi"):
        Cptw(vectors="lsi").fit(["one single document"])
