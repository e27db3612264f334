"""RM3 against a plain version that follows the definition word by word."""

import numpy as np
import pytest
import scipy.sparse as sp

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.feedback import rm3

Weights = dict[int, float]


def heaviest(weights: Weights, n: int) -> Weights:
    return dict(sorted(weights.items(), key=lambda item: (-item[1], item[0]))[:n])


def shares(weights: Weights) -> Weights:
    return {term: weight / sum(weights.values()) for term, weight in weights.items() if weight}


def slow_rm3(query: Weights, documents: list[Weights], scores: list[float], n_terms: int, share: float) -> Weights:
    model: Weights = {}
    for document, score in zip(documents, scores, strict=True):
        for term, probability in shares(heaviest(document, n_terms)).items():
            model[term] = model.get(term, 0.0) + probability * score
    typed, learned = shares(query), shares(heaviest(model, n_terms))
    if not learned:
        return typed
    mixed = {t: share * typed.get(t, 0.0) + (1 - share) * learned.get(t, 0.0) for t in typed.keys() | learned.keys()}
    return {term: weight for term, weight in mixed.items() if weight}


def as_dict(row: sp.csr_matrix) -> Weights:
    return {int(term): float(weight) for term, weight in zip(row.indices, row.data, strict=True)}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize(("n_terms", "share"), [(10, 0.5), (3, 0.2), (40, 0.0), (1, 1.0)])
def test_rm3_is_its_definition(seed: int, n_terms: int, share: float) -> None:
    rng = np.random.default_rng(seed)
    n_docs = int(rng.integers(0, 12))
    counts = sp.csr_matrix(rng.poisson(0.4, size=(n_docs, 30)).astype(np.float64))
    query = sp.csr_matrix(rng.poisson(0.15, size=(1, 30)).astype(np.float64))
    scores = (rng.uniform(0, 20, size=n_docs) * (rng.uniform(size=n_docs) < 0.9)).tolist()
    got = rm3(query, counts, scores, n_terms=n_terms, query_weight=share)
    documents = [as_dict(counts[[row]]) for row in range(n_docs)]
    assert as_dict(got) == pytest.approx(slow_rm3(as_dict(query), documents, scores, n_terms, share))


def test_the_engine_searches_with_what_the_definition_gives() -> None:
    """Scores of every document, from the first search to the last, with dictionaries alone."""
    rng = np.random.default_rng(3)
    words = [f"w{n:02}" for n in range(60)]
    popularity = 1 / np.arange(1, 61)
    texts = [" ".join(rng.choice(words, size=12, p=popularity / popularity.sum())) for _ in range(40)]
    model = Cptw(vectors=None, analyzer="whitespace").fit(texts[:30])  # words of the last ten may be unknown
    index = EmbeddedIndex.build(model, texts)
    numbers = {word: number for number, word in enumerate(model.vocabulary_)}
    unknown = sorted({word for text in texts for word in text.split()} - numbers.keys())
    assert unknown
    queries = ["w10 w40", f"w03 {unknown[0]}", "w59 w58 w57 w20 w20", "w05 nowhere"]
    unknown = sorted({*unknown, *" ".join(queries).split()} - numbers.keys())
    numbers |= {word: len(model.vocabulary_) + number for number, word in enumerate(unknown)}

    def counts(text: str) -> Weights:
        found: Weights = {}
        for word in text.split():
            found[numbers[word]] = found.get(numbers[word], 0.0) + 1
        return found

    def df(term: int) -> int:
        return int(model.df_[term]) if term < len(model.df_) else 1

    def bm25(weights: Weights, text: str) -> float:
        document, k1, b = counts(text), 1.2, 0.75
        norm = k1 * (1 - b + b * sum(document.values()) / model.average_length_)
        return sum(
            weight
            * np.log(1 + (30 - df(term) + 0.5) / (df(term) + 0.5))
            * document[term]
            * (k1 + 1)
            / (document[term] + norm)
            for term, weight in weights.items()
            if term in document
        )

    for query in queries:
        typed = counts(query)
        first = sorted(((bm25(typed, text), str(n)) for n, text in enumerate(texts)), key=lambda s: (-s[0], s[1]))
        best = [(score, doc_id) for score, doc_id in first if score > 0][:10]
        allowed = [
            {term: count for term, count in counts(texts[int(doc_id)]).items() if df(term) <= 0.1 * 30}
            for _, doc_id in best
        ]
        expanded = slow_rm3(typed, allowed, [score for score, _ in best], 10, 0.5)
        expected = {str(n): bm25(expanded, text) for n, text in enumerate(texts)}
        hits = index.search(query, k=40, method="bm25+rm3")
        assert len(hits) > len(best)
        assert {hit.id: hit.score for hit in hits} == pytest.approx({i: s for i, s in expected.items() if s > 0})
