"""`search`, `classify`, `explain`, `neighbours` and `vectors`: what is printed."""

import json
from pathlib import Path

import pytest
from command_line import DOCUMENTS, Result, build_index, fit_model, write_documents

from cptw_search import Cptw, EmbeddedIndex, KnnClassifier
from cptw_search.explain import explain
from cptw_search.vector_sources import KNOWN_VECTORS


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("cli")
    build_index(folder)
    return folder


def test_search_marks_the_query_s_words_and_the_close_ones(folder: Path) -> None:
    result = Result("search", "boat", "--index", folder / "index")
    assert result.status == 0
    hits = EmbeddedIndex.open(folder / "index").search("boat")
    assert result.stdout.splitlines() == [
        f"1  {hits[0].score:.4f}  a  [water]  Harbour news",
        "    A **boat** left the harbour.",
        "",
        f"2  {hits[1].score:.4f}  b  [water]",
        "    Two _ships_ at _sea_.",
        "",
    ]
    assert result.stderr == ""


@pytest.mark.parametrize("method", ["bm25", "tfidf"])
def test_methods_without_propagation_mark_direct_matches_alone(folder: Path, method: str) -> None:
    result = Result("search", "boat", "--index", folder / "index", "--method", method)
    assert "**boat**" in result.stdout
    assert "_" not in result.stdout


def test_json_is_what_the_library_gives(folder: Path) -> None:
    options = ("-k", "3", "--method", "hybrid", "--lambda", "0.6", "--json")
    found = Result("search", "boat cat", "--index", folder / "index", *options).json
    hits = EmbeddedIndex.open(folder / "index").search("boat cat", 3, method="hybrid", lambda_=0.6)
    assert found == {
        "query": "boat cat",
        "hits": [{"id": hit.id, "score": hit.score, "fields": hit.fields} for hit in hits],
    }


def test_explanations(folder: Path) -> None:
    found = Result("search", "boat", "--index", folder / "index", "--explain", "--json").json["hits"][0]
    assert found["explanation"]["score"] == pytest.approx(found["score"], rel=1e-5)
    shown = Result("search", "boat", "--index", folder / "index", "--explain").stdout
    assert "same term" in shown
    assert "neighbour" in shown


@pytest.mark.parametrize(
    ("conditions", "expected"),
    [
        (["label=pets"], "cd"),
        (["label=pets", "label=water"], "abcd"),
        (["year>=1995", "year<2002"], "bc"),
        (["year=1990"], "a"),
        (["label=pets", "year>2001"], "d"),
        (["label>o"], "abcd"),
        (["label>pets"], "ab"),
        (['year>="1990"'], ""),
    ],
)
def test_filters(folder: Path, conditions: list[str], expected: str) -> None:
    options = [option for condition in conditions for option in ("--filter", condition)]
    found = Result("search", "boat cat", "--index", folder / "index", *options, "--json").json
    assert "".join(sorted(hit["id"] for hit in found["hits"])) == expected


@pytest.mark.parametrize(
    ("condition", "status", "reason"),
    [("label", 2, "must be a condition such as label=sport"), ("lable=pets", 1, "there are ['id', 'label', 'year']")],
)
def test_filters_that_cannot_be_used(folder: Path, condition: str, status: int, reason: str) -> None:
    result = Result("search", "boat", "--index", folder / "index", "--filter", condition)
    assert result.status == status
    assert reason in " ".join(result.stderr.split())


def test_many_queries_give_json_lines(folder: Path) -> None:
    result = Result(
        "search", "--queries", "-", "--index", folder / "index", "-k", "1", "--json", stdin="harbour\n\nbark\n"
    )
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    assert [(line["id"], line["query"], line["hits"][0]["id"]) for line in lines] == [
        ("1", "harbour", "a"),
        ("3", "bark", "d"),
    ]


def test_queries_may_be_json_lines(folder: Path) -> None:
    queries = write_documents(folder, [{"_id": "q7", "text": "ship"}], "queries.jsonl")
    assert Result("search", "--queries", queries, "--index", folder / "index", "--json").json["id"] == "q7"
    assert Result("search", "--queries", queries, "--index", folder / "index").stdout.startswith("ship\n")


@pytest.mark.parametrize("query", ["zeppelin", ""])
def test_nothing_found(folder: Path, query: str) -> None:
    result = Result("search", query, "--index", folder / "index")
    assert (result.status, result.stdout) == (0, "")
    assert result.stderr == f"cptw: nothing found for {query!r}\n"
    assert Result("search", query, "--index", folder / "index", "--json").json["hits"] == []


@pytest.mark.parametrize(
    ("args", "status", "reason"),
    [
        ((), 2, "give either a query or --queries"),
        (("boat", "--queries", "-"), 2, "give either a query or --queries"),
        (("boat", "-k", "0"), 1, "k must be a whole number >= 1"),
        (("boat", "--lambda", "2"), 1, "lambda_ must be a number from 0 to 1"),
        (("boat", "--method", "bm26"), 2, "'tfidf'"),
        (("boat", "--method", "rrf", "--explain"), 1, "explain needs one of the methods 'cptw'"),
    ],
)
def test_searches_that_cannot_be_done(folder: Path, args: tuple[str, ...], status: int, reason: str) -> None:
    result = Result("search", *args, "--index", folder / "index")
    assert result.status == status
    assert reason in " ".join(result.stderr.split())
    assert result.stdout == ""


def test_classify_compares_with_the_labels_that_are_there(folder: Path) -> None:
    new: list[dict[str, object]] = [
        {"id": "x", "text": "boats", "label": "water"},
        {"id": "y", "text": "ships", "label": "pets"},
    ]
    path = write_documents(folder, [*new, {"id": "z", "text": "dogs"}], "new.jsonl")
    result = Result("classify", path, "--index", folder / "index", "-k", "2")
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["100.0%", "water", "x", "boats"],
        ["100.0%", "water", "y", "(labelled", "pets)", "ships"],
        ["100.0%", "pets", "z", "dogs"],
        ["accuracy", "0.5000:", "1", "of", "2", "right;", "1", "text", "without", "a", "label"],
    ]
    assert result.stderr == ""


def test_classify_json_is_what_the_library_gives(folder: Path) -> None:
    options = ("-k", "4", "--votes", "uniform", "--label-field", "label", "--json")
    result = Result("classify", folder / "documents.jsonl", "--index", folder / "index", *options)
    lines = [json.loads(line) for line in result.stdout.splitlines()]
    classifier = KnnClassifier(EmbeddedIndex.open(folder / "index"), k=4, votes="uniform")
    assert [line["shares"] for line in lines] == classifier.vote_many(DOCUMENTS)
    assert [line["label"] for line in lines] == classifier.predict(DOCUMENTS).tolist()
    assert all(line["share"] == line["shares"][line["label"]] for line in lines)
    accuracy = classifier.score(DOCUMENTS, [str(document["label"]) for document in DOCUMENTS])
    assert f"accuracy {accuracy:.4f}: " in result.stderr


def test_classify_texts_of_the_command_line(folder: Path) -> None:
    result = Result("classify", "--text", "a cat", "--text", "zeppelins", "--index", folder / "index")
    cat, unknown = result.stdout.splitlines()
    assert cat.split()[1:] == ["pets", "1", "a", "cat"]
    assert unknown.split()[:3] == ["0.0%", "pets", "2"]
    assert "similar to nothing" in unknown


def test_classify_needs_labels_and_texts(tmp_path: Path, folder: Path) -> None:
    documents = write_documents(tmp_path, [{"id": 1, "text": "boat"}], "unlabelled.jsonl")
    Result("index", documents, "--index", tmp_path / "i", "--model", fit_model(tmp_path))
    unlabelled = Result("classify", "--text", "boat", "--index", tmp_path / "i")
    assert unlabelled.status == 1
    assert "'label'" in unlabelled.stderr
    assert Result("classify", "--index", folder / "index").status == 2


def test_explain(folder: Path) -> None:
    result = Result("explain", "boat", "--index", folder / "index", "--id", "b")
    assert "neighbour" in result.stdout
    assert "Two _ships_ at _sea_." in result.stdout
    found = Result("explain", "boat", "--index", folder / "index", "--id", "b", "--json").json
    expected = explain(Cptw.load(folder / "model"), "boat", DOCUMENTS[1]).to_dict()
    assert found == {"id": "b", "query": "boat", **expected}


def test_explain_a_text_with_a_model_or_an_index(folder: Path) -> None:
    for option, name in (("--model", "model"), ("--index", "index")):
        found = Result("explain", "boat", option, folder / name, "--text", "ships", "--json").json
        assert found["query_terms"][0]["matches"][0]["words"] == ["ships"]


def test_explain_draws(folder: Path, tmp_path: Path) -> None:
    result = Result("explain", "boat", "--index", folder / "index", "--id", "b", "--figure", tmp_path / "why.svg")
    assert result.status == 0, result.stderr
    assert "<svg" in (tmp_path / "why.svg").read_text()
    refused = Result("explain", "boat", "--index", folder / "index", "--id", "b", "--figure", tmp_path / "why.xyz")
    assert refused.status == 1
    assert "'.svg'" in refused.stderr


@pytest.mark.parametrize(
    ("args", "status"),
    [
        (("--index", "index", "--id", "nothing"), 1),
        (("--index", "index"), 2),
        (("--index", "index", "--id", "b", "--text", "boat"), 2),
        (("--model", "model", "--id", "b"), 2),
        (("--model", "model", "--index", "index", "--id", "b"), 2),
        (("--text", "boat"), 2),
    ],
)
def test_explain_needs_one_document_and_one_model(
    folder: Path, monkeypatch: pytest.MonkeyPatch, args: tuple[str, ...], status: int
) -> None:
    monkeypatch.chdir(folder)
    result = Result("explain", "boat", *args)
    assert (result.status, result.stdout) == (status, "")


@pytest.mark.parametrize(("option", "name"), [("--model", "model"), ("--index", "index")])
def test_neighbours(folder: Path, option: str, name: str) -> None:
    result = Result("neighbours", "boats", option, folder / name)
    assert [line.split() for line in result.stdout.splitlines()] == [
        ["term", "cosine"],
        ["ship", "0.800"],
        ["sea", "0.600"],
    ]
    found = Result("neighbours", "boats", option, folder / name, "-n", "1", "--json").json
    assert found == {"term": "boats", "neighbours": [{"term": "ship", "cosine": pytest.approx(0.8)}]}


def test_a_word_without_neighbours(folder: Path) -> None:
    result = Result("neighbours", "zeppelin", "--model", folder / "model")
    assert (result.status, result.stdout) == (0, "")
    assert "'zeppelin' has no neighbours" in result.stderr
    assert Result("neighbours", "the", "--model", folder / "model").status == 1
    assert Result("neighbours", "boat").status == 2


def test_vectors_list() -> None:
    shown = Result("vectors", "list").stdout
    lines = Result("vectors", "list", "--json").stdout.splitlines()
    assert [json.loads(line)["name"] for line in lines] == list(KNOWN_VECTORS)
    for source in KNOWN_VECTORS.values():
        assert source.name in shown
        assert f"{source.n_words:,}" in shown
        assert source.licence in shown


def test_vectors_fetch_prints_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def fetch(name: str, *, cache: Path | None) -> Path:
        assert cache is not None
        return cache / name

    monkeypatch.setattr("cptw_search.vector_sources.fetch_vectors", fetch)
    assert Result("vectors", "fetch", "googlenews", "--cache", tmp_path).stdout == f"{tmp_path / 'googlenews'}\n"
    monkeypatch.undo()
    refused = Result("vectors", "fetch", "googlenew")
    assert refused.status == 1
    assert "'googlenews'" in refused.stderr
