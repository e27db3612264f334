"""Models for a purpose: the parameters that the studies found, so that nobody has to look them up.

For search see docs/retrieval.md, for classification docs/reproduction.md.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from cptw_search.errors import check_choice
from cptw_search.model import Cptw
from cptw_search.term_vectors import DERIVED

__all__ = ["GIVEN_VECTORS_TAU", "PURPOSES", "model_for", "parameters_for"]

PURPOSES: Mapping[str, Mapping[str, Any]] = {
    "search": {"weighting": "idf-input", "tau": 0.35, "k1": 1.5, "b": 0.75},
    "classification": {"weighting": "idf-released", "tau": 0.5},
}
"""Purposes to parameters of `Cptw`; tau is that of vectors made from the documents by LSI."""

GIVEN_VECTORS_TAU = 0.5
"""With other vectors tau is theirs: this is a careful one, until ``cptw tune`` has found it."""


def parameters_for(purpose: str, vectors: object = DERIVED[0]) -> dict[str, Any]:
    """Give the parameters of a model for a purpose.

    Parameters
    ----------
    purpose : {"search", "classification"}
        What the model is for.
    vectors : object, default "lsi"
        Where the similarity of words comes from, as for `Cptw`.

    Returns
    -------
    dict
        Parameters of `Cptw`.

    Raises
    ------
    InvalidInputError
        If there is no such purpose.

    Examples
    --------
    >>> parameters_for("search")
    {'weighting': 'idf-input', 'tau': 0.35, 'k1': 1.5, 'b': 0.75, 'vectors': 'lsi'}
    """
    check_choice("purpose", purpose, PURPOSES)
    own = dict(PURPOSES[purpose])
    if vectors != DERIVED[0]:
        own["tau"] = GIVEN_VECTORS_TAU
    return {**own, "vectors": vectors}


def model_for(purpose: str, **parameters: Any) -> Cptw:
    """Make a model for a purpose, which is still to be fitted.

    Parameters
    ----------
    purpose : {"search", "classification"}
        What the model is for.
    **parameters : object
        Parameters of `Cptw` that are to be others.

    Returns
    -------
    Cptw
        The model.

    Raises
    ------
    InvalidInputError
        If there is no such purpose.

    Examples
    --------
    >>> model = model_for("search", tau=0.4)
    >>> model.weighting, model.tau
    ('idf-input', 0.4)
    """
    return Cptw(**{**parameters_for(purpose, parameters.get("vectors", DERIVED[0])), **parameters})
