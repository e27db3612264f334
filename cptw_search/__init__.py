"""Search with a sense of meaning: contextually propagated term weights (CPTW).

The names here are all that most programs need; the modules hold the rest. A name is imported when it is first used, so
that ``cptw --help`` does not wait for numpy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cptw_search.backend import Hit
    from cptw_search.classify import KnnClassifier
    from cptw_search.embeddings import WordVectors, load_vectors
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.errors import CptwError
    from cptw_search.model import Cptw
    from cptw_search.pruning import Pruning
    from cptw_search.purposes import model_for

__all__ = [
    "Cptw",
    "CptwError",
    "EmbeddedIndex",
    "Hit",
    "KnnClassifier",
    "Pruning",
    "WordVectors",
    "load_vectors",
    "model_for",
]

_MODULES = {
    "Cptw": "model",
    "CptwError": "errors",
    "EmbeddedIndex": "engine",
    "Hit": "backend",
    "KnnClassifier": "classify",
    "Pruning": "pruning",
    "WordVectors": "embeddings",
    "load_vectors": "embeddings",
    "model_for": "purposes",
}


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(importlib.import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
