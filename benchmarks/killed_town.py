"""Models for ``benchmarks.kills``: a town with every memory, and README's street.

Both ask a provider in a process of its own, which takes its time, fails in one of twenty
cases, and writes down each answer that it was to be paid for.
"""

import asyncio
import hashlib
import os
import signal
from collections import Counter
from pathlib import Path
from typing import Any

import mesa
import numpy as np
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LLMUnavailable,
    LongTermMemory,
    OfflineLLM,
    Recording,
    Scoring,
    ShortTermMemory,
    STLTMemory,
    configure,
    register_policy,
)
from mesa_memory.layers import Reflection
from mesa_memory.llm import LLMRequest, Reply
from mesa_memory.runs.recording.rows import prompt_hash
from tests.support.town import Citizen

#: of a hundred prompts, so many get no answer, and as many one that says nothing
DOWN, NONSENSE = 3, 2


def key_of(request: LLMRequest) -> str:
    """Names a request: agent, step, purpose and prompt."""
    whose = f"{request.agent}|{float(request.step)}|{request.purpose}"
    return f"{whose}|{prompt_hash(request)}"


class Paid:
    """A language model that asks the provider before it answers.

    Attributes:
        place: where the provider listens.
        answered: how many answers came.
    """

    def __init__(self, place: str) -> None:
        self.place, self.answered = place, 0
        self._offline = OfflineLLM()

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The offline model's answer, once the provider has counted it."""
        reader, writer = await asyncio.open_unix_connection(self.place)
        try:
            again = b"again" if request.repair else b"first"
            writer.write(again + b" " + key_of(request).encode() + b"\n")
            said = (await reader.readline()).decode().strip()
        finally:
            writer.close()
        if said == "down":
            whose = {"purpose": request.purpose, "agent": request.agent}
            raise LLMUnavailable("the provider is down", step=request.step, **whose)
        self.answered += 1
        reply = self._offline.complete(request)
        text = "Well." if said == "nonsense" else reply.text
        return Reply(text, "paid", 100, 10, cost=0.001)


class Provider:
    """The provider's process; ``log`` has a line for each answer that was paid."""

    def __init__(self, folder: Path, latency: float) -> None:
        self.place, self.log = str(folder / "provider"), folder / "paid.log"
        self.log.touch()
        listens, says = os.pipe()
        self.child = os.fork()
        if not self.child:
            try:
                asyncio.run(self._serve(latency, says))
            finally:
                os._exit(0)
        os.read(listens, 1)

    def paid(self) -> Counter[str]:
        """How often each request was answered until now."""
        return Counter(self.log.read_text().splitlines())

    def stop(self) -> None:
        """Ends the process."""
        os.kill(self.child, signal.SIGKILL)
        os.waitpid(self.child, 0)

    async def _serve(self, latency: float, says: int) -> None:
        with self.log.open("a", buffering=1) as log:

            async def answer(reader: Any, writer: Any) -> None:
                how, _, key = (await reader.readline()).decode().strip().partition(" ")
                luck = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 100
                await asyncio.sleep(latency)
                said = "ok"
                if luck < DOWN:
                    said = "down"
                elif luck < DOWN + NONSENSE and how == "first":
                    said = "nonsense"
                if said != "down":
                    log.write(key + "\n")
                writer.write(said.encode() + b"\n")
                writer.close()

            await asyncio.start_unix_server(answer, self.place)
            os.write(says, b"!")
            await asyncio.Event().wait()


class Elsewhere:
    """An embedder that is not the shipped one: its vectors are part of the record."""

    name, dim, batch = "elsewhere", 16, 64

    def embed(self, texts: Any) -> np.ndarray:
        """Vectors of length 1 that depend on the text alone."""
        rows = []
        for text in texts:
            seed = hashlib.sha256(text.encode()).digest()
            row = np.frombuffer(seed[:16], dtype=np.uint8).astype(np.float32) - 127.5
            rows.append(row / np.linalg.norm(row))
        return np.array(rows, dtype=np.float32).reshape(len(rows), 16)


def stream(agent: Any) -> EpisodicMemory:
    """A small stream that reflects by questions, and whose recalls count."""
    return EpisodicMemory(
        agent,
        max_capacity=15,
        reflection=Reflection.questions(2, per_question=4),
        reflect_threshold=20,
        scoring=Scoring(refresh="throttled", refresh_every=2),
    )


MEMORIES = [
    lambda agent: EpisodicMemory(agent, reflect_threshold=20, max_capacity=15),
    STLTMemory,
    LongTermMemory,
    ImpressionMemory,
    ShortTermMemory,
    stream,
]


class Setting:
    """What a model is made with that no file should hold."""

    llm: Any = None
    embedder: Any = "static"


class KilledTown(mesa.Model):
    """Citizens with every memory, who come and go, and read what they remember."""

    def __init__(self, place: str = "run.sqlite", n: int = 6) -> None:
        super().__init__(rng=7)
        self.place, self.n = place, n
        self.diary: list[str] = []
        record = Recording(place, checkpoint_every=3)
        configure(
            self, llm=Setting.llm, embedder=Setting.embedder, record=record, backoff=0.0
        )
        self.citizens: list[Citizen] = []
        for _ in range(n):
            self.born()

    def born(self) -> None:
        """One citizen more."""
        citizen = Citizen(self, CoTReasoning, "openai/local")
        citizen.memory = MEMORIES[citizen.unique_id % len(MEMORIES)](citizen)
        self.citizens.append(citizen)

    def neighbours(self, agent: LLMAgent) -> list[LLMAgent]:
        """The next and the previous citizen."""
        place, count = self.citizens.index(agent), len(self.citizens)
        return [self.citizens[(place + 1) % count], self.citizens[place - 1]]

    def step(self) -> None:
        """All act, some come or go, all read."""
        self.agents.shuffle_do("step")
        if self.steps % 3 == 2:
            self.born()
        if self.steps % 4 == 3:
            self.citizens.pop(self.random.randrange(len(self.citizens))).remove()
        for citizen in self.random.sample(self.citizens, len(self.citizens)):
            text = citizen.memory.get_prompt_ready()
            self.diary.append(f"{self.steps}: {citizen.unique_id} {len(text)}")

    def get_state(self) -> dict[str, Any]:
        """Who lives here, and the town's diary."""
        return {"diary": self.diary, "ids": [c.unique_id for c in self.citizens]}

    def set_state(self, state: dict[str, Any]) -> None:
        """Takes it up again."""
        self.diary = state["diary"]
        for citizen in list(self.citizens):
            if citizen.unique_id not in state["ids"]:
                self.citizens.remove(citizen)
                citizen.remove()
        here = {citizen.unique_id for citizen in self.citizens}
        for number in state["ids"]:
            if number not in here:
                self.agent_id_counter = number
                self.born()


def talk(turn: Any) -> str:
    """Stands for a language model."""
    return "I greet my neighbour."


class Neighbour(LLMAgent):
    """README's neighbour."""

    def step(self) -> None:
        """Tells everybody the same."""
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message("The bridge is broken!", others)


class Street(mesa.Model):
    """README's model, recorded, with a provider in place of the offline model."""

    def __init__(self, n: int = 3, rng: Any = None, place: str = "run.sqlite") -> None:
        super().__init__(rng=rng)
        configure(self, llm=Setting.llm, embedder=Setting.embedder, record=place)
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, register_policy("talk", talk))
            agent.memory = EpisodicMemory(agent)

    def step(self) -> None:
        """See README."""
        self.agents.shuffle_do("step")
