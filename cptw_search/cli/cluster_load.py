"""Documents into an index on a cluster: the part of ``cptw index`` that --name asks for."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from cptw_search.cli.cluster_options import Cluster, load_model, pruning, refuse
from cptw_search.cli.options import FieldType, Placement
from cptw_search.cli.stored_texts import main_field

if TYPE_CHECKING:
    from cptw_indexer import ClusterIndexer, LoadSummary
    from cptw_search.cli.reading import DocumentReader
    from cptw_search.cluster import ClusterClient

__all__ = ["ClusterLoad", "print_load"]

SHOWN_REJECTIONS = 5


@dataclass(frozen=True)
class ClusterLoad:
    """What is to be done; each field but the first three is an option of ``cptw index``.

    Parameters
    ----------
    cluster : Cluster
        Where.
    reader : DocumentReader
        The documents of the command line, if there are any.
    model_dir : Path or None
        The model.
    add : bool
        Add to the index that is served.
    create : bool
        Make an empty one first, where there is none.
    update : bool
        Add, in place of documents with the same ids.
    replace : bool
        Make a new index in place of the one that is served.
    resume : bool
        Go on with a load that was interrupted.
    in_place : bool
        Add the weights to the index of that name itself.
    from_name : str or None
        Take the documents of this index.
    placement : Placement or None
        Where the propagation is done.
    field_type : FieldType or None
        How weights are stored.
    document_max_terms : int or None
        What is kept of a document.
    shards : int or None
        Primary shards.
    replicas : int or None
        Copies of each.
    processes : int or None
        How many processes expand documents.
    rejected : Path or None
        Where rejected documents are written down.
    """

    cluster: Cluster
    reader: DocumentReader
    model_dir: Path | None
    add: bool
    create: bool
    update: bool
    replace: bool
    resume: bool
    in_place: bool
    from_name: str | None
    placement: Placement | None
    field_type: FieldType | None
    document_max_terms: int | None
    shards: int | None
    replicas: int | None
    processes: int | None
    rejected: Path | None

    def check(self) -> None:
        """Raise if the options do not go together.

        Raises
        ------
        typer.BadParameter
            Naming one that is too much, or missing.
        """
        ways = {"--add": self.add, "--update": self.update, "--replace": self.replace, "--in-place": self.in_place}
        if len(chosen := [way for way, is_chosen in ways.items() if is_chosen]) > 1:
            raise typer.BadParameter(f"give only one of {' and '.join(chosen)}.", param_hint=chosen[0])
        if self.create and not self.add:
            raise typer.BadParameter(
                "this goes with --add, for documents to put into the index.", param_hint="--create"
            )
        of_new = {"--shards": self.shards, "--replicas": self.replicas}
        of_load = {"--resume": self.resume, "--processes": self.processes}
        if self.add or self.update:
            stored: dict[str, object] = {
                "--placement": self.placement,
                "--field-type": self.field_type,
                "--document-max-terms": self.document_max_terms,
            }
            refused: dict[str, object] = {"--processes": self.processes} if self.add else dict(of_load)
            if not self.create:
                refused = {**stored, **of_new, **refused}
            refuse("this is for a new index, and not for adding to one.", refused)
        sources = bool(self.reader.sources) + (self.from_name is not None)
        if self.in_place:
            refuse("this is for a new index, and not for one that is changed in place.", {**of_new, **of_load})
            if sources:
                raise typer.BadParameter(
                    "the documents are those of the index itself: give none.", param_hint="--in-place"
                )
        elif sources != 1:
            raise typer.BadParameter("give either documents or --from an index.", param_hint="DOCUMENTS")

    def run(self) -> tuple[LoadSummary, dict[str, Any]]:
        """Do it.

        Returns
        -------
        summary : LoadSummary
            What became of the documents.
        facts : dict
            The same as plain data, for the user.

        Raises
        ------
        typer.BadParameter
            If the options do not go together.
        CptwError
            If anything fails.
        """
        from cptw_indexer import ClusterIndexer
        from cptw_indexer.scan import count_documents
        from cptw_search.errors import LoadError

        self.check()
        name, model = self.cluster.needed_name(), load_model(self.model_dir)
        with self.cluster.connected() as client:
            indexer = ClusterIndexer(
                client,
                name,
                model,
                placement=(self.placement or Placement.query).value,
                field_type=(self.field_type or FieldType.auto).value,
                pruning=pruning(self.document_max_terms),
                n_shards=1 if self.shards is None else self.shards,
                n_replicas=1 if self.replicas is None else self.replicas,
            )
            try:
                summary = self._write(indexer)
            except LoadError as error:
                raise LoadError(str(error).replace("resume=True", "--resume"), index=error.index) from error
            n_docs = count_documents(client, summary.index)
        facts = {
            "name": name,
            "index": summary.index,
            "n_read": summary.n_read,
            "n_indexed": summary.n_indexed,
            "n_skipped": summary.n_skipped,
            "n_rejected": summary.n_rejected,
            "n_docs": n_docs,
            "model_id": model.model_id,
            "seconds": summary.seconds,
        }
        return summary, facts

    def _write(self, indexer: ClusterIndexer) -> LoadSummary:
        if self.in_place:
            return indexer.add_to_existing(rejected_file=self.rejected)
        if not (self.add or self.update or self.replace):
            _refuse_served(indexer)
        self.reader.text_field = main_field(indexer.model)
        with self._documents(indexer.client) as documents:
            if self.add:
                if self.create:
                    indexer.create()
                return indexer.add(documents, resume=self.resume, rejected_file=self.rejected)
            if self.update:
                return indexer.update(documents, rejected_file=self.rejected)
            n_processes = 1 if self.processes is None else self.processes
            return indexer.load(documents, resume=self.resume, rejected_file=self.rejected, n_processes=n_processes)

    @contextmanager
    def _documents(self, client: ClusterClient) -> Iterator[Iterator[dict[str, Any]]]:
        from cptw_indexer.scan import scan
        from cptw_queries.layout import read_mapping

        if self.from_name is not None:
            yield scan(client, read_mapping(client, self.from_name)[0])
        else:
            with self.reader.reading() as documents:
                yield documents


def _refuse_served(indexer: ClusterIndexer) -> None:
    """Raise where documents are served already: to take them away must be said."""
    from cptw_indexer.aliases import current_index
    from cptw_search.errors import InvalidInputError

    served = current_index(indexer.client, indexer.name)
    if served is not None:
        raise InvalidInputError(
            f"{indexer.name!r} must be free for a first load. It is served by {served}: say --add or --update to add to that, "
            "or --replace to put a new index in its place."
        )


def print_load(summary: LoadSummary, facts: dict[str, Any], *, as_json: bool) -> None:
    """Say what became of the documents, and end with status 1 if some were rejected.

    Parameters
    ----------
    summary : LoadSummary
        What became of them.
    facts : dict
        What `ClusterLoad.run` gave.
    as_json : bool
        For a program.

    Raises
    ------
    typer.Exit
        If documents were rejected.
    """
    from cptw_search.cli.output import counted, message, print_facts, print_json

    if as_json:
        print_json(facts)
    else:
        print_facts(
            {
                "name": facts["name"],
                "index": summary.index,
                "read": counted(summary.n_read, "document"),
                "indexed": counted(summary.n_indexed, "document"),
                "skipped": f"{counted(summary.n_skipped, 'document')}, there already" if summary.n_skipped else "",
                "rejected": counted(summary.n_rejected, "document") if summary.n_rejected else "",
                "holds": counted(facts["n_docs"], "document"),
                "took": f"{summary.seconds:.1f} s, {summary.rate:,.0f} documents a second",
            }
        )
    for rejection in summary.rejected[:SHOWN_REJECTIONS]:
        message(f"rejected {rejection.id!r}: {rejection.reason}")
    if (more := summary.n_rejected - SHOWN_REJECTIONS) > 0:
        message(f"rejected {more:,} more; --rejected FILE writes all of them down")
    if summary.n_rejected:
        raise typer.Exit(1)
