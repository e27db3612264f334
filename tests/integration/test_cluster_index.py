"""What `ClusterIndex` and `ExistingIndex` do beyond the contract, on real servers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator

import numpy as np
import pytest
from cluster_documents import load
from contract import DOCUMENTS, fitted

from cptw_indexer import ClusterIndexer
from cptw_queries import ClusterIndex, ExistingIndex, QueryPrunedWarning, RawFilter, aggregate_votes
from cptw_search import Cptw, EmbeddedIndex, KnnClassifier
from cptw_search.cluster import ClusterClient, connect, make_path
from cptw_search.errors import (
    FormatVersionError,
    InvalidInputError,
    MissingIndexError,
    ModelMismatchError,
)
from cptw_search.explain import explain
from cptw_search.highlight import to_plain
from cptw_search.pruning import Pruning

pytestmark = pytest.mark.servers

QUERY = "ship and dogs"


@pytest.fixture(params=["elasticsearch7", "elasticsearch9", "opensearch3"])
def client(request: pytest.FixtureRequest) -> Iterator[ClusterClient]:
    with connect(request.getfixturevalue(request.param).url) as client:
        yield client


@pytest.fixture
def index(client: ClusterClient, index_name: str) -> ClusterIndex:
    model = fitted()
    load(client, index_name, model, DOCUMENTS)
    return ClusterIndex(client, index_name, model)


def test_our_own_fields_are_never_shown(client: ClusterClient, index: ClusterIndex, index_name: str) -> None:
    there = f"{index_name}-there"  # an index of somebody else's, whose stored documents get our fields
    client.request("PUT", make_path(there), body={"mappings": {"properties": {"id": {"type": "keyword"}}}})
    for document in DOCUMENTS:
        client.request("PUT", make_path(there, "_doc", str(document["id"])), body=document)
    client.request("POST", make_path(there, "_refresh"))
    ClusterIndexer(client, there, index.model).add_to_existing(progress=False)
    added = ClusterIndex(client, there, index.model)
    assert (index.layout.stores_own_fields, added.layout.stores_own_fields) == (False, True)
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"):
        for one in (index, added):
            hits = one.search(QUERY, k=20, method=method)
            assert hits
            assert not [name for hit in hits for name in hit.fields if name.startswith("cptw_")]
            assert all("text" in hit.fields or "title" in hit.fields for hit in hits)


@pytest.mark.parametrize("method", ["cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"])
def test_pages_make_the_whole(index: ClusterIndex, method: str) -> None:
    whole = index.search(QUERY, k=20, method=method)
    assert len(whole) > 3
    by_offset = [hit for offset in range(0, 20, 2) for hit in index.search(QUERY, k=2, method=method, offset=offset)]
    assert by_offset == whole
    found, after = [], None
    while page := index.search(QUERY, k=2, method=method, after=after):
        found += page
        after = page[-1]
    assert found == whole


def test_only_the_fields_that_are_asked_for(index: ClusterIndex) -> None:
    for method in ("cptw", "hybrid+feedback", "rrf"):
        (hit,) = index.search("bark", k=1, method=method, fields=["label", "ti*"])
        assert hit.fields == {"label": "pets", "title": "Dogs"}
        (hit,) = index.search("bark", k=1, method=method, fields=[])
        assert (hit.id, hit.fields) == ("d", {})
    (hit,) = index.search("bark", k=1, fields=["label"], explain=True, method="cptw")  # which needs the text
    assert hit.fields == {"label": "pets"}
    assert hit.explanation is not None


@pytest.mark.parametrize("method", ["cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"])
def test_the_least_score(index: ClusterIndex, method: str) -> None:
    whole = index.search(QUERY, k=20, method=method)
    least = whole[1].score
    assert index.search(QUERY, k=20, method=method, min_score=least) == [hit for hit in whole if hit.score >= least]


def test_given_scales_need_no_request_of_their_own(index: ClusterIndex) -> None:
    scales = tuple(index.search(QUERY, k=1, method=method)[0].score for method in ("cptw", "bm25"))
    for method in ("hybrid", "hybrid+feedback"):
        ours = index.search(QUERY, k=20, method=method, scales=scales)  # type: ignore[arg-type]
        theirs = index.search(QUERY, k=20, method=method)
        assert [hit.id for hit in ours] == [hit.id for hit in theirs]
        assert [hit.score for hit in ours] == pytest.approx([hit.score for hit in theirs])


def test_scales_that_are_known_before_the_search(index: ClusterIndex) -> None:
    cptw, bm25 = index.known_scales(QUERY)
    found = {
        method: {hit.id: hit.score for hit in index.search(QUERY, k=20, method=method)} for method in ("cptw", "bm25")
    }
    for hit in index.search(QUERY, k=20, method="hybrid", lambda_=0.4, scales=(cptw, bm25)):
        expected = 0.4 * found["cptw"].get(hit.id, 0) / cptw + 0.6 * found["bm25"].get(hit.id, 0) / bm25
        assert hit.score == pytest.approx(expected, rel=1e-5)


def test_hybrid_scores_mean_what_the_embedded_engines_do(index: ClusterIndex) -> None:
    embedded = EmbeddedIndex.build(index.model, DOCUMENTS)
    assert index.search(QUERY, k=1, method="hybrid")[0].score <= 1.0
    for method in ("cptw", "hybrid"):
        ours = {hit.id: hit.score for hit in index.search("ships at sea", k=20, method=method)}
        theirs = {hit.id: hit.score for hit in embedded.search("ships at sea", k=20, method=method)}
        assert ours == pytest.approx(theirs, rel=0.1)  # BM25 is the server's, with the statistics of its index


@pytest.mark.parametrize("placement", ["query", "both", "document"])
def test_learned_words_score_as_in_the_embedded_engine(client: ClusterClient, index_name: str, placement: str) -> None:
    rng = np.random.default_rng(7)
    popularity = 1 / np.arange(1, 51)
    words = [f"w{number:02}" for number in range(50)]
    texts = [" ".join(rng.choice(words, size=rng.integers(4, 20), p=popularity / popularity.sum())) for _ in range(60)]
    documents = [
        {"id": f"{number:02}", "text": text, "part": number % 2, "title": words[number % 50]}
        for number, text in enumerate(texts)
    ]
    model = Cptw(vectors="lsi", n_dimensions=10, tau=0.4, weighting="idf-input", analyzer="whitespace").fit(documents)
    embedded = EmbeddedIndex.build(model, documents, placement=placement)
    load(client, index_name, model, documents, placement=placement)
    index = ClusterIndex(client, index_name, model)
    queries = ["w03 w17", "w00 w01 w02", texts[5]]
    # Without CPTW nothing is cut to nine bits, and the statistics are the model's: the scores are the same.
    for lambda_, tolerance in ((0.0, 1e-4), (0.3, 0.03)):
        for conditions in (None, {"part": 1}):
            asked = {"k": 60, "method": "hybrid+feedback", "lambda_": lambda_, "filter": conditions}
            for ours, theirs in zip(
                index.search_many(queries, **asked), embedded.search_many(queries, **asked), strict=True
            ):
                assert ours[0].score <= 1.001
                scores = {hit.id: hit.score for hit in theirs}
                assert {hit.id: hit.score for hit in ours} == pytest.approx(scores, rel=tolerance)


def test_filters_in_the_servers_own_language(index: ClusterIndex) -> None:
    wood = RawFilter({"bool": {"must_not": [{"term": {"tags": "wood"}}]}})
    assert {hit.id for hit in index.search("ship", filter=wood, method="cptw")} == {"b", "e"}
    assert index.count(wood) == len(DOCUMENTS) - 1
    assert [{hit.id for hit in hits} for hits in index.search_many(["ship"], filter=wood, method="cptw")] == [
        {"b", "e"}
    ]


def test_filters_compare_by_type_as_the_embedded_engine_does(index: ClusterIndex) -> None:
    embedded = EmbeddedIndex.build(index.model, DOCUMENTS)
    for conditions in (
        {"year": "2004"},
        {"year": True},
        {"label": 3},
        {"fast": "true"},
        {"fast": {"gte": False}},
        {"fast": {"gt": False}},
        {"year": {"gt": float("-inf")}},
        {"year": float("inf")},
        {"label": {"gte": "p", "lt": "sky"}},
        {"label": "\ud800"},
        {"tags": ["wood", 3, True]},
    ):
        assert index.count(conditions) == embedded.count(conditions), conditions


def test_more_like_a_document(index: ClusterIndex) -> None:
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"):
        assert [hit.id for hit in index.more_like("b", k=1, method=method)] == ["e"]
    assert [hit.id for hit in index.more_like("b", filter={"label": "water"})] == ["a"]
    with pytest.raises(InvalidInputError, match="There is no 'nobody'"):
        index.more_like("nobody")


def test_explanations_are_the_embedded_ones(index: ClusterIndex) -> None:
    embedded = EmbeddedIndex.build(index.model, DOCUMENTS)
    ours = {hit.id: hit.explanation for hit in index.search(QUERY, explain=True, method="cptw")}
    assert ours == {hit.id: hit.explanation for hit in embedded.search(QUERY, explain=True, method="cptw")}


def test_signed_weightings_are_cut_off_at_zero(client: ClusterClient, index_name: str) -> None:
    model = fitted(weighting="idf-released")
    load(client, index_name, model, DOCUMENTS, placement="both")
    for hit in ClusterIndex(client, index_name, model).search(QUERY, k=20, explain=True, method="cptw"):
        expected = explain(model, QUERY, hit.fields, nonnegative=True)
        assert hit.explanation == expected
        assert hit.score == pytest.approx(expected.score, rel=0.02)


def test_highlights_tell_direct_words_from_propagated_ones(index: ClusterIndex) -> None:
    marked = {hit.id: index.highlight("ship", hit) for hit in index.search("ship", method="cptw")}
    assert to_plain(*marked["b"]["text"]) == "**Ships** cross the _ocean_"
    assert "_boat_" in to_plain(*marked["a"]["text"])


def test_long_queries_are_pruned_and_the_caller_is_told(index: ClusterIndex) -> None:
    index = ClusterIndex(index.client, index.name, index.model, query_pruning=Pruning())
    limit = index.max_clauses if index.max_clauses < 10_000 else 8_192
    query = " ".join(f"filler{number}" for number in range(limit + 500)) + " ship ship"
    for method in ("cptw", "bm25", "hybrid", "hybrid+feedback"):
        with pytest.warns(QueryPrunedWarning, match=r"The query had more terms than the server takes.*% of the weight"):
            hits = index.search(query, method=method, filter={"label": ["water", "copies"], "year": {"gte": -5}})
        assert {"b", "e"} <= {hit.id for hit in hits}
    with pytest.warns(QueryPrunedWarning, match="1 of 2 queries") as caught:
        index.search_many(["ship", query], method="cptw")
    assert caught[0].filename == __file__


def test_a_limit_that_was_taken_for_higher_is_learned(index: ClusterIndex) -> None:
    index = ClusterIndex(index.client, index.name, index.model, query_pruning=Pruning())
    index._known_limit = 10**9
    query = " ".join(f"filler{number}" for number in range(20_000)) + " ship ship"
    with pytest.warns(QueryPrunedWarning, match="The query had more terms"):
        assert {"b", "e"} <= {hit.id for hit in index.search(query, method="cptw")}
    assert index.max_clauses < 20_000


def test_an_alias_that_moves_is_followed(client: ClusterClient, index_name: str) -> None:
    model = fitted()
    load(client, index_name, model, DOCUMENTS[:2], placement="query")
    index = ClusterIndex(client, index_name, model)
    assert {hit.id for hit in index.search("ship", method="cptw")} == {"a", "b"}
    second = load(client, index_name, model, DOCUMENTS, placement="document")
    assert {hit.id for hit in index.search("ship", method="cptw")} == {"a", "b", "e"}
    assert (index.layout.index, index.layout.placement) == (second, "document")
    for hit in index.search("ship", method="cptw"):
        assert hit.score == pytest.approx(explain(model, "ship", hit.fields).score, rel=0.02)
    load(client, index_name, fitted(tau=0.9), DOCUMENTS)
    for query in ("ship", "submarine"):  # whether something is found or not
        with pytest.raises(ModelMismatchError, match=model.model_id):
            index.search(query, method="cptw")


def test_a_field_that_comes_later_can_be_filtered_on(index: ClusterIndex, client: ClusterClient) -> None:
    with pytest.raises(InvalidInputError, match="'colour'"):
        index.count({"colour": "red"})
    client.request("PUT", f"/{index.name}/_doc/x", body={"id": "x", "colour": "red"}, params={"refresh": True})
    assert index.count({"colour": "red"}) == 1
    assert index.values("colour") == ["red"]


def test_more_values_than_a_page(client: ClusterClient, index_name: str) -> None:
    model = fitted()
    documents = [{"id": n, "text": "ship", "label": f"label {n:04}"} for n in range(2_100)]
    load(client, index_name, model, documents)
    index = ClusterIndex(client, index_name, model)
    assert index.values("label") == [document["label"] for document in documents]
    assert index.values("text") == index.values("id.nothing") == []
    assert len(index.search("ship", k=2_100, method="cptw")) == 2_100


def test_several_shards_rank_alike(client: ClusterClient, index_name: str) -> None:
    model = fitted()
    load(client, f"{index_name}-1", model, DOCUMENTS, n_shards=1)
    load(client, f"{index_name}-3", model, DOCUMENTS, n_shards=3)
    index = ClusterIndex(client, f"{index_name}-3", model)
    assert index.search(QUERY, method="cptw") == ClusterIndex(client, f"{index_name}-1", model).search(
        QUERY, method="cptw"
    )
    with pytest.raises(InvalidInputError, match="aggregate_votes needs an index of one shard"):
        aggregate_votes(index, [QUERY])


def test_neighbours_vote(index: ClusterIndex) -> None:
    embedded = EmbeddedIndex.build(index.model, DOCUMENTS)
    texts = ["a ship", "my dog", "zeppelin", "submarine", ""]
    for votes in ("distance", "similarity", "uniform"):
        ours = KnnClassifier(index, k=3, votes=votes)
        theirs = KnnClassifier(embedded, k=3, votes=votes)
        assert ours.predict(texts).tolist() == theirs.predict(texts).tolist()
        assert ours.classes_.tolist() == theirs.classes_.tolist()
    by_server = aggregate_votes(index, texts, k=3)
    for one, other in zip(KnnClassifier(index, k=3, votes="uniform").vote_many(texts), by_server, strict=True):
        assert one == pytest.approx(other)
    assert aggregate_votes(index, ["ship"], filter={"label": "water"}) == [{"water": 1.0}]
    with pytest.raises(InvalidInputError, match="label_field must be a field of strings.*Got 'year'"):
        aggregate_votes(index, texts, label_field="year")


def test_an_index_with_bm25_alone(client: ClusterClient, index_name: str) -> None:
    model = fitted()
    load(client, index_name, model, DOCUMENTS, field_type="none")
    index = ClusterIndex(client, index_name, model)
    assert [hit.id for hit in index.search("ship", method="bm25")] == ["b", "e"]
    with pytest.raises(InvalidInputError, match="method must be 'bm25' on the index"):
        index.search("ship", method="cptw")


class TestRefused:
    @pytest.fixture
    def client(self, opensearch3: object) -> Iterator[ClusterClient]:
        with connect(opensearch3.url) as client:  # type: ignore[attr-defined]
            yield client

    def test_another_model(self, client: ClusterClient, index_name: str) -> None:
        model, other = fitted(), fitted(tau=0.9)
        load(client, index_name, model, DOCUMENTS)
        with pytest.raises(ModelMismatchError, match=f"built with, {model.model_id}. Got {other.model_id}: load that"):
            ClusterIndex(client, index_name, other)

    def test_a_missing_index(self, client: ClusterClient, index_name: str) -> None:
        with pytest.raises(MissingIndexError, match=f"There is no index or alias '{index_name}' on the cluster"):
            ClusterIndex(client, index_name, fitted())

    def test_an_index_that_is_deleted_meanwhile(self, client: ClusterClient, index_name: str) -> None:
        model = fitted()
        name = load(client, index_name, model, DOCUMENTS)
        index = ClusterIndex(client, index_name, model)
        client.request("DELETE", f"/{name}")
        for read in (index.search, index.get, index.values):
            with pytest.raises(MissingIndexError, match="no.* index"):
                read("ship")

    def test_a_name_that_is_none(self, client: ClusterClient) -> None:
        with pytest.raises(InvalidInputError, match="The name of an index must be"):
            ClusterIndex(client, "news*,secrets", fitted())

    def test_an_index_of_somebody_else(self, client: ClusterClient, index_name: str) -> None:
        client.request("PUT", f"/{index_name}")
        with pytest.raises(
            InvalidInputError, match="must have been made by cptw_indexer.*use cptw_queries.ExistingIndex"
        ):
            ClusterIndex(client, index_name, fitted())

    @pytest.mark.parametrize(
        ("meta", "error", "message"),
        [
            ({"format": 2}, FormatVersionError, "must have the format 1. It has 2"),
            ({"format": 1, "placement": "odd"}, InvalidInputError, "The placement of the index .* must be one of"),
            (
                {"format": 1, "placement": "query", "field_type": "rank_features"},
                InvalidInputError,
                "must have a field 'cptw_weights' of the type 'rank_features'. It has none",
            ),
        ],
    )
    def test_an_index_that_is_damaged(
        self, client: ClusterClient, index_name: str, meta: dict[str, object], error: type[Exception], message: str
    ) -> None:
        client.request("PUT", f"/{index_name}", body={"mappings": {"_meta": {"cptw": meta}}})
        with pytest.raises(error, match=message):
            ClusterIndex(client, index_name, fitted())

    def test_an_alias_for_several(self, client: ClusterClient, index_name: str) -> None:
        model = fitted()
        for number in (1, 2):
            index = load(client, f"{index_name}-{number}", model, DOCUMENTS)
            client.request("PUT", f"/{index}/_alias/{index_name}")
        with pytest.raises(InvalidInputError, match="An alias must stand for one index"):
            ClusterIndex(client, index_name, model)


class TestExisting:
    """A plain text index, made without this package."""

    analyzer = "standard"

    @pytest.fixture
    def existing(self, client: ClusterClient, index_name: str) -> ExistingIndex:
        properties = {"text": {"type": "text", "analyzer": self.analyzer}, "label": {"type": "keyword"}}
        body = {"settings": {"number_of_shards": 1}, "mappings": {"properties": properties}}
        client.request("PUT", f"/{index_name}", body=body)
        for document in DOCUMENTS[:6]:
            client.request("PUT", f"/{index_name}/_doc/{document['id']}", body=document)
        client.request("POST", f"/{index_name}/_refresh")
        return ExistingIndex(client, index_name, fitted(), tie_field="id.keyword")

    def test_it_finds_what_shares_no_word_with_the_query(self, existing: ExistingIndex) -> None:
        assert [hit.id for hit in existing.search("ships", method="bm25")] == ["b", "e"]
        assert [hit.id for hit in existing.search("ships", method="hybrid")] == ["b", "e", "a"]
        for method in ("cptw", "rrf"):
            assert {hit.id for hit in existing.search("ships", method=method)} == {"a", "b", "e"}
        assert existing.search("submarine", method="cptw") == existing.search("", method="cptw") == []

    def test_many_queries_give_what_each_gives(self, existing: ExistingIndex) -> None:
        queries = ["ships", "", "dog at sea", {"text": "cats"}]
        for method in ("cptw", "bm25", "hybrid", "rrf"):
            assert existing.search_many(queries, 5, method=method) == [
                existing.search(query, 5, method=method) for query in queries
            ]

    def test_filters_documents_and_marks(self, existing: ExistingIndex) -> None:
        assert [hit.id for hit in existing.search("ships", filter={"label": "copies"}, method="cptw")] == ["e"]
        assert existing.get("a") == DOCUMENTS[0]
        assert existing.values("label") == ["copies", "none", "pets", "water"]
        hit = next(hit for hit in existing.search("ships", fields=["text"], method="cptw") if hit.id == "a")
        assert "_boat_" in to_plain(*existing.highlight("ships", hit)["text"])

    def test_without_a_field_for_ties(self, existing: ExistingIndex) -> None:
        index = ExistingIndex(existing.client, existing.name, existing.model)
        for method in ("cptw", "rrf"):
            assert {hit.id for hit in index.search("ships", method=method)} == {"a", "b", "e"}

    def test_what_cannot_be_had(self, existing: ExistingIndex) -> None:
        with pytest.raises(InvalidInputError, match="explain needs an index that holds the model's weights"):
            existing.search("ships", explain=True, method="cptw")
        with pytest.raises(InvalidInputError, match="'rrf' on an index that was there before. Got 'hybrid\\+feedback'"):
            existing.search("ships", method="hybrid+feedback")
        for field in ("label", "body"):
            with pytest.raises(InvalidInputError, match=f"must have a searchable text field '{field}'"):
                ExistingIndex(existing.client, existing.name, existing.model, field=field)


class TestExistingStemmed(TestExisting):
    """With the server's own English analyzer, which the test archives of Elasticsearch lack."""

    analyzer = "english"

    @pytest.fixture
    def client(self, opensearch3: object) -> Iterator[ClusterClient]:
        with connect(opensearch3.url) as client:  # type: ignore[attr-defined]
            yield client

    def test_terms_become_the_fields_own_tokens(self, existing: ExistingIndex) -> None:
        (clauses,), _ = existing._clauses(["the ships"], ["cptw"], 100)
        tokens = [clause["term"]["text"]["value"] for clause in clauses["cptw"]["bool"]["should"]]
        assert "ship" in tokens
        assert len(tokens) == len(set(tokens))
        assert "the" not in tokens


def test_an_address_will_do(opensearch3: object, index_name: str) -> None:
    url = opensearch3.url  # type: ignore[attr-defined]
    with connect(url) as client:
        load(client, index_name, fitted(), DOCUMENTS)
    with ClusterIndex(url, index_name, fitted()) as index:
        assert [hit.id for hit in index.search("bark", method="cptw")] == ["d"]
        assert repr(index) == f"ClusterIndex('{index_name}', {index.client!r})"


def test_nothing_is_warned_about_where_nothing_is_lost(index: ClusterIndex) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert index.search(QUERY, method="cptw")
        assert isinstance(index.model, Cptw)
