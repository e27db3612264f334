"""Pruning keeps the heaviest weights of each row, and of equal ones those of the first columns."""

import numpy as np
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from cptw_search.pruning import Pruning, prune

# Few different values, so that equal ones do occur.
matrices = st.integers(1, 12).flatmap(
    lambda n_columns: st.lists(st.lists(st.integers(-3, 3), min_size=n_columns, max_size=n_columns), max_size=4)
)
prunings = st.builds(Pruning, st.sampled_from([0.0, 0.5, 1.0]), st.none() | st.integers(1, 13))


@given(matrices.filter(bool), prunings)
def test_what_is_kept_is_what_sorting_keeps(values: list[list[int]], pruning: Pruning) -> None:
    rows = sp.csr_matrix(np.array(values, dtype=float))
    kept = prune(rows, pruning)
    for row, pruned in zip(values, kept.toarray(), strict=True):
        filled = [column for column, value in enumerate(row) if value]
        heaviest = sorted(filled, key=lambda column, row=row: (-abs(row[column]), column))[: pruning.max_terms]
        least = pruning.min_share * max((abs(value) for value in row), default=0)
        expected = [value if column in heaviest and abs(value) >= least else 0 for column, value in enumerate(row)]
        assert pruned.tolist() == expected
