"""Many strings in two arrays: they can be memory-mapped, and millions of them cost no Python object each."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, overload

import numpy as np
import numpy.typing as npt

from cptw_search.errors import CorruptedError
from cptw_search.stored_arrays import open_array

__all__ = ["BytesTable"]


class BytesTable(Sequence[bytes]):
    """An immutable sequence of byte strings: one blob, and where each one ends.

    Parameters
    ----------
    blob : ndarray of uint8
        All of them, one behind the other.
    ends : ndarray of int64
        Where each one ends.

    Examples
    --------
    >>> table = BytesTable.of([b"boat", b"", b"ship"])
    >>> len(table), table[2], list(table)
    (3, b'ship', [b'boat', b'', b'ship'])
    >>> BytesTable.of([b"a", b"c"]).bisect(b"b")
    1
    """

    def __init__(self, blob: npt.NDArray[np.uint8], ends: npt.NDArray[np.int64]) -> None:
        self.blob = blob
        self.ends = ends

    @classmethod
    def of(cls, strings: Iterable[bytes]) -> BytesTable:
        """Make a table.

        Parameters
        ----------
        strings : iterable of bytes
            What goes in.

        Returns
        -------
        BytesTable
            The table.
        """
        parts = list(strings)
        ends = np.cumsum([len(part) for part in parts], dtype=np.int64)
        return cls(np.frombuffer(b"".join(parts), dtype=np.uint8), ends)

    @classmethod
    def open(cls, paths: Mapping[str, Path], name: str) -> BytesTable:
        """Open a table that `files` described.

        Parameters
        ----------
        paths : mapping
            What `storage.check_files` returned.
        name : str
            The name that was given to `files`.

        Returns
        -------
        BytesTable
            Memory-mapped.

        Raises
        ------
        CorruptedError
            If the files do not make a table.
        """
        table = cls(
            open_array(paths, f"{name}_blob.npy", np.uint8),
            open_array(paths, f"{name}_ends.npy", np.int64),
        )
        if len(table.ends) and table.ends[-1] != len(table.blob):
            raise CorruptedError(
                f"{name}_ends.npy must end where {name}_blob.npy does, at {len(table.blob)}. It ends at {table.ends[-1]}."
            )
        return table

    def files(self, name: str) -> dict[str, npt.NDArray[Any]]:
        """Give the arrays to be written.

        Parameters
        ----------
        name : str
            Names the files.

        Returns
        -------
        dict
            File names to arrays.
        """
        return {f"{name}_blob.npy": self.blob, f"{name}_ends.npy": self.ends}

    def __len__(self) -> int:
        return len(self.ends)

    @overload
    def __getitem__(self, position: int) -> bytes: ...

    @overload
    def __getitem__(self, position: slice) -> list[bytes]: ...

    def __getitem__(self, position: int | slice) -> bytes | list[bytes]:
        if isinstance(position, slice):
            return [self[i] for i in range(*position.indices(len(self)))]
        if not 0 <= position < len(self):
            raise IndexError(position)
        start = self.ends[position - 1] if position else 0
        return self.blob[start : self.ends[position]].tobytes()

    def __iter__(self) -> Iterator[bytes]:
        start = 0
        for end in self.ends.tolist():
            yield self.blob[start:end].tobytes()
            start = end

    def bisect(self, string: bytes) -> int:
        """Find the first position whose string is not smaller; the table has to be sorted.

        Parameters
        ----------
        string : bytes
            What to look for.

        Returns
        -------
        int
            0 to the number of strings.
        """
        low, high = 0, len(self)
        while low < high:
            middle = (low + high) // 2
            if self[middle] < string:
                low = middle + 1
            else:
                high = middle
        return low

    def find(self, string: bytes) -> int:
        """Find a string in a sorted table.

        Parameters
        ----------
        string : bytes
            What to look for.

        Returns
        -------
        int
            Its position, -1 where it is not there.
        """
        position = self.bisect(string)
        return position if position < len(self) and self[position] == string else -1
