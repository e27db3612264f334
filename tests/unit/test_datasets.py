"""Labelled texts in the common formats; all texts are made up."""

import gzip
from pathlib import Path

import numpy as np
import pytest

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation import source_files
from cptw_search.evaluation.datasets import PAPER_DATASETS, LabelledTexts, load_dataset
from cptw_search.evaluation.paper_figures import (
    AVERAGES,
    METHODS,
    PARAMETER_RANGES,
    TABLE_1,
    TABLE_2,
    TABLE_2_MACRO,
)
from cptw_search.evaluation.source_files import MissingDataError
from cptw_search.evaluation.statistics import dataset_statistics, kept_terms, statistics_table, with_contractions

SPLIT_LINES = "train\tsea\ta boat\ntest\tmoney\ta tax\ntrain\tmoney\tthe bank\n"


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "data" / "classification"
    folder.mkdir(parents=True)
    monkeypatch.setenv("CPTW_DATA", str(tmp_path / "data"))
    return folder


def write(path: Path, text: str) -> Path:
    path.write_text(text, encoding="utf-8")
    return path


# Where a data set is looked for


def test_a_name_is_found_in_the_data_folder(data: Path) -> None:
    (data / "reuters.tsv.gz").write_bytes(gzip.compress(SPLIT_LINES.encode()))
    loaded = load_dataset("reuters")
    assert loaded.name == "reuters"
    assert loaded.texts == ("a boat", "a tax", "the bank")
    assert loaded.labels == ("sea", "money", "money")
    assert loaded.is_test is not None
    assert loaded.is_test.tolist() == [False, True, False]
    assert loaded.classes == ("money", "sea")


def test_the_folder_may_be_given(data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(data / "wiki.tsv", SPLIT_LINES)
    monkeypatch.delenv("CPTW_DATA")
    assert len(load_dataset("wiki", data=data.parent).texts) == 3


@pytest.mark.parametrize("name", PAPER_DATASETS)
def test_a_missing_data_set_is_one_line_that_says_where_to_put_it(
    name: str, data: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(MissingDataError, match="it is not in .*classification") as caught:
        load_dataset(name)
    assert f"<CPTW_DATA>/classification/{name}.tsv.gz" in str(caught.value)
    assert "split<TAB>label<TAB>text" in str(caught.value)
    assert "\n" not in str(caught.value)
    monkeypatch.delenv("CPTW_DATA")
    with pytest.raises(MissingDataError, match="CPTW_DATA is not set"):
        load_dataset(name)


def test_a_name_of_the_paper_never_means_a_file_here(
    data: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "classic", SPLIT_LINES)
    with pytest.raises(MissingDataError, match="'classic' was not found"):
        load_dataset("classic")
    assert load_dataset(Path("classic")).name == "classic"


@pytest.mark.parametrize("source", ["./no/such/file.tsv", Path("no-such-file"), "no-such-name", "a" * 5000, "a\0b"])
def test_what_is_not_there(source: str | Path, data: Path) -> None:
    with pytest.raises(MissingDataError, match=r"no such file or folder|was not found"):
        load_dataset(source)


def test_an_empty_name_is_no_current_folder(data: Path) -> None:
    with pytest.raises(InvalidInputError, match="Got an empty string"):
        load_dataset("")


# The common formats


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.tsv", "-\tsea\ta boat\n-\tmoney\ta tax\n"),
        ("a.txt", "-\tsea\ta boat\n-\tmoney\ta tax\n"),
        ("a.tsv", "sea\ta boat\nmoney\ta tax\n"),
        ("a.tsv", "label\ttext\nsea\ta boat\nmoney\ta tax\n"),
        ("a.csv", "text,label\na boat,sea\na tax,money\n"),
        ("a.jsonl", '{"text": "a boat", "label": "sea"}\n{"text": "a tax", "label": "money"}\n'),
    ],
)
def test_formats_without_a_split(name: str, content: str, tmp_path: Path) -> None:
    loaded = load_dataset(write(tmp_path / name, content))
    assert (loaded.name, loaded.texts, loaded.labels) == ("a", ("a boat", "a tax"), ("sea", "money"))
    assert loaded.is_test is None


def test_a_label_called_text_is_no_header(tmp_path: Path) -> None:
    loaded = load_dataset(write(tmp_path / "a.tsv", "train\ttext\tfirst\ntest\tid\tsecond\n"))
    assert loaded.texts == ("first", "second")


def test_further_tabs_belong_to_the_text(tmp_path: Path) -> None:
    assert load_dataset(write(tmp_path / "a.tsv", "-\tsea\ta\tboat\n")).texts == ("a\tboat",)


def test_a_validation_part_may_be_learned_from(tmp_path: Path) -> None:
    loaded = load_dataset(write(tmp_path / "a.tsv", "dev\tx\ta\ntest\tx\tb\n"))
    assert loaded.is_test is not None
    assert loaded.is_test.tolist() == [False, True]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "must have train and test documents.*Got no documents"),
        ("train\tx\ta\n", "Got train instead"),
        ("train\tx\ta\n-\tx\tb\n", "Got - and train instead"),
        ("train\tx\ta\ntraining\tx\tb\n", "split must be train, test or -. Got 'training'"),
        ("train\tx\ta\ntest\tx\n", r"a\.tsv:2: "),
        ("only text\n", "must have a label. Got '1' without one"),
    ],
)
def test_what_makes_no_data_set(content: str, message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        load_dataset(write(tmp_path / "a.tsv", content))


def test_bytes_that_are_not_utf8_are_an_error_in_the_common_format(tmp_path: Path) -> None:
    (tmp_path / "a.tsv").write_bytes(b"-\tx\tcaf\xe9\n")
    with pytest.raises(InvalidInputError, match=r"a\.tsv:1: .*not UTF-8"):
        load_dataset(tmp_path / "a.tsv")


def test_a_cut_off_file_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(SPLIT_LINES.encode() * 100)[:-20])
    with pytest.raises(InvalidInputError, match="Check that the file is whole"):
        load_dataset(tmp_path / "a.tsv.gz")


def test_the_number_of_documents_is_limited(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_DOCUMENTS", 2)
    with pytest.raises(InvalidInputError, match="at most 2 documents"):
        load_dataset(write(tmp_path / "a.tsv", SPLIT_LINES))


# The record


def test_the_hash_sees_every_change_but_the_name() -> None:
    base = LabelledTexts("a", ("x", "y"), ("1", "2"), np.array([False, True]))
    assert base.content_hash() == LabelledTexts("b", ("x", "y"), ("1", "2"), np.array([False, True])).content_hash()
    others = [
        LabelledTexts("a", ("y", "x"), ("1", "2"), np.array([False, True])),
        LabelledTexts("a", ("x", "y"), ("2", "1"), np.array([False, True])),
        LabelledTexts("a", ("x", "y"), ("1", "2"), np.array([True, False])),
        LabelledTexts("a", ("x", "y"), ("1", "2"), None),
        LabelledTexts("a", ("xy", ""), ("1", "2"), np.array([False, True])),
        LabelledTexts("a", ("x", "y", "1"), ("2", "z", "z"), None),
    ]
    assert len({base.content_hash(), *(other.content_hash() for other in others)}) == 1 + len(others)


def test_texts_labels_and_split_have_to_fit() -> None:
    with pytest.raises(InvalidInputError, match="Got 2 texts and 1 labels"):
        LabelledTexts("a", ("x", "y"), ("1",), None)
    with pytest.raises(InvalidInputError, match=r"shape \(2,\). Got \(3,\)"):
        LabelledTexts("a", ("x", "y"), ("1", "2"), np.array([True, False, True]))


def test_the_split_cannot_be_written_to() -> None:
    loaded = LabelledTexts("a", ("x", "y"), ("1", "2"), np.array([False, True]))
    assert loaded.is_test is not None
    with pytest.raises(ValueError, match="read-only"):
        loaded.is_test[0] = True


# The paper's figures


@pytest.mark.parametrize("macro", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_printed_averages_are_those_of_the_printed_figures(method: str, macro: bool) -> None:
    """A figure that was copied wrongly by 0.007 or more cannot hide here."""
    table = TABLE_2_MACRO if macro else TABLE_2
    means = {
        "all": [table[dataset][method] for dataset in PAPER_DATASETS],
        "wmd-ran": [table[dataset][method] for dataset in PAPER_DATASETS if table[dataset]["wmd"] is not None],
    }
    for name, figures in means.items():
        printed = AVERAGES[name][method].macro if macro else AVERAGES[name][method].micro
        if printed is None:
            assert (name, method) == ("all", "wmd")
            continue
        assert np.mean([figure for figure in figures if figure is not None]) == pytest.approx(printed, abs=0.0005)


def test_tables_hold_every_data_set_and_method() -> None:
    assert tuple(TABLE_1) == tuple(TABLE_2) == tuple(TABLE_2_MACRO) == PAPER_DATASETS
    assert all(tuple(row) == METHODS for row in TABLE_2.values())
    assert set(PARAMETER_RANGES) - {"all"} <= set(METHODS)
    assert [name for name, row in TABLE_2.items() if row["wmd"] is None] == ["20news", "wiki"]


def test_figures_that_the_text_names() -> None:
    best = {name: max(row, key=lambda method: row[method] or 0) for name, row in TABLE_2.items()}
    assert best == {
        "bbcsport": "tfidf",
        "twitter": "cptw-idf",
        "classic": "wmd",
        "amazon": "cptw-idf",
        "reuters": "wmd",
        "20news": "cptw-idf",
        "wiki": "lsi",
    }


# Statistics


def test_statistics_count_words_after_analysis() -> None:
    texts = ("The boats and 2 ships", "the boats and 2 ships", "The boats and 2 ships", "the")
    row = dataset_statistics(LabelledTexts("made-up", texts, ("a", "b", "a", "a"), None), analyzer="paper")
    assert (row.n_docs, row.n_terms, row.n_classes, row.n_test) == (4, 3, 2, None)
    assert row.mean_unique_terms == pytest.approx(9 / 4)
    assert row.std_unique_terms == pytest.approx(np.std([3, 3, 3, 0]))
    assert (row.n_duplicates, row.n_empty, row.paper) == (1, 1, None)


def test_20news_is_counted_as_its_table_needs() -> None:
    texts = ("boat x11", "boat x11", "boat x11", "boat x11", "boat x11 sail")
    row = dataset_statistics(LabelledTexts("20news", texts, ("a",) * 5, np.array([False, False, True, True, True])))
    assert (row.n_terms, row.n_test, row.paper) == (1, 3, TABLE_1["20news"])
    assert (
        dataset_statistics(LabelledTexts("20news", texts, ("a",) * 5, None), letters_only=False, min_df=1).n_terms == 3
    )


def test_contractions_are_stop_words_in_all_their_spellings() -> None:
    assert with_contractions(["don't", "a"]) == {"don't", "don", "t", "dont", "a"}
    assert kept_terms(["a boat"], analyzer="unicode") == [{"a", "boat"}]


def test_the_table_puts_the_paper_in_brackets() -> None:
    row = dataset_statistics(LabelledTexts("twitter", ("boat", "ship"), ("a", "b"), None), analyzer="unicode")
    assert "| twitter | 2 (3,424) | 2 (8,405) | 1.0 ± 0.0 (8.9 ± 3.3) | 2 (3) | - | 0 | 0 |" in statistics_table([row])
