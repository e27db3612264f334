"""Whatever bytes a file of a data set holds, loading gives a data set or one of our errors, and nothing else."""

import gzip
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.collections import Collection, load_collection
from cptw_search.evaluation.datasets import LabelledTexts, load_dataset
from cptw_search.evaluation.markup import elements, without_tags
from cptw_search.evaluation.smart_files import parse_smart

# Pieces that mean something to one of the formats, and bytes that mean nothing to any.
PIECES = [
    *(b"\n", b"\r\n", b"\r", b"\t", b",", b'"', b" ", b"\0", b"\xff", b"\xc3\xa9", b"\xef\xbb\xbf", b"\xff\xfe", b"\x1f\x8b"),
    *(b"train\t", b"test\t", b"-\t", b"sea\ta boat\n", b"-\tx\ty\n", b"train\tx\ty\n", b"test\tx\ty\n", b"label\ttext\n"),
    *(b".I 1\n", b".I 002\n", b".I\n", b".T\n", b".W\n", b".X\n", b".I 99999999999999\n", b"1 1 1\n", b"1 0 1 1\n", b"1 2 0 0.0\n"),
    *(b"<DOC>", b"</DOC>", b"<DOCNO>", b"a1</DOCNO>", b"<TEXT>", b"<top>", b"<num> Number: 1\n", b"<title>", b"<desc>", b"&#1114112;"),
    *(b"<review>", b"</review>", b"<review_text>", b"</review_text>", b"<article>", b"<hash>", b"a</hash>", b"<tag>", b"<name>x</name>"),
    *(b"<count>", b"9" * 10, "²".encode(), b"</count>", b"<script>", b"</", b"<", b">", b"word"),
    *(b"Sentiment,TweetText\n", b"sentiment,text\n", b"positive,a\n", b'{"_id": "1", "text": "a"}\n', b"1\t1\t1\n", b"1\t1\tx\n"),
]  # fmt: skip
contents = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    st.lists(st.sampled_from(PIECES), max_size=10).map(b"".join).map(gzip.compress),
)

# For every layout: the files, "*" where the bytes go, and good content beside them.
DATASETS = {
    "common": {"a.tsv": "*"},
    "jsonl": {"a.jsonl": "*"},
    "csv": {"a.csv": "*"},
    "20news": {"20news-train/a/1": "*", "20news-test/a/1": "x"},
    "r8": {"r8-train-all.txt": "*", "r8-test-all.txt": "x\ty\n"},
    "r8 test": {"r8-train-all.txt": "x\ty\n", "r8-test-all.txt": "*"},
    "bbcsport": {"a/1.txt": "*", "b/1.txt": "x"},
    "amazon": {"books/positive.review": "*", "dvd/negative.review": "<review><review_text>x"},
    "classic": {"cacm.all": "*", "cisi.all": ".I 1\n.W\nx\n", "cran.all": ".I 1\n", "med.all": ".I 1\n"},
    "wiki": {"x-tag-data.xml": "*", "documents/a": "page"},
    "wiki page": {"x-tag-data.xml": "<article><hash>a</hash><tag><name>x", "documents/a.html": "*"},
}
QUERY_LINE, DOCUMENT_LINE = '{"_id": "1", "text": "a"}\n', '{"_id": "1", "title": "t", "text": "a"}\n'
COLLECTIONS = {
    "corpus": {"corpus.jsonl": "*", "queries.jsonl": QUERY_LINE, "qrels.tsv": "1\t1\t1\n"},
    "queries": {"corpus.jsonl": DOCUMENT_LINE, "queries.jsonl": "*", "qrels.tsv": "1\t1\t1\n"},
    "qrels": {"corpus.jsonl": DOCUMENT_LINE, "queries.jsonl": QUERY_LINE, "qrels.tsv": "*"},
    "smart documents": {"a.all": "*", "a.qry": ".I 1\n.W\nx\n", "a.rel": "1 1 1\n"},
    "smart queries": {"a.all": ".I 1\n.W\nx\n", "a.qry": "*", "a.rel": "1 1 1\n"},
    "smart qrels": {"a.all": ".I 1\n.W\nx\n", "a.qry": ".I 1\n.W\nx\n", "cranqrel": "*"},
    "trec documents": {"a.sgml": "*", "b.sgml": "<DOC><DOCNO>1</DOCNO>x", "topics": "<top><num>1<title>x", "qrels": "1 0 1 1"},
    "trec topics": {"b.sgml": "<DOC><DOCNO>1</DOCNO>x", "topics": "*", "qrels": "1 0 1 1\n"},
}  # fmt: skip


def write_all(folder: Path, files: dict[str, str], content: bytes) -> Path:
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if text == "*" else text.encode())
    return folder / next(iter(files)) if len(files) == 1 else folder


def check_message(error: InvalidInputError) -> None:
    assert "\n" not in str(error)
    assert len(str(error)) < 1000


@pytest.mark.parametrize("layout", DATASETS)
@given(content=contents)
@example(content=b"")
@example(content=b"<article><hash>a</hash><tag><name>x</name><count>\xc2\xb2</count>")
@example(content=b'sentiment,text\n"' + b"a" * 200_000)
def test_any_bytes_give_a_data_set_or_an_error(layout: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            loaded = load_dataset(write_all(Path(folder), DATASETS[layout], content))
        except InvalidInputError as error:
            check_message(error)
            return
        assert isinstance(loaded, LabelledTexts)
        assert len(loaded.texts) == len(loaded.labels) >= 1
        assert loaded.is_test is None or 0 < loaded.is_test.sum() < len(loaded.texts)
        assert len(loaded.content_hash()) == 64
        for text in (*loaded.texts, *loaded.labels):
            assert "\0" not in text
            text.encode()  # it can be stored and sent


@pytest.mark.parametrize("layout", COLLECTIONS)
@given(content=contents)
@example(content=b"")
@example(content=b"<DOC><DOCNO>&#0;&#xd800;</DOCNO>&#xdfff;&#0;")
@example(content=b"<top><num>1<title>&#0;&#xd800;")
@example(content=b"1 1 " + b"9" * 5000)
def test_any_bytes_give_a_collection_or_an_error(layout: str, content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        try:
            loaded = load_collection(write_all(Path(folder), COLLECTIONS[layout], content))
        except InvalidInputError as error:
            check_message(error)
            return
        assert isinstance(loaded, Collection)
        assert set(loaded.queries) == set(loaded.judgements)
        assert all(loaded.judgements.values())
        assert len(loaded.content_hash()) == 64
        stored = json.dumps([loaded.documents, loaded.queries, loaded.judgements], ensure_ascii=False)
        assert "\\u0000" not in stored
        stored.encode()


words = st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=8)
sentences = st.lists(words, min_size=1, max_size=5).map(" ".join)


@given(rows=st.lists(st.tuples(st.sampled_from(["train", "test"]), words, sentences), min_size=1))
def test_the_common_format_comes_back_as_it_was_written(rows: list[tuple[str, str, str]]) -> None:
    rows = [("train", "a", "b"), ("test", "a", "c"), *rows]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "a.tsv.gz"
        path.write_bytes(gzip.compress("".join("\t".join(row) + "\n" for row in rows).encode()))
        loaded = load_dataset(path)
    assert loaded.is_test is not None
    splits = ["test" if test else "train" for test in loaded.is_test]
    assert list(zip(splits, loaded.labels, loaded.texts, strict=True)) == rows


@given(records=st.lists(st.tuples(st.integers(0, 10**9), sentences), min_size=1))
def test_smart_records_come_back_as_they_were_written(records: list[tuple[int, str]]) -> None:
    text = "".join(f".I {number}\n.W\n{sentence}\n" for number, sentence in records)
    assert [(int(record.number), record.text) for record in parse_smart(text, "made-up")] == records


@pytest.mark.parametrize("piece", ["<doc>", "</doc>", "<", "<doc", "<script>", "&", "<doc " + "a=b "])
def test_markup_takes_time_in_proportion_to_the_text(piece: str) -> None:
    """Quadratic time would take minutes for a text of this length."""
    text = piece * 300_000
    assert len(elements(text, "doc")) in (0, 300_000)
    without_tags(text)
