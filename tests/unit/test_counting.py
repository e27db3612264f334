import threading

import numpy as np

from cptw_search.analysis import get_analyzer
from cptw_search.counting import WordLookup, read_collection

ENGLISH = get_analyzer("english")
TEXT = {"text": 1.0}


def test_terms_are_sorted_and_counted_per_document() -> None:
    collection = read_collection(["sea boats boat", "", "the sea"], ENGLISH, TEXT)
    assert collection.terms == ["boat", "sea"]
    np.testing.assert_array_equal(collection.counts.toarray(), [[2, 1], [0, 0], [0, 1]])


def test_forms_know_how_often_each_surface_word_occurs() -> None:
    collection = read_collection(["Sailing boats", "sails, sailing"], ENGLISH, TEXT)
    assert collection.forms == {"boat": {"boats": 1}, "sail": {"sailing": 2, "sails": 1}}


def test_sentences_keep_the_order_and_a_field_is_a_sentence() -> None:
    weights = {"title": 2.0, "text": 1.0}
    collection = read_collection([{"title": "the sea", "text": "boats at sea"}, "a cat"], ENGLISH, weights)
    assert collection.sentences() == [["sea"], ["boat", "sea"], ["cat"]]
    np.testing.assert_array_equal(collection.counts.toarray(), [[1, 0, 3], [0, 1, 0]])


def test_min_df_renumbers_terms_and_sentences() -> None:
    collection = read_collection(["a1 b1 c1", "b1 c1", "c1 d1"], get_analyzer("whitespace"), TEXT, min_df=2)
    assert collection.terms == ["b1", "c1"]
    assert collection.sentences() == [["b1", "c1"], ["b1", "c1"], ["c1"]]
    np.testing.assert_array_equal(collection.counts.toarray(), [[1, 1], [1, 1], [0, 1]])


def test_a_document_alone_is_counted_as_among_others() -> None:
    weights = {"title": 2.5, "text": 1.0}
    lookup = WordLookup(["boat", "sea"], ENGLISH)
    lookup.count(["an earlier yacht"], weights)  # which must not show
    for document in (
        {"title": "the sea", "text": "yachts, boats and zebras at sea, a yacht"},
        "apples, boat",
        "",
        "the",
    ):
        alone, among = lookup.count([document], weights), lookup.count([document, ""], weights)
        assert alone.unknown == among.unknown
        np.testing.assert_array_equal(alone.matrix.toarray(), among.matrix[:1].toarray())
        assert alone.matrix.has_canonical_format


def test_several_threads_may_share_a_lookup() -> None:
    lookup = WordLookup(["boat"], get_analyzer("whitespace"))
    documents = [" ".join(f"w{(i * 7 + j) % 500}" for j in range(40)) for i in range(200)]
    alone = WordLookup(["boat"], get_analyzer("whitespace")).count(documents, TEXT)
    results: list[bool] = []

    def work() -> None:
        counts = lookup.count(documents, TEXT)
        results.append(counts.unknown == alone.unknown and (counts.matrix != alone.matrix).nnz == 0)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert results == [True] * 4
