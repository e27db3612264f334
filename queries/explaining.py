"""Why hits of a cluster match: CPTW's shares from the model, those of BM25 from the server that computed it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from cptw_queries.bodies import search_body
from cptw_queries.builders import Clause, narrow
from cptw_queries.searching import SearchPart
from cptw_queries.sending import each_hits
from cptw_search.backend import Hit
from cptw_search.cluster import ClusterClient
from cptw_search.cluster_answers import read_part
from cptw_search.cluster_names import encode_token
from cptw_search.errors import ClusterConnectionError
from cptw_search.explain import Explanation, explain, surface_words
from cptw_search.explain_mixed import mix
from cptw_search.model import Cptw

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["explain_hits"]

BATCH_HITS = 1_000  # ids in one request
MOST = 1e100  # servers compute with float32: their scores and the inverse of these are far from it

Shares = dict[str, dict[str, float]]  # a hit's id to tokens to what each adds to its score


def explain_hits(
    client: ClusterClient, name: str, model: Cptw, query: Document, hits: Sequence[Hit], parts: Sequence[SearchPart]
) -> list[Explanation]:
    """Take the scores of hits apart.

    A server's BM25 has statistics of its own, so each word's share is what the server says: one small search a word,
    among the hits alone.

    Parameters
    ----------
    client : ClusterClient
        Where to ask.
    name : str
        The index or alias.
    model : Cptw
        The model of the index.
    query : str or mapping
        The query.
    hits : sequence of Hit
        What it found, with the model's text fields.
    parts : sequence of SearchPart
        What the scores are a sum of.

    Returns
    -------
    list of Explanation
        One a hit.

    Raises
    ------
    ClusterError
        If the server cannot be asked.
    """
    words = [surface_words(model, hit.fields) for hit in hits]
    tokens = {encode_token(term): term for found in words for term in found}
    factor = _checked(sum(part.factor for part in parts if part.name == "cptw"), name)
    shares = {
        part.name: _token_shares(client, name, part, hits, tokens) for part in parts if part.name in ("bm25", "learned")
    }

    def of_hit(part: str, hit: Hit) -> dict[str, float] | None:
        if part not in shares:
            return None
        return {tokens[token]: share for token, share in shares[part].get(hit.id, {}).items()}

    return [
        mix(
            explain(model, query, hit.fields, nonnegative=True),
            factor,
            bm25=of_hit("bm25", hit),
            learned=of_hit("learned", hit),
            words=found,
        )
        for hit, found in zip(hits, words, strict=True)
    ]


def _token_shares(
    client: ClusterClient, name: str, part: SearchPart, hits: Sequence[Hit], tokens: Mapping[str, str]
) -> Shares:
    wanted = [(token, clause) for token, clause in _single_clauses(part.clause) if token in tokens]
    shares: Shares = {}
    for start in range(0, len(hits), BATCH_HITS):
        ids = [hit.id for hit in hits[start : start + BATCH_HITS]]
        among = [{"ids": {"values": ids}}]
        bodies = (search_body(narrow(clause, among), len(ids), fields=(), tie_field=None) for _, clause in wanted)
        for (token, _), found in zip(wanted, each_hits(client, name, bodies), strict=True):
            for hit in found:
                share = _checked(part.factor * float(hit["_score"]), name)
                shares.setdefault(read_part(hit, str, "_id"), {})[token] = share
    return shares


def _checked(number: float, name: str) -> float:
    if not abs(number) < MOST:
        raise ClusterConnectionError(
            f"The scores of {name!r} must be numbers that a server computes. Got {number!r}: something between this program and "
            "the server may have changed them.",
            is_temporary=True,
        )
    return number


def _single_clauses(clause: Clause) -> Iterator[tuple[str, Clause]]:
    """Take what `cptw_queries.builders.bm25_query` made apart: tokens and their clauses."""
    for single in clause["bool"]["should"]:
        ((kind, content),) = single.items()
        (settings,) = content.values()
        yield settings["value" if kind == "term" else "query"], single
