from pathlib import Path

import ir_measures
import numpy as np
import pytest

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.runs import ranked, read_run, write_run

RUN = {"q1": [("d2", 3.5), ("d10", 1.0), ("d1", 1.0), ("d3", 1.0)], "q2": [("d1", 0.25)], "q3": []}


def test_a_run_comes_back_in_the_same_order(tmp_path: Path) -> None:
    write_run(RUN, tmp_path / "a.run", tag="mine")
    first, *_ = (tmp_path / "a.run").read_text().splitlines()
    assert first == "q1 Q0 d2 1 3.5 mine"
    back = read_run(tmp_path / "a.run")
    assert {query_id: [doc_id for doc_id, _ in ranking] for query_id, ranking in back.items()} == {
        "q1": ["d2", "d10", "d1", "d3"],
        "q2": ["d1"],
    }
    for query_id, ranking in back.items():
        assert [score for _, score in ranking] == pytest.approx([score for _, score in RUN[query_id]], rel=1e-6)
    write_run(back, tmp_path / "b.run", tag="mine")
    assert (tmp_path / "a.run").read_bytes() == (tmp_path / "b.run").read_bytes()


def test_other_tools_see_the_same_order_among_equal_scores(tmp_path: Path) -> None:
    """Its third document alone is relevant; trec_eval's own order of ties would put d3 before it."""
    write_run(RUN, tmp_path / "a.run")
    theirs = list(ir_measures.read_trec_run(str(tmp_path / "a.run")))
    (metric,) = ir_measures.iter_calc([ir_measures.RR], {"q1": {"d1": 1}}, theirs)
    assert metric.value == pytest.approx(1 / 3)


def test_scores_that_differ_less_than_single_precision_shows_stay_apart(tmp_path: Path) -> None:
    scores = [1.0, 1.0 - 1e-12, 0.5, 1e-46, 1e-46, 0.0, 0.0, -1.0]
    write_run({"q": [(str(n), score) for n, score in enumerate(scores)]}, tmp_path / "a.run")
    written = np.array([line.split()[4] for line in (tmp_path / "a.run").read_text().splitlines()], dtype=np.float32)
    assert (np.diff(written) < 0).all()
    np.testing.assert_allclose(written, scores, rtol=1e-6, atol=1e-40)


@pytest.mark.parametrize(
    ("run", "tag", "problem"),
    [
        ({"q": [("a b", 1.0)]}, "t", "document's id in the run of query 'q' must be without white space.*'a b'"),
        ({"q\u00a01": [("a", 1.0)]}, "t", "query's id in a run must be without white space"),
        ({"q": [("", 1.0)]}, "t", "document's id.*must be without white space.*Got ''"),
        ({"q": [("a", 1.0)]}, "my system", "tag of a run must be without white space"),
        ({"q": [("a", 1.0), ("a", 0.5)]}, "t", "found once by query 'q'. Got 'a' twice"),
        ({"q": [("a", 1.0), ("b", 2.0)]}, "t", "descending order. Got 2.0 at rank 2, after 1.0"),
        ({"q": [("a", float("nan"))]}, "t", "finite numbers in descending order. Got nan"),
    ],
)
def test_what_cannot_be_written(
    run: dict[str, list[tuple[str, float]]], tag: str, problem: str, tmp_path: Path
) -> None:
    with pytest.raises(InvalidInputError, match=problem):
        write_run(run, tmp_path / "a.run", tag=tag)
    assert not (tmp_path / "a.run").exists()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("q Q0 d 1 0.5 t\nq Q0 e\n", r"a\.run:2: a line of a run must be.*Got 'q Q0 e'"),
        ("q Q0 d first 0.5 t\n", "a.run:1: a line of a run must be"),
        ("q Q0 d 1 inf t\n", "a.run:1: a line of a run must be"),
        ("q Q0 d 1 0.5 t\nq Q0 d 2 0.4 t\n", "a.run:2: a document must be found once by a query. Got 'd' twice"),
        (b"\xff\xfe", "must be a readable text file"),
    ],
)
def test_what_cannot_be_read(text: str | bytes, problem: str, tmp_path: Path) -> None:
    path = tmp_path / "a.run"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(InvalidInputError, match=problem):
        read_run(path)


def test_a_run_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="must be a readable text file. Got .*nowhere.run"):
        read_run(tmp_path / "nowhere.run")


def test_ranks_decide_where_a_file_has_equal_scores(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_text("q\tQ0\tb\t2\t0.5\tt\n\nq Q0 a 3 0.5 t\nq Q0 c 1 0.5 t\nq Q0 d 4 0.9 t\n")
    assert [doc_id for doc_id, _ in read_run(tmp_path / "a.run")["q"]] == ["d", "c", "b", "a"]


def test_equal_scores_are_ranked_by_id() -> None:
    assert [doc_id for doc_id, _ in ranked({"b": 1.0, "a": 1.0, "c": 5.0})] == ["c", "a", "b"]
