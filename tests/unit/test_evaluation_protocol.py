"""Who trains, who validates, who is tested; and that nothing of the test part is seen before."""

import numpy as np
import pytest
from made_up_texts import make_texts, make_vectors

from cptw_search.errors import InvalidInputError
from cptw_search.evaluation.baselines import BagOfWords, Bm25, Lda, Lsi, MeanVector, Sif
from cptw_search.evaluation.classification import run_split
from cptw_search.evaluation.datasets import LabelledTexts
from cptw_search.evaluation.knn import nearest
from cptw_search.evaluation.methods import Method, Setting
from cptw_search.evaluation.propagated import Propagated
from cptw_search.evaluation.protocol import count_texts, make_splits

CODES = np.array([0, 1, 1] * 20)
METHODS: list[Method] = [
    BagOfWords("bow"),
    BagOfWords("tfidf"),
    Bm25((1.0, 2.0), (0.5, 1.0)),
    Lsi((2, 5)),
    Lda((3,), passes=1),
    MeanVector(),
    Sif((1e-2, 1e-4)),
    Propagated(taus=(0.2, 0.5)),
]


def test_folds_test_every_document_once_and_keep_the_shares_of_classes() -> None:
    splits = make_splits(CODES, None)
    assert [split.name for split in splits] == [f"fold {number}" for number in range(1, 6)]
    assert np.array_equal(np.sort(np.concatenate([split.test for split in splits])), np.arange(60))
    for split in splits:
        assert np.array_equal(np.sort(np.concatenate([split.train, split.test])), np.arange(60))
        assert np.bincount(CODES[split.test]).tolist() == [4, 8]


def test_an_official_split_is_kept() -> None:
    is_test = np.arange(60) >= 45
    (split,) = make_splits(CODES, is_test)
    assert sorted(split.train.tolist()) == list(range(45))
    assert split.test.tolist() == list(range(45, 60))


def test_the_order_of_a_file_favours_no_class() -> None:
    """Files are sorted by class, and of equally near neighbours the first ones vote."""
    codes = np.sort(CODES)
    for split in make_splits(codes, None):
        for part in (split.train, *(train for train, _ in split.rounds)):
            assert (np.diff(codes[part]) != 0).sum() > 5


def test_rounds_divide_the_training_part_alone_seventy_to_thirty() -> None:
    for split in make_splits(CODES, None):
        assert len(split.rounds) == 3
        for train, validate in split.rounds:
            assert np.array_equal(np.sort(np.concatenate([train, validate])), np.sort(split.train))
            assert len(validate) == pytest.approx(0.3 * len(split.train), abs=1)
        firsts = {tuple(sorted(validate)) for _, validate in split.rounds}
        assert len(firsts) == 3


def test_the_seed_decides_and_nothing_else() -> None:
    def documents(seed: int) -> list[list[int]]:
        return [split.test.tolist() for split in make_splits(CODES, None, seed=seed)]

    assert documents(1) == documents(1)
    assert documents(1) != documents(2)


def test_classes_that_are_too_small_are_refused() -> None:
    with pytest.raises(InvalidInputError, match="at least 5 documents .* Got one with 1"):
        make_splits(np.array([0] * 10 + [1]), None)
    with pytest.raises(InvalidInputError, match="at least 2 documents in the training part"):
        make_splits(np.array([0] * 10 + [1, 1]), np.arange(12) == 11)


def test_a_round_knows_the_words_of_its_training_documents_alone() -> None:
    data = count_texts(LabelledTexts("x", ("boat sea", "boat tax", "yacht boat"), ("a", "b", "a"), None), None)
    part = data.round(np.array([0, 1]), np.array([2]))
    assert [data.terms[column] for column in part.columns] == ["boat", "sea", "tax"]
    assert part.queries.toarray().tolist() == [[1, 0, 0]]
    assert part.df.tolist() == [2, 1, 1]


def test_20news_has_words_of_letters_in_five_training_documents() -> None:
    texts = tuple(["boat 4x4 x86"] * 6 + ["sail"] * 4)
    data = count_texts(LabelledTexts("20news", texts, ("a",) * 10, None), None)
    part = data.round(np.arange(10), np.arange(10))
    assert [data.terms[column] for column in part.columns] == ["boat"]


def test_a_part_without_words_is_refused() -> None:
    data = count_texts(LabelledTexts("x", ("the of", "boat"), ("a", "b"), None), None)
    with pytest.raises(InvalidInputError, match="x: the training documents must have at least one word"):
        data.round(np.array([0]), np.array([1]))


def test_copies_are_found() -> None:
    data = count_texts(LabelledTexts("x", ("a boat", "a tax", "a boat"), ("a", "b", "a"), None), None)
    assert data.has_copy_in(np.array([2, 1]), np.array([0])).tolist() == [True, False]


@pytest.mark.parametrize("method", METHODS, ids=lambda method: type(method).__name__ + method.name)
def test_nothing_of_the_test_part_is_seen_before_the_test(method: Method) -> None:
    """Garbage in place of the test texts changes no choice, and no representation of a training document."""
    vectors, honest = make_vectors(), make_texts(split=True)
    assert honest.is_test is not None
    garbage = LabelledTexts(
        honest.name,
        tuple("zzz wa1 wa2 wa3 qqq" if test else text for text, test in zip(honest.texts, honest.is_test, strict=True)),
        honest.labels,
        honest.is_test,
    )
    chosen, representations = [], []
    for texts in (honest, garbage):
        data = count_texts(texts, vectors)
        (split,) = make_splits(data.codes, data.is_test, n_rounds=2)
        outcomes = run_split(data, split, method, ks=(1, 3))
        chosen.append([(one.variant, one.votes, dict(one.parameters), one.k, dict(one.validation)) for one in outcomes])
        # training documents compared with each other by what was fitted on them
        part = data.round(split.train, split.train)
        found = [nearest(comparison, 5) for _, comparison in method.compare(part, method.grid())]
        representations.append(np.stack([one.scores for one in found]))
    assert chosen[0] == chosen[1]
    np.testing.assert_array_equal(representations[0], representations[1])


def test_a_hopeless_setting_is_tried_once() -> None:
    """TF-IDF with the sign turned finds the farthest documents: one round shows that."""
    asked: list[list[float]] = []

    class Signed(BagOfWords):
        def grid(self) -> list[Setting]:
            return [Setting("", (("sign", sign),)) for sign in (-1.0, 1.0)]

        def compare(self, part, settings):
            asked.append([setting.parameters[0][1] for setting in settings])
            for setting in settings:
                ((_, comparison),) = super().compare(part, [Setting("")])
                comparison._common_rows *= setting.parameters[0][1]
                comparison._columns *= setting.parameters[0][1]
                yield setting, comparison

    data = count_texts(make_texts(), make_vectors())
    split = make_splits(data.codes, None, n_folds=2)[0]
    outcome = run_split(data, split, Signed("tfidf"), ks=(1, 3))[0]
    assert asked == [[-1.0, 1.0], [1.0], [1.0], [1.0]]  # three rounds, and the test
    assert outcome.validation["sign -1"] < outcome.validation["sign 1"]
