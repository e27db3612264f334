"""What every backend has to do, whether it runs in this process or on a cluster.

A backend's test module subclasses `BackendContract` and says how an index is made.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import pytest

from cptw_search import Cptw, CptwError, WordVectors
from cptw_search.backend import SearchBackend
from cptw_search.errors import InvalidInputError, UnknownNameError
from cptw_search.explain_mixed import EXPLAINED_METHODS
from cptw_search.feedback import LEARNED_SHARE

VECTORS = WordVectors(
    ["boat", "ship", "sea", "ocean", "cat", "dog"],
    [[10, 0, 1], [8, 6, 0], [7, 7, 1], [6, 8, 0], [-10, 1, 1], [-8, 6, 2]],
)
DOCUMENTS: list[dict[str, object]] = [
    {"id": "a", "text": "A boat on the sea", "label": "water", "year": 1999, "tags": ["blue", "wood"]},
    {"id": "b", "text": "Ships cross the ocean", "label": "water", "year": 2004, "tags": ["blue"], "fast": True},
    {"id": "c", "text": "My cat and my dog", "label": "pets", "year": 2010, "fast": False},
    {"id": "d", "title": "Dogs", "text": "They bark at cats", "label": "pets", "year": 2010.5},
    {"id": "e", "text": "Ships cross the ocean", "label": "copies", "year": -3},
    {"id": "f", "text": "Nothing of the kind: XK-900", "label": "none"},
    {"id": "g", "title": "", "text": "", "label": "none"},
    {"id": "ü/ 1?&", "text": "zeppelins, zeppelins, zeppelins", "label": "sky"},
]
METHODS = ["cptw", "bm25", "bm25+rm3", "tfidf", "hybrid", "hybrid+feedback", "rrf"]


def fitted(**parameters: object) -> Cptw:
    texts = [document for document in DOCUMENTS if document["id"] not in ("f", "ü/ 1?&")]  # some words are unknown
    return Cptw(**{"vectors": VECTORS, "tau": 0.75, **parameters}).fit(texts)  # type: ignore[arg-type]


class BackendContract:
    """Inherit and write ``make``."""

    methods: list[str] = METHODS

    def make(self, model: Cptw, documents: Iterable[Mapping[str, object]]) -> SearchBackend:
        """Make a backend that holds the documents."""
        raise NotImplementedError

    @pytest.fixture
    def backend(self) -> SearchBackend:
        return self.make(fitted(), DOCUMENTS)

    @staticmethod
    def ids(hits: list) -> list[str]:  # type: ignore[type-arg]
        return [hit.id for hit in hits]

    def test_it_finds_what_shares_no_word_with_the_query(self, backend: SearchBackend) -> None:
        hits = backend.search("ship", method="cptw")
        assert {"a", "b", "e"} == set(self.ids(hits))
        if "bm25" in self.methods:
            assert self.ids(backend.search("ship", method="bm25")) == ["b", "e"]

    def test_scores_are_those_of_the_model(self, backend: SearchBackend) -> None:
        model = backend.model
        for hit in backend.search("ship and dogs", k=20, method="cptw"):
            document = next(document for document in DOCUMENTS if document["id"] == hit.id)
            score = model.transform_query(["ship and dogs"]) @ model.transform([document]).T
            assert hit.score == pytest.approx(score.toarray()[0, 0], rel=0.02)  # clusters store 9 bits

    def test_hits_come_best_first_and_ties_by_id(self, backend: SearchBackend) -> None:
        hits = backend.search("ships cross the ocean", k=20, method="cptw")
        assert self.ids(hits) == self.ids(sorted(hits, key=lambda hit: (-hit.score, hit.id)))
        assert self.ids(hits)[:2] == ["b", "e"]
        assert hits[0].score == hits[1].score

    def test_hits_carry_the_stored_fields(self, backend: SearchBackend) -> None:
        (hit,) = backend.search("bark", k=1, method="cptw")
        assert hit.id == "d"
        assert hit.fields == {"title": "Dogs", "text": "They bark at cats", "label": "pets", "year": 2010.5}

    def test_titles_count(self, backend: SearchBackend) -> None:
        assert "d" in self.ids(backend.search("dog", method="cptw"))

    def test_unknown_words_find_themselves(self, backend: SearchBackend) -> None:
        assert self.ids(backend.search("zeppelin", method="cptw")) == ["ü/ 1?&"]
        assert self.ids(backend.search("xk 900", method="cptw")) == ["f"]
        assert backend.search("submarine", method="cptw") == []

    @pytest.mark.parametrize("query", ["", "   ", "the of and", "\0", "!?", "\ud800"])
    def test_a_query_without_words_finds_nothing(self, backend: SearchBackend, query: str) -> None:
        for method in self.methods:
            assert backend.search(query, method=method) == []

    def test_a_query_of_a_megabyte(self, backend: SearchBackend) -> None:
        query = "ship " + "filler words of all kinds " * 40_000
        assert "b" in self.ids(backend.search(query, method="cptw"))

    def test_a_document_can_be_the_query(self, backend: SearchBackend) -> None:
        assert self.ids(backend.search({"title": "ships", "text": "cross the ocean"}, k=2, method="cptw")) == ["b", "e"]

    def test_k_limits_and_may_be_larger_than_the_collection(self, backend: SearchBackend) -> None:
        assert len(backend.search("ship", k=1, method="cptw")) == 1
        assert len(backend.search("ship", k=1_000, method="cptw")) == 3

    @pytest.mark.parametrize("k", [0, -1, 1.5, "3", None, True])
    def test_k_has_to_be_a_whole_number(self, backend: SearchBackend, k: object) -> None:
        with pytest.raises(InvalidInputError, match="k must be a whole number >= 1. Got"):
            backend.search("ship", k=k, method="cptw")  # type: ignore[arg-type]
        with pytest.raises(InvalidInputError, match="k must be a whole number >= 1. Got"):
            backend.search_many([], k=k, method="cptw")  # type: ignore[arg-type]

    @pytest.mark.parametrize("query", [None, 3, ["ship"], b"ship"])
    def test_a_query_has_to_be_a_text(self, backend: SearchBackend, query: object) -> None:
        with pytest.raises(InvalidInputError, match="query must be a text or a mapping"):
            backend.search(query, method="cptw")  # type: ignore[arg-type]

    def test_an_unknown_method_lists_the_choices(self, backend: SearchBackend) -> None:
        with pytest.raises(UnknownNameError, match="method must be one of 'cptw', 'bm25'.*Got 'magic'"):
            backend.search("ship", method="magic")

    @pytest.mark.parametrize("lambda_", [-0.1, 1.1, math.nan, "half", None])
    def test_lambda_has_to_be_a_share(self, backend: SearchBackend, lambda_: object) -> None:
        with pytest.raises(InvalidInputError, match="lambda_ must be a number from 0 to 1"):
            backend.search("ship", lambda_=lambda_, method="cptw")  # type: ignore[arg-type]

    def test_many_queries_give_what_each_gives(self, backend: SearchBackend) -> None:
        queries = ["ship", "", "dog at sea", "zeppelin", {"title": "cat"}]
        for method in self.methods:
            results = backend.search_many(queries, k=4, method=method)
            for query, hits in zip(queries, results, strict=True):
                alone = backend.search(query, k=4, method=method)
                assert self.ids(hits) == self.ids(alone)
                assert [hit.score for hit in hits] == pytest.approx([hit.score for hit in alone])
        assert backend.search_many([], method="cptw") == []
        with pytest.raises(InvalidInputError, match="queries must come as a list"):
            backend.search_many("ship", method="cptw")  # type: ignore[arg-type]

    @pytest.mark.parametrize(
        ("conditions", "expected"),
        [
            ({"label": "water"}, {"a", "b"}),
            ({"label": ["water", "copies"]}, {"a", "b", "e"}),
            ({"label": []}, set()),
            ({"label": "Water"}, set()),
            ({"year": 2004}, {"b"}),
            ({"year": {"gte": 1999}}, {"a", "b"}),
            ({"year": {"gt": 1999, "lte": 2004}}, {"b"}),
            ({"year": {"lt": 0}}, {"e"}),
            ({"tags": "wood"}, {"a"}),
            ({"tags": ["wood", "blue"]}, {"a", "b"}),
            ({"fast": True}, {"b"}),
            ({"label": "water", "year": {"lt": 2000}}, {"a"}),
            ({}, {"a", "b", "e"}),
        ],
    )
    def test_filters(self, backend: SearchBackend, conditions: dict[str, object], expected: set[str]) -> None:
        for method in set(self.methods) & {"cptw", "hybrid"}:
            assert set(self.ids(backend.search("ship on the sea", k=20, method=method, filter=conditions))) == expected
        assert [
            set(self.ids(hits)) for hits in backend.search_many(["ship on the sea"], filter=conditions, method="cptw")
        ] == [expected]

    @pytest.mark.parametrize(
        "conditions", ["label", {"year": {"from": 1}}, {"label": None}, {"year": math.nan}, {3: 4}]
    )
    def test_a_filter_that_is_none(self, backend: SearchBackend, conditions: object) -> None:
        with pytest.raises(InvalidInputError, match="(?i)filter"):
            backend.search("ship", filter=conditions, method="cptw")  # type: ignore[arg-type]

    def test_a_filter_on_a_field_that_is_not_there(self, backend: SearchBackend) -> None:
        with pytest.raises(InvalidInputError, match="filter.*'lable'"):
            backend.search("ship", filter={"lable": "water"}, method="cptw")

    def test_get_and_count(self, backend: SearchBackend) -> None:
        assert backend.count() == len(DOCUMENTS)
        assert backend.count({"label": "pets"}) == 2
        for document in DOCUMENTS:
            assert backend.get(str(document["id"])) == document
        assert backend.get("nobody") is None
        for doc_id in ("", None, 1.5):
            with pytest.raises(InvalidInputError, match="doc_id must be a non-empty string"):
                backend.get(doc_id)  # type: ignore[arg-type]

    def test_values_lists_the_strings_of_a_field(self, backend: SearchBackend) -> None:
        assert backend.values("label") == ["copies", "none", "pets", "sky", "water"]
        assert backend.values("tags") == ["blue", "wood"]
        assert backend.values("nothing") == []

    def test_hybrid_of_one_alone_ranks_as_that_one(self, backend: SearchBackend) -> None:
        if "hybrid" not in self.methods:
            pytest.skip("this backend has no hybrid search")
        query = "ship and dogs"
        for lambda_, method in ((1.0, "cptw"), (0.0, "bm25")):
            mixed = backend.search(query, k=20, method="hybrid", lambda_=lambda_)
            alone = {hit.id: hit.score for hit in backend.search(query, k=20, method=method)}
            best = max(alone.values())
            for hit in mixed:
                assert hit.score == pytest.approx(alone[hit.id] / best, rel=0.02)

    def test_rank_fusion_adds_the_reciprocals_of_the_ranks(self, backend: SearchBackend) -> None:
        if "rrf" not in self.methods:
            pytest.skip("this backend has no rank fusion")
        ranks: dict[str, float] = {}
        for method in ("cptw", "bm25"):
            for rank, hit in enumerate(backend.search("ship and dogs", k=1000, method=method), start=1):
                ranks[hit.id] = ranks.get(hit.id, 0) + 1 / (60 + rank)
        fused = {hit.id: hit.score for hit in backend.search("ship and dogs", k=20, method="rrf")}
        assert fused == pytest.approx(ranks)

    def test_explanations_add_up_to_the_score(self, backend: SearchBackend) -> None:
        for method in [name for name in self.methods if name in EXPLAINED_METHODS]:
            for query in ("ship", "dogs, an ocean and a zeppelin"):
                hits = backend.search(query, method=method, explain=True)
                assert self.ids(hits) == self.ids(backend.search(query, method=method))
                assert hits
                for hit in hits:
                    assert hit.explanation is not None
                    assert hit.explanation.score == pytest.approx(hit.score, rel=0.02)  # clusters store 9 bits
                    assert sum(hit.explanation.parts.values()) == pytest.approx(hit.explanation.score)
                    shares = sum(match.share for match in hit.explanation.matches)
                    assert shares == pytest.approx(hit.explanation.score)
        for method in ("tfidf", "rrf"):
            with pytest.raises(CptwError, match="explain needs one of the methods 'cptw'"):
                backend.search("ship", method=method, explain=True)

    def test_explanations_name_the_words_that_were_learned(self, backend: SearchBackend) -> None:
        if "hybrid+feedback" not in self.methods:
            pytest.skip("this backend learns no words")
        hits = {hit.id: hit.explanation for hit in backend.search("bark", method="hybrid+feedback", explain=True)}
        taught = hits["d"]
        assert taught is not None
        assert {match.document_term: match.kind for match in taught.matches} == {
            "bark": "direct",
            "cat": "learned",
            "dog": "learned",
        }
        assert taught.parts["learned"] == pytest.approx(LEARNED_SHARE, rel=0.02)
        other = hits["c"]  # which has no word of the query, nor one that is close
        assert other is not None
        assert {match.document_term: match.kind for match in other.matches} == {"cat": "learned", "dog": "learned"}

    def test_an_empty_index_finds_nothing(self) -> None:
        backend = self.make(fitted(), [])
        assert backend.count() == 0
        assert backend.get("a") is None
        for method in self.methods:
            assert backend.search("ship", method=method) == []
