"""Texts that are looked for, sentences, and whether each states the text; and gossip."""

import json
from pathlib import Path
from typing import Any

import mesa

from mesa_memory import ShortTermMemory, configure, register_policy

# After mesa_memory, as in the README.
from mesa_llm.llm_agent import LLMAgent  # isort: skip
from mesa_llm.reasoning.cot import CoTReasoning  # isort: skip

CHEATER = "Agent 1 is a cheater"

#: sought text -> sentences that state it, sentences that do not; and denials of texts
_CLAIMS = json.loads(
    (Path(__file__).parents[1] / "data" / "claims.json").read_text(encoding="utf-8")
)
TABLE, DENIED = _CLAIMS["stated"], _CLAIMS["denied"]
#: (sought text, sentence, whether it counts)
PAIRS = [
    (sought, sentence, counts)
    for sought, columns in TABLE.items()
    for counts, column in ((True, "states"), (False, "does not"))
    for sentence in columns[column]
]


class Village(mesa.Model):
    """Villagers hear sentences, ``(hearer, speaker, sentence)``, a list for each step."""

    def __init__(
        self, n: int, heard: list[list[tuple[int, int, str]]], record: Any = None
    ) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=record)
        self.heard = heard
        silent = register_policy("silent", lambda turn: "")
        self.people = [LLMAgent(self, CoTReasoning, silent) for _ in range(n)]
        for person in self.people:
            person.memory = ShortTermMemory(person, n=10)

    def step(self) -> None:
        """Delivers the messages of the step."""
        told = self.heard[int(self.time) - 1]
        for person in self.people:
            person.memory.process_step(pre_step=True)
        for hearer, speaker, sentence in told:
            said = {"message": sentence, "sender": speaker, "recipients": [hearer]}
            self.people[hearer - 1].memory.add_to_memory("message", said)
        for person in self.people:
            person.memory.process_step()


def _gossip() -> list[list[tuple[int, int, str]]]:
    """Twenty agents gossip for three steps; 2, 9 and 15 then know of agent 1.

    In the second step all have heard that somebody cheats, or that agent 1 does not.
    """
    forms = (CHEATER, "Everybody says that Agent 1 cheats", "Agents 7 and 1 cheat")
    others = (
        "Agent 5 is a cheater",
        "Agent 1 is not a cheater",
        "Agent 12 is a cheater",
        "Agent 1 never cheated, Agent 5 is a cheater",
    )

    def told(hearers: Any, texts: tuple[str, ...]) -> list[tuple[int, int, str]]:
        # Agent 1 is among the speakers.
        return [(n, n % 3 + 1, texts[n % len(texts)]) for n in hearers]

    return [
        told((3, 4), forms) + told(range(5, 9), others),
        told(range(5, 12), forms) + told(range(12, 21), others) + told((1, 2), others),
        told(range(12, 18), forms) + told((1, 18, 19), others),
    ]


GOSSIP = _gossip()
#: agents who know after each step that agent 1 is a cheater
KNOW = [2, 9, 15]
