"""Indices on real servers keep the contract of the embedded engine, in every placement."""

from __future__ import annotations

import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import ClassVar

import pytest
from cluster_documents import load
from contract import BackendContract

from cptw_queries import ClusterIndex
from cptw_search import Cptw
from cptw_search.cluster import ClusterClient, connect

pytestmark = pytest.mark.servers


class ClusterContract(BackendContract):
    methods: ClassVar[list[str]] = ["cptw", "bm25", "hybrid", "hybrid+feedback", "rrf"]
    server = ""
    placement = "query"
    made: ClassVar[dict[tuple[str, ...], str]]
    indices: ClassVar[list[str]]

    @pytest.fixture(autouse=True, scope="class")
    @classmethod
    def _connect(cls, request: pytest.FixtureRequest) -> Iterator[None]:
        with connect(request.getfixturevalue(cls.server).url) as client:
            cls.client: ClusterClient = client
            cls.made, cls.indices = {}, []
            yield
            for index in cls.indices:
                client.request("DELETE", f"/{index}")

    def make(self, model: Cptw, documents: Iterable[Mapping[str, object]]) -> ClusterIndex:
        documents = list(documents)
        key = (model.model_id, *(str(document["id"]) for document in documents))
        if key not in self.made:  # tests only read: one index serves all of a class
            name = self.made[key] = f"cptw-test-{uuid.uuid4().hex}"
            self.indices.append(load(self.client, name, model, documents, placement=self.placement))
        return ClusterIndex(self.client, self.made[key], model)


class TestElasticsearch7(ClusterContract):
    """rank_features."""

    server = "elasticsearch7"


class TestElasticsearch7Both(TestElasticsearch7):
    placement = "both"


class TestElasticsearch7Document(TestElasticsearch7):
    placement = "document"


class TestElasticsearch9(ClusterContract):
    """sparse_vector."""

    server = "elasticsearch9"


class TestElasticsearch9Both(TestElasticsearch9):
    placement = "both"


class TestElasticsearch9Document(TestElasticsearch9):
    placement = "document"


class TestOpenSearch3(ClusterContract):
    """rank_features."""

    server = "opensearch3"


class TestOpenSearch3Both(TestOpenSearch3):
    placement = "both"


class TestOpenSearch3Document(TestOpenSearch3):
    placement = "document"
