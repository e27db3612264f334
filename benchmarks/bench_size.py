"""How much bench.py does: the full run of docs/speed.md, and a quick one that only shows that it works."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Size:
    """How much is done."""

    n_terms: int | None = None  # of the reuters vocabulary
    n_texts: int | None = None
    n_repeats: int = 7
    n_vectors: int = 100_000
    n_vector_repeats: int = 3
    n_news: int | None = None
    n_queries: int = 200
    n_rounds: int = 3
    n_gensim_queries: int = 3
    n_gensim_documents: int = 100_000
    n_word_movers: int = 10
    growth: tuple[int, ...] = (10_000, 100_000, 1_000_000)
    gigabytes: float = 1.0
    n_fit: int = 100_000


QUICK = Size(
    n_terms=3_000,
    n_texts=1_500,
    n_repeats=3,
    n_vectors=6_000,
    n_vector_repeats=2,
    n_news=1_000,
    n_queries=30,
    n_rounds=2,
    n_gensim_queries=1,
    n_gensim_documents=2_000,
    n_word_movers=2,
    growth=(1_000, 10_000, 20_000),
    gigabytes=0.02,
    n_fit=10_000,
)
