"""A copy of a model, made with ``copy.deepcopy``: served like the original."""

from typing import Any

from mesa_memory.runtime.services import Services

#: what both use; they pay from one budget
_SAME = (
    "execution", "llm", "model", "embedder", "settings", "ledger", "vectors",
    "max_pending_steps", "on_failure", "cache", "replicate", "occurrences", "_seed",
)  # fmt: skip


def serve_copy(model: Any, twin: Any) -> None:
    """Gives a model's copy the services of the original, as they were configured.

    The copy is not recorded or observed, and it takes nothing from the original's
    replayed run. A copy that has services already is left as it is.

    Args:
        model: the original.
        twin: the copy; None, or the original itself, without a copy.
    """
    if twin is None or twin is model or Services.exist(twin):
        return
    before, services = Services.of(model), Services.of(twin)
    for name in _SAME:
        setattr(services, name, getattr(before, name))
    services.shared = before.shared.copy()
    services.replay = before.replay and before.replay.again()
