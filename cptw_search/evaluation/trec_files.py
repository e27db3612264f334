"""Files as TREC hands them out: documents in ``<DOC>``, topics in ``<top>``, judgements in four columns."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from cptw_search.document_lines import display_path
from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.markup import elements, first_element, without_tags
from cptw_search.evaluation.smart_files import find_files, plain_number, read_smart_qrels
from cptw_search.evaluation.source_files import read_text

__all__ = ["is_trec_file", "parse_topics", "parse_trec_documents", "read_trec_collection"]

_SNIFFED_BYTES = 4096
_TITLES = ("TITLE", "HEADLINE", "HL", "HEAD", "TTL")
_LABEL = re.compile(r"(?:Number|Topic|Description)\s*:\s*", re.IGNORECASE)
_DROPPED = re.compile(r"<(DOCNO|DOCID)>[^<]*</\1>", re.IGNORECASE)


def is_trec_file(path: Path) -> bool:
    """Tell whether a file begins with a document.

    Parameters
    ----------
    path : Path
        The file; not gzipped.

    Returns
    -------
    bool
        Whether ``<DOC>`` stands near its beginning.
    """
    try:
        with path.open("rb") as stream:
            return b"<doc>" in stream.read(_SNIFFED_BYTES).lower()
    except OSError:
        return False


def parse_trec_documents(text: str, name: str) -> Iterator[dict[str, str]]:
    """Take the documents out of a file's text.

    Parameters
    ----------
    text : str
        The text.
    name : str
        The file, for messages.

    Yields
    ------
    dict
        ``id``, ``title`` and ``text``: what stands in ``<TEXT>``, or all that is no title where there is none.

    Raises
    ------
    InvalidInputError
        If a document has no ``<DOCNO>``.

    Examples
    --------
    >>> list(parse_trec_documents("<DOC><DOCNO> A-1 </DOCNO><TEXT>a <I>boat</I></TEXT></DOC>", "a.sgml"))
    [{'id': 'A-1', 'title': '', 'text': 'a boat'}]
    """
    for number, document in enumerate(elements(text, "DOC"), start=1):
        doc_id = first_element(document, "DOCNO")
        if not doc_id:
            raise InvalidInputError(f"{name}: every <DOC> must have a <DOCNO>. Number {number} has none.")
        title = first_element(document, *_TITLES)
        body = without_tags(" ".join(elements(document, "TEXT")))
        if not body:
            body = without_tags(_DROPPED.sub(" ", document)).removeprefix(title).lstrip()
        yield {"id": doc_id, "title": title, "text": body}


def parse_topics(text: str, name: str) -> dict[str, str]:
    r"""Take the queries out of a file of topics.

    Parameters
    ----------
    text : str
        The text.
    name : str
        The file, for messages.

    Returns
    -------
    dict of str to str
        The title of each topic, or its description if it has no title, by its number without leading zeros.

    Raises
    ------
    InvalidInputError
        If a topic has no number, or two have the same.

    Examples
    --------
    >>> parse_topics("<top>\n<num> Number: 051\n<title> Topic: boats\n<desc> Description:\nAll boats.\n</top>", "t")
    {'51': 'boats'}
    """
    queries: dict[str, str] = {}
    for number, topic in enumerate(elements(text, "top"), start=1):
        # The parts of a topic are not closed: each ends where the next tag begins.
        parts = {tag: _part(topic, tag) for tag in ("num", "title", "desc")}
        query_id = plain_number(parts["num"])
        if not query_id or query_id in queries:
            got = f"{query_id[:40]!r} twice" if query_id else "none"
            raise InvalidInputError(f"{name}: every topic must have a number of its own. Got {got} in topic {number}.")
        queries[query_id] = parts["title"] or parts["desc"]
    return queries


def _part(topic: str, tag: str) -> str:
    found = elements(topic, tag)
    content = found[0].partition("<")[0] if found else ""
    return _LABEL.sub("", without_tags(content), count=1)


def read_trec_collection(
    folder: Path, qrels: str | None
) -> tuple[Iterable[dict[str, str]], dict[str, str], dict[str, dict[str, int]]]:
    """Read a folder of documents, topics and judgements.

    Parameters
    ----------
    folder : Path
        The folder. A file with ``topics`` or ``query`` in its name holds topics, one with ``qrel`` judgements, and all
        others that begin with ``<DOC>`` are documents.
    qrels : str or None
        The name of the file of judgements, if there are several.

    Returns
    -------
    documents : iterable of dict
        With ``id``, ``title`` and ``text``.
    queries : dict of str to str
        By number.
    judgements : dict of str to dict of str to int
        Grades.

    Raises
    ------
    MissingDataError
        If one of the three is not there.
    InvalidInputError
        If a file cannot be read.
    """
    files, topics, judgement_file = find_files(folder, qrels)
    queries: dict[str, str] = {}
    for path in topics:
        queries |= parse_topics(read_text(path), display_path(path))
    documents = (
        document
        for path in files
        if is_trec_file(path)
        for document in parse_trec_documents(read_text(path), display_path(path))
    )
    return documents, queries, read_smart_qrels(judgement_file)
