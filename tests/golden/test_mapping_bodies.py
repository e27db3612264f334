"""The requests of the write path, readable."""

import json

from cptw_indexer.bodies import Encoder, deletion
from cptw_indexer.mapping import Layout, added_mapping, index_body, make_meta, served_settings
from cptw_search import Cptw, WordVectors
from cptw_search.pruning import Pruning

VECTORS = WordVectors(["boat", "ship", "cat"], [[1, 0], [4, 3], [-1, 1]])  # cosine of boat and ship: 0.8
TEXTS = ["a boat", "the ship", "a cat"]


def model(**parameters):
    return Cptw(**{"vectors": VECTORS, "tau": 0.5, "normalization": "none", "row_norm": "none", **parameters}).fit(
        TEXTS
    )


def lines(encoder, *documents):
    encoded = encoder.encode(list(enumerate(documents)))
    assert encoded.rejections == []
    return [json.loads(line) for action in encoded.actions for line in action.lines.decode().splitlines()]


def test_a_new_index():
    layout = Layout("both", "rank_features", Pruning(min_share=0.01, max_terms=100))
    meta = make_meta("abc", layout, "news", "2026-11-16T06:00:00.000000Z", complete=False)
    assert index_body(model(k1=0.9, b=0.4), layout, meta, n_shards=3) == {
        "settings": {
            "number_of_shards": 3,
            "number_of_replicas": 0,
            "refresh_interval": "-1",
            "similarity": {"cptw_bm25": {"type": "BM25", "k1": 0.9, "b": 0.4}},
        },
        "mappings": {
            "_meta": {
                "cptw": {
                    "format": 1,
                    "model_id": "abc",
                    "placement": "both",
                    "field_type": "rank_features",
                    "pruning": {"min_share": 0.01, "max_terms": 100},
                    "alias": "news",
                    "created": "2026-11-16T06:00:00.000000Z",
                    "complete": False,
                }
            },
            "_source": {"excludes": ["cptw_weights", "cptw_text", "cptw_id"]},
            "date_detection": False,
            "dynamic_templates": [
                {"strings": {"match_mapping_type": "string", "mapping": {"type": "keyword", "ignore_above": 256}}},
                {"whole_numbers": {"match_mapping_type": "long", "mapping": {"type": "double"}}},
                {"numbers": {"match_mapping_type": "double", "mapping": {"type": "double"}}},
            ],
            "properties": {
                "id": {"type": "keyword", "ignore_above": 512},
                "text": {"type": "text", "index": False},
                "title": {"type": "text", "index": False},
                "cptw_id": {"type": "keyword"},
                "cptw_text": {
                    "type": "text",
                    "analyzer": "whitespace",
                    "index_options": "freqs",
                    "similarity": "cptw_bm25",
                },
                "cptw_weights": {"type": "rank_features"},
            },
        },
    }


def test_an_index_with_sparse_vectors_and_one_with_bm25_only():
    sparse = index_body(model(), Layout(field_type="sparse_vector"), {})["mappings"]["properties"]
    assert sparse["cptw_weights"] == {"type": "sparse_vector"}
    plain = index_body(model(), Layout(field_type="none"), {})["mappings"]["properties"]
    assert sorted(plain) == ["cptw_id", "cptw_text", "id", "text", "title"]


def test_an_index_that_was_there_before():
    assert added_mapping(Layout(), {"owner": "them", "cptw": {}}) == {
        "_meta": {"owner": "them", "cptw": {}},
        "properties": {
            "cptw_id": {"type": "keyword"},
            "cptw_text": {"type": "text", "analyzer": "whitespace", "index_options": "freqs"},
            "cptw_weights": {"type": "rank_features"},
        },
    }


def test_settings_after_the_load():
    assert served_settings(2) == {"index": {"refresh_interval": None, "number_of_replicas": 2}}


def test_a_document_as_small_as_with_bm25():
    document = {"id": 7, "title": "Ships", "text": "a boat, a boat", "label": "water"}
    assert lines(Encoder(model(), Layout("query")), document) == [
        {"index": {"_id": "7"}},
        {
            **document,
            "cptw_id": "7",
            "cptw_text": "boat boat ship",
            "cptw_weights": {"boat": 2, "ship": 1},  # counts alone: the query is propagated
        },
    ]


def test_a_propagated_document():
    _, source = lines(Encoder(model(), Layout("both")), {"id": "a", "text": "a boat, a boat"})
    # 2 * 0.8 = 1.6 is stored in nine bits as 1.59765625, like all numbers from there up to 1.6015625
    assert source["cptw_weights"] == {"boat": 2, "ship": 1.6}


def test_a_pruned_document():
    _, source = lines(Encoder(model(), Layout("both", pruning=Pruning(max_terms=1))), {"id": "a", "text": "a boat"})
    assert source["cptw_weights"] == {"boat": 1}


def test_weights_of_fields_repeat_the_tokens():
    weighted = model(field_weights={"title": 2.6, "text": 1.0})
    _, source = lines(Encoder(weighted, Layout("query")), {"id": "a", "title": "boat", "text": "ship boat"})
    assert source["cptw_text"] == "boat boat boat boat ship"  # 2.6 + 1 is 4, nearly
    assert source["cptw_weights"] == {"boat": 3.6, "ship": 1}


def test_plain_texts_unknown_words_and_no_words():
    sources = lines(Encoder(model(analyzer="whitespace"), Layout()), "3.5 zeppelins", "")
    assert sources == [
        {"index": {"_id": "0"}},
        {
            "id": "0",
            "text": "3.5 zeppelins",
            "cptw_id": "0",
            "cptw_text": "3.5 zeppelins",
            "cptw_weights": {"3%2E5": 1, "zeppelins": 1},
        },
        {"index": {"_id": "1"}},
        {"id": "1", "text": "", "cptw_id": "1", "cptw_text": "", "cptw_weights": {}},
    ]


def test_the_other_verbs():
    document = {"id": "a", "text": "a boat"}
    fields = {"cptw_id": "a", "cptw_text": "boat"}
    assert lines(Encoder(model(), Layout(field_type="none"), "create"), document) == [
        {"create": {"_id": "a"}},
        {**document, **fields},
    ]
    assert lines(Encoder(model(), Layout(field_type="none"), "update"), document) == [
        {"update": {"_id": "a", "retry_on_conflict": 3}},
        {"doc": fields},
    ]
    assert deletion('"ü"').lines == '{"delete":{"_id":"\\"ü\\""}}\n'.encode()
