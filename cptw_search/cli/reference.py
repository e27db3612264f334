"""The reference page of the command line, made from the commands themselves.

``python -m cptw_search.cli.reference docs/command-line.md`` rewrites what stands below the marker in that file.
"""

from __future__ import annotations

import inspect
import sys
import types
from collections.abc import Callable, Iterator
from enum import Enum
from pathlib import Path
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

import typer
from typer.models import ArgumentInfo, OptionInfo

from cptw_search.cli import app

__all__ = ["MARKER", "main", "reference"]

MARKER = "<!-- made from the commands: python -m cptw_search.cli.reference docs/command-line.md -->\n"


def reference() -> str:
    """Describe all commands.

    Returns
    -------
    str
        Markdown.
    """
    return "\n".join(line for prefix, command in _commands(app, "cptw") for line in _section(prefix, command))


def _commands(group: typer.Typer, prefix: str) -> Iterator[tuple[str, Any]]:
    for command in group.registered_commands:
        yield f"{prefix} {command.name}", command
    for subgroup in group.registered_groups:
        if subgroup.typer_instance is not None:
            yield from _commands(subgroup.typer_instance, f"{prefix} {subgroup.name}")


def _section(name: str, command: Any) -> Iterator[str]:
    yield f"\n## {name}\n"
    yield inspect.cleandoc(command.callback.__doc__)
    if command.epilog:
        _, _, *examples = command.epilog.splitlines()
        yield "\n```sh"
        yield from (example.strip() for example in examples)
        yield "```"
    yield "\n| | |\n|---|---|"
    for left, right in _parameters(command.callback):
        yield "| `{}` | {} |".format(left.replace("|", r"\|"), right.replace("|", r"\|"))


def _parameters(run: Callable[..., None]) -> Iterator[tuple[str, str]]:
    """Give each argument and option with what it means; from the signature, which no version of typer changes."""
    hints = get_type_hints(run, include_extras=True)
    for name, parameter in inspect.signature(run).parameters.items():
        hint = hints[name]
        if get_origin(hint) is not Annotated:
            hint = get_args(hint)[0]  # Python 3.10 makes Optional[Annotated[...]] of what defaults to None
        kind, info = get_args(hint)[:2]
        choices = _choices(kind)
        default = parameter.default.value if isinstance(parameter.default, Enum) else parameter.default
        meaning, *said_default = str(info.help).split("  [default: ")
        if choices:
            meaning += f" One of {', '.join(choices)}."
        if parameter.default is inspect.Parameter.empty:
            meaning += " Required."
        elif said_default:
            meaning += f" Default: {said_default[0].rstrip(']')}."
        elif default is not None and default is not False:
            meaning += f" Default: {default}."
        if isinstance(info, ArgumentInfo):
            yield str(info.metavar), meaning
        elif isinstance(info, OptionInfo):
            # In an annotation, the place of the default holds the first name.
            given = [flag for flag in (info.default, *(info.param_decls or ())) if isinstance(flag, str)]
            flag = given[0] if given else f"--{name.replace('_', '-')}"
            value = "" if kind is bool else " " + (info.metavar or _metavar(kind))
            yield f"{flag}{value}", meaning


def _alternatives(kind: Any) -> tuple[Any, ...]:
    return get_args(kind) if get_origin(kind) in (Union, types.UnionType) else (kind,)


def _metavar(kind: Any) -> str:
    names = {int: "N", float: "NUMBER", Path: "PATH"}
    return next((names[one] for one in _alternatives(kind) if one in names), "NAME")


def _choices(kind: Any) -> list[str]:
    for one in _alternatives(kind):
        if isinstance(one, type) and issubclass(one, Enum):
            return [choice.value for choice in one]
    return []


def main() -> None:
    """Rewrite the generated part of a page."""
    path = Path(sys.argv[1])
    written, marker, _ = path.read_text(encoding="utf-8").partition(MARKER)
    path.write_text(f"{written.rstrip()}\n\n{marker or MARKER}{reference()}\n", encoding="utf-8")


if __name__ == "__main__":
    main()
