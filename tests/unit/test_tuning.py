import numpy as np
import pytest
import scipy.sparse as sp

from cptw_search import Cptw, WordVectors
from cptw_search.errors import InvalidInputError, UnknownNameError
from cptw_search.tuning import iicr, tune_by_iicr, tune_classification, tune_search

# Two topics whose documents share no words: only neighbours at cosine 0.8 join them, and at 0.5 the topics blur.
WORDS = ["boat", "ship", "cat", "dog"]
VECTORS = WordVectors(WORDS, [[5, 0, 0], [4, 3, 0], [2, 4, 3.5], [0, 5, 4]])
TEXTS = ["boat x1", "ship x2", "boat x3", "ship x4", "cat x5", "dog x6", "cat x7", "dog x8"] * 3
LABELS = ["water"] * 4 + ["pets"] * 4
LABELS = LABELS * 3


def test_classification_is_tuned_on_folds_and_measured_on_others() -> None:
    tuned = tune_classification(Cptw(vectors=VECTORS), TEXTS, LABELS, taus=[0.3, 0.7, 2.0], ks=[1, 3], n_folds=3)
    assert tuned.measure == "accuracy"
    assert set(tuned.best) == {"tau", "k"}
    assert len(tuned.table) == 6
    assert tuned.held_out is not None
    assert 0 <= tuned.held_out <= max(row["mean"] for row in tuned.table)
    best = max(tuned.table, key=lambda row: row["mean"])
    assert {name: best[name] for name in ("tau", "k")} == tuned.best


def test_tuning_does_not_touch_the_model_it_was_given() -> None:
    model = Cptw(vectors=VECTORS, tau=0.42)
    tune_classification(model, TEXTS, LABELS, taus=[0.5], ks=[1])
    assert model.get_params()["tau"] == 0.42
    assert not model.__sklearn_is_fitted__()


def test_the_held_out_figure_is_not_the_one_that_was_maximised() -> None:
    """With labels drawn by lot, the best of many settings looks better than chance; held out it does not."""
    random = np.random.default_rng(0)
    texts = [" ".join(random.choice([f"w{i}" for i in range(30)], 6)) for _ in range(60)]
    labels = random.choice(["a", "b"], 60).tolist()
    model = Cptw(vectors="lsi", n_dimensions=5)
    tuned = tune_classification(model, texts, labels, taus=[0.1, 0.3, 0.5, 0.7], ks=[1, 3, 5, 7], n_folds=5)
    assert tuned.held_out is not None
    assert tuned.held_out < max(row["mean"] for row in tuned.table)


def test_search_is_tuned_by_judged_queries() -> None:
    documents = [{"id": str(n), "text": text} for n, text in enumerate(TEXTS[:8])]
    queries = {"q1": "boat", "q2": "ship", "q3": "cat", "q4": "dog", "q5": "nobody judged this"}
    water, pets = {str(n): 1 for n in range(4)}, {str(n): 2 for n in range(4, 8)}
    judgements = {"q1": water, "q2": water, "q3": pets, "q4": pets, "q5": {"1": 0}}
    tuned = tune_search(
        Cptw(vectors=VECTORS),
        documents,
        queries,
        judgements,
        taus=[0.7, 2.0],
        lambdas=[0.0, 0.5],
        methods=["hybrid"],
        n_folds=2,
    )
    by_setting = {(row["tau"], row["lambda"]): row["mean"] for row in tuned.table}
    assert by_setting[0.7, 0.5] > by_setting[0.7, 0.0] == by_setting[2.0, 0.0]
    assert tuned.best == {"tau": 0.7, "lambda": 0.5, "method": "hybrid"}
    assert tuned.measure == "nDCG@10"
    assert tuned.held_out == pytest.approx(by_setting[0.7, 0.5])


def test_iicr_finds_the_tau_that_joins_classes_and_keeps_them_apart() -> None:
    tuned = tune_by_iicr(Cptw(vectors=VECTORS), TEXTS, LABELS, taus=[0.3, 0.7, 2.0], k=2)
    assert tuned.best == {"tau": 0.7}
    assert tuned.held_out is None
    assert [row["tau"] for row in tuned.table] == [0.3, 0.7, 2.0]


def test_iicr_by_hand() -> None:
    rows = sp.csr_matrix([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0], [-0.6, 0.8], [0.8, 0.6]])
    codes = np.array([0, 0, 1, 1, 2])  # a class of one document has no distance within
    d = lambda c: np.sqrt(2 - 2 * c)  # noqa: E731 - as one writes it on paper
    inter_0 = (d(0.8) + d(0.96)) / 2
    inter_1 = (d(0.8) + d(0.28)) / 2
    expected = (inter_0 / d(0.6) + inter_1 / d(0.8)) / 2
    assert iicr(rows, codes, k=1) == pytest.approx(expected)
    assert iicr(rows, np.array([0, 1, 2, 3, 4]), k=1) == 1.0
    with pytest.raises(InvalidInputError, match="at least two. Got 1"):
        iicr(rows, np.zeros(5, dtype=int), k=1)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"taus": [], "ks": [1]}, "taus must be a list of at least one number"),
        ({"taus": ["adaptive"], "ks": [1]}, "taus must be a list of at least one number"),
        ({"taus": [0.5], "ks": []}, "ks must be a list of at least one number"),
        ({"taus": [0.5], "ks": [1], "n_folds": 99}, "needs at least 99 items. Got 24"),
        ({"taus": [0.5], "ks": [1], "votes": "loud"}, "votes must be one of"),
    ],
)
def test_grids_are_checked(arguments: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        tune_classification(Cptw(vectors=VECTORS), TEXTS, LABELS, **arguments)  # type: ignore[arg-type]


def test_every_text_needs_a_label() -> None:
    with pytest.raises(InvalidInputError, match="one label a text. Got 24 texts and 1 labels"):
        tune_by_iicr(Cptw(vectors=VECTORS), TEXTS, ["water"], taus=[0.5])
    with pytest.raises(UnknownNameError, match="votes"):
        tune_classification(Cptw(vectors=VECTORS), TEXTS, LABELS, taus=[0.5], ks=[1], votes="x")


@pytest.mark.parametrize("weighting", ["tf", "idf-equation", "idf-released", "idf-weighted", "idf-input", "bm25"])
@pytest.mark.parametrize("tau", [0.5, 0.8, 1.0, 1.5])
def test_raising_tau_is_fitting_anew(weighting: str, tau: float) -> None:
    low = Cptw(vectors=VECTORS, tau=0.5, weighting=weighting).fit(TEXTS)
    low.set_params(weighting="tf", tau=9.0)  # must not show
    assert low.with_tau(tau).model_id == Cptw(vectors=VECTORS, tau=tau, weighting=weighting).fit(TEXTS).model_id


def test_tau_cannot_be_lowered_that_way() -> None:
    for model, tau in (
        (Cptw(vectors=VECTORS, tau=0.5), 0.4),
        (Cptw(vectors=VECTORS, tau="adaptive"), 0.9),
        (Cptw(vectors=VECTORS, tau=0.5, max_neighbours=2), 0.9),
        (Cptw(vectors=VECTORS, tau=0.5), "adaptive"),
    ):
        with pytest.raises(InvalidInputError, match="with_tau needs a number that is not below the tau of the model"):
            model.fit(TEXTS).with_tau(tau)  # type: ignore[arg-type]
