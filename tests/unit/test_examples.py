"""Every example runs, and prints what it promises."""

import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[2] / "examples"
EXPECTED = {
    "first_search.py": ["Harbour authorities closed the coast to every vessel.", "fishing boat"],
    "classify_texts.py": ["['sport' 'business']", "['politics']"],
    "keep_an_index.py": ["b 1.0 Harbour"],
    "explain_picture.py": [],
}


def test_there_is_an_expectation_for_every_example() -> None:
    assert {path.name for path in EXAMPLES.glob("*.py")} == set(EXPECTED)


@pytest.mark.parametrize("name", sorted(EXPECTED))
def test_examples_run(name: str, tmp_path: Path) -> None:
    arguments = [str(tmp_path / "figure.png")] if name == "explain_picture.py" else []
    result = subprocess.run(
        [sys.executable, "-W", "error", str(EXAMPLES / name), *arguments], capture_output=True, text=True, cwd=tmp_path
    )
    assert result.returncode == 0, result.stderr
    for words in EXPECTED[name]:
        assert words in result.stdout
    if arguments:
        assert (tmp_path / "figure.png").stat().st_size > 10_000
