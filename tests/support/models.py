"""Small real models, and a stub for ``memory.llm``, for Mesa-LLM's memories and ours.

A test of a defect takes ``make`` from ``each``. It must fail with Mesa-LLM's class
(strict xfail), and pass with ours in both kinds of execution.
"""

import asyncio
import json
import re
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import pytest
from mesa import Model
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.episodic_memory import EpisodicMemory
from mesa_llm.memory.lt_memory import LongTermMemory
from mesa_llm.memory.st_lt_memory import STLTMemory
from mesa_llm.memory.st_memory import ShortTermMemory
from mesa_llm.reasoning.cot import CoTReasoning

import mesa_memory
from mesa_memory import configure

THEIRS = {
    cls.__name__: cls
    for cls in (ShortTermMemory, STLTMemory, LongTermMemory, EpisodicMemory)
}
#: the classes that work in steps
STEPPED = ("ShortTermMemory", "STLTMemory", "LongTermMemory")


class Down(ConnectionError):
    """What a ``StubLLM`` raises as an outage."""


class Town(Model):
    """A model in which only the clock moves; tests do the rest."""

    def __init__(self) -> None:
        super().__init__(rng=1)


def idle(agent: Any) -> None:
    """Does nothing."""


class Citizen(LLMAgent):
    """An agent that does in its step what ``doing`` says."""

    def __init__(self, model: Model, **given: Any) -> None:
        super().__init__(model, CoTReasoning, llm_model="openai/test", **given)
        self.doing: Callable[[Any], Any] = idle

    def step(self) -> None:
        self.doing(self)


def citizen(**given: Any) -> Citizen:
    """A citizen of a town of its own."""
    return Citizen(Town(), **given)


def retell(prompt: str) -> str:
    """A summary that keeps the beginning of the old one and tells of the last events."""
    known, *events = re.findall(r"^- (.+)$", prompt, re.MULTILINE) or [prompt[-200:]]
    told = [known.removeprefix("A summary. ")[:100], *(e[:60] for e in events[-3:])]
    return f"A summary. {' … '.join(told)}"


class StubLLM:
    """Takes the place of ``memory.llm`` and answers as it is told.

    Args:
        first: what the first requests get: text, None, or an error to raise.
        answer: what all others get; a function is given the prompt.
        turns: how often an event loop goes round before it has an answer.

    Attributes:
        answered: system prompt and prompt of each request that got an answer.
    """

    def __init__(self, *first: Any, answer: Any = retell, turns: int = 0):
        self.first = list(first)
        self.answer = answer
        self.turns = turns
        self.system_prompt: str | None = None
        self.answered: list[str] = []

    @property
    def asked(self) -> str:
        """All that was answered, as one text."""
        return "\n".join(self.answered)

    def generate(self, prompt: Any = None, *_: Any, **__: Any) -> Any:
        return self._response(prompt)

    async def agenerate(self, prompt: Any = None, *_: Any, **__: Any) -> Any:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return self._response(prompt)

    def _response(self, prompt: Any) -> Any:
        answer = self.first.pop(0) if self.first else self.answer
        if isinstance(answer, Exception):
            raise answer
        self.answered.append(f"{self.system_prompt}\n{prompt}")
        text = answer(str(prompt)) if callable(answer) else answer
        message = SimpleNamespace(role="assistant", content=text, tool_calls=None)
        return SimpleNamespace(choices=[SimpleNamespace(message=message)])


def grades(rate: Callable[[str], int]) -> Callable[[str], str]:
    """An answer for ``StubLLM``: ``rate`` grades the text of each event."""

    def answer(prompt: str) -> str:
        lines = re.findall(r"^\d+\. (.*)$", prompt, re.MULTILINE)
        if lines:  # ours lists the events of a step
            return json.dumps({"grades": [rate(line) for line in lines]})
        return json.dumps({"grade": rate(prompt.partition("-----")[0])})

    return answer


@dataclass(frozen=True)
class Maker:
    """Makes the memory of one class of one package, in place of the agent's."""

    package: str
    name: str
    execution: str = "blocking"

    @property
    def cls(self) -> Any:
        """The class."""
        ours = self.package == "ours"
        return getattr(mesa_memory, self.name) if ours else THEIRS[self.name]

    def __call__(self, agent: Any, llm: StubLLM | None = None, **options: Any) -> Any:
        """The memory, with ``llm`` in place of its language model."""
        if self.package == "ours":
            configure(agent.model, execution=self.execution)
            if self.name == "EpisodicMemory":  # as theirs
                options.setdefault("grade_together", 1)
        elif self.name != "ShortTermMemory":  # theirs needs a name at once
            options.setdefault("llm_model", "openai/test")
        options.setdefault("display", False)
        memory = self.cls(agent, **options)
        if llm is not None:
            llm.system_prompt = getattr(memory, "system_prompt", None)
            memory.llm = llm
        agent.memory = memory
        return memory


def each(*names: str, raises: Any = AssertionError) -> Any:
    """Parametrizes ``make``: Mesa-LLM's classes, which must fail, and ours.

    Args:
        names: of the classes.
        raises: how Mesa-LLM's class fails.
    """
    fails = pytest.mark.xfail(strict=True, raises=raises, reason="Mesa-LLM 0.3.2")
    theirs = [
        pytest.param(Maker("theirs", name), id=f"theirs-{name}", marks=fails)
        for name in names
    ]
    return pytest.mark.parametrize("make", [*theirs, *_ours(names)])


def ours(*names: str) -> Any:
    """Parametrizes ``make`` with our classes only."""
    return pytest.mark.parametrize("make", _ours(names))


def _ours(names: tuple[str, ...]) -> list[Any]:
    return [
        pytest.param(Maker("ours", name, execution), id=f"ours-{name}-{execution}")
        for name in names
        for execution in ("blocking", "deferred")
    ]


def told(memory: Any, llm: StubLLM) -> str:
    """All that a memory shows now or has shown its language model."""
    return memory.get_prompt_ready() + llm.asked


def said(text: str, sender: int = 7) -> tuple[str, dict]:
    """A message event."""
    return "message", {"message": text, "sender": sender}


def seen(text: Any) -> tuple[str, dict]:
    """An observation event."""
    return "observation", {"view": text}


def live(memory: Any, *events: tuple[str, dict]) -> None:
    """One step of the clock and of the agent, in which ``events`` happen."""
    memory.agent.model.step()
    with suppress(Down):
        memory.process_step(pre_step=True)
    for kind, content in events:
        memory.add_to_memory(kind, content)
    with suppress(Down):
        memory.process_step()


def hear(memory: Any, *events: tuple[Any, str]) -> None:
    """One step; each event is (sender, text), without sender an observation."""
    memory.agent.model.steps += 1
    for sender, text in events:
        if sender is None:
            memory.add_to_memory("observation", {"text": text})
        else:
            memory.add_to_memory("message", {"message": text, "sender": sender})
    memory.process_step()
