"""Marking a text: which of its words carry the score, direct matches and propagated ones told apart.

An analyzer folds a text before it splits it (case, NFKC, format characters), so its words have no places in the
original. `highlight` finds the places without knowing the analyzer's rules: it cuts the original in several ways,
from fine to coarse, analyses the pieces by themselves, and takes the first cut whose pieces give the same words as
the uncut text. A mark thus never stands on a word that the analyzer did not see; at worst it is too long.
"""

from __future__ import annotations

import html
import itertools
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import regex

from cptw_search.analysis import TextAnalyzer
from cptw_search.counting import Document
from cptw_search.errors import InvalidInputError, check_choice
from cptw_search.explain import DIRECT, LEARNED, PROPAGATED, DocumentTermShare, Explanation, explain
from cptw_search.model import Cptw

if TYPE_CHECKING:
    from rich.text import Text

__all__ = [
    "Snippet",
    "Span",
    "find_spans",
    "highlight",
    "printable",
    "snippet",
    "to_html",
    "to_plain",
    "to_rich",
]

ELLIPSIS = "…"
RICH_STYLES = {DIRECT: "bold green", PROPAGATED: "underline cyan"}
"""Told apart by colour, and without colour by bold and underlined."""

PLAIN_MARKS = {DIRECT: "**", PROPAGATED: "_"}

# NUL separates words in every analyzer, white space in every named one.
_CHUNK = re.compile(r"[^\s\0]+")
_CLUSTER = regex.compile(r"\X")
_MARK = regex.compile(r"[\p{M}\p{Cf}]")
_MAX_SHIFT = 20  # how far a cut is moved to find white space

# What an analyzer may take for a character of a word, before folding; half-width and combining sound marks included.
_CJK = r"[\p{Han}\p{Hiragana}\p{Katakana}ーｰ\u3099\u309Aﾞﾟ]"
_LETTER = rf"[[\p{{L}}\p{{M}}\p{{N}}]--{_CJK}]"
_CUTS = tuple(
    regex.compile(rf"(?V1){pattern}")
    for pattern in (
        r"[A-Za-z]+|\X",
        r"[A-Za-z0-9]+|\X",
        rf"{_LETTER}(?:\p{{Cf}}*['\u2019\uFF07]?\p{{Cf}}*{_LETTER})*|{_CJK}(?:\p{{Cf}}*{_CJK})*|\X",
        r"[A-Za-z']+|\X",
        r"\P{P}+",
    )
)

_CONTROL_PICTURES = {
    **{code: 0x2400 + code for code in range(0x20) if chr(code) not in "\t\n"},
    0x7F: 0x2421,
    **dict.fromkeys([*range(0x80, 0xA0), *range(0xD800, 0xE000)], 0xFFFD),
}


@dataclass(frozen=True)
class Span:
    """A marked part of a text.

    Parameters
    ----------
    start : int
        Where it begins, counted in characters of the original text.
    end : int
        Where it ends; the character there is no part of it.
    kind : {"direct", "propagated"}
        Whether the query has the same term, or only a related one.
    query_term : str
        The query term that gives it most of its share.
    share : float
        What the document's terms there, with all their occurrences, add to the score.
    terms : tuple of str
        These terms: one, or several for neighbouring pairs of characters in Chinese and Japanese.
    """

    start: int
    end: int
    kind: str
    query_term: str
    share: float
    terms: tuple[str, ...]


class Snippet(NamedTuple):
    """A part of a text with its marks.

    Attributes
    ----------
    text : str
        The part, with an ellipsis where something was cut off.
    spans : list of Span
        Places in that part.
    """

    text: str
    spans: list[Span]


class _Place(NamedTuple):
    start: int
    end: int


def highlight(
    model: Cptw, query: Document, text: str, *, min_share: float = 0.01, nonnegative: bool = False
) -> list[Span]:
    """Find the words of a text that carry its score.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    query : str or mapping
        The query.
    text : str
        The document. For one field of several, explain the whole document and use `find_spans`.
    min_share : float, default 0.01
        A propagated word is marked from this part of the score on; a direct one always.
    nonnegative : bool, default False
        As for `cptw_search.explain.explain`.

    Returns
    -------
    list of Span
        In the order of the text, without overlaps.

    Raises
    ------
    NotFittedError
        If the model is not fitted.
    InvalidInputError
        If the query or the text cannot be used, or ``min_share`` is not from 0 to 1.

    Examples
    --------
    >>> from cptw_search import Cptw, WordVectors
    >>> vectors = WordVectors(["boat", "ship", "cat"], [[1, 0], [0.8, 0.6], [-1, 1]])
    >>> model = Cptw(vectors=vectors, tau=0.5).fit(["a boat", "the ship", "a cat"])
    >>> text = "BOATS, ships & cats"
    >>> to_plain(text, highlight(model, "boat", text))
    '**BOATS**, _ships_ & cats'
    """
    if not isinstance(text, str):
        raise InvalidInputError(
            f"text must be a string. Got {type(text).__name__} instead: for a document with fields, explain it and "
            "give each field to find_spans."
        )
    return find_spans(model, explain(model, query, text, nonnegative=nonnegative, max_via=0), text, min_share=min_share)


def find_spans(model: Cptw, explanation: Explanation, text: str, *, min_share: float = 0.01) -> list[Span]:
    """Find the words of a text that an explanation is about.

    Parameters
    ----------
    model : Cptw
        The model that the explanation was made with.
    explanation : Explanation
        Of the document that the text is a part of.
    text : str
        Any part of the document, such as one of its fields.
    min_share : float, default 0.01
        A propagated word is marked from this part of the score on (with a signed weighting: of the sum of the absolute
        shares), and only if it speaks for the document; a direct one always, one that the query only learned never.

    Returns
    -------
    list of Span
        In the order of the text, without overlaps.

    Raises
    ------
    InvalidInputError
        If ``min_share`` is not from 0 to 1.
    """
    if not isinstance(min_share, (int, float)) or isinstance(min_share, bool) or not 0 <= min_share <= 1:
        raise InvalidInputError(f"min_share must be a number from 0 to 1. Got {min_share!r} instead.")
    threshold = min_share * sum(abs(match.share) for match in explanation.matches)
    marks = {
        term.term: _mark(term)
        for term in explanation.document_terms()
        if term.kind == DIRECT or (term.kind == PROPAGATED and term.share > 0 and term.share >= threshold)
    }
    return _merge(_occurrences(model.analyzer_fitted, text, marks))


def _mark(term: DocumentTermShare) -> Span:
    """Make the mark of a term, without a place."""
    heaviest = max((match for match in term.matches if match.kind != LEARNED), key=lambda match: match.share)
    query_term = term.term if term.kind == DIRECT else heaviest.query_term
    return Span(0, 0, term.kind, query_term, term.share, (term.term,))


def _occurrences(analyzer: TextAnalyzer, text: str, marks: Mapping[str, Span]) -> Iterator[Span]:
    known: dict[str, list[Span]] = {}
    for chunk in _CHUNK.finditer(text):
        content = chunk.group()
        if content not in known:
            known[content] = _search_chunk(analyzer, content, marks)
        for span in known[content]:
            yield replace(span, start=chunk.start() + span.start, end=chunk.start() + span.end)


def _search_chunk(analyzer: TextAnalyzer, chunk: str, marks: Mapping[str, Span]) -> list[Span]:
    words = analyzer.words(chunk)
    found = [marks.get(term) if (term := analyzer.term(word)) is not None else None for word in words]
    if not any(found):  # most chunks: there is no need to know where their words are
        return []
    places = _places(analyzer, chunk, words)
    return [replace(m, start=start, end=end) for m, (start, end) in zip(found, places, strict=True) if m is not None]


def _places(analyzer: TextAnalyzer, chunk: str, words: list[str]) -> list[_Place]:
    """Give the place of every word of a chunk."""
    for cut in _CUTS:
        places: list[_Place] = []
        for piece in cut.finditer(chunk):
            found = analyzer.words(piece.group())
            if found != words[len(places) : len(places) + len(found)]:
                break
            places += [
                _Place(piece.start() + start, piece.start() + end)
                for start, end in _places_in_piece(analyzer, piece.group(), found)
            ]
        if len(places) == len(words):
            return places
    return _places_in_piece(analyzer, chunk, words)


def _places_in_piece(analyzer: TextAnalyzer, piece: str, words: list[str]) -> list[_Place]:
    """Give the places of words that no cut tells apart: overlapping pairs of characters, or all of the piece."""
    if len(words) > 1:
        folded: dict[str, str] = {}
        characters: list[str] = []
        owners: list[_Place] = []  # the cluster of the original that each folded character comes from
        for match in _CLUSTER.finditer(piece):
            cluster = match.group()
            if cluster not in folded:
                parts = analyzer.words(cluster)  # one character as a rule, pairs if it folds to several
                folded[cluster] = "".join([part[0] for part in parts[:-1]] + parts[-1:])
            characters += folded[cluster]
            owners += [_Place(*match.span())] * len(folded[cluster])
        if words == [first + second for first, second in itertools.pairwise(characters)]:
            return [_Place(first.start, second.end) for first, second in itertools.pairwise(owners)]
    return [_Place(0, len(piece))] * len(words)


def _merge(spans: Iterator[Span]) -> list[Span]:
    """Join overlapping spans of one kind; where the kinds differ, the direct one keeps its characters."""
    merged: list[Span] = []
    for span in spans:
        last = merged[-1] if merged else None
        if last is None or span.start >= last.end:
            merged.append(span)
        elif span.kind == last.kind:
            is_new = span.terms[0] not in last.terms
            merged[-1] = replace(
                last,
                end=max(last.end, span.end),
                query_term=last.query_term if last.share >= span.share else span.query_term,
                share=last.share + span.share * is_new,
                terms=last.terms + span.terms * is_new,
            )
        elif span.kind == DIRECT:
            merged[-1:] = [replace(last, end=span.start), span] if span.start > last.start else [span]
        elif span.end > last.end:
            merged.append(replace(span, start=last.end))
    return merged


def snippet(text: str, spans: Sequence[Span], max_characters: int = 240) -> Snippet:
    """Cut out the part of a text that says most about the match.

    Parameters
    ----------
    text : str
        The text.
    spans : sequence of Span
        Its marks.
    max_characters : int, default 240
        How long the part may be, ellipses included.

    Returns
    -------
    Snippet
        The part whose distinct terms have the largest share, the first of equals, cut between words where that is
        possible; the beginning of a text without marks.

    Raises
    ------
    InvalidInputError
        If ``max_characters`` is under 10, or the spans do not belong to the text.

    Examples
    --------
    >>> text = "It was a dark and stormy night. The ship went down with the boat."
    >>> marks = [Span(36, 40, "propagated", "boat", 0.2, ("ship",)), Span(60, 64, "direct", "boat", 0.7, ("boat",))]
    >>> part = snippet(text, marks, 40)
    >>> part.text
    '…The ship went down with the boat.'
    >>> to_plain(*part)
    '…The _ship_ went down with the **boat**.'
    """
    if not isinstance(max_characters, int) or isinstance(max_characters, bool) or max_characters < 10:
        raise InvalidInputError(f"max_characters must be a whole number >= 10. Got {max_characters!r} instead.")
    marked = _check_spans(text, spans)
    if len(text) <= max_characters:
        return Snippet(text, marked)
    room = max_characters - 2 * len(ELLIPSIS)
    first, last = _best_window(marked, room)
    slack = room - (last - first)
    end = min(len(text), max(0, first - slack // 2) + room)
    start = max(0, end - room)
    if start > 0:
        start = _cut(text, range(start, min(first, start + _MAX_SHIFT) + 1), outside=-1)
    if end < len(text):
        end = _cut(text, range(end, max(last, end - _MAX_SHIFT, 1) - 1, -1), outside=0)
    prefix, suffix = ELLIPSIS * (start > 0), ELLIPSIS * (end < len(text))
    offset = len(prefix) - start
    inside = [
        replace(span, start=max(span.start, start) + offset, end=min(span.end, end) + offset)
        for span in marked
        if span.start < end and span.end > start
    ]
    return Snippet(prefix + text[start:end] + suffix, inside)


def _best_window(spans: list[Span], room: int) -> tuple[int, int]:
    """Find the run of spans that fits and has the largest share; a term counts once."""
    largest = max((span.share for span in spans), default=0.0)
    # Whole numbers, so that taking a span out again leaves no rounding error.
    values = [max(1, round(1e9 * span.share / largest)) if largest > 0 else 1 for span in spans]
    inside: Counter[tuple[str, ...]] = Counter()
    best = total = after = 0
    window = (0, 0)
    for i, span in enumerate(spans):
        while after < len(spans) and (after == i or spans[after].end - span.start <= room):
            if not inside[spans[after].terms]:
                total += values[after]
            inside[spans[after].terms] += 1
            after += 1
        if total > best:
            best = total
            window = (span.start, min(spans[after - 1].end, span.start + room))
        inside[span.terms] -= 1
        if not inside[span.terms]:
            total -= values[i]
    return window


def _cut(text: str, positions: range, outside: int) -> int:
    """Choose where to cut: at the first white space on the way, or else not before a combining mark.

    The characters beside position p are p - 1 and p; ``outside`` says which of them is cut off, -1 or 0.
    """
    for position in positions:
        if text[position + outside].isspace() and not text[position - 1 - outside].isspace():
            return position
    return next((position for position in positions if not _MARK.match(text, position)), positions[0])


def _check_spans(text: str, spans: Sequence[Span]) -> list[Span]:
    ordered = sorted(spans, key=lambda span: span.start)
    end = 0
    for span in ordered:
        check_choice("kind of a span", span.kind, PLAIN_MARKS)
        if not end <= span.start < span.end <= len(text):
            raise InvalidInputError(
                f"spans must lie inside the text, which has {len(text)} characters, and must not overlap. Got {span!r}: "
                "give the spans that were found in this very text."
            )
        end = span.end
    return ordered


def _pieces(text: str, spans: Sequence[Span]) -> Iterator[tuple[str, str | None]]:
    """Give the parts of a text in order, with the kind of those that are marked."""
    end = 0
    for span in _check_spans(text, spans):
        yield text[end : span.start], None
        yield text[span.start : span.end], span.kind
        end = span.end
    yield text[end:], None


def to_html(text: str, spans: Sequence[Span]) -> str:
    """Write a marked text as HTML.

    Parameters
    ----------
    text : str
        The text; what has a meaning in HTML is escaped.
    spans : sequence of Span
        Its marks.

    Returns
    -------
    str
        With ``<mark class="direct">`` and ``<mark class="propagated">``.

    Raises
    ------
    InvalidInputError
        If the spans do not belong to the text.

    Examples
    --------
    >>> to_html("<b>ship", [Span(3, 7, "direct", "ship", 1.0, ("ship",))])
    '&lt;b&gt;<mark class="direct">ship</mark>'
    """
    return "".join(
        html.escape(piece) if kind is None else f'<mark class="{kind}">{html.escape(piece)}</mark>'
        for piece, kind in _pieces(text, spans)
    )


def to_plain(text: str, spans: Sequence[Span]) -> str:
    """Write a marked text as plain text, for where there are no colours.

    Parameters
    ----------
    text : str
        The text.
    spans : sequence of Span
        Its marks.

    Returns
    -------
    str
        Direct matches between ``**``, propagated ones between ``_``.

    Raises
    ------
    InvalidInputError
        If the spans do not belong to the text.

    Examples
    --------
    >>> to_plain("a ship", [Span(2, 6, "propagated", "boat", 1.0, ("ship",))])
    'a _ship_'
    """
    return "".join(
        piece if kind is None else f"{PLAIN_MARKS[kind]}{piece}{PLAIN_MARKS[kind]}"
        for piece, kind in _pieces(text, spans)
    )


def to_rich(text: str, spans: Sequence[Span]) -> Text:
    """Make a marked text for the terminal.

    Parameters
    ----------
    text : str
        The text; control characters, which could command the terminal, are shown and not sent.
    spans : sequence of Span
        Its marks.

    Returns
    -------
    rich.text.Text
        Direct matches bold, propagated ones underlined, in two colours.

    Raises
    ------
    InvalidInputError
        If the spans do not belong to the text.

    Examples
    --------
    >>> to_rich("a ship", [Span(2, 6, "propagated", "boat", 1.0, ("ship",))]).markup
    'a [underline cyan]ship[/underline cyan]'
    """
    from rich.text import Text

    marked = Text()
    for piece, kind in _pieces(text, spans):
        marked.append(printable(piece), style=None if kind is None else RICH_STYLES[kind])
    return marked


def printable(text: str) -> str:
    r"""Replace control characters by their pictures, for a document must not command the terminal.

    Lone surrogates, which no encoding can write, become U+FFFD.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        A text of the same length; tabs and line feeds stay.

    Examples
    --------
    >>> printable("red: \x1b[31m")
    'red: ␛[31m'
    """
    return text.translate(_CONTROL_PICTURES)
