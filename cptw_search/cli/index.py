"""``cptw index``: make documents searchable."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from cptw_search.cli.cluster_load import ClusterLoad, print_load
from cptw_search.cli.cluster_options import CaFile, Cluster, ClusterName, ConfigFile, User, pruning, refuse
from cptw_search.cli.commands import Command
from cptw_search.cli.options import (
    AsJson,
    Columns,
    DocumentSources,
    FieldType,
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
    from cptw_search.model import Cptw

__all__ = ["COMMAND", "index"]


def index(
    documents: DocumentSources = None,
    index_dir: Annotated[
        Path | None,
        typer.Option(
            "--index",
            metavar="DIR",
            help="The index: made if there is none, otherwise added to.",
            show_default=False,
        ),
    ] = None,
    model_dir: Annotated[
        Path | None,
        typer.Option(
            "--model",
            metavar="DIR",
            help="The model for a new index, made by: cptw fit. Without it a model with the default settings is fitted "
            "on the documents first, which are then read twice. On a cluster it is needed always.",
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
    to: Annotated[
        str | None,
        typer.Option(
            metavar="URL",
            help="An Elasticsearch or OpenSearch cluster, such as https://host:9200.  [default: $CPTW_URL, or the config "
            "file's]",
            show_default=False,
        ),
    ] = None,
    name: ClusterName = None,
    add: Annotated[
        bool,
        typer.Option("--add", help="With --name: add to the index that is served; ids that are there are rejected."),
    ] = False,
    create: Annotated[
        bool,
        typer.Option(
            "--create",
            help="With --add: make an empty index first if none is served. Many may do so at once, each with a part of the "
            "documents.",
        ),
    ] = False,
    replace: Annotated[
        bool,
        typer.Option(
            "--replace", help="With --name: a new index takes the place of the one that is served, in one step."
        ),
    ] = False,
    resume: Annotated[
        bool,
        typer.Option(
            "--resume",
            help="With --name: go on with a load of the same documents that was interrupted; with --add, pass over ids that "
            "are there.",
        ),
    ] = False,
    in_place: Annotated[
        bool,
        typer.Option(
            "--in-place",
            help="With --name: add the weights to that index itself, from the documents that it holds. Nothing is copied.",
        ),
    ] = False,
    from_name: Annotated[
        str | None,
        typer.Option(
            "--from",
            metavar="NAME",
            help="With --name, in place of DOCUMENTS: those that this index of the same cluster holds.",
            show_default=False,
        ),
    ] = None,
    rejected: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --name: write the ids of documents that do not get in here, with the reasons, as JSON lines.",
            show_default=False,
        ),
    ] = None,
    field_type: Annotated[
        FieldType | None,
        typer.Option(
            help="Of a new index on a cluster: how weights are stored; none is for BM25 alone.  [default: auto, "
            "rank_features where the server has them]",
            show_default=False,
        ),
    ] = None,
    shards: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Of a new index on a cluster: primary shards.  [default: 1]", show_default=False
        ),
    ] = None,
    replicas: Annotated[
        int | None,
        typer.Option(
            metavar="N", help="Of a new index on a cluster: copies of each shard.  [default: 1]", show_default=False
        ),
    ] = None,
    processes: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Of a new index on a cluster: processes that expand documents.  [default: 1]",
            show_default=False,
        ),
    ] = None,
    user: User = None,
    ca_file: CaFile = None,
    config_file: ConfigFile = None,
) -> None:
    """Make documents searchable: build an index, or add to one.

    Every document has an id; one without gets the number of its line. What is in the index stays as it is if anything
    goes wrong. With --name the index is on a cluster: a new one behind the alias of that name, which is searched when all
    documents are in. The status is then 1 if documents were rejected.
    """
    from cptw_search.cli.output import bytes_of_size, counted, print_facts, print_json
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.storage import MANIFEST

    reader = DocumentReader(documents or [], file_format, columns, rename, strict, prefix_ids)
    cluster = Cluster(to, name, user, ca_file, config_file, "--to")
    if cluster.is_meant:
        refuse("give either a directory (--index) or a name on a cluster (--name), not both.", {"--index": index_dir})
        refuse("on a cluster this is said to cptw search.", {"--query-max-terms": query_max_terms})
        load = ClusterLoad(
            cluster,
            reader,
            model_dir,
            add=add,
            create=create,
            update=update,
            replace=replace,
            resume=resume,
            in_place=in_place,
            from_name=from_name,
            placement=placement,
            field_type=field_type,
            document_max_terms=document_max_terms,
            shards=shards,
            replicas=replicas,
            processes=processes,
            rejected=rejected,
        )
        print_load(*load.run(), as_json=as_json)
        return
    cluster.refuse()
    refuse(
        "this is for a cluster, which needs --name.",
        {
            "--add": add,
            "--create": create,
            "--replace": replace,
            "--resume": resume,
            "--in-place": in_place,
            "--from": from_name,
            "--rejected": rejected,
            "--field-type": field_type,
            "--shards": shards,
            "--replicas": replicas,
            "--processes": processes,
        },
    )
    if index_dir is None:
        raise typer.BadParameter("give the index: a directory, or --name for one on a cluster.", param_hint="--index")
    if not documents:
        raise typer.BadParameter("give files of documents, folders, or - for standard input.", param_hint="DOCUMENTS")
    if (index_dir / MANIFEST).exists():
        refuse(
            "this is for a new index, and there is one already.",
            {
                "--placement": placement,
                "--document-max-terms": document_max_terms,
                "--query-max-terms": query_max_terms,
            },
        )
        opened, n_written = _add(reader, index_dir, model_dir, update=update)
    else:
        opened = _build(
            reader,
            index_dir,
            model_dir,
            placement=(placement or Placement.query).value,
            document_pruning=pruning(document_max_terms),
            query_pruning=pruning(query_max_terms),
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
    from cptw_search.purposes import model_for

    if model_dir is not None:
        model = _reading_texts(Cptw.load(model_dir))
    elif source := reader.once_only():
        raise typer.BadParameter(
            f"{source} can be read only once, and without a model the documents are read twice. Write them to a file, or "
            "fit a model first: cptw fit.",
            param_hint="--model",
        )
    else:
        message("fitting a model for search with the default settings first; for others use cptw fit, then --model")
        with reader.reading(report=False) as documents:
            model = model_for("search").fit(read_with_progress(documents))
    with reader.reading() as documents:
        return EmbeddedIndex.build(model, documents, path=index_dir, **settings)  # type: ignore[arg-type]


def _reading_texts(model: Cptw) -> Cptw:
    from cptw_search.analysis import FIELD_TOKENS
    from cptw_search.errors import InvalidInputError

    if model.analyzer_fitted == FIELD_TOKENS:
        raise InvalidInputError(
            "--model must make its terms itself. This one was fitted on the tokens of a cluster's field: fit one with an "
            "--analyzer."
        )
    return model


COMMAND = Command(
    index,
    examples=(
        "cptw index news.jsonl --index index",
        "cptw index news.jsonl --index index --model model",
        "zcat more.jsonl.gz | cptw index - --index index --update",
        "cptw index news.jsonl --to https://host:9200 --name news --model model",
        "cptw index today.jsonl --to https://host:9200 --name news --model model --update",
        "cptw index part-1.jsonl --to https://host:9200 --name news --model model --add --create --shards 12",
        "cptw index --from articles --to https://host:9200 --name articles-cptw --model model",
    ),
)
