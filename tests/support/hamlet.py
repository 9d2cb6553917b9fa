"""A small model whose agents tell each other of the day, and changes of their memories by hand."""

from collections.abc import Callable, Mapping
from typing import Any

import mesa

from mesa_memory import configure, register_policy
from mesa_memory.interventions import edit, erase, exchange, implant
from mesa_memory.memories.registry import OUR_MEMORIES
from tests.support.classes import EVERY
from tests.support.single import settle
from tests.support.street import Neighbour


class Hamlet(mesa.Model):
    """Neighbours of README with one kind of memory, offline.

    Args:
        memory: key of ``makers``.
        record: where the run is recorded.
        n: how many agents.
        **services: for ``configure``.
    """

    #: name -> maker of a memory; a subclass may have its own
    makers: Mapping[str, Callable[[Any], Any]] = {
        **OUR_MEMORIES,
        **{kind.__name__: kind for kind in EVERY},
    }

    def __init__(
        self,
        memory: str = "stlt",
        record: Any = None,
        n: int = 2,
        rng: Any = 1,
        **services: Any,
    ) -> None:
        super().__init__(rng=rng)
        configure(self, **{"llm": "offline", "record": record} | services)
        name = register_policy("greet", lambda turn: "I greet my neighbour.")
        settle(self, self.makers[memory], n, Neighbour, name)

    def step(self) -> None:
        """All act in random order."""
        self.agents.shuffle_do("step")


def implanted(one: Any, other: Any) -> None:
    """An agent remembers what did not happen."""
    implant(one, "message", {"message": "Flee!", "sender": 9})


def erased(one: Any, other: Any) -> None:
    """An agent loses a record."""
    erase(one, one.memory.current_records()[0])


def all_erased(one: Any, other: Any) -> None:
    """An agent loses all that it knows."""
    for record in one.memory.current_records():
        erase(one, record)


def edited(one: Any, other: Any) -> None:
    """A record of an agent says something else."""
    old = one.memory.current_records()[-1]
    texts = dict.fromkeys(("text", "message", "value"), "put right by hand")
    edit(one, old, {name: texts.get(name, v) for name, v in old.content.items()})


def exchanged(one: Any, other: Any) -> None:
    """Two agents remember what the other did."""
    exchange(one, other)
