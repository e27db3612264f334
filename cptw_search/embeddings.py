"""Word vectors: an immutable table of them, loaded from a file, combined, or averaged over the forms of a stem."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import uuid
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_matrix

from cptw_search.errors import InvalidInputError, check_choice
from cptw_search.vector_files import FORMATS, read_file, read_keyed_vectors

__all__ = ["VectorWarning", "WordVectors", "load_vectors", "stem_vectors"]


class VectorWarning(UserWarning):
    """Some entries of a file of word vectors could not be used."""


def _checked_words(words: Iterable[str], what: str = "words") -> list[str]:
    if isinstance(words, str | bytes):
        raise InvalidInputError(f"{what} must be a collection of strings. Got one string, {words!r}, instead.")
    checked = list(words)
    if set(map(type, checked)) <= {str}:  # as nearly always, and several times quicker than a look at each
        return checked
    wrong = [word for word in checked if not isinstance(word, str)]
    if wrong:
        raise InvalidInputError(f"{what} must be strings. Got {wrong[0]!r} among them. Convert them first.")
    return checked


class WordVectors:
    """An immutable table of words and their vectors.

    Two tables are equal if their words and vectors are, in the same order. Copying and :func:`sklearn.base.clone`
    share the table instead of doubling it.

    Parameters
    ----------
    words : sequence of str
        Unique words, not empty, without the character NUL.
    vectors : array-like of shape (n_words, n_dimensions)
        Their vectors: finite numbers, kept as float32.
    provenance : mapping, default=None
        Where they are from: anything that JSON can hold.

    Attributes
    ----------
    words : tuple of str
        The words.
    vectors : ndarray of shape (n_words, n_dimensions)
        The vectors: float32, C-contiguous, not writeable.

    Raises
    ------
    InvalidInputError
        If words repeat or are no words, the shapes do not fit, or a value is NaN or infinite.

    See Also
    --------
    load_vectors : Read them from a file.

    Examples
    --------
    >>> vectors = WordVectors(["boat", "ship"], [[1, 0], [0.8, 0.6]])
    >>> vectors
    WordVectors(n_words=2, n_dimensions=2)
    >>> "boat" in vectors, vectors["boat"].tolist()
    (True, [1.0, 0.0])
    >>> vectors.rows(["SHIP", "submarine"]).tolist()
    [1, -1]
    """

    words: tuple[str, ...]
    vectors: NDArray[np.float32]

    def __init__(
        self, words: Sequence[str], vectors: ArrayLike, provenance: Mapping[str, object] | None = None
    ) -> None:
        checked = _checked_words(words)
        array = _checked_array(vectors)
        if array.ndim != 2 or array.shape[0] != len(checked) or array.shape[1] < 1:
            raise InvalidInputError(
                f"vectors must have the shape (n_words, n_dimensions), here ({len(checked)}, at least 1). "
                f"Got {array.shape} instead. Give one row a word."
            )
        bad = next((word for word in checked if not word or "\0" in word), None)
        if bad is not None:
            raise InvalidInputError(f"words must not be empty or hold NUL. Got {bad!r} among them. Leave it out.")
        if len(set(checked)) < len(checked):
            repeated = Counter(checked).most_common(1)[0][0]
            raise InvalidInputError(f"words must be unique. Got {repeated!r} more than once. Keep one of them.")
        try:
            origin = json.loads(
                json.dumps({"source": "memory", "format": "array"} if provenance is None else provenance)
            )
        except (TypeError, ValueError) as error:
            raise InvalidInputError(
                f"provenance must be a mapping that JSON can hold. Got an error instead: {error}."
            ) from error
        self.__dict__.update(words=tuple(checked), vectors=array, _provenance=origin)

    def __setattr__(self, name: str, value: object) -> NoReturn:
        raise AttributeError(f"WordVectors is immutable. Got a new value of {name!r}. Make a new object instead.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"WordVectors is immutable. Got a deletion of {name!r}. Make a new object instead.")

    @property
    def n_words(self) -> int:
        """Number of words."""
        return len(self.words)

    @property
    def n_dimensions(self) -> int:
        """Length of each vector."""
        return int(self.vectors.shape[1])

    @property
    def provenance(self) -> dict[str, Any]:
        """Where the vectors are from, with their present size and hash: a new dict that JSON can hold."""
        own = {"n_words_kept": self.n_words, "n_dimensions": self.n_dimensions, "sha256": self.sha256}
        return {"n_words_read": self.n_words, **json.loads(json.dumps(self.__dict__["_provenance"])), **own}

    @cached_property
    def sha256(self) -> str:
        """Hexadecimal SHA-256 of the words and the vectors."""
        digest = hashlib.sha256(f"{self.n_words} {self.n_dimensions}\0".encode())
        digest.update("\0".join(self.words).encode("utf-8", "surrogatepass"))
        digest.update(self.vectors.astype("<f4", copy=False).reshape(-1).data)
        return digest.hexdigest()

    @cached_property
    def _row_of_word(self) -> dict[str, int]:
        return {word: row for row, word in enumerate(self.words)}

    @cached_property
    def _row_of_key(self) -> dict[str, int]:
        rows: dict[str, int] = {}
        for row, word in enumerate(self.words):
            rows.setdefault(word.casefold(), row)
        return rows

    def __len__(self) -> int:
        return self.n_words

    def __contains__(self, word: object) -> bool:
        return word in self._row_of_word

    def __getitem__(self, word: str) -> NDArray[np.float32]:
        row: NDArray[np.float32] = self.vectors[self._row_of_word[word]]
        return row

    def __repr__(self) -> str:
        return f"WordVectors(n_words={self.n_words}, n_dimensions={self.n_dimensions})"

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, WordVectors) and self.sha256 == other.sha256)

    def __hash__(self) -> int:
        return hash(self.sha256)

    def __copy__(self) -> WordVectors:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> WordVectors:
        return self

    def __sklearn_clone__(self) -> WordVectors:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return WordVectors, (self.words, self.vectors, self.__dict__["_provenance"])

    def rows(self, words: Iterable[str]) -> NDArray[np.int64]:
        """Return the row of each word.

        Parameters
        ----------
        words : iterable of str
            The words to look up.

        Returns
        -------
        ndarray of int64
            The row of the same word, else of the first that differs in case only, else -1.

        Raises
        ------
        InvalidInputError
            If ``words`` is one string, or holds something else than strings.
        """
        wanted = _checked_words(words)
        rows = np.fromiter(map(self._row_of_word.get, wanted, itertools.repeat(-1)), dtype=np.int64, count=len(wanted))
        for place in np.flatnonzero(rows < 0).tolist():
            rows[place] = self._row_of_key.get(wanted[place].casefold(), -1)
        return rows

    def subset(self, words: Iterable[str]) -> WordVectors:
        """Return the vectors of some words only.

        Parameters
        ----------
        words : iterable of str
            The words to keep, looked up as :meth:`rows` does; those that are missing are passed over.

        Returns
        -------
        WordVectors
            The rows found, in their present order.
        """
        rows = np.unique(self.rows(words))
        rows = rows[rows >= 0]
        return WordVectors([self.words[row] for row in rows], self.vectors[rows], self.__dict__["_provenance"])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the words and vectors to an ``.npz`` file that :func:`load_vectors` reads.

        An interrupted save leaves an older file of that name whole.

        Parameters
        ----------
        path : str or path-like
            Name of the file, used as it is.
        """
        target = Path(path)
        temporary = target.with_name(f"{target.name}.{uuid.uuid4().hex}.tmp")
        try:
            with temporary.open("xb") as file:
                np.savez(file, words=np.array(self.words, dtype=np.str_), vectors=self.vectors)
                file.flush()
                os.fsync(file.fileno())
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def _checked_array(vectors: ArrayLike) -> NDArray[np.float32]:
    """Return finite float32 values that nobody else can change."""
    try:
        array = np.asarray(vectors)
        # an array that owns its memory and cannot be written to is as good as ours: a large file is not doubled
        is_private = isinstance(array, np.ndarray) and not array.flags.writeable and array.base is None
        with np.errstate(over="ignore"):
            array = np.array(array, dtype=np.float32, order="C", copy=None if is_private else True)
    except (TypeError, ValueError) as error:
        raise InvalidInputError(
            f"vectors must be rows of numbers, all of one length. Got an error: {error}."
        ) from error
    if array.size and not (np.isfinite(array.min()) and np.isfinite(array.max())):
        raise InvalidInputError("vectors must be finite float32 numbers. Got NaN or infinity. Leave those words out.")
    array.setflags(write=False)
    return array


def load_vectors(
    source: Any,
    *,
    words: Collection[str] | None = None,
    format: str = "auto",
    trusted: bool = False,
    progress: bool | None = None,
) -> WordVectors:
    r"""Load word vectors from a file or from gensim.

    Parameters
    ----------
    source : str, path-like, gensim KeyedVectors or a gensim model with ``wv``
        The file, gzipped or not, or the object.
    words : collection of str, default=None
        Keep only these words while reading, so that a large file needs little memory: each as it is or, where the
        file does not have it, the first word that differs in case only. Entries of other words are not checked. By
        default all are kept.
    format : {"auto", "word2vec-text", "word2vec-binary", "glove", "fasttext", "npz", "keyedvectors"}, default="auto"
        What the file is: text with a header of two numbers (``"fasttext"``, the ``.vec`` files, is the same), the
        binary format of word2vec, text without header, an archive with arrays ``words`` and ``vectors``, or what
        gensim's ``save`` wrote. By default, what its content shows.
    trusted : bool, default=False
        Read a ``"keyedvectors"`` file, which is a pickle and may run any code. Only for files of your own.
    progress : bool, default=None
        Show a progress bar on the standard error stream; by default, for files over 50 MB if that is a terminal.

    Returns
    -------
    WordVectors
        The words in the order of the file. ``provenance`` counts what was read, kept and left out.

    Raises
    ------
    VectorFileError
        If the file is missing, damaged, truncated, of an unknown format or mostly malformed, or if it has none of
        ``words``.
    InvalidInputError
        If an argument cannot be used.

    Warns
    -----
    VectorWarning
        Once, if some entries were left out: malformed, repeated, not UTF-8, all zeros, not finite. Says how many and
        where the first is.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "vectors.txt"
    >>> _ = path.write_text("boat 1 0\nship 0.8 0.6\nthe 0.1 0.1\n")
    >>> load_vectors(path, words=["Boat", "ship"]).words
    ('boat', 'ship')
    """
    check_choice("format", format, ("auto", *FORMATS))
    needed = None if words is None else _checked_words(words)
    if needed is not None and not needed:
        raise InvalidInputError("words must hold at least one word. Got none. Leave it out to keep all words.")
    if isinstance(source, str | os.PathLike):
        path = Path(source)
        name, reading = path.name, read_file(path, needed, format, trusted=trusted, progress=progress)
    elif hasattr(getattr(source, "wv", source), "index_to_key"):
        name, reading = type(source).__name__, read_keyed_vectors(source, needed)
    else:
        raise InvalidInputError(
            f"source must be a path or gensim's KeyedVectors. Got {type(source).__name__} instead. "
            "Make a WordVectors of arrays."
        )
    if reading.problems:
        warnings.warn(
            f"{name}: some entries cannot be used, and were left out. {reading.summary}. "
            f"{len(reading.words):,} words of {reading.n_read:,} read were kept. Mend the file if that is too few.",
            VectorWarning,
            stacklevel=2,
        )
    origin = {"source": name, "format": reading.format, "n_words_read": reading.n_read, "problems": reading.problems}
    return WordVectors(reading.words, reading.vectors, origin)


def stem_vectors(
    terms: Sequence[str], forms: Mapping[str, Mapping[str, int]], vectors: WordVectors
) -> NDArray[np.float64]:
    """Return the vectors of terms, which may be stems, from the vectors of the words that they were made of.

    A term's vector is the mean of its forms' vectors, weighted by their frequencies; forms without vector do not
    count. If none has one, the vector of the term itself is taken.

    Parameters
    ----------
    terms : sequence of str
        The terms.
    forms : mapping of str to mapping of str to int
        For a term, the words that became it in the collection, with their frequencies. May lack terms.
    vectors : WordVectors
        The vectors of words.

    Returns
    -------
    ndarray of shape (n_terms, n_dimensions)
        The vectors, float64; a row of zeros where there is none. The order of ``forms`` does not matter, to the last
        bit.

    Raises
    ------
    InvalidInputError
        If a frequency is not a positive finite number.

    Examples
    --------
    >>> vectors = WordVectors(["boat", "boats"], [[1, 0], [0, 1]])
    >>> stem_vectors(["boat", "ship"], {"boat": {"boat": 3, "boats": 1}}, vectors).tolist()
    [[0.75, 0.25], [0.0, 0.0]]
    """
    nothing: Mapping[str, int] = {}
    of_each = [forms.get(term, nothing) for term in terms]
    names = [name for own in of_each for name in (own if len(own) == 1 else sorted(own))]
    owners = np.repeat(np.arange(len(terms)), list(map(len, of_each)))
    in_order = zip(owners.tolist(), names, strict=True)
    weights = np.array([of_each[owner][name] for owner, name in in_order], dtype=np.float64)
    if not (np.isfinite(weights) & (weights > 0)).all():
        raise InvalidInputError(
            f"frequencies of forms must be positive numbers. Got {weights.min()} among them. Leave such forms out."
        )
    rows = vectors.rows(names)
    found = rows >= 0
    owners, weights, rows = owners[found], weights[found], rows[found]

    bare = np.setdiff1d(np.arange(len(terms)), owners)
    own_rows = vectors.rows(terms[owner] for owner in bare)
    bare, own_rows = bare[own_rows >= 0], own_rows[own_rows >= 0]
    owners = np.concatenate([owners, bare])
    order = np.argsort(owners, kind="stable")
    owners = owners[order]
    weights = np.concatenate([weights, np.ones(len(bare))])[order]
    rows = np.concatenate([rows, own_rows])[order]

    weights /= np.bincount(owners, weights, minlength=len(terms))[owners]
    used, columns = np.unique(rows, return_inverse=True)  # the product makes a float64 copy: of no more than it needs
    starts = np.searchsorted(owners, np.arange(len(terms) + 1))
    means = csr_matrix((weights, columns, starts), shape=(len(terms), len(used)))
    result: NDArray[np.float64] = means @ vectors.vectors[used].astype(np.float64)
    return result
