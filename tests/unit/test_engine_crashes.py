import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.errors import LockedError, StorageError


def test_a_hundred_killed_writers_leave_a_committed_state_each_time(tmp_path: Path) -> None:
    script = Path(__file__).with_name("killed_writers.py")
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    result = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "index"), "100"],
        capture_output=True,
        text=True,
        timeout=300,
        env=environment,
    )
    assert result.returncode == 0, result.stdout + result.stderr
    seen = json.loads(result.stdout)
    assert seen["killed"] == 100
    assert seen["changed"] > 50  # it did get to write
    assert min(seen["during"].values()) > 10  # and was caught in both operations
    assert seen["folders"] < 60  # the next save cleared what the killed ones left


@pytest.fixture
def model() -> Cptw:
    return Cptw(vectors=None).fit(["boat sea"])


def small_disk(tmp_path: Path, size: str) -> Path:
    """A file system of that size; needs root, as CI has."""
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)], capture_output=True, text=True
    )
    if mounted.returncode != 0:
        pytest.skip(f"a small tmpfs cannot be mounted here: {mounted.stderr.strip()}")
    return folder


def test_a_full_disk_is_one_clear_error_and_loses_nothing(model: Cptw, tmp_path: Path) -> None:
    folder = small_disk(tmp_path, "400k")
    try:
        index = EmbeddedIndex.build(model, [{"id": "a", "text": "boat"}], path=folder / "index")
        with pytest.raises(StorageError, match="Cannot write .* No space left on device"):
            index.add([{"id": str(i), "text": "boat " * 1000} for i in range(1000)])
        assert index.count() == 1
        index.close()
        assert EmbeddedIndex.open(folder / "index", verify=True).count() == 1
        with EmbeddedIndex.open(folder / "index") as again:
            again.add([{"id": "b", "text": "sea"}])
            again.save()
        assert EmbeddedIndex.open(folder / "index", verify=True).count() == 2
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_read_only_folder_can_be_read_and_says_so_when_written(model: Cptw, tmp_path: Path) -> None:
    folder = small_disk(tmp_path, "4m")
    try:
        EmbeddedIndex.build(model, [{"id": "a", "text": "boat"}], path=folder / "index").close()
        subprocess.run(["mount", "-o", "remount,ro", str(folder)], check=True)
        index = EmbeddedIndex.open(folder / "index")
        assert [hit.id for hit in index.search("boat", method="cptw")] == ["a"]
        with pytest.raises(StorageError, match="Cannot write .*[Rr]ead-only file system"):
            index.add([{"id": "b", "text": "sea"}])
        with pytest.raises(StorageError, match="Cannot write .*Read-only file system"):
            EmbeddedIndex.build(model, [], path=folder / "other")
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=True)


def test_a_second_writer_is_told_and_readers_go_on(model: Cptw, tmp_path: Path) -> None:
    writer = EmbeddedIndex.build(model, [{"id": "a", "text": "boat"}], path=tmp_path / "index")
    other = EmbeddedIndex.open(tmp_path / "index")
    for change in (
        lambda: other.add([{"id": "b", "text": "sea"}]),
        lambda: other.delete(["a"]),
        other.merge,
        other.save,
    ):
        with pytest.raises(LockedError, match="must have one writer at a time. Another one is at work"):
            change()
    writer.add([{"id": "c", "text": "boat"}])
    assert other.count() == EmbeddedIndex.open(tmp_path / "index").count() == 1
    writer.save()
    assert [hit.id for hit in other.search("boat", method="cptw")] == ["a"]  # an open reader keeps what it opened
    assert EmbeddedIndex.open(tmp_path / "index").count() == 2
    writer.close()
    other.add([{"id": "d", "text": "boat"}])  # and sees the other writer's work once it writes itself
    assert {hit.id for hit in other.search("boat", method="cptw")} == {"a", "c", "d"}
    other.save()
    assert EmbeddedIndex.open(tmp_path / "index", verify=True).count() == 3
    other.close()


def test_readers_open_while_a_writer_replaces_segments(model: Cptw, tmp_path: Path) -> None:
    index = EmbeddedIndex.build(model, [{"id": "0", "text": "boat"}], path=tmp_path / "index")
    program = (
        "import sys\nfrom cptw_search import EmbeddedIndex\n"
        "while True:\n"
        "    index = EmbeddedIndex.open(sys.argv[1])\n"
        "    assert len(index.search('boat', k=10)) == 1\n"
        "    print('read', flush=True)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(tmp_path / "index")], stdout=subprocess.PIPE) as reader:
        try:
            assert reader.stdout is not None
            assert reader.stdout.readline() == b"read\n"
            for _ in range(60):
                index.update([{"id": "0", "text": "boat"}])
                index.merge()
                index.save()
            for _ in range(20):
                assert reader.stdout.readline() == b"read\n"
            assert reader.poll() is None
        finally:
            reader.kill()
    index.close()
