"""What a command is: a function, and examples for its help."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import typer

__all__ = ["Command", "new_app"]


@dataclass(frozen=True)
class Command:
    """A command of the command line.

    Parameters
    ----------
    run : callable
        Its parameters are the options, its docstring is the help. What it imports from the library it imports when
        it is called: ``cptw --help`` has to be quick.
    examples : sequence of str, default ()
        Command lines for the end of the help.
    name : str, default ""
        By default the function's.
    """

    run: Callable[..., None]
    examples: Sequence[str] = ()
    name: str = ""

    def register(self, app: typer.Typer) -> None:
        """Add the command to an app.

        Parameters
        ----------
        app : typer.Typer
            The app.
        """
        # The backspace tells click to leave the line breaks of a paragraph alone.
        heading = "Example:" if len(self.examples) == 1 else "Examples:"
        lines = ["\b", heading, *(f"  {example}" for example in self.examples)]
        epilog = "\n".join(lines) if self.examples else None
        app.command(self.name or self.run.__name__, epilog=epilog)(self.run)


def new_app(help_text: str, commands: Sequence[Command], **settings: object) -> typer.Typer:
    """Make an app, or a group of commands.

    Parameters
    ----------
    help_text : str
        What it is for.
    commands : sequence of Command
        In the order of the help.
    **settings : object
        For ``typer.Typer``.

    Returns
    -------
    typer.Typer
        The app.
    """
    app = typer.Typer(
        help=help_text,
        no_args_is_help=True,
        rich_markup_mode=None,  # plain help: the same in a pipe, and a sixth of a second sooner
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
        **settings,  # type: ignore[arg-type]
    )
    for command in commands:
        command.register(app)
    return app
