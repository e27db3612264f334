"""Systems on test collections: runs, measures, and whether a difference to BM25 is more than chance."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.collections import Collection
from cptw_search.evaluation.retrieval_measures import MEASURES, RetrievalScores, measure_run
from cptw_search.evaluation.runs import Run, check_run_id
from cptw_search.evaluation.significance import holm, paired_p_value
from cptw_search.evaluation.systems import BASELINE, SystemSettings, run_systems

__all__ = ["TESTED_MEASURE", "SystemResult", "check_ids", "comparison_table", "evaluate_systems", "first_queries"]

TESTED_MEASURE = "ndcg@10"
"""The measure whose difference to BM25 is tested."""


@dataclass(frozen=True)
class SystemResult:
    """What one system did on one collection.

    Parameters
    ----------
    collection : str
        The collection's name.
    system : str
        The system's name.
    run : dict of str to list of (str, float)
        For each query its best documents.
    scores : RetrievalScores
        The measures.
    """

    collection: str
    system: str
    run: Run
    scores: RetrievalScores


def check_ids(collection: Collection) -> None:
    """Raise unless the ids of a collection can stand in run files: before hours of searching, not after.

    Parameters
    ----------
    collection : Collection
        The collection.

    Raises
    ------
    InvalidInputError
        If the id of a query or a document holds white space; the message names it.
    """
    for query_id in collection.queries:
        check_run_id(query_id, f"{collection.name}: a query's id")
    for document in collection.documents:
        check_run_id(str(document["id"]), f"{collection.name}: a document's id")


def first_queries(collection: Collection, n: int) -> Collection:
    """Keep the first queries of a collection, for a quick look.

    Parameters
    ----------
    collection : Collection
        The collection.
    n : int
        How many queries at most, of those that have a relevant document.

    Returns
    -------
    Collection
        All documents, fewer queries.

    Raises
    ------
    InvalidInputError
        If ``n`` is below 1.
    """
    if n < 1:
        raise InvalidInputError(f"n must be a whole number >= 1. Got {n!r} instead.")
    useful = [q for q in collection.queries if any(grade > 0 for grade in collection.judgements[q].values())][:n]
    return Collection(
        collection.name,
        collection.documents,
        {query_id: collection.queries[query_id] for query_id in useful},
        {query_id: collection.judgements[query_id] for query_id in useful},
    )


def evaluate_systems(
    collection: Collection,
    systems: Sequence[str],
    settings: SystemSettings | None = None,
    *,
    advance: Callable[[float], None] | None = None,
) -> list[SystemResult]:
    """Run systems on a collection and measure them.

    Parameters
    ----------
    collection : Collection
        Documents, queries and judgements.
    systems : sequence of str
        Some of `cptw_search.evaluation.systems.SYSTEMS`.
    settings : SystemSettings, optional
        By default the library's defaults.
    advance : callable, optional
        Called with the number of queries done since the last call.

    Returns
    -------
    list of SystemResult
        One a system, in the given order.

    Raises
    ------
    UnknownNameError
        If there is no such system.
    InvalidInputError
        If the engine does not have it, a setting cannot be used, or no query has a relevant document.
    """
    return [
        SystemResult(collection.name, system, run, measure_run(run, collection.judgements))
        for system, run in run_systems(systems, collection, settings, advance=advance)
    ]


def comparison_table(results: Sequence[SystemResult], *, seed: int = 0) -> list[dict[str, object]]:
    """Make one row a result, with the p-value of its difference to BM25 on the same collection.

    Parameters
    ----------
    results : sequence of SystemResult
        Of any number of collections.
    seed : int, default 0
        Of the randomisation test.

    Returns
    -------
    list of dict
        ``collection``, ``system``, ``n_queries``, the means of the measures, ``p_value_vs_bm25`` (two-sided, of nDCG@10 per
        query), and ``p_value_holm``, the same corrected by Holm's method for the number of rows that are tested. Both are
        None for BM25 itself, and where BM25 was not run.
    """
    baselines = {result.collection: result for result in results if result.system == BASELINE}
    p_values: list[float | None] = []
    for result in results:
        baseline = baselines.get(result.collection)
        if baseline is None or baseline is result:
            p_values.append(None)
            continue
        ours, theirs = (one.scores.per_query[TESTED_MEASURE] for one in (result, baseline))
        p_values.append(paired_p_value(list(ours.values()), [theirs[query_id] for query_id in ours], seed=seed))
    corrected = iter(holm([p for p in p_values if p is not None]))
    return [
        {
            "collection": result.collection,
            "system": result.system,
            "n_queries": len(result.scores.per_query[TESTED_MEASURE]),
            **{name: result.scores.mean[name] for name in MEASURES},
            "p_value_vs_bm25": p_value,
            "p_value_holm": None if p_value is None else next(corrected),
        }
        for result, p_value in zip(results, p_values, strict=True)
    ]
