"""Classification through a real cluster gives the classes that matrix products give."""

from dataclasses import replace
from pathlib import Path

import pytest
from made_up_texts import make_texts, make_vectors

from cptw_search.evaluation.study import Plan, run_study
from cptw_search.evaluation.through_index import classify_through_index

pytestmark = pytest.mark.servers


@pytest.mark.parametrize("server", ["elasticsearch7", "elasticsearch9", "opensearch3"])
def test_a_cluster_classifies_as_the_mathematics_does(
    request: pytest.FixtureRequest, server: str, tmp_path: Path
) -> None:
    url = request.getfixturevalue(server).url
    texts, vectors = make_texts(split=True), make_vectors()
    plan = replace(Plan.quick(), ks=(1, 3, 5), variants=("l2 tf",))
    lines = run_study([texts], vectors, ["cptw"], tmp_path, plan=plan, n_processes=1, progress=False)
    found = classify_through_index(texts, vectors, lines, "cptw l2 tf", plan, engine=url)
    # A cluster keeps 9 bits of a weight: neighbours that are nearly as near as each other may change places.
    assert found.agreement >= 0.95
    assert found.micro_f1 == pytest.approx(found.expected_micro_f1, abs=0.05)
