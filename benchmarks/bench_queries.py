"""One query of four words at a time, embedded, against bm25s and gensim: what bench.py measures on 20news and made-up texts.

The same words are asked of bm25s, and, since CPTW reads the lists of their neighbours, too, also all words whose lists CPTW
reads: then both add up the same postings. Both have a way without a compiler and one with numba; like is compared with
like, and both give documents' numbers or ids alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from bench_harness import Record, line, record, seconds_of
from bench_size import Size
from bench_texts import TAU, Say, soft_cosines
from million_documents import documents, four_words

from cptw_search import Cptw, EmbeddedIndex, WordVectors, acceleration
from cptw_search.evaluation.datasets import load_dataset

Words = list[str]
Search = Callable[[Words], object]


def query_records(
    index: EmbeddedIndex,
    queries: Sequence[str],
    searches: dict[str, Search],
    soft: float,
    name: str,
    size: Size,
    say: Say,
) -> list[Record]:
    """Time every search in rounds, p50 of each. In a round one goes through all queries before the next does.

    As in practice, where nobody runs two engines in turn: whoever comes right after a search that clears much memory finds
    nothing of his own in the processor's caches.
    """
    model = index.model
    queries = [query for query in queries if _words(model, query)]  # bm25s refuses a query without any word
    expanded = [reached_words(model, query) for query in queries]
    n_postings = count_postings(index, expanded)
    own = [_words(model, query) for query in queries]
    n_same = count_postings(index, own)
    works: dict[str, list[Callable[[], object]]] = {"bare": [bare_adds(index, words) for words in expanded]}
    for kind, search in searches.items():
        for method in ("cptw", "bm25"):
            works[f"{kind} {method}"] = [functools.partial(_search, index, query, method, kind) for query in queries]
        works[f"{kind} same"] = [functools.partial(search, words) for words in own]
        works[f"{kind} equal"] = [functools.partial(search, words) for words in expanded]
    rounds: dict[str, list[float]] = {work: [] for work in works}
    for number in range(size.n_rounds + 1):
        for work, calls in works.items():
            median = float(np.median([seconds_of(call) for call in calls])) * 1e3
            if number:  # the first round warms up
                rounds[work].append(median)
    limit = {
        "limit": rounds["bare"],
        "limit_is": "one addition a posting into an array of all documents, by `numpy.bincount`",
    }
    facts = {"postings_cptw": n_postings, "postings_same_words": n_same, "n_queries": len(queries)}
    records = []
    for kind in searches:
        records += [
            record(
                f"one query of 4 words, CPTW ({kind}), {name}",
                f"bm25s ({kind}), as many postings",
                rounds[f"{kind} cptw"],
                rounds[f"{kind} equal"],
                "ms",
                most=2.0,
                mark="at most 2 times",
                **limit,
                **facts,
                theirs_same_words_ms=float(np.median(rounds[f"{kind} same"])),
            ),
            record(
                f"one query of 4 words, our BM25 ({kind}), {name}",
                f"bm25s ({kind}), the same words",
                rounds[f"{kind} bm25"],
                rounds[f"{kind} same"],
                "ms",
                most=2.0,
                mark="at most 2 times",
                **facts,
            ),
        ]
    records.append(
        record(
            f"one query of 4 words, CPTW (numpy), {name}",
            "gensim SoftCosineSimilarity",
            rounds["numpy cptw"],
            soft * 1e3,
            "ms",
            most=1 / 100,
            mark="at least 100 times faster",
            **limit,
            **facts,
        )
    )
    for one in records:
        say(line(one))
    return records


def _search(index: EmbeddedIndex, query: str, method: str, kind: str) -> object:
    """Search with compiled additions, or without."""
    usual, acceleration.COMPILED_FROM = acceleration.COMPILED_FROM, 0 if kind == "numba" else acceleration.NEVER
    try:
        return index.search_many([query], 10, method=method, fields=())
    finally:
        acceleration.COMPILED_FROM = usual


def _words(model: Cptw, query: str) -> Words:
    return [
        model.vocabulary_[column] for column in model.count([query]).matrix.indices if column < len(model.vocabulary_)
    ]


def reached_words(model: Cptw, query: str) -> Words:
    """List the words whose lists a query reads."""
    row = model.represent([query], side="query", placement="query").matrix
    return [model.vocabulary_[column] for column in row.indices if column < len(model.vocabulary_)]


def _lists(index: EmbeddedIndex, words: Words) -> list[np.ndarray]:
    position = index.model._term_positions
    columns = np.array([position[word] for word in words])
    found = []
    for part in index._parts:
        lists = part.segment.counts
        places = np.flatnonzero(np.isin(lists.features, columns))
        starts = np.where(places > 0, lists.ends[places - 1], 0)
        spans = [lists.docs[a:b] for a, b in zip(starts, lists.ends[places], strict=True)]
        found.append(np.concatenate(spans) if spans else np.empty(0, np.int32))
    return found


def count_postings(index: EmbeddedIndex, queries: Sequence[Words]) -> float:
    """Count the postings of a query, on average."""
    return float(np.mean([sum(map(len, _lists(index, words))) for words in queries]))


def bare_adds(index: EmbeddedIndex, words: Words) -> Callable[[], object]:
    """Make what adds up the postings of words and does nothing else."""
    lists = [(docs.astype(np.intp), np.ones(len(docs))) for docs in _lists(index, words)]
    n_docs = [part.segment.n_docs for part in index._parts]
    return lambda: [np.bincount(docs, weights=ones, minlength=n) for (docs, ones), n in zip(lists, n_docs, strict=True)]


def bm25s_searches(tokens: Sequence[Words]) -> dict[str, Search]:
    """Index tokens with bm25s: its default backend, and its compiled one."""
    import bm25s

    searches: dict[str, Search] = {}
    ours = bm25s.BM25(method="lucene", k1=1.2, b=0.75)
    ours.index(tokens, show_progress=False)
    for backend in ("numpy", "numba"):
        retriever = bm25s.BM25(method="lucene", k1=1.2, b=0.75, backend=backend)
        retriever.scores, retriever.vocab_dict = ours.scores, ours.vocab_dict
        for name in ("unique_token_ids_set", "nonoccurrence_array", "corpus"):
            if hasattr(ours, name):
                setattr(retriever, name, getattr(ours, name))
        searches[backend] = lambda words, r=retriever: r.retrieve([words], k=10, show_progress=False)
    return searches


def draw_queries(tokens: Sequence[Words], size: Size) -> list[str]:
    """Draw four words of a text, many times."""
    random = np.random.default_rng(0)
    lengthy = [words for words in tokens if len(set(words)) >= 20]
    chosen = random.choice(len(lengthy), size.n_queries)
    return [" ".join(random.choice(sorted(set(lengthy[at])), 4, replace=False)) for at in chosen]


def measure_news(vectors: WordVectors, size: Size, say: Say) -> list[Record]:
    """Search 20news."""
    texts = load_dataset("20news").texts[: size.n_news]
    model = Cptw(vectors=vectors, tau=TAU, weighting="idf-weighted", analyzer="paper").fit(texts)
    index = EmbeddedIndex.build(model, texts, progress=False)
    tokens = [model._analyzer.tokens(text) for text in texts]  # type: ignore[attr-defined]
    queries = draw_queries(tokens, size)
    soft = float(np.median(soft_cosines(model, texts, queries[: size.n_gensim_queries])))
    name = f"{len(texts):,} documents of 20news"
    return query_records(index, queries, bm25s_searches(tokens), soft, name, size, say)


def measure_made_up(index_folder: Path, n_docs: int, size: Size, say: Say) -> list[Record]:
    """Search made-up documents; gensim sees a part of them, and its time is scaled."""
    index = EmbeddedIndex.open(index_folder)
    index.merge()  # one set of lists, as bm25s has
    queries = four_words(size.n_queries)
    n_sample = min(size.n_gensim_documents, n_docs)
    sample = [str(one["text"]) for _, one in zip(range(n_sample), documents(n_docs), strict=False)]
    soft = float(np.median(soft_cosines(index.model, sample, queries[: size.n_gensim_queries]))) * n_docs / n_sample
    del sample
    searches = bm25s_searches([str(one["text"]).split() for one in documents(n_docs)])
    return query_records(index, queries, searches, soft, f"{n_docs:,} made-up documents, merged", size, say)
