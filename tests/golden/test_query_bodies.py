"""The request body of every builder, as it goes to the server."""

import pytest

from cptw_queries.bodies import best_score_body, ranking_body, search_body, votes_body
from cptw_queries.builders import (
    bm25_query,
    existing_query,
    hybrid_query,
    more_like_query,
    narrow,
    rank_features_query,
    sparse_vector_query,
    weights_query,
)
from cptw_queries.filters import RawFilter, filter_clauses
from cptw_search.errors import InvalidInputError, UnknownNameError

RANK_FEATURES = {
    "bool": {
        "should": [
            {"rank_feature": {"field": "cptw_weights.boat", "linear": {}, "boost": 0.8}},
            {"rank_feature": {"field": "cptw_weights.3%2E5%25", "linear": {}, "boost": 0.6}},
        ]
    }
}
SPARSE_VECTOR = {
    "sparse_vector": {"field": "cptw_weights", "query_vector": {"boat": 0.8, "3%2E5%25": 0.6}, "prune": False}
}
BM25 = {
    "bool": {
        "should": [
            {"term": {"cptw_text": {"value": "boat", "boost": 2.0}}},
            {"term": {"cptw_text": {"value": "3.5%", "boost": 1.0}}},
        ]
    }
}


def test_rank_features() -> None:
    assert rank_features_query({"boat": 0.8, "3.5%": 0.6}) == RANK_FEATURES
    assert weights_query("rank_features", {"boat": 0.8, "3.5%": 0.6}) == RANK_FEATURES


def test_sparse_vector() -> None:
    assert sparse_vector_query({"boat": 0.8, "3.5%": 0.6}) == SPARSE_VECTOR
    assert weights_query("sparse_vector", {"boat": 0.8, "3.5%": 0.6}) == SPARSE_VECTOR


def test_an_unknown_type_of_field() -> None:
    with pytest.raises(
        UnknownNameError, match="field_type must be one of 'rank_features', 'sparse_vector'. Got 'dense'"
    ):
        weights_query("dense", {"boat": 1.0})


def test_a_boost_of_the_whole() -> None:
    assert rank_features_query({"boat": 1.0}, boost=0.5)["bool"]["boost"] == 0.5
    assert sparse_vector_query({"boat": 1.0}, boost=0.5)["sparse_vector"]["boost"] == 0.5
    assert bm25_query({"boat": 1.0}, boost=0.5)["bool"]["boost"] == 0.5


def test_bm25() -> None:
    assert bm25_query({"boat": 2.0, "3.5%": 1.0}) == BM25


def test_bm25_of_a_term_with_white_space_is_one_token() -> None:
    (clause,) = bm25_query({"New York": 1.0})["bool"]["should"]
    assert clause == {"term": {"cptw_text": {"value": "New%20York", "boost": 1.0}}}


def test_bm25_of_a_word_that_the_tokenizer_cuts() -> None:
    (clause,) = bm25_query({"a" * 256: 1.0})["bool"]["should"]
    assert clause == {"match": {"cptw_text": {"query": "a" * 256, "operator": "and", "boost": 1.0}}}


def test_existing() -> None:
    assert existing_query({"boat": 0.8, "ship": 0.6}, "body") == {
        "bool": {
            "should": [
                {"term": {"body": {"value": "boat", "boost": 0.8}}},
                {"term": {"body": {"value": "ship", "boost": 0.6}}},
            ]
        }
    }


def test_hybrid_divides_each_share_by_the_best_score_of_its_half() -> None:
    assert hybrid_query([(RANK_FEATURES, 0.3, 0.5), (BM25, 0.7, 7.0)]) == {
        "bool": {
            "should": [
                {"bool": {"should": RANK_FEATURES["bool"]["should"], "boost": 0.3 / 0.5}},
                {"bool": {"should": BM25["bool"]["should"], "boost": 0.7 / 7.0}},
            ]
        }
    }
    assert "boost" not in RANK_FEATURES["bool"]  # what was given stays as it is


def test_hybrid_with_a_sparse_vector() -> None:
    assert hybrid_query([(SPARSE_VECTOR, 0.5, 2.0)]) == {
        "bool": {"should": [{"sparse_vector": {**SPARSE_VECTOR["sparse_vector"], "boost": 0.25}}]}
    }


def test_learned_words_are_added_to_a_hybrid_as_a_whole() -> None:
    learned = bm25_query({"ship": 0.25, "3.5%": 0.5})
    first = hybrid_query([(RANK_FEATURES, 0.3, 0.5), (BM25, 0.7, 7.0)])
    assert hybrid_query([(first, 0.4, 0.8), (learned, 0.6, 3.0)]) == {
        "bool": {
            "should": [
                {
                    "bool": {
                        "should": [
                            {"bool": {"should": RANK_FEATURES["bool"]["should"], "boost": 0.3 / 0.5}},
                            {"bool": {"should": BM25["bool"]["should"], "boost": 0.7 / 7.0}},
                        ],
                        "boost": 0.4 / 0.8,
                    }
                },
                {
                    "bool": {
                        "should": [
                            {"term": {"cptw_text": {"value": "ship", "boost": 0.25}}},
                            {"term": {"cptw_text": {"value": "3.5%", "boost": 0.5}}},
                        ],
                        "boost": 0.6 / 3.0,
                    }
                },
            ]
        }
    }


@pytest.mark.parametrize("half", [(BM25, 0.0, 7.0), (BM25, 0.7, 0.0)])
def test_hybrid_leaves_out_what_adds_nothing(half: tuple) -> None:  # type: ignore[type-arg]
    assert len(hybrid_query([(RANK_FEATURES, 1.0, 0.5), half])["bool"]["should"]) == 1
    assert hybrid_query([half]) == {"match_none": {}}


@pytest.mark.parametrize("scale", [-1.0, float("inf"), float("nan"), "1"])
def test_hybrid_refuses_a_scale_that_is_none(scale: object) -> None:
    with pytest.raises(InvalidInputError, match="A scale must be a number >= 0"):
        hybrid_query([(BM25, 0.5, scale)])  # type: ignore[list-item]


def test_filters() -> None:
    types = {"label": "keyword", "year": "double", "fast": "boolean", "day": "date"}
    conditions = {
        "label": ["sport", "tech"],
        "year": {"gte": 1990, "lt": 2000},
        "fast": True,
        "day": {"gte": "now-7d"},
    }
    assert filter_clauses(conditions, types) == [
        {"terms": {"label": ["sport", "tech"]}},
        {"range": {"year": {"gte": 1990.0, "lt": 2000.0}}},
        {"term": {"fast": True}},
        {"range": {"day": {"gte": "now-7d"}}},
    ]


def test_the_servers_own_language_is_passed_through() -> None:
    own = {"geo_distance": {"distance": "5km", "place": [1, 2]}}
    assert filter_clauses(RawFilter(own), {}) == [own]


def test_a_filter_does_not_change_scores() -> None:
    assert narrow(BM25) == BM25
    assert narrow(BM25, [{"term": {"label": "sport"}}]) == {
        "bool": {"must": [BM25], "filter": [{"term": {"label": "sport"}}]}
    }


def test_more_like_this() -> None:
    assert more_like_query(RANK_FEATURES, "a", [{"term": {"label": "sport"}}]) == {
        "bool": {
            "must": [RANK_FEATURES],
            "filter": [{"term": {"label": "sport"}}],
            "must_not": [{"ids": {"values": ["a"]}}],
        }
    }


def test_more_like_this_without_a_filter() -> None:
    assert more_like_query(BM25, "a") == {"bool": {"must": [BM25], "must_not": [{"ids": {"values": ["a"]}}]}}


def test_a_search() -> None:
    assert search_body(BM25, 10) == {
        "query": BM25,
        "size": 10,
        "_source": {"excludes": ["cptw_*"]},
        "track_total_hits": False,
        "sort": ["_score", {"cptw_id": "asc"}],
    }


def test_a_search_with_everything() -> None:
    assert search_body(BM25, 10, offset=20, fields=["title"], min_score=0.1) == {
        "query": BM25,
        "size": 10,
        "from": 20,
        "_source": {"includes": ["title"], "excludes": ["cptw_*"]},
        "track_total_hits": False,
        "sort": ["_score", {"cptw_id": "asc"}],
        "min_score": 0.1,
    }
    assert search_body(BM25, 10, after=(0.25, "a"), fields=[], tie_field="key") == {
        "query": BM25,
        "size": 10,
        "_source": False,
        "track_total_hits": False,
        "sort": ["_score", {"key": "asc"}],
        "search_after": [0.25, "a"],
    }
    assert "sort" not in search_body(BM25, 10, tie_field=None)


def test_stored_documents_without_our_fields_are_given_as_they_are() -> None:
    assert search_body(BM25, 10, hides_own_fields=False)["_source"] is True
    assert search_body(BM25, 10, fields=["title"], hides_own_fields=False)["_source"] == {"includes": ["title"]}
    assert search_body(BM25, 10, fields=[], hides_own_fields=False)["_source"] is False


@pytest.mark.parametrize("field_type", ["rank_features", "sparse_vector"])
def test_of_a_query_with_many_terms_the_server_scores_all_hits(field_type: str) -> None:
    def query(n_terms: int) -> dict[str, object]:
        weights = weights_query(field_type, {f"w{number}": 1.0 for number in range(n_terms - 2)})
        return narrow(hybrid_query([(weights, 0.3, 1.0), (BM25, 0.7, 1.0)]), [{"term": {"label": "sport"}}])

    for body in (lambda clause: search_body(clause, 10), best_score_body, lambda clause: ranking_body(clause, 100)):
        assert body(query(8))["track_total_hits"] is False
        assert body(query(9))["track_total_hits"] is True


def test_the_best_score_alone() -> None:
    assert best_score_body(BM25) == {
        "query": BM25,
        "size": 1,
        "_source": False,
        "stored_fields": "_none_",
        "track_total_hits": False,
    }


def test_a_long_ranking_reads_no_stored_field() -> None:
    assert ranking_body(BM25, 1000) == {
        "query": BM25,
        "size": 1000,
        "_source": False,
        "stored_fields": "_none_",
        "track_total_hits": False,
        "sort": ["_score", {"cptw_id": "asc"}],
    }
    assert "stored_fields" not in ranking_body(BM25, 1000, tie_field=None)  # the id has to be read then


def test_votes() -> None:
    assert votes_body(BM25, 11, "label", 20) == {
        "query": BM25,
        "size": 0,
        "track_total_hits": False,
        "aggs": {
            "neighbours": {
                "sampler": {"shard_size": 11},
                "aggs": {"labels": {"terms": {"field": "label", "size": 20}}},
            }
        },
    }
