"""Three ways to live through the same days, recorded, for each kind of memory.

The village's events are messages and news, which every version of the package has to
render, remember and recall alike. The example has observations, too.
"""

import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")  # Mesa-LLM wants one for each agent

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    Recording,
    ScriptedLLM,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.layers import Reflection
from tests.support.openai_server import OpenAIServer, Received, default_answer

DAYS = 8
MEMORIES: dict[str, Callable[[Any], Any]] = {
    "short_term": lambda agent: ShortTermMemory(agent, n=3),
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=3),
    "long_term": LongTermMemory,
    "episodic": lambda agent: EpisodicMemory(agent, max_capacity=12),
    "reflection": lambda agent: EpisodicMemory(
        agent, reflection=Reflection.direct(last=8), reflect_threshold=12
    ),
    "impression": lambda agent: ImpressionMemory(agent, update_every=3),
}
MEANS = ("offline", "scripted", "server")
#: memories of the example
EXAMPLE = ("short_term", "stlt", "long_term", "episodic", "impression", "none")

WORDS = (
    "The mill by the river is on fire",
    "I bought four fish at the market",
    "The miller owes me 30 coins",
    "A stranger with a red hat asked for the way",
    "The well in the square is dry again",
    "My daughter sings in the choir on Sunday",
    "The bridge will be closed tomorrow",
)


INSIGHT = {"insight": "Much happens at the mill.", "evidence": [1, 2]}


class Villager(LLMAgent):
    """Hears news on some days, tells a neighbour of it, and reads its memory."""

    def step(self) -> None:
        day, me = self.model.steps, self.unique_id
        if (day + me) % 3 == 0:
            text = f"{WORDS[(day * 3 + me) % len(WORDS)]}, says the crier."
            self.memory.add_to_memory("news", {"text": text})
        if (day + me) % 4:
            others = [a for a in self.model.villagers if a is not self]
            said = f"{WORDS[(day + me) % len(WORDS)]} since day {day}."
            self.send_message(said, others[: 1 + day % 2])
        self.memory.get_prompt_ready()
        if day % 3 == 0:
            self.memory.get_communication_history()


class Village(mesa.Model):
    """Three people who talk."""

    def __init__(self, memory: str, given: dict[str, Any], api_base: str | None):
        super().__init__(rng=7)
        configure(self, **given)
        self.villagers = []
        for _ in range(3):
            agent = Villager(self, CoTReasoning, "openai/test", api_base=api_base)
            agent.memory = MEMORIES[memory](agent)
            self.villagers.append(agent)

    def step(self) -> None:
        self.agents.shuffle_do("step")


def script() -> ScriptedLLM:
    """Answers that depend on the request alone."""
    return ScriptedLLM(
        rules={
            "consolidate": lambda r: {"summary": f"I recall: {_end(r.prompt)}"},
            "grade": lambda r: {"grades": _grades(r)},
            "impression": _impression,
            "reflect": lambda r: {"insights": [INSIGHT]},
        }
    )


def answer(received: Received) -> str:
    """The local server's reply."""
    if "insights" in received.system + received.prompt:
        return json.dumps({"insights": [INSIGHT]})
    return default_answer(received)


def _end(prompt: str) -> str:
    lines = [line for line in prompt.splitlines() if "day" in line]
    return (lines or ["nothing"])[-1][-120:]


def _impression(request: Any) -> dict[str, Any]:
    """Of one other agent, or of each."""
    one = {"text": f"Talks of {_end(request.prompt)}", "sentiment": 0.25}
    one |= {"familiarity": 0.5}
    others = request.inputs.get("others")
    if others is None:
        return one
    return {"impressions": [{"other": n, **one} for n, _ in enumerate(others, 1)]}


def _grades(request: Any) -> list[int]:
    return [1 + len(line) % 5 for _, line in request.inputs["events"]]


def village(memory: str, means: str, file: Path) -> None:
    """Records a village in ``file``."""
    recording = Recording(str(file), parameters={})
    if means == "server":
        with OpenAIServer(answer) as server:
            _live(Village(memory, {"record": recording}, server.base))
        return
    llm = script() if means == "scripted" else "offline"
    _live(Village(memory, {"record": recording, "llm": llm}, None))


def example(memory: str, file: Path) -> None:
    """Records the rumour's town in ``file``."""
    recording = Recording(str(file), parameters={})
    _live(RumorModel(8, memory, correction_step=4, rng=5, record=recording))


def _live(model: mesa.Model) -> None:
    for _ in range(DAYS):
        model.step()
    Services.of(model).recorder.close()
