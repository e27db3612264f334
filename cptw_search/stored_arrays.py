"""Opening the data files of a directory: memory-mapped, and checked so that a changed file is an error and no crash."""

from __future__ import annotations

import tokenize
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.errors import CorruptedError

__all__ = ["open_array", "open_csr", "read_lines"]

# What numpy's reader was seen to raise on changed headers, by fuzzing.
_NUMPY_ERRORS = (
    ValueError,
    OSError,
    EOFError,
    SyntaxError,
    TypeError,
    OverflowError,
    MemoryError,
    tokenize.TokenError,
    Warning,
)
_MMAP_FROM_BYTES = 64 * 2**10  # below that an open file is the higher price


def open_array(paths: Mapping[str, Path], name: str, dtype: npt.DTypeLike, ndim: int = 1) -> npt.NDArray[Any]:
    """Open an array, memory-mapped when it is large.

    Parameters
    ----------
    paths : mapping
        What `check_files` returned.
    name : str
        Which file.
    dtype : dtype
        The type that it has to have.
    ndim : int, default 1
        The number of axes that it has to have.

    Returns
    -------
    ndarray
        Not writeable.

    Raises
    ------
    CorruptedError
        If the file is not named or not such an array.
    """
    if name not in paths:
        raise CorruptedError(f"The manifest must name a file {name!r}. It names {sorted(paths)}.")
    path = paths[name]
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a header that numpy has to guess at is none of ours
            # Mapping first, whatever the size: it refuses a header that promises more than the file holds.
            array = np.load(path, mmap_mode="r", allow_pickle=False)
    except _NUMPY_ERRORS as error:
        raise CorruptedError(f"{str(path)!r} is not a readable .npy array ({error}).") from error
    if not isinstance(array, np.ndarray) or array.dtype != np.dtype(dtype) or array.ndim != ndim:
        got = f"{array.dtype} with {array.ndim} axes" if isinstance(array, np.ndarray) else type(array).__name__
        raise CorruptedError(f"{str(path)!r} must hold {np.dtype(dtype)} with {ndim} axes. It holds {got}.")
    if array.nbytes < _MMAP_FROM_BYTES:
        array = np.array(array)
    plain: npt.NDArray[Any] = array.view(np.ndarray)  # the mapping stays; the memmap class would cost on every slice
    plain.flags.writeable = False
    return plain


def read_lines(paths: Mapping[str, Path], name: str) -> list[str]:
    """Read the lines of a text file.

    Parameters
    ----------
    paths : mapping
        What `check_files` returned.
    name : str
        Which file.

    Returns
    -------
    list of str
        The lines, without their ends.

    Raises
    ------
    CorruptedError
        If the file is not named or not UTF-8.
    """
    if name not in paths:
        raise CorruptedError(f"The manifest must name a file {name!r}. It names {sorted(paths)}.")
    try:
        text = paths[name].read_bytes().decode()
    except (OSError, UnicodeDecodeError) as error:
        raise CorruptedError(f"{str(paths[name])!r} is not readable UTF-8 text ({error}).") from error
    return text.split("\n")[:-1]  # not splitlines: a term may hold a character that it takes for a line's end


def open_csr(paths: Mapping[str, Path], name: str, shape: tuple[int, int]) -> sp.csr_matrix:
    """Open a sparse matrix of three arrays, memory-mapped; what stands in its rows is not read.

    scipy's kernels trust the indices: whoever multiplies by the matrix has to check them first
    (`cptw_search.row_products.check_entries`), for a changed file must be an error and not a crash.

    Parameters
    ----------
    paths : mapping
        What `check_files` returned.
    name : str
        The files are ``<name>_data.npy``, ``<name>_indices.npy`` and ``<name>_indptr.npy``.
    shape : tuple of int
        The shape that it has to have.

    Returns
    -------
    csr_matrix
        float64, with indices as they were saved.

    Raises
    ------
    CorruptedError
        If the arrays do not make such a matrix.
    """
    data = open_array(paths, f"{name}_data.npy", np.float64)
    indices = open_array(paths, f"{name}_indices.npy", np.int32)
    indptr = open_array(paths, f"{name}_indptr.npy", np.int64)
    fits = (
        len(indptr) == shape[0] + 1
        and indptr[0] == 0
        and indptr[-1] == len(indices) == len(data)
        and bool((np.diff(indptr) >= 0).all())
    )
    if not fits:
        raise CorruptedError(
            f"{name}_data.npy, {name}_indices.npy and {name}_indptr.npy must make a sparse matrix of {shape[0]} by "
            f"{shape[1]}. They do not: one of them was changed or belongs to something else."
        )
    if indptr[-1] <= np.iinfo(np.int32).max:
        indptr = indptr.astype(np.int32)  # scipy wants one type for both; these are the few
    return sp.csr_matrix((data, indices, indptr), shape=shape, copy=False)
