"""`Cptw`: the model. It learns from texts, represents texts, and lives in a directory."""

from __future__ import annotations

import copy
import functools
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.analysis import TextAnalyzer, get_analyzer
from cptw_search.bm25 import bm25_document_weights, bm25_idf
from cptw_search.counting import Collection, Counts, Document, WordLookup, read_collection
from cptw_search.errors import CorruptedError, InvalidInputError, check_choice
from cptw_search.estimator import Estimator
from cptw_search.model_directory import compute_model_id, load_model, save_model
from cptw_search.placement import PLACEMENTS, place, row_lengths
from cptw_search.propagation import (
    NORMALIZATIONS,
    WEIGHTINGS,
    Propagation,
    column_scale,
    propagation,
    propagation_of_columns,
)
from cptw_search.row_products import check_entries
from cptw_search.similarity import check_tau, raise_threshold, term_similarity
from cptw_search.term_vectors import VectorSource, term_vectors

if TYPE_CHECKING:
    from sklearn.utils import Tags

__all__ = ["Cptw", "Neighbour", "WeightedTerms"]

DEFAULT_FIELD_WEIGHTS = {"title": 1.0, "text": 1.0}
_MAX_REMEMBERED_WORDS = 1_000_000


class WeightedTerms(NamedTuple):
    """Documents or queries as weighted terms.

    Attributes
    ----------
    matrix : csr_matrix
        One row a text; the vocabulary's columns first, then those of the unknown words.
    unknown : list of str
        The terms of the last columns.
    """

    matrix: sp.csr_matrix
    unknown: list[str]


class Neighbour(NamedTuple):
    """A term of a neighbourhood.

    Attributes
    ----------
    term : str
        The neighbour.
    cosine : float
        Its similarity.
    """

    term: str
    cosine: float


class Cptw(Estimator):
    """Contextually propagated term weights: a bag of words that knows which words are close.

    Parameters
    ----------
    vectors : WordVectors, str, Path, list of these, or None, default "lsi"
        Where the similarity of terms comes from: word vectors, the path of a file of them (only the words that occur
        are read), or vectors made from the collection itself: ``"lsi"``, ``"word2vec"``, ``"fasttext"``. A list
        combines several: the cosine of two terms that are in all of them is the mean of their cosines. None: no
        neighbours at all.
    tau : float or "adaptive", default 0.5
        The least cosine of two terms that count as neighbours. It belongs to the vectors: never carry it over from
        one set of vectors to another. ``"adaptive"`` gives each term a threshold of its own.
    normalization : {"l2", "sum", "none"}, default "l2"
        How the columns of the similarity matrix are normalised.
    weighting : {"tf", "idf-equation", "idf-released", "idf-weighted", "idf-input", "bm25"}, default "tf"
        How term and document frequencies enter; see ``docs/variants.md``.
    analyzer : str, Analyzer or callable, default "english"
        Text to terms; see `cptw_search.analysis.get_analyzer`.
    row_norm : {"l2", "none"}, default "l2"
        Rows of unit length, or the bare x M. With ``weighting="bm25"`` rows are always bare.
    unknown : {"keep", "drop"}, default "keep"
        What becomes of words that `fit` did not see: kept as features of their own, or dropped.
    min_df : int, default 1
        Terms in fewer documents than this are left out of the vocabulary, and so become unknown words.
    max_neighbours : int, optional
        Cap of neighbours a term.
    n_dimensions : int, default 200
        Dimensions of vectors that are made from the collection.
    k1 : float, default 1.2
        BM25's saturation.
    b : float, default 0.75
        How much the length of a document matters in BM25, 0 to 1.
    field_weights : mapping of str to float, optional
        The fields of documents that come as mappings, and what an occurrence in each counts; by default ``title`` and
        ``text`` with 1 each.

    Attributes
    ----------
    vocabulary_ : list of str
        The terms, sorted.
    df_ : ndarray of shape (n_terms,)
        In how many documents each term occurs.
    n_docs_ : int
        How many documents were read.
    average_length_ : float
        Their mean number of counted words.
    similarity_ : csr_matrix of shape (n_terms, n_terms)
        S: the cosines that reach tau, ones on the diagonal.
    vector_sources_ : list of dict
        Where the vectors came from.

    See Also
    --------
    cptw_search.embeddings.load_vectors : Read word vectors from a file.

    References
    ----------
    C. Hansen, C. Hansen, S. Alstrup, J. G. Simonsen, C. Lioma, "Contextually Propagated Term Weights for Document
    Representation", SIGIR 2019.

    Examples
    --------
    >>> from cptw_search import Cptw, WordVectors
    >>> vectors = WordVectors(["boat", "ship", "cat"], [[1, 0], [4, 3], [-1, 1]])
    >>> model = Cptw(vectors=vectors, tau=0.5).fit(["a boat", "the ship", "a cat"])
    >>> rows = model.transform(["boat", "ship", "cat"])
    >>> (rows @ rows.T).toarray().round(2)  # "boat" and "ship" share no word
    array([[1.  , 0.98, 0.  ],
           [0.98, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    >>> model.neighbours("boat")
    [Neighbour(term='ship', cosine=0.8)]
    """

    def __init__(
        self,
        *,
        vectors: VectorSource | Sequence[VectorSource] | None = "lsi",
        tau: float | str = 0.5,
        normalization: str = "l2",
        weighting: str = "tf",
        analyzer: str | TextAnalyzer | Callable[[str], Iterable[str]] = "english",
        row_norm: str = "l2",
        unknown: str = "keep",
        min_df: int = 1,
        max_neighbours: int | None = None,
        n_dimensions: int = 200,
        k1: float = 1.2,
        b: float = 0.75,
        field_weights: Mapping[str, float] | None = None,
    ) -> None:
        self.vectors = vectors
        self.tau = tau
        self.normalization = normalization
        self.weighting = weighting
        self.analyzer = analyzer
        self.row_norm = row_norm
        self.unknown = unknown
        self.min_df = min_df
        self.max_neighbours = max_neighbours
        self.n_dimensions = n_dimensions
        self.k1 = k1
        self.b = b
        self.field_weights = field_weights

    # Learning -----------------------------------------------------------------------------------------------------

    def fit(self, documents: Iterable[Document], y: object = None) -> Cptw:
        """Learn vocabulary, document frequencies and similarities.

        Parameters
        ----------
        documents : iterable of str or mapping
            Texts, or mappings with the fields of ``field_weights``; read once.
        y : object, optional
            Ignored; scikit-learn's pipelines pass it.

        Returns
        -------
        Cptw
            Itself.

        Raises
        ------
        InvalidInputError
            If a parameter or a document cannot be used, or no word is left to count.
        """
        self._check_parameters()
        analyzer = get_analyzer(self.analyzer)
        collection = read_collection(documents, analyzer, self._field_weights(), min_df=self.min_df)
        if not collection.terms:
            raise InvalidInputError(
                f"fit needs at least one document with a word that is counted (min_df={self.min_df}). Got "
                f"{collection.counts.shape[0]} documents without one."
            )
        return self._learn(collection, analyzer)

    def _learn(self, collection: Collection, analyzer: TextAnalyzer) -> Cptw:
        n_terms = len(collection.terms)
        vectors, sources = term_vectors(self.vectors, collection, n_dimensions=self.n_dimensions)
        self.vocabulary_: list[str] = collection.terms
        self.df_ = np.bincount(collection.counts.indices, minlength=n_terms).astype(np.int64)
        self.n_docs_ = int(collection.counts.shape[0])
        self.average_length_ = float(collection.counts.sum() / self.n_docs_)
        self.similarity_ = term_similarity(vectors, self.tau, max_neighbours=self.max_neighbours)
        self.vector_sources_ = sources
        self._settle(analyzer)
        return self

    def _settle(self, analyzer: TextAnalyzer, factors: npt.NDArray[np.float64] | None = None) -> None:
        """Fix what follows from parameters and learned state: later set_params must not change a fitted model.

        ``factors`` are those of the columns where they are known, as in a saved model: then S is not read.
        """
        self._fitted_with = self.get_params()
        del self._fitted_with["vectors"], self._fitted_with["analyzer"]  # known as vector_sources_ and by to_dict
        self._fitted_with["field_weights"] = {name: float(weight) for name, weight in self._field_weights().items()}
        self._analyzer = analyzer
        df = self.df_.astype(np.float64)
        if factors is None:
            alpha = column_scale(self.similarity_, self.normalization)
            self._operator = propagation(self.similarity_, self.weighting, alpha, df, self.n_docs_)
        else:
            self._operator = propagation_of_columns(self.similarity_, self.weighting, factors, df, self.n_docs_)
        for cached in ("model_id", "_nonnegative_operator", "_term_positions", "_lookup"):
            self.__dict__.pop(cached, None)

    def partial_fit(self, documents: Iterable[Document], y: object = None) -> Cptw:
        """Count more documents into the document frequencies.

        Vocabulary and similarities stay: words that `fit` did not see stay unknown words. Unlike scikit-learn's
        method of that name, this one leaves the model as it is and returns a *new* one with a new id, for indices
        belong to the model that they were built with.

        Parameters
        ----------
        documents : iterable of str or mapping
            As for `fit`.
        y : object, optional
            Ignored.

        Returns
        -------
        Cptw
            The new model.

        Raises
        ------
        InvalidInputError
            If a document cannot be used.
        """
        if not self.__sklearn_is_fitted__():
            return copy.copy(self).fit(documents)
        self._operator.checked_matrix  # noqa: B018 - all of S is needed here: an S that was only opened is checked first
        counts = self._count_all(documents).matrix
        known = counts[:, : len(self.vocabulary_)]
        new = copy.copy(self)
        new.n_docs_ = self.n_docs_ + int(counts.shape[0])
        new.df_ = self.df_ + np.bincount(known.indices, minlength=len(self.vocabulary_))
        new.average_length_ = float((self.average_length_ * self.n_docs_ + counts.sum()) / max(new.n_docs_, 1))
        new._settle(self._analyzer)
        return new

    def with_tau(self, tau: float) -> Cptw:
        """Make a model with a higher threshold, without reading the texts or vectors again.

        Parameters
        ----------
        tau : float
            At least the tau that this model was fitted with.

        Returns
        -------
        Cptw
            What fitting anew with that tau would give.

        Raises
        ------
        InvalidInputError
            If ``tau`` is lower, or this model's threshold is adaptive or capped.
        """
        self._check_fitted()
        check_tau(tau, None)
        fitted_tau, cap = self._fitted_with["tau"], self._fitted_with["max_neighbours"]
        if str(tau) == "adaptive" or fitted_tau == "adaptive" or cap is not None or tau < fitted_tau:
            raise InvalidInputError(
                "with_tau needs a number that is not below the tau of the model, which must have neither an adaptive tau nor "
                f"max_neighbours. Got {tau!r} for a model with tau {fitted_tau!r} and max_neighbours {cap!r}: fit anew."
            )
        self._operator.checked_matrix  # noqa: B018 - as in partial_fit
        new = copy.copy(self)
        new.similarity_ = raise_threshold(self.similarity_, tau)
        new.set_params(**{**self._fitted_with, "tau": tau})  # not what may have been set since
        new._settle(self._analyzer)
        return new

    def with_analyzer(self, analyzer: str | TextAnalyzer | Callable[[str], Iterable[str]]) -> Cptw:
        """Make a model that gets to the same terms in another way, such as by the analyzer of a server.

        Parameters
        ----------
        analyzer : str, Analyzer or callable
            Text to terms, as in the constructor. Its terms should be those that the model was fitted on.

        Returns
        -------
        Cptw
            The same vocabulary and similarities under the same id; it belongs to the same indices.

        Raises
        ------
        InvalidInputError
            If ``analyzer`` is no analyzer.

        Examples
        --------
        >>> model = Cptw(vectors=None, analyzer="whitespace").fit(["boat sea", "sea"])
        >>> folding = model.with_analyzer("unicode")
        >>> model.count(["BOAT"]).unknown, folding.count(["BOAT"]).unknown
        (['BOAT'], [])
        """
        model_id = self.model_id
        new = copy.copy(self)
        new._analyzer = get_analyzer(analyzer)
        new.__dict__["model_id"] = model_id
        return new

    def _check_parameters(self) -> None:
        check_choice("normalization", self.normalization, NORMALIZATIONS)
        check_choice("weighting", self.weighting, WEIGHTINGS)
        check_choice("row_norm", self.row_norm, ("l2", "none"))
        check_choice("unknown", self.unknown, ("keep", "drop"))
        check_tau(self.tau, self.max_neighbours)
        for name, least in (("min_df", 1), ("n_dimensions", 1)):
            value = getattr(self, name)
            if not isinstance(value, (int, np.integer)) or isinstance(value, bool) or value < least:
                raise InvalidInputError(f"{name} must be a whole number >= {least}. Got {value!r} instead.")
        for name, most in (("k1", np.inf), ("b", 1.0)):
            value = getattr(self, name)
            if not isinstance(value, (int, float, np.number)) or not 0 <= value <= most or value == np.inf:
                rule = ">= 0" if most == np.inf else "from 0 to 1"
                raise InvalidInputError(f"{name} must be a number {rule}. Got {value!r} instead.")
        weights = self._field_weights()
        for name, value in weights.items():
            is_number = isinstance(value, (int, float, np.number)) and not isinstance(value, bool)
            if not isinstance(name, str) or not is_number or not 0 < value < np.inf:
                raise InvalidInputError(
                    f"field_weights must map names of fields to numbers > 0. Got {name!r}: {value!r} instead."
                )
        if not weights:
            raise InvalidInputError("field_weights must name at least one field. Got none.")

    def _field_weights(self) -> Mapping[str, float]:
        return DEFAULT_FIELD_WEIGHTS if self.field_weights is None else self.field_weights

    # Representing -------------------------------------------------------------------------------------------------

    def transform(self, documents: Iterable[Document]) -> sp.csr_matrix:
        """Represent documents by their propagated term weights.

        Unknown words have no column here, but they count in a row's length; `represent` gives them, too.

        Parameters
        ----------
        documents : iterable of str or mapping
            As for `fit`.

        Returns
        -------
        csr_matrix of shape (n_documents, n_terms)
            float64.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        InvalidInputError
            If a document cannot be used.
        """
        return self._known_columns(self.represent(documents))

    def fit_transform(self, documents: Iterable[Document], y: object = None) -> sp.csr_matrix:
        """Fit, then represent the same documents.

        Parameters
        ----------
        documents : iterable of str or mapping
            As for `fit`.
        y : object, optional
            Ignored.

        Returns
        -------
        csr_matrix of shape (n_documents, n_terms)
            What `transform` gives.
        """
        documents = list(documents) if not isinstance(documents, (str, bytes, Mapping)) else documents
        return self.fit(documents).transform(documents)

    def transform_query(self, queries: Iterable[Document]) -> sp.csr_matrix:
        """Represent queries; the product with the rows of `transform` is the score.

        Parameters
        ----------
        queries : iterable of str or mapping
            Texts.

        Returns
        -------
        csr_matrix of shape (n_queries, n_terms)
            float64; differs from `transform` for ``weighting="bm25"`` alone.
        """
        return self._known_columns(self.represent(queries, side="query"))

    def _known_columns(self, weighted: WeightedTerms) -> sp.csr_matrix:
        return weighted.matrix[:, : len(self.vocabulary_)] if weighted.unknown else weighted.matrix

    def represent(
        self,
        documents: Iterable[Document],
        *,
        side: str = "document",
        placement: str = "both",
        nonnegative: bool = False,
    ) -> WeightedTerms:
        """Represent documents or queries as weighted terms, unknown words included.

        The score of a query and a document is the product of their rows, and the same in every placement.

        Parameters
        ----------
        documents : iterable of str or mapping
            As for `fit`.
        side : {"document", "query"}, default "document"
            Which of the two the texts are.
        placement : {"both", "query", "document"}, default "both"
            Where the propagation is done; see DESIGN, or ``docs/variants.md``.
        nonnegative : bool, default False
            Use max(M, 0) in place of M, as an engine has to that stores no negative weights.

        Returns
        -------
        WeightedTerms
            Rows over vocabulary and unknown words.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        InvalidInputError
            If a document or an option cannot be used.

        Examples
        --------
        >>> model = Cptw(vectors=None, analyzer="unicode").fit(["boat sea", "sea"])
        >>> weighted = model.represent(["boat yacht"])
        >>> weighted.matrix.toarray().round(3), weighted.unknown
        (array([[0.707, 0.   , 0.707]]), ['yacht'])
        """
        check_choice("side", side, ("document", "query"))
        check_choice("placement", placement, PLACEMENTS)
        counts = self.count(documents)
        return WeightedTerms(self.represent_counts(counts.matrix, side, placement, nonnegative), counts.unknown)

    def represent_counts(self, counts: sp.csr_matrix, side: str, placement: str, nonnegative: bool) -> sp.csr_matrix:
        """Represent texts that are counted already.

        Parameters
        ----------
        counts : csr_matrix
            What `count` gave.
        side : {"document", "query"}
            Which of the two the texts are.
        placement : {"both", "query", "document"}
            Where the propagation is done.
        nonnegative : bool
            Use max(M, 0) in place of M.

        Returns
        -------
        csr_matrix
            Rows of the same shape.
        """
        self._check_fitted()
        operator = self._nonnegative_operator if nonnegative else self._operator
        is_bm25 = self._fitted_with["weighting"] == "bm25"
        if is_bm25 and side == "document":
            counts = bm25_document_weights(counts, self.average_length_, *self.bm25_parameters)
        elif is_bm25:
            weights = bm25_idf(self.document_frequencies(counts.indices), self.n_docs_)
            counts = sp.csr_matrix((counts.data * weights, counts.indices, counts.indptr), counts.shape)
        times = PLACEMENTS[placement][0 if side == "document" else 1]
        return place(counts, operator, times, unit_length=self.unit_length)

    @property
    def unit_length(self) -> bool:
        """Whether rows are divided by their length, so that scores are cosines."""
        self._check_fitted()
        return bool(self._fitted_with["row_norm"] == "l2" and self._fitted_with["weighting"] != "bm25")

    @property
    def weighting_fitted(self) -> str:
        """The weighting that the model was fitted with."""
        self._check_fitted()
        return str(self._fitted_with["weighting"])

    @property
    def analyzer_fitted(self) -> TextAnalyzer:
        """What turns texts into the model's terms."""
        self._check_fitted()
        return self._analyzer

    @property
    def bm25_parameters(self) -> tuple[float, float]:
        """k1 and b that the model was fitted with."""
        self._check_fitted()
        return float(self._fitted_with["k1"]), float(self._fitted_with["b"])

    @property
    def text_fields(self) -> frozenset[str]:
        """The fields of documents that are searched as text."""
        self._check_fitted()
        return frozenset(self._fitted_with["field_weights"])

    def document_frequencies(self, columns: npt.NDArray[np.integer[Any]]) -> npt.NDArray[np.float64]:
        """Give the document frequencies of columns.

        Parameters
        ----------
        columns : ndarray of int
            Columns over vocabulary and unknown words.

        Returns
        -------
        ndarray of float64
            In how many documents each term occurs; 1 for an unknown word.
        """
        known = columns < len(self.df_)
        return np.where(known, self.df_[np.where(known, columns, 0)], 1).astype(np.float64)

    def propagated_lengths(self, counts: sp.csr_matrix) -> npt.NDArray[np.float64]:
        """Compute |d M| of documents that are counted already.

        Parameters
        ----------
        counts : csr_matrix
            What `count` gave.

        Returns
        -------
        ndarray of float64
            One length a document; 1 where rows are bare.
        """
        if not self.unit_length:
            return np.ones(counts.shape[0])
        return row_lengths(self._operator.apply(counts))

    def count(self, documents: Iterable[Document]) -> Counts:
        """Count the terms of documents.

        Parameters
        ----------
        documents : iterable of str or mapping
            As for `fit`.

        Returns
        -------
        Counts
            Counts over vocabulary and unknown words (none with ``unknown="drop"``).
        """
        counts = self._count_all(documents)
        if self._fitted_with["unknown"] == "keep" or not counts.unknown:
            return counts
        return Counts(counts.matrix[:, : len(self.vocabulary_)], [])

    def _count_all(self, documents: Iterable[Document]) -> Counts:
        self._check_fitted()
        if len(self._lookup) > _MAX_REMEMBERED_WORDS:
            del self._lookup  # whoever is counting with it has it still; the next one starts afresh
        return self._lookup.count(documents, self._fitted_with["field_weights"])

    @functools.cached_property
    def _lookup(self) -> WordLookup:
        return WordLookup(self.vocabulary_, self._analyzer)

    def __getstate__(self) -> dict[str, object]:
        # for copies and other processes: the lookup holds a lock, and is quicker made anew than sent
        return {name: value for name, value in self.__dict__.items() if name != "_lookup"}

    @functools.cached_property
    def _nonnegative_operator(self) -> Propagation:
        return self._operator.nonnegative()

    # Looking ------------------------------------------------------------------------------------------------------

    def neighbours(self, term: str, n: int = 10) -> list[Neighbour]:
        """List the terms that a word spreads its weight over, nearest first.

        Parameters
        ----------
        term : str
            A word as it stands in a text, or a term.
        n : int, default 10
            How many at most.

        Returns
        -------
        list of Neighbour
            Without the term itself; empty for an unknown word.

        Raises
        ------
        InvalidInputError
            If ``term`` is not one word that is counted.
        """
        self._check_fitted()
        position = self._term_positions.get(term)
        if position is None:
            terms = [t for t in map(self._analyzer.term, self._analyzer.words(term)) if t is not None]
            if len(terms) != 1:
                raise InvalidInputError(
                    f"neighbours needs one word that is counted. Got {term!r}, which the analyzer turns into {terms}."
                )
            position = self._term_positions.get(terms[0])
            if position is None:
                return []
        row = self.similarity_[[position]]
        check_entries(row.indices, row.data, len(self.vocabulary_))
        found = sorted(zip((-row.data).tolist(), row.indices.tolist(), strict=True))
        return [Neighbour(self.vocabulary_[j], -cosine) for cosine, j in found if j != position][:n]

    @functools.cached_property
    def _term_positions(self) -> dict[str, int]:
        return {term: position for position, term in enumerate(self.vocabulary_)}

    def get_feature_names_out(self, input_features: object = None) -> npt.NDArray[np.object_]:
        """Give the terms of the columns.

        Parameters
        ----------
        input_features : object, optional
            Ignored; scikit-learn passes it.

        Returns
        -------
        ndarray of str
            One term a column of `transform`.
        """
        self._check_fitted()
        return np.array(self.vocabulary_, dtype=object)

    @functools.cached_property
    def model_id(self) -> str:
        """SHA-256 of all that determines what the model computes, 64 hexadecimal digits."""
        self._check_fitted()
        return compute_model_id(self)

    # Keeping ------------------------------------------------------------------------------------------------------

    def save(self, directory: str | os.PathLike[str]) -> None:
        """Write the model into a directory; a model that is there already is replaced in one step.

        Parameters
        ----------
        directory : str or path
            Made if it is missing. An interrupted save leaves the old model whole.

        Raises
        ------
        NotFittedError
            If `fit` was not called.
        InvalidInputError
            If the analyzer is a function of the user's own.
        StorageError
            If the directory holds something else, is read-only, the disk is full and the like.
        """
        self._check_fitted()
        save_model(self, Path(directory))

    @classmethod
    def load(cls, directory: str | os.PathLike[str], *, verify: bool = False) -> Cptw:
        """Open a saved model; its arrays are memory-mapped.

        Parameters
        ----------
        directory : str or path
            Where `save` wrote it.
        verify : bool, default False
            Check the hash of every file first, which reads all of them.

        Returns
        -------
        Cptw
            The model, with the id that it was saved with.

        Raises
        ------
        StorageError
            If there is no model, or it is damaged (`CorruptedError`) or of another format (`FormatVersionError`).
        """
        return load_model(cls, Path(directory), verify=verify)

    def verify(self) -> None:
        """Check a model against its id: a byte that was changed anywhere is an error.

        Raises
        ------
        CorruptedError
            If the content is not what the id was made from.
        """
        claimed, computed = self.model_id, compute_model_id(self)
        if claimed != computed:
            raise CorruptedError(
                f"The model must have the id {computed}, by its content. It claims {claimed}: it was changed after it "
                "was written. Restore it or fit it anew."
            )
        alpha = column_scale(self.similarity_, self._fitted_with["normalization"])
        anew = propagation(self.similarity_, self.weighting_fitted, alpha, self.df_.astype(np.float64), self.n_docs_)
        if not np.allclose(anew.column_scale, self._operator.column_scale, rtol=1e-9, atol=0):
            raise CorruptedError(
                "The factors of the model's columns must follow from its similarities. They do not: column_scale.npy was changed "
                "after it was written. Restore it or fit it anew."
            )

    def __sklearn_tags__(self) -> Tags:
        from sklearn.utils import InputTags, Tags, TargetTags, TransformerTags

        return Tags(
            estimator_type=None,
            target_tags=TargetTags(required=False),
            transformer_tags=TransformerTags(preserves_dtype=[]),
            input_tags=InputTags(one_d_array=True, two_d_array=False, string=True),
            requires_fit=True,
        )
