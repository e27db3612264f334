import numpy as np
import pytest
from sklearn.base import clone, is_classifier
from sklearn.neighbors import KNeighborsClassifier
from sklearn.utils.validation import check_is_fitted

from cptw_search import Cptw, EmbeddedIndex, Hit, KnnClassifier, WordVectors
from cptw_search.classify import vote
from cptw_search.errors import InvalidInputError, UnknownNameError

VECTORS = WordVectors(["boat", "ship", "sea", "cat", "dog"], [[1, 0], [4, 3], [1, 1], [-1, 1], [-4, 3]])
TEXTS = ["boat boat sea", "ship at sea", "boats", "cat and dog", "dogs", "a cat, a dog, a sea", "sea cat boat"]
LABELS = ["water", "water", "water", "pets", "pets", "pets", "mixed"]
QUERIES = ["ships", "cats at sea", "the boat and the dog", "sea sea sea", "dog", "boat ship sea cat dog"]


def documents(labels: list[str] = LABELS) -> list[dict[str, object]]:
    return [{"id": str(n), "text": t, "label": label} for n, (t, label) in enumerate(zip(TEXTS, labels, strict=True))]


@pytest.fixture
def index() -> EmbeddedIndex:
    return EmbeddedIndex.build(Cptw(vectors=VECTORS, tau=0.6).fit(TEXTS), documents())


@pytest.mark.parametrize("k", [1, 3, 5])
@pytest.mark.parametrize(("votes", "weights"), [("distance", "distance"), ("uniform", "uniform")])
def test_it_agrees_with_scikit_learn_on_the_same_rows(index: EmbeddedIndex, k: int, votes: str, weights: str) -> None:
    """Euclidean distances of unit rows rank as cosines do; compared where all k neighbours share a feature."""
    classifier = KnnClassifier(index, k=k, votes=votes)
    model = index.model
    reference = KNeighborsClassifier(k, weights=weights).fit(model.transform(TEXTS), LABELS)
    for query in QUERIES:
        if len(index.search(query, k=k, method="cptw")) < k:
            continue
        expected = reference.predict_proba(model.transform([query]))
        np.testing.assert_allclose(classifier.predict_proba([query]), expected, atol=1e-5)


def test_votes_by_similarity_are_the_scores(index: EmbeddedIndex) -> None:
    hits = index.search("cats at sea", k=3, method="cptw")
    votes = KnnClassifier(index, k=3, votes="similarity").vote_many(["cats at sea"])[0]
    total = sum(hit.score for hit in hits)
    for label, share in votes.items():
        assert share == pytest.approx(sum(hit.score for hit in hits if hit.fields["label"] == label) / total)


def test_a_copy_of_the_query_outvotes_all_others() -> None:
    hits = [Hit("a", 1.0, {"label": "x"}), *(Hit(str(n), 0.99, {"label": "y"}) for n in range(9))]
    assert vote(hits, "label", "distance") == {"x": 1.0, "y": 0.0}


def test_neighbours_without_a_label_do_not_vote() -> None:
    hits = [Hit("a", 0.9, {}), Hit("b", 0.5, {"label": None}), Hit("c", 0.1, {"label": "y"})]
    assert vote(hits, "label", "uniform") == {"y": 1.0}
    assert vote(hits[:2], "label", "uniform") == {}


def test_equal_votes_go_to_the_first_label_by_name(index: EmbeddedIndex) -> None:
    index.add([{"id": "t1", "text": "zeppelin", "label": "zz"}, {"id": "t2", "text": "zeppelin", "label": "aa"}])
    assert KnnClassifier(index, k=2).predict(["zeppelin"]).tolist() == ["aa"]


def test_a_new_labelled_document_counts_at_once(index: EmbeddedIndex) -> None:
    classifier = KnnClassifier(index, k=1)
    assert "air" not in classifier.classes_
    index.add([{"id": "new", "text": "aeroplanes", "label": "air"}])
    assert classifier.predict(["an aeroplane"]).tolist() == ["air"]
    assert "air" in classifier.classes_
    index.delete(["new"])
    assert "air" not in classifier.classes_


def test_a_text_similar_to_nothing_gets_the_commonest_label(index: EmbeddedIndex) -> None:
    classifier = KnnClassifier(index)
    assert classifier.predict(["quite something else"]).tolist() == ["pets"]  # as common as "water", first by name
    np.testing.assert_allclose(classifier.predict_proba(["quite something else"]), [[1 / 3] * 3])


def test_probabilities_add_up_and_agree_with_the_prediction(index: EmbeddedIndex) -> None:
    classifier = KnnClassifier(index, k=5)
    shares = classifier.predict_proba(QUERIES)
    np.testing.assert_allclose(shares.sum(axis=1), 1)
    assert classifier.classes_[shares.argmax(axis=1)].tolist() == classifier.predict(QUERIES).tolist()


def test_score_is_the_share_of_right_labels(index: EmbeddedIndex) -> None:
    classifier = KnnClassifier(index, k=1)
    assert classifier.score(["boats", "dogs"], ["water", "pets"]) == 1.0
    assert classifier.score(["boats", "dogs"], ["water", "water"]) == 0.5
    with pytest.raises(InvalidInputError, match="as many labels as texts, at least one. Got 1 texts and 2 labels"):
        classifier.score(["boats"], ["water", "pets"])
    with pytest.raises(InvalidInputError, match="Got 0 texts and 0 labels"):
        classifier.score([], [])


def test_no_texts_give_no_labels(index: EmbeddedIndex) -> None:
    assert KnnClassifier(index).predict([]).tolist() == []
    assert KnnClassifier(index).predict_proba([]).shape == (0, 3)


def test_another_field_may_hold_the_labels(index: EmbeddedIndex) -> None:
    index.update(
        [{**document, "topic": document["label"]} for document in documents(["a", "b", "a", "b", "a", "b", "c"])]
    )
    assert set(KnnClassifier(index, label_field="topic").predict(QUERIES)) <= {"a", "b", "c"}


def test_an_index_without_labels_says_so() -> None:
    index = EmbeddedIndex.build(Cptw(vectors=None).fit(TEXTS), TEXTS)
    with pytest.raises(InvalidInputError, match="must hold documents with a 'label' to classify by. It holds none"):
        KnnClassifier(index).predict(["boat"])
    assert KnnClassifier(index).predict_proba(["boat"]).shape == (1, 0)


def test_distance_needs_cosines() -> None:
    index = EmbeddedIndex.build(Cptw(vectors=None, weighting="bm25").fit(TEXTS), documents())
    with pytest.raises(InvalidInputError, match="votes='distance' needs scores that are cosines"):
        KnnClassifier(index).predict(["boat"])
    assert KnnClassifier(index, votes="similarity", k=3).predict(["dogs"]).tolist() == ["pets"]


def test_a_wrong_vote_lists_the_choices(index: EmbeddedIndex) -> None:
    with pytest.raises(UnknownNameError, match="votes must be one of 'distance', 'similarity', 'uniform'. Got 'loud'"):
        KnnClassifier(index, votes="loud").predict(["boat"])
    with pytest.raises(InvalidInputError, match="k must be a whole number"):
        KnnClassifier(index, k=0).predict(["boat"])


def test_scikit_learns_manners(index: EmbeddedIndex) -> None:
    classifier = KnnClassifier(index, k=3)
    assert is_classifier(classifier)
    assert classifier.fit(TEXTS, LABELS) is classifier
    check_is_fitted(classifier)
    assert classifier.get_params() == {"backend": index, "k": 3, "votes": "distance", "label_field": "label"}
    assert clone(classifier).k == 3
    assert repr(classifier).startswith("KnnClassifier(backend=EmbeddedIndex(7 documents")
