"""The mathematics of CPTW: pure kernels, one an equation.

Row vectors throughout: x holds a document's term frequencies over V terms, S is the term similarity matrix, P is S
with normalised columns, and a document's representation is x M with M fixed at fit time. The numbers in brackets are
the equations of [Hansen2019]_; ``docs/variants.md`` lays the variants side by side.

Every M but that of ``idf-equation`` is S with scaled rows and columns, so M itself is never stored:
x M = ((x * row_scale) S) * column_scale.

.. [Hansen2019] C. Hansen, C. Hansen, S. Alstrup, J. G. Simonsen, C. Lioma, "Contextually Propagated Term Weights for
   Document Representation", SIGIR 2019.
"""

from __future__ import annotations

import functools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp

from cptw_search.errors import check_choice
from cptw_search.row_products import IntArray, check_entries, multiply_row

__all__ = [
    "NORMALIZATIONS",
    "WEIGHTINGS",
    "Propagation",
    "column_scale",
    "idf",
    "idf_released",
    "propagation",
    "propagation_of_columns",
]

FloatArray = npt.NDArray[np.float64]

NORMALIZATIONS = ("l2", "sum", "none")
"""How the columns of S are normalised."""

WEIGHTINGS = ("tf", "idf-equation", "idf-released", "idf-weighted", "idf-input", "bm25")
"""How term frequencies and document frequencies enter."""

_MANY_ENTRIES = 20_000  # of rows, from which threads pay


def column_scale(similarity: sp.csr_matrix, normalization: str) -> FloatArray:
    """Compute alpha, the factor of each column of S.

    Parameters
    ----------
    similarity : csr_matrix
        S, with no negative entries.
    normalization : {"l2", "sum", "none"}
        Columns of unit Euclidean length (the authors' code and Fig. 1), columns that add up to 1 (Eq. 2 as printed),
        or columns as they are.

    Returns
    -------
    ndarray of shape (n_terms,)
        alpha.

    Raises
    ------
    UnknownNameError
        If there is no such normalization.

    Examples
    --------
    >>> S = sp.csr_matrix([[1.0, 0.75], [0.75, 1.0]])
    >>> column_scale(S, "l2")  # 1 / sqrt(1 + 0.75 ** 2)
    array([0.8, 0.8])
    >>> column_scale(S, "sum").round(4)  # 1 / 1.75
    array([0.5714, 0.5714])
    """
    check_choice("normalization", normalization, NORMALIZATIONS)
    if normalization == "none":
        return np.ones(similarity.shape[1])
    if normalization == "l2":
        squares = np.bincount(similarity.indices, weights=similarity.data**2, minlength=similarity.shape[1])
        return 1.0 / np.sqrt(squares)
    sums = np.bincount(similarity.indices, weights=similarity.data, minlength=similarity.shape[1])
    return 1.0 / sums  # alpha_j, below Eq. (2)


def idf(df: FloatArray, n_docs: int) -> FloatArray:
    """Compute ln(N / df); a term that no document holds counts as if one did.

    Parameters
    ----------
    df : ndarray
        Document frequencies.
    n_docs : int
        N, the number of documents.

    Returns
    -------
    ndarray
        The inverse document frequencies.

    Examples
    --------
    >>> idf(np.array([1.0, 2.0, 4.0, 0.0]), 4).round(4)
    array([1.3863, 0.6931, 0.    , 1.3863])
    """
    return np.asarray(np.log(n_docs / np.maximum(df, 1)))


@dataclass(frozen=True)
class Propagation:
    """The operator x -> x M, with M = diag(row_scale) matrix diag(column_scale).

    Columns behind the vocabulary belong to unknown words, which have no neighbours: there M is diagonal, with one
    weight for all.

    Parameters
    ----------
    matrix : csr_matrix
        S, or what takes its place in ``idf-equation``.
    row_scale : ndarray of shape (n_terms,)
        Factors of the rows.
    column_scale : ndarray of shape (n_terms,)
        Factors of the columns.
    unknown_weight : float
        The diagonal entry of an unknown word.
    symmetric : bool, default True
        Whether ``matrix`` is its own transpose, as S is.
    checked : bool, default True
        False for an S that was opened and not read: then each row is checked when it is used.
    """

    matrix: sp.csr_matrix
    row_scale: FloatArray
    column_scale: FloatArray
    unknown_weight: float
    symmetric: bool = True
    checked: bool = True

    def apply(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Compute x M for each row x.

        Parameters
        ----------
        rows : csr_matrix
            Vectors over the vocabulary and any number of unknown words.

        Returns
        -------
        csr_matrix
            The propagated vectors, of the same shape.

        Examples
        --------
        >>> S = sp.csr_matrix([[1.0, 0.75], [0.75, 1.0]])
        >>> tf = propagation(S, "tf", column_scale(S, "l2"), np.array([1.0, 1.0]), 2)
        >>> tf.apply(sp.csr_matrix([[2.0, 0.0, 3.0]])).toarray().round(3)  # 2 * 0.8, 2 * 0.75 * 0.8, unknown word
        array([[1.6, 1.2, 3. ]])
        """
        return self._multiply(rows, self.row_scale, self.checked_matrix, self.column_scale)

    def apply_transposed(self, rows: sp.csr_matrix) -> sp.csr_matrix:
        """Compute y M' for each row y.

        Parameters
        ----------
        rows : csr_matrix
            Vectors over the vocabulary and any number of unknown words.

        Returns
        -------
        csr_matrix
            The products, of the same shape.
        """
        return self._multiply(rows, self.column_scale, self._transposed, self.row_scale)

    @functools.cached_property
    def _transposed(self) -> sp.csr_matrix:
        return self.checked_matrix if self.symmetric else sp.csr_matrix(self.checked_matrix.T)

    @functools.cached_property
    def checked_matrix(self) -> sp.csr_matrix:
        """The matrix after a look at every entry, where there was none yet: scipy's kernels trust the indices."""
        if not self.checked:
            check_entries(self.matrix.indices, self.matrix.data, self.matrix.shape[1])
        return self.matrix

    def apply_row(self, columns: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
        """Compute x M for one row x; only the rows of M that x names are read.

        Parameters
        ----------
        columns : ndarray of int
            The columns of x over the vocabulary and any number of unknown words.
        weights : ndarray of float64
            Its values there.

        Returns
        -------
        columns : ndarray of int
            The columns of x M, ascending.
        weights : ndarray of float64
            Its values there.

        Raises
        ------
        CorruptedError
            If a row of an S that was opened and not read is none.

        Examples
        --------
        >>> S = sp.csr_matrix([[1.0, 0.75], [0.75, 1.0]])
        >>> tf = propagation(S, "tf", column_scale(S, "l2"), np.array([1.0, 1.0]), 2)
        >>> columns, weights = tf.apply_row(np.array([0, 2]), np.array([2.0, 3.0]))
        >>> columns.tolist(), weights.round(3).tolist()
        ([0, 1, 2], [1.6, 1.2, 3.0])
        """
        scales = (self.row_scale, self.column_scale, self.unknown_weight)
        return multiply_row(columns, weights, self.matrix, *scales, checked=self.checked)

    def apply_row_transposed(self, columns: IntArray, weights: FloatArray) -> tuple[IntArray, FloatArray]:
        """Compute y M' for one row y; only the rows of M' that y names are read where M is symmetric.

        Parameters
        ----------
        columns : ndarray of int
            The columns of y over the vocabulary and any number of unknown words.
        weights : ndarray of float64
            Its values there.

        Returns
        -------
        columns : ndarray of int
            The columns of the product, ascending.
        weights : ndarray of float64
            Its values there.
        """
        matrix = self.matrix if self.symmetric else self._transposed
        scales = (self.column_scale, self.row_scale, self.unknown_weight)
        return multiply_row(columns, weights, matrix, *scales, checked=self.checked)

    def _multiply(
        self, rows: sp.csr_matrix, before: FloatArray, matrix: sp.csr_matrix, after: FloatArray
    ) -> sp.csr_matrix:
        n_terms = len(before)
        has_unknown = rows.shape[1] > n_terms
        known = rows[:, :n_terms] if has_unknown else rows
        product = _scale_columns(_sorted_product(_scale_columns(known, before), matrix), after)
        if has_unknown:
            product = sp.csr_matrix(sp.hstack([product, rows[:, n_terms:] * self.unknown_weight]))
        product.sort_indices()
        return product

    def explicit(self) -> sp.csr_matrix:
        """Give M itself.

        Returns
        -------
        csr_matrix of shape (n_terms, n_terms)
            M over the vocabulary.
        """
        return sp.csr_matrix(sp.diags(self.row_scale) @ self.checked_matrix @ sp.diags(self.column_scale))

    def nonnegative(self) -> Propagation:
        """Give the operator of M+ = max(M, 0), for engines that store no negative weights.

        Returns
        -------
        Propagation
            Fixed at fit time, so that documents, queries and norms all use the same M+.
        """
        # S has no negative entries: then its arrays stay as they are, and perhaps on the disk
        matrix = self.matrix
        if not self.symmetric:
            matrix = sp.csr_matrix((np.maximum(matrix.data, 0.0), matrix.indices, matrix.indptr), shape=matrix.shape)
        return replace(
            self,
            matrix=matrix,
            column_scale=np.maximum(self.column_scale, 0.0),
            unknown_weight=max(self.unknown_weight, 0.0),
        )


def _sorted_product(rows: sp.csr_matrix, matrix: sp.csr_matrix) -> sp.csr_matrix:
    """Multiply, and sort the columns within each row; many rows on all cores, for scipy lets other threads run."""
    n_threads = (os.cpu_count() or 1) if rows.nnz > _MANY_ENTRIES else 1
    step = max(1, -(-rows.shape[0] // n_threads))

    def multiply(start: int) -> sp.csr_matrix:
        part = rows if n_threads == 1 else rows[start : start + step]
        product = sp.csr_matrix(part @ matrix)
        product.sort_indices()
        return product

    if n_threads == 1:
        return multiply(0)
    with ThreadPoolExecutor(n_threads) as pool:
        return sp.csr_matrix(sp.vstack(list(pool.map(multiply, range(0, rows.shape[0], step))), format="csr"))


def _scale_columns(rows: sp.csr_matrix, factors: FloatArray) -> sp.csr_matrix:
    return sp.csr_matrix((rows.data * factors[rows.indices], rows.indices, rows.indptr), shape=rows.shape)


def _tf(S: sp.csr_matrix, alpha: FloatArray, df: FloatArray, n_docs: int) -> Propagation:
    # Eqs. (1) and (2): e_j alpha_j sum_k f(w_k, d) cos(v_j, v_k), that is, x P.
    return Propagation(S, np.ones(len(df)), alpha, 1.0)


def _idf_equation(S: sp.csr_matrix, alpha: FloatArray, df: FloatArray, n_docs: int) -> Propagation:
    # Eqs. (3) and (4): M[k, j] = alpha_j cos(v_j, v_k) ln(N / df_k * alpha_j cos(v_j, v_k)); the paper prints "log".
    rows = np.repeat(np.arange(S.shape[0]), np.diff(S.indptr))
    P = S.data * alpha[S.indices]
    logarithm = np.log(P, where=P > 0, out=np.zeros_like(P))  # 0 log 0 = 0
    M = P * (idf(df, n_docs)[rows] + logarithm)
    return Propagation(
        sp.csr_matrix((M, S.indices, S.indptr), shape=S.shape),
        np.ones(len(df)),
        np.ones(len(df)),
        float(np.log(n_docs)),
        symmetric=False,
    )


def idf_released(
    S: sp.csr_matrix, alpha: FloatArray, df: FloatArray, n_docs: int, *, n_docs_in_log: int | None = None
) -> Propagation:
    """Build the IDF weighting of the authors' released code: (x P)_j log2(N / (df P)_j).

    Parameters
    ----------
    S : csr_matrix
        The term similarity matrix.
    alpha : ndarray
        Factors of its columns.
    df : ndarray
        Document frequencies.
    n_docs : int
        The number of documents that ``df`` counts.
    n_docs_in_log : int, optional
        N inside the logarithm, ``n_docs`` by default. The released code scales the document frequencies to the
        training part but, when it represents the test documents, takes N of *all* documents: every weight then is
        larger by log2(n_all / n_train). Give n_all here to have that.

    Returns
    -------
    Propagation
        May hold negative weights for very common neighbourhoods.
    """
    df_of_neighbourhood = _times_columns(np.maximum(df, 1), S, alpha)  # df P
    weights = np.log2((n_docs_in_log or n_docs) / df_of_neighbourhood)
    return Propagation(S, np.ones(len(df)), alpha * weights, float(np.log2(n_docs_in_log or n_docs)))


def _idf_weighted(S: sp.csr_matrix, alpha: FloatArray, df: FloatArray, n_docs: int) -> Propagation:
    # Prose below Eq. (4): "a weighted sum of all the IDF scores of the words in its embedded neighbourhood", idf P.
    return Propagation(S, np.ones(len(df)), alpha * _times_columns(idf(df, n_docs), S, alpha), float(np.log(n_docs)))


def _idf_input(S: sp.csr_matrix, alpha: FloatArray, df: FloatArray, n_docs: int) -> Propagation:
    # Not in the paper: TF-IDF first, then propagation, (x * idf) P.
    return Propagation(S, idf(df, n_docs), alpha, float(np.log(n_docs)))


def _times_columns(row: FloatArray, S: sp.csr_matrix, alpha: FloatArray) -> FloatArray:
    return np.asarray(row @ S).ravel() * alpha


_Kernel = Callable[[sp.csr_matrix, FloatArray, FloatArray, int], Propagation]
_KERNELS: dict[str, _Kernel] = {
    "tf": _tf,
    "idf-equation": _idf_equation,
    "idf-released": idf_released,
    "idf-weighted": _idf_weighted,
    "idf-input": _idf_input,
    "bm25": _tf,  # the weights are applied before: w(x) P
}


def propagation(
    similarity: sp.csr_matrix, weighting: str, alpha: FloatArray, df: FloatArray, n_docs: int
) -> Propagation:
    """Build the operator of a weighting.

    Parameters
    ----------
    similarity : csr_matrix
        S, symmetric, with a full diagonal.
    weighting : {"tf", "idf-equation", "idf-released", "idf-weighted", "idf-input", "bm25"}
        Which one; see ``docs/variants.md``.
    alpha : ndarray
        Factors of the columns, by `column_scale`.
    df : ndarray
        Document frequencies.
    n_docs : int
        The number of documents.

    Returns
    -------
    Propagation
        The operator.

    Raises
    ------
    UnknownNameError
        If there is no such weighting.
    """
    check_choice("weighting", weighting, WEIGHTINGS)
    return _KERNELS[weighting](similarity, alpha, df, n_docs)


def propagation_of_columns(
    similarity: sp.csr_matrix, weighting: str, factors: FloatArray, df: FloatArray, n_docs: int
) -> Propagation:
    """Build the operator from the factors of its columns, as a model's directory holds them: S is not read.

    Parameters
    ----------
    similarity : csr_matrix
        S, as it was opened.
    weighting : {"tf", "idf-released", "idf-weighted", "idf-input", "bm25"}
        Not ``"idf-equation"``, whose entries are no cosines.
    factors : ndarray
        The ``column_scale`` of the operator that `propagation` built.
    df : ndarray
        Document frequencies.
    n_docs : int
        The number of documents.

    Returns
    -------
    Propagation
        The same operator; every row of S is checked when it is used.
    """
    row_scale = idf(df, n_docs) if weighting == "idf-input" else np.ones(len(df))
    unknown_weight = 1.0 if weighting in ("tf", "bm25") else float(np.log(n_docs))
    if weighting == "idf-released":
        unknown_weight = float(np.log2(n_docs))
    return Propagation(similarity, row_scale, factors, unknown_weight, checked=False)
