"""``cptw evaluate``: measuring, by one command a task."""

from __future__ import annotations

from cptw_search.cli import evaluate_knn, evaluate_retrieval
from cptw_search.cli.commands import new_app

__all__ = ["app"]

app = new_app(
    "Measure search and classification against their rivals, on collections with judgements or labels.",
    [evaluate_knn.COMMAND, evaluate_retrieval.COMMAND],
)
