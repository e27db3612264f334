"""`EmbeddedIndex`: a search engine in this process, with nothing to start."""

from __future__ import annotations

import copy
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from cptw_search.backend import DEFAULT_LAMBDA, DEFAULT_METHOD, Hit, check_search
from cptw_search.document_ids import check_id, identify
from cptw_search.errors import InvalidInputError, ModelMismatchError, check_choice
from cptw_search.filters import Filter, check_filter
from cptw_search.index_directory import IndexDirectory, SavedSegment
from cptw_search.live_segments import LiveSegment, documents_with_ids_of, keep_few, merge, repeated_id
from cptw_search.model import Cptw
from cptw_search.placement import PLACEMENTS
from cptw_search.progress import progress_bar
from cptw_search.pruning import Pruning
from cptw_search.scoring import Scorer, rank
from cptw_search.segment import Segment
from cptw_search.segment_builder import SegmentBuilder
from cptw_search.sparse_scores import Mask

if TYPE_CHECKING:
    from cptw_search.counting import Document

__all__ = ["EmbeddedIndex"]

BATCH_SIZE = 1_000
SEGMENT_SIZE = 100_000


class EmbeddedIndex:
    """Documents that can be searched, in memory or in a directory.

    Make one with `build`, or open a saved one with `open`. Changes are visible to searches at once, and on the disk
    after `save`: whatever happens in between, the directory holds the last saved state. Any number of processes may
    read a directory while one writes; a second writer is told so.

    Parameters
    ----------
    model : Cptw
        A fitted model; it stays the index's own.
    placement : {"query", "both", "document"}, default "query"
        Where the propagation is done. The ranking is the same; ``"query"`` is the smallest and the cheapest to build,
        ``"document"`` has the shortest queries.
    document_pruning : Pruning, optional
        What is kept of propagated documents, in the placements that store them.
    query_pruning : Pruning, optional
        What is kept of propagated queries.

    Examples
    --------
    >>> from cptw_search import Cptw, EmbeddedIndex, WordVectors
    >>> vectors = WordVectors(["boat", "ship", "cat"], [[1, 0], [4, 3], [-1, 1]])
    >>> documents = [{"id": "a", "text": "A boat."}, {"id": "b", "text": "Ships"}, {"id": "c", "text": "my cat"}]
    >>> model = Cptw(vectors=vectors, tau=0.5).fit(document["text"] for document in documents)
    >>> index = EmbeddedIndex.build(model, documents)
    >>> [(hit.id, round(hit.score, 2)) for hit in index.search("ship", method="cptw")]
    [('b', 1.0), ('a', 0.98)]
    """

    def __init__(
        self,
        model: Cptw,
        *,
        placement: str = "query",
        document_pruning: Pruning | None = None,
        query_pruning: Pruning | None = None,
    ) -> None:
        check_choice("placement", placement, PLACEMENTS)
        if document_pruning is not None and placement == "query":
            raise InvalidInputError(
                "document_pruning must be left out with placement 'query', where documents are not propagated. "
                f"Got {document_pruning!r}: use query_pruning, or another placement."
            )
        model.model_id  # noqa: B018 - refuses a model that is not fitted or cannot be told from others
        self._model = copy.copy(model)  # fitting the caller's object anew must not change this index
        self.placement = placement
        self.document_pruning = document_pruning or Pruning()
        self.query_pruning = query_pruning or Pruning()
        self._scorer = Scorer(self._model, placement, self.query_pruning)
        self._parts: tuple[LiveSegment, ...] = ()
        self._committed: tuple[LiveSegment, ...] = ()
        self._directory: IndexDirectory | None = None
        self._next_number = 0

    @property
    def model(self) -> Cptw:
        """The model that the documents were represented with."""
        return self._model

    # Writing ------------------------------------------------------------------------------------------------------

    @classmethod
    def build(
        cls,
        model: Cptw,
        documents: Iterable[Document],
        *,
        path: str | os.PathLike[str] | None = None,
        placement: str = "query",
        document_pruning: Pruning | None = None,
        query_pruning: Pruning | None = None,
        progress: bool | None = None,
    ) -> EmbeddedIndex:
        """Index documents.

        Parameters
        ----------
        model : Cptw
            A fitted model.
        documents : iterable of mapping or str
            Mappings with ``id``, the model's text fields (``title``, ``text``) and anything else that JSON can hold. A
            plain string gets its number as id. Read once, in batches.
        path : str or path, optional
            Save into this directory while building: memory is then bounded by the size of a segment, whatever the
            number of documents.
        placement : {"query", "both", "document"}, default "query"
            See the class.
        document_pruning : Pruning, optional
            See the class.
        query_pruning : Pruning, optional
            See the class.
        progress : bool, optional
            Show a progress bar or not; by default where standard error is a terminal.

        Returns
        -------
        EmbeddedIndex
            The index.

        Raises
        ------
        InvalidInputError
            If a document cannot be indexed; the message names it.
        StorageError
            If ``path`` holds something already or cannot be written.
        """
        index = cls(model, placement=placement, document_pruning=document_pruning, query_pruning=query_pruning)
        if path is not None:
            index._directory = IndexDirectory.create(Path(path), index._model)
        try:
            index.add(documents, progress=progress)
        except BaseException:
            index.close()
            raise
        if path is not None:
            index.save()
        return index

    def add(self, documents: Iterable[Document], *, progress: bool | None = None) -> int:
        """Add documents; if one of them cannot be added, none is.

        Parameters
        ----------
        documents : iterable of mapping or str
            As for `build`.
        progress : bool, optional
            Show a progress bar or not; by default where standard error is a terminal.

        Returns
        -------
        int
            How many were added.

        Raises
        ------
        InvalidInputError
            If a document cannot be indexed, or its id is there already.
        LockedError
            If another process is writing to the directory.
        """
        return self._add(documents, progress, replacing=False)

    def update(self, documents: Iterable[Document], *, progress: bool | None = None) -> int:
        """Add documents in place of those with the same ids, if there are any.

        Parameters
        ----------
        documents : iterable of mapping or str
            As for `build`.
        progress : bool, optional
            Show a progress bar or not; by default where standard error is a terminal.

        Returns
        -------
        int
            How many were written.

        Raises
        ------
        InvalidInputError
            If a document cannot be indexed, or an id comes twice.
        LockedError
            If another process is writing to the directory.
        """
        return self._add(documents, progress, replacing=True)

    def _add(self, documents: Iterable[Document], progress: bool | None, *, replacing: bool) -> int:
        if isinstance(documents, (str, bytes, Mapping)):
            raise InvalidInputError(
                f"Documents must come as a list or another iterable. Got one {type(documents).__name__} instead: put it "
                "into a list."
            )
        self._prepare_to_write()
        new: list[LiveSegment] = []
        replaced: list[list[int]] = [[] for _ in self._parts]
        number = self._next_number
        builder = self._builder()
        with progress_bar("Indexing", None, show=progress) as advance:
            for batch in _batches(documents, BATCH_SIZE):
                builder.add(identify(batch, number, self._model.text_fields))
                number += len(batch)
                advance(len(batch))
                if len(builder) >= SEGMENT_SIZE:
                    new.append(self._finish(builder, new, replaced, replacing))
                    builder = self._builder()
            if len(builder):
                new.append(self._finish(builder, new, replaced, replacing))
        old = [part.without(docs) for part, docs in zip(self._parts, replaced, strict=True)]
        n_added, self._next_number = number - self._next_number, number
        self._parts = keep_few([*old, *new], len(self._model.vocabulary_))
        return n_added

    def _builder(self) -> SegmentBuilder:
        return SegmentBuilder(self._model, self.placement, self.document_pruning)

    def _finish(
        self, builder: SegmentBuilder, new: Sequence[LiveSegment], replaced: Sequence[list[int]], replacing: bool
    ) -> LiveSegment:
        """Make a segment, check its ids against all others, and write it out where there is a directory."""
        segment = builder.build()
        twice = repeated_id(segment)
        for part in new if twice is None else ():
            if there := documents_with_ids_of(segment, part):
                twice = part.segment.id_of(there[0])
        if twice is not None:
            raise InvalidInputError(
                f"A document's id must be its own. Got two with the id {twice!r}: nothing was added."
            )
        for part, docs in zip(self._parts, replaced, strict=True):
            there = documents_with_ids_of(segment, part)
            if there and not replacing:
                raise InvalidInputError(
                    f"A document's id must be new. There is one with the id {part.segment.id_of(there[0])!r} already: nothing "
                    "was added. Use update to replace it."
                )
            docs.extend(there)
        if self._directory is None:
            return LiveSegment.new(segment)
        saved, mapped = self._directory.write_segment(segment)
        return LiveSegment.new(mapped, saved)

    def delete(self, ids: Iterable[str | int]) -> int:
        """Delete documents.

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
        LockedError
            If another process is writing to the directory.
        """
        if isinstance(ids, (str, bytes)):
            raise InvalidInputError(f"ids must come as a list or another iterable. Got the single id {ids!r} instead.")
        wanted = dict.fromkeys(check_id(doc_id, "An id to be deleted") for doc_id in ids)
        self._prepare_to_write()
        parts, n_deleted = [], 0
        for part in self._parts:
            docs = [doc for doc in map(part.segment.find, wanted) if doc >= 0 and part.alive[doc]]
            n_deleted += len(docs)
            parts.append(part.without(docs))
        self._parts = keep_few(parts, len(self._model.vocabulary_))
        return n_deleted

    def merge(self) -> None:
        """Make one segment of all, without deleted documents: the quickest to search.

        Raises
        ------
        LockedError
            If another process is writing to the directory.
        """
        self._prepare_to_write()
        if len(self._parts) > 1 or any(not part.alive.all() for part in self._parts):
            self._parts = merge(self._parts, self._parts, len(self._model.vocabulary_))

    # Keeping ------------------------------------------------------------------------------------------------------

    def save(self, path: str | os.PathLike[str] | None = None) -> None:
        """Write all changes to the disk; the directory goes from the old state to the new one in one step.

        Parameters
        ----------
        path : str or path, optional
            The directory; needed the first time.

        Raises
        ------
        InvalidInputError
            If no path was ever given.
        StorageError
            If it cannot be written, or holds something else already.
        LockedError
            If another process is writing to the directory.
        """
        if path is not None and (self._directory is None or Path(path).resolve() != self._directory.path):
            self._save_as(Path(path))
            return
        if self._directory is None:
            raise InvalidInputError("save needs a path: this index was built in memory. Call save('some/directory').")
        self._prepare_to_write()
        self._parts = self._committed = self._write_parts(self._directory)

    def _save_as(self, path: Path) -> None:
        directory = IndexDirectory.create(path, self._model)
        try:
            unsaved = tuple(replace(part, saved=None, deletions_saved=False) for part in self._parts)
            parts = self._write_parts(directory, unsaved)
        except BaseException:
            directory.release()
            raise
        self.close()
        self._directory = directory
        self._parts = self._committed = parts

    def _write_parts(
        self, directory: IndexDirectory, parts: tuple[LiveSegment, ...] | None = None
    ) -> tuple[LiveSegment, ...]:
        written = []
        for part in self._parts if parts is None else parts:
            segment, saved = part.segment, part.saved
            if saved is None:
                saved, segment = directory.write_segment(segment)
            if not part.deletions_saved:
                saved = directory.write_deletions(saved, part.alive)
            written.append(LiveSegment(segment, part.alive, saved, True))
        directory.commit(
            [part.saved for part in written if part.saved is not None],
            {
                "placement": self.placement,
                "document_pruning": vars(self.document_pruning),
                "query_pruning": vars(self.query_pruning),
                "next_number": self._next_number,
            },
        )
        return tuple(written)

    @classmethod
    def open(cls, path: str | os.PathLike[str], *, model: Cptw | None = None, verify: bool = False) -> EmbeddedIndex:
        """Open a saved index; it is memory-mapped, so that size does not matter.

        Parameters
        ----------
        path : str or path
            Where it was saved.
        model : Cptw, optional
            The model that it was built with; by default the copy that the index holds.
        verify : bool, default False
            Check the hash of every file first, which reads all of them.

        Returns
        -------
        EmbeddedIndex
            The index, for reading; the first change takes the directory's write lock.

        Raises
        ------
        StorageError
            If there is no index, or it is damaged or of another format.
        ModelMismatchError
            If ``model`` is not the one that it was built with.
        """
        directory, state = IndexDirectory.open(Path(path), verify=verify)
        if model is not None and model.model_id != state.model.model_id:
            raise ModelMismatchError(
                f"The index {str(path)!r} must be searched with the model that it was built with, {state.model.model_id}. Got "
                f"{model.model_id}: leave model out to use the index's own, or build the index anew."
            )
        index = cls(
            state.model,
            placement=state.placement,
            document_pruning=None if state.placement == "query" else state.document_pruning,
            query_pruning=state.query_pruning,
        )
        index._directory = directory
        index._take(state.segments, state.next_number)
        return index

    def _take(self, segments: Sequence[tuple[Segment, npt.NDArray[np.bool_], SavedSegment]], next_number: int) -> None:
        self._parts = self._committed = tuple(LiveSegment(segment, alive, saved) for segment, alive, saved in segments)
        self._next_number = next_number

    def _prepare_to_write(self) -> None:
        """Take the write lock, and see what another writer may have done since."""
        if self._directory is not None and self._directory.lock():
            state = self._directory.read()
            self._take(state.segments, state.next_number)

    def close(self) -> None:
        """Let other writers at the directory, and forget changes that were not saved; reading goes on."""
        if self._directory is not None:
            self._parts = self._committed
            self._directory.release()

    def __enter__(self) -> EmbeddedIndex:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # Reading ------------------------------------------------------------------------------------------------------

    def search(
        self,
        query: Document,
        k: int = 10,
        *,
        method: str = DEFAULT_METHOD,
        lambda_: float = DEFAULT_LAMBDA,
        filter: Filter | None = None,
        explain: bool = False,
    ) -> list[Hit]:
        """Find the k best documents.

        Parameters
        ----------
        query : str or mapping
            A text, or a document to find others like it.
        k : int, default 10
            How many at most; only documents with a positive score are found.
        method : {"cptw", "bm25", "bm25+rm3", "tfidf", "hybrid", "hybrid+feedback", "rrf"}, default "hybrid+feedback"
            How documents are scored. ``"bm25+rm3"`` is BM25 after the query has learned words from its ten best
            documents; ``"hybrid"`` adds CPTW and BM25, each divided by its best score; ``"hybrid+feedback"`` adds the
            words of its ten best documents to that; ``"rrf"`` fuses the ranks of CPTW and BM25.
        lambda_ : float, default 0.3
            The share of CPTW in ``"hybrid"`` and ``"hybrid+feedback"``, 0 to 1.
        filter : mapping, optional
            Only documents whose fields have these values: ``{"label": "sport"}``, ``{"label": ["sport", "tech"]}``,
            ``{"year": {"gte": 1990, "lt": 2000}}``.
        explain : bool, default False
            Say for each hit why it matches, with shares that add up to its score; for the methods ``"cptw"``,
            ``"bm25"``, ``"hybrid"`` and ``"hybrid+feedback"``.

        Returns
        -------
        list of Hit
            Best first; equal scores are ordered by id.

        Raises
        ------
        InvalidInputError
            If an argument cannot be used.

        See Also
        --------
        EmbeddedIndex.search_many : Many queries at once.
        """
        check_search(query, k, method, lambda_)
        parts = self._parts  # one state for the whole call, whatever a writer does meanwhile
        if not explain:
            return self._find(parts, [query], k, method, lambda_, filter, None)[0]
        from cptw_search.explain_mixed import check_explainable, explain_mixture

        check_explainable(method)
        hits = self._find(parts, [query], k, method, lambda_, filter, None)[0]
        segments, masks = [part.segment for part in parts], self._masks(parts, filter)
        mixture = self._scorer.mixture(query, segments, masks, method, lambda_)
        return [replace(hit, explanation=explain_mixture(self._model, query, hit.fields, mixture)) for hit in hits]

    def search_many(
        self,
        queries: Sequence[Document],
        k: int = 10,
        *,
        method: str = DEFAULT_METHOD,
        lambda_: float = DEFAULT_LAMBDA,
        filter: Filter | None = None,
        fields: Sequence[str] | None = None,
    ) -> list[list[Hit]]:
        """Find the k best documents for each query.

        Parameters
        ----------
        queries : sequence of str or mapping
            Texts or documents.
        k : int, default 10
            How many at most.
        method : {"cptw", "bm25", "bm25+rm3", "tfidf", "hybrid", "hybrid+feedback", "rrf"}, default "hybrid+feedback"
            See `search`.
        lambda_ : float, default 0.3
            See `search`.
        filter : mapping, optional
            See `search`.
        fields : sequence of str, optional
            What is returned of the stored documents; by default all. Nothing for an empty sequence, which is quicker.

        Returns
        -------
        list of list of Hit
            One list a query.

        Raises
        ------
        InvalidInputError
            If an argument cannot be used.
        """
        if isinstance(queries, (str, bytes, Mapping)):
            raise InvalidInputError("queries must come as a list. Got a single one: put it into a list, or use search.")
        for query in queries:
            check_search(query, k, method, lambda_)
        check_search("", k, method, lambda_)
        if isinstance(fields, (str, bytes)):
            raise InvalidInputError(f"fields must come as a list. Got the single name {fields!r} instead.")
        return self._find(self._parts, queries, k, method, lambda_, filter, fields)

    def _find(
        self,
        parts: Sequence[LiveSegment],
        queries: Sequence[Document],
        k: int,
        method: str,
        lambda_: float,
        filter: Filter | None,
        fields: Sequence[str] | None,
    ) -> list[list[Hit]]:
        masks = self._masks(parts, filter)
        segments = [part.segment for part in parts]
        if method == "bm25+rm3":
            method, rows = "bm25", self._scorer.score_with_rm3(queries, segments, masks)
        elif method == "hybrid+feedback":
            rows = self._scorer.score_with_feedback(queries, segments, masks, lambda_, k)
        else:
            rows = self._scorer.score(queries, segments, method)
        results = []
        for row in rows:
            results.append(
                [
                    self._hit(segments[which], doc, score, fields)
                    for which, doc, score in rank(row, segments, masks, k, method, lambda_)
                ]
            )
        return results

    def _hit(self, segment: Segment, doc: int, score: float, fields: Sequence[str] | None) -> Hit:
        if fields is not None and not fields:
            return Hit(segment.id_of(doc), score, {})
        stored = segment.document(doc)
        doc_id = str(stored.pop("id", ""))
        return Hit(doc_id, score, stored if fields is None else {n: stored[n] for n in fields if n in stored})

    def _masks(self, parts: Sequence[LiveSegment], filter: Filter | None) -> list[Mask]:
        if filter is None:
            return [part.mask for part in parts]
        conditions = check_filter(filter)
        for name in conditions:
            if parts and not any(part.segment.fields.has_field(name) for part in parts):
                known = sorted({known for part in parts for known in part.segment.fields.fields()})
                raise InvalidInputError(
                    f"A filter's fields must be stored in the index with values that can be compared. Got {name!r}; there are "
                    f"{known}."
                )
        return [part.alive & part.segment.fields.mask(conditions, part.segment.n_docs) for part in parts]

    def get(self, doc_id: str | int) -> dict[str, object] | None:
        """Give a document as it was stored.

        Parameters
        ----------
        doc_id : str or int
            Its id.

        Returns
        -------
        dict or None
            The document with its id; None where there is none.

        Raises
        ------
        InvalidInputError
            If ``doc_id`` cannot be an id.
        """
        wanted = check_id(doc_id, "doc_id")
        for part in self._parts:
            doc = part.segment.find(wanted)
            if doc >= 0 and part.alive[doc]:
                return part.segment.document(doc)
        return None

    def count(self, filter: Filter | None = None) -> int:
        """Count documents.

        Parameters
        ----------
        filter : mapping, optional
            Count only those that it lets through.

        Returns
        -------
        int
            How many.
        """
        parts = self._parts
        if filter is None:
            return sum(int(part.alive.sum()) for part in parts)
        return sum(int(mask.sum()) for mask in self._masks(parts, filter) if mask is not None)

    def values(self, field: str) -> list[str]:
        """List the distinct strings in a field.

        Parameters
        ----------
        field : str
            A field that can be filtered on, such as ``label``.

        Returns
        -------
        list of str
            Sorted; those of deleted documents are left out.
        """
        found = {value for part in self._parts for value in part.segment.fields.strings(field, part.alive)}
        return sorted(found)

    def documents(self) -> Iterator[dict[str, object]]:
        """Give all documents, for example to index them anew with another model.

        Yields
        ------
        dict
            A document as it was stored.
        """
        for part in self._parts:
            for doc in np.flatnonzero(part.alive):
                yield part.segment.document(int(doc))

    def __len__(self) -> int:
        return self.count()

    def __repr__(self) -> str:
        where = "in memory" if self._directory is None else str(self._directory.path)
        return f"EmbeddedIndex({len(self)} documents, placement={self.placement!r}, {where})"


def _batches(documents: Iterable[Document], size: int) -> Iterator[list[Document]]:
    batch: list[Document] = []
    for document in documents:
        batch.append(document)
        if len(batch) == size:
            yield batch
            batch = []
    if batch:
        yield batch
