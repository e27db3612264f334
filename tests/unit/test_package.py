"""What holds for the package as a whole."""

import subprocess
import sys

import pytest

from cptw_search.errors import MissingExtraError, require_extra


def imported_by(program: str) -> set[str]:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-c", f"{program}\nimport sys; print(*sorted(sys.modules))"],
        capture_output=True,
        text=True,
        check=True,
    )
    return set(result.stdout.split())


@pytest.mark.parametrize("package", ["cptw_search", "cptw_indexer", "cptw_queries", "cptw_search.cli"])
def test_importing_loads_nothing_heavy_and_prints_nothing(package: str) -> None:
    heavy = {
        "gensim",
        "matplotlib",
        "sklearn",
        "elasticsearch",
        "opensearchpy",
        "ir_measures",
        "rich.progress",
        "numba",
    }
    assert not imported_by(f"import {package}") & heavy


def test_importing_changes_no_global_settings() -> None:
    program = (
        "import logging, warnings, numpy as np, scipy.sparse, filelock, regex, threadpoolctl\n"
        "before = (list(logging.root.handlers), logging.root.level, list(warnings.filters), np.geterr())\n"
        "import cptw_search\n"
        "assert before == (list(logging.root.handlers), logging.root.level, list(warnings.filters), np.geterr())"
    )
    assert "cptw_search" in imported_by(program)


def test_a_missing_extra_names_its_cure_and_a_broken_one_speaks_for_itself(tmp_path, monkeypatch) -> None:
    with pytest.raises(
        MissingExtraError, match=r"Drawing needs the module 'nowhere'.*pip install 'cptw-search\[plot\]'"
    ):
        require_extra("nowhere", "plot", "Drawing")
    (tmp_path / "broken_module.py").write_text("import something_else_that_is_missing\n")
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ModuleNotFoundError, match="something_else_that_is_missing"):
        require_extra("broken_module", "plot", "Drawing")
    assert require_extra("json", "plot", "Drawing").dumps([]) == "[]"
