"""What hypothesis makes for the property tests: small collections whose geometry one can reason about."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st

from cptw_search import Cptw, WordVectors

WORDS = [f"w{number}" for number in range(9)]
NORMALIZATIONS = ["l2", "sum", "none"]
WEIGHTINGS = ["tf", "idf-equation", "idf-released", "idf-weighted", "idf-input", "bm25"]
NONNEGATIVE_WEIGHTINGS = ["tf", "idf-weighted", "idf-input", "bm25"]

texts = st.lists(st.sampled_from(WORDS), max_size=12).map(" ".join)
collections = st.lists(texts, min_size=1, max_size=8).filter(lambda documents: any(documents))
taus = st.sampled_from([0.0, 0.2, 0.5, 0.8, 1.0, 1.1])


@st.composite
def word_vectors(draw: st.DrawFn) -> WordVectors:
    """Vectors for some of the words; whole numbers, so that equal and opposite directions do occur."""
    words = draw(st.lists(st.sampled_from(WORDS), min_size=1, unique=True))
    coordinate = st.integers(-3, 3)
    rows = [draw(st.lists(coordinate, min_size=3, max_size=3).filter(any)) for _ in words]
    return WordVectors(words, np.array(rows, dtype=float))


@dataclass(frozen=True)
class Case:
    """A collection, vectors that cover some of its words, and parameters."""

    documents: list[str]
    vectors: WordVectors
    tau: float
    normalization: str
    weighting: str

    def model(self, **changes: object) -> Cptw:
        """An unfitted model of this case."""
        parameters: dict[str, object] = {
            "vectors": self.vectors,
            "tau": self.tau,
            "normalization": self.normalization,
            "weighting": self.weighting,
            "analyzer": "whitespace",
        }
        return Cptw(**{**parameters, **changes})  # type: ignore[arg-type]


@st.composite
def cases(draw: st.DrawFn, weightings: list[str] | None = None) -> Case:
    """Any case in which at least one word of the collection has a vector."""
    documents = draw(collections)
    vectors = draw(word_vectors().filter(lambda v: any(word in v for text in documents for word in text.split())))
    return Case(
        documents,
        vectors,
        draw(taus),
        draw(st.sampled_from(NORMALIZATIONS)),
        draw(st.sampled_from(weightings or WEIGHTINGS)),
    )
