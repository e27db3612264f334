"""`ClusterIndex`: search documents that `cptw_indexer` put on Elasticsearch or OpenSearch."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from cptw_queries.builders import Clause, bm25_query, weights_query
from cptw_queries.expansion import expand, known_scales
from cptw_queries.explaining import explain_hits
from cptw_queries.filters import AnyFilter
from cptw_queries.fitting import FittedQuery, prune_to_fit
from cptw_queries.layout import NO_WEIGHTS, IndexLayout, check_layout, read_layout
from cptw_queries.learning import Learner
from cptw_queries.searching import HALVES, LEARNING, SearchOptions, SearchPart
from cptw_queries.server_index import ServerIndex
from cptw_search.backend import DEFAULT_LAMBDA, DEFAULT_METHOD, Hit, check_search
from cptw_search.cluster import ID_FIELD, ClusterClient
from cptw_search.document_ids import check_id
from cptw_search.errors import InvalidInputError
from cptw_search.explain_mixed import check_explainable
from cptw_search.model import Cptw
from cptw_search.pruning import Pruning

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["DEFAULT_PRUNING", "ClusterIndex"]

DEFAULT_PRUNING = Pruning(max_terms=800)
"""What is kept of a propagated query. With the words of a query and those that it learns this fits into the 1,024 clauses
that every server takes; what more terms are worth, and what they cost where a server takes them, is in docs/retrieval.md."""


class ClusterIndex(ServerIndex):
    """Documents on a cluster, searched as those of `cptw_search.EmbeddedIndex` are.

    Scores of ``"cptw"`` are those of the model with max(M, 0) in place of M, but for the 9 significant bits that
    servers store of a weight. ``"bm25"`` is the server's own, with the statistics of its index.

    When an alias is pointed at another index, the next search sees that one, if it was built with the same model.

    Parameters
    ----------
    client : ClusterClient or str
        A connection, made by `cptw_search.cluster.connect`, or the address of a server; then `close` ends the
        connection, as does a ``with`` block.
    name : str
        The index or alias.
    model : Cptw
        The model that the index was built with.
    query_pruning : Pruning, optional
        What is kept of propagated queries; by default the 800 heaviest terms. With ``Pruning()`` all are kept that the
        server takes: a query with more loses its lightest, with a `QueryPrunedWarning`.

    Raises
    ------
    MissingIndexError
        If there is no such index.
    ModelMismatchError
        If the index was built with another model.
    InvalidInputError
        If the index was not made by ``cptw_indexer``.

    See Also
    --------
    cptw_queries.ExistingIndex : Query expansion on any text index, without indexing anew.
    """

    _tie_field = ID_FIELD

    def __init__(
        self, client: ClusterClient | str, name: str, model: Cptw, *, query_pruning: Pruning | None = None
    ) -> None:
        super().__init__(client, name, model, query_pruning=query_pruning or DEFAULT_PRUNING)
        self._layout = self._read()

    @property
    def layout(self) -> IndexLayout:
        """What the index holds: placement, type of the field, the index behind an alias."""
        return self._layout

    def _read(self) -> IndexLayout:
        layout = read_layout(self.client, self.name)
        check_layout(layout, self._model.model_id)
        return layout

    def _read_again(self) -> bool:
        before, self._layout = self._layout, self._read()
        return replace(before, fields={}) != replace(self._layout, fields={})

    def _is_known(self, index: str) -> bool:
        return index == self._layout.index

    def _stores_own_fields(self) -> bool:
        return self._layout.stores_own_fields

    def _fields(self) -> Mapping[str, str]:
        return self._layout.fields

    def _clauses(
        self, queries: Sequence[Document], halves: Sequence[str], limit: int
    ) -> tuple[list[dict[str, Clause]], list[FittedQuery]]:
        if "cptw" in halves and self._layout.field_type == NO_WEIGHTS:
            raise InvalidInputError(
                f"method must be 'bm25' on the index {self._layout.index!r}, which was made without weights. Index anew with a "
                "field_type for the others."
            )
        clauses: list[dict[str, Clause]] = []
        pruned: list[FittedQuery] = []
        placement = self._layout.placement if "cptw" in halves else None
        for terms in expand(self._model, queries, placement, self.query_pruning):
            made: dict[str, Clause] = {}
            room = limit
            if "bm25" in halves and terms.counts:
                most = limit // len(halves)  # both halves of a hybrid query count
                fitted = prune_to_fit(terms.counts, most, importance=terms.importance)
                room = limit - len(fitted.weights) * (len(halves) - 1)
                made["bm25"] = bm25_query(fitted.weights)
                pruned += [fitted] if fitted.n_dropped else []
            if "cptw" in halves and terms.weights:
                fitted = prune_to_fit(terms.weights, room)
                made["cptw"] = weights_query(self._layout.field_type, fitted.weights)
                pruned += [fitted] if fitted.n_dropped else []
            clauses.append({half: made[half] for half in halves if half in made})
        return clauses, pruned

    def build_queries(self, queries: Sequence[Document], *, method: str = "cptw") -> list[dict[str, Clause]]:
        """Make what would be sent, without sending it: for a look, or for requests of one's own.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        method : {"cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"}, default "cptw"
            See `search`.

        Returns
        -------
        list of dict
            For each query, ``"cptw"`` and ``"bm25"``, as far as the method needs them, to clauses of the server's query
            language. A query without words has none. What ``"hybrid+feedback"`` learns is not there: that takes answers.

        Raises
        ------
        InvalidInputError
            If an argument cannot be used.
        """
        self._check_queries(queries, 1, method, 0.5)
        if method not in HALVES:
            raise InvalidInputError(
                f"method must be one of {', '.join(map(repr, HALVES))} here. Got {method!r} instead."
            )
        room = Learner(self._model, self.max_clauses).n_terms if method == LEARNING else 0
        return self._clauses(queries, HALVES[method], max(self.max_clauses - room, 2))[0]

    def search(
        self,
        query: Document,
        k: int = 10,
        *,
        method: str = DEFAULT_METHOD,
        lambda_: float = DEFAULT_LAMBDA,
        filter: AnyFilter | None = None,
        explain: bool = False,
        offset: int = 0,
        after: Hit | None = None,
        fields: Sequence[str] | None = None,
        min_score: float | None = None,
        scales: tuple[float, float] | None = None,
    ) -> list[Hit]:
        """Find the k best documents.

        Parameters
        ----------
        query : str or mapping
            A text, or a document to find others like it.
        k : int, default 10
            How many at most.
        method : {"cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"}, default "hybrid+feedback"
            How documents are scored. ``"hybrid"`` adds CPTW and BM25, each divided by its best score;
            ``"hybrid+feedback"`` adds the words of its ten best documents to that; ``"rrf"`` fuses the ranks of CPTW
            and BM25.
        lambda_ : float, default 0.3
            The share of CPTW in ``"hybrid"`` and ``"hybrid+feedback"``, 0 to 1.
        filter : mapping or RawFilter, optional
            Only documents whose fields have these values, as for `EmbeddedIndex.search`; or a `RawFilter` in the
            server's own query language.
        explain : bool, default False
            Say for each hit why it matches, with shares that add up to its score but for the bits that servers store; for
            the methods ``"cptw"``, ``"bm25"``, ``"hybrid"`` and ``"hybrid+feedback"``. What BM25 gives for each word is
            asked for in a request of its own.
        offset : int, default 0
            How many hits are passed over; with k at most 10,000.
        after : Hit, optional
            The last hit of the page before: go on behind it, to any depth.
        fields : sequence of str, optional
            What is returned of the stored documents, patterns such as ``meta.*`` allowed; by default all.
        min_score : float, optional
            The least score of a hit.
        scales : (float, float), optional
            The scores of CPTW and of BM25 that count as 1 in ``"hybrid"`` and ``"hybrid+feedback"``. By default the
            best ones of this query, which are asked for in a request of their own.

        Returns
        -------
        list of Hit
            Best first; equal scores are ordered by id.

        Raises
        ------
        InvalidInputError
            If an argument cannot be used.
        ModelMismatchError
            If the alias now stands for an index of another model.
        ClusterError
            If the server cannot be reached, refuses, or a shard fails.

        See Also
        --------
        ClusterIndex.search_many : Many queries in few requests.
        """
        check_search(query, k, method, lambda_)
        if explain:
            check_explainable(method)
        text_fields = self._model.text_fields if explain and fields is not None else frozenset()
        options = SearchOptions(
            k=k,
            method=method,
            lambda_=lambda_,
            filters=self.filter_clauses(filter),
            offset=offset,
            after=None if after is None else (after.score, after.id),
            fields=[*fields, *sorted(text_fields)] if text_fields and fields is not None else fields,
            min_score=min_score,
            scales=scales,
        )
        parts: list[list[SearchPart]] | None = [] if explain else None
        hits = self._find([query], options, stacklevel=2, parts=parts)[0]
        if not parts:
            return hits
        extra = text_fields - set(fields or ())
        explanations = explain_hits(self.client, self.name, self._model, query, hits, parts[0])
        return [
            replace(
                hit,
                explanation=explanation,
                fields={name: value for name, value in hit.fields.items() if name not in extra},
            )
            for hit, explanation in zip(hits, explanations, strict=True)
        ]

    def search_many(
        self,
        queries: Sequence[Document],
        k: int = 10,
        *,
        method: str = DEFAULT_METHOD,
        lambda_: float = DEFAULT_LAMBDA,
        filter: AnyFilter | None = None,
        fields: Sequence[str] | None = None,
        scales: tuple[float, float] | None = None,
    ) -> list[list[Hit]]:
        """Find the k best documents for each query, many queries in one request.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        k : int, default 10
            How many at most.
        method : {"cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"}, default "hybrid+feedback"
            See `search`.
        lambda_ : float, default 0.3
            See `search`.
        filter : mapping or RawFilter, optional
            See `search`.
        fields : sequence of str, optional
            See `search`.
        scales : (float, float), optional
            See `search`.

        Returns
        -------
        list of list of Hit
            One list a query.

        Raises
        ------
        InvalidInputError
            If an argument cannot be used.
        ClusterError
            If the server cannot be reached, refuses, or a shard fails.
        """
        self._check_queries(queries, k, method, lambda_)
        options = SearchOptions(
            k=k, method=method, lambda_=lambda_, filters=self.filter_clauses(filter), fields=fields, scales=scales
        )
        return self._find(queries, options, stacklevel=2)

    def known_scales(self, query: Document) -> tuple[float, float]:
        """Give scales for ``search(..., method="hybrid", scales=...)`` that are known before it, so that it takes one request.

        Parameters
        ----------
        query : str or mapping
            The query.

        Returns
        -------
        cptw : float
            CPTW's scale, which is 1.
        bm25 : float
            BM25's: about its best score, by the length of the query's IDF vector.
        """
        return known_scales(self._model, query)

    def more_like(
        self,
        doc_id: str | int,
        k: int = 10,
        *,
        method: str = "cptw",
        lambda_: float = DEFAULT_LAMBDA,
        filter: AnyFilter | None = None,
    ) -> list[Hit]:
        """Find documents like one of the index, without that one.

        Parameters
        ----------
        doc_id : str or int
            The document's id.
        k : int, default 10
            How many at most.
        method : {"cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"}, default "cptw"
            See `search`.
        lambda_ : float, default 0.3
            See `search`.
        filter : mapping or RawFilter, optional
            See `search`.

        Returns
        -------
        list of Hit
            Best first.

        Raises
        ------
        InvalidInputError
            If there is no document of that id, or an argument cannot be used.
        """
        check_search("", k, method, lambda_)
        document = self.get(doc_id)
        if document is None:
            raise InvalidInputError(f"doc_id must be the id of a document of the index. There is no {doc_id!r}.")
        options = SearchOptions(
            k=k,
            method=method,
            lambda_=lambda_,
            filters=self.filter_clauses(filter),
            exclude_ids=[check_id(doc_id, "doc_id")],
        )
        return self._find([document], options, stacklevel=2)[0]
