"""Texts that are looked for, sentences, and whether each states the text; and gossip."""

from typing import Any

import mesa

from mesa_memory import ShortTermMemory, configure, register_policy

# After mesa_memory, as in the README.
from mesa_llm.llm_agent import LLMAgent  # isort: skip
from mesa_llm.reasoning.cot import CoTReasoning  # isort: skip

CHEATER = "Agent 1 is a cheater"
WELL = "The well is poisoned"
TRAMPOSO = "Agente 1 es un tramposo"
BETRUG = "Agent 1 ist ein Betrüger"

#: sought text -> sentences that state it, sentences that do not
TABLE: dict[str, tuple[list[str], list[str]]] = {
    CHEATER: (
        [
            "Agent 1 is a cheater.",
            "agent 1 cheats",
            "The cheater is Agent 1.",
            "Agents 5 and 1 are cheaters.",
            "Agent 5 told Agent 3 that Agent 1 is a cheater.",
            "Agent 5 was cheated by Agent 1.",
            "No, Agent 1 is a cheater.",
            "There is no doubt that Agent 1 is a cheater.",
            "Agent 1 is a cheater, not Agent 5.",
            "It is not true that Agent 1 is not a cheater.",
            "Everybody knows that Agent 1 cheated in the game.",
        ],
        [
            "Agent 5 is a cheater.",
            "Agent 10 is a cheater.",
            "Agent 1 is not a cheater.",
            "Agent 1 isn't a cheater.",
            "Agent 1 never cheated.",
            "I do not think that Agent 1 is a cheater.",
            "Nobody believes Agent 1 is a cheater.",
            "Agent 1 is a cheater, but that is a lie.",
            "Agent 1 is honest.",
            "Agent 1 told me that Agent 5 is a cheater.",
            "Agent 5 is a cheater, but Agent 1 is honest.",
            "Agent 5 cheated Agent 1.",
            "Is Agent 1 a cheater?",
            "I wonder whether Agent 1 is a cheater.",
            "Agent 1 sold fish.",
        ],
    ),
    "Agent 1 is not a cheater": (["Agent 1 does not cheat."], ["Agent 1 cheats."]),
    "Ann is a cheater": (
        ["Bob says that Ann cheats."],
        ["Bob is a cheater.", "Ann heard that Bob is a cheater."],
    ),
    "Bob killed Ann": (
        ["Bob murdered Ann.", "Ann was murdered by Bob."],
        ["Ann killed Bob."],
    ),
    "On day 3 I sold 5 fish": (
        ["I sold five fish on day 3."],
        ["On day 5 I sold 3 fish."],
    ),
    "Bread costs 1000 coins": (
        ["Bread costs 1,000 coins now."],
        ["Bread costs 100 coins."],
    ),
    WELL: (
        [
            "They poison our wells!",
            "There is poison in the well.",
            "The water in the well is contaminated.",
        ],
        ["The well is deep.", "The well is safe.", "The well is deep, not poisoned."],
    ),
    "The mayor has resigned": (["The mayor quit."], ["The mayor is tall."]),
    TRAMPOSO: (
        [
            "El agente 1 es tramposo.",
            "Dicen que el tramposo es el agente 1.",
            "Sin duda, el agente 1 hace trampas.",
        ],
        [
            "El agente 5 es un tramposo.",
            "El agente 1 no es un tramposo.",
            "El agente 1 nunca hizo trampas.",
            "Es mentira que el agente 1 sea un tramposo.",
            "No creo que el agente 1 sea un tramposo.",
        ],
    ),
    BETRUG: (
        [
            "Ein Betrüger ist Agent 1.",
            "Gestern sagte Agent 5, dass Agent 1 ein Betrüger ist.",
        ],
        [
            "Agent 5 ist ein Betrüger.",
            "Agent 1 ist kein Betrüger.",
            "Agent 1 hat nie betrogen.",
            "Ich glaube nicht, dass Agent 1 ein Betrüger ist.",
        ],
    ),
}
#: (sought text, sentence, whether it counts)
PAIRS = [
    (sought, sentence, counts)
    for sought, columns in TABLE.items()
    for counts, column in zip((True, False), columns)
    for sentence in column
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
