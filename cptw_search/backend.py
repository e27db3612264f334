"""What the embedded engine and the clusters have in common: hits, methods, and a small protocol."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from cptw_search.errors import InvalidInputError, check_choice

if TYPE_CHECKING:
    from cptw_search.counting import Document
    from cptw_search.explain import Explanation
    from cptw_search.filters import Filter
    from cptw_search.model import Cptw

__all__ = [
    "DEFAULT_LAMBDA",
    "DEFAULT_METHOD",
    "METHODS",
    "RRF_CONSTANT",
    "RRF_DEPTH",
    "Hit",
    "SearchBackend",
    "check_search",
]

METHODS = ("cptw", "bm25", "bm25+rm3", "tfidf", "hybrid", "hybrid+feedback", "rrf")
"""How documents are scored: CPTW, BM25, BM25 with words learned from its best documents, TF-IDF's cosine, lambda CPTW +
(1 - lambda) BM25, the same with words learned from its best documents, reciprocal rank fusion."""

DEFAULT_METHOD = "hybrid+feedback"
"""How a search scores documents unless it is told otherwise; docs/retrieval.md says why."""

DEFAULT_LAMBDA = 0.3
"""The share of CPTW in ``hybrid`` and ``hybrid+feedback``, unless a search is told otherwise."""

BM25_SCALE = 3.5
"""BM25's best score is about so many times the length of the query's IDF vector, as CPTW's is about 1: what a search in one
request divides by, since it cannot know its best scores beforehand."""

RRF_CONSTANT = 60
"""Of reciprocal rank fusion: a document's score is the sum of 1 / (60 + rank) over both lists."""

RRF_DEPTH = 1000
"""How far down the two lists are fused."""


@dataclass(frozen=True)
class Hit:
    """A document that was found.

    Parameters
    ----------
    id : str
        The document's id.
    score : float
        How well it matches; higher is better.
    fields : dict
        What was stored with the document, without the id.
    explanation : Explanation, optional
        Why it matches, where that was asked for.
    """

    id: str
    score: float
    fields: dict[str, object] = field(repr=False)
    explanation: Explanation | None = field(default=None, repr=False)


class SearchBackend(Protocol):
    """Something that holds documents and finds them."""

    @property
    def model(self) -> Cptw:
        """The model that the documents were represented with."""
        ...

    def search(
        self,
        query: Document,
        k: int = 10,
        *,
        method: str = DEFAULT_METHOD,
        lambda_: float = DEFAULT_LAMBDA,
        filter: Filter | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """Find the k best documents, best first; equal scores are ordered by id."""
        ...

    def search_many(
        self,
        queries: Sequence[Document],
        k: int = 10,
        *,
        method: str = DEFAULT_METHOD,
        lambda_: float = DEFAULT_LAMBDA,
        filter: Filter | None = None,
    ) -> list[list[Hit]]:
        """Find the k best documents for each query."""
        ...

    def get(self, doc_id: str) -> dict[str, object] | None:
        """Give a document as it was stored, None where there is none of that id."""
        ...

    def count(self, filter: Filter | None = None) -> int:
        """Count the documents, or those that a filter lets through."""
        ...

    def values(self, field: str) -> list[str]:
        """List the distinct strings in a field of the documents, sorted."""
        ...


def check_search(query: object, k: object, method: str, lambda_: object) -> None:
    """Raise unless a search can be done.

    Parameters
    ----------
    query : object
        Has to be a text or a mapping of fields.
    k : object
        Has to be a whole number of at least 1.
    method : str
        Has to be one of `METHODS`.
    lambda_ : object
        Has to be a number from 0 to 1.

    Raises
    ------
    InvalidInputError
        If one of them is something else.

    Examples
    --------
    >>> check_search("boat", 0, "cptw", 0.3)
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: k must be a whole number >= 1. Got 0 instead.
    """
    if not isinstance(query, (str, Mapping)):
        raise InvalidInputError(f"query must be a text or a mapping of fields. Got {type(query).__name__} instead.")
    if not isinstance(k, int) or isinstance(k, bool) or k < 1:
        raise InvalidInputError(f"k must be a whole number >= 1. Got {k!r} instead.")
    check_choice("method", method, METHODS)
    if not isinstance(lambda_, (int, float)) or isinstance(lambda_, bool) or not 0 <= lambda_ <= 1:
        raise InvalidInputError(f"lambda_ must be a number from 0 to 1. Got {lambda_!r} instead.")
