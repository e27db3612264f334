"""``cptw fit``: learn from documents which words are close."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.commands import Command
from cptw_search.cli.options import (
    AsJson,
    Columns,
    DocumentSources,
    Format,
    FormatName,
    Normalization,
    Rename,
    Strict,
    Weighting,
    parse_tau,
    parse_weights,
    resolve_vectors,
)

__all__ = ["COMMAND", "fit", "read_with_progress"]


def fit(
    documents: DocumentSources,
    model_dir: Annotated[
        Path,
        typer.Option("--model", metavar="DIR", help="Where to save the model. One that is there is replaced."),
    ],
    vectors: Annotated[
        list[str] | None,
        typer.Option(
            metavar="SOURCE",
            help="Where the similarity of words comes from: lsi, word2vec or fasttext (made from the documents), none, a "
            "name of: cptw vectors list (fetched if need be), or a file of word vectors. Repeat it to take the mean of "
            "several.  [default: lsi]",
            show_default=False,
        ),
    ] = None,
    tau: Annotated[
        str,
        typer.Option(
            metavar="NUMBER|adaptive",
            help="The least cosine of two words that count as close. It belongs to the vectors; cptw tune finds it.",
        ),
    ] = "0.5",
    weighting: Annotated[Weighting, typer.Option(help="How term and document frequencies enter.")] = Weighting.tf,
    normalization: Annotated[
        Normalization, typer.Option(help="How the columns of the similarity matrix are normalised.")
    ] = Normalization.l2,
    analyzer: Annotated[
        str,
        typer.Option(
            metavar="NAME",
            help="How texts become terms: english, unicode, whitespace, paper, released, or a language such as german.",
        ),
    ] = "english",
    min_df: Annotated[
        int, typer.Option(metavar="N", help="Leave out terms that are in fewer documents than this.")
    ] = 1,
    max_neighbours: Annotated[
        int | None, typer.Option(metavar="N", help="Keep only the nearest N neighbours of a term.", show_default=False)
    ] = None,
    n_dimensions: Annotated[
        int, typer.Option(metavar="N", help="Dimensions of vectors that are made from the documents.")
    ] = 200,
    k1: Annotated[float, typer.Option(metavar="NUMBER", help="BM25's saturation.")] = 1.2,
    b: Annotated[
        float, typer.Option("--b", metavar="NUMBER", help="How much a document's length matters in BM25, 0 to 1.")
    ] = 0.75,
    field_weight: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD=WEIGHT",
            help="A field to search and what a word in it counts; repeat it for each field.  [default: title=1, text=1]",
            show_default=False,
        ),
    ] = None,
    file_format: Format = FormatName.auto,
    columns: Columns = None,
    rename: Rename = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Learn from documents which words are close.

    Saves that as a model, for cptw index; cptw neighbours shows what it has learned.
    """
    from cptw_search.cli.describe import describe_model, print_model
    from cptw_search.cli.output import print_json
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.model import Cptw

    weights = parse_weights(field_weight, "--field-weight")
    reader = DocumentReader(documents, file_format, columns, rename, strict)
    with _claimed(model_dir), reader.reading() as read:
        model = Cptw(
            vectors=resolve_vectors(vectors),
            tau=parse_tau(tau),
            normalization=normalization.value,
            weighting=weighting.value,
            analyzer=analyzer,
            min_df=min_df,
            max_neighbours=max_neighbours,
            n_dimensions=n_dimensions,
            k1=k1,
            b=b,
            field_weights=weights,
        )
        model.fit(read_with_progress(read)).save(model_dir)
    facts = describe_model(Cptw.load(model_dir), model_dir)
    if as_json:
        print_json(facts)
    else:
        print_model(facts)


@contextmanager
def _claimed(model_dir: Path) -> Iterator[None]:
    """Refuse a directory that cannot be used before the work and not after it; leave no empty one behind."""
    from cptw_search.model_directory import KIND
    from cptw_search.storage import claim_directory

    is_new = not model_dir.exists()
    claim_directory(model_dir, KIND)
    try:
        yield
    except BaseException:
        if is_new:
            with suppress(OSError):
                model_dir.rmdir()
        raise


def read_with_progress(documents: Iterator[dict[str, object]]) -> Iterator[dict[str, object]]:
    """Show how many documents have been read.

    Parameters
    ----------
    documents : iterator of dict
        The documents.

    Yields
    ------
    dict
        The same.
    """
    from cptw_search.progress import progress_bar

    with progress_bar("Reading", None) as advance:
        for document in documents:
            yield document
            advance(1)


COMMAND = Command(
    fit,
    examples=(
        "cptw fit news.jsonl --model model",
        "cptw fit news.jsonl --model model --vectors googlenews --tau 0.5",
        "cptw fit articles/ --model model --field-weight title=2 --field-weight text=1",
    ),
)
