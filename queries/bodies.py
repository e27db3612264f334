"""Whole requests as plain dicts, around the clauses of `cptw_queries.builders`."""

from __future__ import annotations

from collections.abc import Sequence

from cptw_queries.builders import Clause
from cptw_search.cluster_names import ID_FIELD, RESERVED_PREFIX

__all__ = ["best_score_body", "ranking_body", "search_body", "votes_body"]

_OWN_FIELDS = f"{RESERVED_PREFIX}*"

_SKIPPABLE_TERMS = 8
"""Up to so many terms a query lets the server pass over documents that cannot be among the best. To know which those are
takes longer than scoring them all where there are more terms, several times longer on Elasticsearch 7
(benchmarks/count_hits.py); a server that has to count hits does not try."""


def search_body(
    clause: Clause,
    k: int,
    *,
    offset: int = 0,
    after: tuple[float, str] | None = None,
    fields: Sequence[str] | None = None,
    min_score: float | None = None,
    tie_field: str | None = ID_FIELD,
    hides_own_fields: bool = True,
) -> Clause:
    """Make a whole request: the best k documents of a query.

    Parameters
    ----------
    clause : dict
        The query.
    k : int
        How many hits at most.
    offset : int, default 0
        How many hits are passed over (``from``).
    after : (float, str), optional
        Score and id of the last hit of the page before (``search_after``).
    fields : sequence of str, optional
        What is returned of the stored document, patterns allowed; by default all, and nothing for an empty sequence.
    min_score : float, optional
        The least score of a hit.
    tie_field : str, optional
        Equal scores are ordered by this field; by default ``cptw_id``. None leaves the order to the server.
    hides_own_fields : bool, default True
        Whether our own fields are taken out of the stored documents. Where they are not stored, that would be work for
        nothing: the server takes every document apart for it.

    Returns
    -------
    dict
        A request body.

    Examples
    --------
    >>> body = search_body({"match_all": {}}, 5, after=(0.25, "a"))
    >>> body["sort"], body["search_after"]
    (['_score', {'cptw_id': 'asc'}], [0.25, 'a'])
    """
    body: Clause = {
        "query": clause,
        "size": k,
        "_source": _source(fields, hides_own_fields),
        "track_total_hits": _scores_all(clause),
    }
    if tie_field is not None:
        body["sort"] = ["_score", {tie_field: "asc"}]
    if offset:
        body["from"] = offset
    if after is not None:
        body["search_after"] = list(after)
    if min_score is not None:
        body["min_score"] = min_score
    return body


def best_score_body(clause: Clause) -> Clause:
    """Ask for the best score alone, for the scales of `hybrid_query`.

    Parameters
    ----------
    clause : dict
        The query.

    Returns
    -------
    dict
        A request body.

    Examples
    --------
    >>> best_score_body({"match_all": {}})
    {'query': {'match_all': {}}, 'size': 1, '_source': False, 'stored_fields': '_none_', 'track_total_hits': False}
    """
    return {
        "query": clause,
        "size": 1,
        "_source": False,
        "stored_fields": "_none_",
        "track_total_hits": _scores_all(clause),
    }


def ranking_body(clause: Clause, k: int, *, tie_field: str | None = ID_FIELD) -> Clause:
    """Ask for scores and ids alone, for long rankings.

    Parameters
    ----------
    clause : dict
        The query.
    k : int
        How many hits at most.
    tie_field : str, optional
        As for `search_body`. With ``cptw_id`` no stored field has to be read: a hit's id stands in its ``sort``.

    Returns
    -------
    dict
        A request body.
    """
    body = search_body(clause, k, fields=(), tie_field=tie_field)
    return {**body, "stored_fields": "_none_"} if tie_field == ID_FIELD else body


def votes_body(clause: Clause, k: int, label_field: str, n_labels: int) -> Clause:
    """Let the server count the labels of the k nearest documents of each shard.

    Parameters
    ----------
    clause : dict
        The query.
    k : int
        How many neighbours vote.
    label_field : str
        A keyword field.
    n_labels : int
        How many labels are counted at most.

    Returns
    -------
    dict
        A request body.
    """
    labels = {"terms": {"field": label_field, "size": n_labels}}
    votes = {"neighbours": {"sampler": {"shard_size": k}, "aggs": {"labels": labels}}}
    return {"query": clause, "size": 0, "track_total_hits": False, "aggs": votes}


def _scores_all(clause: Clause) -> bool:
    """Tell whether a server is to score every document that matches."""
    return _n_terms(clause) > _SKIPPABLE_TERMS


def _n_terms(clause: Clause) -> int:
    n_terms = 0
    for kind, content in clause.items():
        if kind == "bool":
            n_terms += sum(map(_n_terms, (*content.get("should", ()), *content.get("must", ()))))
        else:
            n_terms += len(content["query_vector"]) if kind == "sparse_vector" else 1
    return n_terms


def _source(fields: Sequence[str] | None, hides_own_fields: bool) -> Clause | bool:
    if fields is not None and not fields:
        return False
    parts: Clause = {} if fields is None else {"includes": list(fields)}
    if hides_own_fields:
        parts["excludes"] = [_OWN_FIELDS]
    return parts or True
