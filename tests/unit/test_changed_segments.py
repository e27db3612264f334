"""Index files that were changed, one by one: each is an error of ours that says what is wrong."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from cptw_search import Cptw, EmbeddedIndex, storage
from cptw_search.bytes_table import BytesTable
from cptw_search.errors import CorruptedError
from cptw_search.filters import FieldIndex
from cptw_search.segment import Segment

DOCUMENTS = [{"id": "a", "text": "boat", "label": "x"}, {"id": "b", "text": "ship", "label": "y"}]


@pytest.fixture
def segment() -> Segment:
    return EmbeddedIndex.build(Cptw(vectors=None).fit(DOCUMENTS), DOCUMENTS)._parts[0].segment


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("counts_ends.npy", lambda ends: ends[::-1].copy(), "counts_features.npy.* must belong together"),
        ("counts_docs.npy", lambda docs: docs[:1], "counts_features.npy.* must belong together"),
        ("field_ends.npy", lambda ends: ends[:1], "field_keys, field_ends.npy and field_docs.npy must belong together"),
        ("id_ranks.npy", lambda ranks: ranks[:1], "A segment of 2 documents must have as many of each"),
        ("text_lengths.npy", lambda lengths: lengths.astype(np.float32), "must hold float64 with 1 axes"),
    ],
)
def test_arrays_that_do_not_belong_together(
    segment: Segment, tmp_path: Path, name: str, change: Callable[[np.ndarray], np.ndarray], message: str
) -> None:
    files = segment.files()
    folder, table = storage.write_folder(tmp_path, {**files, name: change(files[name])})
    with pytest.raises(CorruptedError, match=message):
        Segment.open(storage.check_files(tmp_path, folder, table))


def test_positions_of_ids_out_of_range(segment: Segment) -> None:
    changed = replace(segment, id_positions=segment.id_positions + 7)
    with pytest.raises(CorruptedError, match="id_positions.npy names document . of 2"):
        changed.find("a")


def test_ids_documents_and_fields_that_are_not_readable(segment: Segment) -> None:
    broken = BytesTable.of([b"\xff", b"\xff"])
    with pytest.raises(CorruptedError, match="The stored id of document 0 is not readable"):
        replace(segment, ids=broken).id_of(0)
    for content in (b"\xff", b"{", b"[]"):
        with pytest.raises(CorruptedError, match="The stored text of document 0 is not readable"):
            replace(segment, documents=BytesTable.of([content, content])).document(0)
    with pytest.raises(CorruptedError, match="field_keys_blob.npy is not readable"):
        replace(segment.fields, keys=BytesTable.of([b"\xff\0sx", b"\xff\0sy"])).fields()


def test_lists_that_name_documents_that_are_not_there(segment: Segment) -> None:
    for docs in (segment.counts.docs + 9, segment.counts.docs - 9):
        lists = replace(segment.counts, docs=docs)
        with pytest.raises(CorruptedError, match="names a document that is not there"):
            lists.scores(lists.features, np.ones(len(lists.features)), 2)


def test_a_table_of_fields_out_of_order_does_not_go_round_in_circles() -> None:
    keys = BytesTable.of([b"b\0sx", b"a\0sx", b"b\0sy", b"a\0sy"])
    fields = FieldIndex(keys, np.arange(1, 5), np.zeros(4, dtype=np.int32)).fields()
    assert set(fields) <= {"a", "b"}
