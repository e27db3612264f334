"""Options of commands that work on a cluster as well: where it is, who asks, and which index is meant.

Secrets are no options: what stands on a command line can be read by every user of the machine. They come from the
environment, from a config file, or are asked for.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated
from urllib.parse import urlsplit

import typer

if TYPE_CHECKING:
    from cptw_queries import ClusterIndex, ExistingIndex
    from cptw_search.cluster import ClusterClient
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.model import Cptw
    from cptw_search.pruning import Pruning

__all__ = [
    "CaFile",
    "Cluster",
    "ClusterName",
    "ConfigFile",
    "ModelOfCluster",
    "On",
    "QueryMaxTerms",
    "User",
    "can_ask",
    "load_model",
    "opened_index",
    "pruning",
    "refuse",
]

On = Annotated[
    str | None,
    typer.Option(
        "--on",
        metavar="URL",
        help="An Elasticsearch or OpenSearch cluster, such as https://host:9200.  [default: $CPTW_URL, or the config file's]",
        show_default=False,
    ),
]
ClusterName = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="The alias or index on a cluster.", show_default=False),
]
User = Annotated[
    str | None,
    typer.Option(
        "--user",
        metavar="NAME",
        help="Who logs in on a cluster. The password is $CPTW_PASSWORD, or is asked for. For API keys and tokens see "
        "docs/clusters.md.",
        show_default=False,
    ),
]
CaFile = Annotated[
    Path | None,
    typer.Option("--ca-file", metavar="FILE", help="Certificates to trust for a cluster.", show_default=False),
]
ConfigFile = Annotated[
    Path | None,
    typer.Option(
        "--config",
        metavar="FILE",
        help="An INI file whose section [cluster] says where the cluster is and how to log in.",
        show_default=False,
    ),
]
ModelOfCluster = Annotated[
    Path | None,
    typer.Option(
        "--model",
        metavar="DIR",
        help="With --name: the model that the index on the cluster was made with.",
        show_default=False,
    ),
]
QueryMaxTerms = Annotated[
    int | None,
    typer.Option(
        "--query-max-terms",
        metavar="N",
        help="With --name: keep the N heaviest terms of a query; 800 by default, 256 with --field.",
        show_default=False,
    ),
]


@dataclass(frozen=True)
class Cluster:
    """What a command line says about a cluster.

    Parameters
    ----------
    url : str, optional
        Its address.
    name : str, optional
        The alias or index there.
    user : str, optional
        Who logs in.
    ca_file : Path, optional
        The certificates to trust.
    config_file : Path, optional
        A file with the settings.
    url_option : str, default "--on"
        What the option with the address is called.
    """

    url: str | None = None
    name: str | None = None
    user: str | None = None
    ca_file: Path | None = None
    config_file: Path | None = None
    url_option: str = "--on"

    @property
    def is_meant(self) -> bool:
        """Whether the command is about a cluster."""
        return self.url is not None or self.name is not None

    def refuse(self) -> None:
        """Raise if anything is said about a cluster where none is meant.

        Raises
        ------
        typer.BadParameter
            Naming the option.
        """
        refuse(
            "this is for a cluster, which needs --name.",
            {"--user": self.user, "--ca-file": self.ca_file, "--config": self.config_file},
        )

    def needed_name(self) -> str:
        """Give the name, which a command cannot do without.

        Returns
        -------
        str
            The alias or index.

        Raises
        ------
        typer.BadParameter
            If there is none.
        """
        if self.name is None:
            raise typer.BadParameter("say which alias or index on the cluster is meant.", param_hint="--name")
        return self.name

    @contextmanager
    def connected(self) -> Iterator[ClusterClient]:
        """Connect, and close the connection at the end.

        Yields
        ------
        ClusterClient
            The connection.

        Raises
        ------
        typer.BadParameter
            If the address holds a password, or there is none for the user.
        ClusterError
            If the cluster cannot be reached, or refuses the login.
        """
        from cptw_search.cluster import connect

        for url in (self.url or "").split(","):
            if _has_password(url):
                raise typer.BadParameter(
                    "an address on a command line must be without a password, for other users of the machine can read it "
                    "there. Use --user, and set CPTW_PASSWORD or type it when asked.",
                    param_hint=self.url_option,
                )
        with connect(
            self.url,
            username=self.user,
            password=None if self.user is None else _password(self.user),
            ca_file=None if self.ca_file is None else str(self.ca_file),
            config_file=self.config_file,
        ) as client:
            yield client


def can_ask() -> bool:
    """Tell whether there is somebody to answer a question.

    Returns
    -------
    bool
        True where standard input is a terminal.
    """
    return sys.stdin.isatty()


def _has_password(url: str) -> bool:
    try:
        return urlsplit(url).password is not None
    except ValueError:
        return False  # no URL at all, which `connect` says


def _password(user: str) -> str:
    """Find the password of a user; that of another one is not tried."""
    password = os.environ.get("CPTW_PASSWORD")
    if password and os.environ.get("CPTW_USERNAME") in (None, "", user):
        return password
    if not can_ask():
        raise typer.BadParameter(
            f"the password of {user!r} must be in CPTW_PASSWORD where it cannot be asked for.", param_hint="--user"
        )
    return str(typer.prompt(f"Password of {user}", hide_input=True, err=True))


def refuse(why: str, options: Mapping[str, object]) -> None:
    """Raise if an option was given that does not belong to what the command does.

    Parameters
    ----------
    why : str
        What to say.
    options : mapping
        Names of options to their values.

    Raises
    ------
    typer.BadParameter
        Naming the first that was given.
    """
    for option, value in options.items():
        if value is not None and value is not False:
            raise typer.BadParameter(why, param_hint=option)


def pruning(max_terms: int | None) -> Pruning | None:
    """Say how much is kept of a row.

    Parameters
    ----------
    max_terms : int or None
        How many terms at most.

    Returns
    -------
    Pruning or None
        What the library takes.
    """
    from cptw_search.pruning import Pruning

    return None if max_terms is None else Pruning(max_terms=max_terms)


def load_model(model_dir: Path | None) -> Cptw:
    """Open the model that a cluster's index needs.

    Parameters
    ----------
    model_dir : Path or None
        Where it is.

    Returns
    -------
    Cptw
        The model.

    Raises
    ------
    typer.BadParameter
        If none was given.
    StorageError
        If there is none.
    """
    from cptw_search.model import Cptw

    if model_dir is None:
        raise typer.BadParameter(
            "a cluster's index has only the id of its model: say where the model is, made by cptw fit.",
            param_hint="--model",
        )
    return Cptw.load(model_dir)


@contextmanager
def opened_index(
    index_dir: Path | None,
    cluster: Cluster,
    model_dir: Path | None,
    *,
    field: str | None = None,
    query_max_terms: int | None = None,
) -> Iterator[EmbeddedIndex | ClusterIndex | ExistingIndex]:
    """Open the index that a command is about: a directory, or a name on a cluster.

    Parameters
    ----------
    index_dir : Path or None
        The directory.
    cluster : Cluster
        The cluster.
    model_dir : Path or None
        The model, for a cluster.
    field : str, optional
        Search this text field, which was there before, and no weights of ours.
    query_max_terms : int, optional
        What is kept of a query, for a cluster.

    Yields
    ------
    EmbeddedIndex, ClusterIndex or ExistingIndex
        The index, which is not closed afterwards unless it is a cluster's.

    Raises
    ------
    typer.BadParameter
        If both are given, or none, or an option that belongs to the other.
    CptwError
        If the index cannot be opened.
    """
    if index_dir is not None and cluster.is_meant:
        raise typer.BadParameter(
            "give either a directory (--index) or a name on a cluster (--name), not both.", param_hint="--index"
        )
    if not cluster.is_meant:
        if index_dir is None:
            raise typer.BadParameter(
                "give the index: a directory, or --name for one on a cluster.", param_hint="--index"
            )
        cluster.refuse()
        options = {"--model": model_dir, "--field": field, "--query-max-terms": query_max_terms}
        refuse("this is for a cluster, which needs --name.", options)
        from cptw_search.engine import EmbeddedIndex

        yield EmbeddedIndex.open(index_dir)
        return

    from cptw_queries import ClusterIndex, ExistingIndex

    name, model = cluster.needed_name(), load_model(model_dir)
    with cluster.connected() as client:
        if field is None:
            yield ClusterIndex(client, name, model, query_pruning=pruning(query_max_terms))
        else:
            yield ExistingIndex(client, name, model, field=field, query_pruning=pruning(query_max_terms))
