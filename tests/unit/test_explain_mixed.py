"""Scores that are mixtures: every share is there, and they add up to what the engine says."""

from __future__ import annotations

import functools
import itertools
import math

import numpy as np
import pytest

from cptw_search import Cptw, EmbeddedIndex, WordVectors
from cptw_search.backend import METHODS
from cptw_search.errors import InvalidInputError
from cptw_search.explain import Explanation, Meeting, QueryTermShare, TermMatch, explain
from cptw_search.explain_mixed import EXPLAINED_METHODS, Mixture, explain_mixture, mix

WORDS = [f"w{number}" for number in range(30)]


def random_documents(seed: int, n: int = 40) -> list[dict[str, object]]:
    random = np.random.default_rng(seed)
    documents: list[dict[str, object]] = []
    for number in range(n):
        words = [WORDS[int(random.zipf(1.5) * random.integers(1, 7)) % 30] for _ in range(random.integers(3, 15))]
        documents.append({"id": str(number), "text": " ".join([*words, f"new{number % 7}"]), "label": "ab"[number % 2]})
    return documents


@functools.cache
def random_index(seed: int, placement: str = "query", **parameters: object) -> EmbeddedIndex:
    """Several segments, some documents deleted, words without vectors and words that the model does not know."""
    vectors = WordVectors(WORDS[:25], np.random.default_rng(seed).normal(size=(25, 4)))
    documents = random_documents(seed)
    settings: dict[str, object] = {"vectors": vectors, "tau": 0.6, "analyzer": "whitespace", **parameters}
    model = Cptw(**settings).fit(documents[:25])  # type: ignore[arg-type]
    index = EmbeddedIndex(model, placement=placement)
    for start, end in itertools.pairwise((0, 25, 35, 40)):
        index.add(documents[start:end])
    index.delete(["3", "30"])
    return index


def check(explanation: Explanation | None, score: float, tolerance: float) -> None:
    assert explanation is not None
    total = pytest.approx(score, rel=tolerance)
    assert explanation.score == total
    assert math.fsum(match.share for match in explanation.matches) == total
    assert math.fsum(term.share for term in explanation.query_terms) == total
    assert math.fsum(term.share for term in explanation.document_terms()) == total
    assert math.fsum(explanation.parts.values()) == total
    assert explanation.direct + explanation.propagated + explanation.learned == total


# A float32 holds a propagated document's weights, while counts are whole numbers.
@pytest.mark.parametrize(("placement", "tolerance"), [("query", 1e-9), ("both", 1e-6), ("document", 1e-6)])
@pytest.mark.parametrize("method", EXPLAINED_METHODS)
@pytest.mark.parametrize("condition", [None, {"label": "a"}])
def test_shares_add_up_to_the_score_of_the_engine(
    placement: str, tolerance: float, method: str, condition: dict[str, str] | None
) -> None:
    n_hits = 0
    for seed in range(3):
        index = random_index(seed, placement)
        for query, lambda_ in (("w1 w2 w2 new1", 0.3), ("w3 w12", 0.0), ("w4 w5 nowhere", 1.0), ("w27", 0.5)):
            hits = index.search(query, k=10, method=method, lambda_=lambda_, filter=condition, explain=True)
            n_hits += len(hits)
            plain = index.search(query, k=10, method=method, lambda_=lambda_, filter=condition)
            assert [(hit.id, hit.score) for hit in hits] == [(hit.id, hit.score) for hit in plain]
            for hit in hits:
                check(hit.explanation, hit.score, tolerance)
    assert n_hits > 30


@pytest.mark.parametrize("method", EXPLAINED_METHODS)
def test_weighted_fields_and_documents_as_queries(method: str) -> None:
    model = Cptw(vectors=None, field_weights={"title": 2.0, "text": 1.0}).fit(["a boat at sea", "the ship", "a boat"])
    documents = [
        {"id": "a", "title": "Boats", "text": "boats at sea"},
        {"id": "b", "title": "", "text": "A ship. The ship!"},
        {"id": "c", "text": "sea and sky"},
    ]
    index = EmbeddedIndex.build(model, documents)
    for query in ("boat", {"title": "sea", "text": "a ship"}):
        for hit in index.search(query, method=method, explain=True):
            check(hit.explanation, hit.score, 1e-9)


def test_parts_are_those_of_the_method() -> None:
    index = random_index(0)
    query = "w1 w2 new1"

    def parts(method: str, **options: float) -> list[dict[str, float]]:
        hits = index.search(query, k=50, method=method, explain=True, **options)  # type: ignore[arg-type]
        return [dict(hit.explanation.parts) for hit in hits if hit.explanation is not None]

    alone = {
        method: {hit.id: hit.score for hit in index.search(query, k=50, method=method)} for method in ("cptw", "bm25")
    }
    assert all(set(found) == {"cptw"} for found in parts("cptw"))
    assert all(set(found) == {"bm25"} for found in parts("bm25"))
    assert all(set(found) == {"bm25"} for found in parts("hybrid", lambda_=0.0))
    assert all(set(found) == {"cptw", "bm25", "learned"} for found in parts("hybrid+feedback"))
    for hit in index.search(query, k=50, method="hybrid", lambda_=0.4, explain=True):
        assert hit.explanation is not None
        assert hit.explanation.parts == pytest.approx(
            {
                name: share * alone[name].get(hit.id, 0.0) / max(alone[name].values())
                for name, share in (("cptw", 0.4), ("bm25", 0.6))
            }
        )


@pytest.fixture
def harbour() -> EmbeddedIndex:
    vectors = WordVectors(["boat", "ship", "cat"], [[1.0, 0.0], [0.8, 0.6], [-1.0, 1.0]])
    texts = ["A boat in the harbour, a captain", "Ships and a captain", "A captain without", "my cat", "a dog"]
    return EmbeddedIndex.build(Cptw(vectors=vectors, tau=0.5).fit(texts), texts)


def test_learned_words_are_named_and_those_of_the_query_are_one_with_it(harbour: EmbeddedIndex) -> None:
    hits = {hit.id: hit.explanation for hit in harbour.search("boats", explain=True)}
    assert set(hits) == {"0", "1", "2"}
    taught, similar, only_learned = hits["0"], hits["1"], hits["2"]
    assert taught is not None
    assert similar is not None
    assert only_learned is not None
    found = {term.term: term for term in taught.query_terms}
    assert set(found) == {"boat", "harbour", "captain"}
    assert (found["boat"].count, found["boat"].words) == (1.0, ("boats",))
    assert [match.kind for match in found["boat"].matches] == ["direct"]
    assert (found["captain"].count, found["captain"].words) == (0.0, ())
    assert [(match.kind, match.words) for match in found["captain"].matches] == [("learned", ("captain",))]
    # boat was learned, too, but it is no new word
    assert taught.parts["learned"] > taught.learned > 0
    assert {(match.query_term, match.document_term, match.kind) for match in similar.matches} == {
        ("boat", "ship", "neighbour"),
        ("ship", "ship", "learned"),
        ("captain", "captain", "learned"),
    }
    kinds = {term.term: term.kind for term in similar.document_terms()}
    assert kinds == {"ship": "propagated", "captain": "learned"}
    assert only_learned.score == only_learned.learned
    assert [term.term for term in only_learned.query_terms if not term.matches] == ["boat"]


def test_a_negative_score_of_cptw_counts_as_nothing_in_a_mixture() -> None:
    vectors = WordVectors(["boat", "ship", "cat"], [[1.0, 0.0], [0.8, 0.6], [-1.0, 1.0]])
    texts = ["boat ship", "ship", *["ship cat"] * 6]  # ship is in all of them: its weights are negative
    model = Cptw(vectors=vectors, tau=0.5, weighting="idf-equation", normalization="sum").fit(texts)
    assert explain(model, "boat cat", "ship cat").score < 0
    index = EmbeddedIndex.build(model, texts)
    for method in ("hybrid", "hybrid+feedback"):
        hits = {hit.id: hit for hit in index.search("boat cat", method=method, explain=True)}
        assert set(hits) >= {"0", "2", "7"}
        for hit in hits.values():
            check(hit.explanation, hit.score, 1e-9)
        first, second = hits["0"].explanation, hits["2"].explanation
        assert first is not None
        assert second is not None
        assert first.parts["cptw"] > 0
        assert min(match.share for match in first.matches) < 0
        assert second.parts["cptw"] == 0.0
        assert all(match.share > 0 and match.kind in ("direct", "learned") for match in second.matches)


def test_mixing_scales_adds_and_sorts() -> None:
    sea = TermMatch("boat", "sea", ("sea",), 0.5, 0.25, (Meeting("sea", 0.125),))
    boat = TermMatch("boat", "boat", ("boats",), 1.0, 0.125, ())
    query_terms = (
        QueryTermShare("boat", ("boat",), 2.0, 0.375, (sea, boat)),
        QueryTermShare("sky", ("skies",), 1.0, 0.0, ()),
    )
    mixed = mix(
        Explanation(0.375, query_terms, {"cptw": 0.375}),
        2.0,
        bm25={"boat": 1.0, "sky": 0.5},
        learned={"boat": 0.25, "mast": 2.0},
        words={"mast": ("masts",)},
    )
    assert mixed == Explanation(
        4.5,
        (
            QueryTermShare("boat", ("boat",), 2.0, 2.0, mixed.query_terms[0].matches),
            QueryTermShare("mast", (), 0.0, 2.0, (TermMatch("mast", "mast", ("masts",), 1.0, 2.0, (), True),)),
            QueryTermShare("sky", ("skies",), 1.0, 0.5, (TermMatch("sky", "sky", ("sky",), 1.0, 0.5, ()),)),
        ),
        {"cptw": 0.75, "bm25": 1.5, "learned": 2.25},
    )
    assert mixed.query_terms[0].matches == (
        TermMatch("boat", "boat", ("boats",), 1.0, 1.5, ()),
        TermMatch("boat", "sea", ("sea",), 0.5, 0.5, (Meeting("sea", 0.25),)),
    )


def test_without_cptw_only_the_words_themselves_are_left(harbour: EmbeddedIndex) -> None:
    explanation = explain_mixture(harbour.model, "boat cat", "a ship and a boat", Mixture(bm25=1.0))
    assert [(match.kind, match.document_term) for match in explanation.matches] == [("direct", "boat")]
    assert [term.term for term in explanation.query_terms] == ["boat", "cat"]


def test_what_a_hit_learned_is_in_its_dict(harbour: EmbeddedIndex) -> None:
    explanation = harbour.search("boat", explain=True)[0].explanation
    assert explanation is not None
    data = explanation.to_dict()
    assert data["learned"] == explanation.learned > 0
    assert data["parts"] == explanation.parts


@pytest.mark.parametrize("method", sorted(set(METHODS) - set(EXPLAINED_METHODS)))
def test_other_methods_are_refused_and_the_possible_ones_named(harbour: EmbeddedIndex, method: str) -> None:
    with pytest.raises(InvalidInputError, match=r"'cptw', 'bm25', 'hybrid', 'hybrid\+feedback'.*Got '") as caught:
        harbour.search("boat", method=method, explain=True)
    assert repr(method) in str(caught.value)


def test_an_empty_index_has_nothing_to_explain(harbour: EmbeddedIndex) -> None:
    for method in EXPLAINED_METHODS:
        assert EmbeddedIndex(harbour.model).search("boat", method=method, explain=True) == []
        assert harbour.search("the", method=method, explain=True) == []
