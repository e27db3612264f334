"""Whatever a file holds: vectors or a VectorFileError, no other exception, no endless loop."""

import gzip
import io
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cptw_search.embeddings import VectorWarning, WordVectors, load_vectors
from cptw_search.errors import VectorFileError

FORMATS = ["word2vec-text", "word2vec-binary", "glove", "fasttext", "npz", "keyedvectors", "auto"]
SEED_WORDS = ["the", "Boat", "new york", "été"]
SEED_VECTORS = np.array([[1, 2, 3], [0.5, -1, 0], [1e-3, 4, 2], [-1, 0, 1]], dtype=np.float32)


def as_text(words, vectors, *, header):
    head = f"{len(words)} {vectors.shape[1]}\n" if header else ""
    rows = (
        "".join([word, *(f" {value!r}" for value in row.tolist())]) for word, row in zip(words, vectors, strict=True)
    )
    return (head + "\n".join(rows) + "\n").encode()


def as_binary(words, vectors):
    rows = (w.replace(" ", "_").encode() + b" " + v.tobytes() for w, v in zip(words, vectors, strict=True))
    return f"{len(words)} {vectors.shape[1]}\n".encode() + b"".join(rows)


def as_npz(words, vectors, save=np.savez):
    buffer = io.BytesIO()
    save(buffer, words=np.array(words), vectors=vectors)
    return buffer.getvalue()


SEEDS = [
    as_text(SEED_WORDS, SEED_VECTORS, header=True),
    as_text(SEED_WORDS, SEED_VECTORS, header=False),
    as_binary(SEED_WORDS, SEED_VECTORS),
    as_npz(SEED_WORDS, SEED_VECTORS),
    as_npz(SEED_WORDS, SEED_VECTORS.astype(np.float16), np.savez_compressed),
    gzip.compress(as_text(SEED_WORDS, SEED_VECTORS, header=True), mtime=0),
    gzip.compress(as_binary(SEED_WORDS, SEED_VECTORS), mtime=0),
]


@st.composite
def mutated_files(draw):
    """Draw a valid file with some bytes replaced, removed, repeated or put in."""
    data = bytearray(draw(st.sampled_from(SEEDS)))
    for _ in range(draw(st.integers(0, 4))):
        at = draw(st.integers(0, len(data)))
        n = draw(st.integers(0, 12))
        piece = draw(st.binary(max_size=12) | st.just(bytes(data[at : at + n])) | st.sampled_from([b"9", b" ", b"\n"]))
        data[at : at + draw(st.sampled_from([0, 1, len(piece), n, len(data)]))] = piece
    return bytes(data)


def load(data, **options):
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", VectorWarning)
        path = Path(folder) / "vectors.dat"
        path.write_bytes(data)
        return load_vectors(path, **options)


def check(data, **options):
    try:
        loaded = load(data, **options)
    except VectorFileError:
        return
    assert isinstance(loaded, WordVectors)
    assert len(loaded) > 0
    assert np.isfinite(loaded.vectors).all()
    assert loaded.vectors.any(axis=1).all()


needed_words = st.none() | st.lists(st.sampled_from([*SEED_WORDS, "BOAT", "x"]), min_size=1)


@given(data=st.binary(max_size=300), file_format=st.sampled_from(FORMATS), words=needed_words)
@settings(max_examples=300, deadline=None)
def test_arbitrary_bytes(data, file_format, words):
    check(data, format=file_format, words=words)


@given(data=mutated_files(), file_format=st.sampled_from(["auto", *FORMATS]), words=needed_words)
@settings(max_examples=600, deadline=None)
def test_damaged_files(data, file_format, words):
    check(data, format=file_format, words=words)


@pytest.mark.parametrize("seed", SEEDS)
def test_every_beginning_of_a_file(seed):
    for end in range(len(seed)):
        check(seed[:end])


# words that a text file can hold, and that are neither a header nor numbers
words = st.text(st.characters(codec="utf-8", exclude_categories=["Cc", "Zs", "Zl", "Zp"]), min_size=1, max_size=8)
tables = st.lists(words, min_size=1, max_size=6, unique=True).flatmap(
    lambda names: st.tuples(
        st.just(names),
        st.lists(
            st.lists(st.floats(width=32, allow_nan=False, allow_infinity=False), min_size=2, max_size=2).filter(any),
            min_size=len(names),
            max_size=len(names),
        ),
    )
)


@given(table=tables, file_format=st.sampled_from(["word2vec-text", "word2vec-binary", "glove", "npz"]))
@settings(max_examples=200, deadline=None)
def test_what_is_written_is_read(table, file_format):
    names, rows = table
    vectors = np.array(rows, dtype=np.float32)
    data = {
        "word2vec-text": as_text(names, vectors, header=True),
        "word2vec-binary": as_binary(names, vectors),
        "glove": as_text(names, vectors, header=False),
        "npz": as_npz(names, vectors),
    }[file_format]
    for options in ({}, {"words": names}):
        loaded = load(data, format=file_format, **options)
        assert loaded.words == tuple(names)
        np.testing.assert_array_equal(loaded.vectors, vectors)
