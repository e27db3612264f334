"""Whatever bytes a file holds, reading it gives documents, problems or a `DocumentError`, and nothing else."""

import csv
import gzip
import io
import json
import tempfile
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from cptw_search.documents import DocumentError, Problems, read_documents

LINE_FORMATS = ["auto", "jsonl", "tsv", "csv", "lines"]

# Pieces that mean something to one of the formats, and bytes that mean nothing to any.
PIECES = [
    *(b"\n", b"\r\n", b"\r", b"\t", b",", b";", b'"', b'""', b" ", b"\0", b"\xff", b"\xc3", b"\xef\xbb\xbf", b"\\"),
    *(b"{", b"}", b"[", b"]", b":", b"null", b"NaN", b"1e999", b"-7", b"\\ud800", b"\\u0000", b"train", b"word"),
    *(
        b'"text"',
        b'"text": "a"',
        b'{"text": "a"}\n',
        b'{"_id": 1, "text": "b", "label": "x"}\n',
        b'"id": ',
        b'"title": ',
    ),
    *(b"id", b"text", b"label", b"id\ttext\n", b"text,label\n", b"\x1f\x8b", b"\xed\xa0\x80", b"\xff\xfe", b"\x0b"),
]
contents = st.one_of(
    st.binary(max_size=200),
    st.lists(st.sampled_from(PIECES), max_size=30).map(b"".join),
    st.binary(max_size=100).map(gzip.compress),
)
words = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


def read(content: bytes, file_format: str, *, strict: bool = False) -> tuple[list[dict[str, object]], Problems, str]:
    """Return the documents, the problems and the message of the error that ended it all, if there was one."""
    problems = Problems()
    documents = []
    try:
        for document in read_documents(io.BytesIO(content), format=file_format, strict=strict, problems=problems):
            documents.append(document)  # what came before the error counts, too
    except DocumentError as error:
        return documents, problems, str(error)
    return documents, problems, ""


@given(content=contents, file_format=st.sampled_from(LINE_FORMATS), strict=st.booleans())
@example(content=b'"\n' * 50, file_format="csv", strict=False)
@example(content=b"[" * 100_000, file_format="jsonl", strict=False)
@example(content=b'{"text":' * 100_000, file_format="auto", strict=False)
@example(content=b"\x1f\x8b", file_format="auto", strict=False)
def test_any_bytes_give_documents_problems_or_a_document_error(content: bytes, file_format: str, strict: bool) -> None:
    documents, problems, error = read(content, file_format, strict=strict)
    assert problems.n_documents == len(documents)
    assert len(problems.examples) == min(problems.max_examples, problems.count + problems.n_replaced)
    assert problems.n_empty == sum(not str(document["text"]).strip() for document in documents)
    if strict:
        assert problems.count == problems.n_replaced == 0
    if error:
        assert error.startswith("<stream>:")
    for document in documents:
        assert isinstance(document["id"], str)
        assert document["id"]
        assert isinstance(document["text"], str)
        assert isinstance(document.get("title", ""), str)
        assert document.get("label", "") is not None
        stored = json.dumps(document, ensure_ascii=False, allow_nan=False)
        assert "\0" not in stored
        assert json.loads(stored.encode()) == document


@given(content=contents)
def test_any_bytes_in_a_folder(content: bytes) -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "sub").mkdir()
        (Path(folder) / "sub" / "a.txt").write_bytes(content)
        problems = Problems()
        documents = list(read_documents(folder, problems=problems))
    assert len(documents) + problems.count == 1
    for document in documents:
        assert (document["id"], document["label"]) == ("sub/a.txt", "sub")
        assert "\0" not in str(document["text"]).encode().decode()


@given(
    content=contents.filter(lambda content: not content.startswith(b"\x1f\x8b")),
    file_format=st.sampled_from(LINE_FORMATS),
)
def test_gzip_changes_nothing(content: bytes, file_format: str) -> None:
    assert read(gzip.compress(content), file_format) == read(content, file_format)


@given(content=contents, file_format=st.sampled_from(LINE_FORMATS))
def test_strict_agrees_until_the_first_problem(content: bytes, file_format: str) -> None:
    documents, problems, error = read(content, file_format)
    strict_documents, _, strict_error = read(content, file_format, strict=True)
    assert strict_documents == documents[: len(strict_documents)]
    if problems.examples:
        assert strict_error.startswith(f"{problems.examples[0]}. ")
    else:
        assert (strict_documents, strict_error) == (documents, error)


@given(rows=st.lists(st.fixed_dictionaries({"id": words.filter(bool), "text": words, "label": words.filter(bool)})))
def test_json_lines_come_back_as_they_were_written(rows: list[dict[str, object]]) -> None:
    content = "".join(f"{json.dumps(row)}\n" for row in rows).encode()
    assert read(content, "auto") == (
        rows,
        Problems(n_documents=len(rows), n_empty=read(content, "auto")[1].n_empty),
        "",
    )


@pytest.mark.parametrize("dialect", ["excel", "unix"])
@given(data=st.data())
def test_csv_comes_back_as_it_was_written(dialect: str, data: st.DataObject) -> None:
    cells = words.map(lambda word: word.replace("\r", " ").strip() or "x")
    rows = data.draw(st.lists(st.fixed_dictionaries({"id": cells, "text": cells, "label": cells})))
    file = io.StringIO()
    writer = csv.DictWriter(file, ["id", "text", "label"], dialect=dialect)
    writer.writeheader()
    writer.writerows(rows)
    assert read(file.getvalue().encode(), "csv")[0] == rows
