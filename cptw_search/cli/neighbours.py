"""``cptw neighbours``: the words that are close to a word."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.commands import Command
from cptw_search.cli.options import AsJson

__all__ = ["COMMAND", "neighbours"]


def neighbours(
    word: Annotated[str, typer.Argument(metavar="WORD", help="The word.", show_default=False)],
    model_dir: Annotated[
        Path | None, typer.Option("--model", metavar="DIR", help="A model.", show_default=False)
    ] = None,
    index_dir: Annotated[
        Path | None, typer.Option("--index", metavar="DIR", help="An index: its model.", show_default=False)
    ] = None,
    n: Annotated[int, typer.Option("-n", metavar="N", help="How many neighbours to show at most.", min=1)] = 10,
    as_json: AsJson = False,
) -> None:
    """List the words that are close to a word.

    These are the ones that it spreads its weight over, with their cosines. They are terms: what the analyzer leaves of a word, such as a stem.
    """
    from cptw_search.cli.output import message, print_json, print_table
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.model import Cptw

    if (index_dir is None) == (model_dir is None):
        raise typer.BadParameter("give either a model or an index.", param_hint="--model")
    model = EmbeddedIndex.open(index_dir).model if index_dir is not None else Cptw.load(str(model_dir))
    found = model.neighbours(word, n)
    if as_json:
        print_json({"term": word, "neighbours": [neighbour._asdict() for neighbour in found]})
    elif found:
        rows = [(neighbour.term, f"{neighbour.cosine:.3f}") for neighbour in found]
        print_table(["term", "cosine"], rows, right=[1])
    else:
        message(f"{word!r} has no neighbours: it is unknown to the model, or none reaches tau {model.tau}")


COMMAND = Command(
    neighbours, examples=("cptw neighbours ship --model model", "cptw neighbours ship --index index -n 25 --json")
)
