"""A model that runs in this process, through its recorder."""

from collections import Counter
from collections.abc import Iterable
from typing import Any

from mesa_memory.llm.ledger import Budget
from mesa_memory.recording.attaching import Recording, start
from mesa_memory.recording.recorder import Recorder
from mesa_memory.runs import open_run
from mesa_memory.services import Services
from mesa_memory.viz.feed import Feed
from mesa_memory.viz.source import Source

NOT_RECORDED = (
    "This model is not recorded, so there is no past to show. Call configure(model, "
    "record=True) before its agents are made; record='run.sqlite' keeps the run."
)


class LiveFeed(Feed):
    """The recorded part of a model's run; a step is there as soon as it is finished."""

    def __init__(self, recorder: Recorder, label: str, notes: Iterable[str]) -> None:
        self._recorder = recorder
        super().__init__(open_run(recorder.store, recorder.run), label, list(notes))

    @property
    def budget(self) -> Budget | None:
        """See ``Feed``."""
        model = self._recorder.model
        return None if model is None else Services.of(model).ledger.budget

    def refresh(self) -> Source:
        """Waits until the finished steps are written, then looks for them."""
        if self._recorder.active:
            self._recorder.sync()
        return super().refresh()


def live_feed(model: Any, record: bool = True) -> Feed:
    """What can be shown of a model.

    Args:
        record: if nobody records it, and it has not begun yet, record it in memory.
    """
    label, notes = type(model).__name__, strangers(model)
    services = Services.of(model)
    if services.recorder is None and record and _untouched(model):
        services.recorder = start(model, services, Recording(True))
    if services.recorder is None:
        return Feed(None, label, [NOT_RECORDED, *notes])
    return LiveFeed(services.recorder, label, notes)


def strangers(model: Any) -> list[str]:
    """Which agents have memories that cannot be shown, and what to do."""
    kinds = Counter(
        "no memory"
        if memory is None
        else f"{type(memory).__module__.partition('.')[0]}'s {type(memory).__name__}"
        for memory in (getattr(agent, "memory", None) for agent in model.agents)
        if not _ours(memory)
    )
    if not kinds:
        return []
    count, total = sum(kinds.values()), len(model.agents)
    have = ", ".join(f"{n} {kind}" for kind, n in sorted(kinds.items()))
    return [
        (
            f"{count} of {total} agents cannot be shown; they have: {have}. Memories "
            "of mesa_memory have the same names: from mesa_memory import STLTMemory."
        )
    ]


def _ours(memory: Any) -> bool:
    # As the recorder tells it; a memory need not have any class of ours as its base.
    return hasattr(memory, "layer") and hasattr(memory, "current_records")


def _untouched(model: Any) -> bool:
    """True if a record can begin now without missing anything."""
    memories = (getattr(agent, "memory", None) for agent in model.agents)
    ours: list[Any] = [memory for memory in memories if _ours(memory)]
    begun = getattr(model, "steps", 0) or getattr(model, "time", 0)
    return bool(ours) and not begun and not any(m.current_records() for m in ours)
