"""Has something become twice as slow? Three ratios on made-up data, loose enough for a noisy machine.

Each is our time over that of bare work done in turn with ours, the least of several repeats: whatever disturbs the machine
only adds. A ratio above its bound is tried once more before it counts. Needs neither data sets nor servers.

Usage: python benchmarks/guard.py
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator

import numpy as np
from bench_harness import Work, interleave
from bench_texts import bare_product
from million_documents import word_ids

N_TERMS, N_DIMENSIONS = 8_000, 100
N_DOCS = 60_000
N_QUERIES = 60
N_TEXTS = 4_000
N_REPEATS = 7

BOUNDS = {
    "similarity matrix / the bare float32 products": 3.0,
    "a query of four words / adding up its postings": 10.0,
    "transform of texts / TfidfVectorizer.transform": 1.8,
}


def vectors(n_words: int) -> np.ndarray:
    """Make vectors in groups of five."""
    random = np.random.default_rng(0)
    centres = np.repeat(random.standard_normal((n_words // 5, N_DIMENSIONS)), 5, axis=0)
    return centres + 0.5 * random.standard_normal(centres.shape)


def texts(n_texts: int, n_words_each: int) -> Iterator[str]:
    """Make texts of words of a Zipf distribution."""
    for batch in word_ids(n_texts * n_words_each // 12, seed=1):
        for row in batch.reshape(-1, n_words_each).tolist():
            yield " ".join(f"w{word}" for word in row)


def similarity() -> tuple[Work, Work]:
    """S of made-up vectors beside the bare products."""
    from cptw_search.similarity import term_similarity

    made = vectors(N_TERMS)
    single = made.astype(np.float32)
    return lambda: term_similarity(made, 0.7, progress=False), lambda: bare_product(single)


def query() -> tuple[Work, Work]:
    """Search an index in memory, beside the additions alone."""
    from bench_queries import bare_adds, reached_words

    from cptw_search import Cptw, EmbeddedIndex, WordVectors

    documents = list(texts(N_DOCS, 12))
    words = WordVectors([f"w{number}" for number in range(N_TERMS)], vectors(N_TERMS))
    model = Cptw(vectors=words, tau=0.7, analyzer="whitespace").fit(documents[: N_DOCS // 4])
    index = EmbeddedIndex.build(model, documents, progress=False)
    queries = [" ".join(text.split()[:4]) for text in documents[:N_QUERIES]]
    adds = [bare_adds(index, reached_words(model, one)) for one in queries]
    return (
        lambda: [index.search(one, method="cptw") for one in queries],
        lambda: [add() for add in adds],
    )


def transform() -> tuple[Work, Work]:
    """Transform beside scikit-learn's, on the same texts and tokens."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    from cptw_search import Cptw, WordVectors

    made = list(texts(N_TEXTS, 48))
    words = WordVectors([f"w{number}" for number in range(N_TERMS)], vectors(N_TERMS))
    model = Cptw(vectors=words, tau=0.7, analyzer="unicode").fit(made)
    theirs = TfidfVectorizer(token_pattern="[a-z0-9]+").fit(made)  # noqa: S106 - no password
    return lambda: model.transform(made), lambda: theirs.transform(made)


def ratio(works: tuple[Work, Work]) -> float:
    """Give the least time of the first over the least of the second."""
    seconds = interleave(dict(zip(("ours", "bare"), works, strict=True)), N_REPEATS)
    return min(seconds["ours"]) / min(seconds["bare"])


def check(makers: list[Callable[[], tuple[Work, Work]]], bounds: dict[str, float]) -> list[str]:
    """Measure each ratio and list the names of those that are above their bound twice."""
    slow = []
    for maker, (name, bound) in zip(makers, bounds.items(), strict=True):
        works = maker()
        found = ratio(works)
        if found > bound:
            found = min(found, ratio(works))
        print(f"{name}: {found:.2f}, at most {bound:g}" + ("" if found <= bound else "  TOO SLOW"), flush=True)
        if found > bound:
            slow.append(name)
    return slow


def main() -> None:
    """Measure and tell by the exit code."""
    slow = check([similarity, query, transform], BOUNDS)
    if slow:
        sys.exit(f"Slower than allowed: {'; '.join(slow)}. Profile what changed; see docs/speed.md.")


if __name__ == "__main__":
    main()
