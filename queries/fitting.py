"""Queries short enough for the server: the heaviest terms stay, and the caller is told what went."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cptw_search.errors import InvalidInputError

__all__ = ["FittedQuery", "QueryPrunedWarning", "prune_to_fit", "pruning_message"]


class QueryPrunedWarning(UserWarning):
    """A query had more terms than the server takes; the lightest were left out."""


@dataclass(frozen=True)
class FittedQuery:
    """The terms of a query that are sent.

    Parameters
    ----------
    weights : dict
        Terms to weights, in the order in which they came.
    n_terms : int
        How many terms there were before.
    dropped_share : float
        The part of the sum of all weights that was left out, 0 to 1.
    """

    weights: dict[str, float]
    n_terms: int
    dropped_share: float

    @property
    def n_dropped(self) -> int:
        """How many terms were left out."""
        return self.n_terms - len(self.weights)


def prune_to_fit(
    weights: Mapping[str, float], limit: int, *, importance: Mapping[str, float] | None = None
) -> FittedQuery:
    """Keep the heaviest terms of a query.

    Parameters
    ----------
    weights : mapping of str to float
        Terms to weights above 0.
    limit : int
        How many terms are kept at most.
    importance : mapping of str to float, optional
        What decides who stays, and what the share is of; by default the weights themselves.

    Returns
    -------
    FittedQuery
        What is kept; among equals the first are.

    Raises
    ------
    InvalidInputError
        If ``limit`` is no whole number of at least 1.

    Examples
    --------
    >>> prune_to_fit({"boat": 1.0, "raft": 0.25, "ship": 0.75}, 2)
    FittedQuery(weights={'boat': 1.0, 'ship': 0.75}, n_terms=3, dropped_share=0.125)
    """
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidInputError(f"limit must be a whole number >= 1. Got {limit!r} instead.")
    if len(weights) <= limit:
        return FittedQuery(dict(weights), len(weights), 0.0)
    decisive = weights if importance is None else importance
    kept = set(sorted(weights, key=lambda term: -decisive[term])[:limit])  # sorted is stable: the first of equals
    total = sum(decisive[term] for term in weights)
    dropped = sum(decisive[term] for term in weights if term not in kept)
    share = min(1.0, dropped / total) if total > 0 else 0.0
    return FittedQuery({term: weight for term, weight in weights.items() if term in kept}, len(weights), share)


def pruning_message(pruned: list[FittedQuery], n_queries: int, limit: int) -> str:
    """Say in one sentence what was left out.

    Parameters
    ----------
    pruned : list of FittedQuery
        The queries that lost terms; at least one.
    n_queries : int
        How many queries there were.
    limit : int
        The server's limit.

    Returns
    -------
    str
        The sentence, and what can be done.

    Examples
    --------
    >>> print(pruning_message([prune_to_fit({"boat": 3.0, "ship": 1.0}, 1)], 1, 1))
    The query had more terms than the server takes in one request (1): 1 of 2 terms, 25.0 % of the weight, left out. \
Set query_pruning, raise tau, use the placement 'document' or 'both', or raise indices.query.bool.max_clause_count.
    """
    worst = max(pruned, key=lambda query: query.dropped_share)
    what = f"{worst.n_dropped:,} of {worst.n_terms:,} terms, {100 * worst.dropped_share:.1f} % of the weight, left out."
    who = "The query" if n_queries == 1 else f"{len(pruned):,} of {n_queries:,} queries"
    at_worst = "" if n_queries == 1 else "at worst "
    return (
        f"{who} had more terms than the server takes in one request ({limit:,}): {at_worst}{what} Set query_pruning, raise "
        "tau, use the placement 'document' or 'both', or raise indices.query.bool.max_clause_count."
    )
