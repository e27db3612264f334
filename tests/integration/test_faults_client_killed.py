"""The client dies (SIGKILL) at random moments of a load and of the move of the alias."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.servers

N_KILLS = 36


def test_the_alias_always_points_at_one_complete_index(elasticsearch7, index_name):
    script = Path(__file__).with_name("killed_loaders.py")
    tests = str(script.parents[1])
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "PYTHONPATH": tests}
    result = subprocess.run(
        [sys.executable, str(script), elasticsearch7.url, index_name, str(N_KILLS)],
        capture_output=True,
        text=True,
        timeout=1200,
        env=environment,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    seen = json.loads(result.stdout)
    assert seen["killed"] > N_KILLS // 2  # a few may end by themselves before the signal comes
    before_the_move = {moment: n for moment, n in seen["moved"].items() if moment in ("PUT /cptw", "/_bulk")}
    assert sum(before_the_move.values()) < N_KILLS // 6  # it was caught in the middle
    print(seen)
