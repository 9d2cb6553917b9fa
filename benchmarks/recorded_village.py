"""A village of four whose memories think in the sentences of a strong language model.

``recorded_village.json`` has what they say in eight days, each with the step, the speaker,
the hearers and the words; impressions, with observer, subject, the last day that they
rest on, text, sentiment and familiarity; and insights with the statements they rest on.
Nothing is asked while it runs.
"""

import json
from pathlib import Path
from typing import Any

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    OfflineLLM,
    configure,
    register_policy,
)
from mesa_memory.layers import Reflection

DAYS = 8
_TOLD = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
MEMORIES = {
    "episodic": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.direct(last=30, insights=3), reflect_threshold=7
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=1),
}


class RecordedVillage(mesa.Model):
    """Ada, Bram, Cora and Dov, who talk about a mill wheel and a map.

    Args:
        memory: one of ``MEMORIES``.
        record: where.
    """

    def __init__(self, memory: str, record: Any) -> None:
        super().__init__(rng=1)
        answers = {"reflect": insights, "impression": self.impressions}
        configure(self, llm=OfflineLLM(answers), record=record)
        quiet = register_policy("quiet villager", lambda turn: "Nothing to do.")
        self.people = {}
        for name in ("Ada", "Bram", "Cora", "Dov"):
            self.people[name] = person = LLMAgent(self, CoTReasoning, quiet)
            person.name = name
            person.memory = MEMORIES[memory](person)

    def step(self) -> None:
        """What is said on this day, and then everybody reads its memory."""
        for step, speaker, hearers, words in _TOLD["said"]:
            if step == self.steps:
                listeners = [self.people[name] for name in hearers]
                self.people[speaker].send_message(words, listeners)
        for person in self.people.values():
            person.memory.process_step()
            person.memory.get_prompt_ready()

    def impressions(self, inputs: Any) -> Any:
        """The newest recorded impression of each agent that is asked about."""
        if "others" not in inputs:
            return self._impression(inputs["observer"], inputs["subject"])
        found = [
            self._impression(inputs["observer"], other["subject"])
            for other in inputs["others"]
        ]
        return {"impressions": [{"other": n, **one} for n, one in enumerate(found, 1)]}

    def _impression(self, observer: str, subject: str) -> dict[str, Any]:
        known = [
            {"text": text, "sentiment": sentiment, "familiarity": familiarity}
            for who, whom, step, text, sentiment, familiarity in _TOLD["impressions"]
            if step <= self.steps and (who, whom) == (observer, subject)
        ]
        unknown = {
            "text": f"{subject} is a neighbour.",
            "sentiment": 0,
            "familiarity": 0,
        }
        return (known or [unknown])[-1]


def insights(inputs: Any) -> dict[str, Any]:
    """Recorded insights that are new and whose statements are all shown."""
    lines, found = inputs["lines"], []
    for text, evidence in reversed(_TOLD["insights"]):
        places = [
            next((n for n, line in enumerate(lines, 1) if words in line), None)
            for words in evidence
        ]
        if all(places) and not any(text in line for line in lines):
            found.append({"insight": text, "evidence": places})
    return {"insights": found[: inputs["count"]]}
