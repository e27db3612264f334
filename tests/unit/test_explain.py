"""Explanations of small models whose numbers can be checked by hand."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from cptw_search import Cptw, WordVectors
from cptw_search.errors import InvalidInputError, NotFittedError
from cptw_search.explain import Explanation, Meeting, QueryTermShare, TermMatch, explain

# boat and vessel are far apart, but both are near to ship: cosines 0.8, 0.8 and 0.28.
VECTORS = WordVectors(["boat", "ship", "vessel", "cat"], [[0.6, 0.8], [0.0, 1.0], [-0.6, 0.8], [0.0, -1.0]])
TEXTS = ["boat", "ship", "vessel", "cat"]


def bare_model(**parameters: object) -> Cptw:
    """A model whose M is S itself: shares are whole sums of cosines."""
    settings: dict[str, object] = {"vectors": VECTORS, "tau": 0.5, "normalization": "none", "row_norm": "none"}
    return Cptw(**{**settings, **parameters}).fit(TEXTS)  # type: ignore[arg-type]


def by_document_term(explanation: Explanation, query_term: str) -> dict[str, TermMatch]:
    (term,) = (term for term in explanation.query_terms if term.term == query_term)
    return {match.document_term: match for match in term.matches}


def test_shares_are_the_entries_of_m_times_its_transpose() -> None:
    explanation = explain(bare_model(), "boat", "boat ship vessel cat")
    matches = by_document_term(explanation, "boat")
    assert matches["boat"].share == pytest.approx(1 + 0.8**2)
    assert matches["ship"].share == pytest.approx(0.8 + 0.8)
    assert matches["vessel"].share == pytest.approx(0.8 * 0.8)
    assert "cat" not in matches
    assert explanation.score == pytest.approx(1.64 + 1.6 + 0.64)
    assert explanation.direct == pytest.approx(1.64)
    assert explanation.propagated == pytest.approx(2.24)


def test_the_kind_of_a_match_says_how_the_terms_are_related() -> None:
    matches = by_document_term(explain(bare_model(), "boat", "boat ship vessel"), "boat")
    assert [(matches[term].kind, round(matches[term].cosine, 6)) for term in ("boat", "ship", "vessel")] == [
        ("direct", 1.0),
        ("neighbour", 0.8),
        ("shared neighbours", 0.0),
    ]


def test_via_names_the_terms_where_the_weights_meet_heaviest_first() -> None:
    matches = by_document_term(explain(bare_model(), "boat", "boat ship vessel"), "boat")
    assert [(meeting.term, round(meeting.share, 6)) for meeting in matches["vessel"].via] == [("ship", 0.64)]
    assert [(meeting.term, round(meeting.share, 6)) for meeting in matches["boat"].via] == [
        ("boat", 1.0),
        ("ship", 0.64),
    ]
    assert [meeting.term for meeting in matches["ship"].via] == ["boat", "ship"]


@pytest.mark.parametrize("max_via", [0, 1, 2])
def test_max_via_bounds_the_terms_named(max_via: int) -> None:
    matches = by_document_term(explain(bare_model(), "boat", "boat ship", max_via=max_via), "boat")
    assert [len(match.via) for match in matches.values()] == [max_via, max_via]


def test_unit_length_divides_by_the_lengths_of_the_propagated_rows() -> None:
    explanation = explain(bare_model(row_norm="l2"), "boat", "vessel")
    assert explanation.score == pytest.approx(0.64 / (math.sqrt(1.64) * math.sqrt(1.64)))


def test_query_terms_and_matches_come_heaviest_first_and_equal_ones_by_term() -> None:
    explanation = explain(bare_model(tau=1.1), "cat boat ship ship", "ship boat cat cat cat")
    assert [term.term for term in explanation.query_terms] == ["cat", "ship", "boat"]
    assert [term.count for term in explanation.query_terms] == [1.0, 2.0, 1.0]
    equal = explain(bare_model(), "ship", "vessel boat")
    assert [match.document_term for match in equal.query_terms[0].matches] == ["boat", "vessel"]


def test_an_unknown_word_matches_itself_alone() -> None:
    explanation = explain(bare_model(), "yacht boat kayak", "yacht")
    matches = by_document_term(explanation, "yacht")
    assert matches == {"yacht": TermMatch("yacht", "yacht", ("yacht",), 1.0, 1.0, (Meeting("yacht", 1.0),))}
    assert by_document_term(explanation, "kayak") == {}
    assert explanation.score == 1.0


def test_a_dropped_unknown_word_is_no_part_of_the_explanation() -> None:
    assert explain(bare_model(unknown="drop"), "yacht", "yacht").query_terms == ()


def test_a_word_of_every_document_is_listed_although_it_weighs_nothing() -> None:
    model = Cptw(vectors=None, weighting="idf-input").fit(["sea boat", "sea ship"])
    sea = by_document_term(explain(model, "sea", "the sea"), "sea")["sea"]
    assert (sea.kind, sea.share, sea.via) == ("direct", 0.0, ())


def test_terms_keep_the_words_of_the_texts_most_frequent_first() -> None:
    explanation = explain(bare_model(), "Boats!", "A ship, two SHIPS, three ships")
    (term,) = explanation.query_terms
    assert (term.term, term.words) == ("boat", ("boats",))
    assert term.matches[0].words == ("ships", "ship")


def test_stop_words_are_no_terms() -> None:
    assert explain(bare_model(), "the and", "the boat") == Explanation(0.0, (), {"cptw": 0.0})


def test_a_document_without_a_word_leaves_query_terms_without_matches() -> None:
    unmatched = QueryTermShare("boat", ("boat",), 1.0, 0.0, ())
    assert explain(bare_model(), "boat", "") == Explanation(0.0, (unmatched,), {"cptw": 0.0})


def test_fields_of_documents_count_with_their_weights() -> None:
    model = bare_model(tau=1.1, field_weights={"title": 3.0, "text": 1.0})
    document = {"title": "Boats", "text": "a boat", "author": "cat"}
    explanation = explain(model, "boat cat", document)
    assert explanation.score == 4.0
    assert by_document_term(explanation, "boat")["boat"].words == ("boats", "boat")
    assert explain(model, {"text": "boat"}, {"title": "boat"}).score == 3.0


def test_document_terms_take_the_same_score_apart() -> None:
    explanation = explain(bare_model(), "boat vessel", "ship ship boat")
    terms = explanation.document_terms()
    assert [(term.term, term.kind) for term in terms] == [("ship", "propagated"), ("boat", "direct")]
    assert [round(term.share, 6) for term in terms] == [2 * 3.2, 1.64 + 0.64]
    assert [match.query_term for match in terms[0].matches] == ["boat", "vessel"]
    assert sum(term.share for term in terms) == pytest.approx(explanation.score)


def test_signed_weightings_give_negative_shares_and_max_m_0_takes_them_away() -> None:
    model = Cptw(vectors=VECTORS, tau=0.5, weighting="idf-equation", normalization="sum").fit(["boat ship", "ship cat"])
    assert min(match.share for match in explain(model, "ship", "boat ship").matches) < 0
    assert all(match.share >= 0 for match in explain(model, "ship", "boat ship", nonnegative=True).matches)


def test_to_dict_is_json_and_says_all() -> None:
    data = json.loads(json.dumps(explain(bare_model(), "boats", "vessel").to_dict()))
    assert data["score"] == pytest.approx(0.64)
    assert (data["direct"], data["propagated"], data["learned"]) == (0.0, pytest.approx(0.64), 0.0)
    assert data["parts"] == {"cptw": data["score"]}
    (term,) = data["query_terms"]
    assert {key: term[key] for key in ("term", "words", "count")} == {"term": "boat", "words": ["boats"], "count": 1.0}
    (match,) = term["matches"]
    assert match == {
        "document_term": "vessel",
        "words": ["vessel"],
        "kind": "shared neighbours",
        "cosine": 0.0,
        "share": pytest.approx(0.64),
        "via": [{"term": "ship", "share": pytest.approx(0.64)}],
    }


def test_a_loaded_model_explains_alike(tmp_path: object) -> None:
    model = bare_model()
    model.save(f"{tmp_path}/model")
    query, document = "boat yacht", "ship vessel yacht"
    assert explain(Cptw.load(f"{tmp_path}/model"), query, document) == explain(model, query, document)


def test_the_rows_of_m_are_enough() -> None:
    """An explanation of a few words must not cost what all of M costs."""
    n_terms = 2000
    words = [f"w{number}" for number in range(n_terms)]
    rng = np.random.default_rng(0)
    model = Cptw(vectors=WordVectors(words, rng.normal(size=(n_terms, 8))), tau=0.6).fit(words)
    explanation = explain(model, "w1 w2", " ".join(words[:50]))
    by_product = model.transform_query(["w1 w2"]) @ model.transform([" ".join(words[:50])]).T
    assert explanation.score == pytest.approx(by_product.toarray().item(), rel=1e-12)


@pytest.mark.parametrize(
    ("query", "document", "message"),
    [
        (["boat"], "boat", "query must be a string or a mapping of fields. Got list instead"),
        ("boat", None, "document must be a string or a mapping of fields. Got NoneType instead"),
        ("boat", {"body": "boat"}, "must have at least one of the fields 'title', 'text'"),
    ],
)
def test_what_is_no_text_is_refused(query: object, document: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        explain(bare_model(), query, document)  # type: ignore[arg-type]


@pytest.mark.parametrize("max_via", [-1, 1.5, True])
def test_max_via_must_be_a_whole_number(max_via: object) -> None:
    with pytest.raises(InvalidInputError, match=r"max_via must be a whole number >= 0\. Got"):
        explain(bare_model(), "boat", "boat", max_via=max_via)  # type: ignore[arg-type]


def test_a_model_has_to_be_fitted() -> None:
    with pytest.raises(NotFittedError, match="must be fitted"):
        explain(Cptw(vectors=None), "boat", "boat")
