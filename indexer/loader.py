"""Bulk requests that get through: retried while that can help, each entry accounted for."""

from __future__ import annotations

import json
import random
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from cptw_indexer.bodies import Action, Rejection, chunks
from cptw_search.cluster import RESERVED_PREFIX, ClusterClient, make_path
from cptw_search.cluster_answers import read_part, read_reason
from cptw_search.errors import AccessDeniedError, ClusterConnectionError, ClusterError, RejectedError

__all__ = ["BulkSender", "Retries", "Sent", "StoppedError", "read_documents"]

MAX_ACTIONS = 1_000
MAX_BYTES = 5_000_000
TIMEOUT = 60.0  # of a bulk request; a server waits that long for shards that are on their way

_T = TypeVar("_T")


class StoppedError(Exception):
    """Another request of the same load failed for good: this one is given up as well."""


@dataclass(frozen=True)
class Retries:
    """When and how often a request is tried again.

    Parameters
    ----------
    give_up_after : float, default 300.0
        Seconds from the first failure of a request until its last try.
    first_pause : float, default 0.2
        Seconds until the second try; the pause doubles with each one.
    longest_pause : float, default 15.0
        Where the doubling ends.
    """

    give_up_after: float = 300.0
    first_pause: float = 0.2
    longest_pause: float = 15.0

    def pause(self, n_failures: int) -> float:
        """Choose how long to wait, at random: many clients must not come back at once.

        Parameters
        ----------
        n_failures : int
            How often the request has failed.

        Returns
        -------
        float
            Seconds, between half and the whole of the doubled pause.
        """
        doubled = self.first_pause * 2.0 ** min(n_failures - 1, 30)
        return min(doubled, self.longest_pause) * random.uniform(0.5, 1.0)  # noqa: S311 - nothing secret

    def run(self, work: Callable[[], _T], stop: threading.Event | None = None) -> _T:
        """Do some work again and again while it fails for a temporary reason.

        Parameters
        ----------
        work : callable
            May raise ClusterError.
        stop : threading.Event, optional
            Ends the waiting when set.

        Returns
        -------
        object
            What the work returned.

        Raises
        ------
        ClusterError
            What it raised last.
        """
        patience = Patience(self, stop or threading.Event())
        while True:
            try:
                return work()
            except ClusterError as error:
                patience.wait(error)


class Patience:
    """The waiting between the tries of one request."""

    def __init__(self, retries: Retries, stop: threading.Event) -> None:
        self._retries = retries
        self._stop = stop
        self._n_failures = 0
        self._deadline = 0.0

    def wait(self, error: ClusterError) -> None:
        """Wait, or raise the error if that is of no use any more."""
        now = time.monotonic()
        if self._n_failures == 0:
            self._deadline = now + self._retries.give_up_after
        self._n_failures += 1
        if not error.is_temporary or now >= self._deadline:
            raise error
        if self._stop.wait(min(self._retries.pause(self._n_failures), self._deadline - now)):
            raise StoppedError

    def restart(self) -> None:
        """Take some progress for a new beginning."""
        self._n_failures = 0


@dataclass
class Sent:
    """What became of some actions.

    Parameters
    ----------
    n_done : int, default 0
        How many the server did.
    rejections : list of Rejection
        What it would not do, and why.
    n_missing : int, default 0
        How many deletions found nothing.
    """

    n_done: int = 0
    rejections: list[Rejection] = field(default_factory=list)
    n_missing: int = 0

    def add(self, other: Sent) -> None:
        """Count in what became of others.

        Parameters
        ----------
        other : Sent
            The others.
        """
        self.n_done += other.n_done
        self.n_missing += other.n_missing
        self.rejections += other.rejections


class BulkSender:
    """Sends actions to one index. Several threads may share one.

    Parameters
    ----------
    client : ClusterClient
        The connection.
    index : str
        The concrete index.
    retries : Retries, optional
        When to try again.
    max_actions : int, default 1000
        How many actions a request has at most.
    max_bytes : int, default 5000000
        How many bytes it has at most.
    is_again : bool, default False
        Whether somebody may have sent the same before: a new document that is there already is then no rejection, if it
        is the same.
    """

    def __init__(
        self,
        client: ClusterClient,
        index: str,
        *,
        retries: Retries | None = None,
        max_actions: int = MAX_ACTIONS,
        max_bytes: int = MAX_BYTES,
        is_again: bool = False,
    ) -> None:
        self._client = client
        self._index = index
        self._retries = retries or Retries()
        self._limit = client.max_content_length()
        self._is_again = is_again
        self.max_actions = max_actions
        self.max_bytes = min(max_bytes, self._limit)
        self.stop = threading.Event()

    def send(self, actions: Iterable[Action]) -> Sent:
        """Send actions, in as many requests as it takes.

        Parameters
        ----------
        actions : iterable of Action
            No two of the same id.

        Returns
        -------
        Sent
            Every action is counted once.

        Raises
        ------
        ClusterError
            If a request failed for good.
        StoppedError
            If ``stop`` was set.
        """
        sent = Sent()
        for chunk in chunks(actions, self.max_actions, self.max_bytes):
            if self.stop.is_set():
                raise StoppedError
            if len(chunk) == 1 and len(chunk[0].lines) > self._limit:
                sent.rejections.append(self._too_large(chunk[0]))
            else:
                sent.add(self._send_chunk(chunk))
        return sent

    def _send_chunk(self, chunk: Sequence[Action]) -> Sent:
        """Send one request until each of its actions is done or rejected."""
        sent = Sent()
        patience = Patience(self._retries, self.stop)
        waiting = list(chunk)
        is_again = self._is_again  # whether an earlier try may have done what is tried now
        while waiting:
            try:
                items = self._request(waiting)
            except RejectedError as error:
                if error.status == 413:  # a proxy in between may take less than the server
                    sent.add(self._send_halves(waiting))
                    return sent
                patience.wait(error)
                is_again = True  # a gateway that has lost the answer says 502 or 504
            except ClusterConnectionError as error:
                patience.wait(error)
                is_again = True
            else:
                n_before = len(waiting)
                waiting, error_of_first = self._sort_out(waiting, items, sent, is_again)
                if len(waiting) < n_before:
                    patience.restart()
                if error_of_first is not None:
                    patience.wait(error_of_first)
                    is_again = True  # a primary that was lost may have passed the document on to its copy before
        return sent

    def _send_halves(self, actions: list[Action]) -> Sent:
        if len(actions) == 1:
            return Sent(rejections=[self._too_large(actions[0])])
        middle = len(actions) // 2
        sent = self._send_chunk(actions[:middle])
        sent.add(self._send_chunk(actions[middle:]))
        return sent

    def _request(self, actions: Sequence[Action]) -> list[tuple[str, dict[str, Any]]]:
        """Send once; the answer has to account for every action, in order."""
        lines = b"".join(action.lines for action in actions)
        path = make_path(self._index, "_bulk")
        answer = self._client.send_lines(path, lines, params={"timeout": "30s"}, timeout=TIMEOUT, other_nodes=False)
        read = [_read_item(item) for item in read_part(answer, list, "items")]
        if [item["_id"] for _, item in read] != [action.doc_id for action in actions]:
            raise ClusterConnectionError(
                f"The answer to a bulk request of {len(actions)} actions must account for each of them. It does not.",
                is_temporary=True,
            )
        return read

    def _sort_out(
        self, actions: Sequence[Action], items: Sequence[tuple[str, dict[str, Any]]], sent: Sent, is_again: bool
    ) -> tuple[list[Action], RejectedError | None]:
        """Count what is done, and give back what is to be tried again, with the first reason."""
        again: list[Action] = []
        first: RejectedError | None = None
        in_doubt: list[Action] = []
        for action, (verb, item) in zip(actions, items, strict=True):
            status = item["status"]
            if 200 <= status < 300:
                sent.n_done += 1
            elif verb == "delete" and status == 404 and "error" not in item:
                sent.n_missing += 1
            elif status == 429 or status >= 500:
                again.append(action)
                reason = read_reason(item)[1]
                first = first or RejectedError(
                    f"{self._index} takes no documents for now ({status}). It says: {reason}",
                    status=status,
                    reason=reason,
                )
            elif verb == "create" and status == 409 and is_again:
                in_doubt.append(action)
            elif verb == "create" and status == 409:
                sent.rejections.append(_there_already(action))
            else:
                kind, reason = read_reason(item)
                if kind == "security_exception":  # the same for all: no document is to blame
                    raise AccessDeniedError(f"The login may not write to {self._index} ({status}). It says: {reason}")
                sent.rejections.append(Rejection(action.doc_id, f"{reason} ({status})"))
        if in_doubt:
            sent.add(self._settle(in_doubt))
        return again, first

    def _settle(self, actions: Sequence[Action]) -> Sent:
        """Find out whether documents that are there already came with a request whose answer was lost."""
        sent = Sent()
        body = {"ids": [action.doc_id for action in actions]}
        path = make_path(self._index, "_mget")
        stored = self._retries.run(lambda: read_documents(self._client.request("POST", path, body=body)), self.stop)
        if [document["_id"] for document in stored] != body["ids"]:
            raise ClusterConnectionError(f"{self._index} gave other documents than those that it was asked for.")
        for action, document in zip(actions, stored, strict=True):
            wanted = json.loads(action.lines.splitlines()[1])
            own = {name: value for name, value in wanted.items() if not name.startswith(RESERVED_PREFIX)}
            if document.get("_source") == own:
                sent.n_done += 1
            else:
                sent.rejections.append(_there_already(action))
        return sent

    def _too_large(self, action: Action) -> Rejection:
        n_bytes = len(action.lines)
        return Rejection(
            action.doc_id, f"It makes a request of {n_bytes:,} bytes; the server takes {self._limit:,} or less (413)"
        )


def read_documents(answer: object) -> list[dict[str, Any]]:
    """Take the documents out of the answer to a request for some of them.

    Parameters
    ----------
    answer : object
        The answer's JSON.

    Returns
    -------
    list of dict
        In the order of the request; each says whether it was found.

    Raises
    ------
    ClusterConnectionError
        If one does not: its shard may be on the way from one node to another.
    """
    documents = read_part(answer, list, "docs")
    for document in documents:
        read_part(document, bool, "found")
        read_part(document, str, "_id")
    return documents


def _read_item(item: object) -> tuple[str, dict[str, Any]]:
    """Take an entry of a bulk request's answer: what was done, and what became of it."""
    verb, content = next(iter(read_part(item, dict).items()), ("", {}))
    read_part(content, int, "status")
    read_part(content, str, "_id")
    return verb, content


def _there_already(action: Action) -> Rejection:
    return Rejection(action.doc_id, "There is a document with this id already: use update to replace it (409)")
