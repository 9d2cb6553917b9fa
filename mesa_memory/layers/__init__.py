"""Layers: the parts of a memory. They need neither services, models nor stores."""

from typing import Any

from mesa_memory import exported

_PLACES = {
    "Consolidation": "layers.consolidation",
    "EveryBatch": "layers.consolidation",
    "FrontHalf": "layers.consolidation",
    "Grader": "layers.stream.grading",
    "Line": "layers.lines",
    "Message": "layers.message",
    "OverTokens": "layers.consolidation",
    "Recollection": "layers.stream.recalling",
    "Reflection": "layers.stream.reflecting",
    "Reflector": "layers.stream.reflecting",
}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - names come from the table above


def __getattr__(name: str) -> Any:
    return exported(__name__, _PLACES, name)
