"""The systems that are compared on test collections: BM25 and its rivals, all on one index of one engine."""

from __future__ import annotations

import string
import uuid
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from cptw_search.analysis import Analyzer
from cptw_search.backend import DEFAULT_LAMBDA
from cptw_search.engine import EmbeddedIndex
from cptw_search.errors import InvalidInputError, check_choice, require_extra
from cptw_search.evaluation.collections import Collection
from cptw_search.evaluation.runs import Run
from cptw_search.model import Cptw

if TYPE_CHECKING:
    from cptw_queries import ClusterIndex

__all__ = [
    "BASELINE",
    "SYSTEMS",
    "SystemSettings",
    "check_systems",
    "opened_backend",
    "reference_analyzer",
    "run_system",
    "run_systems",
    "search_queries",
]

BASELINE = "bm25"

SYSTEMS = ("bm25", "bm25+rm3", "tfidf", "cptw", "hybrid", "hybrid+feedback", "rrf")
"""Names of the systems, which are the engine's methods; the baseline stands first."""

_WITHOUT_VECTORS = ("bm25", "bm25+rm3", "tfidf")
_EMBEDDED_ONLY = ("bm25+rm3", "tfidf")
_QUERIES_AT_ONCE = 25


@dataclass(frozen=True)
class SystemSettings:
    """Everything but the name that a system's run depends on.

    Parameters
    ----------
    model : Cptw, default Cptw()
        Vectors, tau, weighting, analyzer, BM25's k1 and b, weights of the fields; it is copied and fitted on the
        collection's documents.
    lambda_ : float, default 0.3
        The share of CPTW in ``hybrid`` and ``hybrid+feedback``.
    depth : int, default 1000
        How many documents are kept for each query.
    engine : str, optional
        The address of an Elasticsearch or OpenSearch cluster; by default the embedded engine.
    """

    model: Cptw = field(default_factory=Cptw)
    lambda_: float = DEFAULT_LAMBDA
    depth: int = 1_000
    engine: str | None = None


def reference_analyzer() -> Analyzer:
    """Give the analysis of the published BM25 figures: lowercase, Porter stems, the 33 stop words of Lucene.

    A word is a run of two or more ASCII letters and digits.

    Returns
    -------
    Analyzer
        Under the name ``reference``.

    Raises
    ------
    MissingExtraError
        If ``bm25s``, which carries the stop words, is not installed.

    Examples
    --------
    >>> reference_analyzer().tokens("The boat's 2 owners aren't sailing")
    ['boat', 'owner', 'aren', 'sail']
    """
    lucene = require_extra("bm25s.stopwords", "evaluation", "The analyzer 'reference' (for the stop words of Lucene)")
    single = (*string.ascii_lowercase, *string.digits)
    return Analyzer("reference", "alphanumeric", frozenset([*lucene.STOPWORDS_EN, *single]), "porter")


def check_systems(systems: Sequence[str], engine: str | None = None) -> None:
    """Raise unless an engine has all of these systems.

    Parameters
    ----------
    systems : sequence of str
        Names.
    engine : str, optional
        The address of a cluster; by default the embedded engine.

    Raises
    ------
    UnknownNameError
        If there is no such system.
    InvalidInputError
        If there are none, one comes twice, or a cluster does not have it.

    Examples
    --------
    >>> check_systems(["bm25", "tfidf"], "http://localhost:9200")
    Traceback (most recent call last):
    ...
    cptw_search.errors.InvalidInputError: A cluster must be asked for some of bm25, cptw, hybrid, hybrid+feedback, rrf. \
Got 'tfidf', which the embedded engine alone has: leave it out, or the cluster.
    """
    if not systems:
        raise InvalidInputError(f"systems must be some of {', '.join(SYSTEMS)}. Got none.")
    for number, system in enumerate(systems):
        check_choice("system", system, SYSTEMS)
        if system in systems[:number]:
            raise InvalidInputError(f"systems must be different from each other. Got {system!r} twice.")
        if engine is not None and system in _EMBEDDED_ONLY:
            there = ", ".join(name for name in SYSTEMS if name not in _EMBEDDED_ONLY)
            raise InvalidInputError(
                f"A cluster must be asked for some of {there}. Got {system!r}, which the embedded engine alone has: leave it "
                "out, or the cluster."
            )


def run_system(system: str, collection: Collection, settings: SystemSettings | None = None) -> Run:
    """Run one system on one collection.

    Parameters
    ----------
    system : str
        One of `SYSTEMS`.
    collection : Collection
        Documents and queries.
    settings : SystemSettings, optional
        By default the library's defaults.

    Returns
    -------
    dict of str to list of (str, float)
        For each query its best documents.

    Raises
    ------
    UnknownNameError
        If there is no such system.
    InvalidInputError
        If the engine does not have it, or a setting cannot be used.

    See Also
    --------
    run_systems : Several systems on one index.
    """
    ((_, run),) = run_systems([system], collection, settings)
    return run


def run_systems(
    systems: Sequence[str],
    collection: Collection,
    settings: SystemSettings | None = None,
    *,
    advance: Callable[[float], None] | None = None,
) -> Iterator[tuple[str, Run]]:
    """Run several systems on one index of a collection.

    Parameters
    ----------
    systems : sequence of str
        Some of `SYSTEMS`.
    collection : Collection
        Documents and queries.
    settings : SystemSettings, optional
        By default the library's defaults.
    advance : callable, optional
        Called with the number of queries done since the last call.

    Yields
    ------
    (str, dict)
        A system and its run.

    Raises
    ------
    UnknownNameError
        If there is no such system.
    InvalidInputError
        If the engine does not have it, or a setting cannot be used.
    """
    settings = SystemSettings() if settings is None else settings
    check_systems(systems, settings.engine)
    model = settings.model
    if all(system in _WITHOUT_VECTORS for system in systems):
        model = Cptw(**{**model.get_params(), "vectors": None})
    with opened_backend(collection, model, engine=settings.engine) as backend:
        for system in systems:
            yield system, search_queries(backend, system, collection, settings, advance=advance)


@contextmanager
def opened_backend(
    collection: Collection, model: Cptw, *, engine: str | None = None
) -> Iterator[EmbeddedIndex | ClusterIndex]:
    """Fit a model on a collection and index its documents, for as long as a ``with`` block lasts.

    Parameters
    ----------
    collection : Collection
        The documents.
    model : Cptw
        The parameters; it is not changed.
    engine : str, optional
        The address of a cluster, which gets an index of its own that is deleted at the end; by default the embedded
        engine.

    Yields
    ------
    EmbeddedIndex or ClusterIndex
        The index.
    """
    fitted = Cptw(**model.get_params()).fit(collection.documents)
    if engine is None:
        yield EmbeddedIndex.build(fitted, collection.documents, progress=False)
        return
    from cptw_indexer import ClusterIndexer
    from cptw_queries import ClusterIndex
    from cptw_search.cluster import connect, make_path

    with connect(engine) as client:
        indexer = ClusterIndexer(client, f"cptw-evaluation-{uuid.uuid4().hex[:12]}", fitted, n_replicas=0)
        try:
            indexer.load(collection.documents, progress=False)
            yield ClusterIndex(client, indexer.name, fitted)
        finally:
            for made in indexer.history():
                client.request("DELETE", make_path(made.index))


def search_queries(
    backend: EmbeddedIndex | ClusterIndex,
    system: str,
    collection: Collection,
    settings: SystemSettings,
    *,
    advance: Callable[[float], None] | None = None,
) -> dict[str, list[tuple[str, float]]]:
    """Search an index for all queries of a collection.

    Parameters
    ----------
    backend : EmbeddedIndex or ClusterIndex
        An index of the collection's documents.
    system : str
        One of `SYSTEMS`.
    collection : Collection
        The queries.
    settings : SystemSettings
        Its ``lambda_`` and ``depth``.
    advance : callable, optional
        Called with the number of queries done since the last call.

    Returns
    -------
    dict of str to list of (str, float)
        For each query its best documents.
    """
    ids = list(collection.queries)
    run: dict[str, list[tuple[str, float]]] = {}
    for start in range(0, len(ids), _QUERIES_AT_ONCE):
        batch = ids[start : start + _QUERIES_AT_ONCE]
        found = backend.search_many(
            [collection.queries[query_id] for query_id in batch],
            settings.depth,
            method=system,
            lambda_=settings.lambda_,
            fields=(),
        )
        run |= {query_id: [(hit.id, hit.score) for hit in hits] for query_id, hits in zip(batch, found, strict=True)}
        if advance is not None:
            advance(len(batch))
    return run
