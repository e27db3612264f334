"""The command line ``cptw``: a shell over the library.

A command parses its options, makes one or two calls, and prints. Results go to standard output, messages to standard
error. The status is 0, 1 for an error of the user's (one line), 2 for a command line that cannot be understood, and
130 after Ctrl-C.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from cptw_search.cli import (
    classify,
    cluster,
    delete,
    demo,
    evaluate,
    explain,
    fit,
    index,
    info,
    neighbours,
    search,
    tune,
    vectors,
)
from cptw_search.cli.commands import new_app
from cptw_search.errors import CptwError

__all__ = ["app", "main"]

INTERRUPTED = 130


class _Commands(TyperGroup):
    """Turns errors into one line and a status."""

    def invoke(self, ctx: Any) -> Any:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning  # type: ignore[assignment]
            try:
                result = super().invoke(ctx)
                sys.stdout.flush()  # here, where a reader that went away can still be dealt with
            except CptwError as error:
                _fail(str(error))
            except KeyboardInterrupt:
                raise typer.Exit(INTERRUPTED) from None
            except BrokenPipeError:
                _forget_output()
                raise typer.Exit(1) from None
            except OSError as error:
                _fail(": ".join(str(part) for part in (error.filename, error.strerror or error) if part))
            return result


def _fail(text: str) -> NoReturn:
    from cptw_search.cli.output import message

    with contextlib.suppress(OSError):
        message(text)
    raise typer.Exit(1)


def _show_warning(message_: Warning | str, *_: Any, **__: Any) -> None:
    from cptw_search.cli.output import message

    message(f"warning: {message_}")


def _forget_output() -> None:
    """Keep Python from flushing at its end what nobody reads: that would print a traceback."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _print_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        print(f"cptw-search {version('cptw-search')}")
        raise typer.Exit


def _options(
    version: Annotated[
        bool, typer.Option("--version", help="Show the version and exit.", callback=_print_version, is_eager=True)
    ] = False,
) -> None:
    """Search and classify texts by meaning, with nothing to start."""


app = new_app(
    "Search and classify texts by meaning: no server, no neural model.\n\nStart with: cptw index DOCUMENTS --index DIR, "
    'then: cptw search "some words" --index DIR. Or see: cptw demo',
    [
        demo.COMMAND,
        fit.COMMAND,
        index.COMMAND,
        search.COMMAND,
        classify.COMMAND,
        explain.COMMAND,
        neighbours.COMMAND,
        tune.COMMAND,
        delete.COMMAND,
        info.COMMAND,
    ],
    cls=_Commands,
)
app.callback()(_options)
app.add_typer(vectors.app, name="vectors")
app.add_typer(evaluate.app, name="evaluate")
app.add_typer(cluster.app, name="cluster")


def main() -> None:
    """Run the command line."""
    for stream in (sys.stdout, sys.stderr):
        # What an old terminal cannot show is shown as a question mark, not as a traceback.
        with contextlib.suppress(AttributeError, ValueError):
            stream.reconfigure(errors="replace")  # type: ignore[union-attr]
    app(prog_name="cptw")
