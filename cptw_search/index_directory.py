"""An embedded index on disk: segments that never change, one manifest that is swapped, one lock for writers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import filelock
import numpy as np
import numpy.typing as npt

from cptw_search import storage
from cptw_search.errors import CorruptedError, CptwError, LockedError, StorageError
from cptw_search.model import Cptw
from cptw_search.pruning import Pruning
from cptw_search.segment import Segment
from cptw_search.stored_arrays import open_array

__all__ = ["IndexDirectory", "IndexState", "SavedSegment"]

KIND = "cptw-index"
FORMAT_VERSION = 1
MODEL = "model"
LOCK = "write.lock"

SavedSegment = dict[str, Any]
"""A segment's part of the manifest: its folder and files, and those of its deletions."""


@dataclass(frozen=True)
class IndexState:
    """What a directory held when its manifest was read.

    Parameters
    ----------
    model : Cptw
        The index's model.
    placement : str
        What its segments store.
    document_pruning : Pruning
        What was kept of propagated documents.
    query_pruning : Pruning
        What is kept of propagated queries.
    next_number : int
        The number that the next plain text gets as id.
    segments : list of (Segment, ndarray of bool, dict)
        Segments, which of their documents are alive, and their parts of the manifest.
    """

    model: Cptw
    placement: str
    document_pruning: Pruning
    query_pruning: Pruning
    next_number: int
    segments: list[tuple[Segment, npt.NDArray[np.bool_], SavedSegment]]


class IndexDirectory:
    """The directory of an index, and its write lock.

    Parameters
    ----------
    path : Path
        The directory.
    model : Cptw
        The index's model.
    """

    def __init__(self, path: Path, model: Cptw) -> None:
        self.path = path.resolve()
        self._model = model
        self._generation = 0
        self._lock = filelock.FileLock(self.path / LOCK, timeout=0, thread_local=False)

    @classmethod
    def create(cls, path: Path, model: Cptw) -> IndexDirectory:
        """Make a directory for a new index and lock it.

        Parameters
        ----------
        path : Path
            Where; must not hold anything yet.
        model : Cptw
            The index's model; a copy is saved there.

        Returns
        -------
        IndexDirectory
            Locked for writing.

        Raises
        ------
        StorageError
            If there is something already, or it cannot be written.
        LockedError
            If another process is writing there.
        """
        storage.claim_directory(path, KIND, also_ours=(MODEL, LOCK))
        directory = cls(path, model)
        directory._acquire()
        try:
            if (path / storage.MANIFEST).exists():
                raise StorageError(
                    f"The directory {str(path)!r} must be empty for a new index. It holds one: open it and add to it, or "
                    "remove it first."
                )
            model.save(path / MODEL)
        except BaseException:
            directory.release()
            raise
        return directory

    @classmethod
    def open(cls, path: Path, *, verify: bool) -> tuple[IndexDirectory, IndexState]:
        """Open a saved index for reading.

        Parameters
        ----------
        path : Path
            The directory.
        verify : bool
            Check the hash of every file.

        Returns
        -------
        directory : IndexDirectory
            Not locked.
        state : IndexState
            What it holds.

        Raises
        ------
        StorageError
            If there is no index, or it is damaged or of another format.
        """
        storage.read_manifest(path, KIND, FORMAT_VERSION)
        directory = cls(path, Cptw.load(path / MODEL, verify=verify))
        return directory, directory.read(verify=verify)

    def read(self, *, verify: bool = False) -> IndexState:
        """Read the state that the manifest describes.

        Parameters
        ----------
        verify : bool, default False
            Check the hash of every file.

        Returns
        -------
        IndexState
            Memory-mapped.

        Raises
        ------
        StorageError
            If it is damaged or of another format.
        """
        while True:
            manifest = storage.read_manifest(self.path, KIND, FORMAT_VERSION)
            try:
                state = self._state(manifest, verify)
            except CptwError:
                # A writer may have swapped the manifest and removed old segments since it was read here.
                if storage.read_manifest(self.path, KIND, FORMAT_VERSION) == manifest:
                    raise
                continue
            self._generation = int(manifest["generation"])  # type: ignore[call-overload]
            return state

    def _state(self, manifest: storage.Manifest, verify: bool) -> IndexState:
        try:
            if manifest["model_id"] != self._model.model_id:
                raise CorruptedError(
                    f"The index in {str(self.path)!r} must hold the model {manifest['model_id']}. It holds {self._model.model_id}."
                )
            settings: Any = manifest["settings"]
            saved_segments: Any = manifest["segments"]
            int(manifest["generation"])  # type: ignore[call-overload]
            return IndexState(
                self._model,
                settings["placement"],
                Pruning(**settings["document_pruning"]),
                Pruning(**settings["query_pruning"]),
                int(settings["next_number"]),
                [self._open_segment(saved, verify) for saved in saved_segments],
            )
        except (KeyError, TypeError, AttributeError, ValueError) as error:  # InvalidInputError is a ValueError
            raise CorruptedError(f"The manifest in {str(self.path)!r} does not describe an index: {error}.") from error

    def _open_segment(self, saved: SavedSegment, verify: bool) -> tuple[Segment, npt.NDArray[np.bool_], SavedSegment]:
        paths = storage.check_files(self.path, saved["folder"], saved["files"])
        if verify:
            storage.verify_files(paths, saved["files"])
        segment = Segment.open(paths)
        alive = np.ones(segment.n_docs, dtype=bool)
        if saved["deletions"] is not None:
            deletions = storage.check_files(self.path, saved["deletions"]["folder"], saved["deletions"]["files"])
            if verify:
                storage.verify_files(deletions, saved["deletions"]["files"])
            alive = np.array(open_array(deletions, "alive.npy", np.bool_))
            if len(alive) != segment.n_docs:
                raise CorruptedError(f"alive.npy must have {segment.n_docs} entries. It has {len(alive)}.")
        return segment, alive, saved

    def lock(self) -> bool:
        """Take the write lock, unless it is held already.

        Returns
        -------
        bool
            True if another writer changed the directory since it was last read.

        Raises
        ------
        LockedError
            If another process holds it.
        """
        if self._lock.is_locked:
            return False
        self._acquire()
        manifest = storage.read_manifest(self.path, KIND, FORMAT_VERSION)
        return manifest.get("generation") != self._generation

    def _acquire(self) -> None:
        try:
            self._lock.acquire()
        except filelock.Timeout:
            raise LockedError(
                f"The index in {str(self.path)!r} must have one writer at a time. Another one is at work: wait until it is "
                "done or closed. Reading is possible meanwhile."
            ) from None
        except OSError as error:
            raise StorageError(f"Cannot write {str(self.path)!r}: {error.strerror or error}.") from error

    def release(self) -> None:
        """Give the write lock back."""
        self._lock.release()

    def write_segment(self, segment: Segment) -> tuple[SavedSegment, Segment]:
        """Write a segment; it belongs to the index only after `commit`.

        Parameters
        ----------
        segment : Segment
            What to write.

        Returns
        -------
        saved : dict
            Its part of the manifest.
        segment : Segment
            The same, memory-mapped.

        Raises
        ------
        StorageError
            If it cannot be written.
        """
        folder, table = storage.write_folder(self.path, segment.files())
        mapped = Segment.open(storage.check_files(self.path, folder, table))
        return {"folder": folder, "files": table, "n_docs": segment.n_docs, "deletions": None}, mapped

    def write_deletions(self, saved: SavedSegment, alive: npt.NDArray[np.bool_]) -> SavedSegment:
        """Write which documents of a segment are alive; it counts only after `commit`.

        Parameters
        ----------
        saved : dict
            The segment's part of the manifest.
        alive : ndarray of bool
            One a document.

        Returns
        -------
        dict
            Its new part of the manifest.

        Raises
        ------
        StorageError
            If it cannot be written.
        """
        if alive.all():
            return {**saved, "deletions": None}
        folder, table = storage.write_folder(self.path, {"alive.npy": alive})
        return {**saved, "deletions": {"folder": folder, "files": table}}

    def commit(self, segments: Sequence[SavedSegment], settings: Mapping[str, object]) -> None:
        """Make these segments the index, in one step.

        Parameters
        ----------
        segments : sequence of dict
            Their parts of the manifest.
        settings : mapping
            Placement, pruning and numbering.

        Raises
        ------
        StorageError
            If the manifest cannot be written; the old one then stands.
        """
        self._generation += 1
        storage.replace_manifest(
            self.path,
            {
                "kind": KIND,
                "format_version": FORMAT_VERSION,
                "written_by": f"cptw-search {version('cptw-search')}",
                "model_id": self._model.model_id,
                "generation": self._generation,
                "settings": dict(settings),
                "segments": list(segments),
            },
        )
        kept = [saved["folder"] for saved in segments]
        kept += [saved["deletions"]["folder"] for saved in segments if saved["deletions"] is not None]
        storage.remove_folders(self.path, keep=kept)
