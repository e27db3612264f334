"""Our readers against gensim's, on the files that its wheel carries for its own tests."""

import importlib.util
import os
from pathlib import Path

import numpy as np
import pytest
from gensim.models import KeyedVectors

from cptw_search.embeddings import VectorWarning, load_vectors
from cptw_search.errors import VectorFileError

GENSIM = importlib.util.find_spec("gensim")
FOLDER = Path(GENSIM.origin).parent / "test" / "test_data"

TEXT = [
    "crime-and-punishment.vec",
    "lee_fasttext.vec",
    "toy-model.vec",
    "high_precision.kv.txt",
    "word2vec_pre_kv_c",
]
BINARY = ["high_precision.kv.bin", "euclidean_vectors.bin", "poincare_vectors.bin"]


def gensim_file(name):
    path = FOLDER / name
    if not path.is_file():
        pytest.skip(f"the installed gensim does not carry {name}")
    return path


def assert_same(ours, theirs):
    usable = [n for n, row in enumerate(theirs.vectors) if row.any()]
    assert list(ours.words) == [theirs.index_to_key[n] for n in usable]
    np.testing.assert_array_equal(ours.vectors, theirs.vectors[usable])


@pytest.mark.parametrize("name", TEXT)
def test_word2vec_text_and_fasttext_vec(name):
    path = gensim_file(name)
    theirs = KeyedVectors.load_word2vec_format(path)
    ours = load_vectors(path)
    assert ours.provenance["format"] == "word2vec-text"
    assert_same(ours, theirs)
    needed = theirs.index_to_key[::7]
    part = load_vectors(path, words=needed)
    assert list(part.words) == needed
    np.testing.assert_array_equal(part.vectors, theirs[needed])


@pytest.mark.parametrize("name", BINARY)
def test_word2vec_binary(name):
    path = gensim_file(name)
    ours = load_vectors(path)
    assert ours.provenance["format"] == "word2vec-binary"
    assert_same(ours, KeyedVectors.load_word2vec_format(path, binary=True))


# gensim leaves the file open after the pass in which it counts the lines
@pytest.mark.filterwarnings("ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning")
def test_glove():
    path = gensim_file("test_glove.txt")
    ours = load_vectors(path)
    assert ours.provenance["format"] == "glove"
    assert_same(ours, KeyedVectors.load_word2vec_format(path, no_header=True))


def test_words_that_are_not_utf8_are_left_out_where_gensim_replaces_them():
    path = gensim_file("pang_lee_polarity_fasttext.vec")
    theirs = KeyedVectors.load_word2vec_format(path, unicode_errors="replace")
    expected = [word for word in theirs.index_to_key if "\ufffd" not in word]
    with pytest.warns(VectorWarning, match="words that are not UTF-8"):
        ours = load_vectors(path)
    assert list(ours.words) == expected
    np.testing.assert_array_equal(ours.vectors, theirs[expected])


def test_a_file_without_any_word_in_utf8_is_an_error():
    path = gensim_file("w2v_keyedvectors_load_test.modeldata")
    with pytest.raises(VectorFileError, match="words that are not UTF-8: 2"):
        load_vectors(path)


def test_a_header_that_declares_more_words_is_told_where_gensim_gives_up():
    path = gensim_file("pretrained.vec")
    with pytest.raises(EOFError, match="unexpected end of input"):
        KeyedVectors.load_word2vec_format(path)
    with pytest.warns(VectorWarning, match="more or fewer than the header declares: 2"):
        assert load_vectors(path).words == ("dummy",)


@pytest.mark.parametrize("binary", [True, False])
def test_files_that_gensim_writes(tmp_path, binary):
    rng = np.random.default_rng(0)
    theirs = KeyedVectors(50)
    theirs.add_vectors([f"wörd{n}" for n in range(3000)], rng.standard_normal((3000, 50)).astype(np.float32))
    path = tmp_path / "vectors.gz"
    theirs.save_word2vec_format(str(path), binary=binary)
    assert_same(load_vectors(path), theirs)
    assert_same(load_vectors(theirs), theirs)


@pytest.mark.parametrize("name", ["glove6b-100d-100k.f16.npz", "googlenews-w2v-300d-31k.f16.npz"])
def test_real_vectors_in_half_precision(name):
    folder = os.environ.get("CPTW_DATA")
    if folder is None:
        pytest.skip("CPTW_DATA, the folder of the shared data, is not set")
    path = Path(folder) / "vectors" / name
    if not path.is_file():
        pytest.skip(f"{name} is not in CPTW_DATA")
    with np.load(path) as archive:
        words, vectors = archive["words"], archive["vectors"]
    ours = load_vectors(path)
    assert list(ours.words) == words.tolist()
    np.testing.assert_array_equal(ours.vectors, vectors.astype(np.float32))
    part = load_vectors(path, words=words[::100].tolist())
    np.testing.assert_array_equal(part.vectors, vectors[::100].astype(np.float32))
