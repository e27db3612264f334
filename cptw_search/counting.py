"""Documents to term counts: the only place where texts become numbers.

`read_collection` learns the words of a collection (fit); `WordLookup` finds them again (transform). Both go over the
text once: each distinct surface word is stemmed once, everything after that is array work.
"""

from __future__ import annotations

import threading
from array import array
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.analysis import TextAnalyzer
from cptw_search.errors import InvalidInputError

__all__ = ["Collection", "Counts", "Document", "TermNames", "Tokens", "WordLookup", "read_collection"]

Document = str | Mapping[str, object]

NO_TERM = -1  # the id of a stop word


class Counts(NamedTuple):
    """Term counts of some documents over a vocabulary and the unknown words met in them.

    Attributes
    ----------
    matrix : csr_matrix
        Documents by terms, float64; the unknown words' columns stand behind the vocabulary's.
    unknown : list of str
        The terms of those last columns.
    """

    matrix: sp.csr_matrix
    unknown: list[str]


@dataclass
class Tokens:
    """The tokens of many texts, one behind the other.

    Parameters
    ----------
    ids : ndarray of int32
        Ids of words or terms; -1 stands for a stop word.
    text_ends : ndarray of int64
        Where each text ends, counted in tokens.
    text_weights : ndarray of float64
        The weight of each text's field.
    document_ends : ndarray of int64
        Where each document ends, counted in texts.
    """

    ids: npt.NDArray[np.int32]
    text_ends: npt.NDArray[np.int64]
    text_weights: npt.NDArray[np.float64]
    document_ends: npt.NDArray[np.int64]


@dataclass(frozen=True)
class Collection:
    """What reading a collection teaches.

    Parameters
    ----------
    terms : list of str
        Distinct terms, sorted.
    counts : csr_matrix
        Documents by terms, float64, field weights applied.
    forms : dict
        For each term, its surface words and how often each occurs.
    tokens : Tokens
        The term ids in the order of the texts.
    """

    terms: list[str]
    counts: sp.csr_matrix
    forms: dict[str, dict[str, int]]
    tokens: Tokens

    def sentences(self) -> list[list[str]]:
        """Give the terms of every text in order, for training vectors.

        Returns
        -------
        list of list of str
            One list a text; a document with two fields has two.
        """
        texts = np.split(self.tokens.ids, self.tokens.text_ends[:-1])
        return [[self.terms[k] for k in text if k != NO_TERM] for text in texts]


def _parts(document: Document, field_weights: Mapping[str, float], position: int) -> list[tuple[str, float]]:
    """Give the texts of a document with the weights of their fields."""
    if isinstance(document, str):
        return [(document, 1.0)]
    if not isinstance(document, Mapping):
        raise InvalidInputError(
            f"Document {position} must be a string or a mapping of fields. Got {type(document).__name__} instead."
        )
    parts = []
    for name, weight in field_weights.items():
        text = document.get(name)
        if text is None:
            continue
        if not isinstance(text, str):
            raise InvalidInputError(
                f"Field {name!r} of document {position} must be a string. Got {type(text).__name__} instead."
            )
        parts.append((text, weight))
    if not parts:
        fields = ", ".join(map(repr, field_weights))
        raise InvalidInputError(
            f"Document {position} must have at least one of the fields {fields}. Got {sorted(map(str, document))} instead."
        )
    return parts


def _read(
    documents: Iterable[Document], analyzer: TextAnalyzer, word_ids: dict[str, int], field_weights: Mapping[str, float]
) -> Tokens:
    if isinstance(documents, (str, bytes, Mapping)):
        raise InvalidInputError(
            "Documents must come as a list or another iterable of texts. "
            f"Got one {type(documents).__name__} instead: put it into a list."
        )
    ids, text_ends, text_weights, document_ends = array("i"), array("q"), array("d"), array("q")
    lookup = word_ids.__getitem__
    for position, document in enumerate(documents):
        for text, weight in _parts(document, field_weights, position):
            ids.extend(map(lookup, analyzer.words(text)))
            text_ends.append(len(ids))
            text_weights.append(weight)
        document_ends.append(len(text_ends))
    return Tokens(
        np.frombuffer(ids, dtype=np.int32),
        np.frombuffer(text_ends, dtype=np.int64),
        np.frombuffer(text_weights, dtype=np.float64),
        np.frombuffer(document_ends, dtype=np.int64),
    )


def _count(tokens: Tokens, n_columns: int) -> sp.csr_matrix:
    """Sum the tokens of each document; stop words (negative ids) are left out."""
    text_lengths = np.diff(tokens.text_ends, prepend=0)
    data = np.repeat(tokens.text_weights, text_lengths)
    ends = np.concatenate(([0], tokens.text_ends))[np.concatenate(([0], tokens.document_ends))]
    kept = tokens.ids != NO_TERM
    indptr = np.concatenate(([0], np.cumsum(kept)))[ends]
    matrix = sp.csr_matrix((data[kept], tokens.ids[kept], indptr), shape=(len(tokens.document_ends), n_columns))
    matrix.sum_duplicates()
    return matrix


class TermNames:
    """The term of each column: the vocabulary first, then the unknown words.

    Parameters
    ----------
    vocabulary : sequence of str
        The model's terms.
    unknown : sequence of str
        Words that it does not know.
    """

    def __init__(self, vocabulary: Sequence[str], unknown: Sequence[str]) -> None:
        self._vocabulary = vocabulary
        self._unknown = unknown

    def __getitem__(self, position: int) -> str:
        n_terms = len(self._vocabulary)
        return self._vocabulary[position] if position < n_terms else self._unknown[position - n_terms]


class _NewWords(dict[str, int]):
    """Gives every new word the next id."""

    def __missing__(self, word: str) -> int:
        self[word] = word_id = len(self)
        return word_id


def read_collection(
    documents: Iterable[Document], analyzer: TextAnalyzer, field_weights: Mapping[str, float], *, min_df: int = 1
) -> Collection:
    """Read a whole collection once.

    Parameters
    ----------
    documents : iterable of str or mapping
        Texts, or mappings with the fields of ``field_weights``.
    analyzer : TextAnalyzer
        Text to terms.
    field_weights : mapping of str to float
        What an occurrence in each field counts.
    min_df : int, default 1
        Terms in fewer documents are left out.

    Returns
    -------
    Collection
        Terms, counts, surface forms and the order of the terms.

    Raises
    ------
    InvalidInputError
        If a document is no text and no mapping with one of the fields.

    Examples
    --------
    >>> from cptw_search.analysis import get_analyzer
    >>> collection = read_collection(["sailing boats", "the boat"], get_analyzer("english"), {"text": 1.0})
    >>> collection.terms, collection.counts.toarray().tolist()
    (['boat', 'sail'], [[1.0, 1.0], [1.0, 0.0]])
    >>> collection.forms["boat"]
    {'boats': 1, 'boat': 1}
    """
    words = _NewWords()
    tokens = _read(documents, analyzer, words, field_weights)
    word_terms = [analyzer.term(word) for word in words]
    terms = sorted({term for term in word_terms if term is not None})
    positions = {term: position for position, term in enumerate(terms)}
    term_of_word = np.array([positions.get(term, NO_TERM) for term in word_terms], dtype=np.int32)  # type: ignore[arg-type]
    word_counts = np.bincount(tokens.ids, minlength=len(words))
    tokens.ids = term_of_word[tokens.ids]
    counts = _count(tokens, len(terms))

    if min_df > 1:
        kept = np.flatnonzero(np.bincount(counts.indices, minlength=len(terms)) >= min_df)
        new_position = np.full(len(terms) + 1, NO_TERM, dtype=np.int32)  # the last one: what NO_TERM points at
        new_position[kept] = np.arange(len(kept))
        tokens.ids = new_position[tokens.ids]
        terms = [terms[k] for k in kept]
        counts = counts[:, kept]

    forms: dict[str, dict[str, int]] = {term: {} for term in terms}
    for word, term, count in zip(words, word_terms, word_counts.tolist(), strict=True):
        if term in forms:
            forms[term][word] = count
    return Collection(terms, counts, forms, tokens)


class WordLookup(dict[str, int]):
    """Surface words to the ids of their terms, remembered over calls.

    A word that is not in the vocabulary gets an id behind it, for an unknown word has to be findable, too. Several
    threads may share one lookup.

    Parameters
    ----------
    vocabulary : sequence of str
        The known terms; a term's position is its id.
    analyzer : TextAnalyzer
        Text to terms.
    """

    def __init__(self, vocabulary: Sequence[str], analyzer: TextAnalyzer) -> None:
        super().__init__()
        self.n_terms = len(vocabulary)
        self._analyzer = analyzer
        self._term_ids = {term: position for position, term in enumerate(vocabulary)}
        self._unknown: list[str] = []
        self._lock = threading.Lock()

    def __missing__(self, word: str) -> int:
        term = self._analyzer.term(word)
        with self._lock:
            if term is None:
                term_id = NO_TERM
            elif (known := self._term_ids.get(term)) is not None:
                term_id = known
            else:
                term_id = self._term_ids[term] = self.n_terms + len(self._unknown)
                self._unknown.append(term)
            self[word] = term_id
        return term_id

    def count(self, documents: Iterable[Document], field_weights: Mapping[str, float]) -> Counts:
        """Count the terms of some documents.

        Parameters
        ----------
        documents : iterable of str or mapping
            Texts, or mappings with the fields of ``field_weights``.
        field_weights : mapping of str to float
            What an occurrence in each field counts.

        Returns
        -------
        Counts
            The counts, unknown words included.

        Raises
        ------
        InvalidInputError
            If a document is no text and no mapping with one of the fields.

        Examples
        --------
        >>> from cptw_search.analysis import get_analyzer
        >>> lookup = WordLookup(["boat", "sea"], get_analyzer("english"))
        >>> counts = lookup.count(["Boats and yachts at sea", "a boat"], {"text": 1.0})
        >>> counts.matrix.toarray().tolist(), counts.unknown
        ([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0]], ['yacht'])
        """
        if isinstance(documents, (list, tuple)) and len(documents) == 1:
            return self._count_one(documents[0], field_weights)
        tokens = _read(documents, self._analyzer, self, field_weights)
        if int(tokens.ids.max(initial=NO_TERM)) < self.n_terms:
            return Counts(_count(tokens, self.n_terms), [])
        # The unknown words of these documents alone, sorted: what earlier calls met must not show.
        unknown_ids = np.unique(tokens.ids[tokens.ids >= self.n_terms])
        unknown = [self._unknown[k - self.n_terms] for k in unknown_ids]
        order = np.array(sorted(range(len(unknown)), key=unknown.__getitem__), dtype=np.int64)
        new_ids = np.empty(len(unknown), dtype=np.int32)
        new_ids[order] = np.arange(self.n_terms, self.n_terms + len(unknown), dtype=np.int32)
        is_unknown = tokens.ids >= self.n_terms
        ids = tokens.ids.copy()
        ids[is_unknown] = new_ids[np.searchsorted(unknown_ids, tokens.ids[is_unknown])]
        tokens.ids = ids
        return Counts(_count(tokens, self.n_terms + len(unknown)), [unknown[k] for k in order])

    def _count_one(self, document: Document, field_weights: Mapping[str, float]) -> Counts:
        """Do what `count` does for a single document, such as a query: a few words are counted before arrays are made."""
        sums: dict[int, float] = {}
        for text, weight in _parts(document, field_weights, 0):
            for term_id in map(self.__getitem__, self._analyzer.words(text)):
                sums[term_id] = sums.get(term_id, 0.0) + weight
        sums.pop(NO_TERM, None)
        known = sorted(term_id for term_id in sums if term_id < self.n_terms)
        unknown = sorted((self._unknown[k - self.n_terms], k) for k in sums if k >= self.n_terms)
        columns = [*known, *range(self.n_terms, self.n_terms + len(unknown))]
        data = [sums[term_id] for term_id in (*known, *(term_id for _, term_id in unknown))]
        matrix = sp.csr_matrix(
            (np.array(data), np.array(columns, dtype=np.int32), np.array([0, len(columns)], dtype=np.int32)),
            shape=(1, self.n_terms + len(unknown)),
        )
        return Counts(matrix, [term for term, _ in unknown])
