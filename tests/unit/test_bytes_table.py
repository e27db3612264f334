from pathlib import Path

import pytest

from cptw_search import storage
from cptw_search.bytes_table import BytesTable
from cptw_search.errors import CorruptedError

STRINGS = [b"", b"boat", b"boats", b"\xc3\xbc"]


def test_it_is_a_sequence() -> None:
    table = BytesTable.of(STRINGS)
    assert list(table) == STRINGS
    assert table[1:3] == [b"boat", b"boats"]
    assert [table[i] for i in range(len(table))] == STRINGS
    for position in (-1, 4):
        with pytest.raises(IndexError, match=str(position)):
            table[position]


def test_sorted_tables_are_searched() -> None:
    table = BytesTable.of(STRINGS)
    assert [table.find(string) for string in STRINGS] == [0, 1, 2, 3]
    assert table.find(b"boa") == table.find(b"\xff") == -1
    assert [table.bisect(string) for string in (b"a", b"boatr", b"\xff")] == [1, 2, 4]
    assert BytesTable.of([]).find(b"") == -1


def test_files_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    files = {**BytesTable.of(STRINGS).files("t"), "t_ends.npy": BytesTable.of([b"x"]).ends}
    folder, table = storage.write_folder(tmp_path, files)
    with pytest.raises(CorruptedError, match="t_ends.npy must end where t_blob.npy does, at 11. It ends at 1"):
        BytesTable.open(storage.check_files(tmp_path, folder, table), "t")
