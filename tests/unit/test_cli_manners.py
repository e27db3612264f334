"""Manners of the command line: streams, statuses, colours, and texts that would command the terminal."""

import inspect
import io
import json
import os
import pty
import signal
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import typer
from command_line import Result, build_index, hear_control_c, write_documents

import cptw_search
from cptw_indexer.mapping import FIELD_TYPES
from cptw_search import Cptw, KnnClassifier
from cptw_search.analysis import analyzer_names
from cptw_search.backend import METHODS
from cptw_search.cli import app, options, output
from cptw_search.cli.classify import classify
from cptw_search.cli.fit import fit
from cptw_search.cli.reference import MARKER, reference
from cptw_search.cli.reference import main as write_reference
from cptw_search.documents import FORMATS
from cptw_search.neighbours import VOTES
from cptw_search.placement import PLACEMENTS
from cptw_search.propagation import NORMALIZATIONS, WEIGHTINGS
from cptw_search.purposes import PURPOSES

CPTW = [sys.executable, "-c", "from cptw_search.cli import main; main()"]
COMMANDS = ["demo", "fit", "index", "search", "classify", "explain", "neighbours", "tune", "delete", "info"]
ATTACK = "\x1b[31mred\x1b]0;title\x07 \x9b2J \u202eright [bold]to[/bold] left\r\n"


def run(*args: object, **settings: object) -> "subprocess.CompletedProcess[str]":
    environment = {**os.environ, "PYTHONIOENCODING": "utf-8"}
    return subprocess.run([*CPTW, *map(str, args)], capture_output=True, encoding="utf-8", env=environment, **settings)  # type: ignore[call-overload,no-any-return]


def run_in_terminal(*args: object, columns: str = "80", **environment: str) -> str:
    """Run a command whose standard output is a terminal, and give what it sent there."""
    ours, theirs = pty.openpty()
    variables = {**os.environ, "TERM": "xterm-256color", "COLUMNS": columns, **environment}
    process = subprocess.Popen([*CPTW, *map(str, args)], stdout=theirs, stderr=subprocess.DEVNULL, env=variables)
    os.close(theirs)
    sent = b""
    while True:
        try:
            block = os.read(ours, 4096)
        except OSError:  # Linux says so when the other side is closed
            break
        if not block:
            break
        sent += block
    os.close(ours)
    assert process.wait() == 0
    return sent.decode().replace("\r\n", "\n")


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_index(tmp_path_factory.mktemp("cli"))


# Help -----------------------------------------------------------------------------------------------------------------


def test_version() -> None:
    assert Result("--version").stdout.startswith("cptw-search ")


@pytest.mark.parametrize("command", [*COMMANDS, "vectors list", "vectors fetch", "cluster status", "cluster prune-old"])
def test_every_command_s_help_has_an_example(command: str) -> None:
    result = Result(*command.split(), "--help")
    assert result.status == 0
    assert f"cptw {command}" in result.stdout.split("Example")[1]


def test_the_reference_page_is_up_to_date() -> None:
    page = Path(__file__).parents[2] / "docs" / "command-line.md"
    hint = "run: python -m cptw_search.cli.reference docs/command-line.md"
    assert page.read_text(encoding="utf-8").partition(MARKER)[2] == reference() + "\n", hint


def test_the_reference_page_names_every_option_of_the_help() -> None:
    described = reference()
    for command in [*COMMANDS, "cluster status", "cluster prune-old"]:
        section = described.split(f"\n## cptw {command}\n")[1].split("\n## ")[0]
        lines = Result(*command.split(), "--help").stdout.split("Options:")[1].splitlines()
        for flag in {line.split()[0] for line in lines if line.startswith("  --")}:
            assert f"`{flag}" in section, (command, flag)


def test_the_reference_page_is_rewritten_below_its_marker(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = tmp_path / "page.md"
    page.write_text(f"# Title\n\n{MARKER}old\n")
    monkeypatch.setattr(sys, "argv", ["reference", str(page)])
    write_reference()
    assert page.read_text(encoding="utf-8") == f"# Title\n\n{MARKER}{reference()}\n"


def test_help_imports_nothing_slow() -> None:
    """The package itself imports NumPy; the commands must not, so that it is the package's choice."""
    code = (
        "import sys, types; package = types.ModuleType('cptw_search'); package.__path__ = [sys.argv[1]]; "
        "sys.modules['cptw_search'] = package; import cptw_search.cli; "
        "print([name for name in ('numpy', 'scipy', 'gensim', 'rich', 'matplotlib') if name in sys.modules])"
    )
    folder = str(Path(cptw_search.__file__).parent)
    assert subprocess.run([sys.executable, "-c", code, folder], capture_output=True).stdout == b"[]\n"


@pytest.mark.parametrize(
    ("choices", "of_the_library"),
    [
        (options.Method, METHODS),
        (options.Votes, VOTES),
        (options.Weighting, WEIGHTINGS),
        (options.Normalization, NORMALIZATIONS),
        (options.Placement, PLACEMENTS),
        (options.FormatName, FORMATS),
        (options.FieldType, ("auto", *FIELD_TYPES)),
    ],
)
def test_choices_are_the_library_s(choices: type[options.Method], of_the_library: tuple[str, ...]) -> None:
    assert sorted(choice.value for choice in choices) == sorted(of_the_library)


def test_defaults_are_the_library_s() -> None:
    def defaults(function: object) -> dict[str, object]:
        parameters = inspect.signature(function).parameters  # type: ignore[arg-type]
        return {name: getattr(one.default, "value", one.default) for name, one in parameters.items()}

    ours, library = defaults(fit), defaults(Cptw)
    # the analyzer is another with --from-index, what a purpose decides is its own
    compared = ours.keys() & library.keys() - {"vectors", "analyzer", *PURPOSES["search"]}
    assert len(compared) == 4
    assert all(ours[name] is None for name in PURPOSES["search"])
    assert {name: ours[name] for name in compared} == {name: library[name] for name in compared}
    for name in ("k", "votes", "label_field"):
        assert defaults(classify)[name] == defaults(KnnClassifier)[name]
    assert {"english", "unicode", "whitespace", "paper", "released", "german"} <= set(analyzer_names())


# Errors ---------------------------------------------------------------------------------------------------------------


def test_an_error_is_one_line_and_status_1(tmp_path: Path) -> None:
    result = run("search", "boat", "--index", tmp_path / "nothing")
    assert result.returncode == 1
    assert result.stdout == ""
    assert result.stderr.startswith("cptw: There is no directory")
    assert len(result.stderr.splitlines()) == 1


@pytest.mark.parametrize("args", [["serch"], ["search", "--no-such-option"], ["search", "boat"]])
def test_a_command_line_that_cannot_be_understood_is_status_2(args: list[str]) -> None:
    result = run(*args)
    assert (result.returncode, result.stdout) == (2, "")
    assert "Traceback" not in result.stderr


def test_an_error_of_the_operating_system_is_one_line(tmp_path: Path, index: Path) -> None:
    missing = tmp_path / "no-such-folder" / "why.svg"
    result = Result("explain", "boat", "--index", index, "--id", "b", "--figure", missing)
    assert result.status == 1
    assert result.stderr == f"cptw: {missing}: No such file or directory\n"


def test_a_warning_is_one_line(index: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def warn(*_: object) -> list[object]:
        warnings.warn("some entries\nwere left out", UserWarning, stacklevel=2)
        return []

    monkeypatch.setattr(Cptw, "neighbours", warn)
    with warnings.catch_warnings():
        warnings.simplefilter("default")
        result = Result("neighbours", "boat", "--index", index)
    assert result.stderr.splitlines()[0] == "cptw: warning: some entries were left out"


def test_a_reader_that_goes_away(tmp_path: Path, index: Path) -> None:
    queries = tmp_path / "queries.txt"
    queries.write_text("boat\n" * 2000)
    arguments = ["search", "--queries", str(queries), "--index", str(index), "--json"]
    process = subprocess.Popen([*CPTW, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stderr is not None
    assert process.stdout.readline().startswith(b"{")
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    assert process.wait() == 1


def test_control_c(index: Path) -> None:
    arguments = ["search", "--queries", "-", "--index", str(index), "--json"]
    process = subprocess.Popen(
        [*CPTW, *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        preexec_fn=hear_control_c,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(b"boat\n" * 100)  # a batch: its first line says that the command is at work
    process.stdin.flush()
    assert process.stdout.readline().startswith(b"{")
    process.send_signal(signal.SIGINT)
    _, stderr = process.communicate()
    assert process.returncode == 130
    assert b"Traceback" not in stderr


def test_results_that_standard_output_cannot_encode(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    more = write_documents(tmp_path, [{"id": "é", "text": "boat ✓"}], "more.jsonl")
    assert Result("index", more, "--index", index).status == 0
    for arguments in (["--json"], []):
        environment = {**os.environ, "PYTHONIOENCODING": "ascii"}
        command = [*CPTW, "search", "boat", "--index", str(index), *arguments]
        result = subprocess.run(command, capture_output=True, env=environment)
        assert result.returncode == 0, result.stderr
        if arguments:
            assert "é" in [hit["id"] for hit in json.loads(result.stdout)["hits"]]


# Terminals ------------------------------------------------------------------------------------------------------------


def test_colours_on_a_terminal_only(index: Path) -> None:
    assert "\x1b" not in run("search", "boat", "--index", index).stdout
    shown = run_in_terminal("search", "boat", "--index", index)
    assert "\x1b[1;32mboat\x1b[0m" in shown
    assert "\x1b[4;36mships\x1b[0m" in shown


@pytest.mark.parametrize("environment", [{"NO_COLOR": "1"}, {"TERM": "dumb"}])
def test_no_colours_where_they_are_not_wanted(index: Path, environment: dict[str, str]) -> None:
    shown = run_in_terminal("search", "boat", "--index", index, **environment)
    assert "\x1b" not in shown
    assert "**boat**" in shown
    assert "_ships_" in shown


def test_a_narrow_terminal_breaks_lines_and_a_pipe_does_not(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    text = "boat " + "harbour " * 25
    assert Result("index", write_documents(tmp_path, [{"id": "long", "text": text}]), "--index", index).status == 0
    narrow = run_in_terminal("search", "harbour", "--index", index, columns="40", NO_COLOR="1")
    assert max(map(len, narrow.splitlines())) <= 40
    piped = run("search", "harbour", "--index", index).stdout
    assert "    boat **harbour** **harbour**" in piped
    assert max(map(len, piped.splitlines())) > 200


def test_documents_cannot_command_the_terminal(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    attack: dict[str, object] = {
        "id": "evil" + ATTACK.strip(),
        "title": ATTACK,
        "text": "boat " + ATTACK,
        "label": ATTACK,
    }
    assert Result("index", write_documents(tmp_path, [attack], "evil.jsonl"), "--index", index).status == 0
    commands = [
        ("search", "boat", "--index", index, "--filter", f"id={attack['id']}"),
        ("search", "boat", "--index", index, "--explain"),
        ("search", "boat", "--index", index, "--json"),
        ("explain", "boat", "--index", index, "--id", attack["id"]),
        ("classify", tmp_path / "evil.jsonl", "--index", index),
        ("search", ATTACK + "x", "--index", index, "--filter", "label=pets"),
        ("explain", "boat", "--index", index, "--id", ATTACK),
    ]
    for command in commands:
        result = Result(*command)
        for character in ("\x1b", "\x07", "\x9b", "\u202e", "\r"):
            assert character not in result.stdout + result.stderr, command
    shown = Result(*commands[0]).stdout
    assert "[bold]to[/bold]" in shown  # not taken for markup
    texts = [hit["fields"]["text"] for hit in Result(*commands[2]).json["hits"]]
    assert attack["text"] in texts  # as data it is whole


def test_safe_text_has_the_same_length() -> None:
    text = ATTACK + "\ud800\t\x85 \u2028."
    assert len(output.safe(text)) == len(text)
    assert output.safe(text).encode()


# Values ---------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (None, None),
        (["open=true"], {"open": ["true", True]}),
        (["a = b"], {"a": ["b"]}),
        (["a==b=c"], {"a": ["b=c"]}),
        (["n<=1.5", "n>-2"], {"n": {"lte": 1.5, "gt": -2}}),
        (["n=NaN"], {"n": ["NaN"]}),
        (["n=[1]"], {"n": ["[1]"]}),
        (["date>=2020-01-31"], {"date": {"gte": "2020-01-31"}}),
        (["empty="], {"empty": [""]}),
    ],
)
def test_filters_are_read(conditions: list[str] | None, expected: object) -> None:
    assert options.parse_filters(conditions) == expected


def test_a_field_has_values_or_bounds() -> None:
    with pytest.raises(typer.BadParameter, match="either values"):
        options.parse_filters(["n=1", "n>0"])


def test_a_stream_without_encoding_gets_ascii(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = io.StringIO()
    monkeypatch.setattr(sys, "stdout", stream)
    output.print_json({"id": "é"})
    assert stream.getvalue() == '{"id": "\\u00e9"}\n'


def test_read_all_gives_every_document_and_reports(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "some.jsonl"
    path.write_text('{"text": "boat"}\n{broken\n')
    assert options.read_all([str(path)]) == [{"id": "1", "text": "boat"}]
    assert "1 document read, 1 left out" in capsys.readouterr().err


def test_the_app_and_its_name_are_exported() -> None:
    assert isinstance(app, typer.Typer)
