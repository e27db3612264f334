"""Marks stand where a reader expects them, whatever folding does to a text."""

from __future__ import annotations

import pytest

from cptw_search import Cptw, WordVectors
from cptw_search.errors import InvalidInputError, UnknownNameError
from cptw_search.explain import explain
from cptw_search.explain_mixed import Mixture, explain_mixture
from cptw_search.highlight import Span, find_spans, highlight, printable, snippet, to_html, to_plain, to_rich

VECTORS = WordVectors(["boat", "ship", "vessel", "cat"], [[0.6, 0.8], [0.0, 1.0], [-0.6, 0.8], [0.0, -1.0]])


@pytest.fixture(scope="module")
def model() -> Cptw:
    return Cptw(vectors=VECTORS, tau=0.5).fit(["boat", "ship", "vessel", "cat"])


def marked(analyzer: object, query: str, text: str) -> str:
    model = Cptw(vectors=None, analyzer=analyzer).fit([query])  # type: ignore[arg-type]
    return to_plain(text, highlight(model, query, text))


def test_direct_and_propagated_words_are_told_apart(model: Cptw) -> None:
    text = "Boats and ships, a vessel and a cat."
    spans = highlight(model, "boat", text)
    assert [(text[span.start : span.end], span.kind, span.query_term) for span in spans] == [
        ("Boats", "direct", "boat"),
        ("ships", "propagated", "boat"),
        ("vessel", "propagated", "boat"),
    ]
    by_term = {term.term: term.share for term in explain(model, "boat", text).document_terms()}
    assert [(span.terms, span.share) for span in spans] == [
        ((term,), pytest.approx(by_term[term])) for term in ("boat", "ship", "vessel")
    ]


def test_a_propagated_word_names_the_query_term_that_gives_it_most(model: Cptw) -> None:
    (span,) = highlight(model, "boat vessel vessel cat", "ship")
    assert span.query_term == "vessel"


def test_a_word_of_the_query_is_direct_even_if_another_gives_it_more(model: Cptw) -> None:
    (span,) = highlight(model, "boat ship ship ship", "boat")
    assert (span.kind, span.query_term) == ("direct", "boat")


def test_min_share_leaves_out_light_words_but_no_direct_ones(model: Cptw) -> None:
    text = "boat " * 30 + "vessel ship"
    assert {span.kind for span in highlight(model, "boat", text, min_share=0)} == {"direct", "propagated"}
    assert {span.kind for span in highlight(model, "boat", text, min_share=0.2)} == {"direct"}
    assert [span.kind for span in highlight(model, "boat", "boat " + "ship " * 50, min_share=1)] == ["direct"]


def test_a_word_that_was_only_learned_is_not_marked(model: Cptw) -> None:
    text = "A boat, a ship and a mast."
    mixture = Mixture(cptw=0.5, bm25=0.1, learned={"mast": 2.0, "ship": 2.0})
    explanation = explain_mixture(model, "boats", text, mixture)
    assert to_plain(text, find_spans(model, explanation, text)) == "A **boat**, a _ship_ and a mast."
    _, ship = find_spans(model, explanation, text)
    assert ship.query_term == "boat"


def test_a_word_that_lowers_the_score_is_not_marked() -> None:
    model = Cptw(vectors=VECTORS, tau=0.5, weighting="idf-equation", normalization="sum").fit(["boat ship", "ship cat"])
    shares = {term.term: term.share for term in explain(model, "boat", "boat ship").document_terms()}
    assert shares["ship"] < 0
    assert to_plain("boat ship", highlight(model, "boat", "boat ship")) == "**boat** ship"
    nonnegative = highlight(model, "boat", "boat ship", nonnegative=True)
    assert to_plain("boat ship", nonnegative).startswith("**boat**")


def test_a_field_is_marked_by_the_explanation_of_the_whole_document(model: Cptw) -> None:
    document = {"title": "A ship", "text": "The boat and the cat"}
    explanation = explain(model, "boat", document)
    assert to_plain("A ship", find_spans(model, explanation, "A ship")) == "A _ship_"
    assert to_plain(document["text"], find_spans(model, explanation, document["text"])) == "The **boat** and the cat"


def test_nothing_is_marked_without_a_match(model: Cptw) -> None:
    assert highlight(model, "boat", "the cat") == []
    assert highlight(model, "", "the cat") == []
    assert highlight(model, "boat", "") == []


@pytest.mark.parametrize(
    ("analyzer", "query", "text", "expected"),
    [
        ("english", "sail", "“Sailing”, (SAILED)! resail", "“**Sailing**”, (**SAILED**)! resail"),
        ("english", "sailing", "sail\xading \ufeffsail", "**sail\xading** \ufeff**sail**"),
        ("english", "café", "CAFE\u0301s, cafe", "**CAFE\u0301s**, cafe"),
        ("english", "o'neill", "O’Neill’s boat, O＇NEILL", "**O’Neill’s** boat, **O＇NEILL**"),
        ("english", "boat", "boat's 'boat' boat’", "**boat's** '**boat**' **boat**’"),
        ("unicode", "strasse", "Straße STRASSE", "**Straße** **STRASSE**"),
        ("unicode", "file", "ﬁle, ﬁles", "**ﬁle**, ﬁles"),
        ("unicode", "boattm", "(Boat™)", "(**Boat™**)"),
        ("unicode", "가", "ㄱㅏ \u1100\u1161 나", "**ㄱㅏ** **\u1100\u1161** 나"),
        ("unicode", "2", "1½ 2nd 2", "**1½** 2nd **2**"),
        ("unicode", "👍 👩", "👍🏽boat 👨\u200d👩\u200d👧", "**👍🏽**boat **👨\u200d👩\u200d👧**"),
        ("unicode", "🇩🇪", "🇫🇷🇩🇪🇫🇷", "🇫🇷**🇩🇪**🇫🇷"),
        ("paper", "ve don", "naïve don't", "naï**ve** **don**'t"),
        ("released", "'tis", "('tis) tis", "(**'tis**) tis"),
        ("whitespace", "boat,", "boat, boat (boat,)", "**boat,** boat (boat,)"),
        ("whitespace", "boat", "boat\0boat\x1fBoat", "**boat**\0**boat**\x1fBoat"),
        (lambda text: [text[i : i + 3] for i in range(len(text) - 2)], "boa", "a boat", "a **boat**"),
    ],
)
def test_words_are_found_in_the_original(analyzer: object, query: str, text: str, expected: str) -> None:
    assert marked(analyzer, query, text) == expected


@pytest.mark.parametrize(
    ("query", "text", "expected"),
    [
        ("日本", "これは日本語です", "これは**日本**語です"),
        ("日本語", "これは日本語です。本語", "これは**日本語**です。**本語**"),
        ("日本 本国", "日本語本国", "**日本**語**本国**"),
        ("がん", "か\u3099んばる ｶﾞﾝ がん", "**か\u3099ん**ばる ｶﾞﾝ **がん**"),
        ("会社ソニー", "㍿ソニー", "**㍿ソニー**"),
        ("社ソ", "(㍿ソニー)", "(**㍿ソ**ニー)"),
        ("語", "語 日本語", "**語** 日本語"),
        ("日本", "boat日本boat", "boat**日本**boat"),
    ],
)
def test_pairs_of_characters_mark_their_characters(query: str, text: str, expected: str) -> None:
    assert marked("unicode", query, text) == expected


def test_overlapping_pairs_become_one_span_with_the_share_of_all() -> None:
    model = Cptw(vectors=None, analyzer="unicode").fit(["日本語"])
    (span,) = highlight(model, "日本語", "日本語")
    assert (span.start, span.end, span.terms) == (0, 3, ("日本", "本語"))
    assert span.share == pytest.approx(1.0)
    (repeated,) = highlight(model, "人人", "人人人")
    assert (repeated.end, repeated.terms, repeated.share) == (3, ("人人",), pytest.approx(1.0))


def test_where_direct_and_propagated_pairs_overlap_the_direct_one_wins() -> None:
    vectors = WordVectors(["日本", "本語", "語学"], [[1, 0], [0.9, 0.1], [0.9, 0.2]])
    model = Cptw(vectors=vectors, tau=0.5, analyzer="unicode").fit(["日本 本語 語学"])
    assert to_plain("日本語学", highlight(model, "日本", "日本語学")) == "**日本**_語学_"
    assert to_plain("日本語学", highlight(model, "語学", "日本語学")) == "_日本_**語学**"
    assert to_plain("日本語学", highlight(model, "本語", "日本語学")) == "_日_**本語**_学_"
    assert to_plain("日本語", highlight(model, "本語 日本", "日本語")) == "**日本語**"


def test_a_direct_match_inside_the_same_characters_replaces_a_propagated_one() -> None:
    vectors = WordVectors(["👨", "👩"], [[1, 0], [0.9, 0.1]])
    model = Cptw(vectors=vectors, tau=0.5, analyzer="unicode").fit(["👨 👩"])
    family = "👨\u200d👩"
    assert [span.kind for span in highlight(model, "👩", family)] == ["direct"]
    assert [span.kind for span in highlight(model, "👨", family)] == ["direct"]


@pytest.mark.parametrize("min_share", [-0.1, 1.1, float("nan"), "1", True])
def test_min_share_is_a_part(model: Cptw, min_share: object) -> None:
    with pytest.raises(InvalidInputError, match=r"min_share must be a number from 0 to 1\. Got"):
        highlight(model, "boat", "boat", min_share=min_share)  # type: ignore[arg-type]


def test_a_document_with_fields_is_refused_with_the_way_out(model: Cptw) -> None:
    with pytest.raises(InvalidInputError, match=r"text must be a string\. Got dict instead.*find_spans"):
        highlight(model, "boat", {"text": "boat"})  # type: ignore[arg-type]


# Snippets ---------------------------------------------------------------------------------------------------------------


def test_a_short_text_is_its_own_snippet(model: Cptw) -> None:
    spans = highlight(model, "boat", "a boat")
    assert snippet("a boat", spans) == ("a boat", spans)


def test_a_snippet_shows_the_part_with_the_largest_share() -> None:
    text = "one ship " + "x " * 100 + "the boat with the ship here " + "y " * 100 + "a boat"
    spans = [
        Span(start, start + 4, kind, "boat", share, (word,))
        for word, kind, share in (("ship", "propagated", 0.2), ("boat", "direct", 0.5))
        for start in range(len(text))
        if text.startswith(word, start)
    ]
    assert to_plain(*snippet(text, spans, 40)) == "…x x x the **boat** with the _ship_ here y y…"


def test_a_term_counts_once_in_a_window_and_the_first_of_equals_wins() -> None:
    text = "cat boat cat cat".ljust(60, ".") + "boat cat"
    spans = [Span(5, 9, "direct", "boat", 0.5, ("boat",)), Span(60, 64, "direct", "boat", 0.5, ("boat",))]
    spans += [Span(i, i + 3, "direct", "cat", 0.4, ("cat",)) for i in (0, 9 + 1, 13 + 1, 65)]
    part = snippet(text, spans, 20)
    assert part.text.startswith("cat boat cat")
    assert [span.terms[0] for span in part.spans] == ["cat", "boat", "cat", "cat"]


def test_direct_matches_without_a_share_still_draw_the_window() -> None:
    text = "x " * 50 + "sea" + " y" * 50
    part = snippet(text, [Span(100, 103, "direct", "sea", 0.0, ("sea",))], 20)
    assert to_plain(*part) == "…x x x **sea** y y y y…"


def test_a_snippet_at_the_end_of_a_text_has_one_ellipsis() -> None:
    part = snippet("x " * 50 + "boat", [Span(100, 104, "direct", "boat", 1.0, ("boat",))], 16)
    assert to_plain(*part) == "…x x x x x **boat**"


def test_without_marks_a_snippet_is_the_beginning() -> None:
    assert snippet("word " * 20, [], 14) == ("word word…", [])


def test_a_mark_longer_than_the_snippet_is_cut() -> None:
    part = snippet("x" * 50, [Span(5, 45, "direct", "x", 1.0, ("x",))], 12)
    assert part.text == "…" + "x" * 10 + "…"
    assert [(span.start, span.end) for span in part.spans] == [(1, 11)]


def test_a_text_without_spaces_is_not_cut_before_a_combining_mark() -> None:
    text = "か\u3099" * 40 + "日本" + "か\u3099" * 40
    for n in range(20, 30):
        part = snippet(text, [Span(80, 82, "direct", "日本", 1.0, ("日本",))], n)
        assert len(part.text) <= n
        assert part.text.startswith("…か\u3099")
        assert part.text.endswith("\u3099…")
    nothing_but_marks = snippet("\u3099" * 50, [], 20)
    assert len(nothing_but_marks.text) <= 20


def test_a_far_space_does_not_shorten_a_snippet() -> None:
    assert snippet("a " + "b" * 100, [], 50).text == "a " + "b" * 46 + "…"


@pytest.mark.parametrize("n", [9, 20.0, True])
def test_a_snippet_needs_some_characters(n: object) -> None:
    with pytest.raises(InvalidInputError, match=r"max_characters must be a whole number >= 10\. Got"):
        snippet("text", [], n)  # type: ignore[arg-type]


# Rendering --------------------------------------------------------------------------------------------------------------

SPANS = [Span(0, 4, "direct", "boat", 0.5, ("boat",)), Span(7, 11, "propagated", "boat", 0.2, ("ship",))]


def test_html_is_escaped_inside_and_outside_of_marks() -> None:
    assert to_html("b<\"t & '>i'", SPANS) == (
        '<mark class="direct">b&lt;&quot;t</mark> &amp; <mark class="propagated">&#x27;&gt;i&#x27;</mark>'
    )


def test_rich_text_has_both_styles_and_sends_no_control_characters() -> None:
    text = to_rich("boat\r\x1b ship\x9b", SPANS)
    assert text.plain == "boat␍␛ ship�"
    assert [(span.start, span.end, span.style) for span in text.spans] == [
        (0, 4, "bold green"),
        (7, 11, "underline cyan"),
    ]


def test_the_order_of_spans_does_not_matter() -> None:
    assert to_plain("boat & ship", SPANS[::-1]) == "**boat** & _ship_"


@pytest.mark.parametrize(
    "spans",
    [
        [Span(0, 12, "direct", "boat", 0.5, ())],
        [Span(-1, 3, "direct", "boat", 0.5, ())],
        [Span(3, 3, "direct", "boat", 0.5, ())],
        [Span(0, 4, "direct", "boat", 0.5, ()), Span(3, 5, "direct", "boat", 0.5, ())],
    ],
)
def test_spans_of_another_text_are_refused(spans: list[Span]) -> None:
    with pytest.raises(
        InvalidInputError, match=r"inside the text, which has 11 characters, and must not overlap\. Got"
    ):
        to_html("boat & ship", spans)


def test_a_kind_that_does_not_exist_is_refused() -> None:
    with pytest.raises(UnknownNameError, match="kind of a span must be one of 'direct', 'propagated'"):
        to_plain("boat", [Span(0, 4, "neighbour", "boat", 0.5, ())])


def test_printable_keeps_the_length_tabs_and_line_feeds() -> None:
    everything = "".join(map(chr, range(0x100)))
    shown = printable(everything)
    assert len(shown) == len(everything)
    assert {character for character in shown if ord(character) < 32} == {"\t", "\n"}
    assert printable("a\ud800") == "a�"
    assert printable("naïve\u00a0日本") == "naïve\u00a0日本"
