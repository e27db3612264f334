"""Search with a sense of meaning: contextually propagated term weights (CPTW).

The names here are all that most programs need; the modules hold the rest.
"""

from cptw_search.embeddings import WordVectors, load_vectors
from cptw_search.errors import CptwError
from cptw_search.model import Cptw

__all__ = ["Cptw", "CptwError", "WordVectors", "load_vectors"]
