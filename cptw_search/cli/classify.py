"""``cptw classify``: label texts by the labels of similar documents."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.cluster_options import (
    CaFile,
    Cluster,
    ClusterName,
    ConfigFile,
    ModelOfCluster,
    On,
    QueryMaxTerms,
    User,
    opened_index,
)
from cptw_search.cli.commands import Command
from cptw_search.cli.options import AsJson, Columns, Format, FormatName, IndexDir, Rename, Strict, Votes

if TYPE_CHECKING:
    from cptw_search.classify import KnnClassifier

__all__ = ["COMMAND", "classify"]

BATCH_SIZE = 500
_MAX_LABEL_WIDTH = 24


def classify(
    texts: Annotated[
        list[str] | None,
        typer.Argument(
            metavar="TEXTS",
            help="Files or folders of documents, as for cptw index; - for standard input.",
            show_default=False,
        ),
    ] = None,
    index_dir: IndexDir = None,
    text: Annotated[
        list[str] | None,
        typer.Option(metavar="TEXT", help="A text itself in place of a file. May be repeated.", show_default=False),
    ] = None,
    k: Annotated[int, typer.Option("-k", metavar="N", help="How many neighbours vote.")] = 11,
    votes: Annotated[
        Votes,
        typer.Option(help="How much a neighbour's vote counts: 1 / its distance, its score, or 1."),
    ] = Votes.distance,
    label_field: Annotated[str, typer.Option(metavar="FIELD", help="The field that holds the label.")] = "label",
    file_format: Format = FormatName.auto,
    columns: Columns = None,
    rename: Rename = None,
    strict: Strict = False,
    as_json: AsJson = False,
    on: On = None,
    name: ClusterName = None,
    model_dir: ModelOfCluster = None,
    query_max_terms: QueryMaxTerms = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Label texts by the labels of similar documents.

    The nearest documents of an index vote, which is a directory (--index) or a name on a cluster (--name). Prints for each text the winner's share of the votes, the label, the id, and
    the first words. Where texts have labels already, they are only
    compared with: differences are pointed out, and the accuracy is printed at the end.
    """
    from cptw_search.classify import KnnClassifier
    from cptw_search.cli.output import counted, message, print_json
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.cli.stored_texts import main_field

    if bool(texts) == bool(text):
        raise typer.BadParameter("give either files or --text.", param_hint="TEXTS")
    n_labelled = n_right = n_unlabelled = 0
    reader = DocumentReader(texts or [], file_format, columns, rename, strict)
    cluster = Cluster(on, name, user, ca_file, config_file)
    with ExitStack() as stack:
        opened = opened_index(index_dir, cluster, model_dir, query_max_terms=query_max_terms)
        index = stack.enter_context(opened)
        reader.text_field = field = main_field(index.model)
        documents = stack.enter_context(reader.reading())
        classifier = KnnClassifier(index, k=k, votes=votes.value, label_field=label_field)
        width = min(max(map(len, index.values(label_field)), default=0), _MAX_LABEL_WIDTH)
        given: list[dict[str, object]] = [{"id": str(number), field: one} for number, one in enumerate(text or (), 1)]
        for result in _classified(classifier, itertools.chain(given, documents)):
            expected = result.get("expected")
            n_labelled += expected is not None
            n_unlabelled += expected is None
            n_right += expected == result["label"]
            first_words = str(result.pop("text"))
            if as_json:
                print_json(result)
            else:
                _print_result(result, width, first_words)
    if n_labelled:
        rest = f"; {counted(n_unlabelled, 'text')} without a label" if n_unlabelled else ""
        accuracy = f"accuracy {n_right / n_labelled:.4f}: {n_right:,} of {n_labelled:,} right{rest}"
        if as_json:
            message(accuracy)
        else:
            print(accuracy)


def _classified(classifier: KnnClassifier, documents: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Classify batch by batch; the keys of the results are those of the JSON, and the text."""
    text_fields = classifier.backend.model.text_fields
    while batch := list(itertools.islice(documents, BATCH_SIZE)):
        for document, shares in zip(batch, classifier.vote_many(batch), strict=True):
            # A text that is similar to nothing gets the commonest label, as `predict` has it.
            label = min(shares, key=lambda name: (-shares[name], name)) if shares else classifier.predict([document])[0]
            expected = document.get(classifier.label_field)
            yield {
                "id": document["id"],
                "label": label,
                "share": shares.get(label, 0.0),
                "shares": shares,
                **({} if expected is None else {"expected": str(expected)}),
                "text": next(
                    (value for name in sorted(text_fields, reverse=True) if (value := document.get(name))), ""
                ),
            }


def _print_result(result: dict[str, object], width: int, text: str) -> None:
    from cptw_search.cli.output import print_cut, safe
    from cptw_search.cli.passages import first_words

    label, expected = str(result["label"]), result.get("expected")
    print_cut(
        (f"{result['share']:7.1%}", "bold"),
        "  ",
        (f"{safe(label):<{width}}", "magenta"),
        "  ",
        (safe(str(result["id"])), "yellow"),
        "" if expected in (None, label) else (f"  (labelled {safe(str(expected))})", "red"),
        "" if result["shares"] else "  (similar to nothing; the commonest label)",
        "  ",
        safe(first_words(text)),
    )


COMMAND = Command(
    classify,
    examples=(
        "cptw classify new.tsv --index index",
        'cptw classify --text "They won the cup final" --index index -k 5',
        "cptw classify new.tsv --on https://host:9200 --name news --model model",
    ),
)
