"""Options for clusters: what goes together, what is refused, and that no secret is shown. No server is needed."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from command_line import Result, build_index, write_documents

from cptw_search import Cptw
from cptw_search.analysis import FIELD_TOKENS
from cptw_search.cli.cluster_options import Cluster, _password
from cptw_search.cli.reading import DocumentReader
from cptw_search.cli.stored_texts import main_field, text_of

NOWHERE = "http://127.0.0.1:1"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    build_index(folder)
    Cptw(vectors=None, analyzer=FIELD_TOKENS, field_weights={"body": 1}).fit([{"body": "boat"}]).save(folder / "tokens")
    return folder


@pytest.fixture(autouse=True)
def in_folder(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    for name in ("URL", "USERNAME", "PASSWORD", "API_KEY", "BEARER_TOKEN", "CLOUD_ID", "CA_FILE", "CONFIG_FILE"):
        monkeypatch.delenv(f"CPTW_{name}", raising=False)


CLUSTER = f"--on {NOWHERE} --name news"
TO = f"--to {NOWHERE} --name news --model model"


@pytest.mark.parametrize(
    ("command", "said"),
    [
        ("search boat", "give the index: a directory, or --name"),
        ("search boat --index index --name news", "not both"),
        ("search boat --index index --model model", "this is for a cluster"),
        ("search boat --index index --field body", "this is for a cluster"),
        ("search boat --index index --query-max-terms 3", "this is for a cluster"),
        ("search boat --index index --user me", "this is for a cluster"),
        ("search boat --index index --ca-file ca.pem", "this is for a cluster"),
        ("search boat --index index --config cptw.ini", "this is for a cluster"),
        (f"search boat --on {NOWHERE} --model model", "say which alias or index"),
        (f"search boat {CLUSTER}", "say where the model is"),
        (f"classify --text boat {CLUSTER}", "say where the model is"),
        (f"delete 1 {CLUSTER}", "say where the model is"),
        (f"explain boat --id 1 {CLUSTER}", "say where the model is"),
        ("explain boat --text x --model model --user me", "this is for a cluster"),
        ("explain boat --id 1 --index index --name news", "not both"),
        (f"cluster prune-old --on {NOWHERE}", "say which alias or index"),
        # fit
        ("fit --model new", "give documents, or an index on a cluster"),
        ("fit documents.jsonl --model new --field body", "needs --from-index"),
        ("fit documents.jsonl --model new --user me", "this is for a cluster"),
        (f"fit --from-index {NOWHERE} --name news --model new", "say which text field"),
        (f"fit --from-index {NOWHERE} --field body --model new", "say which alias or index"),
        (f"fit --from-index {NOWHERE} --name news --field a --field b --model new", "one field only"),
        (f"fit x --from-index {NOWHERE} --name news --field a --model new", "documents in files"),
        (f"fit --strict --from-index {NOWHERE} --name news --field a --model new", "documents in files"),
        (f"fit --format csv --from-index {NOWHERE} --name news --field a --model new", "documents in files"),
        (f"fit --from-index {NOWHERE} --name news --field a --field-weight b=1 --model new", "'b' must be one of"),
        # index
        ("index documents.jsonl", "give the index: a directory, or --name"),
        ("index --index new", "give files of documents"),
        ("index documents.jsonl --index new --name news", "not both"),
        ("index documents.jsonl --index new --shards 2", "this is for a cluster"),
        ("index documents.jsonl --index new --add", "this is for a cluster"),
        ("index documents.jsonl --index new --rejected x", "this is for a cluster"),
        (f"index documents.jsonl --to {NOWHERE} --name news", "say where the model is"),
        (f"index documents.jsonl --to {NOWHERE} --model model", "say which alias or index"),
        (f"index {TO}", "give either documents or --from"),
        (f"index documents.jsonl --from articles {TO}", "give either documents or --from"),
        (f"index documents.jsonl {TO} --add --replace", "give only one of --add and --replace"),
        (f"index documents.jsonl {TO} --add --placement both", "this is for a new index"),
        (f"index documents.jsonl {TO} --update --resume", "this is for a new index"),
        (f"index documents.jsonl {TO} --add --create --processes 2", "this is for a new index"),
        (f"index documents.jsonl {TO} --create", "this goes with --add"),
        ("index documents.jsonl --index new --create", "this is for a cluster"),
        (f"index documents.jsonl {TO} --update --replicas 0", "this is for a new index"),
        (f"index documents.jsonl {TO} --in-place", "give none"),
        (f"index {TO} --in-place --shards 3", "this is for a new index"),
        (f"index documents.jsonl {TO} --query-max-terms 5", "said to cptw search"),
    ],
)
def test_what_does_not_go_together_is_status_2(command: str, said: str) -> None:
    result = Result(*command.split())
    assert result.status == 2
    assert said in " ".join(result.stderr.split())
    assert not Path("new").exists()


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (f"search boat {CLUSTER} --model nowhere", "There is no directory"),
        (f"search boat {CLUSTER} --model model", f"{NOWHERE} cannot be reached"),
        ("search boat --name news --model model", "A cluster needs either a url or a cloud_id"),
        ("search boat --on ftp://x --name news --model model", "A cluster's url must be like https://host:9200"),
        ("search boat --on http://[x --name news --model model", "no URL"),
        (f"search boat {CLUSTER} --model model --ca-file nothing.pem", "ca_file must be a file of certificates"),
        (f"search boat {CLUSTER} --model model --config nothing.ini", "The config file 'nothing.ini' cannot be read"),
        (f"index documents.jsonl {TO}", f"{NOWHERE} cannot be reached"),
        (f"cluster status --on {NOWHERE}", f"{NOWHERE} cannot be reached"),
        (f"fit --from-index {NOWHERE} --name news --field body --model new", f"{NOWHERE} cannot be reached"),
        ("index documents.jsonl --index new --model tokens", "--model must make its terms itself"),
    ],
)
def test_what_fails_is_one_line_and_status_1(command: str, said: str) -> None:
    result = Result(*command.split())
    assert (result.status, result.stdout) == (1, "")
    assert said in result.stderr
    assert len(result.stderr.splitlines()) == 1
    assert not (Path("new") / "manifest.json").exists()


def test_the_address_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPTW_URL", NOWHERE)
    result = Result("search", "boat", "--name", "news", "--model", "model")
    assert f"{NOWHERE} cannot be reached" in result.stderr


@pytest.mark.parametrize("option", ["--on http://me:sesame@127.0.0.1:1", "--on http://127.0.0.1:1,http://a:sesame@b:1"])
def test_a_password_on_the_command_line_is_refused_and_not_repeated(option: str) -> None:
    result = Result(*f"search boat {option} --name news --model model".split())
    assert result.status == 2
    assert "must be without a password" in " ".join(result.stderr.split())
    assert "sesame" not in result.stderr


# Logging in -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("username", [None, "", "me"])
def test_the_password_of_the_environment(username: str | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPTW_PASSWORD", "sesame")
    if username is not None:
        monkeypatch.setenv("CPTW_USERNAME", username)
    assert _password("me") == "sesame"


def test_the_password_of_another_user_is_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CPTW_PASSWORD", "sesame")
    monkeypatch.setenv("CPTW_USERNAME", "another")
    result = Result(*f"search boat {CLUSTER} --model model --user me".split())
    assert result.status == 2
    assert "password of 'me' must be in CPTW_PASSWORD" in " ".join(result.stderr.split())


def test_the_password_is_asked_for_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[str, bool]] = []

    def prompt(text: str, *, hide_input: bool, err: bool) -> str:
        asked.append((text, hide_input and err))
        return "typed"

    monkeypatch.setattr("cptw_search.cli.cluster_options.can_ask", lambda: True)
    monkeypatch.setattr("typer.prompt", prompt)
    assert _password("me") == "typed"
    assert asked == [("Password of me", True)]


def test_what_is_handed_to_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    handed: list[tuple[Any, ...]] = []

    class Connection:
        def __enter__(self) -> Connection:
            return self

        def __exit__(self, *_: object) -> None:
            handed.append(("closed",))

    def connect(url: str | None, **options: object) -> Connection:
        handed.append((url, options))
        return Connection()

    monkeypatch.setenv("CPTW_PASSWORD", "sesame")
    monkeypatch.setattr("cptw_search.cluster.connect", connect)
    with Cluster(NOWHERE, "news", "me", Path("ca.pem"), Path("cptw.ini")).connected():
        pass
    with Cluster().connected():
        pass
    login = {"username": "me", "password": "sesame", "ca_file": "ca.pem", "config_file": Path("cptw.ini")}
    assert handed == [(NOWHERE, login), ("closed",), (None, dict.fromkeys(login)), ("closed",)]


# Texts ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("document", "field", "expected"),
    [
        ({"body": "a boat"}, "body", "a boat"),
        ({"body": ["a boat", 3, None, "a ship"]}, "body", "a boat\na ship"),
        ({"a": {"b": "x"}}, "a.b", "x"),
        ({"a.b": "x"}, "a.b", "x"),
        ({"a": [{"b": "x"}, {"b": ["y", "z"]}]}, "a.b", "x\ny\nz"),
        ({"body": "a boat"}, "body.english", "a boat"),
        ({"body": 7}, "body", ""),
        ({"a": {"c": "x"}}, "a.b", ""),
        ({}, "body", ""),
    ],
)
def test_the_text_of_a_field(document: dict[str, object], field: str, expected: str) -> None:
    assert text_of(document, field) == expected


def test_the_field_of_a_plain_text() -> None:
    assert main_field(Cptw(vectors=None).fit(["boat"])) == "text"
    weights = {"title": 1, "body": 1}
    assert main_field(Cptw(vectors=None, field_weights=weights).fit([{"body": "boat"}])) == "body"


def test_documents_whose_text_is_called_something_else(tmp_path: Path) -> None:
    path = write_documents(tmp_path, [{"id": "a", "body": "boat"}, {"id": "b", "text": "ship", "year": 1990}])
    with DocumentReader([str(path)], text_field="body").reading() as documents:
        assert list(documents) == [{"id": "a", "body": "boat"}, {"id": "b", "year": 1990, "body": "ship"}]
    path = tmp_path / "lines.txt"
    path.write_text("boat\n")
    with DocumentReader([str(path)], text_field="body").reading() as documents:
        assert list(documents) == [{"id": "1", "body": "boat"}]


def test_plain_texts_reach_a_model_with_another_field(tmp_path: Path) -> None:
    documents = [{"id": "a", "body": "a boat", "label": "water"}, {"id": "b", "body": "my cat", "label": "pets"}]
    model = Cptw(vectors=None, field_weights={"body": 1}).fit(documents)
    model.save(tmp_path / "model")
    shown = Result("explain", "boat", "--model", tmp_path / "model", "--text", "Two boats")
    assert (shown.status, "same term" in shown.stdout) == (0, True)
