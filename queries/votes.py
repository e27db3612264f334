"""Nearest-neighbour votes that are counted in the server, so that no document travels.

`cptw_search.KnnClassifier` over a `ClusterIndex` fetches k hits a text and votes in the client, with any kind of votes on
any index. Here the server counts: a ``sampler`` aggregation keeps the k best documents *of each shard*, and a ``terms``
aggregation counts their labels. That is the same vote if

- every neighbour's vote counts 1 (``"uniform"``): sums of scores need scripts, which not every server runs;
- the index has one shard: more would let k neighbours vote for each of them, and is refused;
- no tie stands across the k-th place: there the server takes the document that was indexed first, and a search the one
  with the smaller id.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from cptw_queries.bodies import votes_body
from cptw_queries.builders import narrow
from cptw_queries.cluster_index import ClusterIndex
from cptw_queries.filters import STRINGS, AnyFilter
from cptw_queries.sending import multi_search
from cptw_search.backend import check_search
from cptw_search.cluster_answers import read_number, read_part, shown
from cptw_search.errors import InvalidInputError

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["aggregate_votes"]


def aggregate_votes(
    index: ClusterIndex,
    documents: Sequence[Document],
    k: int = 11,
    *,
    label_field: str = "label",
    filter: AnyFilter | None = None,
) -> list[dict[str, float]]:
    """Let the server count the labels of the nearest documents of each text.

    Parameters
    ----------
    index : ClusterIndex
        An index of one shard.
    documents : sequence of str or mapping
        Texts, or mappings with the model's fields.
    k : int, default 11
        How many neighbours vote.
    label_field : str, default "label"
        The field of the documents that holds the label.
    filter : mapping or RawFilter, optional
        Only documents that it lets through vote.

    Returns
    -------
    list of dict
        Labels to their share of the votes, the same as `cptw_search.classify.vote` gives with ``"uniform"``; empty for a
        text that is similar to nothing.

    Raises
    ------
    InvalidInputError
        If the index has several shards, or an argument cannot be used.
    ClusterError
        If a search fails.
    """
    check_search("", k, "cptw", 0.5)
    if index.layout.fields.get(label_field) not in STRINGS:
        raise InvalidInputError(
            f"label_field must be a field of strings in the index. Got {label_field!r}; there are "
            f"{sorted(name for name, kind in index.layout.fields.items() if kind in STRINGS)}."
        )
    filters = index.filter_clauses(filter)
    queries = index.build_queries(documents)
    bodies = [votes_body(narrow(query["cptw"], filters), k, label_field, k) for query in queries if query]
    answers = multi_search(index.client, index.name, bodies)
    votes: list[dict[str, float]] = []
    for query in queries:
        if not query:
            votes.append({})
            continue
        answer = next(answers)
        n_shards = read_part(answer, int, "_shards", "total")
        if n_shards > 1:
            raise InvalidInputError(
                f"aggregate_votes needs an index of one shard. {index.name!r} has {shown(n_shards)}: use KnnClassifier."
            )
        buckets = read_part(answer, list, "aggregations", "neighbours", "labels", "buckets")
        counts = {read_part(bucket, str, "key"): read_number(bucket, "doc_count") for bucket in buckets}
        n_votes = sum(counts.values())
        votes.append({label: count / n_votes for label, count in counts.items() if count > 0})
    return votes
