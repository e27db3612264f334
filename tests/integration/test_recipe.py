"""The recipe for the index that you already have works as it is written: its commands, one after the other."""

import json
import shlex
from pathlib import Path

import pytest
from command_line import Result

from cptw_search.cluster import connect, make_path
from cptw_search.lee_corpus import load_lee_corpus

pytestmark = pytest.mark.servers

PAGE = Path(__file__).parents[2] / "docs" / "semantic-recall-in-ten-minutes.md"
URL, INDEX = "http://localhost:9200", "articles"


def commands() -> list[str]:
    return [line[2:] for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("$ cptw ")]


def fill(url: str, index: str) -> dict[str, str]:
    """Make the index that was there before: news texts in a field with the server's standard analyzer."""
    texts = {str(number): text for number, text in enumerate(load_lee_corpus().texts, 1)}
    lines = "".join(
        json.dumps({"index": {"_index": index, "_id": number}}) + "\n" + json.dumps({"body": text}) + "\n"
        for number, text in texts.items()
    )
    with connect(url) as client:
        client.request("PUT", make_path(index), body={"mappings": {"properties": {"body": {"type": "text"}}}})
        assert not client.send_lines("/_bulk", lines.encode(), params={"refresh": True})["errors"]
    return texts


@pytest.mark.parametrize("server", ["elasticsearch7", "elasticsearch9", "opensearch3"])
def test_the_recipe(
    server: str, request: pytest.FixtureRequest, index_name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = request.getfixturevalue(server).url
    texts = fill(url, index_name)
    monkeypatch.chdir(tmp_path)
    Path("today.jsonl").write_text('{"id": "today", "body": "The blaze is out."}\n')
    assert len(commands()) >= 12
    found: dict[str, Result] = {}
    for command in commands():
        result = Result(*shlex.split(command.replace(URL, url).replace(INDEX, index_name))[1:])
        assert result.status == 0, f"{command}\n{result.stdout}\n{result.stderr}"
        assert result.stdout.strip() or command.startswith("cptw delete"), command
        found[command] = result

    def ids(method: str) -> set[str]:
        (result,) = (result for command, result in found.items() if f"--model words --method {method}" in command)
        return {line.split()[2] for line in result.stdout.splitlines() if line[:1].isdigit() or line[1:2].isdigit()}

    # The words alone find every text that says "blaze"; the expansion also texts that do not.
    assert ids("bm25") == {number for number, text in texts.items() if "blaze" in text.lower().split()}
    assert any("blaze" not in texts[number].lower() for number in ids("cptw"))
    (explained,) = (result for command, result in found.items() if "--explain" in command)
    assert "same term" in explained.stdout
    (deleted,) = (result for command, result in found.items() if "prune-old" in command)
    assert len(deleted.stdout.split()) == 1
    with connect(url) as client:
        served = client.request("GET", make_path(f"{index_name}-cptw", "_count"))["count"]
        before = client.request("GET", make_path(index_name, "_count"))["count"]
    assert served == before == len(texts)  # the last load took what the index holds, which the recipe left alone
