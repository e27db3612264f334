"""``cptw evaluate knn``: classification by nearest neighbours, with CPTW and the paper's baselines."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.commands import Command

__all__ = ["COMMAND", "knn"]

DATASETS = ("bbcsport", "twitter", "classic", "amazon", "reuters", "20news")
QUICK_DATASETS = ("bbcsport", "twitter")
BASELINES = "bow,tfidf,bm25,lsi,lda,we-avg,sif,cptw"
QUICK_METHODS = "bow,tfidf,bm25,we-avg,sif,cptw"
EMBEDDED = "embedded"


def knn(
    datasets: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="[DATASETS]",
            help="Names of data sets in $CPTW_DATA/classification, or files of split, label and text.",
            show_default=" ".join(DATASETS),
        ),
    ] = None,
    vectors: Annotated[
        str, typer.Option(metavar="SOURCE", help="A file of word vectors, or a name of: cptw vectors list.")
    ] = "googlenews",
    methods: Annotated[
        str | None,
        typer.Option(
            metavar="NAMES",
            help="Some of bow, tfidf, bm25, lsi, lda, we-avg, sif, wmd and cptw, separated by commas.",
            show_default=BASELINES,
        ),
    ] = None,
    out: Annotated[Path, typer.Option("--out", metavar="DIR", help="The folder for tables and figures.")] = Path(
        "evaluation"
    ),
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder for results that are done; by default cache in the folder of --out. An interrupted run goes on "
            "where it stopped.",
            show_default=False,
        ),
    ] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Two small data sets, fewer methods, folds and parameters: for a look.")
    ] = False,
    with_wmd: Annotated[
        bool, typer.Option("--with-wmd", help="The word mover's distance as well, on a sample of the test documents.")
    ] = False,
    full: Annotated[
        bool, typer.Option("--full", help="All of the paper's parameters: tau from 0, up to 1,000 topics of LDA.")
    ] = False,
    engine: Annotated[
        str | None,
        typer.Option(
            metavar="embedded|URL",
            help="Classify through the search backend as well: in this process, or on an Elasticsearch or OpenSearch cluster, "
            "in an index that is deleted in the end.",
            show_default=False,
        ),
    ] = None,
    seed: Annotated[int, typer.Option(metavar="N", help="Of folds, rounds and samples.")] = 0,
    processes: Annotated[int, typer.Option(metavar="N", help="How many run at once, one core each.", min=1)] = 2,
) -> None:
    """Classify by nearest neighbours with CPTW, in all variants, and with the paper's baselines.

    The protocol is the paper's: the official split or five folds; tau, k and the baselines' parameters by three rounds of
    validation inside the training part; one test. Writes knn.md, knn.csv, knn.json, knn.provenance.json and figures; the
    Markdown lays every figure beside the paper's.
    """
    from dataclasses import replace

    from cptw_search.cli.options import resolve_vectors
    from cptw_search.cli.output import message
    from cptw_search.embeddings import load_vectors
    from cptw_search.errors import InvalidInputError
    from cptw_search.evaluation.cache import ResultCache
    from cptw_search.evaluation.datasets import load_dataset
    from cptw_search.evaluation.study import OURS, Plan, run_study
    from cptw_search.evaluation.through_index import classify_through_index, write_agreement

    names = [name.strip() for name in (methods or (QUICK_METHODS if quick else BASELINES)).split(",") if name.strip()]
    if with_wmd and "wmd" not in names:
        names.append("wmd")
    plan = Plan.quick(seed) if quick else Plan(seed=seed)
    if full:
        plan = replace(plan, taus=(0.0, *plan.taus), topics=(*plan.topics, 500, 1000))
    source = resolve_vectors([vectors])
    if not isinstance(source, Path):
        raise InvalidInputError(f"--vectors must be a file or a name of: cptw vectors list. Got {vectors!r} instead.")
    loaded = [load_dataset(name) for name in datasets or (QUICK_DATASETS if quick else DATASETS)]
    words = load_vectors(source)
    lines = run_study(
        loaded,
        words,
        names,
        out,
        plan=plan,
        cache=ResultCache(out / "cache" if cache is None else cache),
        n_processes=processes,
        command=" ".join(["cptw", *(Path(part).name if "/" in part else part for part in sys.argv[1:])]),
        vectors_name=source.name,
    )
    if engine is not None:
        if not any(line.name == OURS for line in lines):
            raise InvalidInputError(
                "--engine needs cptw among --methods: its parameters are those that validation chose."
            )
        found = [
            classify_through_index(data, words, lines, OURS, plan, engine=None if engine == EMBEDDED else engine)
            for data in loaded
        ]
        write_agreement(out / "engine.json", found)
        for one in found:
            message(
                f"{one.dataset}: through the index micro F1 {one.micro_f1:.3f}, by matrix products {one.expected_micro_f1:.3f}; "
                f"{one.agreement:.2%} of the labels are the same"
            )
    if quick:
        message("these figures are of fewer folds and parameters than the paper's protocol: not for a comparison")
    message(f"wrote tables and figures to {out}")


COMMAND = Command(
    knn,
    [
        "cptw evaluate knn reuters --vectors googlenews --methods bow,tfidf,cptw --out reuters",
        "cptw evaluate knn --vectors googlenews --out evaluation",
    ],
)
