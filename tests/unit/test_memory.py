"""The memory that a piece of work needs, in a process of its own: in a large one the system takes pages away meanwhile."""

import subprocess
import sys
from pathlib import Path

import pytest

from cptw_search.evaluation import memory

CODE = """
from cptw_search.evaluation.memory import peak_memory
with peak_memory() as nothing:
    pass
with peak_memory() as peak:
    held = b"x" * 200_000_000
    del held
print(nothing.n_bytes, peak.n_bytes)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells the largest size of a process")
def test_what_was_held_and_given_back_counts() -> None:
    result = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True)
    nothing, peak = map(int, result.stdout.split())
    assert nothing < 20_000_000
    assert 150_000_000 < peak < 300_000_000


def test_where_the_system_does_not_tell(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory, "_RESET", Path("/nowhere/clear_refs"))
    with memory.peak_memory() as peak:
        pass
    assert peak.n_bytes is None
