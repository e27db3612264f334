"""What all indices on a cluster have in common: checks, filters, stored documents, and repeated attempts."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from cptw_queries.builders import Clause
from cptw_queries.filters import STRINGS, AnyFilter
from cptw_queries.filters import filter_clauses as make_clauses
from cptw_queries.fitting import FittedQuery, QueryPrunedWarning, pruning_message
from cptw_queries.learning import Learner
from cptw_queries.searching import HALVES, LEARNING, SearchOptions, SearchPart, check_options, run_searches
from cptw_queries.sending import RawHit, TooManyClausesError, fetch_documents
from cptw_search.backend import Hit, check_search
from cptw_search.cluster import RESERVED_PREFIX, ClusterClient, check_index_name, connect, make_path
from cptw_search.cluster_answers import read_number, read_part
from cptw_search.document_ids import check_id
from cptw_search.errors import ClusterConnectionError, InvalidInputError, RejectedError
from cptw_search.explain import explain
from cptw_search.highlight import Snippet, find_spans, snippet
from cptw_search.model import Cptw
from cptw_search.pruning import Pruning

if TYPE_CHECKING:
    from typing_extensions import Self

    from cptw_search.counting import Document

__all__ = ["ServerIndex"]

PAGE_OF_VALUES = 1_000
MOST_ATTEMPTS = 4  # the server's limit may be learned, and an alias may move, while a search goes on


class ServerIndex(ABC):
    """An index on a cluster; see `ClusterIndex` and `ExistingIndex`.

    Parameters
    ----------
    client : ClusterClient or str
        A connection, or the address of a server.
    name : str
        The index or alias.
    model : Cptw
        A fitted model.
    query_pruning : Pruning
        What is kept of propagated queries.
    """

    _tie_field: str | None

    def __init__(self, client: ClusterClient | str, name: str, model: Cptw, *, query_pruning: Pruning) -> None:
        self.name = check_index_name(name)
        model.model_id  # noqa: B018 - refuses a model that is not fitted or cannot be told from others
        self._model = copy.copy(model)  # fitting the caller's object anew must not change this index
        self._owns_client = isinstance(client, str)
        self.client = connect(client) if isinstance(client, str) else client
        self.query_pruning = query_pruning
        self._known_limit: int | None = None

    @property
    def model(self) -> Cptw:
        """The model that queries are expanded with."""
        return self._model

    @property
    def max_clauses(self) -> int:
        """How many terms a query may have; asked of the server once, corrected when it refuses."""
        if self._known_limit is None:
            self._known_limit = self.client.max_clause_count()
        return self._known_limit

    # What differs -------------------------------------------------------------------------------------------------

    @abstractmethod
    def _clauses(
        self, queries: Sequence[Document], halves: Sequence[str], limit: int
    ) -> tuple[list[dict[str, Clause]], list[FittedQuery]]:
        """Make the clauses of each query, and tell which queries lost terms to the limit."""

    @abstractmethod
    def _fields(self) -> Mapping[str, str]:
        """Give the fields that can be filtered on."""

    @abstractmethod
    def _read_again(self) -> bool:
        """Read anew what the index holds; True if queries have to be made anew."""

    @abstractmethod
    def _is_known(self, index: str) -> bool:
        """Tell whether hits of that index are hits of what was read."""

    def _stores_own_fields(self) -> bool:
        """Tell whether stored documents may have our own fields in them."""
        return True

    # Searching ----------------------------------------------------------------------------------------------------

    def _check_queries(self, queries: Sequence[Document], k: int, method: str, lambda_: float) -> None:
        if isinstance(queries, (str, bytes, Mapping)):
            raise InvalidInputError("queries must come as a list. Got a single one: put it into a list, or use search.")
        for query in queries:
            check_search(query, k, method, lambda_)
        check_search("", k, method, lambda_)

    def _find(
        self,
        queries: Sequence[Document],
        options: SearchOptions,
        *,
        stacklevel: int,
        parts: list[list[SearchPart]] | None = None,
    ) -> list[list[Hit]]:
        check_options(options)
        for attempt in range(1, MOST_ATTEMPTS + 1):
            limit = self.max_clauses - _room(options)
            learner = Learner(self._model, limit)
            room = limit - learner.n_terms if options.method == LEARNING else limit
            clauses, pruned = self._clauses(queries, HALVES[options.method], max(room, 2))
            asked = replace(options, hides_own_fields=self._stores_own_fields())  # of the index that is there now
            try:
                found = run_searches(self.client, self.name, clauses, asked, learner, parts)
            except TooManyClausesError as error:
                if error.limit >= self.max_clauses or attempt == MOST_ATTEMPTS:
                    raise
                self._known_limit = error.limit
                continue
            except RejectedError:
                if attempt == MOST_ATTEMPTS or not self._read_again():
                    raise
                continue
            if attempt < MOST_ATTEMPTS and self._has_moved(found, clauses):
                continue
            break
        if pruned := pruned + learner.pruned:
            message = pruning_message(pruned, len(queries), limit)
            warnings.warn(message, QueryPrunedWarning, stacklevel=stacklevel + 1)
        return [self._hits(hits) for hits in found]

    def _has_moved(self, found: list[list[RawHit]], clauses: list[dict[str, Clause]]) -> bool:
        """Tell whether an alias was pointed at another index since that was looked at."""
        indices = {read_part(hit, str, "_index") for hits in found for hit in hits}
        if (indices and all(map(self._is_known, indices))) or not any(clauses):
            return False
        return self._read_again()  # nothing found may mean that all is different now

    def _hits(self, hits: list[RawHit]) -> list[Hit]:
        found = []
        for hit in hits:
            stored = hit.get("_source") or {}
            fields = {
                name: value for name, value in stored.items() if name != "id" and not name.startswith(RESERVED_PREFIX)
            }
            found.append(Hit(read_part(hit, str, "_id"), read_number(hit, "_score"), fields))
        return found

    def filter_clauses(self, filter: AnyFilter | None) -> list[Clause]:
        """Turn a filter into clauses of the server's query language.

        Parameters
        ----------
        filter : mapping, RawFilter or None
            The filter.

        Returns
        -------
        list of dict
            Clauses that all have to match.

        Raises
        ------
        InvalidInputError
            If it is no filter, or a field is not there.
        """
        try:
            return make_clauses(filter, self._fields())
        except InvalidInputError:
            self._read_again()  # a document that came later may have brought the field
            return make_clauses(filter, self._fields())

    # Documents ----------------------------------------------------------------------------------------------------

    def get(self, doc_id: str | int) -> dict[str, object] | None:
        """Give a document as it was stored.

        Parameters
        ----------
        doc_id : str or int
            Its id.

        Returns
        -------
        dict or None
            The document with its id; None where there is none.

        Raises
        ------
        InvalidInputError
            If ``doc_id`` cannot be an id.
        ClusterError
            If the server cannot be asked.
        """
        wanted = check_id(doc_id, "doc_id")
        found = fetch_documents(self.client, self.name, [wanted]).get(wanted)
        return None if found is None else {"id": wanted, **(found.get("_source") or {})}

    def count(self, filter: AnyFilter | None = None) -> int:
        """Count documents.

        Parameters
        ----------
        filter : mapping or RawFilter, optional
            Count only those that it lets through.

        Returns
        -------
        int
            How many.
        """
        clauses = self.filter_clauses(filter)
        body = {"query": {"bool": {"filter": clauses}}} if clauses else None
        answer = self.client.request("POST", make_path(self.name, "_count"), body=body)
        if read_part(answer, int, "_shards", "failed"):
            raise ClusterConnectionError(
                f"All shards of {self.name!r} must count their documents. Some did not answer.", is_temporary=True
            )
        return read_part(answer, int, "count")

    def values(self, field: str) -> list[str]:
        """List the distinct strings in a field.

        Parameters
        ----------
        field : str
            A field that can be filtered on, such as ``label``.

        Returns
        -------
        list of str
            Sorted; empty for a field that is not there or does not hold strings.
        """
        if field not in self._fields():
            self._read_again()
        if self._fields().get(field) not in STRINGS:
            return []
        found: list[str] = []
        pages: dict[str, Any] = {"size": PAGE_OF_VALUES, "sources": [{"value": {"terms": {"field": field}}}]}
        while True:
            body = {"size": 0, "track_total_hits": False, "aggs": {"values": {"composite": pages}}}
            path, params = make_path(self.name, "_search"), {"allow_partial_search_results": False}
            answer = self.client.request("POST", path, body=body, params=params)
            buckets = read_part(answer, list, "aggregations", "values", "buckets")
            found += [read_part(bucket, str, "key", "value") for bucket in buckets]
            if len(buckets) < PAGE_OF_VALUES:
                return sorted(found)
            after = read_part(answer, dict, "aggregations", "values", "after_key")
            if after == pages.get("after"):
                raise ClusterConnectionError(f"{self.name!r} gives the same values of {field!r} again and again.")
            pages = {**pages, "after": after}

    def highlight(
        self, query: Document, hit: Hit, *, max_characters: int = 240, min_share: float = 0.01
    ) -> dict[str, Snippet]:
        """Mark the words of a hit that carry its score, direct matches and propagated ones told apart.

        The model does this from the stored text: a server knows the words, but not why they match.

        Parameters
        ----------
        query : str or mapping
            The query.
        hit : Hit
            A hit that has the text fields.
        max_characters : int, default 240
            How long a snippet may be.
        min_share : float, default 0.01
            A propagated word is marked from this part of the score on; a direct one always.

        Returns
        -------
        dict
            Each text field of the hit to a part of its text with marks, for `cptw_search.highlight.to_html`,
            ``to_plain`` or ``to_rich``.

        Raises
        ------
        InvalidInputError
            If the hit has none of the model's text fields.
        """
        explanation = explain(self._model, query, hit.fields, nonnegative=True, max_via=0)
        snippets = {}
        for name in sorted(self._model.text_fields & hit.fields.keys()):
            text = hit.fields[name]
            if isinstance(text, str):
                spans = find_spans(self._model, explanation, text, min_share=min_share)
                snippets[name] = snippet(text, spans, max_characters)
        return snippets

    def close(self) -> None:
        """Close the connection, if it was made here and not given."""
        if self._owns_client:
            self.client.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r}, {self.client!r})"


def _room(options: SearchOptions) -> int:
    """Estimate how many clauses filters take, which count like those of the query; servers rewrite each to a few."""
    n_values = sum(map(_n_values, options.filters)) + len(options.exclude_ids)
    return 2 * n_values + 2 if n_values else 0


def _n_values(content: object) -> int:
    if isinstance(content, Mapping):
        return sum(map(_n_values, content.values()))
    return sum(map(_n_values, content)) if isinstance(content, (list, tuple)) else 1
