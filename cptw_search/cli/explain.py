"""``cptw explain``: why a document matches a query."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.cluster_options import CaFile, Cluster, ClusterName, ConfigFile, On, User, opened_index
from cptw_search.cli.commands import Command
from cptw_search.cli.options import AsJson

__all__ = ["COMMAND", "explain"]

_SNIPPET = 600


def explain(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="What was looked for.", show_default=False)],
    index_dir: Annotated[
        Path | None,
        typer.Option("--index", metavar="DIR", help="The index that the document is in.", show_default=False),
    ] = None,
    doc_id: Annotated[
        str | None, typer.Option("--id", metavar="ID", help="The document's id.", show_default=False)
    ] = None,
    model_dir: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="DIR",
            help="A model, in place of an index, to explain a --text; with --name the model of that index.",
            show_default=False,
        ),
    ] = None,
    text: Annotated[
        str | None, typer.Option(metavar="TEXT", help="A text itself in place of an --id.", show_default=False)
    ] = None,
    max_matches: Annotated[
        int, typer.Option(metavar="N", help="How many words of the document to show for each word of the query.")
    ] = 6,
    figure: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Draw it, too, into a .png, .svg or .pdf file; needs matplotlib.", show_default=False
        ),
    ] = None,
    as_json: AsJson = False,
    on: On = None,
    name: ClusterName = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Say why a document matches a query by CPTW.

    Shows which words carry the score, directly or because they are close to a word of the query. The shares of all pairs of words add up to the score, the one of cptw search --method cptw. The other methods' scores depend on what else there is in the index: cptw search --explain takes those apart.
    """
    from cptw_search.cli.output import console, message, print_json, print_line
    from cptw_search.cli.passages import find_passage
    from cptw_search.cli.stored_texts import main_field
    from cptw_search.errors import InvalidInputError
    from cptw_search.explain import explain as explain_match
    from cptw_search.explain_views import draw, render
    from cptw_search.model import Cptw

    cluster = Cluster(on, name, user, ca_file, config_file)
    if not cluster.is_meant and (index_dir is None) == (model_dir is None):
        raise typer.BadParameter("give either an index or a model.", param_hint="--index")
    if (doc_id is None) == (text is None):
        raise typer.BadParameter("give either the id of a document or a text.", param_hint="--id")
    if index_dir is None and not cluster.is_meant and doc_id is not None:
        raise typer.BadParameter("an id needs the index that the document is in.", param_hint="--index")

    document: dict[str, object] | None = None
    if index_dir is not None or cluster.is_meant:
        with opened_index(index_dir, cluster, model_dir) as index:
            model = index.model
            if doc_id is not None:
                found = index.get(doc_id)
                if found is None:
                    place = name if cluster.is_meant else str(index_dir)
                    raise InvalidInputError(f"--id must be the id of a document in {place!r}. Got {doc_id!r}.")
                document = found
    elif model_dir is not None:
        cluster.refuse()
        model = Cptw.load(model_dir)
    if document is None:
        document = {main_field(model): text}
    explanation = explain_match(model, query, document, nonnegative=cluster.is_meant)
    if figure is not None:
        draw(explanation, figure)
        message(f"drawn into {str(figure)!r}")
    if as_json:
        named = {} if doc_id is None else {"id": doc_id}
        print_json({**named, "query": query, **explanation.to_dict()})
        return
    console().print(render(explanation, max_matches=max_matches))
    passage = find_passage(model, explanation, document, max_characters=_SNIPPET)
    for shown in passage:
        if shown:
            print_line()
            print_line(shown)


COMMAND = Command(
    explain,
    examples=(
        'cptw explain "cruise ship" --index index --id 17',
        'cptw explain "cruise ship" --index index --id 17 --figure why.png',
        'cptw explain "ship" --model model --text "Two boats left the harbour"',
        'cptw explain "ship" --on https://host:9200 --name news --model model --id 17',
    ),
)
