import json
from pathlib import Path

import pytest
from command_line import Result

TEXTS = ["the boat sails", "a ship at sea", "boats at sea", "the cat sleeps", "a dog and a cat", "dogs sleep"]
LABELS = ["water", "water", "water", "pets", "pets", "pets"]


@pytest.fixture
def labelled(tmp_path: Path) -> Path:
    path = tmp_path / "labelled.tsv"
    path.write_text(
        "".join(f"{label}\t{text} {n}\n" for n, (label, text) in enumerate(zip(LABELS, TEXTS, strict=True))) * 2
    )
    return path


def test_tau_and_k_by_classification(labelled: Path) -> None:
    shown = Result("tune", labelled, "--taus", "0.4,0.8", "--ks", "1,3", "--n-folds", "3")
    assert shown.status == 0, shown.stderr
    assert "Mean accuracy of each setting" in shown.stdout
    assert "Best: tau 0." in shown.stdout
    assert "held out, accuracy is" in shown.stdout


def test_json_has_every_setting(labelled: Path) -> None:
    shown = Result("tune", labelled, "--taus", "0.4,0.8", "--ks", "1,3", "--n-folds", "3", "--json")
    facts = json.loads(shown.stdout)
    assert facts["measure"] == "accuracy"
    assert set(facts["best"]) == {"tau", "k"}
    assert len(facts["table"]) == 4
    assert 0 <= facts["held_out"] <= 1


def test_tau_by_iicr(labelled: Path) -> None:
    shown = Result("tune", labelled, "--by", "iicr", "--taus", "0.4,0.8")
    assert shown.status == 0, shown.stderr
    assert "Mean IICR of each setting" in shown.stdout
    assert "held out" not in shown.stdout


@pytest.fixture
def judged(tmp_path: Path) -> list[object]:
    documents = [{"id": str(n), "text": text} for n, text in enumerate(TEXTS)]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(document) + "\n" for document in documents))
    (tmp_path / "queries.jsonl").write_text('{"_id": "q1", "text": "ship"}\n{"_id": "q2", "text": "dog"}\n')
    (tmp_path / "qrels.tsv").write_text("query-id\tcorpus-id\tscore\nq1\t1\t1\nq1\t2\t1\nq2\t4\t2\n\n")
    return [tmp_path / "corpus.jsonl", "--queries", tmp_path / "queries.jsonl", "--judgements", tmp_path / "qrels.tsv"]


def test_tau_and_lambda_by_judged_queries(judged: list[object]) -> None:
    options = ["--by", "search", "--taus", "0.4,0.8", "--lambdas", "0,0.5", "--n-folds", "2", "--json"]
    shown = Result("tune", *judged, *options)
    assert shown.status == 0, shown.stderr
    facts = json.loads(shown.stdout)
    assert facts["measure"] == "nDCG@10"
    assert set(facts["best"]) == {"tau", "lambda", "method"}
    assert len(facts["table"]) == 2 * 2 * 2


def test_without_judged_queries_the_size_of_the_collection_decides(judged: list[object]) -> None:
    facts = json.loads(Result("tune", judged[0], "--by", "search", "--json").stdout)
    assert facts["suggested"] == {"tau": 0.35, "lambda": 0.1, "method": "hybrid+feedback"}  # so few: be careful
    assert facts["n_docs"] == len(TEXTS)
    assert "lambda 0.1" in Result("tune", judged[0], "--by", "search").stdout


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--by", "magic"], "--by must be one of 'classification', 'search', 'iicr'. Got 'magic'"),
        (["--by", "search", "--queries", "q"], "--by search needs both --queries and --judgements, or neither"),
        (["--taus", "low"], "--taus must be numbers separated by commas. Got 'low'"),
        (["--label-field", "topic"], "needs documents with a 'topic'. Got 12 without one"),
        (["--n-folds", "99"], "needs at least 99 items"),
    ],
)
def test_what_cannot_be_done_is_one_line(labelled: Path, options: list[str], message: str) -> None:
    shown = Result("tune", labelled, *options)
    assert shown.status == 1
    assert message in " ".join(shown.stderr.split())


def test_a_broken_judgement_is_named_with_its_line(judged: list[object]) -> None:
    Path(str(judged[-1])).write_text("q1\t1\t1\nq1 2 1\n")
    shown = Result("tune", *judged, "--by", "search")
    assert shown.status == 1
    assert "qrels.tsv:2: a judgement must be query id, document id and a whole number" in " ".join(shown.stderr.split())


def test_missing_judgements_are_named(judged: list[object], tmp_path: Path) -> None:
    judged[-1] = tmp_path / "nowhere.tsv"
    shown = Result("tune", *judged, "--by", "search")
    assert shown.status == 1
    assert "--judgements must be a readable text file" in " ".join(shown.stderr.split())
