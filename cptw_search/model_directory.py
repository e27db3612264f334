"""A model on disk: ``manifest.json``, ``vocabulary.txt`` and plain arrays. No pickle: a stranger's model runs no code."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from cptw_search import storage, stored_arrays
from cptw_search.analysis import Analyzer
from cptw_search.errors import CorruptedError, InvalidInputError
from cptw_search.row_products import check_entries
from cptw_search.term_vectors import VectorsNotSaved

if TYPE_CHECKING:
    from cptw_search.model import Cptw

__all__ = ["FORMAT_VERSION", "KIND", "compute_model_id", "load_model", "save_model"]

KIND = "cptw-model"
FORMAT_VERSION = 1
FACTORS = "column_scale.npy"
"""The factors of the columns of S. They follow from the other files, so they are no part of the id, and a directory without
them is read as well; with them S need not be read when a model is opened."""


def _description(model: Cptw) -> dict[str, object]:
    return {
        "format_version": FORMAT_VERSION,
        "parameters": {
            name: value.item() if isinstance(value, np.generic) else value for name, value in model._fitted_with.items()
        },
        "analyzer": model._analyzer.to_dict(),
        "n_docs": model.n_docs_,
        "average_length": model.average_length_,
    }


def _files(model: Cptw) -> dict[str, storage.Content]:
    """Give what determines a model, and so its id."""
    return {
        "vocabulary.txt": model.vocabulary_,
        "df.npy": model.df_,
        "similarity_data.npy": model.similarity_.data,
        "similarity_indices.npy": model.similarity_.indices.astype(np.int32, copy=False),
        "similarity_indptr.npy": model.similarity_.indptr.astype(np.int64, copy=False),
    }


def _id(description: Mapping[str, object], hashes: Mapping[str, object]) -> str:
    return storage.hash_object({"description": dict(description), "files": dict(hashes)})


def compute_model_id(model: Cptw) -> str:
    """Hash all that determines what a model computes.

    Parameters
    ----------
    model : Cptw
        A fitted model.

    Returns
    -------
    str
        SHA-256, 64 hexadecimal digits. Where the vectors came from does not enter: what they led to does.

    Raises
    ------
    InvalidInputError
        If the analyzer is a function of the user's own.
    """
    return _id(_description(model), storage.hash_contents(_files(model)))


def save_model(model: Cptw, directory: Path) -> None:
    """Write a model; one that is there already is replaced in one step.

    Parameters
    ----------
    model : Cptw
        A fitted model.
    directory : Path
        Made if it is missing.

    Raises
    ------
    InvalidInputError
        If the analyzer is a function of the user's own.
    StorageError
        If the directory holds something else or cannot be written.
    """
    description = _description(model)  # refuses before anything is written
    storage.claim_directory(directory, KIND)
    folder, table = storage.write_folder(directory, {**_files(model), FACTORS: model._operator.column_scale})
    manifest = {
        "kind": KIND,
        **description,
        "written_by": f"cptw-search {version('cptw-search')}",
        "model_id": _id(description, {name: facts["sha256"] for name, facts in table.items() if name != FACTORS}),
        "vector_sources": model.vector_sources_,
        "folder": folder,
        "files": table,
    }
    storage.replace_manifest(directory, manifest)
    storage.remove_folders(directory, keep=[folder])


def load_model(model_class: type[Cptw], directory: Path, *, verify: bool) -> Cptw:
    """Open a saved model; its arrays are memory-mapped.

    Parameters
    ----------
    model_class : type
        `Cptw` or a subclass.
    directory : Path
        Where `save_model` wrote it.
    verify : bool
        Check the hash of every file first.

    Returns
    -------
    Cptw
        The model, with the id that it was saved with.

    Raises
    ------
    StorageError
        If there is no model there.
    CorruptedError
        If it is damaged.
    FormatVersionError
        If it was written in another format.
    """
    manifest = storage.read_manifest(directory, KIND, FORMAT_VERSION)
    paths = storage.check_files(directory, manifest.get("folder"), manifest.get("files"))
    if verify:
        storage.verify_files(paths, manifest["files"])  # type: ignore[arg-type]
    try:
        return _from_manifest(model_class, manifest, paths)
    except (InvalidInputError, KeyError, TypeError, AttributeError) as error:
        raise CorruptedError(f"The manifest in {str(directory)!r} does not describe a model: {error}.") from error


def _from_manifest(model_class: type[Cptw], manifest: storage.Manifest, paths: Mapping[str, Path]) -> Cptw:
    parameters: Any = manifest["parameters"]
    sources: Any = manifest["vector_sources"]
    analyzer: Any = manifest["analyzer"]
    model = model_class(vectors=VectorsNotSaved.of(sources), analyzer=Analyzer.from_dict(analyzer), **parameters)
    model._check_parameters()
    n_docs, average_length = manifest["n_docs"], manifest["average_length"]
    if not isinstance(n_docs, int) or n_docs < 1:
        raise CorruptedError(f"The manifest's n_docs must be a whole number >= 1. It is {n_docs!r}.")
    if not isinstance(average_length, float) or not 0 <= average_length < np.inf:
        raise CorruptedError(f"The manifest's average_length must be a number >= 0. It is {average_length!r}.")
    model.n_docs_, model.average_length_, model.vector_sources_ = n_docs, average_length, sources
    model.vocabulary_ = stored_arrays.read_lines(paths, "vocabulary.txt")
    n_terms = len(model.vocabulary_)
    model.df_ = stored_arrays.open_array(paths, "df.npy", np.int64)
    if len(model.df_) != n_terms:
        raise CorruptedError(f"df.npy must have {n_terms} entries, as vocabulary.txt has. It has {len(model.df_)}.")
    model.similarity_ = stored_arrays.open_csr(paths, "similarity", (n_terms, n_terms))
    factors = None
    if FACTORS in paths and model.weighting != "idf-equation":  # whose M is no S with scaled columns
        factors = stored_arrays.open_array(paths, FACTORS, np.float64)
        if len(factors) != n_terms or not np.isfinite(factors).all():
            raise CorruptedError(f"{FACTORS} must hold {n_terms} finite numbers. It does not: it was changed.")
    else:
        check_entries(model.similarity_.indices, model.similarity_.data, n_terms)
    model._settle(model.analyzer, factors)  # type: ignore[arg-type]
    model.__dict__["model_id"] = str(manifest["model_id"])
    return model
