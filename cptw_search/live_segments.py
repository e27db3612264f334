"""The segments of an index with what changes about them: which documents are alive, and what is on the disk."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from cptw_search.index_directory import SavedSegment
from cptw_search.segment import Segment
from cptw_search.segment_builder import merge_segments
from cptw_search.sparse_scores import Mask

__all__ = ["MAX_SEGMENTS", "LiveSegment", "documents_with_ids_of", "keep_few", "merge", "repeated_id"]

MAX_SEGMENTS = 12
"""More than these are merged: every segment costs a search some time."""


@dataclass(frozen=True)
class LiveSegment:
    """A segment as a part of an index.

    Parameters
    ----------
    segment : Segment
        Documents that never change.
    alive : ndarray of bool
        Which of them are not deleted.
    saved : dict, optional
        Its part of the manifest, where it is on the disk.
    deletions_saved : bool, default True
        Whether ``alive`` is as it is on the disk.
    """

    segment: Segment
    alive: npt.NDArray[np.bool_]
    saved: SavedSegment | None = None
    deletions_saved: bool = True

    @functools.cached_property
    def mask(self) -> Mask:
        """Which documents may be found: the living ones."""
        return None if self.alive.all() else self.alive

    @classmethod
    def new(cls, segment: Segment, saved: SavedSegment | None = None) -> LiveSegment:
        """Make a part of which all documents are alive.

        Parameters
        ----------
        segment : Segment
            The documents.
        saved : dict, optional
            Its part of the manifest.

        Returns
        -------
        LiveSegment
            The part.
        """
        return cls(segment, np.ones(segment.n_docs, dtype=bool), saved)

    def without(self, docs: Sequence[int]) -> LiveSegment:
        """Delete documents.

        Parameters
        ----------
        docs : sequence of int
            Their numbers.

        Returns
        -------
        LiveSegment
            A new part; this one stays, for whoever is searching it.
        """
        if not docs:
            return self
        alive = self.alive.copy()
        alive[list(docs)] = False
        return replace(self, alive=alive, deletions_saved=False)


def merge(parts: Sequence[LiveSegment], chosen: Sequence[LiveSegment], n_terms: int) -> tuple[LiveSegment, ...]:
    """Make one part of several.

    Parameters
    ----------
    parts : sequence of LiveSegment
        All of them.
    chosen : sequence of LiveSegment
        Those that become one.
    n_terms : int
        The size of the model's vocabulary.

    Returns
    -------
    tuple of LiveSegment
        The others, and the new one.
    """
    merged = merge_segments([(part.segment, part.alive) for part in chosen], n_terms)
    others = (part for part in parts if not any(part is other for other in chosen))
    return (*others, LiveSegment.new(merged))


def keep_few(parts: Sequence[LiveSegment], n_terms: int) -> tuple[LiveSegment, ...]:
    """Drop the empty parts, and merge the smallest where there are too many.

    Parameters
    ----------
    parts : sequence of LiveSegment
        All of them.
    n_terms : int
        The size of the model's vocabulary.

    Returns
    -------
    tuple of LiveSegment
        At most `MAX_SEGMENTS`. Half of them are left when merging, so that a document is rewritten seldom.
    """
    parts = tuple(part for part in parts if part.alive.any())
    if len(parts) <= MAX_SEGMENTS:
        return parts
    by_size = sorted(parts, key=lambda part: int(part.alive.sum()))
    return merge(parts, by_size[: len(parts) - MAX_SEGMENTS // 2], n_terms)


def documents_with_ids_of(new: Segment, old: LiveSegment) -> list[int]:
    """Find the living documents of an old segment whose ids stand in a new one, too.

    Parameters
    ----------
    new : Segment
        The new one.
    old : LiveSegment
        The old one.

    Returns
    -------
    list of int
        Their numbers in the old one.
    """
    candidates = old.segment.id_positions[np.isin(old.segment.id_hashes, new.id_hashes)]
    return [int(doc) for doc in candidates if old.alive[doc] and new.find(old.segment.id_of(int(doc))) >= 0]


def repeated_id(segment: Segment) -> str | None:
    """Find an id that stands twice in a segment.

    Parameters
    ----------
    segment : Segment
        The segment.

    Returns
    -------
    str or None
        The id, None where every id is its own.
    """
    if (segment.id_hashes[1:] != segment.id_hashes[:-1]).all():
        return None
    in_order = (segment.id_of(int(doc)) for doc in np.argsort(segment.id_ranks))
    return next((one for one, two in itertools.pairwise(in_order) if one == two), None)
