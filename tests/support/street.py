"""README's street, recorded, for programs that end in many ways.

    python -m tests.support.street FILE ENDING

Plays two steps of a new run, or goes on with the one that is there, and ends as told.
"""

import sys
from pathlib import Path
from typing import Any

import mesa
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import configure, register_policy, resume
from mesa_memory.interventions import edit, erase, exchange, implant
from mesa_memory.memories.registry import find
from tests.support.single import settle


def talk(turn):
    """Stands for a language model."""
    return "I greet my neighbour."


class Neighbour(LLMAgent):
    """Tells everybody the same."""

    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"Day {self.model.steps}: the bridge is broken!", others)


class Street(mesa.Model):
    """Neighbours who remember.

    Args:
        record: file of the run.
        n: how many neighbours.
        memory: of each, by name or as a function of the neighbour.
        name: of the neighbours' language model; None for one that always says the same.
        base: address of a server with that model.
        **services: for ``configure``; ``llm=None`` without others does not call it.
    """

    def __init__(
        self, record=None, n=3, memory="episodic", rng=1, name=None, base=None,
        llm="offline", **services,
    ):  # fmt: skip
        super().__init__(rng=rng)
        given = services | {"record": record, "llm": llm}
        given = {key: value for key, value in given.items() if value is not None}
        if given:
            configure(self, **given)
        name = name or register_policy("talk", talk)
        told = {"api_base": base, "step_prompt": "Keep the peace."}
        settle(self, find(memory), n, Neighbour, name, **told)

    def step(self):
        self.agents.shuffle_do("step")


def remembered(model: Any) -> dict[int, list[str]]:
    """What each agent has in mind."""
    return {
        agent.unique_id: [str(r.content) for r in agent.memory.current_records()]
        for agent in model.agents
    }


def by_hand(street: Street) -> None:
    """Changes memories in every way there is."""
    first, second, third = street.agents
    implant(first, "message", {"message": "The mill burns!", "sender": 3})
    newest = third.memory.current_records()[-1]
    erase(third, edit(third, newest, {"message": "Nothing.", "sender": 1}))
    edit(third, third.memory.current_records()[-1], {"message": "All.", "sender": 1})
    exchange(first, second)


def main() -> None:
    """Plays, and ends."""
    file, ending = sys.argv[1:]
    street = resume(Street, file) if Path(file).exists() else Street(file)
    if ending != "untouched":
        street.step()
        street.step()
    if ending == "by hand":
        by_hand(street)
    elif ending == "half":
        street.agents[0].step = lambda: 1 / 0
        street.step()
    print(remembered(street))


if __name__ == "__main__":
    main()
