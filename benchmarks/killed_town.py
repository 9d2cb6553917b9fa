"""Models for ``benchmarks.kills``: a town with every memory, and README's street.

Both ask a provider in a process of its own, which takes its time, fails in one of twenty
cases, and writes down each answer that it was to be paid for.
"""

import asyncio
import hashlib
import multiprocessing
from collections import Counter
from functools import partial
from pathlib import Path
from typing import Any

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
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.llm import LLMRequest, Reply
from mesa_memory.runs.recording.rows import prompt_hash
from tests.support.recorded_town import stream
from tests.support.street import Street
from tests.support.town import Citizen, Town

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
        self._latency = latency

    def __enter__(self) -> "Provider":
        """Starts the process, and waits until it listens."""
        self.log.touch()
        fork = multiprocessing.get_context("fork")
        listens = fork.Event()
        self._child = fork.Process(target=self._run, args=(listens,))
        self._child.start()
        listens.wait()
        return self

    def __exit__(self, *_: object) -> None:
        """Ends the process."""
        self._child.kill()
        self._child.join()

    def paid(self) -> Counter[str]:
        """How often each request was answered until now."""
        return Counter(self.log.read_text().splitlines())

    def _run(self, listens: Any) -> None:
        asyncio.run(self._serve(listens))

    async def _serve(self, listens: Any) -> None:
        with self.log.open("a", buffering=1) as log:

            async def answer(reader: Any, writer: Any) -> None:
                how, _, key = (await reader.readline()).decode().strip().partition(" ")
                luck = int(hashlib.sha256(key.encode()).hexdigest(), 16) % 100
                await asyncio.sleep(self._latency)
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
            listens.set()
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


MEMORIES = [
    lambda agent: EpisodicMemory(agent, reflect_threshold=20, max_capacity=15),
    STLTMemory,
    LongTermMemory,
    ImpressionMemory,
    ShortTermMemory,
    stream,
]


def of_its_kind(agent: Any) -> Any:
    """The memory of a citizen, by its number."""
    return MEMORIES[agent.unique_id % len(MEMORIES)](agent)


class Setting:
    """What a model is made with that no file should hold."""

    llm: Any = None
    embedder: Any = "static"


def settings() -> dict[str, Any]:
    """For ``configure``."""
    return {"llm": Setting.llm, "embedder": Setting.embedder}


class KilledTown(Town):
    """Citizens with every memory, who come and go, and read what they remember."""

    def __init__(self, place: str = "run.sqlite", n: int = 6) -> None:
        record = Recording(place, checkpoint_every=3)
        given = settings() | {"record": record, "backoff": 0.0}
        super().__init__(n, of_its_kind, setup=partial(configure, **given))
        self.diary: list[str] = []

    def born(self) -> None:
        """One citizen more."""
        citizen = Citizen(self, CoTReasoning, "openai/local")
        citizen.memory = of_its_kind(citizen)
        self.citizens.append(citizen)

    def neighbours(self, agent: LLMAgent) -> list[LLMAgent]:
        """The next and the previous citizen."""
        place, count = self.citizens.index(agent), len(self.citizens)
        return [self.citizens[(place + 1) % count], self.citizens[place - 1]]

    def step(self) -> None:
        """All act, some come or go, all read."""
        super().step()
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


class KilledStreet(Street):
    """README's model, recorded, with a provider in place of the offline model."""

    def __init__(self, place: str = "run.sqlite", rng: Any = 1) -> None:
        super().__init__(place, rng=rng, **settings())
