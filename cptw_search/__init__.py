"""Search with a sense of meaning: contextually propagated term weights (CPTW).

The names here are all that most programs need; the modules hold the rest.
"""

from cptw_search.backend import Hit
from cptw_search.classify import KnnClassifier
from cptw_search.embeddings import WordVectors, load_vectors
from cptw_search.engine import EmbeddedIndex
from cptw_search.errors import CptwError
from cptw_search.model import Cptw
from cptw_search.pruning import Pruning

__all__ = ["Cptw", "CptwError", "EmbeddedIndex", "Hit", "KnnClassifier", "Pruning", "WordVectors", "load_vectors"]
