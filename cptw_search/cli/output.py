"""What is printed, and how: results on standard output, messages on standard error.

Texts come from strangers' documents: none of them may command the terminal, and none is read as markup.
"""

from __future__ import annotations

import functools
import json
import os
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TextIO

if TYPE_CHECKING:
    from rich.console import Console, RenderableType
    from rich.text import Text

    from cptw_search.highlight import Span

__all__ = [
    "bytes_of_size",
    "console",
    "counted",
    "is_styled",
    "marked",
    "message",
    "print_cut",
    "print_facts",
    "print_indented",
    "print_json",
    "print_line",
    "print_table",
    "safe",
]

_PIPE_WIDTH = 1000  # nothing is broken that a program may read
_INDENT = 4

# Directions that would make a text look like another one.
_BIDIRECTIONAL = dict.fromkeys([*range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x200E, 0x200F, 0x061C], "\ufffd")
# Allowed in JSON, but a terminal may obey them, and readers of lines may take them for an end of line.
_UNSAFE_IN_JSON = re.compile("[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ud800-\udfff]")


def safe(text: str) -> str:
    r"""Make a text fit for one line of a terminal.

    Parameters
    ----------
    text : str
        Any text.

    Returns
    -------
    str
        A text of the same length: white space became spaces, control characters pictures.

    Examples
    --------
    >>> safe("a\tred \x1b[31mboat")
    'a red ␛[31mboat'
    """
    from cptw_search.highlight import printable

    one_line = "".join(" " if character.isspace() else character for character in text)
    return printable(one_line).translate(_BIDIRECTIONAL).encode("utf-8", "replace").decode()


def is_styled(stream: TextIO | None = None) -> bool:
    """Tell whether colours and the like may be used.

    Parameters
    ----------
    stream : text file, optional
        By default standard output.

    Returns
    -------
    bool
        True on a terminal that is not dumb, unless ``NO_COLOR`` is set.
    """
    stream = sys.stdout if stream is None else stream
    return stream.isatty() and not os.environ.get("NO_COLOR") and os.environ.get("TERM") != "dumb"


def console() -> Console:
    """Make a console for standard output.

    Returns
    -------
    rich.console.Console
        As wide as the terminal, or wide enough where there is none; nothing is read as markup.
    """
    return _console(sys.stdout, is_styled())


@functools.lru_cache(maxsize=1)
def _console(stream: TextIO, styled: bool) -> Console:
    from rich.console import Console

    return Console(
        file=stream,
        color_system="auto" if styled else None,
        no_color=not styled,
        force_terminal=styled,
        width=None if stream.isatty() else _PIPE_WIDTH,
        highlight=False,
        markup=False,
        emoji=False,
    )


def message(text: str) -> None:
    """Tell the user something, in one line on standard error.

    Parameters
    ----------
    text : str
        What to say.
    """
    sys.stdout.flush()
    print(f"cptw: {safe(text)}", file=sys.stderr, flush=True)


def print_json(value: Mapping[str, Any] | Sequence[Any]) -> None:
    """Print one value as a line of JSON.

    Parameters
    ----------
    value : mapping or sequence
        Plain data.
    """
    is_unicode = (sys.stdout.encoding or "").lower().replace("-", "").startswith("utf")
    line = json.dumps(value, ensure_ascii=not is_unicode, allow_nan=False)
    print(_UNSAFE_IN_JSON.sub(lambda match: f"\\u{ord(match.group()):04x}", line))


def marked(text: str, spans: Sequence[Span]) -> Text:
    """Mark words of a text, by colours where there are any and by characters where there are none.

    Parameters
    ----------
    text : str
        A text of one line.
    spans : sequence of Span
        Its marks.

    Returns
    -------
    rich.text.Text
        Safe to be printed.
    """
    from rich.text import Text

    from cptw_search.highlight import to_plain, to_rich

    return to_rich(safe(text), spans) if is_styled() else Text(to_plain(safe(text), spans))


def print_line(*parts: str | tuple[str, str] | Text) -> None:
    """Print a line of several parts, which a narrow terminal breaks and a pipe does not.

    Parameters
    ----------
    *parts : str, (str, str) or rich.text.Text
        Texts, or texts with a style.
    """
    from rich.text import Text

    console().print(Text.assemble(*parts), soft_wrap=not sys.stdout.isatty())


def print_cut(*parts: str | tuple[str, str] | Text) -> None:
    """Print a line of several parts, cut off where the terminal ends.

    Parameters
    ----------
    *parts : str, (str, str) or rich.text.Text
        As for `print_line`.
    """
    from rich.text import Text

    console().print(Text.assemble(*parts), no_wrap=True, overflow="ellipsis", soft_wrap=not sys.stdout.isatty())


def print_indented(content: RenderableType) -> None:
    """Print something below a line that it belongs to.

    Parameters
    ----------
    content : rich renderable
        A text or a table.
    """
    from rich.padding import Padding
    from rich.text import Text

    if isinstance(content, Text) and not sys.stdout.isatty():
        print_line(" " * _INDENT, content)
    else:
        console().print(Padding(content, (0, 0, 0, _INDENT), expand=False))


def print_facts(facts: Mapping[str, object]) -> None:
    """Print names and values in two columns.

    Parameters
    ----------
    facts : mapping
        Names to what is to be said about them; what is None or empty is left out.
    """
    said = {name: value for name, value in facts.items() if value not in (None, "")}
    width = max(map(len, said), default=0)
    for name, value in said.items():
        print_line((f"{name:<{width}}", "bold"), "  ", safe(str(value)))


def print_table(header: Sequence[str], rows: Iterable[Sequence[str]], *, right: Sequence[int] = ()) -> None:
    """Print rows under a header.

    Parameters
    ----------
    header : sequence of str
        Names of the columns.
    rows : iterable of sequence of str
        The cells.
    right : sequence of int, default ()
        Columns of numbers, which are aligned at the right.
    """
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for column, name in enumerate(header):
        table.add_column(name, justify="right" if column in right else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(safe(cell)) for cell in row))
    console().print(table)


def bytes_of_size(n_bytes: int) -> str:
    """Say a size as people do.

    Parameters
    ----------
    n_bytes : int
        How many bytes.

    Returns
    -------
    str
        With a unit of 1000.

    Examples
    --------
    >>> bytes_of_size(512), bytes_of_size(31_952_576)
    ('512 B', '32 MB')
    """
    size, units = float(n_bytes), ["B", "kB", "MB", "GB", "TB"]
    while size >= 999.5 and len(units) > 1:
        size, units = size / 1000, units[1:]
    return f"{size:.1f} {units[0]}" if size < 9.95 and units[0] != "B" else f"{size:.0f} {units[0]}"


def counted(n: int, what: str) -> str:
    """Say a number of things.

    Parameters
    ----------
    n : int
        How many.
    what : str
        One of them.

    Returns
    -------
    str
        With an s where there are several.

    Examples
    --------
    >>> counted(1, "document"), counted(1200, "term")
    ('1 document', '1,200 terms')
    """
    return f"{n:,} {what}{'' if n == 1 else 's'}"
