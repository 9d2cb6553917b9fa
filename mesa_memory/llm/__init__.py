"""Language models: one technology per file, no memory logic."""

from typing import Any

from mesa_memory import exported

_PLACES = {
    "LLMRequest": "core.requests",
    "LLMSettings": "llm.base",
    "Ledger": "llm.ledger",
    "PolicyInput": "llm.doubles.policy",
    "Reply": "core.requests",
    "ToolCall": "llm.doubles.policy",
    "Usage": "llm.ledger",
}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - names come from the table above


def __getattr__(name: str) -> Any:
    return exported(__name__, _PLACES, name)
