"""The embedded engine beyond the contract: odd input, persistence, pruning."""

import json
import math
import os
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cptw_search import Cptw, CptwError, EmbeddedIndex, Pruning, WordVectors
from cptw_search.errors import (
    CorruptedError,
    FormatVersionError,
    InvalidInputError,
    ModelMismatchError,
    NotFittedError,
    StorageError,
)

VECTORS = WordVectors(["boat", "ship", "sea", "ocean"], [[10, 0], [8, 6], [7, 7], [6, 8]])
DOCUMENTS = [
    {"id": "a", "text": "a boat at sea", "n": 1, "label": "x"},
    {"id": "b", "text": "ships"},
    {"id": "c", "text": "oceans"},
]


@pytest.fixture
def model() -> Cptw:
    return Cptw(vectors=VECTORS, tau=0.7).fit(DOCUMENTS)


@pytest.fixture
def saved(model: Cptw, tmp_path: Path) -> Path:
    EmbeddedIndex.build(model, DOCUMENTS, path=tmp_path / "index", placement="both").close()
    return tmp_path / "index"


def change_manifest(path: Path, **changes: object) -> None:
    manifest = json.loads((path / "manifest.json").read_text())
    (path / "manifest.json").write_text(json.dumps({**manifest, **changes}))


def test_plain_texts_are_numbered(model: Cptw) -> None:
    index = EmbeddedIndex.build(model, ["a boat", "the sea"])
    index.add(["a ship"])
    assert [document["id"] for document in index.documents()] == ["0", "1", "2"]
    assert index.get(2) == {"id": "2", "text": "a ship"}


def test_plain_texts_keep_counting_after_a_save(model: Cptw, tmp_path: Path) -> None:
    EmbeddedIndex.build(model, ["a boat", "the sea"], path=tmp_path / "index").close()
    with EmbeddedIndex.open(tmp_path / "index") as index:
        index.add(["a ship"])
        assert index.get("2") == {"id": "2", "text": "a ship"}


def test_ids_that_are_numbers_become_their_digits(model: Cptw) -> None:
    index = EmbeddedIndex.build(model, [{"id": 7, "text": "boat"}])
    assert index.get("7") == index.get(7) == {"id": "7", "text": "boat"}
    assert index.delete([7]) == 1


@pytest.mark.parametrize(
    ("documents", "message"),
    [
        ([{"text": "no id"}], r"must have an 'id'. Got one with \['text'\] only"),
        ([{"id": None, "text": "x"}], "id must be a non-empty string or a whole number. Got None"),
        ([{"id": "", "text": "x"}], "Got ''"),
        ([{"id": 1.5, "text": "x"}], "Got 1.5"),
        ([{"id": True, "text": "x"}], "Got True"),
        ([{"id": "x\ud800", "text": "x"}], "must be valid Unicode"),
        ([{"id": "x" * 513, "text": "x"}], "must have at most 512 bytes. Got 513"),
        ([{"id": "x", "text": "1"}, {"id": "x", "text": "2"}], "Got two with the id 'x'"),
        ([{"id": "x", "text": 3}], "Field 'text' of document 0 must be a string. Got int"),
        ([{"id": "x", "text": "x", "price": math.nan}], "Document 'x' must hold nothing but strings, finite numbers"),
        ([{"id": "x", "text": "x", "price": math.inf}], "Document 'x' must hold"),
        ([{"id": "x", "text": "x", "day": date(2020, 1, 1)}], "Document 'x' must hold"),
        ([3], "A document must be a mapping of fields or a text. Got int"),
        ("one text", "must come as a list"),
        ({"id": "x"}, "must come as a list"),
    ],
)
def test_documents_that_cannot_be_indexed_leave_the_index_as_it_was(
    model: Cptw, documents: object, message: str
) -> None:
    index = EmbeddedIndex.build(model, DOCUMENTS)
    for change in (index.add, index.update):
        with pytest.raises(InvalidInputError, match=message):
            change(documents)  # type: ignore[arg-type]
    assert list(index.documents()) == DOCUMENTS


def test_documents_without_text_are_stored_and_filtered(model: Cptw) -> None:
    index = EmbeddedIndex.build(model, [*DOCUMENTS, {"id": "d", "n": 2}, {"id": "e", "text": None, "n": 3}])
    assert index.count() == 5
    assert index.count({"n": {"gte": 2}}) == 2
    assert index.get("e") == {"id": "e", "text": None, "n": 3}


def test_a_text_for_a_model_of_other_fields_is_refused() -> None:
    model = Cptw(vectors=None, field_weights={"body": 1}).fit([{"body": "boat"}])
    with pytest.raises(InvalidInputError, match=r"the model's fields are \['body'\]. Got a plain text"):
        EmbeddedIndex.build(model, ["boat"])
    assert EmbeddedIndex.build(model, [{"id": "a", "body": "boat"}]).search("boat", method="cptw")[0].id == "a"


def test_adding_an_id_that_is_there_is_refused_and_update_replaces_it(model: Cptw) -> None:
    index = EmbeddedIndex.build(model, DOCUMENTS)
    with pytest.raises(InvalidInputError, match="There is one with the id 'b' already: nothing was added. Use update"):
        index.add([{"id": "z", "text": "new"}, {"id": "b", "text": "boats"}])
    assert index.get("z") is None
    index.update([{"id": "z", "text": "new"}, {"id": "b", "text": "zebra"}])
    assert [hit.id for hit in index.search("zebra", method="cptw")] == ["b"]
    assert index.count() == 4


def test_an_id_may_come_back_after_its_deletion(model: Cptw) -> None:
    index = EmbeddedIndex.build(model, DOCUMENTS)
    assert index.delete(["b", "b", "nobody"]) == 1
    index.add([{"id": "b", "text": "again"}])
    assert index.get("b") == {"id": "b", "text": "again"}
    with pytest.raises(InvalidInputError, match="Got the single id 'b'"):
        index.delete("b")


def test_an_id_in_two_segments_of_one_load_is_found(model: Cptw, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("cptw_search.engine.BATCH_SIZE", 2)
    monkeypatch.setattr("cptw_search.engine.SEGMENT_SIZE", 2)
    documents = [{"id": str(i % 5), "text": "boat"} for i in range(6)]
    with pytest.raises(InvalidInputError, match="Got two with the id '0'"):
        EmbeddedIndex.build(model, documents)


def test_ids_with_equal_hashes_are_told_apart(model: Cptw, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("segment", "segment_builder"):
        monkeypatch.setattr(f"cptw_search.{module}.hash_id", lambda _doc_id: 7)
    index = EmbeddedIndex.build(model, DOCUMENTS)
    index.add([{"id": "d", "text": "boat"}])
    assert [index.get(doc_id)["id"] for doc_id in "abcd"] == list("abcd")  # type: ignore[index]
    assert index.get("e") is None
    with pytest.raises(InvalidInputError, match="'c' already"):
        index.add([{"id": "c", "text": "x"}])


def test_many_small_additions_are_merged(model: Cptw) -> None:
    index = EmbeddedIndex(model)
    for number in range(60):
        index.add([{"id": f"{number:02}", "text": "boat" if number % 2 else "sea new" + str(number)}])
    assert len(index._parts) <= 12
    assert index.count() == 60
    assert index.search("new44", method="cptw")[0].id == "44"
    index.delete(f"{number:02}" for number in range(0, 60, 2))
    index.merge()
    assert len(index._parts) == 1
    assert {hit.id for hit in index.search("boat", k=100, method="cptw")} == {
        f"{number:02}" for number in range(1, 60, 2)
    }


def test_a_generator_is_read_in_batches_and_written_in_segments(
    model: Cptw, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("cptw_search.engine.BATCH_SIZE", 10)
    monkeypatch.setattr("cptw_search.engine.SEGMENT_SIZE", 50)
    written_when: list[int] = []

    def documents() -> Iterator[dict[str, object]]:
        for number in range(250):
            written_when.append(len(list((tmp_path / "index").glob("*/counts_docs.npy"))))
            yield {"id": str(number), "text": f"boat {number}"}

    index = EmbeddedIndex.build(model, documents(), path=tmp_path / "index")
    assert index.count() == 250
    assert written_when[-1] == 4  # four of the five segments were on the disk before the last document was read
    assert EmbeddedIndex.open(tmp_path / "index").search("boat 249", k=1, method="cptw")[0].id == "249"


def test_an_index_keeps_its_model(model: Cptw) -> None:
    index = EmbeddedIndex.build(model, DOCUMENTS)
    before = [(hit.id, hit.score) for hit in index.search("ship", method="cptw")]
    model.set_params(vectors=None).fit(["another boat"])
    assert [(hit.id, hit.score) for hit in index.search("ship", method="cptw")] == before
    assert index.model.model_id != model.model_id


def test_only_a_fitted_model_makes_an_index() -> None:
    with pytest.raises(NotFittedError, match="must be fitted"):
        EmbeddedIndex(Cptw())


def test_wrong_options_are_refused(model: Cptw) -> None:
    with pytest.raises(InvalidInputError, match="placement must be one of 'both', 'query', 'document'. Got 'left'"):
        EmbeddedIndex(model, placement="left")
    with pytest.raises(InvalidInputError, match="document_pruning must be left out with placement 'query'"):
        EmbeddedIndex(model, document_pruning=Pruning(max_terms=3))
    for options in ({"min_share": 2}, {"min_share": math.nan}, {"max_terms": 0}, {"max_terms": 1.5}):
        with pytest.raises(InvalidInputError, match=f"{next(iter(options))} must be"):
            Pruning(**options)  # type: ignore[arg-type]


def test_pruning_shortens_documents_and_queries(model: Cptw) -> None:
    whole = EmbeddedIndex.build(model, DOCUMENTS, placement="both")
    short = EmbeddedIndex.build(model, DOCUMENTS, placement="both", document_pruning=Pruning(max_terms=1))
    assert len(short._parts[0].segment.expanded.docs) == 3 < len(whole._parts[0].segment.expanded.docs)  # type: ignore[union-attr]
    plain = EmbeddedIndex.build(model, DOCUMENTS, query_pruning=Pruning(max_terms=1))
    assert len(plain.search("ship", method="cptw")) < len(whole.search("ship", method="cptw"))


def test_saving_needs_a_path_once(model: Cptw, tmp_path: Path) -> None:
    index = EmbeddedIndex.build(model, DOCUMENTS)
    with pytest.raises(InvalidInputError, match="save needs a path"):
        index.save()
    index.save(tmp_path / "index")
    index.add([{"id": "d", "text": "boat"}])
    index.save()
    index.save(tmp_path / "copy")
    index.close()
    assert EmbeddedIndex.open(tmp_path / "index").count() == EmbeddedIndex.open(tmp_path / "copy").count() == 4


def test_closing_forgets_what_was_not_saved(saved: Path) -> None:
    index = EmbeddedIndex.open(saved)
    index.add([{"id": "d", "text": "boat"}])
    index.close()
    assert index.count() == 3


def test_a_directory_that_holds_something_is_not_overwritten(model: Cptw, saved: Path, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="must be empty for a new index. It holds one: open it and add to it"):
        EmbeddedIndex.build(model, DOCUMENTS, path=saved)
    with pytest.raises(StorageError, match="must be empty for a new index"):
        EmbeddedIndex.build(model, DOCUMENTS).save(saved)
    model.save(tmp_path / "model")
    with pytest.raises(StorageError, match="must be empty or hold a cptw-index. It holds a cptw-model"):
        EmbeddedIndex.build(model, DOCUMENTS, path=tmp_path / "model")
    with pytest.raises(StorageError, match="must be a cptw-index. Its manifest says 'cptw-model'"):
        EmbeddedIndex.open(tmp_path / "model")
    with pytest.raises(StorageError, match="There is no directory"):
        EmbeddedIndex.open(tmp_path / "nowhere")


def test_a_failed_build_can_be_tried_again(model: Cptw, tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="must have an 'id'"):
        EmbeddedIndex.build(model, [{"text": "x"}], path=tmp_path / "index")
    assert EmbeddedIndex.build(model, DOCUMENTS, path=tmp_path / "index").count() == 3


def test_another_model_is_refused_with_both_ids(model: Cptw, saved: Path) -> None:
    assert EmbeddedIndex.open(saved, model=model).count() == 3
    other = Cptw(vectors=None).fit(["zebra"])
    with pytest.raises(ModelMismatchError, match=f"{model.model_id}. Got {other.model_id}"):
        EmbeddedIndex.open(saved, model=other)


def test_a_swapped_model_is_found(model: Cptw, saved: Path) -> None:
    Cptw(vectors=None).fit(["zebra"]).save(saved / "model")
    with pytest.raises(CorruptedError, match=f"must hold the model {model.model_id}"):
        EmbeddedIndex.open(saved)


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"format_version": 9}, FormatVersionError, "a newer format, 9"),
        ({"segments": 3}, CorruptedError, "does not describe an index"),
        ({"segments": [{}]}, CorruptedError, "does not describe an index"),
        ({"settings": {}}, CorruptedError, "does not describe an index"),
        ({"generation": "x"}, CorruptedError, "does not describe an index"),
    ],
)
def test_a_manifest_that_makes_no_sense(
    saved: Path, changes: dict[str, object], error: type[Exception], message: str
) -> None:
    change_manifest(saved, **changes)
    with pytest.raises(error, match=message):
        EmbeddedIndex.open(saved)


def test_a_changed_file_is_found_by_verify(saved: Path) -> None:
    path = next(saved.glob("*/documents_blob.npy"))
    content = bytearray(path.read_bytes())
    content[-3] ^= 1
    path.write_bytes(content)
    assert EmbeddedIndex.open(saved).count() == 3
    with pytest.raises(CorruptedError, match="must have the SHA-256"):
        EmbeddedIndex.open(saved, verify=True)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=400)
@given(data=st.data())
def test_changed_bytes_anywhere_are_an_error_of_ours_or_harmless(saved: Path, data: st.DataObject) -> None:
    files = sorted(path for path in saved.rglob("*") if path.is_file() and path.stat().st_size)
    path = data.draw(st.sampled_from(files))
    original = path.read_bytes()
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(changed)
    message = "harmless"
    try:
        index = EmbeddedIndex.open(saved)
        with np.errstate(all="ignore"):
            for method in ("cptw", "bm25", "tfidf"):
                index.search("boats at sea", method=method)
            index.count({"n": 1})
        index.get("a")
        index.values("label")
        list(index.documents())
        index.merge()
        index.close()
    except CptwError as error:
        message = str(error)
    finally:
        path.write_bytes(original)
    assert message


def test_opening_maps_large_files_and_reads_nothing_else(model: Cptw, tmp_path: Path) -> None:
    big = [{"id": str(i), "text": "boat sea " * 50} for i in range(3_000)]
    EmbeddedIndex.build(model, big, path=tmp_path / "index").close()
    index = EmbeddedIndex.open(tmp_path / "index")
    blob = index._parts[0].segment.documents.blob
    while blob is not None and not isinstance(blob, np.memmap):
        blob = blob.base
    assert isinstance(blob, np.memmap)


def test_repr_tells_size_and_place(model: Cptw, saved: Path) -> None:
    assert repr(EmbeddedIndex.build(model, DOCUMENTS)) == "EmbeddedIndex(3 documents, placement='query', in memory)"
    assert repr(EmbeddedIndex.open(saved)) == f"EmbeddedIndex(3 documents, placement='both', {os.path.realpath(saved)})"


def test_fields_of_many_hits_can_be_left_out() -> None:
    documents = [{"id": "a", "title": "Boats", "text": "a boat", "year": 1999}, {"id": "b", "text": "two boats"}]
    index = EmbeddedIndex.build(Cptw(vectors=None).fit(documents), documents)
    whole = index.search_many(["boat"], method="cptw")[0]
    for fields in ([], ["title"], ["title", "year", "nothing"]):
        (found,) = index.search_many(["boat"], fields=fields, method="cptw")
        assert [(hit.id, hit.score) for hit in found] == [(hit.id, hit.score) for hit in whole]
        for hit, full in zip(found, whole, strict=True):
            assert hit.fields == {name: value for name, value in full.fields.items() if name in fields}
    with pytest.raises(InvalidInputError, match="fields must come as a list. Got the single name 'title'"):
        index.search_many(["boat"], fields="title", method="cptw")
