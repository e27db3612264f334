"""The steps of a search by each method: one request for most, two for hybrid and rank fusion, four with feedback."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from cptw_queries.bodies import best_score_body, ranking_body, search_body
from cptw_queries.builders import Clause, hybrid_query, narrow
from cptw_queries.fusion import fuse
from cptw_queries.learning import Learner
from cptw_queries.sending import RawHit, best_scores, each_hits, fetch_documents, raw_hits
from cptw_search.backend import DEFAULT_LAMBDA, RRF_DEPTH
from cptw_search.cluster import ID_FIELD, ClusterClient
from cptw_search.cluster_answers import read_part
from cptw_search.errors import InvalidInputError
from cptw_search.feedback import FEEDBACK_DOCS, LEARNED_SHARE, TEACHER_LAMBDA

__all__ = ["HALVES", "LEARNING", "SearchOptions", "SearchPart", "check_options", "run_searches"]

LEARNING = "hybrid+feedback"
"""The method that learns words from the best documents of a first search."""

HALVES = {
    "cptw": ("cptw",),
    "bm25": ("bm25",),
    "hybrid": ("cptw", "bm25"),
    LEARNING: ("cptw", "bm25"),
    "rrf": ("cptw", "bm25"),
}
"""Which queries each method needs."""

Halves = Mapping[str, Clause]
Scaled = tuple[Clause, float, float]  # a clause, its share and its best score


class SearchPart(NamedTuple):
    """What a query's scores are a sum of.

    Attributes
    ----------
    name : {"cptw", "bm25", "learned"}
        Which of the sums.
    clause : dict
        What the server scores.
    factor : float
        What these scores are multiplied by.
    """

    name: str
    clause: Clause
    factor: float


@dataclass(frozen=True)
class SearchOptions:
    """What is asked for beside the query.

    Parameters
    ----------
    k : int
        How many hits at most.
    method : {"cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"}
        How documents are scored.
    lambda_ : float
        The share of CPTW in ``"hybrid"`` and ``"hybrid+feedback"``.
    filters : sequence of dict
        Clauses that all have to match.
    exclude_ids : sequence of str
        Documents that must not be found.
    offset : int
        How many hits are passed over.
    after : (float, str), optional
        Score and id of the last hit of the page before.
    fields : sequence of str, optional
        What is returned of the stored documents.
    min_score : float, optional
        The least score of a hit.
    scales : (float, float), optional
        For ``"hybrid"`` and ``"hybrid+feedback"``, the best scores of CPTW and BM25; asked of the server where they are
        not given.
    tie_field : str, optional
        Equal scores are ordered by this field.
    hides_own_fields : bool
        Whether our own fields have to be taken out of the stored documents.
    """

    k: int = 10
    method: str = "cptw"
    lambda_: float = DEFAULT_LAMBDA
    filters: Sequence[Clause] = field(default=())
    exclude_ids: Sequence[str] = ()
    offset: int = 0
    after: tuple[float, str] | None = None
    fields: Sequence[str] | None = None
    min_score: float | None = None
    scales: tuple[float, float] | None = None
    tie_field: str | None = ID_FIELD
    hides_own_fields: bool = True


def check_options(options: SearchOptions) -> None:
    """Raise unless a search can be done as asked.

    Parameters
    ----------
    options : SearchOptions
        What the user gave; query, k, method and lambda are checked by `cptw_search.backend.check_search`.

    Raises
    ------
    InvalidInputError
        If an option cannot be used.

    Examples
    --------
    >>> check_options(SearchOptions(offset=-1))
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: offset must be a whole number >= 0. Got -1 instead.
    """
    if options.method not in HALVES:
        raise InvalidInputError(
            f"method must be one of {', '.join(map(repr, HALVES))} on a cluster. Got {options.method!r}, which the embedded "
            "engine alone has."
        )
    if not isinstance(options.offset, int) or isinstance(options.offset, bool) or options.offset < 0:
        raise InvalidInputError(f"offset must be a whole number >= 0. Got {options.offset!r} instead.")
    if options.offset and options.after is not None:
        raise InvalidInputError(
            f"offset must be left out with after, which says where to go on. Got {options.offset!r}."
        )
    if isinstance(options.fields, (str, bytes)):
        raise InvalidInputError(f"fields must come as a list. Got the single name {options.fields!r} instead.")
    if options.min_score is not None and not _is_number(options.min_score):
        raise InvalidInputError(f"min_score must be a finite number. Got {options.min_score!r} instead.")
    if options.scales is not None and not (
        isinstance(options.scales, (tuple, list))
        and len(options.scales) == 2
        and all(_is_number(scale) and scale > 0 for scale in options.scales)
    ):
        raise InvalidInputError(
            f"scales must be two numbers > 0, the best scores of CPTW and of BM25. Got {options.scales!r} instead."
        )


def _is_number(value: object) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value)


def run_searches(
    client: ClusterClient,
    name: str,
    queries: Sequence[Halves],
    options: SearchOptions,
    learner: Learner,
    parts: list[list[SearchPart]] | None = None,
) -> list[list[RawHit]]:
    """Search for many queries.

    Parameters
    ----------
    client : ClusterClient
        Where to.
    name : str
        The index or alias.
    queries : sequence of mapping
        For each query, ``"cptw"`` and ``"bm25"`` to their clauses; one that is missing finds nothing.
    options : SearchOptions
        What is asked for.
    learner : Learner
        Makes queries of documents, for ``"hybrid+feedback"``.
    parts : list, optional
        Where explanations are wanted: filled with the parts of each query, for the methods that add scores up.

    Returns
    -------
    list of list of dict
        The hits of each query, best first, as the server gave them.

    Raises
    ------
    ClusterError
        If a search fails.
    """
    if options.method == "rrf":
        return _fused(client, name, queries, options)
    found: list[list[RawHit]] = [[] for _ in queries]
    mixed: list[Clause | None]
    if options.method in ("hybrid", LEARNING):
        best = _best_halves(client, name, queries, options)
        mixed = _mixed(queries, best, options.lambda_)
        if parts is not None:
            parts[:] = _parts(queries, best, options.lambda_)
        if options.method == LEARNING:
            teachers = _mixed(queries, best, min(options.lambda_, TEACHER_LAMBDA))
            taught = _taught(client, name, mixed, teachers, options, learner)
            if parts is not None:
                parts[:] = map(_with_learned, parts, mixed, taught)
            mixed = [hybrid_query(scaled) if scaled else None for scaled in taught]
    else:
        mixed = [halves.get(options.method) for halves in queries]
        if parts is not None:
            parts[:] = [[] if clause is None else [SearchPart(options.method, clause, 1.0)] for clause in mixed]
    sent = [position for position, clause in enumerate(mixed) if clause is not None]
    bodies = [_body(clause, options) for clause in mixed if clause is not None]
    for position, hits in zip(sent, raw_hits(client, name, bodies), strict=True):
        found[position] = hits
    return found


def _body(clause: Clause, options: SearchOptions) -> Clause:
    return search_body(
        narrow(clause, options.filters, options.exclude_ids),
        options.k,
        offset=options.offset,
        after=options.after,
        fields=options.fields,
        min_score=options.min_score,
        tie_field=options.tie_field,
        hides_own_fields=options.hides_own_fields,
    )


def _best_halves(
    client: ClusterClient, name: str, queries: Sequence[Halves], options: SearchOptions
) -> list[dict[str, float]]:
    """Give the best score of each half of each query; one that has no share is not asked for."""
    shares = _shares(options.lambda_)
    wanted = [(n, half) for n, halves in enumerate(queries) for half in halves if shares[half] > 0]
    if options.scales is not None:
        scale_of = dict(zip(shares, options.scales, strict=True))
        found = [scale_of[half] for _, half in wanted]
    else:
        bodies = [best_score_body(narrow(queries[n][half], options.filters, options.exclude_ids)) for n, half in wanted]
        found = best_scores(client, name, bodies)
    best: list[dict[str, float]] = [{} for _ in queries]
    for (n, half), scale in zip(wanted, found, strict=True):
        if scale > 0:
            best[n][half] = scale
    return best


def _shares(lambda_: float) -> dict[str, float]:
    return {"cptw": lambda_, "bm25": 1 - lambda_}


def _mixed(queries: Sequence[Halves], best: Sequence[Mapping[str, float]], lambda_: float) -> list[Clause | None]:
    """Add the two halves of each query, scaled by their best scores."""
    shares = _shares(lambda_)
    parts = [
        [(halves[half], shares[half], scale) for half, scale in scales.items() if shares[half] > 0]
        for halves, scales in zip(queries, best, strict=True)
    ]
    return [hybrid_query(halves) if halves else None for halves in parts]


def _taught(
    client: ClusterClient,
    name: str,
    first: Sequence[Clause | None],
    teachers: Sequence[Clause | None],
    options: SearchOptions,
    learner: Learner,
) -> list[list[Scaled]]:
    """Add to each query the words of the documents that teach, both with their best scores."""

    def narrowed(clause: Clause) -> Clause:
        return narrow(clause, options.filters, options.exclude_ids)

    asked = {n: clause for n, clause in enumerate(teachers) if clause is not None}
    # The best document of a query may be one that teaches nothing: the server has to say how good it is, in the same request.
    bodies = [best_score_body(narrowed(clause)) for clause in first if clause is not None]
    bodies += [
        search_body(narrowed(clause), FEEDBACK_DOCS, fields=learner.fields, tie_field=options.tie_field)
        for clause in asked.values()
    ]
    answers = each_hits(client, name, bodies)
    scaled: list[list[Scaled]] = [[] for _ in first]
    for n, clause in enumerate(first):
        if clause is not None and (hits := next(answers)):
            scaled[n].append((clause, 1 - LEARNED_SHARE, float(hits[0]["_score"])))
    learned: dict[int, Clause] = {}
    for n, hits in zip(asked, answers, strict=True):
        if hits:
            scores = [float(hit["_score"]) for hit in hits]
            words = learner.learn([hit.get("_source") or {} for hit in hits], scores)
            if words is not None:
                learned[n] = words
    bodies = [best_score_body(narrowed(clause)) for clause in learned.values()]
    for (n, clause), scale in zip(learned.items(), best_scores(client, name, bodies), strict=True):
        scaled[n].append((clause, LEARNED_SHARE, scale))
    return [[part for part in parts if part[2] > 0] for parts in scaled]


def _parts(queries: Sequence[Halves], best: Sequence[Mapping[str, float]], lambda_: float) -> list[list[SearchPart]]:
    """Name what `_mixed` adds."""
    shares = _shares(lambda_)
    return [
        [SearchPart(half, halves[half], shares[half] / scale) for half, scale in scales.items() if shares[half] > 0]
        for halves, scales in zip(queries, best, strict=True)
    ]


def _with_learned(parts: Sequence[SearchPart], first: Clause | None, scaled: Sequence[Scaled]) -> list[SearchPart]:
    """Name what `_taught` adds, given the parts of the first search."""
    named = []
    for clause, share, scale in scaled:
        if clause is first:
            named += [part._replace(factor=part.factor * share / scale) for part in parts]
        else:
            named.append(SearchPart("learned", clause, share / scale))
    return named


def _fused(client: ClusterClient, name: str, queries: Sequence[Halves], options: SearchOptions) -> list[list[RawHit]]:
    depth = max(RRF_DEPTH, options.offset + options.k)
    wanted = [(n, clause) for n, halves in enumerate(queries) for clause in halves.values()]
    bodies = [
        ranking_body(narrow(clause, options.filters, options.exclude_ids), depth, tie_field=options.tie_field)
        for _, clause in wanted
    ]
    rankings: list[list[list[str]]] = [[] for _ in queries]
    index_of: dict[str, str] = {}
    for (n, _), hits in zip(wanted, raw_hits(client, name, bodies), strict=True):
        ids = [_id_of(hit, options) for hit in hits]
        rankings[n].append(ids)
        index_of.update(zip(ids, (read_part(hit, str, "_index") for hit in hits), strict=True))
    pages = [_page(fuse(lists), options) for lists in rankings]
    stored: dict[str, RawHit] = {}
    if options.fields is None or options.fields:
        shown = list(dict.fromkeys(doc_id for page in pages for doc_id, _ in page))
        stored = fetch_documents(client, name, shown, fields=options.fields)
    return [
        [
            {
                "_id": doc_id,
                "_index": index_of[doc_id],
                "_score": score,
                "_source": stored.get(doc_id, {}).get("_source", {}),
            }
            for doc_id, score in page
        ]
        for page in pages
    ]


def _id_of(hit: RawHit, options: SearchOptions) -> str:
    if options.tie_field != ID_FIELD:
        return read_part(hit, str, "_id")
    _, doc_id, *_ = (*read_part(hit, list, "sort"), None, None)
    return read_part(doc_id, str)


def _page(fused: list[tuple[str, float]], options: SearchOptions) -> list[tuple[str, float]]:
    if options.min_score is not None:
        fused = [(doc_id, score) for doc_id, score in fused if score >= options.min_score]
    if options.after is not None:
        score_before, id_before = options.after
        fused = [(doc_id, score) for doc_id, score in fused if (-score, doc_id) > (-score_before, id_before)]
    return fused[options.offset : options.offset + options.k]
