"""Figure 1 of the paper, to the printed digits.

The cosines are those of the GoogleNews vectors of the 13 words, rounded to four digits: facts, not data.
"""

import numpy as np
import pytest
import scipy.sparse as sp

from cptw_search import Cptw, WordVectors
from cptw_search.propagation import column_scale, propagation

WORDS = ["boat", "cat", "couch", "cruising", "is", "ocean", "on", "relaxing", "sailing", "sea", "ship", "the", "was"]
# fmt: off
COSINES = np.array([
    [1.0000, 0.1491, 0.2166, 0.2736, 0.0261, 0.3850, 0.0687, 0.1859, 0.5469, 0.3934, 0.6169, 0.0630, 0.1035],
    [0.1491, 1.0000, 0.2658, 0.0533, 0.0662, 0.0989, 0.0262, 0.1298, 0.0814, 0.0703, 0.1343, 0.0792, 0.1053],
    [0.2166, 0.2658, 1.0000, 0.1069, 0.0072, 0.2169, 0.1229, 0.3346, 0.0719, 0.1347, 0.1291, 0.0221, 0.0408],
    [0.2736, 0.0533, 0.1069, 1.0000, -0.028, 0.1891, 0.0832, 0.3457, 0.4577, 0.1602, 0.1856, 0.1394, 0.0365],
    [0.0261, 0.0662, 0.0072, -0.028, 1.0000, 0.0410, 0.1470, 0.1138, 0.0390, 0.0229, 0.0783, 0.3300, 0.6550],
    [0.3850, 0.0989, 0.2169, 0.1891, 0.0410, 1.0000, 0.0543, 0.1686, 0.3798, 0.7643, 0.3690, 0.1129, 0.0153],
    [0.0687, 0.0262, 0.1229, 0.0832, 0.1470, 0.0543, 1.0000, 0.1240, 0.0212, 0.0925, 0.0825, 0.4315, 0.1615],
    [0.1859, 0.1298, 0.3346, 0.3457, 0.1138, 0.1686, 0.1240, 1.0000, 0.2277, 0.0936, 0.0372, 0.0887, 0.0768],
    [0.5469, 0.0814, 0.0719, 0.4577, 0.0390, 0.3798, 0.0212, 0.2277, 1.0000, 0.3534, 0.5048, 0.1019, 0.0680],
    [0.3934, 0.0703, 0.1347, 0.1602, 0.0229, 0.7643, 0.0925, 0.0936, 0.3534, 1.0000, 0.4200, 0.1518, 0.0279],
    [0.6169, 0.1343, 0.1291, 0.1856, 0.0783, 0.3690, 0.0825, 0.0372, 0.5048, 0.4200, 1.0000, 0.1067, 0.0855],
    [0.0630, 0.0792, 0.0221, 0.1394, 0.3300, 0.1129, 0.4315, 0.0887, 0.1019, 0.1518, 0.1067, 1.0000, 0.3547],
    [0.1035, 0.1053, 0.0408, 0.0365, 0.6550, 0.0153, 0.1615, 0.0768, 0.0680, 0.0279, 0.0855, 0.3547, 1.0000],
])
# fmt: on
SENTENCES = [
    "The boat is sailing on the sea",
    "The ship was cruising on the ocean",
    "The cat was relaxing on the couch",
]
TAU = 0.3
PRINTED = {"l2": [0.16, 0.49, 0.40], "sum": [0.09, 0.30, 0.26]}
PRINTED_BOW = [0.40, 0.40, 0.35]


def distances(rows: np.ndarray) -> list[float]:
    """Between sentences 1 and 2, 1 and 3, 2 and 3, as the figure has them."""
    return [round(float(np.linalg.norm(rows[i] - rows[j])), 2) for i, j in ((0, 1), (0, 2), (1, 2))]


def relative_frequencies() -> np.ndarray:
    tokens = [sentence.lower().split() for sentence in SENTENCES]
    return np.array([[row.count(word) / len(row) for word in WORDS] for row in tokens])


def test_bow_distances_are_the_printed_ones() -> None:
    assert distances(relative_frequencies()) == PRINTED_BOW


@pytest.mark.parametrize("normalization", ["l2", "sum"])
def test_kernels_give_the_printed_distances(normalization: str) -> None:
    S = sp.csr_matrix(np.where(COSINES >= TAU, COSINES, 0))
    operator = propagation(S, "tf", column_scale(S, normalization), np.ones(len(WORDS)), len(SENTENCES))
    assert distances(operator.apply(sp.csr_matrix(relative_frequencies())).toarray()) == PRINTED[normalization]


@pytest.mark.parametrize(
    ("tau", "normalization", "printed"),
    [(TAU, "l2", PRINTED["l2"]), (TAU, "sum", PRINTED["sum"]), (1.1, "l2", PRINTED_BOW)],
)
def test_the_whole_model_gives_the_printed_distances(tau: float, normalization: str, printed: list[float]) -> None:
    vectors = WordVectors(WORDS, np.linalg.cholesky(COSINES))  # 13 vectors with these cosines
    model = Cptw(vectors=vectors, tau=tau, normalization=normalization, analyzer="unicode", row_norm="none")
    rows = model.fit_transform(SENTENCES).toarray() / 7  # counts divided by their sum; the model is linear
    assert distances(rows) == printed
