"""A copy of a model, made with ``copy.deepcopy``: served like the original."""

from typing import Any

from mesa_memory.runtime.services import Services

#: what each has for itself; all else is used by both, who pay from one budget
_OWN = frozenset({
    "bus", "names", "recorder", "replay", "shared",
    "_batcher", "_decisions", "_offline", "_provider", "_said", "_works",
})  # fmt: skip


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
    for name in vars(before).keys() - _OWN:
        setattr(services, name, getattr(before, name))
    services.shared = before.shared.copy()
    services.replay = before.replay and before.replay.again()
