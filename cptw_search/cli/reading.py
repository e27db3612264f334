"""Documents from the files of a command line, with what was wrong in them."""

from __future__ import annotations

import stat
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from cptw_search.cli.options import FormatName, parse_pairs
from cptw_search.cli.output import message, safe
from cptw_search.documents import Problems, read_documents

__all__ = ["DocumentReader"]

STANDARD_INPUT = "-"


@dataclass
class DocumentReader:
    """The documents of one or several files.

    Parameters
    ----------
    sources : sequence of str
        Files, folders, or ``-``.
    file_format : FormatName, default auto
        As for `read_documents`.
    columns : str, optional
        Names with commas between them.
    rename : sequence of str, optional
        Pairs such as ``body=text``.
    strict : bool, default False
        As for `read_documents`.
    prefix_ids : bool, default False
        Put the file's name before every id.
    text_field : str, default "text"
        What the text is called in the files, and in what is given; a plain ``text`` will do in the files as well.
    """

    sources: Sequence[str]
    file_format: FormatName = FormatName.auto
    columns: str | None = None
    rename: Sequence[str] | None = None
    strict: bool = False
    prefix_ids: bool = False
    text_field: str = "text"
    _renamed: dict[str, str] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._renamed = parse_pairs(self.rename, "--rename")

    @contextmanager
    def reading(self, *, report: bool = True) -> Iterator[Iterator[dict[str, object]]]:
        """Give the documents, and say at the end what was wrong with them, whatever happens.

        Parameters
        ----------
        report : bool, default True
            Say it; not for the second time that the same files are read.

        Yields
        ------
        iterator of dict
            The documents of all files, one file after the other.
        """
        problems = Problems()
        try:
            yield self._documents(problems)
        finally:
            if report:
                _report(problems)

    def _documents(self, problems: Problems) -> Iterator[dict[str, object]]:
        renamed = self._renamed if self.text_field == "text" else {self.text_field: "text", **self._renamed}
        columns = None if self.columns is None else [name.strip() for name in self.columns.split(",")]
        # Opened before anything is read: a name that is mistyped is to be known at once.
        opened = [
            read_documents(
                source,
                format=self.file_format.value,
                columns=columns,
                rename=renamed,
                strict=self.strict,
                problems=problems,
            )
            for source in self.sources
        ]
        return self._chain(opened)

    def _chain(self, opened: Sequence[Iterator[dict[str, object]]]) -> Iterator[dict[str, object]]:
        for source, documents in zip(self.sources, opened, strict=True):
            name = "stdin" if source == STANDARD_INPUT else Path(source).name
            for document in documents:
                if self.text_field != "text":
                    document[self.text_field] = document.pop("text")
                yield {**document, "id": f"{name}:{document['id']}"} if self.prefix_ids else document

    def once_only(self) -> str | None:
        """Find a source that cannot be read twice.

        Returns
        -------
        str or None
            Standard input or a pipe.
        """
        for source in self.sources:
            if source == STANDARD_INPUT:
                return "standard input"
            path = Path(source)
            if path.exists() and not stat.S_ISREG(path.stat().st_mode) and not path.is_dir():
                return source
        return None


def _report(problems: Problems) -> None:
    if not (problems.count or problems.n_replaced or problems.n_empty):
        return
    for problem in problems.examples:
        print(safe(str(problem)), file=sys.stderr)
    if (more := problems.count + problems.n_replaced - len(problems.examples)) > 0:
        print(f"... and {more:,} more", file=sys.stderr)
    message(str(replace(problems, examples=[])))
