"""The embedded engine keeps the contract, in memory, from the disk, in every placement."""

from collections.abc import Iterable, Mapping
from pathlib import Path

import pytest
from contract import BackendContract

from cptw_search import Cptw, EmbeddedIndex


class TestInMemory(BackendContract):
    placement = "query"

    def make(self, model: Cptw, documents: Iterable[Mapping[str, object]]) -> EmbeddedIndex:
        return EmbeddedIndex.build(model, documents, placement=self.placement)


class TestPropagatedOnBothSides(TestInMemory):
    placement = "both"


class TestPropagatedDocuments(TestInMemory):
    placement = "document"


class TestFromDisk(BackendContract):
    @pytest.fixture(autouse=True)
    def _directory(self, tmp_path: Path) -> None:
        self.path = tmp_path / "index"

    def make(self, model: Cptw, documents: Iterable[Mapping[str, object]]) -> EmbeddedIndex:
        EmbeddedIndex.build(model, documents, path=self.path).close()
        return EmbeddedIndex.open(self.path)


class TestOfManySegments(BackendContract):
    def make(self, model: Cptw, documents: Iterable[Mapping[str, object]]) -> EmbeddedIndex:
        index = EmbeddedIndex(model)
        for document in documents:
            index.add([document])
        return index
