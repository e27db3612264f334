"""``cptw delete``: take documents out of an index."""

from __future__ import annotations

from typing import Annotated

import typer

from cptw_search.cli.commands import Command
from cptw_search.cli.options import IndexDir

__all__ = ["COMMAND", "delete"]


def delete(
    index_dir: IndexDir,
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids of the documents.", show_default=False),
    ] = None,
    ids_file: Annotated[
        str | None,
        typer.Option(
            "--ids", metavar="FILE", help="A file with one id a line, or - for standard input.", show_default=False
        ),
    ] = None,
) -> None:
    """Take documents out of an index."""
    from cptw_search.cli.output import counted, message
    from cptw_search.documents import read_documents
    from cptw_search.engine import EmbeddedIndex

    wanted = list(ids or ())
    if ids_file is not None:
        wanted += [str(line["text"]).strip() for line in read_documents(ids_file, format="lines", strict=True)]
    elif not wanted:
        raise typer.BadParameter("give ids, or a file of them with --ids.", param_hint="ID")
    with EmbeddedIndex.open(index_dir) as index:
        n_deleted = index.delete(wanted)
        index.save()
        n_docs = index.count()
    if n_missing := len(set(wanted)) - n_deleted:
        message(f"{counted(n_missing, 'id')} not in the index")
    message(f"{counted(n_deleted, 'document')} deleted, {n_docs:,} left")


COMMAND = Command(delete, examples=("cptw delete 17 42 --index index", "cptw delete --ids old.txt --index index"))
