import os
import subprocess
import sys

import numpy as np
import pytest
from scipy.sparse import block_diag, csr_matrix, identity
from scipy.sparse import random as random_sparse

from cptw_search import derive
from cptw_search.derive import fasttext_vectors, lsi_vectors, word2vec_vectors
from cptw_search.errors import InvalidInputError


def names(n):
    return [f"t{i}" for i in range(n)]


def oracle(counts, n_dimensions):
    """Latent semantic indexing with dense matrices, formula by formula."""
    counts = np.asarray(counts, dtype=float)
    df = (counts > 0).sum(axis=0)
    weighted = counts * np.log(len(counts) / np.where(df, df, 1))
    lengths = np.sqrt((weighted**2).sum(axis=1, keepdims=True))
    weighted = weighted / np.where(lengths, lengths, 1)
    _, values, rows = np.linalg.svd(weighted, full_matrices=False)
    return rows[:n_dimensions].T * values[:n_dimensions]


def cosines(vectors):
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    return unit @ unit.T


@pytest.fixture
def counts():
    rng = np.random.default_rng(0)
    return csr_matrix(rng.poisson(0.4, size=(40, 25)))


@pytest.fixture(params=["dense", "gram", "lanczos"])
def way(request, monkeypatch):
    """Decompose as small collections are, as those of few terms, and as large ones."""
    monkeypatch.setattr(derive, "_DENSE_CELLS", 10**6 if request.param == "dense" else 0)
    monkeypatch.setattr(derive, "_WIDTH", 2 if request.param == "lanczos" else 20)
    monkeypatch.setattr(derive, "_BLOCK_ENTRIES", 100)  # several blocks of documents
    return request.param


class TestLsi:
    def test_cosines_agree_with_a_dense_decomposition(self, counts, way):
        vectors = lsi_vectors(counts, names(25), n_dimensions=8)
        assert vectors.words == tuple(names(25))
        assert vectors.n_dimensions == 8
        np.testing.assert_allclose(cosines(vectors.vectors), cosines(oracle(counts.toarray(), 8)), atol=1e-5)
        lengths = np.linalg.norm(vectors.vectors, axis=0)
        assert (np.diff(lengths) <= 0).all()

    def test_all_ways_agree_to_the_sign(self, counts, way, monkeypatch):
        vectors = lsi_vectors(counts, names(25), n_dimensions=5).vectors
        monkeypatch.setattr(derive, "_DENSE_CELLS", 10**6)
        np.testing.assert_allclose(lsi_vectors(counts, names(25), n_dimensions=5).vectors, vectors, atol=1e-5)

    def test_is_reproducible_to_the_last_bit(self, counts, way):
        first = lsi_vectors(counts, names(25), n_dimensions=5)
        assert lsi_vectors(counts.copy(), names(25), n_dimensions=5) == first

    def test_threads_do_not_matter(self, counts, way, monkeypatch):
        first = lsi_vectors(counts, names(25), n_dimensions=5)
        monkeypatch.setattr(derive.os, "cpu_count", lambda: None)
        assert lsi_vectors(counts, names(25), n_dimensions=5) == first

    def test_order_of_documents_does_not_matter(self, counts, way):
        order = np.random.default_rng(1).permutation(40)
        shuffled = lsi_vectors(counts[order], names(25), n_dimensions=5).vectors
        np.testing.assert_allclose(shuffled, lsi_vectors(counts, names(25), n_dimensions=5).vectors, atol=2e-6)

    def test_counts_in_a_file_do_as_well_and_stay_as_they_are(self, counts, way, tmp_path):
        np.save(tmp_path / "data.npy", counts.data)
        data = np.load(tmp_path / "data.npy", mmap_mode="r")
        mapped = csr_matrix((data, counts.indices, counts.indptr), shape=counts.shape)
        assert lsi_vectors(mapped, names(25), n_dimensions=5) == lsi_vectors(counts, names(25), n_dimensions=5)

    def test_documents_and_terms_without_weight(self, counts, way):
        padded = np.pad(counts.toarray(), ((0, 3), (0, 2)))
        padded[:, 26] = 1  # in every document, as the one word of the last three
        vectors = lsi_vectors(csr_matrix(padded), names(27), n_dimensions=8)
        assert vectors.words == tuple(names(25))
        exact = oracle(padded, 8)[:25]
        np.testing.assert_allclose(cosines(vectors.vectors), cosines(exact), atol=1e-5)

    def test_restarts_have_an_end(self, counts, monkeypatch):
        monkeypatch.setattr(derive, "_DENSE_CELLS", 0)
        monkeypatch.setattr(derive, "_WIDTH", 2)
        monkeypatch.setattr(derive, "_MAX_RESTARTS", 1)
        rough = lsi_vectors(counts, names(25), n_dimensions=8).vectors
        exact = np.linalg.norm(oracle(counts.toarray(), 8), axis=0)
        assert not np.allclose(np.linalg.norm(rough, axis=0), exact, rtol=1e-5)
        np.testing.assert_allclose(np.linalg.norm(rough, axis=0), exact, rtol=0.1)

    def test_shows_how_many_dimensions_have_settled(self, counts, monkeypatch, capsys):
        monkeypatch.setattr(derive, "_DENSE_CELLS", 0)
        monkeypatch.setattr(derive, "_WIDTH", 2)
        monkeypatch.setattr("cptw_search.progress.SHOW_AFTER_SECONDS", -1.0)
        lsi_vectors(counts, names(25), n_dimensions=8, progress=True)
        shown = capsys.readouterr().err
        assert "Finding dimensions" in shown
        assert "8/8" in shown

    def test_with_all_dimensions_inner_products_are_those_of_the_documents(self):
        counts = np.array([[2, 0, 1], [0, 1, 1], [0, 0, 1]])
        vectors = lsi_vectors(csr_matrix(counts), ["a", "b", "c"])
        assert vectors.words == ("a", "b")  # c is in every document: ln(3/3) = 0
        np.testing.assert_allclose(vectors.vectors @ vectors.vectors.T, np.eye(2), atol=1e-6)

    def test_dimensions_are_capped_to_the_rank(self):
        counts = csr_matrix([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 0, 1, 1]])
        assert lsi_vectors(counts, names(4), n_dimensions=200).n_dimensions == 2

    def test_words_without_a_vector_are_left_out(self):
        counts = csr_matrix([[1, 0, 1, 0], [0, 1, 1, 0]])
        assert lsi_vectors(counts, names(4)).words == ("t0", "t1")

    def test_words_that_the_kept_dimensions_do_not_reach_are_left_out(self):
        counts = csr_matrix([[1, 0, 0], [1, 0, 0], [0, 1, 0], [0, 1, 0], [0, 1, 0], [0, 0, 1]])
        assert lsi_vectors(counts, names(3), n_dimensions=1).words == ("t1",)

    def test_the_largest_value_of_each_dimension_is_positive(self, counts):
        vectors = lsi_vectors(counts, names(25), n_dimensions=6).vectors
        peaks = np.abs(vectors).argmax(axis=0)
        assert (vectors[peaks, np.arange(6)] > 0).all()

    def test_explicit_zeros_and_repeated_entries_do_not_count_as_documents(self):
        plain = csr_matrix([[2, 0], [0, 1], [0, 1]])
        odd = csr_matrix(([1, 1, 0, 1, 1], [0, 0, 1, 1, 1], [0, 3, 4, 5]), shape=(3, 2))
        before = odd.data.copy()
        assert lsi_vectors(odd, ["a", "b"]) == lsi_vectors(plain, ["a", "b"])
        np.testing.assert_array_equal(odd.data, before)

    @pytest.mark.parametrize("counts", [np.ones((1, 1)), np.ones((1, 5)), np.ones((4, 1)), np.zeros((3, 2))])
    def test_no_word_with_a_vector_is_an_error(self, counts):
        with pytest.raises(InvalidInputError, match="a term that is in some documents but not in all. Got none among"):
            lsi_vectors(csr_matrix(counts), names(counts.shape[1]))

    def test_one_term_in_one_of_two_documents(self):
        vectors = lsi_vectors(csr_matrix([[1], [0]]), ["a"])
        np.testing.assert_allclose(vectors.vectors, [[1]])

    @pytest.mark.parametrize(
        ("counts", "n_terms", "message"),
        [
            (np.ones((2, 3)), 2, r"here with 2 terms. Got \(2, 3\) instead"),
            (np.ones((0, 2)), 2, r"Got \(0, 2\) instead"),
            (np.ones((2, 0)), 0, r"Got \(2, 0\) instead"),
            (np.array([[-1.0, 1]]), 2, "finite and not negative"),
            (np.array([[np.nan, 1]]), 2, "finite and not negative"),
        ],
    )
    def test_refuses_other_counts(self, counts, n_terms, message):
        with pytest.raises(InvalidInputError, match=message):
            lsi_vectors(csr_matrix(counts), names(n_terms))

    @pytest.mark.parametrize("n_dimensions", [0, -1, 2.5, "many"])
    def test_refuses_other_numbers_of_dimensions(self, counts, n_dimensions):
        with pytest.raises(InvalidInputError, match="n_dimensions must be a whole number of at least 1"):
            lsi_vectors(counts, names(25), n_dimensions=n_dimensions)

    @pytest.mark.parametrize("n_docs", [60, 600])
    def test_many_equal_singular_values(self, n_docs, monkeypatch):
        monkeypatch.setattr(derive, "_DENSE_CELLS", 0)
        vectors = lsi_vectors(csr_matrix(identity(n_docs)), names(n_docs), n_dimensions=3)
        assert vectors.n_dimensions == 3
        np.testing.assert_allclose(vectors.vectors.T @ vectors.vectors, np.eye(3), atol=1e-5)

    def test_fewer_documents_than_a_basis_has_columns(self, monkeypatch):
        monkeypatch.setattr(derive, "_DENSE_CELLS", 0)
        counts = np.random.default_rng(0).poisson(0.05, size=(12, 300))
        vectors = lsi_vectors(csr_matrix(counts), names(300), n_dimensions=10)
        exact = np.linalg.norm(oracle(counts, 10), axis=0)
        np.testing.assert_allclose(np.linalg.norm(vectors.vectors, axis=0), exact, rtol=1e-5)

    def test_words_of_documents_apart_are_left_out_in_the_sparse_way(self, counts, monkeypatch):
        monkeypatch.setattr(derive, "_DENSE_CELLS", 0)
        together = csr_matrix(np.kron(np.ones((5, 1)), counts.toarray()))
        apart = block_diag([together, identity(100)], format="csr")  # a word alone in its document
        assert lsi_vectors(csr_matrix(apart), names(125), n_dimensions=4).words == tuple(names(25))

    def test_a_rank_below_the_dimensions_asked_for(self, way):
        left = random_sparse(60, 3, density=0.5, random_state=0)
        right = random_sparse(3, 50, density=0.5, random_state=1)
        counts = csr_matrix(left @ right)
        dense = oracle(counts.toarray(), 10)
        vectors = lsi_vectors(counts, names(50), n_dimensions=10)
        rows = vectors.rows(names(50)) >= 0
        np.testing.assert_allclose(cosines(vectors.vectors), cosines(dense[rows]), atol=1e-5)


SENTENCES = [["boat", "ship", "sea"], ["boat", "tree"], [], ["ship", "sea", "boat"]]


@pytest.mark.parametrize("train", [word2vec_vectors, fasttext_vectors])
class TestTraining:
    def test_every_word_gets_a_vector_by_descending_frequency(self, train):
        vectors = train(SENTENCES, n_dimensions=7, epochs=2, seed=3)
        assert vectors.words == ("boat", "sea", "ship", "tree")
        assert vectors.n_dimensions == 7
        origin = vectors.provenance
        assert origin["source"] in ("word2vec", "fasttext")
        assert (origin["epochs"], origin["seed"], origin["n_sentences"], origin["n_words_kept"]) == (2, 3, 4, 4)

    def test_the_seed_decides(self, train):
        first = train(SENTENCES, n_dimensions=5, epochs=1, seed=0)
        assert train(SENTENCES, n_dimensions=5, epochs=1, seed=0) == first
        assert train(SENTENCES, n_dimensions=5, epochs=1, seed=1) != first

    def test_processes_agree_whatever_their_hash_seed(self, train):
        program = (
            f"from cptw_search.derive import {train.__name__} as train;"
            f"print(train({SENTENCES!r}, n_dimensions=5, epochs=1).sha256)"
        )
        hashes = {
            subprocess.run(
                [sys.executable, "-c", program],
                env={**os.environ, "PYTHONHASHSEED": seed},
                capture_output=True,
                text=True,
                check=True,
            ).stdout
            for seed in ("1", "2")
        }
        assert hashes == {train(SENTENCES, n_dimensions=5, epochs=1).sha256 + "\n"}

    def test_words_behind_the_ten_thousandth_of_a_sentence_are_trained_on(self, train, monkeypatch):
        monkeypatch.setattr(derive, "_GENSIM_MAX_TOKENS", 2)
        assert train([["a", "b", "c"]], n_dimensions=2, epochs=1) == train(
            [["a", "b"], ["c"]], n_dimensions=2, epochs=1
        )

    @pytest.mark.parametrize("sentences", [[], [[], []]])
    def test_no_words_is_an_error(self, train, sentences):
        with pytest.raises(InvalidInputError, match="needs sentences with words. Got none"):
            train(sentences)

    def test_a_string_is_no_sentence(self, train):
        with pytest.raises(InvalidInputError, match="must be a sequence of words. Got the string 'boat ship'"):
            train(["boat ship"])

    @pytest.mark.parametrize("parameter", ["n_dimensions", "epochs"])
    def test_numbers_out_of_range(self, train, parameter):
        with pytest.raises(InvalidInputError, match=f"{parameter} must be a whole number of at least 1. Got 0"):
            train(SENTENCES, **{parameter: 0})
