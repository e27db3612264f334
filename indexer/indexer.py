"""`ClusterIndexer`: documents, expanded by a model, into a cluster, while what is there goes on serving."""

from __future__ import annotations

import contextlib
import copy
import os
import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from cptw_indexer.aliases import (
    IndexRecord,
    check_acknowledged,
    current_index,
    delete_indices,
    find_indices,
    find_old,
    new_index_name,
    resolve,
    swap,
    with_sizes,
)
from cptw_indexer.bodies import Encoder, deletion
from cptw_indexer.loader import BulkSender, Retries, Sent
from cptw_indexer.mapping import (
    Layout,
    added_mapping,
    choose_field_type,
    index_body,
    make_meta,
    served_settings,
)
from cptw_indexer.pipeline import Pipeline
from cptw_indexer.scan import count_documents, find_ids, scan
from cptw_indexer.summary import LoadSummary, rejection_writer
from cptw_search.analysis import FIELD_TOKENS
from cptw_search.cluster import ClusterClient, check_index_name, make_path
from cptw_search.cluster_answers import read_part
from cptw_search.cluster_names import INDEX_FORMAT
from cptw_search.counting import Document
from cptw_search.document_ids import check_id
from cptw_search.errors import (
    ClusterError,
    FormatVersionError,
    InvalidInputError,
    LoadError,
    MissingIndexError,
    ModelMismatchError,
    RejectedError,
)
from cptw_search.model import Cptw
from cptw_search.progress import progress_bar
from cptw_search.pruning import Pruning

__all__ = ["ClusterIndexer"]

_SECONDS_FOR_REPLICAS = 60
_AGAIN = "Doing it once more does no harm."


class ClusterIndexer:
    """The write path to one name on a cluster.

    `load` makes a new index and points the alias at it when all documents are in; `add`, `update` and `delete` change
    what the alias points at, and `create` makes that for many to add to. A load keeps the ids that it has seen in memory, some 100 bytes each.

    Parameters
    ----------
    client : ClusterClient
        Made by `cptw_search.cluster.connect`.
    name : str
        The alias that is searched; for an index that was there before, its own name.
    model : Cptw
        A fitted model.
    placement : {"query", "both", "document"}, default "query"
        Where the propagation is done. The ranking is the same; ``"query"`` has the smallest index, ``"document"`` the
        shortest queries.
    field_type : {"auto", "rank_features", "sparse_vector", "none"}, default "auto"
        How weighted terms are stored. ``"auto"``: rank_features where the server has them. ``"none"``: not at all, for
        BM25 only.
    pruning : Pruning, optional
        What is kept of propagated documents.
    n_shards : int, default 1
        Primary shards of new indices.
    n_replicas : int, default 1
        Copies of each shard while an index serves.
    n_replicas_loading : int, default 0
        Copies while it is loaded. With none a load is fastest, and a node that is lost for good has to be waited for.
    retries : Retries, optional
        How long a server that does not answer is waited for; 5 minutes by default.

    Examples
    --------
    ::

        with connect("http://localhost:9200") as client:
            summary = ClusterIndexer(client, "news", model).load(documents)
    """

    def __init__(
        self,
        client: ClusterClient,
        name: str,
        model: Cptw,
        *,
        placement: str = "query",
        field_type: str = "auto",
        pruning: Pruning | None = None,
        n_shards: int = 1,
        n_replicas: int = 1,
        n_replicas_loading: int = 0,
        retries: Retries | None = None,
    ) -> None:
        _check_model(model)
        for what, number, least in (
            ("n_shards", n_shards, 1),
            ("n_replicas", n_replicas, 0),
            ("n_replicas_loading", n_replicas_loading, 0),
        ):
            if not isinstance(number, int) or isinstance(number, bool) or number < least:
                raise InvalidInputError(f"{what} must be a whole number >= {least}. Got {number!r} instead.")
        self.client = client
        self.name = check_index_name(name, "The name of an alias")
        self.model = copy.copy(model)  # fitting the caller's object anew must not change what is written here
        self.layout = Layout(placement, choose_field_type(field_type, client.field_types()), pruning or Pruning())
        self.n_shards = n_shards
        self.n_replicas = n_replicas
        self.n_replicas_loading = n_replicas_loading
        self.retries = retries or Retries()

    # A whole collection -------------------------------------------------------------------------------------------

    def load(
        self,
        documents: Iterable[Document],
        *,
        resume: bool = False,
        rejected_file: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        n_processes: int = 1,
    ) -> LoadSummary:
        """Load documents into a new index, count them, and point the alias at it in one step.

        Until then the alias serves what it did. A load that fails or is killed leaves its index behind, marked as
        incomplete; `resume` goes on with it.

        Parameters
        ----------
        documents : iterable of mapping or str
            Mappings with ``id``, the model's text fields (``title``, ``text``) and anything else that JSON can hold. A
            plain string gets its number as id. Read once, in batches.
        resume : bool, default False
            Go on with the newest index that a load of the same model and layout left behind, if there is one: give it
            the same documents, and those that are there already are not sent again.
        rejected_file : str or path, optional
            Write the rejected documents' ids with the reasons here, one JSON object a line.
        progress : bool, optional
            Show a progress bar or not; by default where standard error is a terminal.
        n_processes : int, default 1
            How many processes expand documents. More than one need a main module that can be imported, as everything
            that uses multiprocessing does: ``if __name__ == "__main__":``.

        Returns
        -------
        LoadSummary
            What became of the documents.

        Raises
        ------
        InvalidInputError
            If the name is that of an index, or an argument cannot be used.
        LoadError
            If the load failed; what served before, serves still.
        """
        _check_iterable(documents)
        if not isinstance(n_processes, int) or isinstance(n_processes, bool) or n_processes < 1:
            raise InvalidInputError(f"n_processes must be a whole number >= 1. Got {n_processes!r} instead.")
        old = self.retries.run(lambda: current_index(self.client, self.name))
        found = self.retries.run(self._unfinished) if resume else None
        index, created = found or self._create()
        sender = BulkSender(self.client, index, retries=self.retries)
        pipeline = Pipeline(Encoder(self.model, self.layout), sender, n_processes)
        if found:
            pipeline.existing = lambda ids: self.retries.run(lambda: find_ids(self.client, index, ids))
        advice = f"{self.name!r} serves what it did before; load the same documents with resume=True to go on."
        return self._run(
            pipeline,
            documents,
            index,
            rejected_file,
            progress,
            lambda: self._finish(pipeline, index, created, old),
            advice,
        )

    def _create(self) -> tuple[str, str]:
        before = self.retries.run(lambda: find_indices(self.client, self.name))  # the newest first
        index, created = new_index_name(self.name, before[0].created if before else "")
        meta = make_meta(self.model.model_id, self.layout, self.name, created, complete=False)
        body = index_body(self.model, self.layout, meta, n_shards=self.n_shards, n_replicas=self.n_replicas_loading)
        path = make_path(check_index_name(index))

        def attempt() -> None:
            try:
                answer = self.client.request("PUT", path, body=body)
            except RejectedError as error:
                if "resource_already_exists" not in error.reason:  # else made by an earlier try, its answer lost
                    raise
            else:
                check_acknowledged(answer, f"The new index {index}")

        self.retries.run(attempt)
        return index, created

    def _unfinished(self) -> tuple[str, str] | None:
        """Find the newest index of ours that a load left behind."""
        for record in find_indices(self.client, self.name):  # the newest first
            if record.is_current:
                return None  # whatever is older was overtaken
            wanted = make_meta(self.model.model_id, self.layout, self.name, record.created, complete=record.is_complete)
            if not record.aliases and record.meta == wanted["cptw"]:
                return record.index, record.created
        return None

    def _finish(self, pipeline: Pipeline, index: str, created: str, old: str | None) -> None:
        """Count, and serve."""
        n_expected = pipeline.sent.n_done + pipeline.n_skipped
        if n_expected == 0 and old is not None:
            why = f" The first was rejected because: {pipeline.sent.rejections[0].reason}" if pipeline.n_read else ""
            raise LoadError(
                f"None of {pipeline.n_read:,} documents got in, so {self.name!r} goes on serving {old}.{why}",
                index=index,
            )
        n_found = self.retries.run(lambda: count_documents(self.client, index))
        if n_found != n_expected:
            raise LoadError(
                f"{index} must hold the {n_expected:,} documents that were sent. It holds {n_found:,}: start anew."
            )
        self._serve(index, created, old)

    def _serve(self, index: str, created: str, old: str | None) -> None:
        """Mark as complete, and swap."""
        meta = self._checked_meta(index, created)
        settings = served_settings(self.n_replicas)
        self._put(make_path(index, "_settings"), settings)
        self._wait_for_replicas(index)
        self._put(make_path(index, "_mapping"), {"_meta": meta})
        swap(self.client, self.name, old, index, self.retries)

    def _checked_meta(self, index: str, created: str) -> dict[str, Any]:
        there = self.retries.run(lambda: resolve(self.client, index))[1]
        meta = make_meta(self.model.model_id, self.layout, self.name, created, complete=True)
        if there.get("cptw") not in (meta["cptw"], {**meta["cptw"], "complete": False}):
            raise LoadError(
                f"{index} is not the index that the load made: it was deleted or changed meanwhile.", index=index
            )
        return meta

    def _wait_for_replicas(self, index: str) -> None:
        """Wait for as many copies as the cluster has nodes for; one that comes later is the cluster's business."""
        with contextlib.suppress(ClusterError):
            n_nodes = read_part(self.client.request("GET", "/_cluster/health"), int, "number_of_data_nodes")
            n_copies = self.n_shards * min(self.n_replicas + 1, n_nodes)
            params = {"wait_for_active_shards": n_copies, "timeout": f"{_SECONDS_FOR_REPLICAS}s"}
            path = make_path("_cluster", "health", index)
            self.client.request("GET", path, params=params, timeout=_SECONDS_FOR_REPLICAS + 10)

    def _put(self, path: str, body: object) -> None:
        self.retries.run(lambda: check_acknowledged(self.client.request("PUT", path, body=body), f"PUT {path}"))

    def reindex(
        self,
        model: Cptw,
        *,
        resume: bool = False,
        rejected_file: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
        n_processes: int = 1,
    ) -> LoadSummary:
        """Go over to another model: its index is made from the documents that are stored, and swapped in.

        What is added to the old index meanwhile is not in the new one.

        Parameters
        ----------
        model : Cptw
            A fitted model; this indexer's own from then on.
        resume : bool, default False
            As for `load`.
        rejected_file : str or path, optional
            As for `load`.
        progress : bool, optional
            As for `load`.
        n_processes : int, default 1
            As for `load`.

        Returns
        -------
        LoadSummary
            What became of the documents.

        Raises
        ------
        MissingIndexError
            If there is nothing to start from.
        LoadError
            If the load failed; what served before, serves still.
        """
        index = self.retries.run(lambda: resolve(self.client, self.name))[0]
        other = copy.copy(self)
        _check_model(model)
        other.model = copy.copy(model)
        summary = other.load(
            scan(self.client, index),
            resume=resume,
            rejected_file=rejected_file,
            progress=progress,
            n_processes=n_processes,
        )
        self.model = other.model
        return summary

    # A collection in parts, or daily work -------------------------------------------------------------------------

    def create(self) -> str:
        """Make an empty index to `add` to, and point the alias at it, unless it points at one already.

        Many may do this at the same time and know nothing of each other: the server gives the alias to one of them, and
        all go on with that one's index.

        Returns
        -------
        str
            The concrete index.

        Raises
        ------
        InvalidInputError
            If the name is that of an index, or what is served stores its documents in another way.
        ModelMismatchError
            If it was made by another model.
        LoadError
            If the index could not be made.
        """
        if self.retries.run(lambda: current_index(self.client, self.name)) is None:
            index, created = self._create()
            try:
                self._serve(index, created, None)
            except LoadError:
                if self.retries.run(lambda: current_index(self.client, self.name)) in (None, index):
                    raise
                with contextlib.suppress(MissingIndexError):  # another one was faster: ours is empty, and nobody's
                    self.retries.run(lambda: self.client.request("DELETE", make_path(check_index_name(index))))
        served, layout = self.retries.run(self._served)
        if layout != self.layout:
            raise InvalidInputError(
                f"{served} must store documents as is asked for: {self.layout!r}. It has {layout!r}: ask for the same, or add "
                "without create."
            )
        return served

    def add(
        self,
        documents: Iterable[Document],
        *,
        resume: bool = False,
        rejected_file: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> LoadSummary:
        """Add documents to the index that is served; ids that are there already are rejected.

        Parameters
        ----------
        documents : iterable of mapping or str
            As for `load`.
        resume : bool, default False
            Pass over documents whose ids are there already, as after an `add` of the same ones that was interrupted.
        rejected_file : str or path, optional
            As for `load`.
        progress : bool, optional
            As for `load`.

        Returns
        -------
        LoadSummary
            What became of the documents; searches see them.

        Raises
        ------
        MissingIndexError
            If there is no index of that name.
        ModelMismatchError
            If it was made by another model.
        LoadError
            If a request failed for good, or the alias was moved meanwhile.
        """
        return self._write(documents, "create", rejected_file, progress, resume=resume)

    def update(
        self,
        documents: Iterable[Document],
        *,
        rejected_file: str | os.PathLike[str] | None = None,
        progress: bool | None = None,
    ) -> LoadSummary:
        """Add documents in place of those with the same ids, if there are any.

        Parameters
        ----------
        documents : iterable of mapping or str
            As for `load`.
        rejected_file : str or path, optional
            As for `load`.
        progress : bool, optional
            As for `load`.

        Returns
        -------
        LoadSummary
            What became of the documents; searches see them.

        Raises
        ------
        MissingIndexError
            If there is no index of that name.
        ModelMismatchError
            If it was made by another model.
        LoadError
            If a request failed for good, or the alias was moved meanwhile.
        """
        return self._write(documents, "index", rejected_file, progress)

    def _write(
        self,
        documents: Iterable[Document],
        verb: str,
        rejected_file: str | os.PathLike[str] | None,
        progress: bool | None,
        *,
        resume: bool = False,
    ) -> LoadSummary:
        _check_iterable(documents)
        index, layout = self.retries.run(self._served)
        # The last request of whoever was interrupted may still be on its way: what it brings is compared, not rejected.
        sender = BulkSender(self.client, index, retries=self.retries, is_again=resume)
        pipeline = Pipeline(Encoder(self.model, layout, verb), sender)
        if resume:
            pipeline.existing = lambda ids: self.retries.run(lambda: find_ids(self.client, index, ids))
        return self._run(pipeline, documents, index, rejected_file, progress, lambda: self._show(index), _AGAIN)

    def delete(self, ids: Iterable[str | int]) -> int:
        """Delete documents from the index that is served.

        Parameters
        ----------
        ids : iterable of str or int
            Which ones; ids that are not there are passed over.

        Returns
        -------
        int
            How many were deleted.

        Raises
        ------
        InvalidInputError
            If an id cannot be one.
        MissingIndexError
            If there is no index of that name.
        LoadError
            If a document could not be deleted, or the alias was moved meanwhile.
        """
        if isinstance(ids, (str, bytes)):
            raise InvalidInputError(f"ids must come as a list or another iterable. Got the single id {ids!r} instead.")
        wanted = dict.fromkeys(check_id(doc_id, "An id to be deleted") for doc_id in ids)
        index, _ = self.retries.run(self._served)
        sent: Sent = BulkSender(self.client, index, retries=self.retries).send(map(deletion, wanted))
        if sent.rejections:
            raise LoadError(
                f"{len(sent.rejections):,} of {len(wanted):,} documents could not be deleted from {index}. The first was "
                f"{sent.rejections[0].id!r}: {sent.rejections[0].reason}",
                index=index,
            )
        self._show(index)
        return sent.n_done

    def _served(self) -> tuple[str, Layout]:
        """Find the index that is served, and how its documents are stored."""
        index, meta = resolve(self.client, self.name)
        ours = meta.get("cptw")
        if not isinstance(ours, Mapping):
            raise InvalidInputError(
                f"{index} must have our fields. It has none: make it with load, or use add_to_existing."
            )
        if ours.get("format") != INDEX_FORMAT:
            raise FormatVersionError(
                f"{index} must have the format {INDEX_FORMAT}. It has {ours.get('format')!r}: load it anew."
            )
        if ours.get("model_id") != self.model.model_id:
            raise ModelMismatchError(
                f"The index {index} was made by the model {ours.get('model_id')}. Got the model {self.model.model_id}: use "
                "the index's own, or reindex."
            )
        try:
            return index, Layout(ours["placement"], ours["field_type"], Pruning(**ours["pruning"]))
        except (LookupError, TypeError, InvalidInputError) as error:
            raise InvalidInputError(f"What {index} says in its _meta cannot be understood: {error}.") from error

    def _show(self, index: str) -> None:
        """Make changes visible to searches, and see that they went where searches go."""
        self.retries.run(lambda: self.client.request("POST", make_path(index, "_refresh")))
        there = self.retries.run(lambda: resolve(self.client, self.name))[0]
        if there != index:
            raise LoadError(
                f"{self.name!r} was moved from {index} to {there} meanwhile, and the changes went to the former. Make them "
                "again.",
                index=index,
            )

    # An index that was there before -------------------------------------------------------------------------------

    def add_to_existing(
        self, *, rejected_file: str | os.PathLike[str] | None = None, progress: bool | None = None
    ) -> LoadSummary:
        """Add our fields to the index of that name, and fill them from the documents that it holds.

        The model's text fields have to be the index's own. Documents without any of them are rejected, that is, left as
        they are. The index keeps serving. Whoever changes a document later has to do it by `update`, or call this again.

        Parameters
        ----------
        rejected_file : str or path, optional
            As for `load`.
        progress : bool, optional
            As for `load`.

        Returns
        -------
        LoadSummary
            What became of the documents; searches see them.

        Raises
        ------
        MissingIndexError
            If there is no index of that name.
        ModelMismatchError
            If it has our fields already, made by another model.
        LoadError
            If a request failed for good.
        """
        index, meta = self.retries.run(lambda: resolve(self.client, self.name))
        ours = meta.get("cptw")
        if isinstance(ours, Mapping) and ours.get("model_id") != self.model.model_id:
            raise ModelMismatchError(
                f"The index {index} has fields of the model {ours.get('model_id')}. Got the model {self.model.model_id}: use "
                "the index's own, or reindex."
            )
        created = new_index_name(self.name)[1]
        # Without an alias in its _meta: it is not ours to delete one day.
        described = make_meta(self.model.model_id, self.layout, "", created, complete=False)
        self._put(make_path(index, "_mapping"), added_mapping(self.layout, {**meta, **described}))
        described["cptw"]["complete"] = True

        def finish() -> None:
            self._put(make_path(index, "_mapping"), {"_meta": {**meta, **described}})
            self._show(index)

        sender = BulkSender(self.client, index, retries=self.retries)
        pipeline = Pipeline(Encoder(self.model, self.layout, "update"), sender)
        return self._run(pipeline, scan(self.client, index), index, rejected_file, progress, finish, _AGAIN)

    # What was before ----------------------------------------------------------------------------------------------

    def history(self) -> list[IndexRecord]:
        """List the indices that loads made for this alias, the newest first.

        Returns
        -------
        list of IndexRecord
            With their models, sizes, and which one is served.
        """
        return with_sizes(self.client, find_indices(self.client, self.name))

    def prune_old(self, keep: int = 1, *, unfinished: bool = False) -> list[str]:
        """Delete indices that loads made for this alias and that no alias points at.

        Parameters
        ----------
        keep : int, default 1
            How many of them to keep, the newest.
        unfinished : bool, default False
            Delete what failed loads left behind, too, all of it. Another load must not be at work.

        Returns
        -------
        list of str
            What was deleted.

        Raises
        ------
        InvalidInputError
            If ``keep`` is no whole number of at least 0.
        """
        return delete_indices(self.client, find_old(self.client, self.name, keep, unfinished=unfinished))

    def _run(
        self,
        pipeline: Pipeline,
        documents: Iterable[Document],
        index: str,
        rejected_file: str | os.PathLike[str] | None,
        progress: bool | None,
        finish: Callable[[], None],
        advice: str,
    ) -> LoadSummary:
        """Send the documents, end the work, and say what became of it."""
        began = time.monotonic()
        try:
            with (
                rejection_writer(rejected_file) as pipeline.on_rejection,
                progress_bar("Indexing", None, show=progress) as pipeline.advance,
            ):
                pipeline.run(documents)
            finish()
        except ClusterError as error:
            n_there, n_rejected = pipeline.sent.n_done + pipeline.n_skipped, len(pipeline.sent.rejections)
            so_far = f"So far {n_there:,} documents are in {index} and {n_rejected:,} were rejected. {advice}"
            raise LoadError(
                str(error)
                if isinstance(error, LoadError)
                else f"{str(error).rstrip('.')}. {so_far}",  # which says what to do by itself
                index=index,
                n_indexed=n_there,
                n_rejected=n_rejected,
            ) from error
        sent = pipeline.sent
        return LoadSummary(
            n_read=pipeline.n_read,
            n_indexed=sent.n_done,
            n_rejected=len(sent.rejections),
            rejected=sent.rejections,
            index=index,
            seconds=time.monotonic() - began,
            n_skipped=pipeline.n_skipped,
        )


def _check_model(model: Cptw) -> None:
    model.model_id  # noqa: B018 - refuses a model that is not fitted or cannot be told from others
    if model.analyzer_fitted == FIELD_TOKENS:
        raise InvalidInputError(
            "A model must make its terms itself to index documents. This one was fitted on the tokens of a field: it expands "
            "queries for that field alone. Fit another one with an analyzer."
        )


def _check_iterable(documents: object) -> None:
    if isinstance(documents, (str, bytes, Mapping)):
        raise InvalidInputError(
            f"Documents must come as a list or another iterable. Got one {type(documents).__name__} instead: put it "
            "into a list."
        )
