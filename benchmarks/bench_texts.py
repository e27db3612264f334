"""What bench.py measures on the texts of reuters and 20news: similarities, fit and transform, nearest neighbours."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import numpy.typing as npt
import scipy.sparse as sp
import threadpoolctl
from bench_harness import Record, interleave, line, record, seconds_of
from bench_size import Size

from cptw_search import Cptw, EmbeddedIndex, WordVectors
from cptw_search.analysis import Analyzer, get_analyzer
from cptw_search.counting import read_collection
from cptw_search.embeddings import stem_vectors
from cptw_search.evaluation.datasets import LabelledTexts, load_dataset
from cptw_search.neighbours import nearest_rows
from cptw_search.similarity import term_similarity

TAU = 0.7
BLOCK = 2048
K = 11
THREADS = os.cpu_count() or 1

Say = Callable[[str], None]
Vectors = npt.NDArray[np.float32]


def bare_product(vectors: Vectors, block: int = BLOCK) -> None:
    """Multiply the vectors with themselves, the upper triangle in blocks, on all cores, and forget the products."""
    blocks = [(a, b) for a in range(0, len(vectors), block) for b in range(a, len(vectors), block)]
    with threadpoolctl.threadpool_limits(1, "blas"), ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda at: _multiply(vectors, *at, block), blocks))


def _multiply(vectors: Vectors, row: int, column: int, block: int) -> None:
    vectors[row : row + block] @ vectors[column : column + block].T


def similarity_records(texts: Sequence[str], vectors: WordVectors, size: Size, say: Say) -> list[Record]:
    """Make S of a real vocabulary, against gensim's matrix."""
    terms, matrix = _term_vectors(texts, vectors, size.n_terms)
    single = matrix[matrix.any(axis=1)].astype(np.float32)
    works = {
        "ours": lambda: term_similarity(matrix, TAU, progress=False),
        "bare": lambda: bare_product(single),
    }
    seconds = interleave(works, size.n_repeats)
    found = np.flatnonzero(matrix.any(axis=1))
    few = [terms[place] for place in found], matrix[found].astype(np.float32)
    all_words = vectors.words[: size.n_vectors], vectors.vectors[: size.n_vectors]
    gensim = {
        f"gensim SparseTermSimilarityMatrix, its vectors the whole file ({len(all_words[0]):,})": all_words,
        f"gensim SparseTermSimilarityMatrix, with the vectors of these terms alone ({len(found):,})": few,
    }
    theirs = {name: seconds_of(lambda given=given: gensim_matrix(few[0], *given)) for name, given in gensim.items()}
    again = interleave(works, size.n_repeats, warm=False)
    seconds = {name: [*seconds[name], *again[name]] for name in works}
    records = [
        record(
            f"similarity matrix, reuters, {len(terms):,} terms, GloVe 100d, tau {TAU}",
            name,
            seconds["ours"],
            their,
            "s",
            most=1 / 60,
            mark="at least 60 times faster",
            limit=seconds["bare"],
            limit_is="the float32 products of the upper triangle in blocks, and nothing else",
            n_with_vector=len(single),
        )
        for name, their in theirs.items()
    ]
    for one in records:
        say(line(one))
    return records


def _term_vectors(
    texts: Sequence[str], vectors: WordVectors, n_terms: int | None
) -> tuple[list[str], npt.NDArray[np.float64]]:
    collection = read_collection(texts, get_analyzer("paper"), {"text": 1.0})
    terms = collection.terms[:n_terms]
    return terms, stem_vectors(terms, {term: collection.forms[term] for term in terms}, vectors)


def gensim_matrix(terms: Sequence[str], words: Sequence[str], vectors: Vectors) -> object:
    """Let gensim make the same matrix of terms that all have a vector; it looks for neighbours among all vectors it has."""
    from gensim.corpora import Dictionary
    from gensim.models import KeyedVectors
    from gensim.similarities import SparseTermSimilarityMatrix, WordEmbeddingSimilarityIndex

    keyed = KeyedVectors(vectors.shape[1])
    keyed.add_vectors(list(words), vectors)
    dictionary = Dictionary([list(terms)])
    index = WordEmbeddingSimilarityIndex(keyed, threshold=TAU, exponent=1.0)
    return SparseTermSimilarityMatrix(index, dictionary, nonzero_limit=100)


def text_records(texts: Sequence[str], vectors: WordVectors, size: Size, say: Say) -> list[Record]:
    """Fit and transform, against scikit-learn on the same texts and tokens."""
    from sklearn.feature_extraction.text import TfidfVectorizer

    texts = list(texts)
    analyzer = get_analyzer("paper")
    assert isinstance(analyzer, Analyzer)  # noqa: S101 - a named one
    model = Cptw(vectors=vectors, tau=TAU, analyzer="paper").fit(texts)
    # scikit-learn's stop words are those of our list that its pattern can give: the same tokens
    stop_words = sorted(word for word in analyzer.stop_words if word.isalnum())
    theirs = TfidfVectorizer(token_pattern="[a-z0-9]+", stop_words=stop_words).fit(texts)  # noqa: S106 - no password
    if sorted(theirs.vocabulary_) != model.vocabulary_:
        raise RuntimeError("scikit-learn and we must count the same tokens")
    matrix = _term_vectors(texts, vectors, None)[1]
    single = matrix[matrix.any(axis=1)].astype(np.float32)
    seconds = interleave(
        {
            "transform": lambda: model.transform(texts),
            "their transform": lambda: theirs.transform(texts),
            "fit": lambda: Cptw(vectors=vectors, tau=TAU, analyzer="paper").fit(texts),
            "their fit": lambda: theirs.fit(texts),
            "bare": lambda: bare_product(single),
            "words": lambda: [analyzer.words(text) for text in texts],
        },
        size.n_repeats,
    )
    bounds = [fit + 1.5 * bare for fit, bare in zip(seconds["their fit"], seconds["bare"], strict=True)]
    needed = [words + bare for words, bare in zip(seconds["words"], seconds["bare"], strict=True)]
    name = f"{len(texts):,} texts of reuters, tau {TAU}"
    facts = {
        "terms_per_row": model.transform(texts).nnz / len(texts),
        "their_fit": float(np.median(seconds["their fit"])),
    }
    records = [
        record(
            f"transform, {name}",
            "scikit-learn TfidfVectorizer.transform",
            seconds["transform"],
            seconds["their transform"],
            "s",
            most=1.3,
            mark="at most 1.3 times",
            limit=seconds["words"],
            limit_is="splitting the texts into words by one regular expression, and nothing else",
            **facts,
        ),
        record(
            f"fit, {name}",
            "TfidfVectorizer.fit + 1.5 bare products",
            seconds["fit"],
            bounds,
            "s",
            most=1.0,
            mark="at most that",
            limit=needed,
            limit_is="splitting the texts into words, and the float32 products of the upper triangle",
            **facts,
        ),
    ]
    for one in records:
        say(line(one))
    return records


def neighbour_records(data: LabelledTexts, vectors: WordVectors, size: Size, say: Say) -> list[Record]:
    """Find the nearest training documents of all test documents."""
    from sklearn.neighbors import NearestNeighbors

    is_test = np.array(data.is_test)
    train = [text for text, test in zip(data.texts, is_test, strict=True) if not test][: size.n_texts]
    test = [text for text, test in zip(data.texts, is_test, strict=True) if test][: size.n_texts]
    model = Cptw(vectors=vectors, tau=TAU, analyzer="paper").fit(train)
    rows, queries = model.transform(train), model.transform(test)
    index = EmbeddedIndex.build(model, train, progress=False)
    counts = model.count(train).matrix[:, : len(model.vocabulary_)].T.tocsr()
    expanded = model.represent(test, side="query", placement="query").matrix[:, : len(model.vocabulary_)]
    brute = NearestNeighbors(n_neighbors=K, algorithm="brute", metric="cosine", n_jobs=THREADS).fit(rows)
    seconds = interleave(
        {
            "search": lambda: index.search_many(test, K, method="cptw", fields=()),
            "rows": lambda: nearest_rows(queries, rows, K),
            "theirs": lambda: brute.kneighbors(queries),
            "theirs from texts": lambda: brute.kneighbors(model.transform(test)),
            "bare": lambda: _product(expanded, counts),
        },
        max(3, size.n_repeats // 2),
    )
    n_sample = size.n_word_movers
    words = seconds_of(lambda: word_movers(train, test, vectors, n_sample)) / n_sample * len(test)
    soft = soft_cosines(model, train, test[:n_sample])
    name = f"kNN, {len(test):,} x {len(train):,} documents of reuters, k {K}"
    limit = {
        "limit": seconds["bare"],
        "limit_is": "the sparse product of the propagated queries with the counts, on all cores",
    }
    scaled = f"a sample of {n_sample} queries, scaled"
    records = [
        record(
            f"{name}: `search_many`, from texts",
            "scikit-learn brute force on rows that `transform` makes of the texts",
            seconds["search"],
            seconds["theirs from texts"],
            "s",
            most=1.0,
            mark="fastest",
            **limit,
        ),
        record(
            f"{name}: `nearest_rows`",
            "scikit-learn brute force on the same rows",
            seconds["rows"],
            seconds["theirs"],
            "s",
            most=1.0,
            mark="fastest",
            **limit,
        ),
        record(
            f"{name}: `search_many`, from texts",
            f"gensim SoftCosineSimilarity, {scaled}",
            seconds["search"],
            float(np.median(soft)) * len(test),
            "s",
            most=1.0,
            mark="fastest",
            **limit,
        ),
        record(
            f"{name}: `search_many`, from texts",
            f"word mover's distance (POT), {scaled}",
            seconds["search"],
            words,
            "s",
            most=1e-3,
            mark="at least 1,000 times faster",
            **limit,
        ),
    ]
    for one in records:
        say(line(one))
    return records


def _product(queries: sp.csr_matrix, columns: sp.csr_matrix) -> None:
    step = -(-queries.shape[0] // (4 * THREADS))
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(lambda at: queries[at : at + step] @ columns, range(0, queries.shape[0], step)))


def word_movers(train: Sequence[str], test: Sequence[str], vectors: WordVectors, n_queries: int) -> object:
    """Find the nearest documents of a few queries by the word mover's distance, with its usual lower bounds."""
    from cptw_search.evaluation.word_movers import WordMoversComparison

    matrix = _term_vectors(train, vectors, None)[1]
    counter = Cptw(vectors=None, analyzer="paper", unknown="drop").fit(train)
    counts = [counter.count(texts).matrix for texts in (test[:n_queries], train)]
    return WordMoversComparison(counts[0], counts[1], matrix.astype(np.float32), K).scores(0, n_queries)


def soft_cosines(model: Cptw, documents: Sequence[str], queries: Sequence[str]) -> list[float]:
    """Time gensim's soft cosine of each query with all documents, with our S as its matrix."""
    from gensim.corpora import Dictionary
    from gensim.similarities import SoftCosineSimilarity, SparseTermSimilarityMatrix

    dictionary = Dictionary()
    dictionary.token2id = {term: place for place, term in enumerate(model.vocabulary_)}
    similarity = SparseTermSimilarityMatrix(model.similarity_.tocsc().astype(np.float32), dictionary)
    index = SoftCosineSimilarity(_bags(model, documents), similarity, num_best=10)
    return [seconds_of(lambda bag=bag: index[bag]) for bag in _bags(model, queries)]


def _bags(model: Cptw, texts: Sequence[str]) -> list[list[tuple[int, float]]]:
    counts = model.count(texts).matrix[:, : len(model.vocabulary_)]
    bounds = counts.indptr.tolist()
    indices, data = counts.indices.tolist(), counts.data.tolist()
    return [list(zip(indices[a:b], data[a:b], strict=True)) for a, b in itertools.pairwise(bounds)]


def measure_texts(vectors: WordVectors, size: Size, say: Say) -> list[Record]:
    """Measure all that needs reuters."""
    data = load_dataset("reuters")
    texts = data.texts[: size.n_texts]
    return [
        *similarity_records(data.texts if size.n_terms is None else texts, vectors, size, say),
        *text_records(texts, vectors, size, say),
        *neighbour_records(data, vectors, size, say),
    ]
