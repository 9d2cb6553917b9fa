"""A fleet of agents beside Mesa-LLM's own classes, with good models and with faults.

    python -m benchmarks.fleet [--agents 10] [--steps 14] [--latency 0.05]
        [--only Episodic …] [--mode asyncio …] [--json]

Each agent has four events in a step: it sees, says, hears and does something. A local
server answers after ``--latency`` seconds as one of three summarisers, and makes the
faults of ``FAULTS``. Agents step together, with Mesa-LLM's asyncio and threads. Its own
classes do the same in the same run, without faults.

An event is out of sight if it stands in no section of the prompt and no summary in use
covers it; for an episodic memory, if the memory does not hold it. Requests are given as
a ratio to Mesa-LLM's, seconds as a ratio to the run without a fault. *Refused later* is
the share of the requests that were refused from two seconds after the first refusal on,
as too many were under way; *told* are the seconds from a refused key to its error.
"""

import asyncio
import json
import logging
import math
import re
import time
from collections.abc import Callable
from typing import Any

from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.episodic_memory import EpisodicMemory as TheirEpisodic
from mesa_llm.memory.lt_memory import LongTermMemory as TheirLongTerm
from mesa_llm.memory.st_lt_memory import STLTMemory as TheirSTLT
from mesa_llm.parallel_stepping import step_agents_multithreaded, step_agents_parallel

from benchmarks.tables import options, show
from mesa_memory import EpisodicMemory, LongTermMemory, Services, STLTMemory
from mesa_memory.errors import LLMError
from tests.support.diary import Diary
from tests.support.openai_server import Behaviour, OpenAIServer, Received
from tests.support.town import Town

MODEL = "openai/local"
#: with the fault "a wrong key of one": number of an agent, and its model
LOCKED_AGENT, LOCKED = 4, "openai/locked"
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
        near = self.model.neighbours(self)[0]
        seen = {"view": f"{name} sees {thing} at the market ({code}a)."}
        await self.memory.aadd_to_memory("observation", seen)
        said = f"{name} wants {now + 2} crowns for {thing} ({code}b)."
        await self.asend_message(said, [near])
        done = {"deed": f"{name} carried {thing} home ({code}c)."}
        await self.memory.aadd_to_memory("action", done)
        self.model.events[number] += [f"{code}{kind}" for kind in "abc"]
        self.model.events[near.unique_id].append(f"{code}b")


class Fleet(Town):
    """Citizens that step together; ``events`` has the codes of those of each."""

    def __init__(
        self, count: int, make: Callable[[Any], Any], base: str, mode: str
    ) -> None:
        super().__init__(count, make, base, citizen=Citizen)
        self.mode = mode
        self.events: dict[int, list[str]] = {c.unique_id: [] for c in self.citizens}

    def step(self) -> None:
        """All citizens together."""
        MODES[self.mode](list(self.agents))


def covered(diary: Diary) -> set[tuple[int, str]]:
    """Agents, and codes of events that a summary in use covers."""
    waiting = [r for r in diary.records if r.kind == "summary" and r.current]
    met: set[str] = set()
    codes = set()
    while waiting:
        record = waiting.pop()
        codes |= {(record.agent, code) for code in _CODE.findall(str(record.content))}
        new = set(record.sources) - met
        met |= new
        waiting += [diary.by_id[name] for name in new]
    return codes


def out_of_sight(fleet: Fleet, diary: Diary | None, answered: list[str]) -> int:
    """The number of events that no prompt shows and nothing in use covers.

    Args:
        diary: of our memories; None for Mesa-LLM's.
        answered: prompts that were answered; of Mesa-LLM's every reply is used.
    """
    summed_up = covered(diary) if diary else set()
    theirs = set(_CODE.findall(" ".join(answered))) if diary is None else set()
    missing = 0
    for citizen in fleet.citizens:
        memory, number = citizen.memory, citizen.unique_id
        text = memory.get_prompt_ready()
        if hasattr(memory, "memory_entries"):
            text += " ".join(str(entry.content) for entry in memory.memory_entries)
        seen = theirs | set(_CODE.findall(text))
        missing += sum(
            code not in seen and (number, code) not in summed_up
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
#: by memory, or all, the faults that are measured
FAULTS: dict[str, tuple[str, ...]] = {
    "three at once": tuple(PAIRS),
    "a wrong key of one": tuple(PAIRS),
    "too few grades": ("Episodic",),
    "too many grades": ("Episodic",),
    "numbers too high": ("Episodic",),
}


class Model:
    """A language model behind the local server, and its faults.

    Args:
        summaries: key of ``SUMMARISERS``.
        fault: one of ``FAULTS``, or empty.
        latency: seconds until an answer.

    Attributes:
        refusals, sent: the times of refusals, and of all requests.
        answered: the prompts that had an answer.
        first_key: the time of the first request with a wrong key.
    """

    def __init__(self, summaries: str, fault: str, latency: float) -> None:
        self.summarise = SUMMARISERS[summaries]
        self.fault, self.latency = fault, latency
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
        prompt = received.prompt
        if "grade the importance" in prompt:
            return '{"grade": 3}'
        if received.system.startswith("You grade"):
            return self._grades(received)
        lines = [line for line in prompt.splitlines() if _CODE.search(line)]
        text = self.summarise(lines)
        form = received.body.get("response_format")
        return json.dumps({"summary": text}) if form else text

    def _grades(self, received: Received) -> str:
        count = len(re.findall(r"^\d+\. ", received.prompt, re.MULTILINE))
        if not received.body.get("response_format"):
            return "\n".join(f"{number}: 3" for number in range(1, count + 1))
        wrong = {"too few grades": max(0, count - 1), "too many grades": count + 1}
        if self.fault in wrong:
            return json.dumps({"grades": [3] * wrong[self.fault]})
        last = count + (self.fault == "numbers too high")
        numbered = [{"event": n, "grade": 3} for n in range(1, last + 1)]
        return json.dumps({"grades": numbered})


# -- measuring ---------------------------------------------------------------------------


def run(
    memory: str, mode: str, agents: int, steps: int, model: Model, ours: bool = True
) -> dict[str, Any]:
    """The figures of one fleet; the error of one agent does not end it."""
    cls, told = PAIRS[memory][not ours], 0.0
    with OpenAIServer(model.answer, behave=model.behave, keep_log=False) as server:

        def make(agent: Any) -> Any:
            if model.fault == "a wrong key of one" and agent.unique_id == LOCKED_AGENT:
                agent.llm.llm_model = LOCKED
            named = {"llm_model": MODEL, "api_base": server.base, "display": False}
            return cls(agent) if ours else cls(agent, **named)

        fleet = Fleet(agents, make, server.base, mode)
        diary = Diary(fleet) if ours else None
        began, tasks = time.monotonic(), [fleet.step] * steps
        if ours:
            tasks.append(Services.of(fleet).flush)
        for task in tasks:
            try:
                task()
            except LLMError:
                told = told or time.monotonic() - model.first_key
        seconds = time.monotonic() - began
        missing = out_of_sight(fleet, diary, model.answered)
    found = model.refusals[0] + FOUND_S if model.refusals else began + seconds
    later = sum(at > found for at in model.sent)
    return {
        "out_of_sight": missing,
        "events": sum(map(len, fleet.events.values())),
        "requests": len(model.sent),
        "seconds": seconds,
        "refusals": len(model.refusals),
        "refused_later": sum(at > found for at in model.refusals) / max(1, later),
        "told": told,
    }


def compare(
    agents: int, steps: int, latency: float, memory: str, mode: str
) -> list[dict[str, Any]]:
    """Measures one memory in one mode: Mesa-LLM's, all summarisers, all faults."""
    given = (memory, mode, agents, steps)
    ways = [(summaries, "") for summaries in SUMMARISERS]
    ways += [("names", fault) for fault, whose in FAULTS.items() if memory in whose]
    theirs = run(*given, Model("names", "", latency), ours=False)
    ours = {way: run(*given, Model(*way, latency)) for way in ways}
    sound = ours["names", ""]["seconds"]
    rows = {("names", "Mesa-LLM's own"): theirs} | ours
    return [
        {"memory": memory, "mode": mode, "summaries": summaries, "fault": fault}
        | row
        | {"to_theirs": row["requests"] / (theirs["requests"] or math.nan)}
        | {"to_sound": row["seconds"] / sound}
        for (summaries, fault), row in rows.items()
    ]


def main() -> None:
    """Runs the benchmark from the command line."""
    given = options(__doc__, agents=10, steps=14, latency=0.05, only=PAIRS, mode=MODES)
    logging.disable(logging.WARNING)
    # litellm leaves the connections of Mesa-LLM's own classes open when a loop ends.
    logging.getLogger("asyncio").setLevel(logging.CRITICAL)
    compare(given.agents, 2, given.latency, "Episodic", "asyncio")  # loads what is used
    rows = [
        row
        for memory in given.only
        for mode in given.mode
        for row in compare(given.agents, given.steps, given.latency, memory, mode)
    ]
    show("A fleet beside Mesa-LLM's own classes", rows, as_json=given.json)


if __name__ == "__main__":
    main()
