"""`ExistingIndex`: semantic recall on a text index that is already there, without indexing anew.

The query is expanded by the model, and each term of the expansion becomes a boosted clause on the text field:

    score(q, d) = sum over j of  (q M)_j * BM25_j(d)

with the server's own BM25. Terms have to be the field's own tokens, so they go through the field's analyzer first
(``_analyze``); terms that become the same token are added up, those that become none (stop words) are left out. A model
that was fitted on the field's tokens (``cptw fit --from-index``) has them already: there the query goes through the
field's analyzer, and the expansion is sent as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

from cptw_queries.builders import Clause, existing_query
from cptw_queries.expansion import expand
from cptw_queries.field_tokens import FieldTokens, analyze_texts, check_text_field
from cptw_queries.filters import AnyFilter
from cptw_queries.fitting import FittedQuery, prune_to_fit
from cptw_queries.layout import read_fields, read_mapping
from cptw_queries.searching import SearchOptions
from cptw_queries.server_index import ServerIndex
from cptw_search.analysis import FIELD_TOKENS
from cptw_search.backend import DEFAULT_LAMBDA, Hit, check_search
from cptw_search.cluster import ClusterClient, check_field_name
from cptw_search.errors import InvalidInputError
from cptw_search.model import Cptw
from cptw_search.pruning import Pruning

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["DEFAULT_PRUNING", "ExistingIndex"]

DEFAULT_PRUNING = Pruning(min_share=0.05, max_terms=256)
"""What is kept of an expanded query: a clause costs the server about as much as a word of the query."""

MOST_REMEMBERED = 1_000_000

_METHODS = ("cptw", "bm25", "hybrid", "rrf")


class ExistingIndex(ServerIndex):
    """A plain text index, searched with expanded queries.

    Parameters
    ----------
    client : ClusterClient or str
        A connection, made by `cptw_search.cluster.connect`, or the address of a server; then `close` ends the
        connection, as does a ``with`` block.
    name : str
        The index or alias.
    model : Cptw
        A fitted model; its vocabulary should be that of the index. One that was fitted on the tokens of this field gives
        the best recall.
    field : str, default "text"
        The text field that is searched.
    query_pruning : Pruning, optional
        What is kept of an expanded query; by default at most 256 terms with 5 % of the heaviest term's weight.
    tie_field : str, optional
        A keyword field to order equal scores by. Without one they stand in the order of the server.

    Raises
    ------
    MissingIndexError
        If there is no such index.
    InvalidInputError
        If it has no such text field.

    See Also
    --------
    cptw_queries.ClusterIndex : For indices that hold weights, whose ranking is the model's own.
    """

    def __init__(
        self,
        client: ClusterClient | str,
        name: str,
        model: Cptw,
        *,
        field: str = "text",
        query_pruning: Pruning | None = None,
        tie_field: str | None = None,
    ) -> None:
        super().__init__(client, name, model, query_pruning=query_pruning or DEFAULT_PRUNING)
        self.field = check_field_name(field)
        self._tie_field = tie_field
        self._tokens: dict[str, list[str]] = {}
        self._index, self._field_types = self._read()
        self._field_tokens: FieldTokens | None = None
        if self._model.analyzer_fitted == FIELD_TOKENS:
            self._field_tokens = FieldTokens(self.client, self.name, self.field)
            self._model = self._model.with_analyzer(self._field_tokens)

    def _read(self) -> tuple[str, dict[str, str]]:
        index, mapping = read_mapping(self.client, self.name)
        check_text_field(index, mapping, self.field)
        return index, read_fields(mapping)

    def _read_again(self) -> bool:
        before, (self._index, self._field_types) = self._index, self._read()
        if before != self._index:
            self._tokens.clear()  # the other index may have another analyzer
            if self._field_tokens is not None:
                self._field_tokens.clear()
        return before != self._index

    def _is_known(self, index: str) -> bool:
        return index == self._index

    def _fields(self) -> Mapping[str, str]:
        return self._field_types

    def _to_tokens(self, terms: Iterable[str]) -> None:
        """Have the tokens of terms at hand."""
        if len(self._tokens) > MOST_REMEMBERED:
            self._tokens.clear()
        new = list(dict.fromkeys(term for term in terms if term not in self._tokens))
        if self._field_tokens is not None:
            self._tokens.update((term, [term]) for term in new)  # a stem must not be stemmed again
        elif new:
            self._tokens.update(zip(new, analyze_texts(self.client, self.name, self.field, new), strict=True))

    def _clauses(
        self, queries: Sequence[Document], halves: Sequence[str], limit: int
    ) -> tuple[list[dict[str, Clause]], list[FittedQuery]]:
        # Of the query's own terms, the words as they were typed go along: the field may not stem, or stem otherwise.
        typed = [self._typed_words(query) for query in queries]
        expanded = expand(self._model, queries, "both", self.query_pruning)
        self._to_tokens(word for words in typed for forms in words.values() for word in forms)
        if "cptw" in halves:
            self._to_tokens(term for query in expanded for term in query.weights)
        clauses: list[dict[str, Clause]] = [{} for _ in queries]
        pruned: list[FittedQuery] = []
        for made, words, terms in zip(clauses, typed, expanded, strict=True):
            boosts = {"cptw": self._expanded_boosts(terms.weights, words), "bm25": self._typed_boosts(words)}
            for half in halves:
                fitted = prune_to_fit(boosts[half], limit // len(halves))
                if fitted.weights:
                    made[half] = existing_query(fitted.weights, self.field)
                pruned += [fitted] if fitted.n_dropped else []
        return clauses, pruned

    def _typed_words(self, query: Document) -> dict[str, Counter[str]]:
        """Give the words of a query by their terms; those that are no terms (stop words) by the empty string."""
        analyzer = self._model.analyzer_fitted
        names = sorted(self._model.text_fields)
        texts = [query] if isinstance(query, str) else [str(query[name]) for name in names if query.get(name)]
        words: dict[str, Counter[str]] = {}
        for word in (word for text in texts for word in analyzer.words(text)):
            words.setdefault(analyzer.term(word) or "", Counter())[word] += 1
        return words

    def _expanded_boosts(self, weights: Mapping[str, float], words: Mapping[str, Counter[str]]) -> dict[str, float]:
        boosts: dict[str, float] = {}
        for term, weight in weights.items():
            forms = [*words.get(term, ()), term]
            for token in dict.fromkeys(token for form in forms for token in self._tokens.get(form, ())):
                boosts[token] = boosts.get(token, 0.0) + weight
        return boosts

    def _typed_boosts(self, words: Mapping[str, Counter[str]]) -> dict[str, float]:
        boosts: dict[str, float] = {}
        for word, count in (pair for forms in words.values() for pair in forms.items()):
            for token in self._tokens[word]:
                boosts[token] = boosts.get(token, 0.0) + count
        return boosts

    def search(
        self,
        query: Document,
        k: int = 10,
        *,
        method: str = "hybrid",
        lambda_: float = DEFAULT_LAMBDA,
        filter: AnyFilter | None = None,
        explain: bool = False,
        offset: int = 0,
        fields: Sequence[str] | None = None,
        min_score: float | None = None,
        scales: tuple[float, float] | None = None,
    ) -> list[Hit]:
        """Find the k best documents.

        Parameters
        ----------
        query : str or mapping
            A text, or a mapping with the model's fields.
        k : int, default 10
            How many at most.
        method : {"cptw", "bm25", "hybrid", "rrf"}, default "hybrid"
            The expanded query, the words of the query alone, or both together.
        lambda_ : float, default 0.3
            The share of the expanded query in ``"hybrid"``, 0 to 1.
        filter : mapping or RawFilter, optional
            As for `ClusterIndex.search`.
        explain : bool, default False
            Not to be had here: the score is not the model's.
        offset : int, default 0
            How many hits are passed over; with k at most 10,000.
        fields : sequence of str, optional
            What is returned of the stored documents; by default all.
        min_score : float, optional
            The least score of a hit.
        scales : (float, float), optional
            The scores of both halves that count as 1 in ``"hybrid"``; by default the best ones of this query.

        Returns
        -------
        list of Hit
            Best first.

        Raises
        ------
        InvalidInputError
            If an argument cannot be used.
        ClusterError
            If the server cannot be reached, refuses, or a shard fails.
        """
        check_search(query, k, method, lambda_)
        _check_method(method)
        if explain:
            raise InvalidInputError(
                "explain needs an index that holds the model's weights (ClusterIndex). The scores of an existing index are the "
                "server's: use highlight to see which words matched."
            )
        options = SearchOptions(
            k=k,
            method=method,
            lambda_=lambda_,
            filters=self.filter_clauses(filter),
            offset=offset,
            fields=fields,
            min_score=min_score,
            scales=scales,
            tie_field=self._tie_field,
        )
        return self._find([query], options, stacklevel=2)[0]

    def search_many(
        self,
        queries: Sequence[Document],
        k: int = 10,
        *,
        method: str = "hybrid",
        lambda_: float = DEFAULT_LAMBDA,
        filter: AnyFilter | None = None,
    ) -> list[list[Hit]]:
        """Find the k best documents for each query, many queries in one request.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts, or mappings with the model's fields.
        k : int, default 10
            How many at most.
        method : {"cptw", "bm25", "hybrid", "rrf"}, default "hybrid"
            See `search`.
        lambda_ : float, default 0.3
            See `search`.
        filter : mapping or RawFilter, optional
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
        _check_method(method)
        options = SearchOptions(
            k=k, method=method, lambda_=lambda_, filters=self.filter_clauses(filter), tie_field=self._tie_field
        )
        return self._find(queries, options, stacklevel=2)


def _check_method(method: str) -> None:
    if method not in _METHODS:
        raise InvalidInputError(
            f"method must be one of {', '.join(map(repr, _METHODS))} on an index that was there before. Got {method!r}: for the "
            "others documents have to be indexed with the model."
        )
