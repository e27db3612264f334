"""Wiki10+: articles as HTML pages, and one file with the tags that readers gave them.

The paper says nothing of how 25 classes came out of the tags. Ours: the classes are the 25 tags that the most articles
have, and an article's class is the one of them that the most readers gave it; of equals, the commoner tag; an article
with none of them is left out. A published set of 25 classes is better loaded as ``split<TAB>label<TAB>text``.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from cptw_search.document_lines import display_path
from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.markup import elements, first_element, without_tags
from cptw_search.evaluation.source_files import check_number, folder_entries, read_text

__all__ = ["N_CLASSES", "find_tag_file", "parse_tags", "read_tagged_articles"]

N_CLASSES = 25
"""The number of classes of the paper's Table 1."""

_TAG_FILE_ENDINGS = ("tag-data.xml", "tag-data.xml.gz", "tags.xml", "tags.xml.gz")
_MAX_COUNT_DIGITS = 9


def find_tag_file(folder: Path) -> tuple[Path, Path] | None:
    """Find the tags and the articles in a folder.

    Parameters
    ----------
    folder : Path
        The folder.

    Returns
    -------
    (Path, Path) or None
        The file of tags and the folder of articles; None if they are not there.
    """
    entries = folder_entries(folder)
    tags = [entry for entry in entries if entry.is_file() and entry.name.lower().endswith(_TAG_FILE_ENDINGS)]
    articles = [entry for entry in entries if entry.is_dir() and entry.name.lower().endswith("documents")]
    return (tags[0], articles[0]) if tags and articles else None


def parse_tags(text: str, name: str) -> dict[str, dict[str, int]]:
    """Take the tags of every article out of a file's text.

    Parameters
    ----------
    text : str
        Elements ``article`` with ``hash`` and several ``tag`` of ``name`` and ``count``.
    name : str
        The file, for messages.

    Returns
    -------
    dict of str to dict of str to int
        For every article, by its hash, how many readers gave it each tag.

    Raises
    ------
    InvalidInputError
        If an article has no hash, or a count is no number.

    Examples
    --------
    >>> parse_tags("<article><hash>a1</hash><tag><name>sea</name><count>3</count></tag></article>", "tags.xml")
    {'a1': {'sea': 3}}
    """
    tags: dict[str, dict[str, int]] = {}
    for number, article in enumerate(elements(text, "article"), start=1):
        key = first_element(article, "hash")
        if not key:
            raise InvalidInputError(f"{name}: every <article> must have a <hash>. Number {number} has none.")
        given = tags.setdefault(key, {})
        for tag in elements(article, "tag"):
            count = first_element(tag, "count") or "1"
            if not (count.isascii() and count.isdecimal() and len(count) <= _MAX_COUNT_DIGITS):
                raise InvalidInputError(
                    f"{name}: a tag's <count> must be a number. Got {count[:40]!r} in article {number}."
                )
            if label := first_element(tag, "name"):
                given[label] = given.get(label, 0) + int(count)
        check_number(len(tags), name)
    return tags


def read_tagged_articles(tag_file: Path, folder: Path, *, n_classes: int = N_CLASSES) -> Iterator[tuple[str, str]]:
    """Read the articles that have one of the commonest tags.

    Parameters
    ----------
    tag_file : Path
        The file of tags.
    folder : Path
        The articles: files named by hash, with any suffix or none.
    n_classes : int, default 25
        How many tags are classes.

    Yields
    ------
    (str, str)
        Label and text of an article, in the order of the hashes.

    Raises
    ------
    InvalidInputError
        If a file cannot be read.
    """
    files = {entry.name.partition(".")[0]: entry for entry in folder_entries(folder) if entry.is_file()}
    tags = {
        key: given for key, given in parse_tags(read_text(tag_file), display_path(tag_file)).items() if key in files
    }
    commonness = Counter(tag for given in tags.values() for tag in given)
    # Sorted by name first, so that equals come in an order of their own and not in that of the file.
    classes = dict(sorted(sorted(commonness.items()), key=lambda item: -item[1])[:n_classes])
    for key in sorted(tags):
        given = [(count, classes[tag], tag) for tag, count in sorted(tags[key].items()) if tag in classes]
        if given:
            yield max(given)[2], without_tags(read_text(files[key]))
