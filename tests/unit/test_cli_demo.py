from pathlib import Path

import pytest
from command_line import Result

from cptw_search import Cptw, CptwError, WordVectors
from cptw_search.lee_corpus import agreement, load_lee_corpus


def test_the_demo_shows_what_only_cptw_finds_and_why() -> None:
    shown = Result("demo")
    assert shown.status == 0, shown.stderr
    assert "BM25: 6 texts hold a word of it" in shown.stdout
    assert "RM3: BM25, words learned" in shown.stdout
    assert "○" in shown.stdout
    assert "holds no word of the query" in shown.stdout
    assert "neighbour" in shown.stdout
    assert "cptw index texts.txt --index my-index" in shown.stdout


def test_the_demo_measures_its_own_table() -> None:
    """The figures that the README cites."""
    shown = Result("demo").stdout
    corpus = load_lee_corpus()
    texts = [*corpus.texts, *corpus.judged]
    for name, model in (
        ("TF-IDF", Cptw(vectors=None, weighting="idf-input")),
        ("BM25", Cptw(vectors=None, weighting="bm25")),
        ("CPTW tf", Cptw(vectors="lsi", tau=0.5)),
    ):
        found = agreement(model.fit(texts), corpus)
        (line,) = [line for line in shown.splitlines() if line.startswith(f"│ {name} ")]
        assert f"{found.spearman:.3f}" in line
        assert f"{found.pearson:.3f}" in line
        readme = (Path(__file__).parents[2] / "README.md").read_text()
        assert f"| {found.spearman:.3f} | {found.pearson:.3f} |" in readme
    assert agreement(Cptw(vectors="lsi", tau=0.5).fit(texts), corpus).spearman > 0.33


def test_another_query_and_vectors_of_ones_own(tmp_path: Path) -> None:
    WordVectors(["ship", "boat", "vessel"], [[1, 0], [0.9, 0.1], [0.8, 0.3]]).save(tmp_path / "vectors.npz")
    shown = Result("demo", "ship", "--vectors", tmp_path / "vectors.npz", "--tau", "0.6")
    assert shown.status == 0, shown.stderr
    assert "“ship”" in shown.stdout
    assert "tau 0.6" in shown.stdout


def test_a_query_that_finds_nothing_says_so() -> None:
    shown = Result("demo", "[bold]zzz\x1b[31m")
    assert shown.status == 0
    assert "No text is similar to that" in shown.stdout
    assert "[bold]zzz" in shown.stdout
    assert "\x1b[31m" not in shown.stdout


def test_a_missing_file_of_vectors_is_one_line() -> None:
    shown = Result("demo", "--vectors", "nowhere.bin")
    assert shown.status == 1
    assert "nowhere.bin" in shown.stderr


def test_gensim_without_its_texts_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda _name: None)
    with pytest.raises(CptwError, match="The demo needs the news texts that ship inside gensim"):
        load_lee_corpus()
