import csv
import gzip
import io
import json
import os
import subprocess
import sys
import threading
import tracemalloc
from collections.abc import Callable
from pathlib import Path

import pytest

from cptw_search import document_lines
from cptw_search.documents import DocumentError, DocumentWarning, Problem, Problems, read_documents
from cptw_search.errors import InvalidInputError, UnknownNameError


def read(content: bytes, file_format: str = "auto", **options: object) -> list[dict[str, object]]:
    """Read with the promise that nothing is left out or changed, unless a test collects the problems."""
    options.setdefault("strict", "problems" not in options)
    return list(read_documents(io.BytesIO(content), format=file_format, **options))  # type: ignore[arg-type]


def problems_of(content: bytes, file_format: str) -> list[str]:
    problems = Problems()
    read(content, file_format, problems=problems)
    return [str(problem) for problem in problems.examples]


def texts(documents: list[dict[str, object]]) -> list[object]:
    return [document["text"] for document in documents]


# JSON lines


def test_a_beir_corpus_is_read_as_it_is() -> None:
    line = b'{"_id": "MED-10", "title": "Statins", "text": "Recent studies", "metadata": {"url": "x", "year": 2009}}\n'
    [document] = read(line)
    assert document == {
        "id": "MED-10",
        "title": "Statins",
        "text": "Recent studies",
        "metadata": {"url": "x", "year": 2009},
    }


@pytest.mark.parametrize(
    ("line", "expected_id"),
    [
        (b'{"id": "a", "text": ""}', "a"),
        (b'{"_id": "a", "text": ""}', "a"),
        (b'{"id": "a", "_id": "b", "text": ""}', "a"),
        (b'{"id": null, "_id": "b", "text": ""}', "b"),
        (b'{"id": 7, "text": ""}', "7"),
        (b'{"id": 0, "text": ""}', "0"),
        (b'{"id": -123456789012345678901234567890, "text": ""}', "-123456789012345678901234567890"),
        (b'{"id": "", "text": ""}', "2"),
        (b'{"id": null, "text": ""}', "2"),
        (b'{"text": ""}', "2"),
    ],
)
def test_ids_are_strings_and_the_line_number_stands_in(line: bytes, expected_id: str) -> None:
    [document] = read(b"\n" + line)
    assert document == {"id": expected_id, "text": ""}


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"text": null}', "text must be a string. Got null instead"),
        (b'{"text": ["a"]}', "text must be a string. Got an array instead"),
        (b'{"text": {"en": "a"}}', "text must be a string. Got an object instead"),
        (b'{"text": true}', "text must be a string. Got a boolean instead"),
        (b'{"body": "a", "n": 1}', "text is missing. Got the fields 'body', 'n' instead"),
        (b"{}", "text is missing. Got the fields no fields instead"),
        (b'{"id": 1.5, "text": ""}', "id must be a string or a whole number. Got a number instead"),
        (b'{"id": false, "text": ""}', "id must be a string or a whole number. Got a boolean instead"),
        (b'{"id": [1], "text": ""}', "id must be a string or a whole number. Got an array instead"),
        (b'{"title": 3, "text": ""}', "title must be a string. Got a number instead"),
        (b'{"label": ["a"], "text": ""}', "label must be a string or a number. Got an array instead"),
        (b'"text"', "the line must be a JSON object. Got a string instead"),
        (b"[1]", "the line must be a JSON object. Got an array instead"),
        (b"null", "the line must be a JSON object. Got null instead"),
        (b'{"text": "a"', "broken JSON: Expecting ',' delimiter at column 13"),
        (b'{"text": "a"} {"text": "b"}', "broken JSON: Extra data at column 15"),
        (b'{"text": "a\tb"}', "broken JSON: Invalid control character at column 12"),
        (b'{"text": "a", "x": NaN}', "broken JSON: NaN is not a JSON value"),
        (b'{"text": "a", "x": [-Infinity]}', "broken JSON: -Infinity is not a JSON value"),
        (b'{"text": "a", "x": 1e999}', "numbers must be finite. Got one over 1.8e308 instead"),
        (b'{"text": "a", "x": ' + b"9" * 5000 + b"}", "broken JSON: a whole number of too many digits"),
        (b'{"text": "a", "x": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", "JSON is nested too deeply"),
    ],
)
def test_lines_that_are_no_documents_are_left_out(line: bytes, reason: str) -> None:
    problems = Problems()
    documents = read(b'{"text": "before"}\n' + line + b'\n{"text": "after"}', "jsonl", problems=problems)
    assert [(document["id"], document["text"]) for document in documents] == [("1", "before"), ("3", "after")]
    assert problems == Problems(n_documents=2, count=1, examples=[Problem("<stream>", 2, reason)])


def test_strict_stops_at_the_first_problem_with_file_and_line(tmp_path: Path) -> None:
    file = tmp_path / "news.jsonl"
    file.write_text('{"text": "a"}\n{"text": null}\n{')
    documents = read_documents(file, strict=True)
    assert next(documents)["text"] == "a"
    with pytest.raises(DocumentError, match=r"news\.jsonl:2: text must be a string\. Got null instead\. Correct it"):
        next(documents)


def test_optional_fields_that_are_null_count_as_missing() -> None:
    assert read(b'{"title": null, "label": null, "other": null, "text": "a"}') == [
        {"id": "1", "other": None, "text": "a"}
    ]


@pytest.mark.parametrize("label", ["sport", 3, 2.5, True])
def test_labels_are_kept_as_they_are(label: object) -> None:
    [document] = read(json.dumps({"text": "a", "label": label}).encode())
    assert document["label"] == label


@pytest.mark.parametrize("content", [b'[{"text": "a"}]', b"[\n  {\n", b"[ ", b"  [\n"])
def test_a_json_array_is_refused_with_a_way_out(content: bytes) -> None:
    with pytest.raises(DocumentError, match=r"one JSON object a line\. Got the beginning of an array.* jq -c '\.\[\]'"):
        read(content)


def test_half_surrogates_and_escaped_nul_are_replaced_wherever_they_are() -> None:
    problems = Problems()
    line = rb'{"text": "a\ud83d b\u0000", "k\udc00": [{"x": "\uD800"}, 1], "ok": "\ud83d\ude00"}'
    [document] = read(line, problems=problems)
    assert document == {"id": "1", "text": "a\ufffd b\ufffd", "k\ufffd": [{"x": "\ufffd"}, 1], "ok": "\U0001f600"}
    assert (problems.n_replaced, problems.count) == (1, 0)


def test_a_surrogate_pair_and_an_escaped_backslash_are_no_problem() -> None:
    assert texts(read(rb'{"text": "\ud83d\ude00 \\ud83d"}')) == ["\U0001f600 \\ud83d"]


# TSV


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (b"sport\ta race", {"id": "1", "label": "sport", "text": "a race"}),
        (b"train\tsport\ta race", {"id": "1", "split": "train", "label": "sport", "text": "a race"}),
        (b"-\tsport\ta race", {"id": "1", "split": "-", "label": "sport", "text": "a race"}),
        (b"d1\tsport\ta race", {"id": "d1", "label": "sport", "text": "a race"}),
        (b"\tsport\ta race", {"id": "1", "label": "sport", "text": "a race"}),
        (b"\ta race", {"id": "1", "text": "a race"}),
        (b"sport\t", {"id": "1", "label": "sport", "text": ""}),
        (b'sport\t"a race" \'s', {"id": "1", "label": "sport", "text": '"a race" \'s'}),
    ],
)
def test_tsv_without_header(row: bytes, expected: dict[str, object]) -> None:
    assert read(row) == [expected]


def test_tsv_of_one_column_is_text() -> None:
    assert read(b"a\nb", "tsv") == [{"id": "1", "text": "a"}, {"id": "2", "text": "b"}]


def test_tsv_with_header() -> None:
    content = b"Text\t ID \tyear\n\na race\t7\t1999\na boat\t\t\n"
    assert read(content) == [{"text": "a race", "id": "7", "year": "1999"}, {"text": "a boat", "id": "4"}]


def test_further_tabs_belong_to_the_text_if_it_is_last() -> None:
    assert texts(read(b"label\ttext\nsport\ta\tb\tc")) == ["a\tb\tc"]
    assert problems_of(b"text\tlabel\na\tb\tsport\n", "tsv") == [
        "<stream>:2: the row must have 2 columns. Got 3 instead"
    ]


def test_rows_that_are_too_short_are_left_out() -> None:
    assert problems_of(b"sport\ta\nsport\nsport\tb", "tsv") == [
        "<stream>:2: the row must have 2 columns. Got 1 instead"
    ]


@pytest.mark.parametrize("file_format", ["tsv", "csv"])
def test_more_columns_need_names(file_format: str) -> None:
    content = b"a\tb\tc\td".replace(b"\t", b"," if file_format == "csv" else b"\t")
    with pytest.raises(DocumentError, match=r"<stream>:1: without a header there must be at most 3 columns\. Got 4"):
        read(content, file_format)
    expected = [{"id": "d", "year": "a", "text": "b", "other": "c"}]
    assert read(content, file_format, columns=["year", "text", "other", "id"]) == expected


def test_columns_say_that_the_first_line_is_data() -> None:
    assert read(b"text\tlabel", columns=["label", "text"]) == [{"id": "1", "label": "text", "text": "label"}]


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"id\tbody", r"one of the columns must be 'text'\. Got 'id', 'body' instead.* rename=\{'body': 'text'\}"),
        (b"id\ttext\tText", r"columns must have different names\. Got 'text' more than once"),
    ],
)
def test_headers_that_cannot_be_used(header: bytes, message: str) -> None:
    with pytest.raises(DocumentError, match=r"^<stream>:1: " + message):
        read(header + b"\na\tb\tc")


def test_columns_without_a_name_are_dropped() -> None:
    assert read(b",id,text\n0,a,b\n1,c,d", "csv") == [{"id": "a", "text": "b"}, {"id": "c", "text": "d"}]


# CSV


def test_csv_cells_may_be_quoted_and_go_over_lines() -> None:
    content = b'id,text,label\r\n1,"one, ""two""\r\n\r\nthree",sport\r\n\r\n2,plain,\r\n'
    assert read(content) == [
        {"id": "1", "text": 'one, "two"\n\nthree', "label": "sport"},
        {"id": "2", "text": "plain"},
    ]


def test_csv_without_id_is_numbered_by_the_first_line_of_the_row() -> None:
    assert [document["id"] for document in read(b'text,label\n"a\nb",x\nc,y\n')] == ["2", "4"]


@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_the_header_shows_the_delimiter_of_a_csv_file(delimiter: str) -> None:
    content = 'id,text\n1,"a, b; c\td"\n'.replace(",", delimiter, 1).replace("1,", f"1{delimiter}")
    assert read(content.encode(), "csv") == [{"id": "1", "text": "a, b; c\td"}]


def test_csv_of_one_column() -> None:
    assert texts(read(b'text\n"a, b"\n   \nc', "csv")) == ["a, b", "c"]
    assert texts(read(b'"a, b"\nc', "csv")) == ["a, b", "c"]


def test_a_quote_that_is_not_closed_is_reported_where_it_opens() -> None:
    [problem] = problems_of(b'id,text\n1,a\n2,"b\n3,c\n4,d\n', "csv")
    assert problem == "<stream>:3: broken CSV in the lines up to 5: unexpected end of data"


def test_broken_csv_rows_are_left_out() -> None:
    problems = Problems()
    documents = read(b'id,text\n1,"a"b\n2,c\rd\n3\n4,d', "csv", problems=problems)
    assert documents == [{"id": "4", "text": "d"}]
    assert [problem.line for problem in problems.examples] == [2, 3, 4]


def test_a_broken_first_line_is_no_header() -> None:
    problems = Problems()
    assert read(b'"id"x,text\nsport,a\n', "csv", problems=problems) == [{"id": "2", "label": "sport", "text": "a"}]
    assert problems.count == 1


def test_csv_cells_may_be_longer_than_the_limit_of_the_csv_module() -> None:
    limit = csv.field_size_limit()
    long = "word " * 100_000
    content = io.BytesIO(f'id,text\n1,"{long}"\n2,b\n'.encode())
    documents = read_documents(content, format="csv")
    assert next(documents)["text"] == long
    assert csv.field_size_limit() == limit
    assert [document["id"] for document in documents] == ["2"]
    assert csv.field_size_limit() == limit


def test_threads_leave_the_limit_of_the_csv_module_alone() -> None:
    limit = csv.field_size_limit()
    content = b"id,text\n" + b"".join(b"%d,some text\n" % n for n in range(3000))
    threads = [threading.Thread(target=read, args=(content, "csv")) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert csv.field_size_limit() == limit


# Names of fields


def test_rename_works_in_every_format(tmp_path: Path) -> None:
    rename = {"body": "text", "category": "label"}
    expected = [{"id": "1", "label": "x", "text": "a"}]
    for content in (
        b'{"id": 1, "category": "x", "body": "a"}',
        b"id\tcategory\tbody\n1\tx\ta",
        b"body,id,category\na,1,x",
    ):
        [document] = read(content, rename=rename)
        assert [document] == expected
    assert read(b"a", "lines", rename={"text": "body", "body": "text"}, problems=Problems()) == []
    (tmp_path / "sport").mkdir()
    (tmp_path / "sport" / "a.txt").write_text("a race")
    [document] = read_documents(tmp_path, rename={"label": "topic", "id": "path"})
    assert document == {"id": (tmp_path / "sport" / "a.txt").as_posix(), "topic": "sport", "path": "sport/a.txt"} | {
        "text": "a race"
    }


def test_a_renamed_field_comes_before_one_that_has_the_name() -> None:
    assert read(b'{"text": "short", "body": "long"}', rename={"body": "text"}) == [{"id": "1", "text": "long"}]
    assert read(b'{"text": "a", "x": "b"}', rename={"text": "x", "x": "text"}) == [{"id": "1", "x": "a", "text": "b"}]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"columns": "text"}, r"columns must be a list of names\. Got 'text' instead"),
        ({"columns": ["text", 1]}, r"columns must be a list of names\. Got \['text', 1\] instead"),
        ({"columns": []}, r"columns must hold the name 'text'\. Got \[\] instead"),
        ({"columns": ["id", "body"]}, r"columns must hold the name 'text'\. Got \['id', 'body'\] instead"),
        ({"rename": {"a": 1}}, r"rename must be a mapping of names to names\. Got \{'a': 1\} instead"),
    ],
)
def test_names_are_checked_at_once(options: dict[str, object], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_documents(io.BytesIO(b""), **options)  # type: ignore[arg-type]


def test_columns_are_for_tables() -> None:
    with pytest.raises(InvalidInputError, match=r"columns are for TSV and CSV\. Got them for 'lines'\. .* the format"):
        read(b"a,b", columns=["label", "text"])


# Lines and the choice of the format


def test_lines() -> None:
    assert read(b"one\r\n\n  two\t, three \n \t \nfour", "lines") == [
        {"id": "1", "text": "one"},
        {"id": "3", "text": "  two\t, three "},
        {"id": "5", "text": "four"},
    ]


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("a.jsonl", '{"text": "x"}', {"id": "1", "text": "x"}),
        ("a.ndjson", '{"text": "x"}', {"id": "1", "text": "x"}),
        ("a.json", '{"text": "x"}', {"id": "1", "text": "x"}),
        ("a.TSV", "label\ttext\ny\tx", {"id": "2", "label": "y", "text": "x"}),
        ("a.csv", "y,x", {"id": "1", "label": "y", "text": "x"}),
        ("a.txt", "y\tx", {"id": "1", "text": "y\tx"}),
        ("a.csv.gz", "y,x", {"id": "1", "label": "y", "text": "x"}),
        ("a", '\n\n  {"text": "x"}', {"id": "3", "text": "x"}),
        ("a", "y\tx", {"id": "1", "label": "y", "text": "x"}),
        ("a", "label,text\ny,x", {"id": "2", "label": "y", "text": "x"}),
        ("a", "y,x", {"id": "1", "text": "y,x"}),
        ("a", "Title, by me", {"id": "1", "text": "Title, by me"}),
        ("a.data", '"', {"id": "1", "text": '"'}),
    ],
)
def test_auto_goes_by_the_name_and_then_by_the_first_line(
    tmp_path: Path, name: str, content: str, expected: dict[str, object]
) -> None:
    (tmp_path / name).write_text(content)
    assert list(read_documents(tmp_path / name, strict=True)) == [expected]
    with (tmp_path / name).open("rb") as stream:
        assert list(read_documents(stream, strict=True)) == [expected]
        assert not stream.closed


@pytest.mark.parametrize("file_format", ["auto", "jsonl", "tsv", "csv", "lines"])
@pytest.mark.parametrize("content", [b"", b"\n", b" \r\n\n", b"\xef\xbb\xbf", b"\xef\xbb\xbf\n"])
def test_nothing_gives_nothing(content: bytes, file_format: str) -> None:
    assert read(content, file_format) == []


# Bytes


@pytest.mark.parametrize("content", [b'{"text": "a"}', b"text\na", b"id,text\n1,a", b"a"])
def test_a_byte_order_mark_is_dropped(content: bytes) -> None:
    file_format = {b"{": "jsonl", b"t": "tsv", b"i": "csv", b"a": "lines"}[content[:1]]
    for each in ("auto", file_format):
        if not (each == "auto" and file_format == "tsv"):  # one column: nothing shows that it is a table
            assert texts(read(b"\xef\xbb\xbf" + content, each)) == ["a"]


@pytest.mark.parametrize(
    ("file_format", "content", "expected"),
    [
        ("jsonl", b'{"text": "caf\xe9 \x00."}', "caf\ufffd \ufffd."),
        ("tsv", b"x\tcaf\xe9 \x00.", "caf\ufffd \ufffd."),
        ("csv", b'text,label\n"caf\xe9\n\x00.",x', "caf\ufffd\n\ufffd."),
        ("lines", b"caf\xe9 \x00.", "caf\ufffd \ufffd."),
        ("lines", b"a\x00b", "a\ufffdb"),
    ],
)
def test_what_is_not_utf8_is_replaced_and_counted(file_format: str, content: bytes, expected: str) -> None:
    problems = Problems()
    assert texts(read(content, file_format, problems=problems)) == [expected]
    assert (problems.n_replaced, problems.count, problems.n_documents) == (1, 0, 1)
    assert "replaced by U+FFFD" in problems.examples[0].reason
    with pytest.raises(
        DocumentError, match=r"<stream>:\d: what is not UTF-8, or NUL, was replaced .* Convert it to UTF-8"
    ):
        read(content, file_format)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-be", "utf-32", "utf-32-be"])
def test_utf16_is_named(encoding: str, tmp_path: Path) -> None:
    content = ("\ufeff" * encoding.endswith("be") + "id,text\n1,a\n").encode(encoding)
    with pytest.raises(DocumentError, match=r"<stream>:1: the text must be UTF-8\. Got UTF-16 or UTF-32 instead"):
        read(content)
    (tmp_path / "a.txt").write_bytes(content)
    problems = Problems()
    assert list(read_documents(tmp_path, problems=problems)) == []
    assert problems.examples[0].reason == "the text must be UTF-8. Got UTF-16 or UTF-32 instead"


@pytest.mark.parametrize("file_format", ["jsonl", "tsv", "csv", "lines"])
def test_lines_that_are_too_long_are_reported_and_not_held(file_format: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_lines, "MAX_LINE_BYTES", 2**20)
    line = {"jsonl": b'{"text": "a"}', "tsv": b"x\ta", "csv": b"x,a", "lines": b"a"}[file_format]
    content = io.BytesIO(b"%s\n%s\n%s\n%s" % (line, b"long " * 10_000_000, line, b"." * (2**20 + 1)))
    problems = Problems()
    tracemalloc.start()
    documents = list(read_documents(content, format=file_format, problems=problems))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert [document["id"] for document in documents] == ["1", "3"]
    assert list(map(str, problems.examples)) == [
        "<stream>:2: a line must have at most 1,048,576 bytes. Got more",
        "<stream>:4: a line must have at most 1,048,576 bytes. Got more",
    ]
    assert peak < 8 * 2**20


def test_a_line_at_the_limit_is_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_lines, "MAX_LINE_BYTES", 8)
    assert texts(read(b"12345678\n12345678")) == ["12345678"] * 2
    assert problems_of(b"123456789\n1\n123456789", "lines")[0].startswith("<stream>:1: a line must have")


def test_a_csv_row_is_limited_as_a_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_lines, "MAX_LINE_BYTES", 40)
    problems = Problems()
    rows = b'id,text\n1,"' + b"0123456789\n" * 4 + b'2,"b"\n3,c\n'
    documents = read(rows, "csv", problems=problems)
    assert documents[-1] == {"id": "3", "text": "c"}
    assert str(problems.examples[0]) == "<stream>:2: a row must have at most 40 bytes. Got more: is a quote closed?"


@pytest.mark.parametrize("name", ["a.tsv.gz", "a.tsv", "a"])
def test_gzip_is_known_by_its_content(tmp_path: Path, name: str) -> None:
    content = gzip.compress(b"x\ta\n", mtime=0) + gzip.compress(b"x\tb\n")
    (tmp_path / name).write_bytes(content)
    assert texts(list(read_documents(tmp_path / name))) == ["a", "b"]
    assert texts(read(content)) == ["a", "b"]


@pytest.mark.parametrize(
    "damage",
    [
        lambda content: content[:-20],
        lambda content: content[:3],
        lambda content: content + b"garbage",
        lambda content: content[:200] + b"\xff" * 50 + content[250:],
    ],
)
def test_damaged_gzip_is_an_error_that_says_where(damage: Callable[[bytes], bytes]) -> None:
    lines = b"".join(b'{"text": "%d"}\n' % (n * n * 7919) for n in range(5000))
    with pytest.raises(
        DocumentError, match=r"<stream>:\d+: cannot be read from here on: .* Check that the file is whole"
    ):
        list(read_documents(io.BytesIO(damage(gzip.compress(lines))), problems=Problems()))


class Trickle(io.RawIOBase):
    """Gives a byte at a time, as a slow pipe may do."""

    def __init__(self, content: bytes) -> None:
        self._content = io.BytesIO(content)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        chunk = self._content.read(1)
        buffer[: len(chunk)] = chunk
        return len(chunk)


@pytest.mark.parametrize("content", [b"x\ta\ny\tb\n", gzip.compress(b"x\ta\ny\tb\n", mtime=0), b"x\ta\r\ny\tb"])
def test_streams_may_give_a_byte_at_a_time(content: bytes) -> None:
    assert texts(list(read_documents(Trickle(content)))) == ["a", "b"]  # type: ignore[arg-type]


def test_a_document_is_given_before_the_next_one_has_come() -> None:
    reading, writing = os.pipe()
    with open(reading, "rb") as stream:  # noqa: PTH123  # a file descriptor
        os.write(writing, b'{"text": "a"}\n')
        documents = read_documents(stream)
        assert next(documents) == {"id": "1", "text": "a"}
        os.write(writing, b'{"text": "b"}\n')
        assert next(documents) == {"id": "2", "text": "b"}
        os.close(writing)
        assert list(documents) == []


def test_reading_needs_little_memory() -> None:
    class Endless(io.RawIOBase):
        line = b'{"text": "' + b"word " * 200 + b'"}\n'

        def readable(self) -> bool:
            return True

        def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
            chunk = (self.line * (len(buffer) // len(self.line) + 1))[: len(buffer) // len(self.line) * len(self.line)]
            buffer[: len(chunk)] = chunk
            return len(chunk)

    documents = read_documents(Endless())  # type: ignore[arg-type]
    next(documents)
    tracemalloc.start()
    for _ in range(20_000):  # 20 MB
        next(documents)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 2**20


def test_an_error_while_reading_is_a_document_error() -> None:
    class Broken(io.BytesIO):
        def read1(self, size: int | None = -1) -> bytes:
            raise OSError(5, "Input/output error")

    with pytest.raises(DocumentError, match=r"<stream>:1: cannot be read from here on: Input/output error"):
        list(read_documents(Broken(b"abc")))


def test_a_file_opened_as_text_is_refused() -> None:
    with pytest.raises(InvalidInputError, match=r"opened in binary mode\. Got one opened as text\. .* mode 'rb'"):
        list(read_documents(io.StringIO("a")))  # type: ignore[arg-type]


# Standard input


def read_stdin(content: bytes) -> str:
    program = "from cptw_search.documents import *\nfor d in read_documents('-', strict=True): print(ascii(d))"
    return subprocess.run(
        [sys.executable, "-c", program], input=content, capture_output=True, check=False
    ).stdout.decode()


@pytest.mark.parametrize("content", [b'{"text": "a"}\n', gzip.compress(b'{"text": "a"}\n', mtime=0)])
def test_standard_input(content: bytes) -> None:
    assert read_stdin(content) == f"{ {'id': '1', 'text': 'a'} }\n"


def test_problems_of_standard_input_name_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{")))
    with pytest.raises(DocumentError, match=r"^<stdin>:1: broken JSON"):
        list(read_documents("-", strict=True))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"{")))
    assert list(read_documents(Path("-"), problems=Problems())) == []


@pytest.mark.parametrize("stdin", [None, io.StringIO("a")])
def test_standard_input_that_is_not_there(monkeypatch: pytest.MonkeyPatch, stdin: object) -> None:
    monkeypatch.setattr(sys, "stdin", stdin)
    with pytest.raises(InvalidInputError, match="standard input must be a stream of bytes"):
        read_documents("-")


# Folders


def write_tree(root: Path, files: dict[str, bytes]) -> None:
    for name, content in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_bytes(content)


def test_a_folder_of_text_files(tmp_path: Path) -> None:
    write_tree(
        tmp_path,
        {
            "b.txt": b"\xef\xbb\xbfone\r\ntwo\n",
            "a.TXT": b"",
            "c.txt.gz": gzip.compress(b"three", mtime=0),
            "sport/2.txt": b"four",
            "sport/old/1.txt": b"five",
            "art/1.txt": b"six",
            "notes.md": b"not this",
            ".hidden.txt": b"nor this",
            ".git/x.txt": b"nor this",
        },
    )
    problems = Problems()
    assert list(read_documents(tmp_path, problems=problems)) == [
        {"id": "a.TXT", "text": ""},
        {"id": "b.txt", "text": "one\ntwo\n"},
        {"id": "c.txt.gz", "text": "three"},
        {"id": "art/1.txt", "label": "art", "text": "six"},
        {"id": "sport/2.txt", "label": "sport", "text": "four"},
        {"id": "sport/old/1.txt", "label": "old", "text": "five"},
    ]
    assert problems == Problems(n_documents=6, n_empty=1)


def test_what_cannot_be_read_in_a_folder_is_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(document_lines, "MAX_LINE_BYTES", 1000)
    write_tree(
        tmp_path,
        {
            "good.txt": b"a",
            "latin.txt": b"caf\xe9",
            "large.txt": b"a" * 1001,
            "cut.txt.gz": gzip.compress(b"some text", mtime=0)[:-5],
            "sub/good.txt": b"b",
        },
    )
    (tmp_path / "sub" / "up").symlink_to(tmp_path)
    (tmp_path / "loop.txt").symlink_to(tmp_path / "loop.txt")
    (tmp_path / "gone.txt").symlink_to(tmp_path / "nothing")
    os.mkfifo(tmp_path / "pipe.txt")
    problems = Problems()
    documents = list(read_documents(tmp_path, problems=problems))
    assert [(document["id"], document["text"]) for document in documents] == [
        ("good.txt", "a"),
        ("latin.txt", "caf\ufffd"),
        ("sub/good.txt", "b"),
    ]
    assert (problems.n_documents, problems.n_replaced, problems.count) == (3, 1, 6)
    reasons = {Path(problem.file).name: problem.reason for problem in problems.examples}
    assert reasons == {
        "cut.txt.gz": "cannot be read: Compressed file ended before the end-of-stream marker was reached",
        "gone.txt": "cannot be read: No such file or directory",
        "large.txt": "a file must have at most 1,000 bytes. Got more",
        "latin.txt": "what is not UTF-8, or NUL, was replaced by U+FFFD",
        "loop.txt": "cannot be read: Too many levels of symbolic links",
        "pipe.txt": "documents must be regular files. Got a pipe, a socket or a device instead",
        "up": "a folder is read once. Got a link to one that was read already",
    }
    with pytest.raises(DocumentError, match=r"cut\.txt\.gz: cannot be read: Compressed file ended"):
        list(read_documents(tmp_path, strict=True))


def test_files_and_folders_without_permission(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_tree(tmp_path, {"a.txt": b"a", "b.txt": b"b", "closed/c.txt": b"c"})
    # made up, for tests may run as a user who may read everything
    whole_open, whole_list = Path.open, Path.iterdir

    def allowed(path: Path) -> Path:
        if path.name in ("b.txt", "closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return path

    monkeypatch.setattr(Path, "open", lambda self, *args: whole_open(allowed(self), *args))
    monkeypatch.setattr(Path, "iterdir", lambda self: whole_list(allowed(self)))
    problems = Problems()
    assert texts(list(read_documents(tmp_path, problems=problems))) == ["a"]
    assert [str(problem) for problem in problems.examples] == [
        f"{tmp_path}/b.txt: cannot be read: Permission denied",
        f"{tmp_path}/closed: cannot be read: Permission denied",
    ]
    with pytest.raises(DocumentError, match=r"b\.txt: cannot be opened: Permission denied\. Check its permissions"):
        list(read_documents(tmp_path / "b.txt"))


def test_file_names_that_are_not_utf8_make_ids_that_can_be_stored(tmp_path: Path) -> None:
    name = os.fsencode(tmp_path) + b"/caf\xe9.txt"
    try:
        Path(os.fsdecode(name)).write_text("a")
    except OSError:
        pytest.skip("this file system takes only UTF-8 names")
    assert list(read_documents(tmp_path)) == [{"id": "caf\ufffd.txt", "text": "a"}]


def test_a_folder_without_text_files_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("a")
    with pytest.raises(DocumentError, match=r"a folder must hold files that end in \.txt or \.txt\.gz\. Got none"):
        list(read_documents(tmp_path))


# Arguments


def test_arguments_are_checked_before_the_first_document(tmp_path: Path) -> None:
    file = tmp_path / "a.txt"
    file.write_text("a")
    with pytest.raises(UnknownNameError, match="format must be one of 'auto', 'jsonl'.* Got 'xml' instead"):
        read_documents(file, format="xml")
    with pytest.raises(InvalidInputError, match=r"a\.txt: format 'folder' needs a folder\. Got a file"):
        read_documents(file, format="folder")
    with pytest.raises(InvalidInputError, match=r"format 'csv' needs a file\. Got a folder"):
        read_documents(tmp_path, format="csv")
    with pytest.raises(InvalidInputError, match=r"<stream>: format 'folder' needs the path of a folder"):
        read_documents(io.BytesIO(b""), format="folder")
    with pytest.raises(InvalidInputError, match=r"source must be a path, '-' or a file .* Got bytes instead"):
        read_documents(b"a.txt")  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("no/such.jsonl", r"no/such\.jsonl: cannot be opened: No such file or directory\. Check the path"),
        ("nul\0.txt", r"nul\ufffd\.txt: cannot be opened: "),
        ("half\ud800.txt", r"half\ufffd\.txt: cannot be opened: "),
        ("", r"source must be the path of a file or folder, or '-'\. Got an empty string"),
    ],
)
def test_missing_files_are_named_at_once(source: str, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        read_documents(source)


# Problems


def test_problems_without_a_collector_are_a_warning() -> None:
    documents = read_documents(io.BytesIO(b'{"text": 1}\n{"text": "a"}\n{"text": "\xff"}'))
    assert next(documents)["text"] == "a"
    assert next(documents)["text"] == "\ufffd"
    message = r"2 documents read, 1 left out, 1 with replaced characters; first: <stream>:1: text must .* Give problems"
    with pytest.warns(DocumentWarning, match=message) as caught:
        assert list(documents) == []
    assert caught[0].filename == __file__


def test_problems_count_all_and_keep_the_first(tmp_path: Path) -> None:
    problems = Problems(max_examples=2)
    read(b"{\n" * 5 + b'{"text": " "}', problems=problems)
    read(b'{"text": "a"}\n{', problems=problems)
    assert (problems.count, problems.n_documents, problems.n_empty) == (6, 2, 1)
    assert [problem.line for problem in problems.examples] == [1, 2]
    assert str(problems) == (
        "2 documents read, 6 left out, 1 without text; first: <stream>:1: broken JSON: Expecting property name "
        "enclosed in double quotes at column 2"
    )
    assert str(Problems(n_documents=1)) == "1 document read"


def test_texts_without_words_are_documents() -> None:
    problems = Problems()
    assert read(b'{"text": ""}\n{"text": " ", "title": "t"}', problems=problems) == [
        {"id": "1", "text": ""},
        {"id": "2", "text": " ", "title": "t"},
    ]
    assert problems == Problems(n_documents=2, n_empty=2)


def test_a_file_is_closed_when_reading_stops_early(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("a\nb")
    documents = read_documents(tmp_path / "a.txt")
    next(documents)
    documents.close()  # type: ignore[attr-defined]  # a ResourceWarning would be an error
    assert list(documents) == []
