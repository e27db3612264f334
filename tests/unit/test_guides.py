"""The commands of the guides work as they are written, one after the other."""

import json
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[2] / "docs"
GUIDES = ["search-your-texts.md", "classify-your-texts.md", "vectors-and-tau.md", "evaluate-retrieval.md"]

ARTICLES = [
    {"id": "7", "title": "Storm", "text": "A ship was lost in the storm off the coast.", "year": 1999},
    {"id": "8", "title": "Harbour", "text": "The ship left the harbour before the storm.", "year": 2004},
    {"id": "9", "title": "Taxes", "text": "The government raised the tax on income.", "year": 2004},
    {"id": "10", "title": "Voters", "text": "Voters and the government argue about income tax.", "year": 2010},
]
LABELLED = [
    "sport\tThe striker scored twice in the cup final.",
    "sport\tA late goal decided the cup match.",
    "sport\tThe final match of the cup had a late winner.",
    "sport\tTwo goals in the final minutes won the match.",
    "business\tShares fell after the bank's profit warning.",
    "business\tThe bank reported a rise in annual profit.",
    "business\tAnnual profit fell at the bank, and shares with it.",
    "business\tThe market rewarded the bank's rise in profit.",
] * 2


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    def lines(name: str, rows: list[str]) -> None:
        (tmp_path / name).write_text("\n".join(rows) + "\n")

    lines("articles.jsonl", [json.dumps(article) for article in ARTICLES])
    lines("more.jsonl", [json.dumps({**ARTICLES[0], "text": "The ship was found."})])
    lines("labelled.tsv", LABELLED)
    lines("new.txt", ["The cup was won in the last minute.", "Profit at the bank"])
    lines("queries.jsonl", [json.dumps({"_id": "q1", "text": "ship"}), json.dumps({"_id": "q2", "text": "tax"})])
    lines("qrels.tsv", ["query-id\tcorpus-id\tscore", "q1\t7\t1", "q1\t8\t1", "q2\t9\t1", "q2\t10\t1"])
    (tmp_path / "my-collection").mkdir()
    for name, copy in (("articles", "corpus"), ("queries", "queries")):
        shutil.copy(tmp_path / f"{name}.jsonl", tmp_path / "my-collection" / f"{copy}.jsonl")
    shutil.copy(tmp_path / "qrels.tsv", tmp_path / "my-collection")
    return tmp_path


@pytest.mark.parametrize("guide", GUIDES)
def test_commands_of_a_guide_work(guide: str, folder: Path) -> None:
    commands = [line[2:] for line in (DOCS / guide).read_text().splitlines() if line.startswith("$ cptw ")]
    assert len(commands) >= 4
    for command in commands:
        arguments = shlex.split(command)[1:]
        result = subprocess.run(
            [sys.executable, "-W", "error", "-c", "from cptw_search.cli import main; main()", *arguments],
            capture_output=True,
            text=True,
            cwd=folder,
        )
        assert result.returncode == 0, f"{command}\n{result.stdout}\n{result.stderr}"
        assert result.stdout.strip()
    if guide == "search-your-texts.md":
        assert (folder / "why.png").stat().st_size > 10_000
