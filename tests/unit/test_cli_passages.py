"""What is shown of a document, and sources that can be read only once."""

import os
import threading
from pathlib import Path

from command_line import VECTORS, Result, build_index, fit_model, write_documents

from cptw_search import Cptw
from cptw_search.cli.passages import find_passage, first_words
from cptw_search.cli.reading import DocumentReader
from cptw_search.explain import explain


def test_a_text_without_title_is_headed_by_its_first_words(tmp_path: Path) -> None:
    index = build_index(tmp_path)
    text = "It was\ta dark\n\nand stormy night. " + "Nothing happened for hours. " * 20 + "Then the boat went down."
    Result("index", write_documents(tmp_path, [{"id": "long", "text": text}], "long.jsonl"), "--index", index)
    heading, part, *_ = Result("search", "boat", "--index", index, "--filter", "id=long").stdout.splitlines()
    assert heading.endswith("long  It was a dark and stormy night. Nothing happened for hours.…")
    assert part.startswith("    …")
    assert part.endswith("Then the **boat** went down.")


def test_the_field_with_the_largest_share_is_shown(tmp_path: Path) -> None:
    (tmp_path / "vectors.txt").write_text(VECTORS)
    weights = {"title": 1.0, "body": 1.0, "summary": 1.0}
    model = Cptw(vectors=tmp_path / "vectors.txt", field_weights=weights).fit([{"body": "a boat and a cat"}])
    document: dict[str, object] = {"body": "a cat", "summary": "a boat", "title": "  "}
    passage = find_passage(model, explain(model, "boat", document), document)
    assert (passage.heading, str(passage.part)) == ("", "a **boat**")
    nothing = find_passage(model, explain(model, "boat", {"body": ""}), {"body": None})
    assert nothing == ("", None)


def test_first_words() -> None:
    assert first_words("one two three", 20) == "one two three"
    assert first_words("one two three", 9) == "one two…"
    assert first_words("x" * 100, 9) == "x" * 8 + "…"


def test_a_pipe_can_be_read_only_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.jsonl")
    refused = Result("index", tmp_path / "pipe.jsonl", "--index", tmp_path / "i")
    assert refused.status == 2
    assert "can be read only once" in " ".join(refused.stderr.split())

    model, documents = fit_model(tmp_path), write_documents(tmp_path)
    writer = threading.Thread(target=lambda: (tmp_path / "pipe.jsonl").write_bytes(documents.read_bytes()))
    writer.start()
    accepted = Result("index", tmp_path / "pipe.jsonl", "--index", tmp_path / "i", "--model", model, "--json")
    writer.join()
    assert accepted.json["n_docs"] == 4


def test_files_and_folders_can_be_read_again(tmp_path: Path) -> None:
    assert DocumentReader([str(write_documents(tmp_path)), str(tmp_path)]).once_only() is None
    assert DocumentReader(["-"]).once_only() == "standard input"


def test_an_interrupted_fit_keeps_the_model_that_was_there(tmp_path: Path) -> None:
    model = fit_model(tmp_path)
    before = Cptw.load(model).model_id
    (tmp_path / "bad.jsonl").write_text("{broken\n")
    assert Result("fit", tmp_path / "bad.jsonl", "--model", model, "--strict").status == 1
    assert Cptw.load(model).model_id == before
