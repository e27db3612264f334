"""Explanations are exact and marks lie on words, whatever the model and the texts."""

from __future__ import annotations

import math
from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from strategies import NONNEGATIVE_WEIGHTINGS, Case, cases, texts

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.analysis import get_analyzer
from cptw_search.explain import Explanation, explain
from cptw_search.explain_mixed import EXPLAINED_METHODS
from cptw_search.highlight import highlight, snippet, to_html, to_plain, to_rich

# Words that no collection of the strategies holds.
with_unknown_words = st.tuples(texts, st.sampled_from(["", "new", "new new other", "other"])).map(" ".join)


def magnitude(explanation: Explanation) -> float:
    """What rounding is relative to: signed shares may cancel out."""
    return math.fsum(abs(match.share) for match in explanation.matches)


@given(
    case=cases(),
    query=with_unknown_words,
    document=with_unknown_words,
    row_norm=st.sampled_from(["l2", "none"]),
    unknown=st.sampled_from(["keep", "drop"]),
    nonnegative=st.booleans(),
)
def test_the_shares_add_up_to_the_score_of_every_placement(
    case: Case, query: str, document: str, row_norm: str, unknown: str, nonnegative: bool
) -> None:
    model = case.model(row_norm=row_norm, unknown=unknown).fit(case.documents)
    explanation = explain(model, query, document, nonnegative=nonnegative)
    tolerance = 1e-9 * magnitude(explanation) + 1e-300
    assert math.fsum(match.share for match in explanation.matches) == pytest.approx(explanation.score, abs=tolerance)
    assert math.fsum(term.share for term in explanation.query_terms) == pytest.approx(explanation.score, abs=tolerance)
    assert math.fsum(t.share for t in explanation.document_terms()) == pytest.approx(explanation.score, abs=tolerance)
    assert explanation.direct + explanation.propagated == pytest.approx(explanation.score, abs=tolerance)

    counts = model.count([query, document]).matrix
    for placement in ("both", "query", "document"):
        q = model.represent_counts(counts[[0]], "query", placement, nonnegative)
        d = model.represent_counts(counts[[1]], "document", placement, nonnegative)
        assert (q @ d.T).toarray().item() == pytest.approx(explanation.score, rel=1e-9, abs=tolerance)


@given(case=cases(), query=with_unknown_words, document=with_unknown_words)
def test_every_match_is_the_sum_of_its_meetings_and_has_the_cosine_of_its_terms(
    case: Case, query: str, document: str
) -> None:
    model = case.model().fit(case.documents)
    positions = {term: position for position, term in enumerate(model.vocabulary_)}
    similarity = model.similarity_.toarray()
    for match in explain(model, query, document, max_via=100).matches:
        total = math.fsum(meeting.share for meeting in match.via)
        assert total == pytest.approx(match.share, rel=1e-9, abs=1e-9 * sum(abs(m.share) for m in match.via))
        if match.query_term in positions and match.document_term in positions:
            assert match.cosine == similarity[positions[match.query_term], positions[match.document_term]]
        else:
            assert (match.kind, match.cosine) == ("direct", 1.0)
        assert match.document_term in document.split()
        assert match.words == (match.document_term,)


@given(case=cases(weightings=["tf"]), query=texts, document=texts)
def test_query_and_document_may_change_places(case: Case, query: str, document: str) -> None:
    model = case.model().fit(case.documents)
    there = {(m.query_term, m.document_term): m.share for m in explain(model, query, document).matches}
    back = {(m.document_term, m.query_term): m.share for m in explain(model, document, query).matches}
    assert there == pytest.approx(back, rel=1e-9)


@given(case=cases(weightings=["tf", "bm25"]), query=texts, document=texts)
def test_without_neighbours_every_match_is_direct(case: Case, query: str, document: str) -> None:
    explanation = explain(case.model(tau=1.1).fit(case.documents), query, document)
    assert {match.kind for match in explanation.matches} <= {"direct"}
    assert {match.query_term for match in explanation.matches} == set(query.split()) & set(document.split())


@given(
    case=cases(weightings=NONNEGATIVE_WEIGHTINGS),
    query=with_unknown_words,
    method=st.sampled_from(EXPLAINED_METHODS),
    lambda_=st.sampled_from([0.0, 0.3, 1.0]),
    n_known=st.integers(1, 8),
)
def test_the_shares_of_every_hit_add_up_to_its_score(
    case: Case, query: str, method: str, lambda_: float, n_known: int
) -> None:
    model = case.model().fit(case.documents)
    index = EmbeddedIndex(model)
    index.add([f"{text} new" for text in case.documents[:n_known]], progress=False)
    index.add([*case.documents[n_known:], query], progress=False)
    for hit in index.search(query, k=20, method=method, lambda_=lambda_, explain=True):
        explanation = hit.explanation
        assert explanation is not None
        assert explanation.score == pytest.approx(hit.score, rel=1e-9)
        assert math.fsum(match.share for match in explanation.matches) == pytest.approx(hit.score, rel=1e-9)
        assert math.fsum(explanation.parts.values()) == pytest.approx(hit.score, rel=1e-9)
        pairs = [(match.query_term, match.document_term) for match in explanation.matches]
        assert len(pairs) == len(set(pairs))
        words = set(str(hit.fields["text"]).split())
        for term in explanation.query_terms:
            assert (term.count > 0) == (term.term in query.split())
            assert {match.document_term for match in term.matches} <= words


LETTERS = "aAbBßẞéE\u0301ıİΣςﬁ½²™'’＇-.,日本語かﾞ\u3099㍿ー가ㄱㅏ👍🏽👩\u200d🇩🇪\xad\u200b\ufeff \n\t\0\x1b\ud800&<"
odd_texts = st.text(st.sampled_from(LETTERS), max_size=30) | st.text(max_size=20)
analyzers = st.sampled_from(["english", "german", "unicode", "whitespace", "paper", "released"])


@given(name=analyzers, query=odd_texts, before=odd_texts, after=odd_texts, change=st.sampled_from([str, str.upper]))
def test_marks_lie_on_words_of_the_query_in_any_script(
    name: str, query: str, before: str, after: str, change: Callable[[str], str]
) -> None:
    text = before + change(query) + after
    analyzer = get_analyzer(name)
    model = Cptw(vectors=None, analyzer=name).fit(["fitted"])
    spans = highlight(model, query, text)
    ends = [0, *(span.end for span in spans)]
    assert all(end <= span.start < span.end <= len(text) for end, span in zip(ends, spans, strict=False))
    wanted = {analyzer.term(word) for word in analyzer.words(query)} - {None}
    for span in spans:
        assert set(span.terms) <= wanted
        # What is marked, analysed by itself, gives the terms that it was marked for.
        terms = {analyzer.term(word) for word in analyzer.words(text[span.start : span.end])}
        assert set(span.terms) <= terms
    in_text = {analyzer.term(word) for word in analyzer.words(text)} - {None}
    assert {term for span in spans for term in span.terms} == wanted & in_text


@given(name=analyzers, query=odd_texts, before=odd_texts, after=odd_texts, n=st.integers(10, 40))
def test_snippets_keep_their_length_and_their_marks(name: str, query: str, before: str, after: str, n: int) -> None:
    text = f"{before} {query} {after}" * 2
    spans = highlight(Cptw(vectors=None, analyzer=name).fit(["fitted"]), query, text)
    part = snippet(text, spans, n)
    assert len(part.text) <= n
    assert part.text.strip("…") in text
    assert bool(part.spans) == bool(spans)
    marked = {text[span.start : span.end] for span in spans}
    assert all(any(part.text[span.start : span.end] in whole for whole in marked) for span in part.spans)
    assert to_plain(*part).replace("**", "").replace("_", "") == part.text.replace("**", "").replace("_", "")
    assert to_html(*part).count("<mark ") == len(part.spans)
    assert len(to_rich(*part).spans) == len(part.spans)
