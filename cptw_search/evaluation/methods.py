"""What a method is to the protocol: a grid of settings, and for each a comparison of two sets of documents."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from cptw_search.evaluation.knn import Comparison
from cptw_search.evaluation.protocol import Round

__all__ = ["Method", "Setting"]


@dataclass(frozen=True)
class Setting:
    """One way to run a method.

    Parameters
    ----------
    variant : str
        What is reported as a line of its own; parameters are chosen within a variant.
    parameters : tuple of (str, float)
        Names and values.
    """

    variant: str
    parameters: tuple[tuple[str, float], ...] = ()


class Method(Protocol):
    """A document representation, or a distance of documents."""

    @property
    def name(self) -> str:
        """What it is called."""
        ...

    @property
    def votes(self) -> tuple[str, ...]:
        """How neighbours may vote; the first way is the one that is reported."""
        ...

    def grid(self) -> Sequence[Setting]:
        """List the settings to choose from."""
        ...

    def compare(self, part: Round, settings: Sequence[Setting]) -> Iterator[tuple[Setting, Comparison]]:
        """Fit on the round's training documents and compare its queries with them, for each setting."""
        ...
