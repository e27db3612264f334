"""Documents through an encoder to a sender: several requests on their way while the next documents are encoded."""

from __future__ import annotations

import multiprocessing
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass, field

from cptw_indexer.bodies import Action, Encoded, Encoder, Numbered, Rejection, batches, chunks, name_of
from cptw_indexer.loader import BulkSender, Sent
from cptw_search.counting import Document

__all__ = ["Pipeline", "encode_all"]

BATCH_SIZE = 500
N_IN_FLIGHT = 4

_worker_encoder: Encoder


def _start_worker(encoder: Encoder) -> None:
    global _worker_encoder
    _worker_encoder = encoder


def _encode_in_worker(batch: list[Numbered]) -> Encoded:
    return _worker_encoder.encode(batch)


def encode_all(encoder: Encoder, input_: Iterable[list[Numbered]], n_processes: int) -> Iterator[Encoded]:
    """Encode batches, in order, here or in several processes.

    Parameters
    ----------
    encoder : Encoder
        Does it.
    input_ : iterable of list
        The batches; a few are read ahead.
    n_processes : int
        How many processes; 1: this one.

    Yields
    ------
    Encoded
        One a batch.
    """
    if n_processes == 1:
        yield from map(encoder.encode, input_)
        return
    spawn = multiprocessing.get_context("spawn")  # forking a program that has threads may hang it
    pool = ProcessPoolExecutor(n_processes, mp_context=spawn, initializer=_start_worker, initargs=(encoder,))
    pending: deque[Future[Encoded]] = deque()
    try:
        for batch in input_:
            pending.append(pool.submit(_encode_in_worker, batch))
            if len(pending) > 2 * n_processes:
                yield pending.popleft().result()
        while pending:
            yield pending.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)


@dataclass
class Pipeline:
    """One pass of documents into an index, and the account of it.

    Parameters
    ----------
    encoder : Encoder
        Documents to actions.
    sender : BulkSender
        Actions to the server.
    n_processes : int, default 1
        How many processes encode.
    existing : callable, optional
        Takes ids and gives back those that need no sending, as a load does that is resumed.
    advance : callable, optional
        Told how many documents are through.
    on_rejection : callable, optional
        Told of each document that is rejected.
    n_read : int, default 0
        How many documents were read.
    n_skipped : int, default 0
        How many were there already.
    sent : Sent
        What became of the others.
    ids : set of str
        Of all that were sent or skipped, rejected or not.
    """

    encoder: Encoder
    sender: BulkSender
    n_processes: int = 1
    existing: Callable[[list[str]], set[str]] | None = None
    advance: Callable[[float], None] | None = None
    on_rejection: Callable[[Rejection], None] | None = None
    n_read: int = 0
    n_skipped: int = 0
    sent: Sent = field(default_factory=Sent)
    ids: set[str] = field(default_factory=set)

    def run(self, documents: Iterable[Document]) -> None:
        """Send all documents; the account is right afterwards, also if this fails.

        Parameters
        ----------
        documents : iterable of mapping or str
            Read once, in batches.

        Raises
        ------
        ClusterError
            If a request failed for good.
        """
        pool = ThreadPoolExecutor(N_IN_FLIGHT, thread_name_prefix="cptw-bulk")
        pending: deque[Future[Sent]] = deque()
        try:
            for encoded in encode_all(self.encoder, self._read(documents), self.n_processes):
                self._reject(encoded.rejections)
                for chunk in chunks(
                    self._first_of_each(encoded.actions), self.sender.max_actions, self.sender.max_bytes
                ):
                    pending.append(pool.submit(self.sender.send, chunk))
                    while len(pending) > N_IN_FLIGHT + 1 or (pending and pending[0].done()):
                        self._account(pending.popleft().result())
            while pending:
                self._account(pending.popleft().result())
        except BaseException:
            self.sender.stop.set()
            pool.shutdown(cancel_futures=True)
            for future in pending:  # what else got through
                if not future.cancelled() and future.exception() is None:
                    self._account(future.result())
            raise
        finally:
            pool.shutdown()

    def _read(self, documents: Iterable[Document]) -> Iterator[list[Numbered]]:
        for batch in batches(documents, BATCH_SIZE):
            self.n_read += len(batch)
            names = [name_of(*numbered) for numbered in batch]
            there = self.existing(names) if self.existing is not None else set()
            kept = []
            for name, numbered in zip(names, batch, strict=True):
                if name in there and name not in self.ids:
                    self.ids.add(name)
                    self.n_skipped += 1
                else:
                    kept.append(numbered)
            self._advance(len(batch) - len(kept))
            yield kept

    def _first_of_each(self, actions: Iterable[Action]) -> Iterator[Action]:
        for action in actions:
            if action.doc_id in self.ids:
                reason = "A document's id must be its own. An earlier document of the same input has this one, too"
                self._reject([Rejection(action.doc_id, reason)])
            else:
                self.ids.add(action.doc_id)
                yield action

    def _account(self, sent: Sent) -> None:
        rejections, sent.rejections = sent.rejections, []
        self.sent.add(sent)
        self._advance(sent.n_done + sent.n_missing)
        self._reject(rejections)

    def _reject(self, rejections: list[Rejection]) -> None:
        self.sent.rejections += rejections
        if self.on_rejection is not None:
            for rejection in rejections:
                self.on_rejection(rejection)
        self._advance(len(rejections))

    def _advance(self, steps: int) -> None:
        if self.advance is not None:
            self.advance(steps)
