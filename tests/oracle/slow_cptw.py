"""CPTW by loops over the paper's sums: slow, obvious, sharing no code with the package."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence

Vector = Sequence[float]


def cosine(a: Vector | None, b: Vector | None) -> float:
    if a is None or b is None:
        return -math.inf
    dot = math.fsum(x * y for x, y in zip(a, b, strict=True))
    return dot / (math.hypot(*a) * math.hypot(*b))


class SlowCptw:
    """Fits on lists of tokens; represents a list of tokens as a dict from term to weight."""

    def __init__(
        self,
        documents: list[list[str]],
        vectors: Mapping[str, Vector],
        tau: float,
        normalization: str,
        weighting: str,
        k1: float = 1.2,
        b: float = 0.75,
    ) -> None:
        self.documents = documents
        self.vocabulary = sorted({word for document in documents for word in document})
        self.vectors = vectors
        self.tau = tau
        self.normalization = normalization
        self.weighting = weighting
        self.k1, self.b = k1, b
        self.n_docs = len(documents)
        self.average_length = sum(map(len, documents)) / len(documents)

    def df(self, word: str) -> int:
        return max(1, sum(word in document for document in self.documents))

    def similarity(self, k: str, j: str) -> float:
        if k == j:
            return 1.0
        value = cosine(self.vectors.get(k), self.vectors.get(j))
        return max(value, 0.0) if value >= self.tau - 1e-12 else 0.0

    def neighbourhood(self, j: str) -> list[str]:
        return [k for k in self.vocabulary if self.similarity(k, j) > 0] if j in self.vocabulary else [j]

    def alpha(self, j: str) -> float:
        cosines = [self.similarity(k, j) for k in self.neighbourhood(j)]
        if self.normalization == "l2":
            return 1 / math.hypot(*cosines)
        return 1 / math.fsum(cosines) if self.normalization == "sum" else 1.0

    def bm25_idf(self, word: str) -> float:
        return math.log(1 + (self.n_docs - self.df(word) + 0.5) / (self.df(word) + 0.5))

    def frequency(self, side: str, tokens: list[str]) -> Callable[[str], float]:
        def plain(word: str) -> float:
            return float(tokens.count(word))

        def bm25_document(word: str) -> float:
            norm = 1 - self.b + self.b * len(tokens) / self.average_length
            return plain(word) * (self.k1 + 1) / (plain(word) + self.k1 * norm) if plain(word) else 0.0

        def bm25_query(word: str) -> float:
            return plain(word) * self.bm25_idf(word)

        if self.weighting != "bm25":
            return plain
        return bm25_document if side == "document" else bm25_query

    def weight(self, j: str, f: Callable[[str], float]) -> float:
        """The j-th entry of a document whose term frequencies are f."""
        alpha, neighbourhood = self.alpha(j), self.neighbourhood(j)
        gamma = {k: f(k) * self.similarity(k, j) for k in neighbourhood}  # Eq. (1)
        cptw = alpha * math.fsum(gamma.values())  # Eq. (2)
        if self.weighting in ("tf", "bm25"):
            return cptw
        if self.weighting == "idf-equation":  # Eqs. (3) and (4)
            return alpha * math.fsum(
                gamma[k] * math.log(self.n_docs / self.df(k) * alpha * self.similarity(k, j)) for k in neighbourhood
            )
        if self.weighting == "idf-released":
            df = math.fsum(self.df(k) * alpha * self.similarity(k, j) for k in neighbourhood)
            return cptw * math.log2(self.n_docs / df)
        idf = {k: math.log(self.n_docs / self.df(k)) for k in neighbourhood}
        if self.weighting == "idf-weighted":
            return cptw * math.fsum(idf[k] * alpha * self.similarity(k, j) for k in neighbourhood)
        return alpha * math.fsum(gamma[k] * idf[k] for k in neighbourhood)  # idf-input

    def represent(self, tokens: list[str], side: str = "document", unit_length: bool = True) -> dict[str, float]:
        f = self.frequency(side, tokens)
        terms = [*self.vocabulary, *sorted(set(tokens) - set(self.vocabulary))]
        weights = {j: self.weight(j, f) for j in terms}
        length = math.hypot(*weights.values())
        if unit_length and self.weighting != "bm25" and length > 0:
            weights = {j: weight / length for j, weight in weights.items()}
        return weights
