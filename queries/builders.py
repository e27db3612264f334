"""Queries as plain dicts: pure functions, one a kind of query. Nothing is sent from here.

A *clause* is what stands under ``query`` in a request. The clauses for a field of weights score

    sum over t of  weight(t) * stored value(t)

which is the model's own score, but for the 9 significant bits that servers store. The text clauses score
``sum over t of boost(t) * BM25(t)`` with the server's own BM25.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from cptw_search.cluster_names import (
    TEXT_FIELD,
    WEIGHTS_FIELD,
    encode_feature,
    encode_token,
)
from cptw_search.errors import InvalidInputError, check_choice

__all__ = [
    "FIELD_TYPES",
    "Clause",
    "bm25_query",
    "existing_query",
    "hybrid_query",
    "more_like_query",
    "narrow",
    "rank_features_query",
    "sparse_vector_query",
    "weights_query",
]

Clause = dict[str, Any]

_MAX_TOKEN = 255  # the servers' tokenizers cut longer words


def rank_features_query(weights: Mapping[str, float], *, field: str = WEIGHTS_FIELD, boost: float = 1.0) -> Clause:
    """Score weighted terms against a ``rank_features`` field.

    Parameters
    ----------
    weights : mapping of str to float
        Terms to weights above 0.
    field : str, default "cptw_weights"
        The field.
    boost : float, default 1.0
        What the whole sum is multiplied by.

    Returns
    -------
    dict
        A clause.

    Examples
    --------
    >>> rank_features_query({"boat": 0.8})["bool"]["should"]
    [{'rank_feature': {'field': 'cptw_weights.boat', 'linear': {}, 'boost': 0.8}}]
    """
    should = [
        {"rank_feature": {"field": f"{field}.{encode_feature(term)}", "linear": {}, "boost": weight}}
        for term, weight in weights.items()
    ]
    return {"bool": {"should": should, **_boost(boost)}}


def sparse_vector_query(weights: Mapping[str, float], *, field: str = WEIGHTS_FIELD, boost: float = 1.0) -> Clause:
    """Score weighted terms against a ``sparse_vector`` field (Elasticsearch 8.15 and later).

    Parameters
    ----------
    weights : mapping of str to float
        Terms to weights above 0.
    field : str, default "cptw_weights"
        The field.
    boost : float, default 1.0
        What the whole sum is multiplied by.

    Returns
    -------
    dict
        A clause. New servers leave light terms out unless told: ``prune`` is false.

    Examples
    --------
    >>> sparse_vector_query({"boat": 0.8})
    {'sparse_vector': {'field': 'cptw_weights', 'query_vector': {'boat': 0.8}, 'prune': False}}
    """
    vector = {encode_feature(term): weight for term, weight in weights.items()}
    return {"sparse_vector": {"field": field, "query_vector": vector, "prune": False, **_boost(boost)}}


FIELD_TYPES = {"rank_features": rank_features_query, "sparse_vector": sparse_vector_query}
"""How a field of each type is queried."""


def weights_query(field_type: str, weights: Mapping[str, float], *, boost: float = 1.0) -> Clause:
    """Score weighted terms against the index's own field of weights.

    Parameters
    ----------
    field_type : {"rank_features", "sparse_vector"}
        The type of the field.
    weights : mapping of str to float
        Terms to weights above 0.
    boost : float, default 1.0
        What the whole sum is multiplied by.

    Returns
    -------
    dict
        A clause.

    Raises
    ------
    UnknownNameError
        If there is no such type.
    """
    check_choice("field_type", field_type, FIELD_TYPES)
    return FIELD_TYPES[field_type](weights, boost=boost)


def bm25_query(counts: Mapping[str, float], *, boost: float = 1.0) -> Clause:
    """Score counted terms against the index's own text field by the server's BM25.

    Parameters
    ----------
    counts : mapping of str to float
        Terms to how often each occurs in the query.
    boost : float, default 1.0
        What the whole sum is multiplied by.

    Returns
    -------
    dict
        A clause.

    Examples
    --------
    >>> bm25_query({"boat": 2.0})
    {'bool': {'should': [{'term': {'cptw_text': {'value': 'boat', 'boost': 2.0}}}]}}
    """
    return existing_query({encode_token(term): count for term, count in counts.items()}, TEXT_FIELD, boost=boost)


def existing_query(boosts: Mapping[str, float], field: str, *, boost: float = 1.0) -> Clause:
    """Score tokens against a text field that is already there, each by BM25 times a boost.

    Parameters
    ----------
    boosts : mapping of str to float
        The field's own tokens to boosts above 0.
    field : str
        The text field.
    boost : float, default 1.0
        What the whole sum is multiplied by.

    Returns
    -------
    dict
        A clause.

    Examples
    --------
    >>> existing_query({"boat": 0.8}, "body")
    {'bool': {'should': [{'term': {'body': {'value': 'boat', 'boost': 0.8}}}]}}
    """
    return {"bool": {"should": [_token(field, token, weight) for token, weight in boosts.items()], **_boost(boost)}}


def _token(field: str, token: str, boost: float) -> Clause:
    if len(token) > _MAX_TOKEN:  # several tokens on the server
        return {"match": {field: {"query": token, "operator": "and", "boost": boost}}}
    return {"term": {field: {"value": token, "boost": boost}}}


def hybrid_query(halves: Sequence[tuple[Clause, float, float]]) -> Clause:
    """Add clauses, each scaled by its best score: the scores of `EmbeddedIndex`'s hybrid in one request.

    Parameters
    ----------
    halves : sequence of (dict, float, float)
        A clause, its share in the sum, and its best score, which the share is divided by. A clause whose share or best
        score is 0 is left out.

    Returns
    -------
    dict
        A clause; one that matches nothing where all were left out.

    Raises
    ------
    InvalidInputError
        If a best score is negative or not finite.

    Examples
    --------
    >>> cptw, bm25 = rank_features_query({"boat": 1.0}), bm25_query({"boat": 1.0})
    >>> [part["bool"]["boost"] for part in hybrid_query([(cptw, 0.25, 0.5), (bm25, 0.75, 6.0)])["bool"]["should"]]
    [0.5, 0.125]
    """
    parts = []
    for clause, share, best in halves:
        if not isinstance(best, (int, float)) or not 0 <= best < float("inf"):
            raise InvalidInputError(f"A scale must be a number >= 0, the best score of its half. Got {best!r} instead.")
        if share > 0 and best > 0:
            ((kind, content),) = clause.items()
            parts.append({kind: {**content, "boost": share / best}})
    return {"bool": {"should": parts}} if parts else {"match_none": {}}


def narrow(clause: Clause, filters: Sequence[Clause] = (), exclude_ids: Sequence[str] = ()) -> Clause:
    """Let only some documents be found, without a change of their scores.

    Parameters
    ----------
    clause : dict
        What scores.
    filters : sequence of dict
        Clauses that all have to match.
    exclude_ids : sequence of str
        Documents that must not be found.

    Returns
    -------
    dict
        A clause.

    Examples
    --------
    >>> narrow({"match_all": {}}, [{"term": {"label": "sport"}}])
    {'bool': {'must': [{'match_all': {}}], 'filter': [{'term': {'label': 'sport'}}]}}
    """
    if not filters and not exclude_ids:
        return clause
    body: Clause = {"must": [clause]}
    if filters:
        body["filter"] = list(filters)
    if exclude_ids:
        body["must_not"] = [{"ids": {"values": list(exclude_ids)}}]
    return {"bool": body}


def more_like_query(clause: Clause, doc_id: str, filters: Sequence[Clause] = ()) -> Clause:
    """Find documents like one of the index, but not that one.

    Parameters
    ----------
    clause : dict
        The query that was made from the document.
    doc_id : str
        The document's id.
    filters : sequence of dict
        Clauses that all have to match.

    Returns
    -------
    dict
        A clause.
    """
    return narrow(clause, filters, [doc_id])


def _boost(boost: float) -> Clause:
    return {} if boost == 1.0 else {"boost": boost}
