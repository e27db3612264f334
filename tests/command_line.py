"""Running ``cptw`` in tests, on a few documents whose similarities can be worked out by hand."""

import json
import signal
from pathlib import Path
from typing import Any

from typer.testing import CliRunner

from cptw_search.cli import app

VECTORS = "boat 1 0\nship 0.8 0.6\nsea 0.6 0.8\ncat -1 1\ndog -0.8 0.9\n"
DOCUMENTS: list[dict[str, object]] = [
    {"id": "a", "title": "Harbour news", "text": "A boat left the harbour.", "label": "water", "year": 1990},
    {"id": "b", "text": "Two ships at sea.", "label": "water", "year": 1995},
    {"id": "c", "text": "My cat sleeps.", "label": "pets", "year": 2001},
    {"id": "d", "text": "The dog barks at the cat.", "label": "pets", "year": 2002},
]


class Result:
    """What a command left behind."""

    def __init__(self, *args: object, stdin: str | bytes | None = None) -> None:
        result = CliRunner().invoke(app, [str(arg) for arg in args], input=stdin, catch_exceptions=False)
        self.status, self.stdout, self.stderr = result.exit_code, result.stdout, result.stderr

    @property
    def json(self) -> Any:
        (line,) = self.stdout.splitlines()
        return json.loads(line)


def write_documents(
    folder: Path, documents: list[dict[str, object]] = DOCUMENTS, name: str = "documents.jsonl"
) -> Path:
    path = folder / name
    path.write_text("".join(json.dumps(document) + "\n" for document in documents), encoding="utf-8")
    return path


def fit_model(folder: Path) -> Path:
    (folder / "vectors.txt").write_text(VECTORS)
    documents = write_documents(folder)
    result = Result("fit", documents, "--model", folder / "model", "--vectors", folder / "vectors.txt", "--tau", "0.5")
    assert result.status == 0, result.stderr
    return folder / "model"


def build_index(folder: Path) -> Path:
    result = Result("index", write_documents(folder), "--index", folder / "index", "--model", fit_model(folder))
    assert result.status == 0, result.stderr
    return folder / "index"


def hear_control_c() -> None:
    """Undo, as preexec_fn of a process, that a shell has what it runs in the background ignore Ctrl-C."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
