"""Cptw in scikit-learn's company."""

import copy

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from cptw_search import Cptw, WordVectors
from cptw_search.errors import NotFittedError, UnknownNameError

DOCUMENTS = ["the boat sails", "a ship at sea", "the cat sleeps", "a dog and a cat", "ships sail the sea", "my dog"] * 3
LABELS = ["water", "water", "pet", "pet", "water", "pet"] * 3
VECTORS = WordVectors(["boat", "ship", "sea", "cat", "dog"], [[1, 0], [4, 3], [1, 1], [-1, 1], [-4, 3]])


@pytest.mark.parametrize(
    "check",
    [  # check_estimator runs none at all for text; these are the ones that need no matrix
        "check_estimator_cloneable",
        "check_estimator_repr",
        "check_estimator_tags_renamed",
        "check_get_params_invariance",
        "check_mixin_order",
        "check_no_attributes_set_in_init",
        "check_parameters_default_constructible",
        "check_set_params",
        "check_valid_tag_types",
    ],
)
def test_estimator_checks_that_apply_to_text(check: str) -> None:
    assert getattr(estimator_checks, check)("Cptw", Cptw()) is None  # raises where the check fails


def test_a_pipeline_classifies() -> None:
    pipeline = make_pipeline(Cptw(vectors=VECTORS), KNeighborsClassifier(n_neighbors=1)).fit(DOCUMENTS, LABELS)
    assert pipeline.predict(["two boats", "the dogs"]).tolist() == ["water", "pet"]


def test_a_grid_search_tunes_and_runs_in_other_processes() -> None:
    pipeline = make_pipeline(Cptw(vectors=VECTORS), KNeighborsClassifier(n_neighbors=1))
    grid = GridSearchCV(pipeline, {"cptw__tau": [0.5, 2.0], "cptw__weighting": ["tf", "idf-input"]}, cv=3, n_jobs=2)
    grid.fit(DOCUMENTS, LABELS)
    assert np.isfinite(grid.cv_results_["mean_test_score"]).all()
    assert grid.score(["boat", "dog"], ["water", "pet"]) == 1.0


def test_clone_shares_the_vectors_and_forgets_the_fit() -> None:
    model = Cptw(vectors=VECTORS, tau=0.7).fit(DOCUMENTS)
    twin = clone(model)
    assert twin.vectors is VECTORS
    assert twin.get_params() == model.get_params()
    with pytest.raises(NotFittedError, match="must be fitted before it is used"):
        twin.transform(DOCUMENTS)


def test_fitting_twice_gives_the_same_model_and_leaves_the_parameters_alone() -> None:
    model = Cptw(vectors=VECTORS)
    parameters = model.get_params()
    assert model.fit(DOCUMENTS).model_id == model.fit(DOCUMENTS).model_id
    assert model.get_params() == parameters


def test_a_copy_as_other_processes_get_it_represents_alike() -> None:
    model = Cptw(vectors=VECTORS).fit(DOCUMENTS)
    model.transform(["boat"])
    again = copy.deepcopy(model)
    assert (again.transform(["new boats"]) != model.transform(["new boats"])).nnz == 0


def test_set_params_takes_effect_with_the_next_fit_only() -> None:
    model = Cptw(vectors=VECTORS, tau=0.5).fit(DOCUMENTS)
    before, model_id = model.transform(DOCUMENTS), model.model_id
    model.set_params(weighting="bm25", unknown="drop", row_norm="none")
    assert (model.transform(DOCUMENTS) != before).nnz == 0
    assert model.model_id == model_id
    assert (model.fit(DOCUMENTS).transform(DOCUMENTS) != before).nnz > 0


def test_an_unknown_parameter_lists_the_known_ones() -> None:
    with pytest.raises(UnknownNameError, match="parameter must be one of 'vectors', 'tau'.*Got 'threshold'"):
        Cptw().set_params(threshold=0.5)


def test_feature_names_are_the_terms() -> None:
    names = Cptw(vectors=VECTORS).fit(DOCUMENTS).get_feature_names_out()
    assert names.tolist() == ["boat", "cat", "dog", "sail", "sea", "ship", "sleep"]


def test_repr_shows_what_was_changed() -> None:
    assert repr(Cptw()) == "Cptw()"
    assert repr(Cptw(tau=0.7, vectors=None)) == "Cptw(vectors=None, tau=0.7)"
