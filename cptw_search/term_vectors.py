"""One vector a term: from files, from objects, from the collection itself, or several of these side by side."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Union

import numpy as np
import numpy.typing as npt

from cptw_search.counting import Collection
from cptw_search.embeddings import WordVectors, load_vectors, stem_vectors
from cptw_search.errors import InvalidInputError

__all__ = ["DERIVED", "VectorSource", "VectorsNotSaved", "term_vectors"]

DERIVED = ("lsi", "word2vec", "fasttext")
"""Vectors that are made from the collection itself."""


@dataclass(frozen=True)
class VectorsNotSaved:
    """Stands for the vectors of a loaded model: a model keeps the similarities and not the vectors.

    Parameters
    ----------
    sources : tuple of str
        What the vectors were.
    """

    sources: tuple[str, ...]

    @classmethod
    def of(cls, sources: Any) -> VectorsNotSaved | list[str] | None:
        """Give what a loaded model's ``vectors`` parameter is.

        Parameters
        ----------
        sources : list of dict
            The model's ``vector_sources_``.

        Returns
        -------
        VectorsNotSaved, list of str or None
            The names alone where all vectors can be made anew from the collection.
        """
        names = [str(source["source"]) for source in sources]
        if all(name in DERIVED for name in names):
            return names or None
        return cls(tuple(names))


VectorSource = Union[WordVectors, str, "os.PathLike[str]", VectorsNotSaved]


def term_vectors(
    vectors: VectorSource | Sequence[VectorSource] | None, collection: Collection, *, n_dimensions: int
) -> tuple[npt.NDArray[np.float64], list[dict[str, object]]]:
    """Give one vector a term of a collection.

    Parameters
    ----------
    vectors : WordVectors, str, path, sequence of these, or None
        As for `cptw_search.Cptw`.
    collection : Collection
        The terms, their surface forms, their counts.
    n_dimensions : int
        Dimensions of vectors that are made from the collection.

    Returns
    -------
    vectors : ndarray of shape (n_terms, n_dimensions)
        Zeros for a term without a vector.
    sources : list of dict
        Where they came from, as plain data.

    Raises
    ------
    InvalidInputError
        If ``vectors`` is something else, or belongs to a loaded model.
    VectorFileError
        If a file cannot be read, or none of its words occur.
    """
    if vectors is None:
        return np.zeros((len(collection.terms), 1)), []
    single = isinstance(vectors, (str, os.PathLike, WordVectors, VectorsNotSaved)) or not isinstance(vectors, Sequence)
    sources: Sequence[Any] = [vectors] if single else vectors  # type: ignore[assignment]
    found = [_one_source(source, collection, n_dimensions) for source in sources]
    matrices = [_unit_rows(matrix) if len(found) > 1 else matrix for matrix, _ in found]
    return np.hstack(matrices), [facts for _, facts in found]


def _one_source(
    source: VectorSource, collection: Collection, n_dimensions: int
) -> tuple[npt.NDArray[np.float64], dict[str, object]]:
    if isinstance(source, VectorsNotSaved):
        raise InvalidInputError(
            f"This model was loaded, and a saved model does not hold the vectors it was fitted with "
            f"({', '.join(source.sources)}). To fit it anew, give them again: set_params(vectors=load_vectors(...))."
        )
    if isinstance(source, str) and source in DERIVED:
        return _derive(source, collection, n_dimensions)
    if isinstance(source, (str, os.PathLike)):
        words = {word for forms in collection.forms.values() for word in forms}
        source = load_vectors(Path(source), words=words.union(collection.terms))
    if not isinstance(source, WordVectors):
        raise InvalidInputError(
            f"vectors must be WordVectors (see load_vectors), a path, one of {', '.join(map(repr, DERIVED))}, a list of "
            f"these, or None. Got {source!r} instead."
        )
    matrix = stem_vectors(collection.terms, collection.forms, source)
    n_with_vector = int(np.count_nonzero(matrix.any(axis=1)))
    if n_with_vector == 0:
        raise InvalidInputError(
            f"vectors must have words of the collection. None of its {len(collection.terms)} terms (such as "
            f"{collection.terms[:3]}) is among the {len(source)} words (such as {list(source.words[:3])}). "
            "Is it the right language?"
        )
    return matrix, {**source.provenance, "n_terms_with_vector": n_with_vector}


def _derive(name: str, collection: Collection, n_dimensions: int) -> tuple[npt.NDArray[np.float64], dict[str, object]]:
    from cptw_search import derive

    if name == "lsi":
        vectors = derive.lsi_vectors(collection.counts, collection.terms, n_dimensions=n_dimensions)
    else:
        train = derive.word2vec_vectors if name == "word2vec" else derive.fasttext_vectors
        vectors = train(collection.sentences(), n_dimensions=n_dimensions)
    matrix = np.zeros((len(collection.terms), vectors.n_dimensions))
    rows = vectors.rows(collection.terms)
    matrix[rows >= 0] = vectors.vectors[rows[rows >= 0]]
    return matrix, {**vectors.provenance, "source": name, "n_terms_with_vector": int(np.count_nonzero(rows >= 0))}


def _unit_rows(matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    lengths = np.linalg.norm(matrix, axis=1, keepdims=True)
    return np.asarray(np.divide(matrix, lengths, where=lengths > 0, out=np.zeros_like(matrix)))
