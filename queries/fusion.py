"""Reciprocal rank fusion in the client: no licence, no plugin, the same on every server."""

from __future__ import annotations

from collections.abc import Sequence

from cptw_search.backend import RRF_CONSTANT

__all__ = ["fuse"]


def fuse(rankings: Sequence[Sequence[str]], constant: int = RRF_CONSTANT) -> list[tuple[str, float]]:
    """Fuse rankings by the sum of the reciprocals of the ranks.

    Parameters
    ----------
    rankings : sequence of sequence of str
        Ids, best first.
    constant : int, default 60
        What is added to each rank.

    Returns
    -------
    list of (str, float)
        Ids and scores, best first; equal scores are ordered by id.

    Examples
    --------
    >>> fuse([["a", "b"], ["b", "c"]], constant=1)  # 1/3 + 1/2, 1/2, 1/3
    [('b', 0.8333333333333333), ('a', 0.5), ('c', 0.3333333333333333)]
    """
    fused: dict[str, float] = {}
    for ranking in rankings:
        for rank, doc_id in enumerate(ranking, start=1):
            fused[doc_id] = fused.get(doc_id, 0.0) + 1 / (constant + rank)
    return sorted(fused.items(), key=lambda pair: (-pair[1], pair[0]))
