"""How good a run is, by `ir-measures <https://ir-measur.es>`_, which asks trec_eval: per query, and the mean."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from cptw_search.errors import InvalidInputError, require_extra
from cptw_search.evaluation.runs import Run

__all__ = ["MEASURES", "RetrievalScores", "measure_run"]

MEASURES = {"ndcg@10": "nDCG@10", "map": "AP", "recall@100": "R@100", "mrr": "RR"}
"""Our names of the measures, in the order of reports, and those of ``ir-measures``."""


@dataclass(frozen=True)
class RetrievalScores:
    """What a run scored.

    Parameters
    ----------
    per_query : dict of str to dict of str to float
        For each measure the value of every query, by its id; all measures have the same queries in the same order.
    mean : dict of str to float
        For each measure the mean over the queries.
    """

    per_query: dict[str, dict[str, float]]
    mean: dict[str, float]


def measure_run(run: Run, judgements: Mapping[str, Mapping[str, int]]) -> RetrievalScores:
    """Measure a run by judgements.

    nDCG takes the grade itself as the gain; for the other measures any grade above 0 is relevant. The order of the run
    counts, also among equal scores. A query without hits counts as 0; a query without a relevant document is left out,
    for no system can find one.

    Parameters
    ----------
    run : mapping of str to sequence of (str, float)
        Rankings by query id, best first.
    judgements : mapping of str to mapping of str to int
        Grades by query id and document id.

    Returns
    -------
    RetrievalScores
        ``ndcg@10``, ``map``, ``recall@100`` and ``mrr``.

    Raises
    ------
    InvalidInputError
        If no query has a relevant document.
    MissingExtraError
        If ``ir-measures`` is not installed.

    Examples
    --------
    >>> scores = measure_run({"q": [("a", 2.0), ("b", 1.0)]}, {"q": {"b": 1}, "silent": {"a": 1}, "hopeless": {"a": 0}})
    >>> scores.per_query["mrr"], scores.mean["mrr"]
    ({'q': 0.5, 'silent': 0.0}, 0.25)
    """
    ir_measures = require_extra("ir_measures", "evaluation", "Measuring a run")
    judged = {query_id: dict(grades) for query_id, grades in judgements.items() if any(g > 0 for g in grades.values())}
    if not judged:
        raise InvalidInputError(
            f"judgements must hold a query with a relevant document, of a grade above 0. Got {len(judgements)} queries "
            "without one."
        )
    # By rank: trec_eval goes by scores, and orders equal ones by its own rule.
    ranks = {
        query_id: {doc_id: -float(rank) for rank, (doc_id, _) in enumerate(run[query_id])}
        for query_id in judged
        if run.get(query_id)
    }
    names = {ir_measures.parse_measure(theirs): ours for ours, theirs in MEASURES.items()}
    per_query = {name: dict.fromkeys(judged, 0.0) for name in MEASURES}
    for metric in ir_measures.evaluator(list(names), judged).iter_calc(ranks) if ranks else ():
        per_query[names[metric.measure]][metric.query_id] = float(metric.value)
    return RetrievalScores(per_query, {name: sum(values.values()) / len(values) for name, values in per_query.items()})
