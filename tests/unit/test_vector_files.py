import gzip
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
from gensim.models import KeyedVectors, Word2Vec

from cptw_search import vector_files
from cptw_search.embeddings import VectorWarning, load_vectors
from cptw_search.errors import VectorFileError

WORDS = ["the", "Boat", "ship", "été"]
VECTORS = np.array([[1, 2, 3], [0.5, -1, 0], [1e-3, 4, 2], [-1, 0, 1]], dtype=np.float32)


def text(words=WORDS, vectors=VECTORS, header=True):
    lines = [f"{len(words)} {len(vectors[0])}"] if header else []
    lines += [" ".join([word, *map(str, row)]) for word, row in zip(words, vectors, strict=True)]
    return ("\n".join(lines) + "\n").encode()


def binary(words=WORDS, vectors=VECTORS, end=b"\n", header=None):
    data = header or f"{len(words)} {len(vectors[0])}\n".encode()
    for word, row in zip(words, vectors, strict=True):
        data += (word if isinstance(word, bytes) else word.encode()) + b" " + np.asarray(row, "<f4").tobytes() + end
    return data


def npz(**arrays):
    buffer = io.BytesIO()
    np.savez_compressed(buffer, **arrays)
    return buffer.getvalue()


FILES = {
    "word2vec-text": text(),
    "glove": text(header=False),
    "word2vec-binary": binary(),
    "npz": npz(words=np.array(WORDS), vectors=VECTORS),
}


@pytest.fixture
def write(tmp_path):
    def write(data, name="vectors.dat"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return write


@pytest.mark.parametrize("file_format", FILES)
def test_every_format_is_recognised_by_content(write, file_format):
    loaded = load_vectors(write(FILES[file_format]))
    assert loaded.words == tuple(WORDS)
    np.testing.assert_array_equal(loaded.vectors, VECTORS)
    assert loaded.provenance["format"] == file_format


@pytest.mark.parametrize("file_format", ["word2vec-text", "glove", "word2vec-binary"])
def test_gzip_is_recognised_by_content(write, file_format):
    loaded = load_vectors(write(gzip.compress(FILES[file_format])))
    assert loaded.words == tuple(WORDS)
    np.testing.assert_array_equal(loaded.vectors, VECTORS)


def test_a_gzipped_npz_is_refused_with_what_to_do(write):
    with pytest.raises(VectorFileError, match="Unpack it with gunzip"):
        load_vectors(write(gzip.compress(FILES["npz"])))


@pytest.mark.parametrize("file_format", FILES)
def test_the_format_can_be_said(write, file_format):
    assert load_vectors(write(FILES[file_format]), format=file_format).words == tuple(WORDS)


def test_fasttext_is_text_with_a_header(write):
    loaded = load_vectors(write(text().replace(b"\n", b" \n")), format="fasttext")
    assert loaded.words == tuple(WORDS)
    assert loaded.provenance["format"] == "fasttext"


@pytest.mark.parametrize("file_format", FILES)
def test_only_needed_words_are_kept_exact_or_case_insensitive(write, file_format):
    loaded = load_vectors(write(FILES[file_format]), words={"boat", "ÉTÉ", "submarine"})
    assert loaded.words == ("Boat", "été")
    np.testing.assert_array_equal(loaded.vectors, VECTORS[[1, 3]])
    assert loaded.provenance["n_words_read"] == 4


@pytest.mark.parametrize("file_format", FILES)
def test_exact_words_win_over_earlier_ones_that_differ_in_case(write, file_format):
    words = ["SHIP", "Ship", "ship", "BOAT", "Boat", "tree"]
    vectors = np.arange(1, 13, dtype=np.float32).reshape(6, 2)
    data = {
        "word2vec-text": text(words, vectors),
        "glove": text(words, vectors, header=False),
        "word2vec-binary": binary(words, vectors),
        "npz": npz(words=np.array(words), vectors=vectors),
    }[file_format]
    path = write(data)
    assert load_vectors(path, words=["ship"]).words == ("ship",)
    assert load_vectors(path, words=["boat", "ship"]).words == ("ship", "BOAT")
    everything = load_vectors(path)
    for needed in (["ship", "sHIP"], ["Boat", "boat"], ["tree"], ["TREE", "Ship"]):
        part = load_vectors(path, words=needed)
        np.testing.assert_array_equal(part.vectors[part.rows(needed)], everything.vectors[everything.rows(needed)])


def test_arrays_grow_to_thousands_of_words(write):
    words = [f"w{n}" for n in range(5000)]
    vectors = np.random.default_rng(0).standard_normal((5000, 3)).astype(np.float32)
    for data in (text(words, vectors), binary(words, vectors, end=b""), npz(words=np.array(words), vectors=vectors)):
        loaded = load_vectors(write(data))
        np.testing.assert_array_equal(loaded.vectors, vectors)
        assert loaded.words == tuple(words)


def test_blocks_of_every_size_give_the_same(write, monkeypatch):
    paths = [write(FILES["word2vec-binary"], "b"), write(FILES["npz"], "n"), write(FILES["glove"], "g")]
    for size in (1, 7, 50):
        monkeypatch.setattr(vector_files, "BLOCK_BYTES", size)
        for path in paths:
            np.testing.assert_array_equal(load_vectors(path).vectors, VECTORS)


class TestText:
    @pytest.mark.parametrize(
        "data",
        [
            b"\xef\xbb\xbf" + text(),
            text().replace(b"\n", b"\r\n"),
            text().replace(b" ", b"\t"),
            text() + b"\n\n",
            b"\n" + text(),
            text().rstrip(),
            b"\xef\xbb\xbf" + text(header=False),
        ],
        ids=[
            "byte order mark",
            "CRLF",
            "tabs",
            "blank at end",
            "blank at start",
            "no newline at end",
            "mark, no header",
        ],
    )
    def test_variants_of_the_format(self, write, data):
        loaded = load_vectors(write(data), words=WORDS)
        assert loaded.words == tuple(WORDS)
        np.testing.assert_array_equal(loaded.vectors, VECTORS)

    def test_words_may_have_spaces(self, write):
        path = write(b"the 1 2\n. . . 3 4\nNew York 5 6\nat name@domain.com 7 8\nnew 9 1\n")
        assert load_vectors(path).words == ("the", ". . .", "New York", "at name@domain.com", "new")
        assert load_vectors(path, words=[". . .", "new york"]).words == (". . .", "New York")

    def test_a_first_word_with_spaces_does_not_look_like_a_binary_file(self, write):
        path = write(b"3 2\nnew york 5 6\nat home 1 2\nthe 3 4\n")
        assert load_vectors(path).words == ("new york", "at home", "the")

    def test_a_malformed_first_line_behind_a_header_is_left_out(self, write):
        with pytest.warns(VectorWarning, match=r"wrong number of columns: 1 \(first: line 2\)"):
            assert load_vectors(write(b"3 2\na 1\nb 1 2\nc 3 4\n")).words == ("b", "c")

    @pytest.mark.parametrize(
        ("line", "problem"),
        [
            (b"bad 1", "wrong number of columns"),
            (b"bad", "wrong number of columns"),
            (b"bad 1 x", "values that are not numbers"),
            (b"bad 1 nan", "NaN or infinite values"),
            (b"bad -inf 1", "NaN or infinite values"),
            (b"bad 1e300 1", "NaN or infinite values"),
            (b"bad 0 0", "all-zero vectors"),
            (b"a 1 1", "repeated words"),
            (b" 1 2", "words that are empty, too long or hold NUL"),
            (b"b\0d 1 2", "words that are empty, too long or hold NUL"),
            (b"w" * 10_001 + b" 1 2", "words that are empty, too long or hold NUL"),
            (b"b\xff 1 2", "words that are not UTF-8"),
            (b"bad \xff 1 2", "words that are not UTF-8"),
        ],
    )
    def test_unusable_lines_are_counted_and_left_out(self, write, line, problem):
        path = write(b"a 1 2\nb 3 4\n" + line + b"\nc 5 6\n")
        with pytest.warns(
            VectorWarning, match=rf"{problem}: 1 \(first: line 3\)\. 3 words of 4 read were kept"
        ) as caught:
            loaded = load_vectors(path)
        assert len(caught) == 1
        assert loaded.words == ("a", "b", "c")
        np.testing.assert_array_equal(loaded.vectors, [[1, 2], [3, 4], [5, 6]])
        assert loaded.provenance["problems"] == {problem: 1}

    def test_tiny_and_large_values_are_kept(self, write):
        loaded = load_vectors(write(b"a 1e-40 0\nb 3e38 3e38\n"))
        np.testing.assert_array_equal(loaded.vectors, np.array([[1e-40, 0], [3e38, 3e38]], dtype=np.float32))

    def test_the_first_usable_of_repeated_words_is_used(self, write):
        with pytest.warns(VectorWarning, match="all-zero vectors: 1"):
            loaded = load_vectors(write(b"a 0 0\na 1 2\nb 1 1\n"))
        np.testing.assert_array_equal(loaded["a"], [1, 2])

    def test_lines_of_other_words_are_not_checked(self, write):
        assert load_vectors(write(b"a 1 2\nb 1 x\nc nan 1\n"), words=["a"]).words == ("a",)

    def test_words_that_are_not_utf8_are_counted_among_all(self, write):
        with pytest.warns(VectorWarning, match="not UTF-8: 1"):
            assert load_vectors(write(b"a 1 2\n\xff 1 2\nc 1 1\n"), words=["a"]).words == ("a",)

    def test_more_than_half_malformed_is_an_error(self, write):
        with pytest.raises(
            VectorFileError, match=r"at most half.*NaN or infinite values: 2 \(first: line 2\), of 3 words"
        ):
            load_vectors(write(b"a 1 2\nb nan 2\nc inf 2\n"))

    def test_malformed_lines_behind_a_good_beginning_are_found(self, write):
        good = b"".join(b"w%d 1 2\n" % n for n in range(12))
        with pytest.raises(VectorFileError, match=r"at most half.*not numbers: 13 \(first: line 13\), of 25 words"):
            load_vectors(write(good + b"".join(b"x%d y 2\n" % n for n in range(13))))

    def test_mostly_not_utf8_is_an_error(self, write):
        with pytest.raises(VectorFileError, match=r"at most half.*not UTF-8: 2"):
            load_vectors(write(b"a 1 2\n\xff 3 2\n\xfe 3 2\n"))

    def test_nothing_usable_is_an_error(self, write):
        with pytest.raises(VectorFileError, match="at least one usable word is needed.*all-zero vectors: 2"):
            load_vectors(write(b"a 0 0\nb 0 0\n"))
        with pytest.raises(VectorFileError, match="at least one usable word is needed. Got none among 0 words"):
            load_vectors(write(b"0 5\n"), format="word2vec-text")

    def test_no_common_word_is_an_error_with_examples_of_both_sides(self, write):
        path = write(text())
        with pytest.raises(VectorFileError) as caught:
            load_vectors(path, words=["Baum", "Blatt"])
        message = str(caught.value)
        assert message.startswith("vectors.dat: at least one of the 2 words asked for must be there. Got none: 4 words")
        assert "['the', 'Boat', 'ship']" in message
        assert "['Baum', 'Blatt']" in message
        assert "not stems" in message

    def test_no_common_word_says_what_was_left_out(self, write):
        with pytest.raises(VectorFileError, match=r"Got none: 3 words.*Left out: words that are not UTF-8: 1"):
            load_vectors(write(b"a 1 2\n\xff 1 2\nc 1 1\n"), words=["Baum"])

    @pytest.mark.parametrize("declared", [2, 4])
    def test_dimensions_that_disagree_with_the_header_are_an_error(self, write, declared):
        data = text().replace(b"4 3\n", b"4 %d\n" % declared)
        with pytest.raises(VectorFileError, match=f"the {declared} numbers that the header declares. Got 3 instead"):
            load_vectors(write(data), words=["ship"])

    @pytest.mark.parametrize("declared", [2, 10**17])
    def test_a_wrong_number_of_words_in_the_header_is_told(self, write, declared):
        data = text().replace(b"4 3\n", b"%d 3\n" % declared)
        with pytest.warns(VectorWarning, match="more or fewer than the header declares"):
            loaded = load_vectors(write(data))
        assert loaded.words == tuple(WORDS)

    def test_a_missing_header_is_an_error_where_one_is_expected(self, write):
        with pytest.raises(VectorFileError, match="must be two whole numbers. Got b'the 1.0 2.0 3.0' instead"):
            load_vectors(write(text(header=False)), format="word2vec-text")

    def test_lines_without_end_are_refused(self, write, monkeypatch):
        monkeypatch.setattr(vector_files, "MAX_LINE_BYTES", 64)
        with pytest.raises(VectorFileError, match="less than 64 bytes. Got more in line 2"):
            load_vectors(write(b"a 1 2\n" + b"b" * 100), format="glove")
        with pytest.raises(VectorFileError, match="must have from 1 to 100,000 dimensions. Got 0"):
            load_vectors(write(b"b" * 100), format="glove")
        assert load_vectors(write(b"a 1 2\nb 3 4" + b" " * 58 + b"\nc 5 6"), format="glove").words == ("a", "b", "c")

    def test_more_than_a_dozen_lines(self, write):
        words = [f"w{n}" for n in range(40)]
        assert load_vectors(write(text(words, np.ones((40, 2)), header=False))).words == tuple(words)


class TestBinary:
    def test_words_that_are_not_utf8_are_left_out(self, write):
        data = binary([b"a", b"\xff", b"c"], VECTORS[:3])
        with pytest.warns(VectorWarning, match=r"not UTF-8: 1 \(first: word 2\)"):
            assert load_vectors(write(data)).words == ("a", "c")

    def test_unusable_vectors_are_left_out(self, write):
        data = binary(["a", "b", "c", "d", "e"], [[1, 2], [np.nan, 1], [0, 0], [3, 3], [4, 4]])
        with pytest.warns(VectorWarning, match="NaN or infinite values: 1.*all-zero vectors: 1"):
            assert load_vectors(write(data)).words == ("a", "d", "e")

    @pytest.mark.parametrize("compress", [bytes, gzip.compress])
    @pytest.mark.parametrize("n_lost", [2, 20])
    def test_a_truncated_file_is_an_error(self, write, compress, n_lost):
        with pytest.raises(VectorFileError, match="declares 4 words of 3 dimensions.*truncated: fetch it again"):
            load_vectors(write(compress(FILES["word2vec-binary"][:-n_lost])), format="word2vec-binary")

    @pytest.mark.parametrize("compress", [bytes, gzip.compress])
    @pytest.mark.parametrize("header", [b"999999999999999999 100000\n", b"999999999999 1\n", b"4 99999\n"])
    def test_a_header_that_promises_too_much_allocates_nothing(self, write, compress, header):
        path = write(compress(binary(header=header)))
        with pytest.raises(VectorFileError, match="truncated"):
            load_vectors(path, format="word2vec-binary")

    @pytest.mark.parametrize("header", [b"4 0\n", b"4 100001\n"])
    def test_dimensions_out_of_range_are_refused(self, write, header):
        with pytest.raises(VectorFileError, match="from 1 to 100,000 dimensions"):
            load_vectors(write(binary(header=header)), format="word2vec-binary")

    @pytest.mark.parametrize("header", [b"4\n", b"4 -3\n", b"4 3 1\n", b"9999999999999999999 3\n", b"\x80\n"])
    def test_a_header_that_is_none_is_refused(self, write, header):
        with pytest.raises(VectorFileError, match="must be two whole numbers"):
            load_vectors(write(binary(header=header)), format="word2vec-binary")

    def test_an_endless_word_is_refused(self, write):
        with pytest.raises(VectorFileError, match="a word must have at most 10,000 bytes.* as word 1"):
            load_vectors(write(b"2 2\n" + b"x" * 30_000), format="word2vec-binary")

    def test_more_words_than_declared_is_an_error(self, write):
        with pytest.raises(VectorFileError, match="declares 3 words of 3 dimensions. Got more bytes after the last"):
            load_vectors(write(binary(header=b"3 3\n")), format="word2vec-binary")

    def test_vectors_whose_bytes_look_like_text_are_still_read(self, write):
        data = b"1 1\nboat \x66\x66\x66\x3f"
        assert load_vectors(write(data)).words == ("boat",)


class TestNpz:
    def write_npz(self, write, **arrays):
        return write(npz(**arrays), "v.npz")

    @pytest.mark.parametrize("dtype", ["float16", ">f4", "float64", "int8", "uint32"])
    def test_every_kind_of_number_becomes_float32(self, write, dtype):
        vectors = np.array([[1, 2], [3, 4]], dtype=dtype)
        loaded = load_vectors(self.write_npz(write, words=np.array(["a", "b"]), vectors=vectors), words=["b"])
        assert loaded.vectors.dtype == np.float32
        np.testing.assert_array_equal(loaded.vectors, [[3, 4]])

    def test_words_as_bytes_and_vectors_by_columns(self, write):
        words = np.array([word.encode() for word in WORDS])
        loaded = load_vectors(self.write_npz(write, words=words, vectors=np.asfortranarray(VECTORS)))
        assert loaded.words == tuple(WORDS)
        np.testing.assert_array_equal(loaded.vectors, VECTORS)

    def test_float64_values_beyond_float32_are_left_out(self, write):
        path = self.write_npz(write, words=np.array(["a", "b"]), vectors=np.array([[1e300], [1.0]]))
        with pytest.warns(VectorWarning, match=r"NaN or infinite values: 1 \(first: word 1\)"):
            assert load_vectors(path).words == ("b",)

    def test_newer_headers_of_arrays_are_read(self, write):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            for key, array in {"words": np.array(WORDS), "vectors": VECTORS}.items():
                with archive.open(f"{key}.npy", "w") as member:
                    np.lib.format.write_array(member, array, version=(2, 0))
        assert load_vectors(write(buffer.getvalue())).words == tuple(WORDS)

    @pytest.mark.parametrize(
        ("arrays", "message"),
        [
            ({"words": ["a"]}, r"must hold arrays 'words' and 'vectors'. Got \['words.npy'\] instead"),
            ({"words": ["a"], "vectors": [1.0]}, r"Got shapes \(1,\) and \(1,\) instead"),
            ({"words": ["a"], "vectors": [[1.0], [2.0]]}, r"Got shapes \(1,\) and \(2, 1\) instead"),
            ({"words": [["a"]], "vectors": [[1.0]]}, r"Got shapes \(1, 1\) and \(1, 1\) instead"),
            ({"words": [1], "vectors": [[1.0]]}, "array 'words' must hold strings. Got dtype int64"),
            ({"words": ["a"], "vectors": [["x"]]}, "array 'vectors' must hold numbers. Got dtype <U1"),
            ({"words": ["a" * 10_001], "vectors": [[1.0]]}, "from 1 to 10,000 characters"),
            ({"words": ["a"], "vectors": np.ones((1, 0))}, "from 1 to 100,000 dimensions"),
            ({"words": np.array([], dtype=str), "vectors": np.ones((0, 2))}, "at least one usable word"),
        ],
    )
    def test_refuses_other_arrays(self, write, arrays, message):
        arrays = {key: np.array(value) for key, value in arrays.items()}
        with pytest.raises(VectorFileError, match=message):
            load_vectors(self.write_npz(write, **arrays))

    def test_pickled_words_are_refused_unread(self, write):
        class Bomb:
            def __reduce__(self):
                return pytest.fail, ("a pickle was run",)

        words = np.array([Bomb()], dtype=object)
        with pytest.raises(VectorFileError, match="Got dtype object.*a pickle, which runs code"):
            load_vectors(self.write_npz(write, words=words, vectors=np.ones((1, 2))))

    @pytest.mark.parametrize("shape", [(10**12, 300), (4, 10**6), (-4, -3), (3, 3), (10**400, 3)])
    def test_a_header_that_promises_what_is_not_there_allocates_nothing(self, write, shape):
        buffer = io.BytesIO()
        with zipfile.ZipFile(buffer, "w") as archive:
            with archive.open("words.npy", "w") as member:
                np.lib.format.write_array(member, np.array(WORDS))
            with archive.open("vectors.npy", "w") as member:
                header = {"descr": "<f4", "fortran_order": False, "shape": shape}
                np.lib.format.write_array_header_1_0(member, header)
                member.write(VECTORS.tobytes())
        with pytest.raises(VectorFileError, match="They do not fit|readable and whole"):
            load_vectors(write(buffer.getvalue()))

    def test_a_directory_of_the_archive_that_promises_too_much_is_refused(self, write):
        data = bytearray(npz(words=np.array(WORDS), vectors=VECTORS))
        entry = data.index(b"PK\x01\x02")
        entry = data.index(b"PK\x01\x02", entry + 1)  # the directory's entry of the vectors
        data[entry + 24 : entry + 28] = (3_000_000_000).to_bytes(4, "little")
        with pytest.raises(VectorFileError, match=r"They do not fit|readable and whole"):
            load_vectors(write(bytes(data)))

    def test_a_changed_byte_is_found(self, write):
        buffer = io.BytesIO()
        np.savez(buffer, words=np.array(WORDS), vectors=VECTORS)
        data = bytearray(buffer.getvalue())
        data[data.index(VECTORS.tobytes()) + 3] ^= 1
        with pytest.raises(VectorFileError, match="readable and whole. Got BadZipFile"):
            load_vectors(write(bytes(data)))

    def test_no_archive_where_one_is_expected(self, write):
        with pytest.raises(VectorFileError, match="readable and whole. Got BadZipFile"):
            load_vectors(write(text()), format="npz")


class TestKeyedVectors:
    @pytest.fixture
    def keyed(self):
        keyed = KeyedVectors(3)
        keyed.add_vectors(WORDS, VECTORS)
        return keyed

    def test_objects_and_models_are_read(self, keyed):
        loaded = load_vectors(keyed, words=["boat", "the"])
        assert loaded.words == ("the", "Boat")
        np.testing.assert_array_equal(loaded.vectors, VECTORS[:2])
        assert loaded.provenance["source"] == "KeyedVectors"
        model = Word2Vec([["a", "b"]], vector_size=4, min_count=1, epochs=1, workers=1)
        assert load_vectors(model).words == tuple(model.wv.index_to_key)

    def test_later_changes_of_the_object_do_not_matter(self, keyed):
        loaded = load_vectors(keyed)
        keyed.vectors[:] = 0
        np.testing.assert_array_equal(loaded.vectors, VECTORS)

    def test_keys_that_are_no_strings_are_refused(self):
        keyed = KeyedVectors(2)
        keyed.add_vectors([1, 2], np.ones((2, 2)))
        with pytest.raises(VectorFileError, match=r"keys must be strings.*\[1, 2\]"):
            load_vectors(keyed)

    def test_a_pickle_is_refused_unless_trusted(self, keyed, tmp_path):
        path = tmp_path / "v.kv"
        keyed.save(str(path))
        with pytest.raises(VectorFileError, match="a pickle runs code when it is read. Got trusted=False"):
            load_vectors(path)
        loaded = load_vectors(path, trusted=True)
        assert loaded.words == tuple(WORDS)
        assert loaded.provenance["source"] == "v.kv"
        assert loaded.provenance["format"] == "keyedvectors"
        with pytest.raises(VectorFileError, match="at least one of the 1 words"):
            load_vectors(path, trusted=True, words=["Baum"])

    def test_an_untrusted_pickle_is_not_run(self, write):
        class Bomb:
            def __reduce__(self):
                return pytest.fail, ("a pickle was run",)

        path = write(pickle.dumps(Bomb()))
        for file_format in ("auto", "keyedvectors"):
            with pytest.raises(VectorFileError, match="must be trusted"):
                load_vectors(path, format=file_format)

    @pytest.mark.parametrize("data", [pickle.dumps({"a": 1}), b"\x80\x04garbage"])
    def test_a_pickle_of_something_else_is_refused(self, write, data):
        with pytest.raises(VectorFileError, match="must be one that the installed gensim can load"):
            load_vectors(write(data), trusted=True)


class TestFiles:
    def test_a_missing_file(self, tmp_path):
        with pytest.raises(VectorFileError, match="none.txt: the source must be a file. Got nothing at"):
            load_vectors(tmp_path / "none.txt")

    def test_a_directory(self, tmp_path):
        with pytest.raises(VectorFileError, match="must be a file. Got a directory"):
            load_vectors(tmp_path)

    @pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
    def test_a_pipe_does_not_hang(self, tmp_path):
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(VectorFileError, match="must be a file. Got something else"):
            load_vectors(tmp_path / "pipe")

    @pytest.mark.parametrize("name", ["a\0b", "n" * 300])
    def test_a_name_that_no_file_can_have(self, name):
        with pytest.raises(VectorFileError, match="must be a file|readable and whole"):
            load_vectors(name)

    @pytest.mark.parametrize("data", [b"", gzip.compress(b"", mtime=0)])
    def test_an_empty_file(self, write, data):
        with pytest.raises(VectorFileError, match="must not be empty"):
            load_vectors(write(data))

    @pytest.mark.parametrize(
        "data", [b"\n\n", b"\x93NUMPY", b"<html></html>", b"\xba\x16\x4f\x2f\x0c\0\0\0", b"one two three\n"]
    )
    def test_something_else_is_refused_with_its_beginning(self, write, data):
        with pytest.raises(VectorFileError, match="Got b.* instead. Pass the format"):
            load_vectors(write(data))

    @pytest.mark.parametrize("file_format", ["word2vec-text", "word2vec-binary", "glove"])
    def test_a_truncated_gzip_is_an_error(self, write, file_format):
        data = gzip.compress(FILES[file_format])
        with pytest.raises(VectorFileError, match="readable and whole. Got EOFError"):
            load_vectors(write(data[:-12]))

    def test_a_header_alone_is_an_error(self, write):
        with pytest.raises(VectorFileError, match="truncated"):
            load_vectors(write(b"3 5"))


class TestProgress:
    def test_shown_on_standard_error_when_asked_for(self, write, capsys):
        for data in (*FILES.values(), gzip.compress(FILES["glove"])):
            assert load_vectors(write(data, "[red]v.txt"), progress=True).words == tuple(WORDS)
            printed = capsys.readouterr()
            assert "[red]v.txt" in printed.err
            assert printed.out == ""

    def test_silent_where_standard_error_is_no_terminal(self, write, capsys, monkeypatch):
        monkeypatch.setattr(vector_files, "PROGRESS_FROM_BYTES", 0)
        load_vectors(write(FILES["glove"]))
        assert capsys.readouterr().err == ""

    def test_shown_for_large_files_on_a_terminal(self, write, capsys, monkeypatch):
        path = write(FILES["glove"])
        monkeypatch.setattr("sys.stderr.isatty", lambda: True)
        load_vectors(path)
        assert capsys.readouterr().err == ""
        monkeypatch.setattr(vector_files, "PROGRESS_FROM_BYTES", 0)
        load_vectors(path)
        assert "vectors.dat" in capsys.readouterr().err
        load_vectors(path, progress=False)
        assert capsys.readouterr().err == ""
