"""What to show of a document that was found: its title or first words, and the part that says most."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from cptw_search.cli.output import marked, safe
from cptw_search.highlight import ELLIPSIS, Snippet, Span, find_spans, snippet

if TYPE_CHECKING:
    from rich.text import Text

    from cptw_search.explain import Explanation
    from cptw_search.model import Cptw

__all__ = ["Passage", "find_passage", "first_words"]

TITLE = "title"
MIN_SHARE = 0.02  # of the score, for a word that is only close to be marked: more marks than that hide the text


class Passage(NamedTuple):
    """A document in short, its words marked.

    Attributes
    ----------
    heading : rich.text.Text or str
        The title, or the first words of a text without one unless the part begins with them; maybe empty.
    part : rich.text.Text or None
        The part of the text that says most about the match.
    """

    heading: Text | str
    part: Text | None


def find_passage(
    model: Cptw,
    explanation: Explanation,
    document: Mapping[str, object],
    *,
    only_direct: bool = False,
    max_characters: int = 240,
) -> Passage:
    """Choose what to show of a document.

    Parameters
    ----------
    model : Cptw
        The model.
    explanation : Explanation
        Why the document matches.
    document : mapping
        Its fields.
    only_direct : bool, default False
        Mark only the words of the query itself.
    max_characters : int, default 240
        How long the part may be.

    Returns
    -------
    Passage
        The part is of the field with the largest share of the score, the title apart.
    """

    def spans_of(text: str) -> list[Span]:
        spans = find_spans(model, explanation, text, min_share=MIN_SHARE)
        return [span for span in spans if span.kind == "direct" or not only_direct]

    best, best_text, best_share = Snippet("", []), "", -1.0
    for name in sorted(model.text_fields - {TITLE}):
        if text := _one_line(document.get(name)):
            spans = spans_of(text)
            if (share := sum(span.share for span in spans)) > best_share:
                best, best_text, best_share = snippet(text, spans, max_characters), text, share
    heading: Text | str = ""
    if title := _one_line(document.get(TITLE)):
        heading = marked(title, spans_of(title))
    elif best.text.startswith(ELLIPSIS):
        heading = safe(first_words(best_text))
    return Passage(heading, marked(*best) if best.text else None)


def _one_line(text: object) -> str:
    return " ".join(text.split()) if isinstance(text, str) else ""


def first_words(text: str, max_characters: int = 60) -> str:
    """Give the beginning of a text.

    Parameters
    ----------
    text : str
        Any text.
    max_characters : int, default 60
        How long it may be.

    Returns
    -------
    str
        One line, cut between words where that is possible.

    Examples
    --------
    >>> first_words("It was a dark and stormy night", 20)
    'It was a dark and…'
    """
    beginning = _one_line(text[: 4 * max_characters])
    if len(beginning) <= max_characters:
        return beginning
    cut = beginning[:max_characters]
    return (cut.rsplit(" ", 1)[0] if " " in cut else cut[:-1]) + ELLIPSIS
