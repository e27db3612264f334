"""Where the mathematics meet: gensim's soft cosine, bm25s, scikit-learn's TF-IDF."""

import bm25s
import numpy as np
import pytest
from gensim.corpora import Dictionary
from gensim.models import KeyedVectors
from gensim.similarities import SparseTermSimilarityMatrix, WordEmbeddingSimilarityIndex
from sklearn.feature_extraction.text import TfidfVectorizer

from cptw_search import Cptw, EmbeddedIndex, WordVectors
from cptw_search.lee_corpus import load_lee_corpus

TEXTS = load_lee_corpus().texts[:120]
TAU = 0.4


@pytest.fixture(scope="module")
def tokens() -> list[list[str]]:
    model = Cptw(vectors=None).fit(TEXTS)
    return [model._analyzer.tokens(text) for text in TEXTS]  # type: ignore[attr-defined]


@pytest.fixture(scope="module")
def vectors(tokens: list[list[str]]) -> WordVectors:
    words = sorted({word for document in tokens for word in document})
    random = np.random.default_rng(0)
    groups = random.normal(size=(len(words) // 5, 20))
    return WordVectors(
        words, groups[random.integers(len(groups), size=len(words))] + 0.7 * random.normal(size=(len(words), 20))
    )


def test_the_similarity_matrix_and_the_soft_cosine_are_gensims(tokens: list[list[str]], vectors: WordVectors) -> None:
    keyed = KeyedVectors(vectors.n_dimensions)
    keyed.add_vectors(list(vectors.words), vectors.vectors)
    dictionary = Dictionary(tokens)
    matrix = SparseTermSimilarityMatrix(
        WordEmbeddingSimilarityIndex(keyed, threshold=TAU, exponent=1.0), dictionary, nonzero_limit=None, symmetric=True
    )
    model = Cptw(vectors=vectors, tau=TAU, analyzer="whitespace").fit([" ".join(document) for document in tokens])
    order = [dictionary.token2id[term] for term in model.vocabulary_]
    theirs = matrix.matrix.toarray()[np.ix_(order, order)]
    np.testing.assert_allclose(model.similarity_.toarray(), theirs, atol=1e-6)

    # The soft cosine puts S itself where CPTW has M M'.
    counts = model.count([" ".join(document) for document in tokens[:15]]).matrix
    products = (counts @ model.similarity_ @ counts.T).toarray()
    lengths = np.sqrt(np.diag(products))
    bags = [dictionary.doc2bow(document) for document in tokens[:15]]
    expected = [[matrix.inner_product(one, two, normalized=(True, True)) for two in bags] for one in bags]
    np.testing.assert_allclose(products / np.outer(lengths, lengths), expected, atol=1e-5)


@pytest.mark.parametrize(("k1", "b"), [(1.2, 0.75), (1.6, 0.3)])
def test_tau_above_one_is_bm25_as_bm25s_computes_it(tokens: list[list[str]], k1: float, b: float) -> None:
    reference = bm25s.BM25(method="lucene", k1=k1, b=b, dtype="float64")
    reference.index(tokens, show_progress=False)
    texts = [" ".join(document) for document in tokens]
    weighting = Cptw(vectors=None, weighting="bm25", k1=k1, b=b, analyzer="whitespace").fit(texts)
    index = EmbeddedIndex.build(weighting, texts)
    for query in tokens[:10]:
        expected = reference.get_scores(query[:6]) * (k1 + 1)  # a constant that Lucene leaves out
        for method in ("cptw", "bm25"):
            hits = index.search(" ".join(query[:6]), k=len(texts), method=method)
            got = np.zeros(len(texts))
            got[[int(hit.id) for hit in hits]] = [hit.score for hit in hits]
            np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-9)


def test_tau_above_one_is_tfidf_as_scikit_learn_computes_it(tokens: list[list[str]]) -> None:
    texts = [" ".join(document) for document in tokens]
    reference = TfidfVectorizer(analyzer=str.split, smooth_idf=False, norm=None).fit(texts)
    counts = reference.transform(texts).toarray() / reference.idf_
    expected = counts * (reference.idf_ - 1)  # scikit-learn adds 1 to ln(N / df)
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    rows = Cptw(vectors=None, weighting="idf-input", analyzer="whitespace").fit_transform(texts)
    np.testing.assert_allclose(rows.toarray(), expected, atol=1e-12)
