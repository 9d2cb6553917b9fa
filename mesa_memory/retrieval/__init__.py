"""Ranking of records for a query, and the parts of each score."""

from typing import Any

from mesa_memory import exported

_PLACES = {"ScoredRecord": "retrieval.index", "Term": "retrieval.scoring"}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - names come from the table above


def __getattr__(name: str) -> Any:
    return exported(__name__, _PLACES, name)
