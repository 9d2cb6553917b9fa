"""How many tokens the prompts of a village and a harbour have, for each kind of memory.

    python -m benchmarks.prompts [--steps 12] [--show consolidate,extract] [--json]

Five people with names talk, act and look around for twelve steps; the offline rules
answer. In the harbour four people live eight steps, with the replies of a model, see
``tests/support/harbour.py``. Counted are the tokens (of OpenAI's ``cl100k_base``) of all
requests of the memories, of the schemas of their replies, and of what the agents are
shown of their memory in each step. ``--show`` prints the last request of each of these
tasks.
"""

import json
import os
from functools import cache
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "none")  # Mesa-LLM wants one for each agent

import litellm
import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import options, show
from mesa_memory import EpisodicMemory, ImpressionMemory, STLTMemory, configure
from mesa_memory.layers import Reflection
from mesa_memory.llm.schemas import schema_of
from mesa_memory.memories.registry import OUR_MEMORIES
from tests.support.harbour import MEMORIES as HARBOUR
from tests.support.harbour import Harbour
from tests.support.single import Asked

PEOPLE = {
    "Ada": "You are Ada, the miller. You want the flour ground before winter.",
    "Bram": "You are Bram, the smith. You owe Ada ten crowns.",
    "Cleo": "You are Cleo, the innkeeper. You like to know everything.",
    "Dov": "You are Dov, a carter. You look for work.",
    "Esra": "You are Esra, the healer. You trust nobody who brings good news.",
}
SAID = (
    "The wheel of the mill is cracked, so there will be no flour before January.",
    "I can lend you ten crowns until spring, if you help with the hay.",
    "Agreed. January it is.",
    "A stranger asked for the way to the mill; his name is Veit.",
    "You should have asked me. I do not want to talk to you for a while.",
    "The new wheel is ordered, it comes on a cart from the north.",
    "Who told you that the well is poisoned? I drank from it this morning.",
)
DONE = (
    {"name": "harvest", "result": "0 sacks of wheat"},
    {"name": "repair the wheel", "result": "the crack is closed for now"},
    {"name": "go to the market", "result": "sold 3 sheep for 12 crowns"},
)
USUAL = ("short_term", "long_term", "episodic", "conversation", "fact", "narrative")
MEMORIES: dict[str, Any] = {name: OUR_MEMORIES[name] for name in USUAL} | {
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=3),
    "impression": lambda agent: ImpressionMemory(agent, update_every=3),
    "reflection": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.direct(last=12), reflect_threshold=20
    ),
}


class Villager(LLMAgent):
    """Says something on most days, acts on some, and reads its memory."""

    def step(self) -> None:  # noqa: D102
        day, me = self.model.steps, self.unique_id
        others = [one for one in self.model.people if one is not self]
        near = {
            f"Villager {one.unique_id}": {"position": [me, day]} for one in others[:2]
        }
        sight = {"self_state": {"location": [me, day]}, "local_state": near}
        self.memory.add_to_memory("observation", sight)
        if (day + me) % 4:
            heard = others if not (day + me) % 5 else [others[(day * me) % len(others)]]
            self.send_message(SAID[(day + me) % len(SAID)], heard)
        else:
            action = DONE[(day + me) % len(DONE)]
            calls = [{"name": action["name"], "response": action["result"]}]
            self.memory.add_to_memory("action", {"tool_calls": calls})
        self.model.shown += tokens(self.memory.get_prompt_ready())


class Village(mesa.Model):
    """Five people with the same kind of memory."""

    def __init__(self, memory: Any) -> None:
        super().__init__(rng=1)
        self.shown = 0
        self.asked = Asked()
        configure(self, llm=self.asked)
        self.people = []
        for name, role in PEOPLE.items():
            person = Villager(
                self, CoTReasoning, llm_model="openai/none", system_prompt=role
            )
            person.name = name
            person.memory = memory(person)
            self.people.append(person)

    def step(self) -> None:  # noqa: D102
        for person in self.people:
            person.step()


@cache
def tokens(text: str) -> int:
    """Tokens of a text for OpenAI's models."""
    return len(litellm.encoding.encode(text))


def measured(name: str, steps: int) -> tuple[dict[str, Any], list[Any]]:
    """The row of one kind of memory, and its requests."""
    village = Village(MEMORIES[name])
    for _ in range(steps):
        village.step()
    for person in village.people:
        person.memory.get_prompt_ready()
    return _row(name, village.asked.asked, village.shown), village.asked.asked


def harboured(name: str) -> dict[str, Any]:
    """The row of one kind of memory in the harbour; shown is what decisions show."""
    harbour = Harbour(name)
    harbour.live()
    shown = sum(tokens(prompt) for _, prompt, _ in harbour.asked)
    return _row(name, harbour.mind.history, shown)


def _row(name: str, requests: list[Any], shown: int) -> dict[str, Any]:
    sent = sum(
        tokens(str(message["content"])) for r in requests for message in r.messages()
    )
    forms = [json.dumps(schema_of(r.schema)) for r in requests if r.schema]
    schemas = sum(map(tokens, forms))
    return {
        "memory": name,
        "requests": len(requests),
        "tokens_asked": sent,
        "tokens_schema": schemas,
        "tokens_shown": shown,
        "total": sent + schemas + shown,
    }


def _with_sum(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    keys = ("requests", "tokens_asked", "tokens_schema", "tokens_shown", "total")
    return [
        *rows,
        {"memory": "all", **{key: sum(r[key] for r in rows) for key in keys}},
    ]


def main() -> None:
    """Prints the tables, and the last request of the tasks that are named."""
    given = options(__doc__, steps=12, show="")
    rows, last = [], {}
    for name in MEMORIES:
        row, requests = measured(name, given.steps)
        rows.append(row)
        last |= {request.purpose: request for request in requests}
    harbour = [harboured(name) for name in HARBOUR]
    for place, several in {"village": rows, "harbour": harbour}.items():
        title = f"Tokens of the prompts of one {place}"
        show(title, _with_sum(several), as_json=given.json)
    for purpose in filter(None, given.show.split(",")):
        print(f"\n== {purpose}\n")
        for message in last[purpose].messages():
            print(f"[{message['role']}]\n{message['content']}\n")


if __name__ == "__main__":
    main()
