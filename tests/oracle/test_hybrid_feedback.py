"""The method ``hybrid+feedback`` against its formula, written with dense arrays and the engine's own two scores."""

import math
from collections import Counter

import numpy as np
import pytest

from cptw_search import Cptw, EmbeddedIndex


def unit(vector: np.ndarray) -> np.ndarray:
    return vector / (np.linalg.norm(vector) or 1.0)


def best_is_one(scores: np.ndarray) -> np.ndarray:
    return scores / (scores.max() or 1.0)


@pytest.mark.parametrize("placement", ["query", "both", "document"])
def test_hybrid_feedback_is_its_formula(placement: str) -> None:
    rng = np.random.default_rng(7)
    words = [f"w{n:02}" for n in range(50)]
    popularity = 1 / np.arange(1, 51)
    texts = [" ".join(rng.choice(words, size=rng.integers(4, 20), p=popularity / popularity.sum())) for _ in range(60)]
    model = Cptw(vectors="lsi", n_dimensions=10, tau=0.4, weighting="idf-input", analyzer="whitespace").fit(texts)
    index = EmbeddedIndex.build(model, texts, placement=placement)
    counts = [Counter(text.split()) for text in texts]
    df = Counter(word for count in counts for word in count)
    idf = {word: math.log(1 + (60 - df[word] + 0.5) / (df[word] + 0.5)) for word in df}
    average = sum(sum(count.values()) for count in counts) / 60

    def weight(count: Counter[str], word: str) -> float:
        tf = count[word]
        return tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * sum(count.values()) / average))

    saturated = np.array([[weight(count, word) for word in idf] for count in counts])
    weighted = saturated * np.array(list(idf.values()))
    for query in ("w03 w17", "w00 w01 w02", texts[5]):

        def scores(method: str, query: str = query) -> np.ndarray:
            found = {int(hit.id): hit.score for hit in index.search(query, k=60, method=method)}
            return np.array([max(found.get(number, 0.0), 0.0) for number in range(60)])

        first = 0.2 * best_is_one(scores("cptw")) + 0.8 * best_is_one(scores("bm25"))
        teachers = 0.1 * best_is_one(scores("cptw")) + 0.9 * best_is_one(scores("bm25"))
        best = sorted(range(60), key=lambda number: (-teachers[number], str(number)))[:10]
        best = [number for number in best if teachers[number] > 0]
        learned = sum((teachers[number] / teachers[best[0]]) ** 8 * unit(weighted[number]) for number in best)
        final = 0.2 * best_is_one(first) + 0.8 * best_is_one(saturated @ learned)
        hits = index.search(query, k=60, method="hybrid+feedback", lambda_=0.2)
        assert {int(hit.id): hit.score for hit in hits} == pytest.approx(
            {number: score for number, score in enumerate(final) if score > 0}
        )
