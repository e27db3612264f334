"""What is done in a quicker way for one row, for many, or for a file that was only opened, gives the same to the last bit."""

import json
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import scipy.sparse as sp

from cptw_search import Cptw, EmbeddedIndex, WordVectors, acceleration
from cptw_search.batch_scoring import pays, scores_of_many
from cptw_search.errors import CorruptedError
from cptw_search.neighbours import nearest_rows
from cptw_search.placement import PLACEMENTS
from cptw_search.postings import Postings, Saturation, Wanted, top_k
from cptw_search.propagation import WEIGHTINGS
from cptw_search.row_products import multiply_row, sum_by_column
from cptw_search.similarity import term_similarity
from cptw_search.sparse_scores import SparseScores, add, nonzero


def words(n_docs: int, n_words: int, length: int, seed: int = 0) -> list[str]:
    random = np.random.default_rng(seed)
    numbers = (n_words * random.random((n_docs, length)) ** 2).astype(int)
    return [" ".join(f"w{number}" for number in row) for row in numbers]


def some_vectors(n_words: int) -> WordVectors:
    random = np.random.default_rng(1)
    centres = np.repeat(random.normal(size=(n_words // 5, 20)), 5, axis=0)
    return WordVectors([f"w{number}" for number in range(n_words)], centres + 0.4 * random.normal(size=centres.shape))


def fitted(weighting: str = "idf-weighted", n_words: int = 500, **parameters: object) -> Cptw:
    model = Cptw(vectors=some_vectors(n_words), tau=0.6, weighting=weighting, analyzer="whitespace", **parameters)
    return model.fit([*words(200, n_words, 10), " ".join(f"w{number}" for number in range(n_words))])


@pytest.mark.parametrize("weighting", WEIGHTINGS)
@pytest.mark.parametrize("placement", PLACEMENTS)
@pytest.mark.parametrize("side", ["document", "query"])
def test_one_text_is_represented_as_it_is_among_others(weighting: str, placement: str, side: str) -> None:
    model = fitted(weighting)
    texts = ["w1 w2 w2 w499 new", "new newer", "", "w3"]
    together = model.represent(texts, side=side, placement=placement)
    for number, text in enumerate(texts):
        alone = model.represent([text], side=side, placement=placement)
        columns = {name: place for place, name in enumerate([*model.vocabulary_, *together.unknown])}
        names = [*model.vocabulary_, *alone.unknown]
        mine = {
            columns[names[column]]: value for column, value in zip(alone.matrix.indices, alone.matrix.data, strict=True)
        }
        row = together.matrix[[number]]
        assert mine == dict(zip(row.indices.tolist(), row.data.tolist(), strict=True))


@pytest.fixture(params=["numpy", "numba"])
def multiplier(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setattr(acceleration, "COMPILED_FROM", 0 if request.param == "numba" else acceleration.NEVER)
    if request.param == "numba":
        pytest.importorskip("numba", reason="the extra `fast` is not installed")
        assert acceleration.compiled_for(1) is acceleration.compiled_if_loaded() is not None
    return str(request.param)


@pytest.mark.usefixtures("multiplier")
@pytest.mark.parametrize("n_columns", [50, 100_000])
def test_a_row_is_multiplied_as_scipy_does(n_columns: int) -> None:
    random = np.random.default_rng(0)
    places = random.integers(0, n_columns, (2, 3_000))
    matrix = sp.csr_matrix((random.random(3_000), places), shape=(n_columns, n_columns))
    before, after = random.random(n_columns), random.random(n_columns)
    columns = np.unique(places[0, :20])
    row = sp.csr_matrix((random.random(len(columns)), columns, [0, len(columns)]), shape=(1, n_columns))
    expected = sp.csr_matrix(row.multiply(before)) @ matrix
    expected.sort_indices()
    found, values = multiply_row(row.indices, row.data, matrix, before, after, 1.0)
    assert found.tolist() == expected.indices.tolist()
    assert values.tolist() == (expected.data * after[expected.indices]).tolist()


@pytest.mark.usefixtures("multiplier")
def test_products_that_cancel_are_left_out() -> None:
    S = sp.csr_matrix(np.array([[1.0, 0.5, 0.5], [0.5, 1.0, 0.0], [0.5, 0.0, 1.0]]))
    ones, weights = np.ones(3), np.array([1.0, -2.0, 0.5])
    for _ in range(2):  # the second time in memory that was used before
        columns, sums = multiply_row(np.arange(3), weights, S, ones, ones, 1.0)
        assert dict(zip(columns.tolist(), sums.tolist(), strict=True)) == {0: 0.25, 1: -1.5, 2: 1.0}
        columns, sums = multiply_row(np.arange(2), weights[:2], S, ones, ones, 1.0)
        assert (columns.tolist(), sums.tolist()) == ([1, 2], [-1.5, 0.5])


@pytest.mark.usefixtures("multiplier")
@pytest.mark.parametrize(("column", "value"), [(-1, 0.5), (3, 0.5), (1, 0.0), (1, 1.5), (1, np.nan)])
def test_entries_that_are_no_similarities_are_refused(column: int, value: float) -> None:
    S = sp.csr_matrix(np.eye(3))
    broken = sp.csr_matrix((3, 3))
    broken.indptr, broken.indices, broken.data = S.indptr, np.array([0, column, 2]), np.array([1.0, value, 1.0])
    row = (np.arange(3), np.ones(3))
    with pytest.raises(CorruptedError, match=r"similarity_(data|indices)\.npy must hold co"):
        multiply_row(*row, broken, np.ones(3), np.ones(3), 1.0, checked=False)
    assert multiply_row(*row, S, np.ones(3), np.ones(3), 1.0, checked=False)[1].tolist() == [1.0, 1.0, 1.0]


def test_sums_that_cancel_are_left_out_either_way() -> None:
    for n_columns in (3, 1_000):
        columns, sums = sum_by_column(np.array([2, 1, 2]), np.array([1.0, 0.5, -1.0]), n_columns)
        assert (columns.tolist(), sums.tolist()) == ([1], [0.5])
    columns, sums = sum_by_column(np.empty(0, dtype=np.int32), np.empty(0), 1_000)
    assert len(columns) == len(sums) == 0


def test_a_document_of_two_fields_is_counted_alone_as_among_others() -> None:
    model = Cptw(vectors=None, field_weights={"title": 2.0, "text": 1.0}).fit(["boat sea sail", "ship"])
    document = {"title": "the boats", "text": "a boat at sea; boat"}
    alone, among = model.count([document]).matrix, model.count([document, "ship"]).matrix[:1]
    assert alone.toarray().tolist() == among.toarray().tolist()
    long = {"text": "boat sea " * 2_000}
    assert model.count([long]).matrix.toarray().tolist() == model.count([long, "ship"]).matrix[:1].toarray().tolist()


@pytest.mark.parametrize("method", ["cptw", "bm25", "tfidf", "hybrid", "rrf"])
@pytest.mark.parametrize("placement", PLACEMENTS)
def test_many_queries_at_once_score_as_one_by_one(method: str, placement: str) -> None:
    index = EmbeddedIndex.build(fitted(), words(400, 600, 12, seed=3), placement=placement)
    index.delete(["3", "7"])
    queries = words(60, 600, 30, seed=4)
    together = index.search_many(queries, 7, method=method)
    assert together == [index.search_many([query], 7, method=method)[0] for query in queries]


def some_lists(n_docs: int, n_features: int, density: float) -> tuple[Postings, sp.csr_matrix]:
    rows = sp.random(n_docs, n_features, density, format="csr", random_state=np.random.default_rng(0), dtype=np.float32)
    return Postings.of(rows.astype(np.float64)), rows.astype(np.float64)


def dense(found: SparseScores, n_docs: int) -> np.ndarray:
    scores = np.zeros(n_docs)
    scores[found.docs] = found.scores
    return scores


@pytest.mark.parametrize("share", [0.001, 0.1, 0.9])
def test_sparse_sums_are_those_of_arrays(share: float) -> None:
    random = np.random.default_rng(0)
    one, other = (np.where(random.random(3_000) < share, random.random(3_000), 0.0) for _ in range(2))
    found = add(nonzero(one), nonzero(other), 3_000)
    assert len(np.unique(found.docs)) == len(found.docs)
    assert dense(found, 3_000).tolist() == (one + other).tolist()
    assert add(nonzero(np.zeros(3_000)), nonzero(other), 3_000).docs.tolist() == np.flatnonzero(other).tolist()


@pytest.mark.parametrize("n_docs", [40, 5_000])  # lists that are copied entry by entry, and whole
def test_scores_are_the_products(n_docs: int) -> None:
    lists, rows = some_lists(n_docs, 30, 0.1)
    features, weights = np.array([2, 5, 29, 77, -1]), np.array([0.5, 2.0, 1.0, 9.0, 9.0])
    expected = rows[:, features[:3]] @ weights[:3]
    np.testing.assert_allclose(dense(lists.scores(features, weights, n_docs), n_docs), expected, rtol=1e-12)
    queries = sp.csr_matrix((np.tile(weights, 3), np.tile(features[[0, 1, 2, 3, 3]], 3), [0, 5, 10, 15]), shape=(3, 99))
    assert not pays(lists, lists.find(features[3:]))
    assert pays(lists, lists.find(np.tile(np.arange(30), 2)))
    for one in scores_of_many(lists, queries, lists.find(np.tile(features, 3)), n_docs):
        assert one.tolist() == dense(lists.scores(features, weights, n_docs), n_docs).tolist()
    with pytest.raises(CorruptedError, match="names a document that is not there"):
        next(scores_of_many(lists, queries, lists.find(np.tile(features, 3)), 3))
    nothing = Postings.of(sp.csr_matrix((n_docs, 30)))
    assert not len(nothing.scores(features, weights, n_docs).docs)


def test_many_features_are_found_as_few_are() -> None:
    lists, _ = some_lists(40, 30, 0.01)
    assert 0 < len(lists.features) < 30
    wanted = np.array([7, -1, 29, 0, 500, 3])
    positions, is_there = lists.find(wanted)
    for others in (np.arange(40), np.array([2**31 - 1])):  # with the last one, a table would be too large
        many, are_there = lists.find(np.concatenate((np.tile(wanted, 20), others)))
        assert are_there[:120].tolist() == np.tile(is_there, 20).tolist()
        assert many[:120][are_there[:120]].tolist() == np.tile(positions[is_there], 20).tolist()
        assert lists.lengths(many[are_there]).tolist() == [
            int(lists.lengths(many[[at]])[0]) for at in np.flatnonzero(are_there)
        ]
    nothing = Postings.of(sp.csr_matrix((40, 30)))
    assert not nothing.find(wanted)[1].any()


@pytest.mark.parametrize("n_docs", [40, 5_000])
@pytest.mark.parametrize("is_saturated", [False, True])
def test_compiled_sums_are_the_same(n_docs: int, is_saturated: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    lists, _ = some_lists(n_docs, 30, 0.1)
    random = np.random.default_rng(1)
    features, weights = np.array([2, 5, 29, 77, -1]), random.standard_normal(5)
    weights[1] = -weights[0]  # of a document with the same weight twice, nothing is left
    saturation = Saturation(random.random(n_docs), 1.3) if is_saturated else None
    expected = dense(lists.scores(features, weights, n_docs, saturation), n_docs)
    monkeypatch.setattr(acceleration, "COMPILED_FROM", 0)
    for _ in range(2):  # the second time in memory that was used before
        assert dense(lists.scores(features, weights, n_docs, saturation), n_docs).tolist() == expected.tolist()
    broken = replace(lists, docs=lists.docs - 1)
    for fewer in (lists, broken):
        with pytest.raises(CorruptedError, match="names a document that is not there"):
            fewer.scores(np.arange(30), np.ones(30), n_docs - (fewer is lists), saturation)


@pytest.mark.parametrize("is_compiled", [False, True])
@pytest.mark.parametrize("is_masked", [False, True])
def test_no_score_that_matters_is_left_out(is_compiled: bool, is_masked: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "COMPILED_FROM", 0 if is_compiled else acceleration.NEVER)
    n_docs, k = 5_000, 7
    lists, _ = some_lists(n_docs, 30, 0.1)
    random = np.random.default_rng(2)
    mask = random.random(n_docs) < 0.5 if is_masked else None
    docs = random.permutation(n_docs)[:50]
    query = (np.arange(30), random.random(30))
    divisors = random.random(n_docs) + 0.5
    everything = dense(lists.scores(*query, n_docs, divisors=divisors), n_docs)
    for _ in range(2):  # the second time in memory that was used before
        found = lists.scores(*query, n_docs, divisors=divisors, wanted=Wanted(docs, k, mask))
        assert len(np.unique(found.docs)) == len(found.docs) < n_docs / 2
        assert found.scores.tolist() == everything[found.docs].tolist()
        assert set(docs) <= set(found.docs)
        others = np.setdiff1d(np.arange(n_docs) if mask is None else np.flatnonzero(mask), docs)
        assert set(others[np.argsort(-everything[others])[:k]]) <= set(found.docs)
        assert mask is None or set(np.setdiff1d(found.docs, docs)) <= set(np.flatnonzero(mask))


@pytest.mark.parametrize("method", ["cptw", "bm25", "bm25+rm3", "tfidf", "hybrid", "hybrid+feedback", "rrf"])
def test_a_search_by_compiled_code_finds_the_same(method: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    built = EmbeddedIndex.build(fitted(), words(400, 600, 12, seed=3), path=tmp_path / "index")
    queries = words(20, 600, 4, seed=4)
    expected = [built.search(query, 7, method=method) for query in queries]
    monkeypatch.setattr(acceleration, "COMPILED_FROM", 0)
    for index in (built, EmbeddedIndex.open(tmp_path / "index")):
        assert [index.search(query, 7, method=method) for query in queries] == expected


@pytest.fixture
def loader() -> Iterator[Callable[[], ModuleType | None]]:
    acceleration._load.cache_clear()
    yield acceleration._load
    acceleration._load.cache_clear()


def test_compiled_code_is_loaded_when_that_pays(loader: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("numba", reason="the extra `fast` is not installed")
    monkeypatch.setattr(acceleration, "COMPILED_FROM", 100)
    monkeypatch.setattr(acceleration._Tally, "n_postings", 0)
    assert acceleration.compiled_for(60) is acceleration.compiled_if_loaded() is None
    assert acceleration.compiled_for(60) is acceleration.compiled_if_loaded() is loader()
    assert loader() is not None
    monkeypatch.setattr(acceleration, "COMPILED_FROM", acceleration.NEVER)
    assert acceleration.compiled_for(60) is acceleration.compiled_if_loaded() is None


def test_without_numba_numpy_adds_up(loader: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(acceleration, "COMPILED_FROM", 0)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert loader() is None
    lists, rows = some_lists(40, 30, 0.1)
    np.testing.assert_allclose(dense(lists.scores(np.arange(30), np.ones(30), 40), 40), rows @ np.ones(30))


def test_a_numba_that_cannot_be_used_is_told_of(loader: Callable[[], object], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cptw_search.compiled", None)
    monkeypatch.delattr("cptw_search.compiled", raising=False)
    with pytest.warns(RuntimeWarning, match="numba is installed and cannot be used: "):
        assert loader() is None


def test_where_nothing_can_be_kept_code_is_compiled_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    numba = pytest.importorskip("numba", reason="the extra `fast` is not installed")
    from cptw_search import compiled

    made = numba.njit

    def njit(kernel: object, *, cache: bool = False, **settings: object) -> object:
        if cache:
            raise RuntimeError("cannot cache function: no locator available")
        return made(kernel, **settings)

    monkeypatch.setattr(numba, "njit", njit)
    assert compiled._compiled(lambda: True)() is True


def test_the_best_are_found_among_many_whatever_the_sample_says() -> None:
    random = np.random.default_rng(0)
    for share in (0.001, 0.5, 1.0):
        scores = np.where(random.random(5_000) < share, random.integers(1, 50, 5_000), 0).astype(float)
        ranks = random.permutation(5_000).astype(np.int32)
        expected = sorted(np.flatnonzero(scores).tolist(), key=lambda doc: (-scores[doc], ranks[doc]))[:20]
        found = nonzero(scores)
        assert top_k(found, 20, ranks).docs.tolist() == expected
        least = scores[expected[-1]]
        assert top_k(found, 20, ranks, least).docs.tolist() == expected


def test_equal_scores_of_several_segments_are_ordered_by_id() -> None:
    model = Cptw(vectors=None, analyzer="whitespace").fit(["a b", "c"])
    index = EmbeddedIndex.build(model, [{"id": f"{n:02}", "text": "a"} for n in range(20, 40)])
    index.add([{"id": f"{n:02}", "text": "a"} for n in range(20)])
    index.add([{"id": "99", "text": "a b"}])
    assert [hit.id for hit in index.search("a", 5, method="tfidf")] == ["00", "01", "02", "03", "04"]
    assert [hit.id for hit in index.search("a b", 3, method="tfidf")] == ["99", "00", "01"]


def test_nearest_rows_of_nothing() -> None:
    some, none = sp.csr_matrix(np.eye(3)), sp.csr_matrix((0, 3))
    assert nearest_rows(some, none, 5)[0].shape == (3, 0)
    assert nearest_rows(none, some, 2)[1].shape == (0, 2)


def test_vectors_of_any_kind_give_the_same_similarities() -> None:
    numbers = [[1, 0], [1, 1], [0, 0], [0, 2]]
    expected = term_similarity(numbers, 0.5).toarray()
    for dtype in (np.float32, np.float16, np.int8, object):
        assert (term_similarity(np.array(numbers, dtype=dtype), 0.5).toarray() == expected).all()


# A model that was only opened -----------------------------------------------------------------------------------------


def data_file(directory: Path, name: str) -> Path:
    return next(directory.glob(f"*/{name}"))


def forget_factors(directory: Path) -> None:
    """Make the directory what it was before the factors were saved."""
    manifest = json.loads((directory / "manifest.json").read_text())
    del manifest["files"]["column_scale.npy"]
    (directory / "manifest.json").write_text(json.dumps(manifest))
    data_file(directory, "column_scale.npy").unlink()


@pytest.mark.parametrize("weighting", WEIGHTINGS)
def test_a_directory_without_the_factors_is_the_same_model(weighting: str, tmp_path: Path) -> None:
    model = fitted(weighting)
    model.save(tmp_path)
    opened = Cptw.load(tmp_path, verify=True)
    forget_factors(tmp_path)
    old = Cptw.load(tmp_path, verify=True)
    assert old.model_id == opened.model_id == model.model_id
    old.verify()
    opened.verify()
    for one in (opened, old):
        for nonnegative in (False, True):
            for texts in (["w1 w2"], ["w1 w2", "new w3"]):
                found, expected = (m.represent(texts, nonnegative=nonnegative).matrix for m in (one, model))
                assert (found != expected).nnz == 0
    assert opened.neighbours("w1") == model.neighbours("w1")
    assert opened.with_tau(0.7).model_id == model.with_tau(0.7).model_id
    assert opened.partial_fit(["w1"]).model_id == model.partial_fit(["w1"]).model_id


def test_changed_factors_are_found_by_verify(tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path)
    path = data_file(tmp_path, "column_scale.npy")
    factors = np.load(path)
    factors[3] *= 1.5
    np.save(path, factors)
    with pytest.raises(CorruptedError, match="column_scale.npy' must have the SHA-256"):
        Cptw.load(tmp_path, verify=True)
    with pytest.raises(CorruptedError, match="column_scale.npy was changed"):
        Cptw.load(tmp_path).verify()
    factors[3] = np.nan
    np.save(path, factors)
    with pytest.raises(CorruptedError, match="column_scale.npy must hold 500 finite numbers"):
        Cptw.load(tmp_path)


@pytest.mark.parametrize(("name", "value"), [("indices", 10**6), ("indices", -5), ("data", 7.0), ("data", np.nan)])
def test_a_changed_row_of_s_is_an_error_when_it_is_used(name: str, value: float, tmp_path: Path) -> None:
    model = fitted()
    model.save(tmp_path)
    path = data_file(tmp_path, f"similarity_{name}.npy")
    content = np.load(path)
    content[model.similarity_.indptr[model.vocabulary_.index("w7")]] = value
    np.save(path, content)
    opened = Cptw.load(tmp_path)
    assert opened.transform(["w400"]).nnz > 0  # another row
    for use in (
        lambda: opened.transform(["w7"]),
        lambda: opened.transform(["w400", "w401"]),  # many rows: all of S is checked
        lambda: opened.neighbours("w7"),
        lambda: opened.with_tau(0.9),
        lambda: opened.partial_fit(["w1"]),
    ):
        with pytest.raises(CorruptedError, match=f"similarity_{name}.npy must hold"):
            use()
