import json
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cptw_search.analysis import MAX_TERM_LENGTH, Analyzer, CallableAnalyzer, analyzer_names, get_analyzer
from cptw_search.errors import InvalidInputError, MissingExtraError, UnknownNameError


def tokens(name: str, text: str) -> list[str]:
    analyzer = get_analyzer(name)
    assert isinstance(analyzer, Analyzer)
    return analyzer.tokens(text)


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("english", "The Boats were sailing, weren't they?", ["boat", "sail"]),
        ("english", "The captain's ships; the ships' captain", ["captain", "ship", "ship", "captain"]),
        ("english", "vitamin D and plan B", ["vitamin", "d", "plan", "b"]),
        ("english", "state-of-the-art e-mail_address", ["state", "art", "e", "mail", "address"]),
        ("unicode", "The Boats", ["the", "boats"]),
        ("unicode", "l’homme O'Neill 'quoted'", ["l'homme", "o'neill", "quoted"]),
        ("whitespace", "The  Boats\n(sailing)", ["The", "Boats", "(sailing)"]),
        ("paper", "It's U.S. Route-66: boats & ships", ["route", "66", "boats", "ships"]),
        ("released", "It's Route-66: boat's", ["route", "boat's"]),
        ("german", "Häuser der Städte", ["haus", "der", "stadt"]),
        ("porter", "relational", ["relat"]),
    ],
)
def test_named_analyzers(name: str, text: str, expected: list[str]) -> None:
    assert tokens(name, text) == expected


@pytest.mark.parametrize(
    ("what", "text", "expected"),
    [
        ("composed and decomposed letters", "caf\u00e9 cafe\u0301", ["café", "café"]),
        ("marks that have no composed form", "हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("full-width letters and ligatures", "ＡＢＣ ﬁsh", ["abc", "fish"]),
        ("case folding beyond lower()", "Straße STRASSE", ["strasse", "strasse"]),
        ("soft hyphen and zero-width joiner", "bo\u00adat می\u200cخواهم", ["boat", "میخواهم"]),
        ("emoji", "ship🚢⚓ ok", ["ship", "🚢", "⚓", "ok"]),
        ("skin tones, joined emoji, flags", "👍🏽 👩\u200d🚀 🇩🇰", ["👍", "👩", "🚀", "🇩🇰"]),
        ("no words in signs", "© ® … — «»", []),
        ("Chinese in pairs", "信息检索", ["信息", "息检", "检索"]),
        ("a single Chinese character", "船 ship", ["船", "ship"]),
        ("Chinese beside Latin", "用Python写", ["用", "python", "写"]),
        ("Katakana with its long mark", "データ", ["デー", "ータ"]),
        ("Hangul has spaces", "정보 검색", ["정보", "검색"]),
        ("NUL separates", "boat\0ship é\0x", ["boat", "ship", "é", "x"]),
        ("lone surrogates separate", "boat\ud800ship", ["boat", "ship"]),
        ("digits of any script", "٣ 3", ["٣", "3"]),
        ("nothing", "", []),
        ("white space of all kinds", " \t\n\u2003", []),
    ],
)
def test_unicode_words(what: str, text: str, expected: list[str]) -> None:
    assert tokens("unicode", text) == expected, what


def test_whitespace_keeps_everything_but_what_cannot_be_stored() -> None:
    assert tokens("whitespace", "a\0b c\ud800d \u0301") == ["a", "b", "c\ufffdd", "\u0301"]


@pytest.mark.parametrize("name", ["english", "unicode", "whitespace", "paper", "released"])
def test_a_document_of_ten_megabytes_is_one_document(name: str) -> None:
    assert len(tokens(name, "boat " * 2_000_000)) == 2_000_000


@pytest.mark.parametrize("name", ["english", "unicode", "whitespace", "paper", "released"])
def test_a_word_of_ten_megabytes_is_cut(name: str) -> None:
    assert tokens(name, "q" * 10_000_000) == ["q" * MAX_TERM_LENGTH]


@given(text=st.text(st.characters(exclude_categories=[])))
@pytest.mark.parametrize("name", ["english", "unicode", "whitespace", "paper", "released", "russian"])
def test_any_text_gives_terms_that_can_be_stored(name: str, text: str) -> None:
    for term in tokens(name, text):
        assert 0 < len(term) <= MAX_TERM_LENGTH
        assert not {"\n", "\0"} & set(term)
        term.encode()


@given(text=st.text(st.characters(codec="ascii")))
def test_the_quick_way_for_ascii_finds_the_same_words(text: str) -> None:
    assert get_analyzer("unicode").words(text) == get_analyzer("unicode").words(text + " é")[:-1]


@pytest.mark.parametrize("name", analyzer_names())
def test_every_named_analyzer_survives_json(name: str) -> None:
    analyzer = get_analyzer(name)
    again = Analyzer.from_dict(json.loads(json.dumps(analyzer.to_dict())))
    assert again == analyzer
    assert again.tokens("The sailing boats, 42") == tokens(name, "The sailing boats, 42")


def test_the_smart_list_has_570_distinct_words() -> None:
    analyzer = get_analyzer("paper")
    assert isinstance(analyzer, Analyzer)
    assert len(analyzer.stop_words) == 570  # 571 lines, one of them twice


def test_stop_words_of_ones_own() -> None:
    assert get_analyzer("german", stop_words=["die"]).term("die") is None
    assert get_analyzer("english", stop_words=[]).term("the") == "the"
    with pytest.raises(InvalidInputError, match="must be a collection of words. Got the single string 'the'"):
        get_analyzer("english", stop_words="the")


def test_a_function_is_an_analyzer_that_cannot_be_saved() -> None:
    analyzer = get_analyzer(str.split)
    assert isinstance(analyzer, CallableAnalyzer)
    assert analyzer.words("a b") == ["a", "b"]
    assert analyzer.term("a") == "a"
    with pytest.raises(InvalidInputError, match=r"cannot be saved.*named analyzers \(english, paper"):
        analyzer.to_dict()


@pytest.mark.parametrize("returned", [[""], [1], ["a", None]])
def test_a_function_has_to_return_words(returned: list[object]) -> None:
    with pytest.raises(InvalidInputError, match="must return non-empty strings"):
        get_analyzer(lambda _text: returned).words("x")  # type: ignore[arg-type,return-value]


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(UnknownNameError, match=r"analyzer must be one of 'english', .* Got 'klingon' instead"):
        get_analyzer("klingon")


def test_something_else_is_refused() -> None:
    with pytest.raises(InvalidInputError, match="analyzer must be a name, an Analyzer or a function.*Got 3"):
        get_analyzer(3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "description",
    [
        {},
        {"name": "x", "tokenizer": "unicode", "stop_words": "the", "stemmer": None},
        {"name": "x", "tokenizer": "unicode", "stop_words": [1], "stemmer": None},
        {"name": "x", "tokenizer": "unicode", "stop_words": [], "stemmer": 3},
        {"name": "x", "tokenizer": "(a+)+$", "stop_words": [], "stemmer": None},
        {"name": "x", "tokenizer": "unicode", "stop_words": [], "stemmer": "klingon"},
    ],
)
def test_a_description_from_a_stranger_is_checked(description: dict[str, object]) -> None:
    with pytest.raises(InvalidInputError, match="must"):
        Analyzer.from_dict(description)


def test_a_missing_extra_is_named_with_its_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "RAKE", None)
    with pytest.raises(MissingExtraError, match=r"SMART stop words.*pip install 'cptw-search\[evaluation\]'"):
        get_analyzer("paper")
