"""``cptw fit``: learn from documents which words are close."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.cluster_options import CaFile, Cluster, ClusterName, ConfigFile, User, refuse
from cptw_search.cli.commands import Command
from cptw_search.cli.options import (
    AsJson,
    Columns,
    DocumentSources,
    Format,
    FormatName,
    Normalization,
    Purpose,
    Rename,
    Strict,
    Weighting,
    parse_tau,
    parse_weights,
    resolve_vectors,
)

__all__ = ["COMMAND", "fit", "read_with_progress"]


def fit(
    model_dir: Annotated[
        Path,
        typer.Option("--model", metavar="DIR", help="Where to save the model. One that is there is replaced."),
    ],
    documents: DocumentSources = None,
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
    purpose: Annotated[
        Purpose,
        typer.Option(
            "--for", help="What the model is for: the defaults of --tau, --weighting, --k1 and --b are its own."
        ),
    ] = Purpose.search,
    tau: Annotated[
        str | None,
        typer.Option(
            metavar="NUMBER|adaptive",
            help="The least cosine of two words that count as close. It belongs to the vectors; cptw tune finds it.  "
            "[default: 0.35 for search with lsi; 0.5 otherwise and with --from-index]",
            show_default=False,
        ),
    ] = None,
    weighting: Annotated[
        Weighting | None,
        typer.Option(
            help="How term and document frequencies enter.  [default: idf-input for search, idf-released for "
            "classification]",
            show_default=False,
        ),
    ] = None,
    normalization: Annotated[
        Normalization, typer.Option(help="How the columns of the similarity matrix are normalised.")
    ] = Normalization.l2,
    analyzer: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="How texts become terms: english, unicode, whitespace, paper, released, or a language such as german.  "
            "[default: english; with --from-index the field's own]",
            show_default=False,
        ),
    ] = None,
    min_df: Annotated[
        int, typer.Option(metavar="N", help="Leave out terms that are in fewer documents than this.")
    ] = 1,
    max_neighbours: Annotated[
        int | None, typer.Option(metavar="N", help="Keep only the nearest N neighbours of a term.", show_default=False)
    ] = None,
    n_dimensions: Annotated[
        int, typer.Option(metavar="N", help="Dimensions of vectors that are made from the documents.")
    ] = 200,
    k1: Annotated[
        float | None,
        typer.Option(
            metavar="NUMBER", help="BM25's saturation.  [default: 1.5 for search, 1.2 otherwise]", show_default=False
        ),
    ] = None,
    b: Annotated[
        float | None,
        typer.Option(
            "--b",
            metavar="NUMBER",
            help="How much a document's length matters in BM25, 0 to 1.  [default: 0.75]",
            show_default=False,
        ),
    ] = None,
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
    from_index: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="In place of DOCUMENTS: fit on the texts of an index that is on a cluster already, --name with its --field.",
            show_default=False,
        ),
    ] = None,
    name: ClusterName = None,
    field: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FIELD",
            help="With --from-index: the text field. May be repeated with an --analyzer.",
            show_default=False,
        ),
    ] = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Learn from documents which words are close.

    Saves that as a model, for cptw index; cptw neighbours shows what it has learned. With --from-index the terms are the
    tokens of the field, made by its own analyzer: such a model expands queries for that field (cptw search --field). With
    an --analyzer as well, the model reads the texts itself, as cptw index needs it.
    """
    from cptw_search.analysis import FIELD_TOKENS
    from cptw_search.cli.describe import describe_model, print_model
    from cptw_search.cli.output import print_json
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.cli.stored_texts import stored_texts
    from cptw_search.model import Cptw
    from cptw_search.purposes import GIVEN_VECTORS_TAU, model_for

    weights = parse_weights(field_weight, "--field-weight")
    cluster = Cluster(from_index, name, user, ca_file, config_file, "--from-index")
    own_tokens = cluster.is_meant and analyzer is None
    if cluster.is_meant:
        of_files = {
            "DOCUMENTS": documents or None,
            "--format": None if file_format is FormatName.auto else file_format,
            "--columns": columns,
            "--rename": rename or None,
            "--strict": strict,
        }
        refuse("this is for documents in files, not for those of --from-index.", of_files)
        cluster.needed_name()
        weights = _weights_of_fields(field, weights, own_tokens=own_tokens)
    elif not documents:
        raise typer.BadParameter("give documents, or an index on a cluster with --from-index.", param_hint="DOCUMENTS")
    else:
        cluster.refuse()
        refuse("this is for a cluster, which needs --from-index.", {"--field": field})
    if tau is None and cluster.is_meant:
        tau = f"{GIVEN_VECTORS_TAU}"  # with a lower one a single word may reach more words than a server takes clauses
    given = {
        "tau": None if tau is None else parse_tau(tau),
        "weighting": None if weighting is None else weighting.value,
        "k1": k1,
        "b": b,
    }
    model = model_for(
        purpose.value,
        vectors=resolve_vectors(vectors),
        normalization=normalization.value,
        analyzer=FIELD_TOKENS if own_tokens else analyzer or "english",
        min_df=min_df,
        max_neighbours=max_neighbours,
        n_dimensions=n_dimensions,
        field_weights=weights,
        **{name: value for name, value in given.items() if value is not None},
    )
    with _claimed(model_dir), ExitStack() as stack:
        if cluster.is_meant:
            client = stack.enter_context(cluster.connected())
            read = stored_texts(client, cluster.needed_name(), list(weights or ()), own_tokens=own_tokens)
        else:
            reader = DocumentReader(documents or [], file_format, columns, rename, strict)
            read = stack.enter_context(reader.reading())
        model.fit(read_with_progress(read)).save(model_dir)
    facts = describe_model(Cptw.load(model_dir), model_dir)
    if as_json:
        print_json(facts)
    else:
        print_model(facts)


def _weights_of_fields(
    fields: list[str] | None, weights: dict[str, float] | None, *, own_tokens: bool
) -> dict[str, float]:
    """Say what a word counts in each field of a cluster's index."""
    if not fields:
        raise typer.BadParameter("say which text field of the index to fit on.", param_hint="--field")
    if own_tokens and len(fields) > 1:
        raise typer.BadParameter(
            "the tokens of one field only can be a model's terms: give one, or an --analyzer.", param_hint="--field"
        )
    if unknown := sorted((weights or {}).keys() - set(fields)):
        raise typer.BadParameter(f"{unknown[0]!r} must be one of the fields.", param_hint="--field-weight")
    return {**dict.fromkeys(fields, 1.0), **(weights or {})}


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
        "cptw fit --from-index https://host:9200 --name articles --field body --model model",
    ),
)
