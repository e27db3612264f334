"""The table and the picture show what the explanation says."""

from __future__ import annotations

import io
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.figure import Figure
from matplotlib.patches import PathPatch
from matplotlib.text import Annotation
from rich.console import Console

from cptw_search import Cptw, WordVectors
from cptw_search.errors import InvalidInputError, MissingExtraError, UnknownNameError
from cptw_search.explain import Explanation, Meeting, QueryTermShare, TermMatch, explain
from cptw_search.explain_views import draw, render

VECTORS = WordVectors(["boat", "ship", "vessel", "cat"], [[0.6, 0.8], [0.0, 1.0], [-0.6, 0.8], [0.0, -1.0]])


@pytest.fixture(scope="module")
def model() -> Cptw:
    return Cptw(vectors=VECTORS, tau=0.5).fit(["boat", "ship", "vessel", "cat"])


def made_up(shares: dict[str, dict[str, float]]) -> Explanation:
    """An explanation with these shares: query term, document term, share."""
    query_terms = []
    for query_term, row in shares.items():
        matches = tuple(
            TermMatch(query_term, term, (term,), float(term == query_term), share, (Meeting("other", share),))
            for term, share in sorted(row.items(), key=lambda item: -abs(item[1]))
        )
        query_terms.append(QueryTermShare(query_term, (query_term,), 1.0, sum(row.values()), matches))
    return Explanation(sum(term.share for term in query_terms), tuple(query_terms))


def learning() -> Explanation:
    """Of a query that learned three words; one of them is propagated, too."""
    own = made_up({"boat": {"boat": 0.4, "ship": 0.1}, "sky": {}}).query_terms
    learned = tuple(
        QueryTermShare(term, (), 0.0, share, (TermMatch(term, term, (f"{term}s",), 1.0, share, (), is_learned=True),))
        for term, share in (("ship", 0.25), ("mast", 0.15), ("sail", 0.1))
    )
    return Explanation(1.0, (own[0], *learned, own[1]), {"cptw": 0.2, "bm25": 0.25, "learned": 0.55})


def printed(explanation: Explanation, **options: int) -> list[str]:
    console = Console(file=io.StringIO(), width=100, color_system=None)
    console.print(render(explanation, **options))
    return [line.rstrip() for line in console.file.getvalue().splitlines()]  # type: ignore[attr-defined]


def cells(line: str) -> list[str]:
    return [cell.strip() for cell in line.split("   ") if cell.strip()]


# The table --------------------------------------------------------------------------------------------------------------


def test_the_table_lists_words_relations_cosines_and_shares(model: Cptw) -> None:
    lines = printed(explain(model, "boats cat", "boat boats vessel ship"))
    assert lines[0].startswith("Score 0.")
    assert lines[0].endswith("propagated")
    rows = [cells(line) for line in lines[4:]]
    assert [row[:4] for row in rows if row][:3] == [
        ["boats", "boat, boats", "same term", "1.00"],
        ["ship", "neighbour", "0.80", rows[1][3]],
        ["vessel", "through ship", "-", rows[2][3]],
    ]
    percentages = [float(row[-2].split()[0]) for row in rows[:3]]
    assert sum(percentages) == pytest.approx(100.0, abs=0.11)
    assert rows[0][-1] == "█" * 12
    assert rows[-1] == ["cat", "nothing", "0.0 %"]


def test_the_table_says_what_each_part_gives_and_puts_learned_words_together() -> None:
    lines = printed(learning(), max_matches=2)
    assert lines[:2] == [
        "Score 1.0000 = 0.4000 direct + 0.1000 propagated + 0.5000 learned",
        "Of this 0.2000 by CPTW, 0.2500 by BM25, 0.5500 by feedback",
    ]
    rows = [cells(line) for line in lines[5:] if cells(line)]
    assert [row[:4] for row in rows] == [
        ["boat", "boat", "same term", "1.00"],
        ["ship", "through other", "-", "10.0 %"],
        ["sky", "nothing", "0.0 %"],
        ["(learned)", "ships", "learned", "-"],
        ["masts", "learned", "-", "15.0 %"],
        ["1 more document word", "10.0 %"],
    ]
    assert printed(learning(), max_query_terms=1)[-1] == "1 more query word: 0.0 %"


def test_the_rest_is_summed_up() -> None:
    explanation = made_up({"a": {"b": 0.4, "c": 0.2, "d": 0.1, "e": 0.1}, "f": {"g": 0.15}, "h": {"i": 0.05}})
    lines = printed(explanation, max_query_terms=1, max_matches=2)
    assert cells(lines[6]) == ["2 more document words", "20.0 %"]
    assert lines[-1] == "2 more query words: 20.0 %"
    assert cells(printed(explanation, max_matches=3)[7]) == ["1 more document word", "10.0 %"]


def test_many_words_of_a_term_are_cut_short() -> None:
    match = TermMatch("a", "b", ("b", "bs", "bed", "bing"), 0.5, 1.0, ())
    lines = printed(Explanation(1.0, (QueryTermShare("a", ("a",), 1.0, 1.0, (match,)),)))
    assert "b, bs, bed, …" in lines[4]


def test_a_score_that_is_not_positive_shows_bare_shares() -> None:
    lines = printed(made_up({"a": {"a": 0.2, "b": -0.3}}))
    assert [cells(line)[-2] for line in lines[4:6]] == ["-0.3000", "0.2000"]
    assert "-0.0" not in "".join(printed(made_up({"a": {"a": 1.0, "b": -1e-9}})))


def test_colours_tell_direct_propagated_and_negative_apart() -> None:
    console = Console(file=io.StringIO(), width=100, color_system="standard", force_terminal=True)
    console.print(render(made_up({"a": {"a": 0.9, "b": 0.3, "c": -0.1}})))
    output = console.file.getvalue()  # type: ignore[attr-defined]
    assert "\x1b[1;32ma" in output  # bold, green
    assert "\x1b[4;36mb" in output  # underlined, cyan
    assert "\x1b[31" in output  # a red bar


def test_words_cannot_command_the_terminal_nor_the_markup() -> None:
    lines = printed(made_up({"[red]\x1b[2J": {"[/red]\x1b[2J": 1.0}}))
    assert cells(lines[4])[:2] == ["[red]␛[2J", "[/red]␛[2J"]


def test_a_query_without_words_is_said_so(model: Cptw) -> None:
    assert printed(explain(model, "the", "boat"))[-1] == "The query has no word that is counted."


@pytest.mark.parametrize("name", ["max_query_terms", "max_matches"])
@pytest.mark.parametrize("value", [0, 1.5, True])
def test_limits_of_the_table_are_checked(name: str, value: object) -> None:
    with pytest.raises(InvalidInputError, match=rf"{name} must be a whole number >= 1\. Got"):
        render(made_up({"a": {"a": 1.0}}), **{name: value})  # type: ignore[arg-type]


# The picture ------------------------------------------------------------------------------------------------------------


def labels(figure: Figure) -> list[Annotation]:
    return [text for text in figure.axes[0].texts if isinstance(text, Annotation) and text.get_text()]


def label_texts(figure: Figure) -> list[str]:
    return [label.get_text() for label in labels(figure)]


def bands(figure: Figure) -> list[PathPatch]:
    return [patch for patch in figure.axes[0].patches if isinstance(patch, PathPatch)]


def thickness(band: PathPatch) -> float:
    vertices = band.get_path().vertices
    return float(vertices[7][1] - vertices[0][1])


def legend_texts(figure: Figure) -> list[str]:
    legend = figure.axes[0].get_legend()
    return [] if legend is None else [text.get_text() for text in legend.get_texts()]


def test_lines_are_as_thick_as_their_shares() -> None:
    figure = draw(made_up({"a": {"a": 0.5, "b": 0.25}, "c": {"b": 0.125, "d": 0.125}}))
    widths = sorted(thickness(band) for band in bands(figure))
    assert [width / widths[-1] for width in widths] == pytest.approx([0.25, 0.25, 0.5, 1.0])


def test_lines_fill_their_words_without_overlap() -> None:
    figure = draw(made_up({"a": {"a": 0.5, "b": 0.25}, "c": {"b": 0.125, "d": 0.125}}))
    for corner in (0, 3):  # upper left, upper right
        starts = sorted((band.get_path().vertices[corner][1], thickness(band)) for band in bands(figure))
        for (y, width), (y_next, _) in itertools.pairwise(starts):
            assert y + width <= y_next + 1e-9


def test_labels_say_word_share_and_cosine(model: Cptw) -> None:
    figure = draw(explain(model, "boats giraffes", "boat ships vessel"))
    texts = label_texts(figure)
    assert texts[:3] == ["boats  100.0 %", "giraffes", "no match"]
    assert [text.split()[0] for text in texts[3:]] == ["boat", "ships", "boats", "vessel", "through"]
    assert "boats 0.80" in texts
    assert "through ship" in texts
    assert figure.axes[0].get_title().startswith("Score 0.")
    assert legend_texts(figure) == ["the query's own words", "related words (number: cosine)"]


def test_learned_words_are_drawn_from_one_place_in_a_colour_of_their_own() -> None:
    figure = draw(learning())
    assert figure.axes[0].get_title() == "Score 1.000: 0.400 direct + 0.100 propagated + 0.500 learned"
    texts = label_texts(figure)
    assert texts[:4] == ["boat  50.0 %", "sky", "no match", "(learned)  50.0 %"]
    assert {"boat  40.0 %", "ships  35.0 %", "masts  15.0 %", "sails  10.0 %"} < set(texts)
    assert texts.count("learned") == 2  # of masts and sails; ships is related as well
    assert legend_texts(figure)[-1] == "learned words"
    assert len({band.get_facecolor() for band in bands(figure)}) == 3
    for max_terms in (1, 2):
        assert label_texts(draw(learning(), max_terms=max_terms))[max_terms - 1] == "(learned)  50.0 %"


def test_the_lightest_words_become_one() -> None:
    row = {f"word{number}": 1.0 / (number + 1) for number in range(15)}
    figure = draw(made_up({"query": row}), max_terms=12)
    assert len(bands(figure)) == 13
    rest = 100 * (1 / 13 + 1 / 14 + 1 / 15) / sum(row.values())
    assert label_texts(figure)[-1] == f"3 more words  {rest:.1f} %"
    assert legend_texts(figure)[-1] == "other words"


def test_a_long_query_is_summed_up_as_well() -> None:
    figure = draw(made_up({f"query{number}": {"word": 1.0 - number / 10} for number in range(4)}), max_terms=3)
    assert "1 more word  20.6 %" in label_texts(figure)


def test_negative_shares_are_dashed_outlines() -> None:
    figure = draw(made_up({"a": {"a": 0.9, "b": -0.3}}))
    positive, negative = sorted(bands(figure), key=lambda band: -thickness(band))
    assert positive.get_linestyle() in ("-", "solid")
    assert positive.get_facecolor()[3] > 0
    assert negative.get_linestyle() in ("--", "dashed")
    assert negative.get_facecolor()[3] == 0
    assert legend_texts(figure)[-1] == "lowers the score"


def test_direct_and_propagated_lines_differ_in_colour_and_in_grey() -> None:
    figure = draw(made_up({"a": {"a": 0.9, "b": 0.3}}))
    direct, propagated = sorted(bands(figure), key=lambda band: -thickness(band))
    grey = [
        sum(
            part * (1 - band.get_facecolor()[3] * (1 - c))
            for part, c in zip((0.3, 0.6, 0.1), band.get_facecolor(), strict=False)
        )
        for band in (direct, propagated)
    ]
    assert grey[1] - grey[0] > 0.2


@pytest.mark.parametrize("n", [1, 3, 13, 40])
@pytest.mark.parametrize("size", [None, (4, 3), (3, 8)])
def test_labels_neither_overlap_nor_leave_the_figure(n: int, size: tuple[float, float] | None) -> None:
    shares = {
        f"query{k}" * (1 + k % 3): {f"document{j}" * (1 + j % 4): 1 / (1 + j * k) for j in range(n)} for k in range(n)
    }
    axes = None if size is None else Figure(figsize=size).add_axes((0.02, 0.1, 0.96, 0.8))
    figure = draw(made_up(shares), axes=axes)
    figure.draw_without_rendering()
    boxes = [label.get_window_extent() for label in labels(figure)]
    for number, box in enumerate(boxes):
        assert box.x0 >= 0
        assert box.x1 <= figure.bbox.width
        for other in boxes[:number]:
            assert not (box.x0 < other.x1 and other.x0 < box.x1 and box.y0 < other.y1 and other.y0 < box.y1)


def test_one_pair_no_match_and_no_query_can_be_drawn(model: Cptw) -> None:
    assert label_texts(draw(explain(model, "boat", "boats"))) == ["boat  100.0 %", "boats  100.0 %"]
    no_match = draw(explain(model, "boat", "the cat"))
    assert label_texts(no_match) == ["boat", "no match", "no matching word"]
    assert bands(no_match) == []
    assert legend_texts(no_match) == []
    assert label_texts(draw(explain(model, "the", "the cat"))) == ["no word that is counted", "no matching word"]


def test_dollars_control_characters_and_long_words_are_drawn_as_they_are() -> None:
    figure = draw(made_up({"$a$": {"\x1b\n$b$ $": 0.5, "x" * 100: 0.5}}), title="$5 and $6")
    figure.draw_without_rendering()
    assert label_texts(figure)[0] == "$a$  100.0 %"
    assert "��$b$ $  50.0 %" in label_texts(figure)
    assert "x" * 23 + "…  50.0 %" in label_texts(figure)
    assert figure.axes[0].get_title() == "$5 and $6"


@pytest.mark.parametrize(("suffix", "magic"), [("png", b"\x89PNG"), ("svg", b"<?xml"), ("PDF", b"%PDF")])
def test_the_suffix_decides_the_type_of_the_file(tmp_path: Path, suffix: str, magic: bytes) -> None:
    path = tmp_path / f"picture.{suffix}"
    draw(made_up({"a": {"a": 1.0}}), path)
    assert path.read_bytes().startswith(magic)


def test_a_suffix_that_matplotlib_does_not_know_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UnknownNameError, match=r"suffix of the picture's path must be one of .*'\.png'.*Got '\.doc'"):
        draw(made_up({"a": {"a": 1.0}}), tmp_path / "picture.doc")
    assert list(tmp_path.iterdir()) == []


def test_axes_of_a_subfigure_are_drawn_into_and_the_whole_figure_is_returned() -> None:
    figure = Figure(figsize=(10, 4))
    axes = figure.subfigures(1, 2)[1].subplots()
    assert draw(made_up({"a": {"a": 1.0}}), axes=axes) is figure
    assert [text.get_text() for text in axes.texts if text.get_text()] == ["a  100.0 %", "a  100.0 %"]


def test_drawing_leaves_no_figure_behind() -> None:
    import matplotlib.pyplot

    draw(made_up({"a": {"a": 1.0}}))
    assert matplotlib.pyplot.get_fignums() == []


def test_without_matplotlib_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(MissingExtraError, match=r"Drawing an explanation needs .*cptw-search\[plot\]"):
        draw(made_up({"a": {"a": 1.0}}))


@pytest.mark.parametrize("value", [0, 1.5, True])
def test_max_terms_is_checked(value: object) -> None:
    with pytest.raises(InvalidInputError, match=r"max_terms must be a whole number >= 1\. Got"):
        draw(made_up({"a": {"a": 1.0}}), max_terms=value)  # type: ignore[arg-type]


def test_importing_the_views_imports_no_drawing_library() -> None:
    code = "import sys, cptw_search.explain_views; assert 'matplotlib' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
