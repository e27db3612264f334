"""Explanations for people: a table for the terminal, a picture for a file.

Both take `cptw_search.explain.Explanation` and compute nothing but percentages. Direct, propagated and learned matches
differ in colour, and without colour in a word (the table) or in a shade (the picture). Words that the query learned stand
together: there are many, and the query's own would be lost among them.
"""

from __future__ import annotations

import math
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cptw_search.errors import InvalidInputError, check_choice, require_extra
from cptw_search.explain import DIRECT, LEARNED, NEIGHBOUR, PROPAGATED, Explanation, QueryTermShare, TermMatch
from cptw_search.highlight import RICH_STYLES, printable

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from rich.console import RenderableType
    from rich.table import Table

__all__ = ["draw", "render"]

_BAR_WIDTH = 12
_MAX_LABEL = 24

# Okabe and Ito's palette, made for colour-blind readers; the first is dark and the second light, also in grey.
_COLOURS = {DIRECT: "#0072B2", PROPAGATED: "#E69F00", LEARNED: "#009E73", "rest": "#999999"}
_OPACITY = {DIRECT: 0.8, PROPAGATED: 0.5, LEARNED: 0.5, "rest": 0.4}
_STYLES = {**RICH_STYLES, LEARNED: "italic yellow"}
_LEARNED_TERMS = ""  # no term is empty
_PARTS = {"cptw": "CPTW", "bm25": "BM25", "learned": "feedback"}
_FONTS_WITH_MORE_SCRIPTS = (
    "Noto Sans CJK JP",
    "Noto Sans CJK SC",
    "IPAexGothic",
    "Hiragino Sans",
    "Yu Gothic",
    "Noto Emoji",
)
_WIDTH = 9.0  # inches
_ROW_HEIGHT = 0.3
_FONT_SIZE = 10.0


def render(explanation: Explanation, *, max_query_terms: int = 12, max_matches: int = 6) -> RenderableType:
    """Lay an explanation out for the terminal.

    Parameters
    ----------
    explanation : Explanation
        What `cptw_search.explain.explain` gave.
    max_query_terms : int, default 12
        How many query terms to show, the heaviest.
    max_matches : int, default 6
        How many document terms to show for each of them, the heaviest; the rest is summed up in a line.

    Returns
    -------
    rich renderable
        To be given to ``rich.print`` or a console's ``print``.

    Raises
    ------
    InvalidInputError
        If a number is not a whole number of at least 1.

    Examples
    --------
    >>> from rich.console import Console
    >>> from cptw_search import Cptw
    >>> from cptw_search.explain import explain
    >>> model = Cptw(vectors=None).fit(["a boat at sea", "a ship"])
    >>> explanation = explain(model, "boats", "The boat. Boat!")
    >>> Console(width=80, color_system=None).print(render(explanation))  # doctest: +NORMALIZE_WHITESPACE
    Score 1.0000 = 1.0000 direct + 0.0000 propagated
    <BLANKLINE>
     query   document   relation    cosine     share
    ────────────────────────────────────────────────────────────────
     boats   boat       same term     1.00   100.0 %   ████████████
    """
    from rich.console import Group
    from rich.text import Text

    _check_at_least_one(max_query_terms=max_query_terms, max_matches=max_matches)
    own, learned = _grouped(explanation)
    heading = Text(f"Score {_fixed(explanation.score, 4)}", style="bold")
    for number, (kind, share) in enumerate(_summands(explanation)):
        heading.append(" + " if number else " = ", style="not bold")
        heading.append(f"{_fixed(share, 4)} {kind}", style=f"not bold {_STYLES[kind]}")
    if set(explanation.parts) - {"cptw"}:
        parts = ", ".join(f"{_fixed(share, 4)} by {_PARTS[name]}" for name, share in explanation.parts.items())
        heading.append(f"\nOf this {parts}", style="not bold dim")
    if not explanation.query_terms:
        return Group(heading, Text("The query has no word that is counted."))
    table = _new_table()
    shown = own[:max_query_terms] + learned
    for number, term in enumerate(shown, 1):
        _add_query_term(table, term, explanation, max_matches, is_last=number == len(shown))
    rest = own[max_query_terms:]
    notes = []
    if rest:
        portion = _portion(sum(term.share for term in rest), explanation)
        notes.append(Text(f"{_more(len(rest), 'query word')}: {portion}", style="dim"))
    return Group(heading, "", table, *notes)


def _grouped(explanation: Explanation) -> tuple[list[QueryTermShare], list[QueryTermShare]]:
    """Tell the query's own terms from those that it learned, which become one."""
    own = [term for term in explanation.query_terms if term.count]
    matches = tuple(match for term in explanation.query_terms if not term.count for match in term.matches)
    if not matches:
        return own, []
    share = math.fsum(match.share for match in matches)
    return own, [QueryTermShare(_LEARNED_TERMS, ("(learned)",), 0.0, share, matches)]


def _summands(explanation: Explanation) -> list[tuple[str, float]]:
    learned = [(LEARNED, explanation.learned)] if any(match.is_learned for match in explanation.matches) else []
    return [(DIRECT, explanation.direct), (PROPAGATED, explanation.propagated), *learned]


def _check_at_least_one(**numbers: int) -> None:
    for name, number in numbers.items():
        if not isinstance(number, int) or isinstance(number, bool) or number < 1:
            raise InvalidInputError(f"{name} must be a whole number >= 1. Got {number!r} instead.")


def _new_table() -> Table:
    from rich import box
    from rich.table import Table

    table = Table(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=True, header_style="bold")
    table.add_column("query", overflow="fold")
    table.add_column("document", overflow="fold")
    table.add_column("relation", overflow="fold")
    table.add_column("cosine", justify="right", no_wrap=True)
    table.add_column("share", justify="right", no_wrap=True)
    table.add_column("", width=_BAR_WIDTH, no_wrap=True)
    return table


def _add_query_term(
    table: Table, term: QueryTermShare, explanation: Explanation, max_matches: int, *, is_last: bool
) -> None:
    from rich.bar import Bar
    from rich.text import Text

    largest = max((abs(match.share) for match in explanation.matches), default=0.0) or 1.0
    name = Text(_all_words(term.words), style="bold")
    if not term.matches:
        table.add_row(name, Text("nothing", style="dim"), "", "", _portion(0.0, explanation), end_section=not is_last)
        return
    shown, rest = term.matches[:max_matches], term.matches[max_matches:]
    for number, match in enumerate(shown, 1):
        style = _STYLES[_colour_of(match)]
        colour = "red" if match.share < 0 else style.split()[-1]
        table.add_row(
            name if number == 1 else "",
            Text(_all_words(match.words), style=style),
            _relation(match),
            f"{match.cosine:.2f}" if match.cosine and not match.is_learned else "-",
            _portion(match.share, explanation),
            Bar(size=1.0, begin=0, end=abs(match.share) / largest, width=_BAR_WIDTH, color=colour),
            end_section=not (is_last or rest) and number == len(shown),
        )
    if rest:
        portion = _portion(sum(match.share for match in rest), explanation)
        more = Text(_more(len(rest), "document word"), style="dim")
        table.add_row("", more, "", "", portion, end_section=not is_last)


def _left_term(match: TermMatch) -> str:
    return _LEARNED_TERMS if match.is_learned else match.query_term


def _colour_of(match: TermMatch) -> str:
    return match.kind if match.kind in (DIRECT, LEARNED) else PROPAGATED


def _relation(match: TermMatch) -> str:
    if match.kind == DIRECT:
        return "same term"
    if match.kind in (NEIGHBOUR, LEARNED):
        return match.kind
    return "through " + ", ".join(printable(meeting.term) for meeting in match.via)


def _all_words(words: Sequence[str]) -> str:
    return printable(", ".join(words[:3])) + (", …" if len(words) > 3 else "")


def _portion(share: float, explanation: Explanation) -> str:
    """Say a share in percent of the score; where the score is no sensible measure, as it is."""
    if explanation.score > 0:
        return f"{_fixed(100 * share / explanation.score, 1)} %"
    return _fixed(share, 4)


def _fixed(number: float, digits: int) -> str:
    return f"{round(number, digits) + 0.0:.{digits}f}"  # + 0.0 makes 0.0 of -0.0


def _more(n: int, what: str) -> str:
    return f"{n} more {what}{'s' * (n != 1)}"


@dataclass
class _Node:
    """A word of the picture, or the last one: all other words."""

    label: str
    note: str
    share: float
    height: float = 0.0  # the sum of the thickness of its lines
    top: float = 0.0
    used: float = 0.0


@dataclass
class _Link:
    """A line of the picture, between the numbers of two nodes."""

    left: int
    right: int
    kind: str
    share: float
    thickness: float


def draw(
    explanation: Explanation,
    path: str | os.PathLike[str] | None = None,
    *,
    axes: Axes | None = None,
    title: str | None = None,
    max_terms: int = 12,
) -> Figure:
    """Draw an explanation: the query's words left, the document's right, lines as thick as their share.

    Parameters
    ----------
    explanation : Explanation
        What `cptw_search.explain.explain` gave.
    path : str or path, optional
        A file to write, of the type that its suffix says: ``.png``, ``.svg``, ``.pdf`` and what else matplotlib knows.
    axes : matplotlib Axes, optional
        Where to draw; a figure of its own by default, which needs no display.
    title : str, optional
        By default the score and its parts.
    max_terms : int, default 12
        How many words to show on either side, the heaviest; the others become one, such as "5 more words".

    Returns
    -------
    matplotlib Figure
        The figure. Negative shares have dashed outlines and no filling.

    Raises
    ------
    MissingExtraError
        If matplotlib is not installed.
    InvalidInputError
        If ``max_terms`` is no whole number of at least 1, or matplotlib cannot write files with such a suffix.

    Examples
    --------
    >>> from cptw_search import Cptw
    >>> from cptw_search.explain import explain
    >>> model = Cptw(vectors=None).fit(["a boat at sea", "a ship"])
    >>> figure = draw(explain(model, "boats", "The boat. Boat!"))
    >>> figure.axes[0].get_title()
    'Score 1.000: 1.000 direct + 0.000 propagated'
    """
    require_extra("matplotlib", "plot", "Drawing an explanation")
    from matplotlib.figure import Figure

    _check_at_least_one(max_terms=max_terms)
    left, right, links = _layout(explanation, max_terms)
    n_rows = max(sum(_slot(node) for node in left), sum(_slot(node) for node in right), 2.0)
    if axes is None:
        height = n_rows * _ROW_HEIGHT + 1.0
        axes = Figure(figsize=(_WIDTH, height)).add_axes((0.02, 0.45 / height, 0.96, 1 - 0.9 / height))
    figure = axes.figure.figure  # the whole one, also for axes of a subfigure
    if path is not None:
        known_types = {f".{suffix}" for suffix in figure.canvas.get_supported_filetypes()}
        check_choice("the suffix of the picture's path", Path(path).suffix.lower(), sorted(known_types))

    axes.set_axis_off()
    axes.set_ylim(n_rows, 0)
    if title is None:
        summands = " + ".join(f"{_fixed(share, 3)} {kind}" for kind, share in _summands(explanation))
        title = f"Score {_fixed(explanation.score, 3)}: {summands}"
    axes.set_title(title, parse_math=False)
    for nodes in (left, right):
        _stack(nodes, n_rows)
    _write_labels(axes, left, right)
    _draw_nodes(axes, left, right)
    _draw_links(axes, left, right, links)
    if path is not None:
        figure.savefig(path)
    return figure


def _layout(explanation: Explanation, max_terms: int) -> tuple[list[_Node], list[_Node], list[_Link]]:
    """Choose the words to show and sum up the others."""
    own, learned = _grouped(explanation)
    query_terms = own[: max_terms - len(learned)] + learned + own[max_terms - len(learned) :]
    left = [_Node(_one_word(term.words), "" if term.matches else "no match", term.share) for term in query_terms]
    left_of = {term.term: min(number, max_terms) for number, term in enumerate(query_terms)}
    by_share = explanation.document_terms()
    # Beside the query word that they owe most to: few lines cross then.
    by_place = sorted(by_share[:max_terms], key=lambda term: left_of[_left_term(term.matches[0])])
    right = [_Node(_one_word(term.words), _note(term.matches, explanation), term.share) for term in by_place]
    right_of = {term.term: number for number, term in enumerate(by_place)}
    for nodes, shares in ((left, [term.share for term in query_terms]), (right, [term.share for term in by_share])):
        if len(shares) > max_terms:
            nodes[max_terms:] = [_Node(_more(len(shares) - max_terms, "word"), "", sum(shares[max_terms:]))]

    scale = 0.5 * max(len(left), len(right), 4) / (sum(abs(match.share) for match in explanation.matches) or 1.0)
    links: dict[tuple[int, int], _Link] = {}
    for match in explanation.matches:
        ends = left_of[_left_term(match)], right_of.get(match.document_term, max_terms)
        kind = "rest" if max_terms in ends else _colour_of(match)
        link = links.setdefault(ends, _Link(*ends, kind, 0.0, 0.0))
        link.share += match.share
        link.thickness += scale * abs(match.share)
        left[link.left].height += scale * abs(match.share)
        right[link.right].height += scale * abs(match.share)
    for node in left + right:
        node.label += "" if node.note == "no match" else f"  {_portion(node.share, explanation)}"
    return (
        left or [_Node("no word that is counted", "", 0.0)],
        right or [_Node("no matching word", "", 0.0)],
        list(links.values()),
    )


def _one_word(words: Sequence[str]) -> str:
    # Fonts have no pictures of control characters; the replacement character they do have.
    word = "".join(character if character.isprintable() else "\N{REPLACEMENT CHARACTER}" for character in words[0])
    return word if len(word) <= _MAX_LABEL else word[: _MAX_LABEL - 1] + "…"


def _note(matches: Sequence[TermMatch], explanation: Explanation) -> str:
    """Say what ties a document word to the query word that it owes most to."""
    match = next((match for match in matches if not match.is_learned), matches[0])
    if match.kind == DIRECT:
        return ""
    if match.kind == LEARNED:
        return LEARNED
    query_words = next(term.words for term in explanation.query_terms if term.term == match.query_term)
    if match.kind == NEIGHBOUR:
        return f"{_one_word(query_words)} {match.cosine:.2f}"
    return "through " + ", ".join(_one_word([meeting.term]) for meeting in match.via[:2])


def _slot(node: _Node) -> float:
    """How many rows a node takes: room for its lines, and at least for its label."""
    return max(1.0, node.height + 0.3)


def _stack(nodes: list[_Node], n_rows: float) -> None:
    """Put nodes below each other, evenly over all rows."""
    gap = (n_rows - sum(_slot(node) for node in nodes)) / len(nodes)
    y = 0.0
    for node in nodes:
        node.top = y + (gap + _slot(node) - node.height) / 2
        y += gap + _slot(node)


def _write_labels(axes: Axes, left: list[_Node], right: list[_Node]) -> None:
    """Write the labels; small enough for their rows and columns, with as much room as they need."""
    n_rows = axes.get_ylim()[0]
    box = axes.get_window_extent()
    points = axes.figure.dpi / 72  # pixels of a point
    size = min(_FONT_SIZE, 0.75 * box.height / points / n_rows)
    font: dict[str, Any] = {"textcoords": "offset points", "va": "center", "family": _font_families()}
    texts, widths = [], []
    for nodes, x, alignment, direction in ((left, 0, "right", -1), (right, 1, "left", 1)):
        width = 0.0
        for node in nodes:
            place = (x, node.top + node.height / 2)
            label = axes.annotate(node.label, place, (direction * 8, 0), ha=alignment, size=size, **font)
            # Where the label ends, whatever its width: an annotation may stand on another one.
            note = axes.annotate(
                node.note, (x, 0.5), (direction * 8, 0), label, ha=alignment, size=0.85 * size, color="#666666", **font
            )
            for text in (label, note):
                text.set_parse_math(False)
            texts += [(label, size), (note, 0.85 * size)]
            width = max(width, label.get_window_extent().width + note.get_window_extent().width)
        widths.append(width)
    gaps = 18 * points  # the two offsets and a little
    shrink = min(1.0, (0.7 * box.width - 2 * gaps) / sum(widths))  # the lines keep a third of the width
    for text, full_size in texts:
        text.set_fontsize(full_size * shrink)
    outer_left, outer_right = (width * shrink + gaps for width in widths)
    middle = box.width - outer_left - outer_right
    axes.set_xlim(-outer_left / middle, 1 + outer_right / middle)


def _font_families() -> list[str]:
    """Give the user's font, then those of other scripts that are installed."""
    from matplotlib import font_manager, rcParams

    installed = set(font_manager.get_font_names())
    return [*rcParams["font.family"], *(name for name in _FONTS_WITH_MORE_SCRIPTS if name in installed)]


def _draw_nodes(axes: Axes, left: list[_Node], right: list[_Node]) -> None:
    from matplotlib.patches import Rectangle

    for nodes, x in ((left, -0.01), (right, 1.0)):
        for node in nodes:
            axes.add_patch(Rectangle((x, node.top), 0.01, node.height, color="#333333", linewidth=0.8))


def _draw_links(axes: Axes, left: list[_Node], right: list[_Node], links: list[_Link]) -> None:
    from matplotlib.patches import Patch, PathPatch
    from matplotlib.path import Path as Outline

    starts, ends = {}, {}
    for link in sorted(links, key=lambda link: link.right):
        starts[id(link)] = left[link.left].top + left[link.left].used
        left[link.left].used += link.thickness
    for link in sorted(links, key=lambda link: link.left):
        ends[id(link)] = right[link.right].top + right[link.right].used
        right[link.right].used += link.thickness

    codes = [Outline.MOVETO, *[Outline.CURVE4] * 3, Outline.LINETO, *[Outline.CURVE4] * 3, Outline.CLOSEPOLY]
    for link in sorted(links, key=lambda link: link.kind == DIRECT):  # direct ones on top
        y0, y1, h = starts[id(link)], ends[id(link)], link.thickness
        corners = [
            (0, y0),
            (0.5, y0),
            (0.5, y1),
            (1, y1),
            (1, y1 + h),
            (0.5, y1 + h),
            (0.5, y0 + h),
            (0, y0 + h),
            (0, y0),
        ]
        axes.add_patch(PathPatch(Outline(corners, codes), **_link_style(link.kind, link.share < 0)))

    meanings = {
        DIRECT: "the query's own words",
        PROPAGATED: "related words (number: cosine)",
        LEARNED: "learned words",
        "rest": "other words",
    }
    handles = [
        Patch(label=text, **_link_style(kind, False))
        for kind, text in meanings.items()
        if any(link.kind == kind for link in links)
    ]
    if any(link.share < 0 for link in links):
        handles.append(Patch(label="lowers the score", **_link_style("rest", True)))
    for n_columns in range(len(handles), 0, -1):
        legend = axes.legend(
            handles=handles, loc="upper center", bbox_to_anchor=(0.5, 0.0), ncol=n_columns, frameon=False, fontsize=9
        )
        if legend.get_window_extent().width <= axes.get_window_extent().width:
            break


def _link_style(kind: str, is_negative: bool) -> dict[str, Any]:
    from matplotlib.colors import to_rgba

    return {
        "facecolor": "none" if is_negative else to_rgba(_COLOURS[kind], _OPACITY[kind]),
        "edgecolor": _COLOURS[kind],
        "linestyle": "--" if is_negative else "-",
        "linewidth": 0.8,
    }
