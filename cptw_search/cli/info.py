"""``cptw info``: what is in a directory."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.commands import Command
from cptw_search.cli.options import AsJson

__all__ = ["COMMAND", "info"]


def info(
    directory: Annotated[Path, typer.Argument(metavar="DIR", help="A model or an index.", show_default=False)],
    verify: Annotated[
        bool, typer.Option("--verify", help="Check the content of every file, which reads all of them.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Show what a model or an index holds."""
    from cptw_search.cli.describe import describe_index, describe_model, print_index, print_model
    from cptw_search.cli.output import message, print_json
    from cptw_search.index_directory import KIND as INDEX
    from cptw_search.index_directory import IndexDirectory
    from cptw_search.model import Cptw

    if _kind(directory) == INDEX:
        _, state = IndexDirectory.open(directory, verify=verify)
        model, facts = state.model, describe_index(state, directory)
    else:
        model = Cptw.load(directory, verify=verify)
        facts = describe_model(model, directory)
    if verify:
        model.verify()
    if as_json:
        print_json({**facts, "verified": True} if verify else facts)
    else:
        if facts["kind"] == "index":
            print_index(facts)
            print()
        print_model(facts.get("model", facts))
    if verify:
        message("verified: every file is as it was written")


def _kind(directory: Path) -> object:
    """Tell models and indices apart; what is neither gets the error of a model."""
    import json

    from cptw_search.storage import MANIFEST

    try:
        return json.loads((directory / MANIFEST).read_bytes())["kind"]
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


COMMAND = Command(info, examples=("cptw info model", "cptw info index --verify"))
