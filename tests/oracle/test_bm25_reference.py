"""BM25 against figures that other people made, and against bm25s, on real test collections."""

import os

import bm25s
import pytest
import Stemmer

from cptw_search import Cptw
from cptw_search.evaluation.collections import load_collection
from cptw_search.evaluation.retrieval_measures import measure_run
from cptw_search.evaluation.systems import SystemSettings, reference_analyzer, run_system

# nDCG@10 of BM25 in Lucene's variant, k1 1.2, b 0.75, Porter stems, stop words.
REFERENCE = {
    "cranfield": 0.360,
    "cisi": 0.391,
    "medline": 0.684,
    "cacm": 0.499,
    "scifact": 0.677,
    "nfcorpus": 0.318,
}

pytestmark = pytest.mark.skipif(
    "CPTW_DATA" not in os.environ, reason="the test collections are needed: set CPTW_DATA to their folder"
)


@pytest.mark.parametrize(("name", "expected"), REFERENCE.items())
def test_bm25_is_the_reference_with_its_analysis(name: str, expected: float) -> None:
    collection = load_collection(name)
    run = run_system("bm25", collection, SystemSettings(Cptw(analyzer=reference_analyzer()), depth=10))
    assert measure_run(run, collection.judgements).mean["ndcg@10"] == pytest.approx(expected, abs=0.001)


@pytest.mark.parametrize(("name", "expected"), REFERENCE.items())
def test_bm25_is_no_worse_with_the_analysis_that_is_the_default(name: str, expected: float) -> None:
    collection = load_collection(name)
    run = run_system("bm25", collection, SystemSettings(depth=10))
    assert measure_run(run, collection.judgements).mean["ndcg@10"] > expected - 0.003


@pytest.mark.parametrize("name", ["cranfield", "medline"])
def test_bm25s_agrees_with_its_own_tokens_and_scores(name: str) -> None:
    collection = load_collection(name)

    def tokens(texts: list[str]) -> list[list[str]]:
        stemmer = Stemmer.Stemmer("porter")
        found = bm25s.tokenize(texts, stopwords="en", stemmer=stemmer, return_ids=False, show_progress=False)
        return list(found)

    retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    texts = [f"{document.get('title', '')} {document['text']}" for document in collection.documents]
    retriever.index(tokens(texts), show_progress=False)
    ids = [document["id"] for document in collection.documents]
    found, scores = retriever.retrieve(tokens(list(collection.queries.values())), corpus=ids, k=10, show_progress=False)
    theirs = {
        query_id: list(zip(found[row].tolist(), scores[row].tolist(), strict=True))
        for row, query_id in enumerate(collection.queries)
    }
    assert measure_run(theirs, collection.judgements).mean["ndcg@10"] == pytest.approx(REFERENCE[name], abs=0.001)
