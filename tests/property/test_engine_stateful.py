"""Any sequence of add, update, delete, merge, save and open: the engine finds what a dense computation finds."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, precondition, rule
from strategies import WEIGHTINGS, Case, cases, texts

from cptw_search import Cptw, EmbeddedIndex
from cptw_search.errors import InvalidInputError

LABELS = ["x", "y", "z"]
IDS = [f"d{number}" for number in range(12)]
METHODS = ["cptw", "bm25", "tfidf", "hybrid", "rrf"]

documents = st.fixed_dictionaries(
    {"id": st.sampled_from(IDS), "text": texts.map(lambda text: text + " extra"), "label": st.sampled_from(LABELS)},
    optional={"title": texts, "size": st.integers(-2, 2)},
)
batches = st.lists(documents, max_size=5, unique_by=lambda document: document["id"])
filters = st.one_of(
    st.none(),
    st.fixed_dictionaries({"label": st.sampled_from(LABELS)}),
    st.fixed_dictionaries({"label": st.lists(st.sampled_from(LABELS))}),
    st.fixed_dictionaries({"size": st.fixed_dictionaries({"gte": st.integers(-2, 2)})}),
)


def dense_scores(model: Cptw, query: str, stored: dict[str, dict[str, object]], method: str) -> dict[str, float]:
    """Scores of all documents, by dense vectors over all words that occur."""
    ids = sorted(stored)
    if not ids:
        return {}
    if method == "cptw":
        rows, row = model.represent([stored[i] for i in ids]), model.represent([query], side="query")
        scores = _product(model, rows, row)
        return dict(zip(ids, scores.tolist(), strict=True))
    counts, asked = model.count([stored[i] for i in ids]), model.count([query])
    known = len(model.vocabulary_)
    df = np.concatenate([model.df_, np.ones(len(counts.unknown))])
    tf = counts.matrix.toarray()
    names = [*model.vocabulary_, *counts.unknown]
    q = np.zeros(len(names))
    q[:known] = asked.matrix.toarray()[0, :known]
    for position, word in enumerate(asked.unknown):
        if word in names:
            q[names.index(word)] = asked.matrix.toarray()[0, known + position]
    q_elsewhere = asked.matrix.toarray()[0, known:][[word not in names for word in asked.unknown]]
    if method == "bm25":
        length = tf.sum(axis=1, keepdims=True)
        weights = tf * 2.2 / (tf + 1.2 * (0.25 + 0.75 * length / model.average_length_))
        scores = weights @ (q * np.log(1 + (model.n_docs_ - df + 0.5) / (df + 0.5)))
    else:
        idf = np.log(model.n_docs_ / df)
        lengths = np.linalg.norm(tf * idf, axis=1)
        q_length = np.hypot(np.linalg.norm(q * idf), np.linalg.norm(q_elsewhere * np.log(model.n_docs_)))
        products = (tf * idf) @ (q * idf)
        scores = np.divide(products, lengths * q_length, where=lengths * q_length > 0, out=np.zeros(len(ids)))
    return dict(zip(ids, scores.tolist(), strict=True))


def _product(model, rows, row) -> np.ndarray:
    known = len(model.vocabulary_)
    scores = rows.matrix[:, :known].toarray() @ row.matrix[:, :known].toarray()[0]
    for position, word in enumerate(row.unknown):
        if word in rows.unknown:
            column = rows.matrix[:, [known + rows.unknown.index(word)]].toarray()[:, 0]
            scores = scores + column * row.matrix[0, known + position]
    return scores


def passes(document: dict[str, object], conditions: dict | None) -> bool:
    if conditions is None:
        return True
    ((field, condition),) = conditions.items()
    value = document.get(field)
    if isinstance(condition, dict):
        return value is not None and value >= condition["gte"]
    return value in condition if isinstance(condition, list) else value == condition


class EngineMachine(RuleBasedStateMachine):
    """Mirrors the index in a dict."""

    queries = Bundle("queries")

    @initialize(
        case=cases(weightings=WEIGHTINGS),
        placement=st.sampled_from(["query", "both", "document"]),
    )
    def start(self, case: Case, placement: str) -> None:
        self.model = case.model().fit(case.documents)
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name) / "index"
        self.index = EmbeddedIndex(self.model, placement=placement)
        self.now: dict[str, dict[str, object]] = {}
        self.on_disk: dict[str, dict[str, object]] | None = None

    @rule(batch=batches)
    def add(self, batch: list[dict[str, object]]) -> None:
        if any(document["id"] in self.now for document in batch):
            with pytest.raises(InvalidInputError, match="id must be new"):
                self.index.add(batch)
            return
        assert self.index.add(batch) == len(batch)
        self.now.update({str(document["id"]): document for document in batch})

    @rule(batch=batches)
    def update(self, batch: list[dict[str, object]]) -> None:
        assert self.index.update(batch) == len(batch)
        self.now.update({str(document["id"]): document for document in batch})

    @rule(batch=batches.filter(bool))
    def add_the_same_id_twice(self, batch: list[dict[str, object]]) -> None:
        with pytest.raises(InvalidInputError, match="id must be its own. Got two"):
            self.index.update([*batch, batch[0]])

    @rule(ids=st.lists(st.sampled_from(IDS)))
    def delete(self, ids: list[str]) -> None:
        assert self.index.delete(ids) == len(set(ids) & set(self.now))
        for doc_id in ids:
            self.now.pop(doc_id, None)

    @rule()
    def merge(self) -> None:
        self.index.merge()

    @rule()
    def save(self) -> None:
        self.index.save(self.path)
        self.on_disk = dict(self.now)

    @precondition(lambda self: self.on_disk is not None)
    @rule(verify=st.booleans())
    def open(self, verify: bool) -> None:
        self.index.close()
        self.index = EmbeddedIndex.open(self.path, verify=verify)
        self.now = dict(self.on_disk or {})

    @precondition(lambda self: self.on_disk is not None)
    @rule(query=texts)
    def a_reader_sees_what_was_saved(self, query: str) -> None:
        reader = EmbeddedIndex.open(self.path)
        assert {document["id"]: document for document in reader.documents()} == self.on_disk

    @rule(query=texts, extra=st.sampled_from(["", " extra", " nowhere"]), conditions=filters, k=st.integers(1, 15))
    def search(self, query: str, extra: str, conditions: dict | None, k: int) -> None:
        query += extra
        allowed = {doc_id: document for doc_id, document in self.now.items() if passes(document, conditions)}
        scores = {m: dense_scores(self.model, query, allowed, m) for m in ("cptw", "bm25", "tfidf")}
        for method in METHODS:
            try:
                hits = self.index.search(query, k, method=method, filter=conditions)
            except InvalidInputError:
                assert conditions is not None
                assert not any(field in document for document in self.now.values() for field in conditions)
                return
            assert len({hit.id for hit in hits}) == len(hits)
            if method == "rrf":
                assert {hit.id for hit in hits} <= set(allowed)
                continue
            expected = self.mixed(scores) if method == "hybrid" else scores[method]
            positive = sorted((score for score in expected.values() if score > 1e-6), reverse=True)
            np.testing.assert_allclose(
                [hit.score for hit in hits if hit.score > 1e-6], positive[:k], rtol=1e-5, atol=1e-7, err_msg=method
            )
            for hit in hits:
                assert hit.score == pytest.approx(expected[hit.id], rel=1e-5, abs=1e-7)
                assert {"id": hit.id, **hit.fields} == self.now[hit.id]

    @staticmethod
    def mixed(scores: dict[str, dict[str, float]]) -> dict[str, float]:
        best = {name: max([0.0, *scores[name].values()]) for name in ("cptw", "bm25")}
        factors = {
            "cptw": 0.3 / best["cptw"] if best["cptw"] > 0 else 0,
            "bm25": 0.7 / best["bm25"] if best["bm25"] > 0 else 0,
        }
        return {i: sum(factors[m] * max(scores[m][i], 0) for m in factors) for i in scores["cptw"]}

    @invariant()
    def the_documents_are_there(self) -> None:
        if not hasattr(self, "index"):
            return
        assert len(self.index) == len(self.now)
        assert {document["id"]: document for document in self.index.documents()} == self.now
        for doc_id in IDS[:3]:
            assert self.index.get(doc_id) == self.now.get(doc_id)

    def teardown(self) -> None:
        if hasattr(self, "index"):
            self.index.close()
            self.folder.cleanup()


EngineMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=25, deadline=None)
TestEngine = EngineMachine.TestCase
