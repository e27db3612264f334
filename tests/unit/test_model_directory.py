import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from strategies import Case, cases

from cptw_search import Cptw, CptwError, WordVectors
from cptw_search.errors import CorruptedError, FormatVersionError, InvalidInputError, NotFittedError, StorageError

VECTORS = WordVectors(["boat", "ship", "sea", "cat"], [[1, 0], [4, 3], [1, 1], [-1, 1]])
DOCUMENTS = ["The boats sail", "a ship at sea", "cats, naïve cats 日本"]


@pytest.fixture
def model() -> Cptw:
    return Cptw(vectors=VECTORS, tau=0.7, weighting="idf-weighted").fit(DOCUMENTS)


@pytest.fixture
def saved(model: Cptw, tmp_path: Path) -> Path:
    model.save(tmp_path / "model")
    return tmp_path / "model"


def manifest(directory: Path) -> dict[str, object]:
    return json.loads((directory / "manifest.json").read_text())


def change_manifest(directory: Path, **changes: object) -> None:
    (directory / "manifest.json").write_text(json.dumps({**manifest(directory), **changes}))


def data_file(directory: Path, name: str) -> Path:
    return next(directory.glob(f"*/{name}"))


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=40)
@given(case=cases())
def test_save_and_load_round_trip_bit_for_bit(case: Case, tmp_path: Path) -> None:
    model = case.model().fit(case.documents)
    model.save(tmp_path / "model")
    again = Cptw.load(tmp_path / "model", verify=True)
    again.verify()
    assert again.model_id == model.model_id
    for side in ("document", "query"):
        one, two = (m.represent([*case.documents, "new w0"], side=side) for m in (model, again))
        assert one.unknown == two.unknown
        assert one.matrix.indptr.tobytes() == two.matrix.indptr.tobytes()
        assert one.matrix.indices.tobytes() == two.matrix.indices.tobytes()
        assert one.matrix.data.tobytes() == two.matrix.data.tobytes()


def test_a_directory_holds_a_manifest_and_plain_files(saved: Path) -> None:
    facts = manifest(saved)
    assert facts["kind"] == "cptw-model"
    assert facts["parameters"]["tau"] == 0.7
    assert facts["analyzer"]["name"] == "english"
    assert facts["vector_sources"][0]["n_terms_with_vector"] == 4
    names = {path.name for path in saved.glob("*/*")}
    assert names == set(facts["files"])
    assert data_file(saved, "vocabulary.txt").read_text().split("\n")[:2] == ["boat", "cat"]
    for path in saved.glob("*/*.npy"):
        np.load(path, allow_pickle=False)


def test_large_arrays_are_memory_mapped(tmp_path: Path) -> None:
    words = [f"w{number}" for number in range(20_000)]
    Cptw(vectors=None, analyzer="whitespace").fit([" ".join(words)]).save(tmp_path / "model")
    data = Cptw.load(tmp_path / "model").similarity_.data
    while data is not None and not isinstance(data, np.memmap):
        data = data.base
    assert isinstance(data, np.memmap)


def test_saving_again_replaces_the_model_and_leaves_nothing_behind(saved: Path) -> None:
    loaded = Cptw.load(saved)
    other = Cptw(vectors=VECTORS, tau=0.9).fit(["a ship"])
    other.save(saved)
    assert Cptw.load(saved).model_id == other.model_id
    assert len(list(saved.iterdir())) == 2
    assert loaded.transform(["a boat"]).nnz > 0  # whoever had the old one open keeps it


def test_a_loaded_model_can_be_saved_again(saved: Path, tmp_path: Path) -> None:
    loaded = Cptw.load(saved)
    loaded.save(saved)
    loaded.save(tmp_path / "copy")
    assert Cptw.load(saved).model_id == Cptw.load(tmp_path / "copy").model_id == loaded.model_id


def test_a_loaded_model_says_that_it_has_no_vectors_to_fit_with(saved: Path) -> None:
    with pytest.raises(InvalidInputError, match="a saved model does not hold the vectors"):
        Cptw.load(saved).fit(DOCUMENTS)


def test_a_loaded_model_of_its_own_vectors_can_be_fitted_anew(tmp_path: Path) -> None:
    model = Cptw(vectors="lsi", tau=0.3).fit(DOCUMENTS)
    model.save(tmp_path / "model")
    assert Cptw.load(tmp_path / "model").fit(DOCUMENTS).model_id == model.model_id
    Cptw(vectors=None).fit(DOCUMENTS).save(tmp_path / "plain")
    assert Cptw.load(tmp_path / "plain").vectors is None


def test_partial_fit_of_a_loaded_model(saved: Path) -> None:
    assert Cptw.load(saved).partial_fit(["boat"]).n_docs_ == 4


def test_a_model_with_a_function_of_ones_own_is_not_saved(tmp_path: Path) -> None:
    with pytest.raises(InvalidInputError, match="cannot be saved: a model directory holds no code"):
        Cptw(vectors=None, analyzer=str.split).fit(DOCUMENTS).save(tmp_path / "model")
    assert not (tmp_path / "model").exists()


def test_only_a_fitted_model_is_saved(tmp_path: Path) -> None:
    with pytest.raises(NotFittedError, match="call fit"):
        Cptw().save(tmp_path / "model")


def test_a_missing_directory(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="There is no directory '.*nowhere'"):
        Cptw.load(tmp_path / "nowhere")


def test_a_foreign_directory_is_neither_read_nor_overwritten(model: Cptw, tmp_path: Path) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"...")
    with pytest.raises(StorageError, match="must hold a file manifest.json to be a cptw-model"):
        Cptw.load(tmp_path)
    with pytest.raises(StorageError, match=r"must be empty or hold a cptw-model. It holds \['holiday.jpg'\]"):
        model.save(tmp_path)
    (tmp_path / "manifest.json").write_text('{"kind": "web-app"}')
    with pytest.raises(StorageError, match="must be a cptw-model. Its manifest says 'web-app'"):
        Cptw.load(tmp_path)
    with pytest.raises(StorageError, match="It holds a web-app: choose another one"):
        model.save(tmp_path)
    (tmp_path / "manifest.json").write_text("[]")
    with pytest.raises(StorageError, match="Its manifest.json is something else or damaged"):
        model.save(tmp_path)


def test_a_file_in_place_of_a_directory(model: Cptw, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("x")
    with pytest.raises(StorageError, match="Cannot write '.*file': (File exists|Not a directory)"):
        model.save(tmp_path / "file")


@pytest.mark.parametrize(("version", "words"), [(99, "a newer format, 99"), (0, "another format, 0"), ("x", "'x'")])
def test_other_formats_are_refused_with_their_version(saved: Path, version: object, words: str) -> None:
    change_manifest(saved, format_version=version)
    with pytest.raises(FormatVersionError, match=f"{words}; this version of cptw-search reads format 1"):
        Cptw.load(saved)


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"kind": 3}', "[" * 100_000])
def test_a_damaged_manifest(saved: Path, text: str) -> None:
    (saved / "manifest.json").write_text(text)
    with pytest.raises(CorruptedError, match="manifest.json"):
        Cptw.load(saved)


def test_a_manifest_of_absurd_size_is_not_read(saved: Path) -> None:
    os.truncate(saved / "manifest.json", 2**30)
    with pytest.raises(CorruptedError, match="must be at most"):
        Cptw.load(saved)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"folder": "../../etc"}, "must name a folder"),
        ({"folder": 3}, "must name a folder"),
        ({"files": None}, "must name a folder"),
        ({"files": {"../x": {}}}, "names a file that cannot be"),
        ({"files": {"x.npy": 3}}, "names a file that cannot be"),
        ({"files": {"x.npy": {"size": 3}}}, "cannot be read"),
        ({"files": {}}, "must name a file 'vocabulary.txt'"),
        ({"n_docs": 0}, "n_docs must be a whole number >= 1"),
        ({"average_length": -1.0}, "average_length must be a number >= 0"),
        ({"analyzer": {}}, "does not describe a model"),
        ({"parameters": {"colour": 3}}, "does not describe a model"),
        ({"parameters": {"tau": -3}}, "does not describe a model"),
        ({"parameters": None}, "does not describe a model"),
        ({"vector_sources": 3}, "does not describe a model"),
    ],
)
def test_a_manifest_that_makes_no_sense(saved: Path, changes: dict[str, object], message: str) -> None:
    change_manifest(saved, **changes)
    with pytest.raises(CorruptedError, match=message):
        Cptw.load(saved)


def test_a_missing_or_truncated_file(saved: Path) -> None:
    path = data_file(saved, "similarity_data.npy")
    os.truncate(path, path.stat().st_size - 1)
    with pytest.raises(CorruptedError, match="must have .* bytes, as the manifest says"):
        Cptw.load(saved)
    path.unlink()
    with pytest.raises(CorruptedError, match="similarity_data.npy', which the manifest names, cannot be read"):
        Cptw.load(saved)


def test_a_changed_byte_is_found_by_verify(saved: Path) -> None:
    path = data_file(saved, "df.npy")
    content = bytearray(path.read_bytes())
    content[-8] ^= 2  # one document more or less
    path.write_bytes(content)
    with pytest.raises(CorruptedError, match="must have the SHA-256"):
        Cptw.load(saved, verify=True)
    loaded = Cptw.load(saved)  # sizes and structure are right
    with pytest.raises(CorruptedError, match="It claims .*: it was changed after it was written"):
        loaded.verify()


def test_arrays_of_the_wrong_kind_are_refused(saved: Path) -> None:
    path = data_file(saved, "df.npy")
    np.save(path, np.zeros(5))
    facts = manifest(saved)
    facts["files"]["df.npy"]["size"] = path.stat().st_size
    change_manifest(saved, **facts)
    with pytest.raises(CorruptedError, match="must hold int64 with 1 axes. It holds float64"):
        Cptw.load(saved)


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow], max_examples=300)
@given(data=st.data())
def test_changed_bytes_anywhere_are_an_error_of_ours_or_harmless(saved: Path, data: st.DataObject) -> None:
    files = sorted(path for path in saved.rglob("*") if path.is_file())
    path = data.draw(st.sampled_from(files))
    original = path.read_bytes()
    changed = bytearray(original)
    for _ in range(data.draw(st.integers(1, 4))):
        changed[data.draw(st.integers(0, len(changed) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(changed)
    message = "harmless"
    try:
        with np.errstate(all="ignore"):
            Cptw.load(saved).transform(["a boat at sea", "new words"])
    except CptwError as error:
        message = str(error)
    finally:
        path.write_bytes(original)
    assert message


def test_an_interrupted_save_leaves_the_old_model_whole(saved: Path, model: Cptw) -> None:
    """A child saves other models over and over and is killed at random moments."""
    program = textwrap.dedent(
        f"""
        from cptw_search import Cptw
        models = [Cptw(vectors=None).fit([f"boat w{{n}} " * 50]) for n in range(2)]
        print("\\n".join(model.model_id for model in models), flush=True)
        while True:
            for model in models:
                model.save({str(saved)!r})
        """
    )
    allowed = {model.model_id}
    random = np.random.default_rng(0)
    for _ in range(15):
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            allowed |= {child.stdout.readline().strip(), child.stdout.readline().strip()}
            try:
                child.wait(timeout=random.uniform(0.0, 0.1))
            except subprocess.TimeoutExpired:
                child.send_signal(signal.SIGKILL)
        assert Cptw.load(saved, verify=True).model_id in allowed
    model.save(saved)
    assert len(list(saved.iterdir())) == 2  # and the next save clears what the killed ones left


def test_a_full_disk_leaves_the_old_model_whole(saved: Path, model: Cptw, monkeypatch: pytest.MonkeyPatch) -> None:
    import cptw_search.storage as storage

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(storage.os, "fsync", full)
    with pytest.raises(StorageError, match="Cannot write '.*model': No space left on device"):
        Cptw(vectors=None).fit(["boat"]).save(saved)
    monkeypatch.undo()
    assert Cptw.load(saved, verify=True).model_id == model.model_id
    assert len(list(saved.iterdir())) == 2


def test_a_manifest_that_cannot_be_written_leaves_the_old_one(
    saved: Path, model: Cptw, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(self: Path, target: Path) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(Path, "replace", refuse)
    with pytest.raises(StorageError, match="Input/output error"):
        Cptw(vectors=None).fit(["boat"]).save(saved)
    monkeypatch.undo()
    assert Cptw.load(saved).model_id == model.model_id


def test_a_directory_may_be_copied_and_moved(saved: Path, model: Cptw, tmp_path: Path) -> None:
    shutil.copytree(saved, tmp_path / "elsewhere")
    assert Cptw.load(tmp_path / "elsewhere", verify=True).model_id == model.model_id
