"""Runs: what a system found for each query, kept as TREC run files that other people's tools read."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from cptw_search.errors import InvalidInputError

__all__ = ["Ranking", "Run", "check_run_id", "ranked", "read_run", "write_run"]

Ranking = Sequence[tuple[str, float]]
"""Document ids with their scores, best first."""

Run = Mapping[str, Ranking]
"""Rankings by the ids of the queries."""


def ranked(scores: Mapping[str, float]) -> list[tuple[str, float]]:
    """Order scored documents as all of this package does: best first, equal scores by id.

    Parameters
    ----------
    scores : mapping of str to float
        Document ids to scores.

    Returns
    -------
    list of (str, float)
        The ranking.

    Examples
    --------
    >>> ranked({"b": 1.0, "c": 2.0, "a": 1.0})
    [('c', 2.0), ('a', 1.0), ('b', 1.0)]
    """
    return sorted(scores.items(), key=lambda item: (-item[1], item[0]))


def check_run_id(text: str, what: str) -> None:
    """Raise unless a text can stand in a column of a run file.

    Parameters
    ----------
    text : str
        An id or a tag.
    what : str
        What it is, for the message.

    Raises
    ------
    InvalidInputError
        If it is empty or holds white space.

    Examples
    --------
    >>> check_run_id("doc 7", "A document's id")
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: A document's id must be without white space, which separates the columns of a \
TREC file. Got 'doc 7': rename it.
    """
    if not text or any(character.isspace() for character in text):
        raise InvalidInputError(
            f"{what} must be without white space, which separates the columns of a TREC file. Got {text!r}: rename it."
        )


def write_run(run: Run, path: str | Path, *, tag: str = "cptw") -> None:
    """Write a run as lines of query id, ``Q0``, document id, rank, score and tag.

    Tools such as trec_eval read scores in single precision, go by them alone, and have their own order of equal ones.
    So a score that is not below the one above it is written as the next smaller number: the order stays, whoever reads
    it.

    Parameters
    ----------
    run : mapping of str to sequence of (str, float)
        Rankings by query id, best first. A query without hits leaves no line.
    path : str or Path
        The file.
    tag : str, default "cptw"
        The system's name.

    Raises
    ------
    InvalidInputError
        If an id or the tag is empty or holds white space, which separates the columns; a document comes twice; or the
        scores of a ranking are not finite or not in descending order.
    """
    check_run_id(tag, "The tag of a run")
    lines: list[str] = []
    for query_id, ranking in run.items():
        check_run_id(query_id, "A query's id in a run")
        above = np.float32(np.inf)
        last, seen = math.inf, set()
        for rank, (doc_id, score) in enumerate(ranking, start=1):
            check_run_id(doc_id, f"A document's id in the run of query {query_id!r}")
            if doc_id in seen:
                raise InvalidInputError(
                    f"A document must be found once by query {query_id!r}. Got {doc_id!r} twice: remove one of them."
                )
            if not math.isfinite(score) or score > last:
                raise InvalidInputError(
                    f"The scores of query {query_id!r} must be finite numbers in descending order. Got {score!r} at rank "
                    f"{rank}, after {last!r}: sort them, best first."
                )
            seen.add(doc_id)
            above = min(np.float32(score), np.nextafter(above, np.float32(-np.inf), dtype=np.float32))
            last = score
            lines.append(f"{query_id} Q0 {doc_id} {rank} {above:.9g} {tag}\n")
    with Path(path).open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(lines)


def read_run(path: str | Path) -> dict[str, list[tuple[str, float]]]:
    """Read a TREC run file.

    Parameters
    ----------
    path : str or Path
        The file.

    Returns
    -------
    dict of str to list of (str, float)
        Rankings by query id, best score first, equal scores by their written rank.

    Raises
    ------
    InvalidInputError
        If the file cannot be read, or a line is not one of a run; the message names it.
    """
    path = Path(path)
    found: dict[str, dict[str, tuple[float, int]]] = {}
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InvalidInputError(f"A run must be a readable text file. Got {str(path)!r}: {error}.") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            query_id, _, doc_id, rank, score, _ = line.split()
            place = (-float(score), int(rank))
        except ValueError:
            place = (math.nan, 0)
        if not math.isfinite(place[0]):
            raise InvalidInputError(
                f"{path}:{number}: a line of a run must be query id, Q0, document id, rank, score and tag. Got {line[:80]!r} "
                "instead."
            )
        if doc_id in found.setdefault(query_id, {}):
            raise InvalidInputError(
                f"{path}:{number}: a document must be found once by a query. Got {doc_id!r} twice for {query_id!r}."
            )
        found[query_id][doc_id] = place
    return {
        query_id: [(doc_id, -place[0]) for doc_id, place in sorted(places.items(), key=lambda item: item[1])]
        for query_id, places in found.items()
    }
