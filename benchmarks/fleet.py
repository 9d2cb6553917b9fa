"""A fleet of agents beside Mesa-LLM's own classes, with good models and with faults.

    python -m benchmarks.fleet [--agents 10] [--steps 14] [--only Episodic] [--json]

Each agent has four events in a step: it sees, says, hears and does something. A local
server answers after ``--latency`` seconds as one of three summarisers, and makes the
faults of ``FAULTS``. Agents step together, with Mesa-LLM's asyncio and threads. Its own
classes do the same in the same run, without faults.

An event is out of sight if it stands in no section of the prompt and no summary in use
covers it; for an episodic memory, if the memory does not hold it. Requests are given as
a ratio to Mesa-LLM's, seconds as a ratio to the run without a fault.
"""

import argparse
import asyncio
import json
import logging
import os
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from typing import Any

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.episodic_memory import EpisodicMemory as TheirEpisodic
from mesa_llm.memory.lt_memory import LongTermMemory as TheirLongTerm
from mesa_llm.memory.st_lt_memory import STLTMemory as TheirSTLT
from mesa_llm.parallel_stepping import step_agents_multithreaded, step_agents_parallel
from mesa_llm.reasoning.cot import CoTReasoning

from benchmarks.tables import show
from mesa_memory import EpisodicMemory, LongTermMemory, Services, STLTMemory
from mesa_memory.errors import LLMError
from tests.support.openai_server import Behaviour, OpenAIServer, Received

MODEL, LOCKED = "openai/local", "openai/locked"
#: ours, and Mesa-LLM's
PAIRS: dict[str, tuple[type, type]] = {
    "STLT": (STLTMemory, TheirSTLT),
    "LongTerm": (LongTermMemory, TheirLongTerm),
    "Episodic": (EpisodicMemory, TheirEpisodic),
}
MODES: dict[str, Callable[[list[Any]], object]] = {
    "asyncio": lambda agents: asyncio.run(step_agents_parallel(agents)),
    "threads": step_agents_multithreaded,
}
NAMES = ("Ada", "Bram", "Cleo", "Dov", "Elin", "Femi", "Gus", "Hana", "Ivo", "Jun")
THINGS = ("flour", "nails", "wool", "salt", "rope", "candles", "honey")
_CODE = re.compile(r"E\d+x\d+[a-z]")
#: requests that may be under way at once with the fault "three at once"
ROOM = 3
#: seconds after the first refusal in which the limit must be found
FOUND_S = 2.0


# -- the fleet ---------------------------------------------------------------------------


class Citizen(LLMAgent):
    """Sees, says and does one thing a step; each event has a code of its own."""

    async def astep(self) -> None:
        """One observation, one message to the next agent, one action."""
        now, number = self.model.steps, self.unique_id
        name, thing = NAMES[number % len(NAMES)], THINGS[now % len(THINGS)]
        code = f"E{number}x{now}"
        near = self.model.citizens[number % len(self.model.citizens)]
        seen = {"view": f"{name} sees {thing} at the market ({code}a)."}
        await self.memory.aadd_to_memory("observation", seen)
        said = f"{name} wants {now + 2} crowns for {thing} ({code}b)."
        await self.asend_message(said, [near])
        done = {"deed": f"{name} carried {thing} home ({code}c)."}
        await self.memory.aadd_to_memory("action", done)
        self.model.events[number] += [f"{code}{kind}" for kind in "abc"]
        self.model.events[near.unique_id].append(f"{code}b")


class Fleet(mesa.Model):
    """Citizens that step together.

    Args:
        count: number of citizens.
        make: makes a citizen's memory.
        base: address of the local server.
        mode: key of ``MODES``.
        locked: number of a citizen whose model refuses its key; 0 names no citizen.

    Attributes:
        events: by citizen, the codes of its events.
    """

    def __init__(
        self,
        count: int,
        make: Callable[[Any], Any],
        base: str,
        mode: str,
        locked: int = 0,
    ) -> None:
        super().__init__(rng=42)
        self.mode = mode
        self.events: dict[int, list[str]] = {n: [] for n in range(1, count + 1)}
        models = {locked: LOCKED}
        self.citizens = [
            Citizen(self, CoTReasoning, models.get(n, MODEL), api_base=base)
            for n in self.events
        ]
        for citizen in self.citizens:
            citizen.memory = make(citizen)

    def step(self) -> None:
        """All citizens together."""
        MODES[self.mode](list(self.agents))


class Diary:
    """Observes the records of a run, and which summaries are current."""

    def __init__(self) -> None:
        self.records: dict[str, Any] = {}

    def opened(self, record: Any) -> None:
        """Keeps the record."""
        self.records[record.id] = record

    def graded(self, record: Any) -> None:
        """The record is kept already."""

    def closed(self, record: Any) -> None:
        """The record is kept already."""

    def covered(self) -> Iterator[tuple[int, str]]:
        """Agents, and codes of events that a summary in use covers."""
        waiting = [
            r for r in self.records.values() if r.kind == "summary" and r.current
        ]
        met = set()
        while waiting:
            record = waiting.pop()
            yield from (
                (record.agent, code) for code in _CODE.findall(str(record.content))
            )
            new = set(record.sources) - met
            met |= new
            waiting += [self.records[name] for name in new]


def out_of_sight(fleet: Fleet, diary: Diary | None, answered: list[str]) -> int:
    """The number of events that no prompt shows and nothing in use covers.

    Args:
        diary: of our memories; None for Mesa-LLM's.
        answered: prompts that were answered; of Mesa-LLM's every reply is used.
    """
    covered = Counter(diary.covered() if diary else ())
    theirs = set(_CODE.findall(" ".join(answered))) if diary is None else set()
    missing = 0
    for citizen in fleet.citizens:
        memory, number = citizen.memory, citizen.unique_id
        text = memory.get_prompt_ready()
        if hasattr(memory, "memory_entries"):
            text += " ".join(str(entry.content) for entry in memory.memory_entries)
        seen = theirs | set(_CODE.findall(text))
        missing += sum(
            code not in seen and not covered[number, code]
            for code in fleet.events[number]
        )
    return missing


# -- the server --------------------------------------------------------------------------


def with_names(lines: list[str]) -> str:
    """A faithful summary in the words of the events."""
    return " ".join(line.split(": ", 1)[-1] for line in lines)[:900]


def abstract(lines: list[str]) -> str:
    """A faithful summary without a name, number or word of the events."""
    return "Trade went on as usual, and somebody next door made an offer."


def codes_and_filler(lines: list[str]) -> str:
    """The codes of events, and otherwise general words."""
    codes = _CODE.findall(" ".join(lines))
    return f"Things went on ({', '.join(codes[-8:])}), as they do."


SUMMARISERS: dict[str, Callable[[list[str]], str]] = {
    "names": with_names,
    "abstract": abstract,
    "codes": codes_and_filler,
}


class Model:
    """A language model behind the local server, and its faults.

    Args:
        summarise: one of ``SUMMARISERS``.
        fault: one of ``FAULTS``, or empty.
        latency: seconds until an answer.

    Attributes:
        refusals: the times of refusals.
        sent: the times of all requests.
        answered: the prompts that had an answer.
        first_key: the time of the first request with a wrong key.
    """

    def __init__(
        self, summarise: Callable[[list[str]], str], fault: str, latency: float
    ) -> None:
        self.summarise, self.fault, self.latency = summarise, fault, latency
        self.refusals: list[float] = []
        self.sent: list[float] = []
        self.answered: list[str] = []
        self.first_key = 0.0
        self._until: list[float] = []  # when those under way will be answered

    def behave(self, received: Received) -> Behaviour:
        """Answers after the latency; refuses at once where the fault says so."""
        now = time.monotonic()
        self.sent.append(now)
        if received.model == LOCKED.partition("/")[2]:
            self.first_key = self.first_key or now
            message, name = "Incorrect API key provided", "invalid_api_key"
            return Behaviour.status(401, message, code_name=name)
        self._until = [until for until in self._until if until > now]
        if self.fault == "three at once" and len(self._until) >= ROOM:
            self.refusals.append(now)
            return Behaviour.status(429, "Too many concurrent requests")
        self._until.append(now + self.latency)
        self.answered.append(received.prompt)
        return Behaviour.slow(self.latency)

    def answer(self, received: Received) -> str:
        """The reply to a request of ours or of Mesa-LLM's."""
        asked, prompt = received.system + received.prompt, received.prompt
        if "grade the importance" in prompt:
            return '{"grade": 3}'
        if "importance" in asked and "Rate" in prompt:
            return self._grades(received)
        lines = [line for line in prompt.splitlines() if _CODE.search(line)]
        text = self.summarise(lines)
        form = received.body.get("response_format")
        return json.dumps({"summary": text}) if form else text

    def _grades(self, received: Received) -> str:
        count = len(re.findall(r"^\d+\. ", received.prompt, re.MULTILINE))
        if not received.body.get("response_format"):
            return "\n".join(f"{number}: 3" for number in range(1, count + 1))
        if self.fault == "too few grades":
            return json.dumps({"grades": [3] * max(0, count - 1)})
        if self.fault == "too many grades":
            return json.dumps({"grades": [3] * (count + 1)})
        numbered = [{"event": n, "grade": 3} for n in range(1, count + 1)]
        if self.fault == "numbers too high":  # one more than there are events
            numbered.append({"event": count + 1, "grade": 3})
        return json.dumps({"grades": numbered})


#: by memory, or all, the faults that are measured
FAULTS: dict[str, tuple[str, ...]] = {
    "three at once": tuple(PAIRS),
    "a wrong key of one": tuple(PAIRS),
    "too few grades": ("Episodic",),
    "too many grades": ("Episodic",),
    "numbers too high": ("Episodic",),
}


# -- measuring ---------------------------------------------------------------------------


@dataclass
class Row:
    """One run.

    Attributes:
        out_of_sight: see ``out_of_sight``, of ``events``.
        refusals: by the server, as too many requests were under way.
        refused_later: share of the requests that were refused from two seconds after
            the first refusal on.
        told: seconds from the first refused key to the error; 0 without one.
        to_theirs: requests / Mesa-LLM's.
        to_sound: seconds / those without a fault.
    """

    memory: str
    mode: str
    summaries: str
    fault: str
    out_of_sight: int = 0
    events: int = 0
    requests: int = 0
    to_theirs: float = 1.0
    seconds: float = 0.0
    to_sound: float = 1.0
    refusals: int = 0
    refused_later: float = 0.0
    told: float = 0.0


def run(agents: int, steps: int, row: Row, model: Model, ours: bool) -> Row:
    """Runs one fleet and fills in its row; the error of one agent does not end it."""
    cls = PAIRS[row.memory][not ours]
    with OpenAIServer(model.answer, behave=model.behave, keep_log=False) as server:

        def make(agent: Any) -> Any:
            named = {"llm_model": MODEL, "api_base": server.base, "display": False}
            return cls(agent) if ours else cls(agent, **named)

        locked = 4 if model.fault == "a wrong key of one" else 0
        fleet = Fleet(agents, make, server.base, row.mode, locked)
        diary = Diary() if ours else None
        if diary is not None:
            Services.of(fleet).observers.append(diary)
        began, tasks = time.monotonic(), [fleet.step] * steps
        if ours:
            tasks.append(Services.of(fleet).flush)
        for task in tasks:
            try:
                task()
            except LLMError:
                row.told = row.told or time.monotonic() - model.first_key
        row.seconds, row.requests = time.monotonic() - began, len(model.sent)
        row.out_of_sight = out_of_sight(fleet, diary, model.answered)
    row.events, row.refusals = sum(map(len, fleet.events.values())), len(model.refusals)
    if model.refusals:
        found = model.refusals[0] + FOUND_S
        later = sum(at > found for at in model.sent)
        row.refused_later = sum(at > found for at in model.refusals) / max(1, later)
    return row


def compare(
    agents: int, steps: int, latency: float, memory: str, mode: str
) -> list[Row]:
    """Measures one memory in one mode: Mesa-LLM's, all summarisers, all faults."""
    rows = []

    def measure(summaries: str, fault: str, ours: bool = True) -> Row:
        model = Model(SUMMARISERS[summaries], fault, latency)
        row = Row(memory, mode, summaries, fault)
        rows.append(run(agents, steps, row, model, ours))
        return row

    theirs = measure("names", "", ours=False)
    theirs.fault = "Mesa-LLM's own"
    sound = [measure(name, "") for name in SUMMARISERS]
    for fault, memories in FAULTS.items():
        if memory in memories:
            measure("names", fault)
    for row in rows[1:]:
        row.to_theirs = row.requests / theirs.requests
        row.to_sound = row.seconds / sound[0].seconds
    return rows


def main() -> None:
    """Runs the benchmark from the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--agents", type=int, default=10)
    parser.add_argument("--steps", type=int, default=14)
    parser.add_argument("--latency", type=float, default=0.05)
    parser.add_argument("--only", choices=PAIRS, action="append")
    parser.add_argument("--mode", choices=MODES, action="append")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    logging.disable(logging.WARNING)
    # litellm leaves the connections of Mesa-LLM's own classes open when a loop ends.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    compare(given.agents, 2, given.latency, "Episodic", "asyncio")  # loads what is used
    rows = [
        asdict(row)
        for memory in given.only or PAIRS
        for mode in given.mode or MODES
        for row in compare(given.agents, given.steps, given.latency, memory, mode)
    ]
    if given.json:
        print(json.dumps(rows))
    else:
        show("A fleet beside Mesa-LLM's own classes", rows)


if __name__ == "__main__":
    main()
