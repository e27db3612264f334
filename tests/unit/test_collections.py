"""Test collections in every layout; all texts are made up."""

import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest

from cptw_search.errors import InvalidInputError, MissingExtraError
from cptw_search.evaluation import source_files
from cptw_search.evaluation.collections import RETRIEVAL_COLLECTIONS, Collection, load_collection, make_collection
from cptw_search.evaluation.markup import elements, first_element, without_tags
from cptw_search.evaluation.smart_files import parse_smart
from cptw_search.evaluation.source_files import MissingDataError
from cptw_search.evaluation.trec_files import parse_topics, parse_trec_documents

CORPUS = [
    {"_id": "d1", "title": "Boats", "text": "on a lake", "metadata": {"year": 1}},
    {"_id": "d2", "title": "", "text": "a tax"},
    {"_id": 3, "text": "the sea"},
]
QUERIES = [{"_id": "q1", "text": "ship"}, {"_id": "q2", "text": "money"}, {"_id": "q3", "text": "nobody judged this"}]
QRELS = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\t3\t1\nq2\td2\t1\n"


def write_beir(folder: Path, *, corpus: str | None = None, queries: str | None = None, qrels: str = QRELS) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    lines = ["".join(f"{json.dumps(row)}\n" for row in rows) for rows in (CORPUS, QUERIES)]
    (folder / "corpus.jsonl.gz").write_bytes(gzip.compress((lines[0] if corpus is None else corpus).encode()))
    (folder / "queries.jsonl").write_text(lines[1] if queries is None else queries)
    (folder / "qrels.tsv").write_text(qrels)
    return folder


# The layout of BEIR


def test_a_name_is_found_in_the_data_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write_beir(tmp_path / "retrieval" / "cacm")
    monkeypatch.setenv("CPTW_DATA", str(tmp_path))
    loaded = load_collection("cacm")
    assert loaded.name == "cacm"
    assert loaded.documents == (
        {"id": "d1", "title": "Boats", "text": "on a lake"},
        {"id": "d2", "text": "a tax"},
        {"id": "3", "text": "the sea"},
    )
    assert loaded.queries == {"q1": "ship", "q2": "money"}
    assert loaded.judgements == {"q1": {"d1": 2, "3": 1}, "q2": {"d2": 1}}


@pytest.mark.parametrize("name", RETRIEVAL_COLLECTIONS)
def test_a_missing_collection_is_one_line_that_says_where_to_put_it(name: str, tmp_path: Path) -> None:
    with pytest.raises(MissingDataError, match=f"'{name}' was not found: it is not in .*retrieval") as caught:
        load_collection(name, data=tmp_path)
    assert f"<CPTW_DATA>/retrieval/{name}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_cranfield_comes_without_the_papers_that_its_questions_were_made_from(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "retrieval" / "cranfield")
    (folder / "qrels.nosource.tsv").write_text("query-id\tcorpus-id\tscore\nq1\td1\t2\n")
    assert load_collection("cranfield", data=tmp_path).judgements == {"q1": {"d1": 2}}
    assert len(load_collection("cranfield", data=tmp_path, qrels="qrels.tsv").judgements) == 2
    assert load_collection(folder, qrels="nosource").judgements == {"q1": {"d1": 2}}


def test_judgements_in_a_folder_and_of_another_part(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "own")
    (folder / "qrels.tsv").unlink()
    (folder / "qrels").mkdir()
    (folder / "qrels" / "test.tsv").write_text(QRELS)
    (folder / "qrels" / "dev.tsv").write_text("query-id\tcorpus-id\tscore\nv1\td1\t1\n")
    (folder / "queries.dev.jsonl").write_text('{"_id": "v1", "text": "a vessel"}\n')
    assert set(load_collection(folder).queries) == {"q1", "q2"}
    assert load_collection(folder, qrels="dev").queries == {"v1": "a vessel"}
    with pytest.raises(InvalidInputError, match=r"judgements must be in train or qrels\.train\.tsv.*'qrels/dev\.tsv'"):
        load_collection(folder, qrels="train")


def test_a_pair_that_is_judged_twice_has_the_higher_grade(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "own", qrels="q1\td1\t1\nq1\td1\t3\nq1\td1\t2\n")
    assert load_collection(folder).judgements == {"q1": {"d1": 3}}


def test_a_judged_document_that_is_not_there_stays_judged(tmp_path: Path) -> None:
    folder = write_beir(tmp_path / "own", qrels="q1\td1\t1\nq1\tgone\t1\n")
    assert load_collection(folder).judgements == {"q1": {"d1": 1, "gone": 1}}


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        (
            {"qrels": "q1\td1\t1\nq1\td2\n"},
            r"qrels\.tsv:2: a judgement must be query id, document id and a whole number",
        ),
        ({"qrels": "q1\td1\t1\nq1\td2\tyes\n"}, r"qrels\.tsv:2: .*Got 'q1\\td2\\tyes'"),
        ({"qrels": "query-id\tcorpus-id\tscore\n"}, "must have judgements. Got none"),
        ({"qrels": "q1\td1\t1\nother\td1\t1\n"}, "judged query must have a text. Got judgements of 'other'"),
        ({"qrels": "q1\tx\t1\n"}, "must be about documents of the collection. Got ids such as 'x'"),
        ({"corpus": ""}, "must have documents. Got none"),
        ({"corpus": '{"_id": "a", "text": ""}\n' * 2}, "document's id must be unique. Got 'a' twice"),
        ({"corpus": '{"_id": "a"}\n'}, r"corpus\.jsonl\.gz:1: text is missing"),
        ({"queries": '{"_id": "q1", "text": ""}\n' * 2}, "query's id must be unique. Got 'q1' twice"),
    ],
)
def test_parts_that_do_not_belong_together(parts: dict[str, str], message: str, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match=message):
        load_collection(write_beir(tmp_path / "own", **parts))


def test_a_folder_of_something_else(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("nothing")
    with pytest.raises(MissingDataError, match=r"must hold corpus\.jsonl.*Got 'notes\.txt' instead"):
        load_collection(tmp_path)
    with pytest.raises(InvalidInputError, match="must be a folder. Got a file"):
        load_collection(tmp_path / "notes.txt")
    (tmp_path / "corpus.jsonl").write_text("")
    (tmp_path / "qrels.tsv").write_text("")
    with pytest.raises(InvalidInputError, match=r"must have queries\.jsonl"):
        load_collection(tmp_path)


def test_the_hash_sees_every_change_but_name_and_order_of_judgements() -> None:
    def made(**changes: object) -> Collection:
        parts: dict[str, object] = {
            "name": "a",
            "documents": ({"id": "1", "text": "x"}, {"id": "2", "text": "y"}),
            "queries": {"q": "x", "r": "y"},
            "judgements": {"q": {"1": 1, "2": 0}, "r": {"2": 1}},
        }
        return Collection(**{**parts, **changes})  # type: ignore[arg-type]

    base = made().content_hash()
    assert made(name="b").content_hash() == base
    assert made(judgements={"r": {"2": 1}, "q": {"2": 0, "1": 1}}).content_hash() == base
    others = [
        made(documents=({"id": "2", "text": "y"}, {"id": "1", "text": "x"})),
        made(documents=({"id": "1", "title": "x", "text": ""}, {"id": "2", "text": "y"})),
        made(queries={"q": "x", "r": "z"}),
        made(judgements={"q": {"1": 2, "2": 0}, "r": {"2": 1}}),
    ]
    assert len({base, *(other.content_hash() for other in others)}) == 1 + len(others)


# SMART files


SMART_DOCUMENTS = """.I 1
.T
boats on
a lake .
.A
somebody
.W
boats on
a lake .
.5 metres of water
.I was here before
.I 2
.W
a tax
.X
1\t5\t1
"""


def write_smart(folder: Path, queries: str, qrels: str, *, name: str = "cranqrel") -> Path:
    folder.mkdir()
    (folder / "cran.all.1400").write_text(SMART_DOCUMENTS)
    (folder / "cran.qry").write_text(queries)
    (folder / name).write_text(qrels)
    return folder


def test_smart_records_end_only_at_real_marks() -> None:
    first, second = parse_smart(SMART_DOCUMENTS, "made-up")
    assert (first.number, first.title) == ("1", "boats on a lake .")
    assert first.text == ".5 metres of water .I was here before"  # the repeated title is off, odd lines are text
    assert (second.number, second.title, second.text) == ("2", "", "a tax")


def test_a_title_is_only_taken_off_where_it_ends_with_a_word() -> None:
    [record] = parse_smart(".I 1\n.T\nboat\n.W\nboats on a lake\n", "made-up")
    assert record.text == "boats on a lake"


def test_cranfield_counts_its_queries_by_position(tmp_path: Path) -> None:
    queries = ".I 001\n.W\nship\n.I 004\n.W\nmoney\n.I 008\n.W\nwater\n"
    loaded = load_collection(write_smart(tmp_path / "cran", queries, "1 1 2\n2 2  1\n3 1 4\n3 2 -1\n"))
    assert loaded.queries == {"1": "ship", "2": "money", "3": "water"}
    assert loaded.judgements == {"1": {"1": 3}, "2": {"2": 4}, "3": {"1": 1}}  # 5 - code, without the source papers
    assert loaded.documents[0]["title"] == "boats on a lake ."


def test_queries_keep_their_numbers_where_the_judgements_use_them(tmp_path: Path) -> None:
    queries = ".I 01\n.W\nship\n.I 04\n.W\nmoney\n"
    loaded = load_collection(write_smart(tmp_path / "own", queries, "1 1 1\n4 2 1\n", name="own.rel"))
    assert loaded.queries == {"1": "ship", "4": "money"}
    assert loaded.judgements == {"1": {"1": 1}, "4": {"2": 1}}


def test_judgements_of_neither_number_nor_position(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="by their number or their position, 1 to 1. Got '7' instead"):
        load_collection(write_smart(tmp_path / "own", ".I 1\n.W\nship\n", "7 1 1\n"))


@pytest.mark.parametrize(
    ("name", "qrels"),
    [
        ("CISI.REL", "     1      1\t0\t0.000000\n     2      2\t0\t0.000000\n"),
        ("qrels.text", "01 0001  0 0\n02 0002  0 0\n"),
        ("MED.REL", "1 0 1 1\n2 0 2 1\n"),
    ],
)
def test_columns_of_judgements(name: str, qrels: str, tmp_path: Path) -> None:
    folder = write_smart(tmp_path / "own", ".I 1\n.W\nship\n.I 2\n.W\nmoney\n", qrels, name=name)
    (folder / "MED.REL.OLD").write_text("not to be read")
    assert load_collection(folder).judgements == {"1": {"1": 1}, "2": {"2": 1}}


@pytest.mark.parametrize("line", ["1 1", "1 1 x", "1 2 3 4 5", "1 0 1 x"])
def test_lines_that_are_no_judgements(line: str, tmp_path: Path) -> None:
    folder = write_smart(tmp_path / "own", ".I 1\n.W\nship\n", f"1 1 1\n\n{line}\n")
    with pytest.raises(InvalidInputError, match="cranqrel:3: a judgement must have three or four columns"):
        load_collection(folder)


def test_a_smart_folder_without_one_of_its_parts(tmp_path: Path) -> None:
    folder = write_smart(tmp_path / "own", ".I 1\n.W\nship\n", "1 1 1\n")
    with pytest.raises(MissingDataError, match="and no 'other'"):
        load_collection(folder, qrels="other")
    (folder / "cranqrel").unlink()
    with pytest.raises(MissingDataError, match="and no judgements"):
        load_collection(folder)
    (folder / "cranqrel").write_text("1 1 1\n")
    (folder / "cran.qry").unlink()
    with pytest.raises(MissingDataError, match="and no queries"):
        load_collection(folder)


def test_text_before_the_first_record_is_an_error() -> None:
    with pytest.raises(InvalidInputError, match=r"made-up:2: a record must begin with .I and a number. Got 'text'"):
        parse_smart("\ntext\n.I 1\n", "made-up")
    assert parse_smart("", "made-up") == []


# TREC files


TREC_DOCUMENTS = """<DOC>
<DOCNO> AB-1 </DOCNO>
<HEADLINE> Boats &amp; ships </HEADLINE>
<TEXT><P>on a lake</P></TEXT>
<TEXT>and a sea</TEXT>
</DOC>
<doc><docno>AB-2</docno><title>Tax</title>Tax <b>rises</b></doc>
"""
TOPICS = """<top>
<num> Number: 051
<title> Topic: ship
<desc> Description:
Texts about ships.
</top>
<top><num>052</num><title></title><desc>money matters</desc></top>
<top>
<num> Number: 53
<title> nobody judged this
</top>
"""


def test_trec_files(tmp_path: Path) -> None:
    (tmp_path / "part1.sgml").write_text(TREC_DOCUMENTS)
    (tmp_path / "topics.51-53").write_text(TOPICS)
    (tmp_path / "qrels.51-53").write_text("51 0 AB-1 2\n51 0 AB-2 -1\n52 Q0 AB-2 1\n")
    (tmp_path / "README").write_text("no document")
    loaded = load_collection(tmp_path)
    assert loaded.documents == (
        {"id": "AB-1", "title": "Boats & ships", "text": "on a lake and a sea"},
        {"id": "AB-2", "title": "Tax", "text": "Tax rises"},
    )
    assert loaded.queries == {"51": "ship", "52": "money matters"}
    assert loaded.judgements == {"51": {"AB-1": 2, "AB-2": -1}, "52": {"AB-2": 1}}


def test_trec_documents_and_topics_need_their_numbers() -> None:
    with pytest.raises(InvalidInputError, match="must have a <DOCNO>. Number 2 has none"):
        list(parse_trec_documents("<DOC><DOCNO>1</DOCNO></DOC><DOC>x</DOC>", "made-up"))
    with pytest.raises(InvalidInputError, match="Got none in topic 1"):
        parse_topics("<top><title>x</top>", "made-up")
    with pytest.raises(InvalidInputError, match="Got '7' twice in topic 2"):
        parse_topics("<top><num>7<title>x</top><top><num>07<title>y</top>", "made-up")


def test_markup_that_is_broken() -> None:
    assert elements("<a>1<a x='y'>2</A>3", "a") == ["1", "2"]
    assert first_element("<t> </t><u>&eacute;</u>", "t", "u") == "é"
    assert without_tags("<script>if (a < b) {}</script>a &amp; b<") == "a & b<"


# ir_datasets


class FakeDataset:
    """What ``ir_datasets.load`` returns, as far as it is used."""

    def __init__(self, *, qrels: bool = True) -> None:
        self._qrels = qrels

    def has_docs(self) -> bool:
        return True

    def has_queries(self) -> bool:
        return True

    def has_qrels(self) -> bool:
        return self._qrels

    def docs_iter(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(doc_id="d1", title="Boats", text="on a lake")
        yield SimpleNamespace(doc_id="d2", abstract="a tax")

    def queries_iter(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(query_id="q1", text="ship")
        yield SimpleNamespace(query_id="q2", title="money", description="all about money")

    def qrels_iter(self) -> Iterator[SimpleNamespace]:
        yield SimpleNamespace(query_id="q1", doc_id="d1", relevance=2)
        yield SimpleNamespace(query_id="q2", doc_id="d2", relevance=1)


@pytest.fixture
def ir_datasets(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    module = ModuleType("ir_datasets")
    known = {"made/up/test": FakeDataset(), "made/up": FakeDataset(qrels=False)}
    module.load = known.__getitem__  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "ir_datasets", module)
    return module


@pytest.mark.usefixtures("ir_datasets")
def test_ir_datasets_by_id() -> None:
    loaded = load_collection("ir_datasets:made/up/test")
    assert loaded.documents == ({"id": "d1", "title": "Boats", "text": "on a lake"}, {"id": "d2", "text": "a tax"})
    assert loaded.queries == {"q1": "ship", "q2": "money"}
    assert loaded.judgements == {"q1": {"d1": 2}, "q2": {"d2": 1}}
    with pytest.raises(InvalidInputError, match="has no collection 'made/other'"):
        load_collection("ir_datasets:made/other")
    with pytest.raises(InvalidInputError, match="It has no qrels: try one of its parts, such as made/up/test"):
        load_collection("ir_datasets:made/up")


def test_a_download_that_fails_is_one_line(ir_datasets: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(_: FakeDataset) -> Iterator[SimpleNamespace]:
        raise ConnectionError("no route")

    monkeypatch.setattr(FakeDataset, "docs_iter", fail)
    with pytest.raises(InvalidInputError, match="ir_datasets:made/up/test cannot be read: no route"):
        load_collection("ir_datasets:made/up/test")


def test_without_ir_datasets_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ir_datasets", None)
    with pytest.raises(MissingExtraError, match="pip install ir_datasets"):
        load_collection("ir_datasets:beir/scifact/test")


def test_the_number_of_documents_is_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(source_files, "MAX_DOCUMENTS", 1)
    documents = [{"id": "1", "text": ""}, {"id": "2", "text": ""}]
    with pytest.raises(InvalidInputError, match="at most 1 documents"):
        make_collection("made-up", documents, {"q": "x"}, {"q": {"1": 1}})
