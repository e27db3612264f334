"""The paper's protocol: who trains, who validates, who is tested, and what each of them may know.

A data set is counted once. Every fit then sees the rows of its own part alone: the vocabulary is what occurs in that
part, document frequencies are that part's, and words that occur elsewhere only are dropped. So a fit on the training
part gives the same whatever the test part holds, and a test proves it.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.analysis import get_analyzer
from cptw_search.counting import read_collection
from cptw_search.embeddings import WordVectors, stem_vectors
from cptw_search.errors import InvalidInputError, require_extra
from cptw_search.evaluation.datasets import LabelledTexts
from cptw_search.evaluation.statistics import LETTERS_ONLY, MIN_DF

__all__ = ["KS", "VALIDATION_SHARE", "CountedTexts", "Round", "Split", "count_texts", "make_splits"]

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.intp]

KS = (1, 2, 3, 5, 7, 9, 11, 13, 15, 17, 19)
"""Numbers of neighbours to choose from: those of the authors' code, between the paper's 1 and 19."""

VALIDATION_SHARE = 0.3
"""How much of the training part validates parameters, in each of the rounds."""


@dataclass(frozen=True)
class Split:
    """One division of a data set.

    Parameters
    ----------
    name : str
        ``"official"``, or ``"fold 1"`` and so on.
    train : ndarray of int
        Documents to learn from, in a random order.
    test : ndarray of int
        Documents to be classified, once.
    rounds : tuple of (ndarray, ndarray)
        Divisions of ``train`` for choosing parameters: to learn from, and to validate with.
    """

    name: str
    train: IntArray
    test: IntArray
    rounds: tuple[tuple[IntArray, IntArray], ...]


def make_splits(
    codes: IntArray,
    is_test: npt.NDArray[np.bool_] | None,
    *,
    n_folds: int = 5,
    n_rounds: int = 3,
    seed: int = 0,
) -> list[Split]:
    """Divide a data set as the paper does: the official split, or folds; in each, rounds of 70 to 30 for validation.

    Parameters
    ----------
    codes : ndarray of int
        The documents' classes; parts keep their shares.
    is_test : ndarray of bool or None
        The official split, if there is one.
    n_folds : int, default 5
        Folds where there is no official split.
    n_rounds : int, default 3
        Rounds of validation within each training part.
    seed : int, default 0
        Of all divisions.

    Returns
    -------
    list of Split
        One, or one a fold.

    Raises
    ------
    InvalidInputError
        If a class has too few documents to be divided.

    Examples
    --------
    >>> codes = np.array([0, 1] * 10)
    >>> [len(split.test) for split in make_splits(codes, None)]
    [4, 4, 4, 4, 4]
    >>> train, validate = make_splits(codes, None)[0].rounds[0]
    >>> len(train), len(validate)
    (11, 5)
    """
    selection = require_extra("sklearn.model_selection", "evaluation", "The protocol of evaluation")
    smallest = int(np.bincount(codes).min())
    if is_test is None and smallest < n_folds:
        raise InvalidInputError(
            f"Every class must have at least {n_folds} documents to be divided into {n_folds} folds. Got one with "
            f"{smallest}: leave that class out, or give an official split."
        )
    if is_test is not None:
        outer = [("official", np.flatnonzero(~is_test), np.flatnonzero(is_test))]
    else:
        folds = selection.StratifiedKFold(n_folds, shuffle=True, random_state=seed).split(codes, codes)
        outer = [(f"fold {number}", train, test) for number, (train, test) in enumerate(folds, start=1)]
    splits = []
    for number, (name, train, test) in enumerate(outer):
        # Files are often sorted by class, and of neighbours that are equally near the first ones vote: with short texts
        # that alone would decide. A random order favours no class.
        train = np.random.default_rng(seed + number).permutation(train)
        counts = np.bincount(codes[train])
        if counts[counts > 0].min() < 2:
            raise InvalidInputError(
                f"Every class must have at least 2 documents in the training part ({name}): one to learn from and one to "
                "validate with. Got one with a single document: leave that class out."
            )
        shuffle = selection.StratifiedShuffleSplit(n_rounds, test_size=VALIDATION_SHARE, random_state=seed + number)
        rounds = tuple((train[a], train[b]) for a, b in shuffle.split(train, codes[train]))
        splits.append(Split(name, train, test, rounds))
    return splits


@dataclass(frozen=True)
class Round:
    """What one fit sees: the counts of its own documents, and those of the documents to be classified by it.

    Parameters
    ----------
    train : csr_matrix of shape (n_train, n_terms)
        Counts of the documents to learn from.
    queries : csr_matrix of shape (n_queries, n_terms)
        Counts of the others, over the vocabulary of ``train``.
    columns : ndarray of int
        The vocabulary: columns of the data set's matrix.
    data : CountedTexts
        The data set, for what does not depend on its texts: the vectors of words.
    """

    train: sp.csr_matrix
    queries: sp.csr_matrix
    columns: IntArray
    data: CountedTexts

    @cached_property
    def df(self) -> FloatArray:
        """Document frequencies in the training documents."""
        return np.bincount(self.train.indices, minlength=self.train.shape[1]).astype(np.float64)

    @property
    def n_docs(self) -> int:
        """Training documents."""
        return int(self.train.shape[0])

    @property
    def vectors(self) -> npt.NDArray[np.float32]:
        """One vector a term of the vocabulary; zeros where there is none."""
        return self.data.vectors[self.columns]


@dataclass(frozen=True)
class CountedTexts:
    """A data set as numbers.

    Parameters
    ----------
    name : str
        What it is called.
    counts : csr_matrix
        Documents by words, of all documents.
    terms : list of str
        The words.
    codes : ndarray of int
        Each document's class.
    labels : tuple of str
        The classes.
    is_test : ndarray of bool or None
        The official split.
    min_df : int
        In how many of its documents a part must have a word to know it.
    vectors : ndarray of float32
        One vector a word; zeros where there is none.
    copy_of : ndarray of int
        For each document, the first one with the same text.
    content : str
        A hash of texts, labels, split, preparation and vectors: what results depend on.
    """

    name: str
    counts: sp.csr_matrix
    terms: list[str]
    codes: IntArray
    labels: tuple[str, ...]
    is_test: npt.NDArray[np.bool_] | None
    min_df: int
    vectors: npt.NDArray[np.float32]
    copy_of: IntArray
    content: str

    def round(self, train: IntArray, queries: IntArray) -> Round:
        """Give what a fit on some documents sees.

        Parameters
        ----------
        train : ndarray of int
            The documents to learn from.
        queries : ndarray of int
            The documents to be classified.

        Returns
        -------
        Round
            Counts over the words that ``train`` has.

        Raises
        ------
        InvalidInputError
            If it has none.
        """
        rows = self.counts[train]
        df = np.bincount(rows.indices, minlength=rows.shape[1])
        columns = np.flatnonzero(df >= self.min_df)
        if not len(columns):
            raise InvalidInputError(
                f"{self.name}: the training documents must have at least one word that is counted (in {self.min_df} of them). "
                f"Got {len(train)} documents without one."
            )
        return Round(rows[:, columns], self.counts[queries][:, columns], columns, self)

    def has_copy_in(self, queries: IntArray, train: IntArray) -> npt.NDArray[np.bool_]:
        """Tell which documents have an exact copy among others.

        Parameters
        ----------
        queries : ndarray of int
            The documents.
        train : ndarray of int
            The others.

        Returns
        -------
        ndarray of bool
            One a document of ``queries``.
        """
        return np.isin(self.copy_of[queries], self.copy_of[train])


def count_texts(
    data: LabelledTexts,
    vectors: WordVectors | None,
    *,
    stop_words: Sequence[str] | None = None,
    letters_only: bool | None = None,
    min_df: int | None = None,
) -> CountedTexts:
    """Count a data set as the paper prepares it: lowercase, letters and digits, the SMART stop words left out.

    Parameters
    ----------
    data : LabelledTexts
        The texts.
    vectors : WordVectors or None
        Word vectors; without them only methods that need none can be run.
    stop_words : sequence of str, optional
        Stop words in place of the SMART list; none at all with ``()``.
    letters_only : bool, optional
        Whether words with digits in them are left out; by default for ``20news``, whose vocabulary in the paper has
        none.
    min_df : int, optional
        In how many documents of its part a word has to be; by default 5 for ``20news``, for the same reason, and 1 for
        others.

    Returns
    -------
    CountedTexts
        The counts.
    """
    analyzer = get_analyzer("paper", stop_words=stop_words)
    only_letters = data.name in LETTERS_ONLY if letters_only is None else letters_only
    least = MIN_DF.get(data.name, 1) if min_df is None else min_df
    collection = read_collection(data.texts, analyzer, {"text": 1.0})
    kept = [k for k, term in enumerate(collection.terms) if not only_letters or term.isalpha()]
    terms = [collection.terms[k] for k in kept]
    found = np.zeros((len(terms), 1), dtype=np.float32)
    if vectors is not None:
        found = stem_vectors(terms, {term: collection.forms[term] for term in terms}, vectors).astype(np.float32)
    classes, codes = np.unique(np.array(data.labels, dtype=object), return_inverse=True)
    first: dict[str, int] = {}
    copy_of = np.array([first.setdefault(text, number) for number, text in enumerate(data.texts)], dtype=np.intp)
    used = ",".join(sorted(getattr(analyzer, "stop_words", ())))
    facts = (data.content_hash(), used, only_letters, least, None if vectors is None else vectors.sha256)
    return CountedTexts(
        data.name,
        collection.counts[:, kept],
        terms,
        codes.astype(np.intp),
        tuple(classes),
        data.is_test,
        least,
        found,
        copy_of,
        hashlib.sha256(repr(facts).encode()).hexdigest(),
    )
