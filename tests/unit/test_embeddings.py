import copy
import json
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from cptw_search import embeddings
from cptw_search.embeddings import VectorWarning, WordVectors, load_vectors, stem_vectors
from cptw_search.errors import InvalidInputError, UnknownNameError


@pytest.fixture
def table():
    return WordVectors(["boat", "Ship", "SHIP", "tree"], [[1, 0], [2, 0], [3, 0], [0, 4]])


def cosine(a, b):
    return float(a @ b / np.sqrt((a @ a) * (b @ b)))


class TestWordVectors:
    def test_holds_words_and_float32_rows(self, table):
        assert table.words == ("boat", "Ship", "SHIP", "tree")
        assert table.vectors.dtype == np.float32
        assert table.vectors.flags.c_contiguous
        assert (table.n_words, table.n_dimensions, len(table)) == (4, 2, 4)
        assert repr(table) == "WordVectors(n_words=4, n_dimensions=2)"
        assert "boat" in table
        assert "BOAT" not in table
        np.testing.assert_array_equal(table["tree"], [0, 4])
        with pytest.raises(KeyError, match="leaf"):
            table["leaf"]

    def test_is_not_changed_through_the_array_it_was_made_of(self):
        array = np.ones((1, 2), dtype=np.float32)
        table = WordVectors(["a"], array)
        array[0, 0] = 7
        np.testing.assert_array_equal(table["a"], [1, 1])

    def test_a_read_only_view_of_a_writeable_array_is_copied(self):
        array = np.ones((1, 2), dtype=np.float32)
        view = array[:]
        view.setflags(write=False)
        table = WordVectors(["a"], view)
        array[0, 0] = 7
        np.testing.assert_array_equal(table["a"], [1, 1])

    def test_a_read_only_array_that_owns_its_memory_is_not_doubled(self):
        array = np.ones((1, 2), dtype=np.float32)
        array.setflags(write=False)
        assert WordVectors(["a"], array).vectors is array

    def test_cannot_be_changed(self, table):
        with pytest.raises(AttributeError, match="immutable"):
            table.words = ()
        with pytest.raises(AttributeError, match="immutable"):
            del table.words
        with pytest.raises(ValueError, match="read-only"):
            table.vectors[0, 0] = 1
        table.provenance["source"] = "elsewhere"
        assert table.provenance["source"] == "memory"

    def test_may_be_empty(self):
        empty = WordVectors([], np.empty((0, 3)))
        assert len(empty) == 0
        assert empty.rows(["a"]).tolist() == [-1]
        assert len(empty.sha256) == 64

    @pytest.mark.parametrize(
        ("words", "vectors", "message"),
        [
            (["a", "b", "a"], np.ones((3, 2)), r"must be unique\. Got 'a' more than once"),
            (["a"], np.ones((2, 2)), r"here \(1, at least 1\)\. Got \(2, 2\) instead"),
            (["a"], np.ones(1), r"Got \(1,\) instead"),
            (["a"], np.ones((1, 0)), r"Got \(1, 0\) instead"),
            (["a"], [[np.nan]], "must be finite"),
            (["a"], [[np.inf]], "must be finite"),
            (["a"], [[1e300]], "must be finite"),
            (["a"], [["x"]], "rows of numbers"),
            (["a", "b"], [[1], [1, 2]], "rows of numbers"),
            (["a", ""], np.ones((2, 1)), "must not be empty or hold NUL. Got ''"),
            (["a\0"], np.ones((1, 1)), "must not be empty or hold NUL"),
            ([1], np.ones((1, 1)), "must be strings. Got 1"),
            ("a", np.ones((1, 1)), "Got one string, 'a'"),
        ],
    )
    def test_refuses_what_is_no_table(self, words, vectors, message):
        with pytest.raises(InvalidInputError, match=message):
            WordVectors(words, vectors)

    @pytest.mark.parametrize("provenance", [{"path": Path("a")}, {"value": {1, 2}}])
    def test_refuses_provenance_that_json_cannot_hold(self, provenance):
        with pytest.raises(InvalidInputError, match="provenance must be a mapping that JSON can hold"):
            WordVectors(["a"], [[1]], provenance)

    def test_provenance_says_source_size_and_hash(self, table):
        assert table.provenance == {
            "source": "memory",
            "format": "array",
            "n_words_read": 4,
            "n_words_kept": 4,
            "n_dimensions": 2,
            "sha256": table.sha256,
        }

    def test_rows_prefers_the_exact_word_then_the_first_that_differs_in_case(self, table):
        assert table.rows(["SHIP", "ship", "Ship", "BOAT", "leaf"]).tolist() == [2, 1, 1, 0, -1]
        assert table.rows(word for word in ["tree"]).dtype == np.int64
        assert table.rows(np.array(["tree", "boat"])).tolist() == [3, 0]
        assert table.rows([]).tolist() == []

    def test_rows_folds_case_beyond_ascii(self):
        assert WordVectors(["straße"], [[1]]).rows(["STRASSE"]).tolist() == [0]

    def test_rows_refuses_one_string(self, table):
        with pytest.raises(InvalidInputError, match="Got one string, 'boat'"):
            table.rows("boat")

    def test_subset_keeps_order_and_source(self, table):
        part = table.subset(["tree", "ship", "SHIP", "leaf", "tree"])
        assert part.words == ("Ship", "SHIP", "tree")
        np.testing.assert_array_equal(part.vectors, [[2, 0], [3, 0], [0, 4]])
        assert part.provenance["source"] == "memory"
        assert len(table.subset(["leaf"])) == 0

    def test_equality_and_hash_are_of_the_content(self, table):
        same = WordVectors(table.words, table.vectors.copy(), {"source": "elsewhere"})
        assert table == same
        assert hash(table) == hash(same)
        assert table != WordVectors(table.words, table.vectors + 1)
        assert table != WordVectors(["boat", "Ship", "SHIP", "leaf"], table.vectors)
        assert table != WordVectors(table.words, np.c_[table.vectors, table.vectors])
        assert table != "table"

    def test_hash_tells_words_apart_that_join_alike(self):
        assert WordVectors(["ab", "c"], np.ones((2, 1))).sha256 != WordVectors(["a", "bc"], np.ones((2, 1))).sha256

    def test_hash_is_fixed_for_all_versions(self, table):
        assert table.sha256 == "14dcd9c9956afdc6036f73259834ccedb9266c9a6fdbd1f74163e6436dbbb217"

    def test_copies_share_the_table(self, table):
        assert copy.copy(table) is table
        assert copy.deepcopy(table) is table
        assert clone(table) is table

    def test_survives_pickling_and_stays_read_only(self, table):
        loaded = pickle.loads(pickle.dumps(table))  # noqa: S301
        assert loaded == table
        assert loaded.provenance == table.provenance
        assert not loaded.vectors.flags.writeable

    def test_saves_and_loads_bit_for_bit(self, tmp_path):
        table = WordVectors(["été", "🚢", "new york", "\ud800"], np.random.default_rng(0).standard_normal((4, 3)))
        table.save(tmp_path / "v.npz")
        loaded = load_vectors(tmp_path / "v.npz")
        assert loaded == table
        assert loaded.provenance["format"] == "npz"
        with np.load(tmp_path / "v.npz", allow_pickle=False) as archive:
            assert archive["words"].tolist() == list(table.words)

    def test_a_failing_save_leaves_the_old_file_and_nothing_else(self, table, tmp_path, monkeypatch):
        path = tmp_path / "v.npz"
        table.save(path)
        before = path.read_bytes()

        def full(*args, **kwargs):
            raise OSError("No space left on device")

        monkeypatch.setattr(embeddings.np, "savez", full)
        with pytest.raises(OSError, match="No space left"):
            WordVectors(["other"], [[1]]).save(path)
        assert path.read_bytes() == before
        assert list(tmp_path.iterdir()) == [path]


class TestLoadVectors:
    def test_refuses_an_unknown_format(self, tmp_path):
        with pytest.raises(
            UnknownNameError, match=r"format must be one of 'auto', 'word2vec-text'.* Got 'csv' instead"
        ):
            load_vectors(tmp_path / "v", format="csv")

    @pytest.mark.parametrize("source", [3, None, np.ones(3)])
    def test_refuses_other_sources(self, source):
        with pytest.raises(InvalidInputError, match="must be a path or gensim's KeyedVectors"):
            load_vectors(source)

    @pytest.mark.parametrize(
        ("words", "message"), [("boat", "one string"), ([], "at least one word"), ([b"boat"], "Got b'boat' among them")]
    )
    def test_refuses_words_that_are_no_collection_of_words(self, words, message):
        with pytest.raises(InvalidInputError, match=message):
            load_vectors("v", words=words)

    def test_provenance_is_plain_and_names_the_file_without_its_folder(self, tmp_path):
        path = tmp_path / "v.txt"
        path.write_text("boat 1 0\nship 1 1\nboat 2 2\n")
        with pytest.warns(VectorWarning, match="repeated words"):
            loaded = load_vectors(str(path), words=["boat"])
        assert json.loads(json.dumps(loaded.provenance)) == {
            "source": "v.txt",
            "format": "glove",
            "n_words_read": 3,
            "n_words_kept": 1,
            "n_dimensions": 2,
            "problems": {"repeated words": 1},
            "sha256": loaded.sha256,
        }

    def test_warns_at_the_line_of_the_caller(self, tmp_path):
        path = tmp_path / "v.txt"
        path.write_text("boat 1 0\nship 1 1\nboat 2 2\n")
        with pytest.warns(VectorWarning, match="first: line 3") as caught:
            load_vectors(path)
        assert len(caught) == 1
        assert caught[0].filename == __file__


class TestStemVectors:
    def test_is_the_frequency_weighted_mean_of_the_forms_that_have_a_vector(self):
        vectors = WordVectors(["boat", "boats", "tree", "boating"], [[1, 0], [0, 1], [5, 5], [9, 9]])
        forms = {"boat": {"boat": 1, "boats": 3, "boatload": 100}, "tree": {"treeless": 2}, "leav": {"leaves": 1}}
        result = stem_vectors(["leav", "boat", "tree", "boating", "none"], forms, vectors)
        assert result.dtype == np.float64
        np.testing.assert_array_equal(result, [[0, 0], [0.25, 0.75], [5, 5], [9, 9], [0, 0]])

    def test_forms_that_share_a_vector_add_up(self):
        vectors = WordVectors(["boat", "ship"], [[1, 0], [0, 1]])
        result = stem_vectors(["x"], {"x": {"Boat": 1, "boat": 2, "ship": 1}}, vectors)
        np.testing.assert_array_equal(result, [[0.75, 0.25]])

    def test_order_of_forms_does_not_matter_to_the_last_bit(self):
        rng = np.random.default_rng(1)
        words = [f"w{n}" for n in range(50)]
        vectors = WordVectors(words, rng.standard_normal((50, 7)))
        forms = {word: int(n) for word, n in zip(words, rng.integers(1, 1000, 50), strict=True)}
        first = stem_vectors(["t"], {"t": forms}, vectors)
        for _ in range(5):
            shuffled = {word: forms[word] for word in rng.permutation(words).tolist()}
            np.testing.assert_array_equal(stem_vectors(["t"], {"t": shuffled}, vectors), first)

    def test_agrees_with_a_plain_loop(self):
        rng = np.random.default_rng(2)
        vectors = WordVectors([f"w{n}" for n in range(20)], rng.standard_normal((20, 4)))
        terms = [f"t{n}" for n in range(30)]
        forms = {t: {f"w{rng.integers(40)}": int(rng.integers(1, 9)) for _ in range(rng.integers(4))} for t in terms}
        expected = np.zeros((30, 4))
        for n, term in enumerate(terms):
            known = {w: f for w, f in forms[term].items() if w in vectors}
            if known:
                expected[n] = sum(f * vectors[w].astype(float) for w, f in known.items()) / sum(known.values())
        np.testing.assert_allclose(stem_vectors(terms, forms, vectors), expected, rtol=1e-12)

    def test_no_terms_and_no_words(self):
        vectors = WordVectors(["a"], [[1, 2]])
        assert stem_vectors([], {}, vectors).shape == (0, 2)
        np.testing.assert_array_equal(stem_vectors(["b"], {}, vectors), [[0, 0]])

    @pytest.mark.parametrize("frequency", [0, -1, float("nan"), float("inf")])
    def test_refuses_frequencies_that_are_not_positive(self, frequency):
        with pytest.raises(InvalidInputError, match="frequencies of forms must be positive"):
            stem_vectors(["a"], {"a": {"b": frequency}}, WordVectors(["b"], [[1]]))


def test_importing_the_modules_does_not_import_heavy_libraries():
    program = (
        "import sys, cptw_search.embeddings, cptw_search.vector_files, cptw_search.derive;"
        "print(sorted({'gensim', 'rich', 'sklearn'} & set(sys.modules)))"
    )
    result = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert result.stdout.strip() == "[]"
