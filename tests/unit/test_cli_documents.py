"""`fit`, `index`, `delete` and `info`: what is written, and what is said about it."""

import gzip
import json
from pathlib import Path

import pytest
from command_line import DOCUMENTS, Result, build_index, fit_model, write_documents

from cptw_search import Cptw, EmbeddedIndex, model_for


def test_fit_saves_the_model_that_the_library_makes(tmp_path: Path) -> None:
    result = Result(
        "fit", write_documents(tmp_path), "--model", tmp_path / "m", "--vectors", "none", "--tau", "0.7", "--weighting",
        "idf-weighted", "--normalization", "sum", "--analyzer", "unicode", "--min-df", "1", "--max-neighbours", "3",
        "--n-dimensions", "5", "--k1", "1", "--b", "0.5", "--field-weight", "title=2", "--field-weight", "text=1",
    )  # fmt: skip
    assert result.status == 0, result.stderr
    expected = Cptw(
        vectors=None, tau=0.7, weighting="idf-weighted", normalization="sum", analyzer="unicode", max_neighbours=3,
        n_dimensions=5, k1=1.0, b=0.5, field_weights={"title": 2, "text": 1},
    ).fit(DOCUMENTS)  # fmt: skip
    assert Cptw.load(tmp_path / "m").model_id == expected.model_id


def test_fit_says_what_it_learned(tmp_path: Path) -> None:
    model = Cptw.load(fit_model(tmp_path))
    result = Result("info", tmp_path / "model")
    lines = dict(line.split(maxsplit=1) for line in result.stdout.splitlines())
    assert lines["documents"].startswith("4,")
    assert lines["terms"] == str(len(model.vocabulary_))
    assert lines["vectors"] == f"vectors.txt, 2 dimensions, for 5 of {len(model.vocabulary_)} terms"
    assert lines["id"] == model.model_id
    assert result.stderr == ""


def test_fit_and_info_give_the_same_json(tmp_path: Path) -> None:
    fitted = Result("fit", write_documents(tmp_path), "--model", tmp_path / "m", "--vectors", "none", "--json").json
    assert fitted == Result("info", tmp_path / "m", "--json").json
    assert fitted["kind"] == "model"
    assert fitted["n_docs"] == 4
    assert fitted["neighbours_per_term"] == 0
    assert fitted["parameters"]["field_weights"] == {"title": 1, "text": 1}


def test_several_vectors_are_combined(tmp_path: Path) -> None:
    fit_model(tmp_path)
    sources = ("--vectors", tmp_path / "vectors.txt", "--vectors", "lsi", "--n-dimensions", "2")
    result = Result("fit", tmp_path / "documents.jsonl", "--model", tmp_path / "m", *sources, "--json")
    assert [source["source"] for source in result.json["vector_sources"]] == ["vectors.txt", "lsi"]


def test_known_vectors_are_fetched(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fit_model(tmp_path)
    asked = []

    def fetch(name: str) -> Path:
        asked.append(name)
        return tmp_path / "vectors.txt"

    monkeypatch.setattr("cptw_search.vector_sources.fetch_vectors", fetch)
    result = Result("fit", tmp_path / "documents.jsonl", "--model", tmp_path / "m", "--vectors", "googlenews")
    assert result.status == 0
    assert asked == ["googlenews"]
    assert "googlenews" in result.stderr


@pytest.mark.parametrize(
    ("options", "status", "reason"),
    [
        (["--vectors", "no-such-file"], 1, "must be a file or one of lsi, word2vec"),
        (["--vectors", "none", "--vectors", "lsi"], 1, "none must stand alone"),
        (["--tau", "x"], 1, "tau must be a number >= 0"),
        (["--weighting", "x"], 2, "'idf-weighted'"),
        (["--field-weight", "title"], 2, "'title' must be two names with = between them"),
        (["--field-weight", "title=x"], 2, "must end with a number"),
        (["--analyzer", "klingon"], 1, "analyzer must be one of 'english'"),
    ],
)
def test_settings_that_cannot_be_used(tmp_path: Path, options: list[str], status: int, reason: str) -> None:
    result = Result("fit", write_documents(tmp_path), "--model", tmp_path / "m", *options)
    assert result.status == status
    assert reason in " ".join(result.stderr.split())
    assert result.stdout == ""
    assert not (tmp_path / "m").exists()


def test_fit_refuses_a_folder_with_other_files_before_it_reads(tmp_path: Path) -> None:
    documents = write_documents(tmp_path)
    result = Result("fit", documents, "no-such-file", "--model", tmp_path)
    assert result.status == 1
    assert "must be empty or hold a cptw-model" in result.stderr


def test_index_without_a_model_fits_the_default_one(tmp_path: Path) -> None:
    documents = write_documents(tmp_path, [{"id": n, "text": f"boat ship sea cat dog {n}"} for n in "abcd"])
    result = Result("index", documents, "--index", tmp_path / "i", "--json")
    assert result.status == 0, result.stderr
    index = EmbeddedIndex.open(tmp_path / "i")
    assert result.json["n_docs"] == index.count() == 4
    assert result.json["model_id"] == index.model.model_id == model_for("search").fit(index.documents()).model_id
    assert "default settings" in result.stderr


def test_standard_input_can_be_read_only_once(tmp_path: Path) -> None:
    lines = "".join(json.dumps(document) + "\n" for document in DOCUMENTS)
    refused = Result("index", "-", "--index", tmp_path / "i", stdin=lines)
    assert refused.status == 2
    assert "standard input can be read only once" in " ".join(refused.stderr.split())
    assert not (tmp_path / "i").exists()
    accepted = Result("index", "-", "--index", tmp_path / "i", "--model", fit_model(tmp_path), stdin=lines)
    assert accepted.status == 0
    assert EmbeddedIndex.open(tmp_path / "i").count() == 4


def test_gzip_and_lines_on_standard_input(tmp_path: Path) -> None:
    packed = gzip.compress(b"a boat\na ship\n")
    result = Result("index", "-", "--index", tmp_path / "i", "--model", fit_model(tmp_path), stdin=packed)
    assert result.status == 0
    assert EmbeddedIndex.open(tmp_path / "i").get("2") == {"id": "2", "text": "a ship"}


def test_adding_and_replacing(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    more = write_documents(tmp_path, [{"id": "b", "text": "a new ship"}, {"id": "e", "text": "sea"}], "more.jsonl")
    refused = Result("index", more, "--index", index)
    assert refused.status == 1
    assert "'b'" in refused.stderr
    assert EmbeddedIndex.open(index).count() == 4
    assert Result("index", more, "--index", index, "--update", "--json").json["n_docs"] == 5
    assert EmbeddedIndex.open(index).get("b") == {"id": "b", "text": "a new ship"}


def test_an_index_keeps_its_settings_and_its_model(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    more = write_documents(tmp_path, [{"id": "e", "text": "sea"}], "more.jsonl")
    assert "there is one already" in Result("index", more, "--index", index, "--placement", "both").stderr
    Result("fit", more, "--model", tmp_path / "other", "--vectors", "none")
    mismatch = Result("index", more, "--index", index, "--model", tmp_path / "other")
    assert mismatch.status == 1
    assert "must be searched with the model" in mismatch.stderr


def test_settings_of_a_new_index(tmp_path: Path) -> None:
    settings = ("--placement", "document", "--document-max-terms", "7", "--query-max-terms", "9")
    Result("index", write_documents(tmp_path), "--index", tmp_path / "i", "--model", fit_model(tmp_path), *settings)
    facts = Result("info", tmp_path / "i", "--json").json
    assert facts["placement"] == "document"
    assert facts["document_pruning"]["max_terms"] == 7
    assert facts["query_pruning"]["max_terms"] == 9
    assert "document: max_terms=7; query: max_terms=9" in Result("info", tmp_path / "i").stdout


def test_files_without_ids_can_be_told_apart(tmp_path: Path) -> None:
    for name in ("one.txt", "two.txt"):
        (tmp_path / name).write_text("a boat\n")
    sources = (tmp_path / "one.txt", tmp_path / "two.txt", "--index", tmp_path / "i", "--model", fit_model(tmp_path))
    refused = Result("index", *sources)
    assert refused.status == 1
    assert "two with the id '1'" in refused.stderr
    assert Result("index", *sources, "--prefix-ids").status == 0
    assert [document["id"] for document in EmbeddedIndex.open(tmp_path / "i").documents()] == ["one.txt:1", "two.txt:1"]


def test_columns_and_renamed_fields(tmp_path: Path) -> None:
    (tmp_path / "table.tsv").write_text("x1\tsport\ta boat\n")
    named = ("--columns", "id,topic,body", "--rename", "body=text", "--rename", "topic=label")
    Result("index", tmp_path / "table.tsv", "--index", tmp_path / "i", "--model", fit_model(tmp_path), *named)
    assert EmbeddedIndex.open(tmp_path / "i").get("x1") == {"id": "x1", "label": "sport", "text": "a boat"}


def test_bad_lines_are_left_out_reported_and_counted(tmp_path: Path) -> None:
    lines = [json.dumps(document) for document in DOCUMENTS] + ["{broken"] * 12
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    result = Result("fit", tmp_path / "bad.jsonl", "--model", tmp_path / "m", "--vectors", "none", "--json")
    assert result.status == 0
    assert result.json["n_docs"] == 4
    messages = result.stderr.splitlines()
    assert messages[0].startswith(f"{tmp_path / 'bad.jsonl'}:5: ")
    assert len(messages) == 12
    assert messages[-2:] == ["... and 2 more", "cptw: 4 documents read, 12 left out"]


def test_bad_lines_are_reported_once_though_files_are_read_twice(tmp_path: Path) -> None:
    lines = [json.dumps({"id": n, "text": f"boat ship sea {n}"}) for n in "abcd"] + ["{broken"]
    (tmp_path / "bad.jsonl").write_text("\n".join(lines))
    result = Result("index", tmp_path / "bad.jsonl", "--index", tmp_path / "i")
    assert result.status == 0
    assert result.stderr.count("bad.jsonl:5: ") == 1


def test_strict_stops_at_the_first_bad_line(tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text('{"text": "a boat"}\n{"text": 7}\n')
    result = Result("fit", tmp_path / "bad.jsonl", "--model", tmp_path / "m", "--strict")
    assert result.status == 1
    assert "bad.jsonl:2: text must be a string" in result.stderr
    assert not (tmp_path / "m").exists()


def test_delete(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    result = Result("delete", "a", "nothing", "--index", index)
    assert result.status == 0
    assert result.stderr.splitlines() == ["cptw: 1 id not in the index", "cptw: 1 document deleted, 3 left"]
    Result("delete", "--ids", "-", "--index", index, stdin="b\nc\n")
    assert [document["id"] for document in EmbeddedIndex.open(index).documents()] == ["d"]
    assert Result("delete", "--index", index).status == 2


def test_info_of_an_index(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    Result("delete", "a", "--index", index)
    facts = Result("info", index, "--json").json
    assert facts["kind"] == "index"
    assert (facts["n_docs"], facts["n_deleted"]) == (3, 1) or (facts["n_docs"], facts["n_deleted"]) == (3, 0)
    assert facts["filter_fields"] == ["id", "label", "year"]
    assert facts["text_fields"] == ["text", "title"]
    assert facts["model"]["model_id"] == Cptw.load(tmp_path / "model").model_id
    assert "id, label, year" in Result("info", index).stdout


@pytest.mark.parametrize("kind", ["model", "index"])
def test_verify_finds_a_changed_byte(tmp_path: Path, kind: str) -> None:
    build_index(tmp_path)
    whole = Result("info", tmp_path / kind, "--verify", "--json")
    assert (whole.status, whole.json["verified"]) == (0, True)
    file = sorted((tmp_path / kind).rglob("*.npy"))[0]
    file.write_bytes(file.read_bytes()[:-1] + bytes([file.read_bytes()[-1] ^ 1]))
    changed = Result("info", tmp_path / kind, "--verify")
    assert changed.status == 1
    assert changed.stderr.startswith("cptw: ")
    assert changed.stdout == ""


def test_info_of_something_else(tmp_path: Path) -> None:
    assert Result("info", tmp_path / "nothing").status == 1
    (tmp_path / "manifest.json").write_text("[" * 100_000)
    result = Result("info", tmp_path)
    assert result.status == 1
    assert len(result.stderr.splitlines()) == 1
