"""The data sets and collections that the figures are made with are the ones that they are said to be.

Needs the data of ``CPTW_DATA``: ``classification`` and ``retrieval``.
"""

import os
from collections import Counter
from pathlib import Path

import pytest

from cptw_search.analysis import Analyzer, get_analyzer
from cptw_search.evaluation.collections import load_collection
from cptw_search.evaluation.datasets import load_dataset
from cptw_search.evaluation.paper_figures import TABLE_1
from cptw_search.evaluation.statistics import dataset_statistics, with_contractions

# Unique words with the analyzer `paper`, and with the parts of contractions as stop words, too; exact duplicates.
EXPECTED = {
    "bbcsport": (12_872, 12_854, 12),
    "twitter": (8_318, 8_285, 0),
    "classic": (24_383, 24_372, 193),
    "amazon": (38_621, 38_576, 148),
    "reuters": (23_109, 23_086, 79),
    "20news": (30_220, 30_182, 0),
}
N_TEST = {"reuters": 2_189, "20news": 7_532}
# Documents, judged queries, judgements.
COLLECTIONS = {
    "cranfield": (1_400, 225, 1_612),
    "cisi": (1_460, 76, 3_114),
    "medline": (1_033, 30, 696),
    "cacm": (3_204, 52, 796),
    "scifact": (5_183, 300, 339),
    "nfcorpus": (3_633, 323, 12_334),
}


def data_path(*parts: str) -> Path:
    folder = os.environ.get("CPTW_DATA")
    if not folder:
        pytest.skip("CPTW_DATA, the folder of the shared data, is not set")
    path = Path(folder).joinpath(*parts)
    if not path.exists():
        pytest.skip(f"CPTW_DATA has no {'/'.join(parts)}")
    return path


@pytest.mark.parametrize("name", EXPECTED)
def test_data_sets_have_the_documents_and_words_that_the_docs_say(name: str) -> None:
    data_path("classification", f"{name}.tsv.gz")
    dataset = load_dataset(name)
    n_terms, n_terms_widened, n_duplicates = EXPECTED[name]
    paper = get_analyzer("paper")
    assert isinstance(paper, Analyzer)
    row = dataset_statistics(dataset, analyzer=paper)
    widened = dataset_statistics(
        dataset, analyzer=get_analyzer("paper", stop_words=with_contractions(paper.stop_words))
    )
    assert (row.n_docs, row.n_classes) == (TABLE_1[name].n_docs, TABLE_1[name].n_classes)
    assert (row.n_test, row.n_duplicates, row.n_empty) == (N_TEST.get(name), n_duplicates, 0)
    assert (row.n_terms, widened.n_terms) == (n_terms, n_terms_widened)
    # As near to the paper's table as these texts come: 4 % in words, 5 % in words a document.
    assert widened.n_terms == pytest.approx(TABLE_1[name].n_terms, rel=0.04)
    assert widened.mean_unique_terms == pytest.approx(TABLE_1[name].mean_unique_terms, rel=0.05)


def test_reuters_agrees_with_the_paper_to_the_printed_digits() -> None:
    data_path("classification", "reuters.tsv.gz")
    paper = get_analyzer("paper")
    assert isinstance(paper, Analyzer)
    dataset = load_dataset("reuters")
    row = dataset_statistics(dataset, analyzer=paper)
    widened = dataset_statistics(
        dataset, analyzer=get_analyzer("paper", stop_words=with_contractions(paper.stop_words))
    )
    assert (row.n_terms, round(row.mean_unique_terms, 1)) == (TABLE_1["reuters"].n_terms, 38.9)
    assert (round(widened.mean_unique_terms, 1), round(widened.std_unique_terms, 1)) == (38.9, 36.9)


@pytest.mark.parametrize("name", COLLECTIONS)
def test_collections_have_the_sizes_that_the_docs_say(name: str) -> None:
    data_path("retrieval", name)
    loaded = load_collection(name)
    n_judgements = sum(len(grades) for grades in loaded.judgements.values())
    assert (len(loaded.documents), len(loaded.queries), n_judgements) == COLLECTIONS[name]


def test_cranfields_default_judgements_are_those_without_source_papers() -> None:
    data_path("retrieval", "cranfield")
    grades = Counter(grade for graded in load_collection("cranfield").judgements.values() for grade in graded.values())
    assert grades == {4: 128, 3: 387, 2: 734, 1: 363}
    assert sum(len(graded) for graded in load_collection("cranfield", qrels="qrels.tsv").judgements.values()) == 1_837


def test_classic_is_made_of_the_four_collections() -> None:
    for name in ("cacm", "cisi", "cranfield", "medline"):
        data_path("retrieval", name)
    data_path("classification", "classic.tsv.gz")
    classic = load_dataset("classic")
    texts = Counter(" ".join(text.split()) for text in classic.texts)
    documents = Counter(
        text
        for name in ("cacm", "cisi", "cranfield", "medline")
        for document in load_collection(name).documents
        if (text := " ".join(f"{document.get('title', '')} {document['text']}".split()))
    )
    assert len(classic.texts) == sum(documents.values()) == 7_095
    # Two abstracts, one of CACM and one of Cranfield, are longer in the collections.
    assert len(list((texts - documents).elements())) == 2
