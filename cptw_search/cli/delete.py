"""``cptw delete``: take documents out of an index."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.cluster_options import (
    CaFile,
    Cluster,
    ClusterName,
    ConfigFile,
    ModelOfCluster,
    On,
    User,
    opened_index,
)
from cptw_search.cli.commands import Command
from cptw_search.cli.options import IndexDir

if TYPE_CHECKING:
    from cptw_queries import ClusterIndex, ExistingIndex
    from cptw_search.engine import EmbeddedIndex

__all__ = ["COMMAND", "delete"]


def delete(
    ids: Annotated[
        list[str] | None,
        typer.Argument(metavar="ID", help="Ids of the documents.", show_default=False),
    ] = None,
    index_dir: IndexDir = None,
    ids_file: Annotated[
        str | None,
        typer.Option(
            "--ids", metavar="FILE", help="A file with one id a line, or - for standard input.", show_default=False
        ),
    ] = None,
    on: On = None,
    name: ClusterName = None,
    model_dir: ModelOfCluster = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Take documents out of an index: a directory (--index) or a name on a cluster (--name)."""
    from cptw_search.cli.output import counted, message
    from cptw_search.documents import read_documents

    wanted = list(ids or ())
    if ids_file is not None:
        wanted += [str(line["text"]).strip() for line in read_documents(ids_file, format="lines", strict=True)]
    elif not wanted:
        raise typer.BadParameter("give ids, or a file of them with --ids.", param_hint="ID")
    cluster = Cluster(on, name, user, ca_file, config_file)
    with opened_index(index_dir, cluster, model_dir) as index:
        n_deleted = _delete(index, wanted)
        n_docs = index.count()
    if n_missing := len(set(wanted)) - n_deleted:
        message(f"{counted(n_missing, 'id')} not in the index")
    message(f"{counted(n_deleted, 'document')} deleted, {n_docs:,} left")


def _delete(index: EmbeddedIndex | ClusterIndex | ExistingIndex, ids: list[str]) -> int:
    from cptw_indexer import ClusterIndexer
    from cptw_search.engine import EmbeddedIndex

    if not isinstance(index, EmbeddedIndex):
        return ClusterIndexer(index.client, index.name, index.model).delete(ids)
    with index:
        n_deleted = index.delete(ids)
        index.save()
        return n_deleted


COMMAND = Command(
    delete,
    examples=(
        "cptw delete 17 42 --index index",
        "cptw delete --ids old.txt --index index",
        "cptw delete 17 42 --on https://host:9200 --name news --model model",
    ),
)
