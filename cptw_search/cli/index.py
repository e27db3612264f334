"""``cptw index``: make documents searchable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.commands import Command
from cptw_search.cli.options import (
    AsJson,
    Columns,
    DocumentSources,
    Format,
    FormatName,
    Placement,
    PrefixIds,
    Rename,
    Strict,
)

if TYPE_CHECKING:
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.pruning import Pruning

__all__ = ["COMMAND", "index"]


def index(
    documents: DocumentSources,
    index_dir: Annotated[
        Path,
        typer.Option(
            "--index",
            metavar="DIR",
            help="The index: made if there is none, otherwise added to.",
            show_default=False,
        ),
    ],
    model_dir: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="DIR",
            help="The model for a new index, made by: cptw fit. Without it a model with the default settings is fitted "
            "on the documents first, which are then read twice.",
            show_default=False,
        ),
    ] = None,
    update: Annotated[
        bool, typer.Option("--update", help="Replace documents that have the same ids as new ones.")
    ] = False,
    prefix_ids: PrefixIds = False,
    placement: Annotated[
        Placement | None,
        typer.Option(
            help="Of a new index: where the propagation is done. The ranking is the same; query is the smallest, "
            "document has the shortest queries.  [default: query]",
            show_default=False,
        ),
    ] = None,
    document_max_terms: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Of a new index with placement both or document: keep the N heaviest terms of a document.",
            show_default=False,
        ),
    ] = None,
    query_max_terms: Annotated[
        int | None,
        typer.Option(metavar="N", help="Of a new index: keep the N heaviest terms of a query.", show_default=False),
    ] = None,
    file_format: Format = FormatName.auto,
    columns: Columns = None,
    rename: Rename = None,
    strict: Strict = False,
    as_json: AsJson = False,
) -> None:
    """Make documents searchable: build an index, or add to one.

    Every document has an id; one without gets the number of its line. What is in the index stays as it is if anything
    goes wrong.
    """
    from cptw_search.cli.output import bytes_of_size, counted, print_facts, print_json
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.storage import MANIFEST

    reader = DocumentReader(documents, file_format, columns, rename, strict, prefix_ids)
    if (index_dir / MANIFEST).exists():
        _refuse_settings(placement=placement, document_max_terms=document_max_terms, query_max_terms=query_max_terms)
        opened, n_written = _add(reader, index_dir, model_dir, update=update)
    else:
        opened = _build(
            reader,
            index_dir,
            model_dir,
            placement=(placement or Placement.query).value,
            document_pruning=_pruning(document_max_terms),
            query_pruning=_pruning(query_max_terms),
        )
        n_written = opened.count()
    n_docs, model_id = opened.count(), opened.model.model_id
    opened.close()
    size = sum(file.stat().st_size for file in index_dir.rglob("*") if file.is_file())
    if as_json:
        facts = {"path": str(index_dir), "n_written": n_written, "n_docs": n_docs, "model_id": model_id}
        print_json({**facts, "size_bytes": size})
    else:
        print_facts(
            {
                "index": index_dir,
                "written": counted(n_written, "document"),
                "holds": counted(n_docs, "document"),
                "size": bytes_of_size(size),
            }
        )


def _refuse_settings(**settings: object) -> None:
    for name, value in settings.items():
        if value is not None:
            option = f"--{name.replace('_', '-')}"
            raise typer.BadParameter("this is for a new index, and there is one already.", param_hint=option)


def _pruning(max_terms: int | None) -> Pruning | None:
    from cptw_search.pruning import Pruning

    return None if max_terms is None else Pruning(max_terms=max_terms)


def _add(reader: DocumentReader, index_dir: Path, model_dir: Path | None, *, update: bool) -> tuple[EmbeddedIndex, int]:
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.model import Cptw

    opened = EmbeddedIndex.open(index_dir, model=None if model_dir is None else Cptw.load(model_dir))
    with reader.reading() as documents:
        n_written = opened.update(documents) if update else opened.add(documents)
    opened.save()
    return opened, n_written


def _build(reader: DocumentReader, index_dir: Path, model_dir: Path | None, **settings: object) -> EmbeddedIndex:
    from cptw_search.cli.fit import read_with_progress
    from cptw_search.cli.output import message
    from cptw_search.engine import EmbeddedIndex
    from cptw_search.model import Cptw

    if model_dir is not None:
        model = Cptw.load(model_dir)
    elif source := reader.once_only():
        raise typer.BadParameter(
            f"{source} can be read only once, and without a model the documents are read twice. Write them to a file, or "
            "fit a model first: cptw fit.",
            param_hint="--model",
        )
    else:
        message("fitting a model with the default settings first; for others use cptw fit, then --model")
        with reader.reading(report=False) as documents:
            model = Cptw().fit(read_with_progress(documents))
    with reader.reading() as documents:
        return EmbeddedIndex.build(model, documents, path=index_dir, **settings)  # type: ignore[arg-type]


COMMAND = Command(
    index,
    examples=(
        "cptw index news.jsonl --index index",
        "cptw index news.jsonl --index index --model model",
        "zcat more.jsonl.gz | cptw index - --index index --update",
    ),
)
