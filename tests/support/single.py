"""One agent with one memory, and tables of cases, where nothing else of a model matters."""

import asyncio
import json
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import OfflineLLM, ScriptedLLM, configure, register_policy

DATA = Path(__file__).parents[1] / "data"


def table(name: str) -> Any:
    """The cases in a file of ``tests/data``."""
    return json.loads((DATA / f"{name}.json").read_text(encoding="utf-8"))


def settle(
    model: mesa.Model,
    memory: Callable[[Any], Any],
    n: int = 1,
    cls: type = LLMAgent,
    name: str = "",
    reasoning: type = CoTReasoning,
    **given: Any,
) -> list[Any]:
    """Adds agents with this memory; without the name of a model, they say nothing."""
    name = name or register_policy("quiet", lambda turn: "")
    agents = [cls(model, reasoning, name, **given) for _ in range(n)]
    for agent in agents:
        agent.memory = memory(agent)
    return agents


def memory_of(
    memory: Callable[[Any], Any], llm: Any = "offline", **services: Any
) -> Any:
    """The memory of the only agent of a model, by default without deferred work."""
    model = mesa.Model(rng=1)
    configure(model, **{"llm": llm, "execution": "blocking", **services})
    return settle(model, memory)[0].memory


class Asked(OfflineLLM):
    """The offline model, which keeps what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.asked: list[Any] = []

    def complete(self, request: Any) -> Any:
        """See ``OfflineLLM``."""
        self.asked.append(request)
        return super().complete(request)


class Late:
    """Answers as the offline model does, each request after a while of its own."""

    def __init__(self, seed: int = 0, longest: float = 0.004) -> None:
        self.asked: list[Any] = []
        self.dice, self.longest = random.Random(seed), longest
        self.model = OfflineLLM()

    async def acomplete(self, request: Any) -> Any:
        """The offline answer, late."""
        self.asked.append(request)
        await asyncio.sleep(self.dice.random() * self.longest)
        return self.model.complete(request)


def scripted(
    memory: Callable[[Any], Any], rules: dict[str, Any] | None = None, **services: Any
) -> tuple[Any, ScriptedLLM]:
    """``memory_of`` with a model that answers as it is told, and that model."""
    llm = ScriptedLLM(rules=rules)
    return memory_of(memory, llm, **services), llm
