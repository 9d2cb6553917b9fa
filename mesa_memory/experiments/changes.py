"""Changes in the middle of a run: an intervention, or another class of memory."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.validate import checked_int
from mesa_memory.memories import registry

#: what a change begins with that gives everyone another memory
SWAP = "swap:"


@dataclass(frozen=True)
class ChangeAfter:
    """A change after a step; before it, the arm is like one without the change.

    As a level of a factor of a study, it leaves the argument out, as None beside it
    does: runs that are the same until the step share their beginning, which is made
    once.

    Attributes:
        step: after this finished step, at least 1.
        change: called with the model, such as ``lambda model: implant(…)``; or
            ``"swap:NAME"``, which gives every agent that has a memory a new and empty
            one by its name, see ``mesa_memory.memories.registry``.
        label: names the arm; by default the change and its step.

    Raises:
        ValueError: for a step below 1, or a text that does not begin with ``"swap:"``.
        UnknownMemory: if the memory does not exist; lists those there are.
    """

    step: int
    change: Callable[[Any], Any] | str
    label: str = ""

    def __post_init__(self) -> None:
        checked_int("step", self.step)
        swaps = isinstance(self.change, str) and self.change.startswith(SWAP)
        if not (swaps or callable(self.change)):
            raise ValueError(
                "change must be a function of the model or 'swap:NAME', such as "
                f"'swap:episodic', got {self.change!r}"
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
        return change.removeprefix(SWAP) if isinstance(change, str) else None

    def apply(self, model: Any) -> None:
        """Changes a model that stands after ``step``."""
        if callable(self.change):
            self.change(model)
        else:
            give_memory(model, self.change.removeprefix(SWAP))


def give_memory(model: Any, name: str) -> None:
    """Gives every agent with a memory a new, empty one."""
    make = registry.find(name)
    for agent in list(model.agents):
        if getattr(agent, "memory", None) is not None:
            agent.memory = make(agent)
