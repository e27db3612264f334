"""``cptw evaluate retrieval``: BM25, RM3, TF-IDF, CPTW and their mixtures on test collections."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.commands import Command
from cptw_search.cli.options import Weighting, parse_tau, resolve_vectors

if TYPE_CHECKING:
    from cptw_search.analysis import Analyzer
    from cptw_search.evaluation.collections import Collection

__all__ = ["COMMAND", "retrieval"]

SYSTEMS = "bm25,bm25+rm3,tfidf,cptw,hybrid,hybrid+feedback,rrf"
REFERENCE = "reference"
QUICK_QUERIES = 20


def retrieval(
    collections: Annotated[
        list[str],
        typer.Argument(
            metavar="COLLECTIONS",
            help="Names of test collections in $CPTW_DATA/retrieval, such as cranfield, or folders in the layout of BEIR.",
            show_default=False,
        ),
    ],
    out: Annotated[
        Path, typer.Option("--out", metavar="DIR", help="The folder for tables and run files.", show_default=False)
    ],
    systems: Annotated[
        str, typer.Option(metavar="NAMES", help="What to compare; p-values are those of the difference to bm25.")
    ] = SYSTEMS,
    vectors: Annotated[
        list[str] | None, typer.Option(metavar="SOURCE", help="As for cptw fit. May be repeated.", show_default="lsi")
    ] = None,
    tau: Annotated[str, typer.Option(metavar="NUMBER", help="As for cptw fit.")] = "0.35",
    weighting: Annotated[Weighting, typer.Option(help="As for cptw fit; how CPTW weighs terms.")] = Weighting.idf_input,
    lambda_: Annotated[
        float, typer.Option("--lambda", metavar="NUMBER", help="The share of CPTW in hybrid, 0 to 1.")
    ] = 0.3,
    analyzer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="As for cptw fit; or reference: Porter stems and the 33 stop words of Lucene, as in published figures of BM25.",
        ),
    ] = "english",
    k1: Annotated[float, typer.Option(metavar="NUMBER", help="BM25's saturation.")] = 1.2,
    b: Annotated[float, typer.Option(metavar="NUMBER", help="How much length matters in BM25, 0 to 1.")] = 0.75,
    depth: Annotated[int, typer.Option(metavar="N", help="How many documents are kept for each query.")] = 1000,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="Search on an Elasticsearch or OpenSearch cluster, in an index that is deleted in the end; by default in this "
            "process.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of the randomisation test.")] = 0,
    quick: Annotated[
        bool, typer.Option("--quick", help=f"The first {QUICK_QUERIES} queries of each collection, for a look.")
    ] = False,
) -> None:
    """Compare search systems on test collections: nDCG@10, MAP, recall@100 and MRR.

    Prints a table and writes results.md, results.csv, results.json, per_query.csv, settings.json and a TREC run file for
    every system and collection. A star behind a p-value marks a difference to BM25 that stays significant (below 0.05)
    after Holm's correction for all tests of the table.
    """
    from cptw_search.cli.output import message, print_table
    from cptw_search.evaluation.collections import load_collection
    from cptw_search.evaluation.retrieval import (
        SystemResult,
        check_ids,
        comparison_table,
        evaluate_systems,
        first_queries,
    )
    from cptw_search.evaluation.retrieval_report import HEADER, cells, write_report
    from cptw_search.evaluation.systems import SystemSettings, check_systems
    from cptw_search.model import Cptw
    from cptw_search.progress import progress_bar

    names = [name.strip() for name in systems.split(",") if name.strip()]
    check_systems(names, engine)
    model = Cptw(
        vectors=resolve_vectors(vectors),
        tau=parse_tau(tau),
        weighting=weighting.value,
        analyzer=_analyzer(analyzer),
        k1=k1,
        b=b,
    )
    settings = SystemSettings(model, lambda_, depth, engine)
    loaded = [load_collection(source) for source in collections]
    _check_names(loaded)
    for collection in loaded:
        check_ids(collection)
    if quick:
        loaded = [first_queries(collection, QUICK_QUERIES) for collection in loaded]
    results: list[SystemResult] = []
    with progress_bar("Searching", len(names) * sum(len(one.queries) for one in loaded)) as advance:
        for collection in loaded:
            results += evaluate_systems(collection, names, settings, advance=advance)
    rows = comparison_table(results, seed=seed)
    print_table(HEADER, map(cells, rows), right=range(2, len(HEADER)))
    facts: dict[str, object] = {
        "systems": names,
        "vectors": vectors or ["lsi"],
        "tau": tau,
        "weighting": weighting.value,
        "lambda": lambda_,
        "analyzer": analyzer,
        "k1": k1,
        "b": b,
        "depth": depth,
        "engine": "cluster" if engine else "embedded",  # not the address, which may hold a password
        "seed": seed,
        "quick": quick,
    }
    write_report(out, results, rows, {**_provenance(loaded), **facts})
    if quick:
        message(f"these are figures of {QUICK_QUERIES} queries a collection at most: not for a comparison with others")
    message(f"wrote tables and runs to {out}")


def _analyzer(name: str) -> str | Analyzer:
    from cptw_search.analysis import analyzer_names
    from cptw_search.errors import check_choice
    from cptw_search.evaluation.systems import reference_analyzer

    check_choice("--analyzer", name, [REFERENCE, *analyzer_names()])
    return reference_analyzer() if name == REFERENCE else name


def _check_names(collections: list[Collection]) -> None:
    from cptw_search.errors import InvalidInputError

    names = [collection.name for collection in collections]
    if twice := [name for name in names if names.count(name) > 1]:
        raise InvalidInputError(
            f"COLLECTIONS must have different names, for results go by them. Got {twice[0]!r} twice: rename a folder."
        )


def _provenance(collections: list[Collection]) -> dict[str, object]:
    from importlib.metadata import version

    return {
        "version": version("cptw-search"),
        "collections": {
            collection.name: {
                "n_docs": len(collection.documents),
                "n_queries": len(collection.queries),
                "sha256": collection.content_hash(),
            }
            for collection in collections
        },
    }


COMMAND = Command(
    retrieval,
    [
        "cptw evaluate retrieval cranfield cisi --out results",
        "cptw evaluate retrieval my-collection --systems bm25,hybrid --vectors googlenews --tau 0.5 --out results",
        "cptw evaluate retrieval cranfield --systems bm25 --analyzer reference --out results",
    ],
)
