"""Changes in the middle of a run: an intervention, or another class of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.validate import checked_int
from mesa_memory.memories import registry
from mesa_memory.memories.replacement import (
    REPLACE_MEMORY,
    replace_memory,
    replacements,
)

#: what a change begins with that gives everyone another memory
REPLACE = f"{REPLACE_MEMORY}:"


@dataclass(frozen=True)
class ChangeAfter:
    """A change after a step; before it, the arm is like one without the change.

    As a level of a factor of a study, it leaves the argument out, as None beside it
    does: runs that are the same until the step share their beginning, which is made
    once.

    Attributes:
        step: after this finished step, at least 1.
        change: called with the model, such as ``lambda model: implant(…)``; or
            ``"replace_memory:NAME"``, which gives every agent that has a memory another
            one, see ``interventions.replace_memory``.
        label: names the arm; by default the change and its step.

    Raises:
        ValueError: for a step below 1, or a text without ``"replace_memory:"``.
        UnknownMemory: if the memory does not exist; lists those there are.
    """

    step: int
    change: Callable[[Any], Any] | str
    label: str = ""

    def __post_init__(self) -> None:
        checked_int("step", self.step)
        replaces = isinstance(self.change, str) and self.change.startswith(REPLACE)
        if not (replaces or callable(self.change)):
            raise ValueError(
                "change must be a function of the model or 'replace_memory:NAME', such "
                f"as 'replace_memory:episodic', got {self.change!r}"
            )
        if self.memory is not None:
            registry.find(self.memory)
        if not self.label:
            named = getattr(self.change, "__name__", None) or str(self.change)
            object.__setattr__(self, "label", f"{named} from {self.step}")

    @property
    def memory(self) -> str | None:
        """The name of the memory that everyone is given; None for another change."""
        change = self.change
        return change.removeprefix(REPLACE) if isinstance(change, str) else None

    def apply(self, model: Any) -> None:
        """Changes a model that stands after ``step``."""
        if callable(self.change):
            self.change(model)
        else:
            give_memory(model, self.change.removeprefix(REPLACE))


def give_memory(model: Any, memory: Any) -> None:
    """Gives agents another memory, see ``replacements``."""
    for agent, kind in replacements(model, memory):
        replace_memory(agent, kind)
