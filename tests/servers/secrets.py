"""The passwords, keys and tokens that tests use: each is made or named here, and none may show anywhere.

`Watcher` looks at every log record of a run; ``tests/integration/conftest.py`` also looks at what pytest reports.
"""

import base64
import logging
import secrets
import traceback

_known: dict[str, str] = {}  # a secret in one of its forms, to the name that a message may use
leaks: list[str] = []
"""Where a secret showed; the secret itself is left out."""


def new(name: str, user: str | None = None) -> str:
    """Make a secret; with a user, what a header says of both is one as well."""
    return known(name, secrets.token_urlsafe(18), user)


def known(name: str, secret: str, user: str | None = None) -> str:
    """Take note of a secret that somebody else made."""
    _known[secret] = name
    _known[base64.b64encode(secret.encode()).decode()] = f"{name}, encoded"
    if user is not None:
        _known[base64.b64encode(f"{user}:{secret}".encode()).decode()] = f"{name}, as a login"
    return secret


def found_in(text: str) -> set[str]:
    """Name the secrets that a text shows."""
    return {name for secret, name in _known.items() if secret in text}


def found_in_error(error: BaseException) -> set[str]:
    """Name the secrets in an error: its traceback, and every error behind it, shown or not."""
    texts = ["".join(traceback.format_exception(error))]
    seen: set[int] = set()
    waiting: list[BaseException | None] = [error]
    while waiting:
        one = waiting.pop()
        if one is not None and id(one) not in seen:
            seen.add(id(one))
            texts += [str(one), repr(one), repr(one.args), repr(vars(one))]
            waiting += [one.__cause__, one.__context__]
    return found_in("\n".join(texts))


class Watcher(logging.Handler):
    """Notes every log record that shows a secret."""

    def emit(self, record: logging.LogRecord) -> None:
        if not _known:
            return
        text = f"{self.format(record)} {record.args!r}"
        for name in sorted(found_in(text)):
            leaks.append(f"the log of {record.name} ({record.levelname}) shows {name}")
