"""Diffusion as Park et al. (2023) measured it: 25 agents, two pieces of news, two persons.

Who knows the news at the end, how many ties there are between people by then, and which
claims to know something are false: nobody had told it.
"""

from itertools import combinations
from typing import Any

from mesa_memory import probe
from mesa_memory.examples.rumor.agents import Townsperson
from mesa_memory.examples.rumor.hearsay import CORRECTION, RUMOUR, mentions
from mesa_memory.examples.rumor.model import RumorModel

#: what an interviewer asks, in words of no news
QUESTIONS = {
    RUMOUR: "Is there poison in the town well?",
    CORRECTION: "Was the town well tested, and is its water safe?",
}


class Resident(Townsperson):
    """A person of whom the model notes what it was really told."""

    model: "DiffusionModel"

    def learn(self, what: str) -> None:
        """See ``Townsperson``."""
        super().learn(what)
        self.model.told[what].add(self.unique_id)

    def send_message(self, message: str, recipients: list[Any]) -> str:
        """See Mesa-LLM."""
        for what in {mention.what for mention in mentions(message)}:
            self.model.told[what] |= {other.unique_id for other in recipients}
        return super().send_message(message, recipients)


class DiffusionModel(RumorModel):
    """Both pieces of news come to town on day 1, to one person each.

    Args:
        n_agents: as many as in Park et al.
        **given: see ``RumorModel``.

    Attributes:
        told: unique ids of those who were really told, by piece of news.
    """

    person = Resident

    def __init__(
        self,
        n_agents: int = 25,
        memory: str = "generative_agent",
        llm: str = "offline",
        degree: int = 4,
        api_base: str | None = None,
        execution: str | None = None,
        rng: Any = None,
        record: Any = None,
        replay: Any = None,
    ) -> None:
        self.told: dict[str, set[Any]] = {RUMOUR: set(), CORRECTION: set()}
        super().__init__(
            n_agents, memory, llm, 1, degree, api_base, execution, rng, record, replay
        )

    def get_state(self) -> dict[str, Any]:
        """See ``RumorModel``."""
        told = {what: sorted(who) for what, who in self.told.items()}
        return super().get_state() | {"told": told}

    def set_state(self, state: dict[str, Any]) -> None:
        """See ``RumorModel``."""
        super().set_state(state)
        self.told = {what: set(who) for what, who in state["told"].items()}


def knows_rumour(model: DiffusionModel) -> float:
    """Share of the people whose memory has the one piece of news."""
    return model.knowing(RUMOUR) / len(model.agents)


def knows_correction(model: DiffusionModel) -> float:
    """Share of the people whose memory has the other piece of news."""
    return model.knowing(CORRECTION) / len(model.agents)


def ties(model: DiffusionModel) -> float:
    """Density of the network of those who remember each other, from 0 to 1."""
    texts = {}
    for person in model.agents:
        with person.memory.peek():
            texts[person.unique_id] = person.memory.get_prompt_ready() + "\n"
    known = {
        (me, other)
        for me, text in texts.items()
        for other in texts
        if other != me and _named(other, text)
    }
    pairs = list(combinations(texts, 2))
    return sum((a, b) in known and (b, a) in known for a, b in pairs) / len(pairs)


def false_claims(model: DiffusionModel) -> float:
    """Share of the claims to know a piece of news that nobody had told the person.

    Each person is asked about both; 0 if nobody claims anything.
    """
    claims = false = 0
    for person in model.agents:
        for what, question in QUESTIONS.items():
            if any(m.what == what for m in mentions(probe(person, question))):
                claims += 1
                false += person.unique_id not in model.told[what]
    return false / claims if claims else 0.0


def _named(other: Any, text: str) -> bool:
    """True if a text speaks of an agent, and not of one whose number begins so."""
    name = f"Agent {other}"
    after = [part[:1] for part in text.split(name)[1:]]
    return any(not character.isdigit() for character in after)


#: what the study measures at the end of a run
MEASURES = {
    "knows_rumour": knows_rumour,
    "knows_correction": knows_correction,
    "ties": ties,
    "false_claims": false_claims,
}
