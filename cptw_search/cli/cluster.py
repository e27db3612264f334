"""``cptw cluster``: what is on a cluster, and taking away what is no longer served."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from cptw_search.cli.cluster_options import CaFile, Cluster, ClusterName, ConfigFile, On, User, can_ask
from cptw_search.cli.commands import Command, new_app
from cptw_search.cli.options import AsJson

if TYPE_CHECKING:
    from cptw_indexer import IndexRecord
    from cptw_search.cluster import ClusterClient

__all__ = ["app", "prune_old", "status"]


def status(
    on: On = None,
    name: ClusterName = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Show what a cluster is and, with --name, what is behind that name.

    Which index serves, with which model, how many documents in how many bytes, where the propagation is done, and the
    indices that were made for the name before.
    """
    from cptw_search.cli.output import bytes_of_size, print_facts, print_json

    with Cluster(on, name, user, ca_file, config_file).connected() as client:
        facts: dict[str, Any] = {
            "product": client.product,
            "version": ".".join(map(str, client.version)),
            "field_types": sorted(client.field_types()),
        }
        if name is not None:
            facts |= _describe(client, name)
    if as_json:
        print_json(facts)
        return
    serving = facts.get("serving")
    shown = {
        "server": f"{facts['product']} {facts['version']}",
        "can do": ", ".join(facts["field_types"]) or "neither rank_features nor sparse_vector",
        "name": name,
    }
    if serving is not None:
        shown |= {
            "index": serving["index"],
            "documents": _number(serving["n_docs"]),
            "size": "" if serving["size_bytes"] is None else bytes_of_size(serving["size_bytes"]),
            "placement": serving["placement"],
            "weights": serving["field_type"],
            "made": serving["created"],
            "state": "" if serving["is_complete"] else "incomplete: not all weights are there",
            "model": serving["model_id"],
        }
    elif name is not None:
        shown["index"] = "none is served"
    print_facts(shown)
    if len(facts.get("history", ())) > (serving is not None):
        print()
        print(f"{_indices(len(facts['history']))} made for {name!r}:")
        _print_records(facts["history"])


def prune_old(
    on: On = None,
    name: ClusterName = None,
    keep: Annotated[int, typer.Option(metavar="N", help="How many old indices to keep, the newest.")] = 1,
    unfinished: Annotated[
        bool,
        typer.Option(
            "--unfinished", help="Delete what interrupted loads left behind, too. No load of this name may be at work."
        ),
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Do not ask.")] = False,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
    as_json: AsJson = False,
) -> None:
    """Delete indices that were made for a name and are no longer served.

    Only those that cptw index made for that very name, and that no alias points at. Lists them and asks first; where
    nobody can be asked, --yes is needed.
    """
    from cptw_indexer.aliases import delete_indices, find_old, with_sizes
    from cptw_search.cli.output import counted, message, print_json
    from cptw_search.errors import InvalidInputError

    cluster = Cluster(on, name, user, ca_file, config_file)
    alias = cluster.needed_name()
    with cluster.connected() as client:
        old = with_sizes(client, find_old(client, alias, keep, unfinished=unfinished))
        if old and not yes:
            if not can_ask():
                names = ", ".join(record.index for record in old)
                raise InvalidInputError(f"Deleting needs a yes where nobody can be asked: --yes would delete {names}.")
            _print_records([_plain(record) for record in old])
            if not typer.confirm(f"Delete {_indices(len(old))}?", err=True):
                message("nothing deleted")
                raise typer.Exit(1)
        deleted = delete_indices(client, old)
    if as_json:
        print_json({"name": alias, "deleted": deleted})
        return
    for index in deleted:
        print(index)
    message(f"{_indices(len(deleted))} deleted, {counted(sum(record.n_documents or 0 for record in old), 'document')}")


def _indices(n: int) -> str:
    return f"{n:,} {'index' if n == 1 else 'indices'}"


def _describe(client: ClusterClient, name: str) -> dict[str, Any]:
    """Say what serves under a name, and what did before."""
    from cptw_indexer.aliases import find_indices, find_served, with_sizes
    from cptw_search.errors import MissingIndexError

    history = with_sizes(client, find_indices(client, name))
    serving = next((record for record in history if record.is_current), None)
    if serving is None:
        try:
            (serving,) = with_sizes(client, [find_served(client, name)])
        except MissingIndexError:
            if not history:
                raise
    return {
        "name": name,
        "serving": None if serving is None else _plain(serving),
        "history": [_plain(record) for record in history],
    }


def _plain(record: IndexRecord) -> dict[str, Any]:
    return {
        "index": record.index,
        "is_current": record.is_current,
        "is_complete": record.is_complete,
        "n_docs": record.n_documents,
        "size_bytes": record.size_bytes,
        "placement": record.placement,
        "field_type": record.field_type,
        "created": record.created,
        "model_id": record.model_id,
    }


def _print_records(records: list[dict[str, Any]]) -> None:
    from cptw_search.cli.output import bytes_of_size, print_table

    rows = []
    for record in records:
        state = "served" if record["is_current"] else "old" if record["is_complete"] else "unfinished"
        size = "" if record["size_bytes"] is None else bytes_of_size(record["size_bytes"])
        rows.append(
            [record["index"], state, _number(record["n_docs"]), size, record["placement"], record["model_id"][:12]]
        )
    print_table(["index", "state", "documents", "size", "placement", "model"], rows, right=[2, 3])


def _number(number: int | None) -> str:
    return "" if number is None else f"{number:,}"


app = new_app(
    "See what is on a cluster, and tidy up there.",
    [
        Command(
            status,
            examples=("cptw cluster status --on https://host:9200 --name news --user me",),
        ),
        Command(
            prune_old,
            name="prune-old",
            examples=("cptw cluster prune-old --on https://host:9200 --name news --keep 2",),
        ),
    ],
)
