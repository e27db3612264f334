"""No command takes a secret as an option: what stands on a command line can be read by every user of the machine."""

import re
from collections.abc import Iterator

import typer

from cptw_search.cli import app


def options(command: object, path: str = "cptw") -> Iterator[tuple[str, str]]:
    for parameter in command.params:  # type: ignore[attr-defined]
        for name in parameter.opts:
            yield path, name
    for name, inner in getattr(command, "commands", {}).items():
        yield from options(inner, f"{path} {name}")


def test_no_option_is_for_a_secret() -> None:
    found = list(options(typer.main.get_command(app)))
    assert ("cptw search", "--user") in found
    secret = re.compile(r"password|passwd|secret|api.?key|token$|bearer|credential")
    assert [option for option in found if secret.search(option[1])] == []
