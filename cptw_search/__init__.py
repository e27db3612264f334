"""Search with a sense of meaning: contextually propagated term weights (CPTW)."""
