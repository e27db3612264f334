"""The little that old collections need of markup: elements by name, and text without tags.

Their files look like SGML or XML and are neither: ampersands stand bare, ends are missing. Everything here takes time
in proportion to the text, whatever the text is, and follows no entity but those of characters.
"""

from __future__ import annotations

import functools
import html
import re

__all__ = ["elements", "first_element", "without_tags"]

_TAG = re.compile(r"<[^<>]*>")
_SILENT = ("script", "style")


@functools.cache
def _opening(tag: str) -> re.Pattern[str]:
    return re.compile(rf"<{tag}(?:\s[^<>]*)?>", re.IGNORECASE)


@functools.cache
def _closing(tag: str) -> re.Pattern[str]:
    return re.compile(rf"</{tag}\s*>", re.IGNORECASE)


def elements(text: str, tag: str) -> list[str]:
    """Give the content of every element of a name; one that is not closed ends where the next begins.

    Parameters
    ----------
    text : str
        The text.
    tag : str
        The element's name; upper and lower case are the same.

    Returns
    -------
    list of str
        What stands between the tags, as it is.

    Examples
    --------
    >>> elements("<DOC>a boat</DOC> <doc>a ship", "doc")
    ['a boat', 'a ship']
    """
    return [_closing(tag).split(piece, maxsplit=1)[0] for piece in _opening(tag).split(text)[1:]]


def first_element(text: str, *tags: str) -> str:
    """Give the text of the first of some elements that is there and not empty.

    Parameters
    ----------
    text : str
        The text.
    *tags : str
        Names, the preferred one first.

    Returns
    -------
    str
        Its text without tags, empty if there is none.

    Examples
    --------
    >>> first_element("<HL> Storm &amp; sea </HL>", "TITLE", "HL")
    'Storm & sea'
    """
    for tag in tags:
        for content in elements(text, tag):
            if found := without_tags(content):
                return found
    return ""


def without_tags(text: str) -> str:
    """Leave out tags, scripts and styles, and write characters for their entities.

    Parameters
    ----------
    text : str
        Text with markup.

    Returns
    -------
    str
        The words, with one space between them.

    Examples
    --------
    >>> without_tags("<p>a <b>boat</b><style>p {}</style> &lt; a ship</p>")
    'a boat < a ship'
    """
    for tag in _SILENT:
        first, *pieces = _opening(tag).split(text)
        text = " ".join([first, *(_closing(tag).split(piece, maxsplit=1)[-1] for piece in pieces)])
    return " ".join(html.unescape(_TAG.sub(" ", text)).split())
