"""The evaluator's quick ways against slow or rival ones: CPTW against `Cptw`, BM25 against rank-bm25, and so on."""

import math

import numpy as np
import ot
import pytest
import scipy.sparse as sp
from made_up_texts import make_texts, make_vectors
from rank_bm25 import BM25Okapi

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.evaluation.baselines import Bm25, Lsi, Sif
from cptw_search.evaluation.dense_propagation import DENSE_BELOW
from cptw_search.evaluation.hybrid import Hybrid
from cptw_search.evaluation.inter_intra import iicr_of_cosines
from cptw_search.evaluation.methods import Setting
from cptw_search.evaluation.propagated import VARIANTS, Propagated
from cptw_search.evaluation.protocol import CountedTexts, Round, count_texts
from cptw_search.evaluation.unnormalised import UnnormalisedBagOfWords
from cptw_search.evaluation.word_movers import WordMoversComparison
from cptw_search.tuning import iicr

TEXTS, VECTORS = make_texts(), make_vectors()
TRAIN, TEST = np.arange(70), np.arange(70, 90)


@pytest.fixture(scope="module")
def data() -> CountedTexts:
    return count_texts(TEXTS, VECTORS)


@pytest.fixture(scope="module")
def part(data: CountedTexts) -> Round:
    return data.round(TRAIN, TEST)


@pytest.mark.parametrize("tau", [0.0, 0.3, DENSE_BELOW, 0.7, 1.0])
@pytest.mark.parametrize("variant", VARIANTS)
def test_cptw_is_the_models(part: Round, variant: str, tau: float) -> None:
    normalization, weighting = variant.split()
    model = Cptw(
        vectors=VECTORS, tau=tau, normalization=normalization, weighting=weighting, analyzer="paper", unknown="drop"
    )
    rows = model.fit_transform([TEXTS.texts[document] for document in TRAIN])
    queries = model.transform([TEXTS.texts[document] for document in TEST])
    settings = [Setting(variant, (("tau", tau),))]
    ((setting, comparison),) = Propagated((variant,), (tau,)).compare(part, settings)
    assert setting == settings[0]
    np.testing.assert_allclose(comparison.scores(0, len(TEST)), (queries @ rows.T).toarray(), atol=2e-5)


def test_many_settings_at_once_are_those_one_by_one(part: Round) -> None:
    method = Propagated(VARIANTS, (0.1, 0.3, 0.5, 0.9))
    together = {setting: comparison.scores(0, 5) for setting, comparison in method.compare(part, method.grid())}
    assert set(together) == set(method.grid())
    for setting in method.grid():
        ((_, alone),) = method.compare(part, [setting])
        np.testing.assert_allclose(together[setting], alone.scores(0, 5), atol=1e-6)


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_the_hybrid_is_that_of_the_index(part: Round, share: float) -> None:
    model = Cptw(vectors=VECTORS, tau=0.3, weighting="idf-weighted", analyzer="paper", unknown="drop", k1=1.5, b=0.75)
    model.fit([TEXTS.texts[document] for document in TRAIN])
    documents = [{"id": f"{place:04d}", "text": TEXTS.texts[document]} for place, document in enumerate(TRAIN)]
    index = EmbeddedIndex.build(model, documents)
    method = Hybrid(taus=(0.3,), lambdas=(share,), bm25s=((1.5, 0.75),))
    ((_, comparison),) = method.compare(part, method.grid())
    mine = comparison.scores(0, len(TEST))
    for row, document in zip(mine, TEST, strict=True):
        hits = index.search(TEXTS.texts[document], k=len(TRAIN), method="hybrid", lambda_=share)
        theirs = np.zeros(len(TRAIN))
        theirs[[int(hit.id) for hit in hits]] = [hit.score for hit in hits]
        np.testing.assert_allclose(row, theirs, atol=1e-4)


def test_bm25_is_that_of_rank_bm25_but_for_its_idf(part: Round) -> None:
    tokens = [[str(term) for term in np.repeat(row.indices, row.data.astype(int))] for row in part.train]
    queries = [[str(term) for term in np.repeat(row.indices, row.data.astype(int))] for row in part.queries]
    reference = BM25Okapi(tokens, k1=1.5, b=0.75)
    ((_, comparison),) = Bm25().compare(part, [Setting("", (("k1", 1.5), ("b", 0.75)))])
    ours = comparison.scores(0, len(TEST))

    # One word alone ranks the same, whatever its IDF is, if that is positive: in fewer than half of the documents.
    rare = np.flatnonzero((part.df < part.n_docs / 2) & (part.df > 1))
    ((_, words),) = Bm25().compare(
        Round(part.train, sp.identity(part.train.shape[1], format="csr")[rare], part.columns, part.data),
        [Setting("", (("k1", 1.5), ("b", 0.75)))],
    )
    for number, term in enumerate(rare):
        expected = reference.get_scores([str(term)])
        assert np.array_equal(
            np.argsort(-words.scores(number, number + 1)[0].round(5), kind="stable"),
            np.argsort(-(expected / expected.max() * words.scores(number, number + 1).max()).round(5), kind="stable"),
        )

    # With Lucene's IDF, which is never negative, whole documents score the same but for the factor k1 + 1.
    n_docs = part.n_docs
    reference.idf = {str(term): math.log1p((n_docs - df + 0.5) / (df + 0.5)) for term, df in enumerate(part.df)}
    expected = np.array([reference.get_scores(query) for query in queries])
    np.testing.assert_allclose(ours * 2.5, expected, rtol=1e-4, atol=1e-5)


def test_lsi_is_the_leading_part_of_the_decomposition(part: Round) -> None:
    _, _, components = np.linalg.svd(part.train.toarray(), full_matrices=False)
    for setting, comparison in Lsi((3, 70)).compare(part, Lsi((3, 70)).grid()):
        size = int(setting.parameters[0][1])
        queries, rows = (side.toarray() @ components[:size].T for side in (part.queries, part.train))
        unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in (queries, rows)]
        np.testing.assert_allclose(comparison.scores(0, len(TEST)), unit[0] @ unit[1].T, atol=2e-3)


def test_sif_is_its_definition(part: Round) -> None:
    probability = np.asarray(part.train.sum(axis=0)).ravel() / part.train.sum()
    weighted = part.vectors * (0.01 / (0.01 + probability))[:, None]
    covered = part.vectors.any(axis=1)
    means = [
        side.toarray() @ weighted / np.maximum(side.toarray()[:, covered].sum(axis=1), 1)[:, None]
        for side in (part.queries, part.train)
    ]
    first = np.linalg.svd(means[1], full_matrices=False)[2][0]
    sides = [side - np.outer(side @ first, first) for side in means]
    unit = [side / np.linalg.norm(side, axis=1, keepdims=True) for side in sides]
    ((_, comparison),) = Sif().compare(part, [Setting("", (("a", 0.01),))])
    np.testing.assert_allclose(comparison.scores(0, len(TEST)), unit[0] @ unit[1].T, atol=1e-4)


def test_the_nearest_by_word_movers_are_those_of_all_pairs(part: Round) -> None:
    k = 5
    comparison = WordMoversComparison(part.queries, part.train, part.vectors, k)
    scores = comparison.scores(0, len(TEST))
    covered = np.flatnonzero(part.vectors.any(axis=1))
    vectors = part.vectors[covered].astype(np.float64)
    costs = np.linalg.norm(vectors[:, None] - vectors[None], axis=2)
    queries, rows = (side[:, covered].toarray() for side in (part.queries, part.train))
    for number in range(6):
        exact = np.array(
            [
                ot.emd2(
                    queries[number] / queries[number].sum(),
                    row / row.sum(),
                    costs,
                )
                for row in rows
            ]
        )
        order = np.argsort(exact, kind="stable")[:k]
        np.testing.assert_allclose(np.sqrt(2 - 2 * np.sort(scores[number])[::-1][:k]), exact[order], atol=1e-4)
    assert comparison.n_exact < len(TEST) * len(TRAIN)  # the bounds save work


@pytest.mark.parametrize("k", [1, 3, 50])
def test_iicr_of_cosines_is_that_of_rows(data: CountedTexts, k: int) -> None:
    rows = Cptw(vectors=VECTORS, tau=0.4, analyzer="paper").fit_transform(TEXTS.texts)
    cosines = (rows @ rows.T).toarray()
    if k < 30:
        assert iicr_of_cosines(cosines, data.codes, k) == pytest.approx(iicr(rows, data.codes, k), abs=1e-6)
    else:
        assert iicr_of_cosines(cosines, data.codes, k) > 1


@pytest.mark.parametrize("name", ["bow-counts", "bow-shares"])
def test_distances_of_rows_without_unit_length(part: Round, name: str) -> None:
    queries, rows = part.queries.toarray(), part.train.toarray()
    if name == "bow-shares":
        queries, rows = (side / side.sum(axis=1, keepdims=True) for side in (queries, rows))
    ((_, comparison),) = UnnormalisedBagOfWords(name).compare(part, [Setting("")])
    distances = np.linalg.norm(queries[:, None] - rows[None], axis=2)
    np.testing.assert_allclose(np.sqrt(2 - 2 * comparison.scores(0, len(TEST))), distances, atol=1e-3)
