"""What memories get out of a real, very small language model.

    python -m benchmarks.real_model [--model gemma-3-270m] [--agents 4] [--steps 10]
        [--memory NAME …] [--python INTERPRETER] [--verbose] [--json]
    python -m benchmarks.real_model --api-base http://localhost:11434/v1 --model llama3.1:8b

By default SmolLM2-135M-Instruct behind llama.cpp's server (``benchmarks/real_models.txt``,
which also has Gemma 3 270M); with an address any other server that speaks the OpenAI
protocol. Each memory lives in a town of its own. What is asked about is an event for
grades, else one thought:

* at once: the first reply could be used;
* repaired: the reply after the repair round;
* split: graded in a part of its batch, after the whole got no usable reply;
* given up: no usable reply; asked for again at the next step, so one thought may be
  counted more than once. Of grades: what has none at the end.

Seconds and tokens are those of the requests, one at a time.
"""

import logging
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import partial
from typing import Any

from benchmarks.small_model import MODELS, NAME, MissingModel, SmallModel
from benchmarks.tables import options, show
from mesa_memory import (
    BadReply,
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    MesaMemoryError,
    NarrativeMemory,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
)
from mesa_memory.core.records import EVENT, EVICTED
from mesa_memory.llm.cost.usage import Usage
from mesa_memory.tasks import Task
from tests.support.diary import Diary
from tests.support.town import Citizen, Town


class Pausing(Citizen):
    """Speaks on two days of four, so that its conversations come to an end."""

    def step(self) -> None:
        """As the others, or without a word."""
        near, now = self.model.neighbours(self), self.model.steps
        if now % 4 in (1, 2):
            super().step()
            return
        self.memory.add_to_memory("observation", self.sight(near, now))
        self.memory.add_to_memory("action", self.deed(now))


#: name -> maker of a memory that forgets nothing within so few steps
MEMORIES: dict[str, Callable[..., Any]] = {
    "ShortTerm": lambda agent, **_: ShortTermMemory(agent, n=1000),
    "STLT": lambda agent, **whom: STLTMemory(agent, 2, 1, **whom),
    "LongTerm": LongTermMemory,
    "Episodic": EpisodicMemory,
    "Impression": lambda agent, **whom: ImpressionMemory(
        agent, update_every=3, n=1000, **whom
    ),
    "Fact": lambda agent, **whom: FactMemory(agent, n=1000, **whom),
    "Conversation": lambda agent, **whom: ConversationMemory(
        agent, idle_steps=1, n=1000, **whom
    ),
    "Narrative": lambda agent, **whom: NarrativeMemory(
        agent, chapters=4, story_tokens=200, keep_last=2, **whom
    ),
    "Layered": lambda agent, **whom: LayeredMemory(agent, budget=800, **whom),
}
#: of memories to which the town's usual citizens give nothing to think about
CITIZENS: dict[str, type[Citizen]] = {"Conversation": Pausing}
#: longest replies, in tokens, where a good one is longer than SETTINGS allow
LONGER = {"Fact": 700}
OUTCOMES = AT_ONCE, REPAIRED, SPLIT, GIVEN_UP = (
    "at once", "repaired", "split", "given up",
)  # fmt: skip
SETTINGS: dict[str, Any] = {
    "concurrency": 1, "temperature": 0.0, "seed": 1, "max_tokens": 300,
    "timeout": 300, "deadline": 900, "attempts": 2, "execution": "blocking",
}  # fmt: skip


@contextmanager
def counted() -> Iterator[Counter]:
    """Counts meanwhile, by purpose and outcome, what was asked about."""
    outcomes: Counter = Counter()
    real, asked = Task.ask, set()

    def ask(task: Task, request: Any, check: Any = None, repairs: bool = True) -> Any:
        requests: list[Any] = []
        grade = task.purpose == "grade"
        # What the first request of the step left without a grade.
        again = grade and (request.agent, request.step) in asked
        asked.add((request.agent, request.step))
        try:
            found = yield from _noted(real(task, request, check, repairs), requests)
        except BadReply:
            outcomes[task.purpose, GIVEN_UP] += not grade
            raise
        how = REPAIRED if len(requests) > 1 else AT_ONCE
        if again:
            how = SPLIT
        outcomes[task.purpose, how] += len(found) if grade else 1
        return found

    Task.ask = ask  # type: ignore[method-assign]
    try:
        yield outcomes
    finally:
        Task.ask = real  # type: ignore[method-assign]


def _noted(steps: Any, requests: list[Any]) -> Any:
    """The same flow; its requests are kept."""
    try:
        request = next(steps)
        while True:
            requests.append(request)
            try:
                answer = yield request
            except Exception as error:
                request = steps.throw(error)
            else:
                request = steps.send(answer)
    except StopIteration as stop:
        return stop.value


def lived(
    name: str, agents: int, steps: int, whom: dict[str, Any], settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """One row for each purpose of a memory's requests; at least one."""
    memory, setup = partial(MEMORIES[name], **whom), partial(configure, **settings)
    town = Town(agents, memory, None, setup, CITIZENS.get(name, Citizen))
    diary, ended = Diary(town), "yes"
    started = time.perf_counter()
    with counted() as outcomes:
        try:
            for _ in range(steps):
                town.step()
            Services.of(town).flush()
        except MesaMemoryError as error:
            ended = f"step {town.steps:g}: {type(error).__name__}"
            print(error, file=sys.stderr)
    took = time.perf_counter() - started
    if name == "Episodic":
        entries = [e for c in town.citizens for e in c.memory.layers[0].held]
        left = sum(e.events[0].importance is None for e in entries)
        outcomes["grade", GIVEN_UP] = left
    # An event is lost that is in no summary and nowhere else.
    events = [record for record in diary.records if record.origin == EVENT]
    lost = sum(record.closed_because == EVICTED for record in events)
    common = {"memory": name, "ended": ended, "lost": f"{lost}/{len(events)}"}
    ledger = Services.of(town).ledger.by("purpose")
    if not ledger:
        return [common | row("-", outcomes, Usage(latency=took))]
    return [common | row(p, outcomes, used) for (p,), used in ledger.items()]


def row(purpose: str, outcomes: Counter, used: Usage) -> dict[str, Any]:
    """The figures of one purpose."""
    counts = {how: outcomes[purpose, how] for how in OUTCOMES}
    about = sum(counts.values())
    shares = {how: f"{n / about:.0%}" if about else "-" for how, n in counts.items()}
    reply = used.completion_tokens
    return {
        "purpose": purpose,
        "asked about": about,
        **shares,
        "requests": used.calls,
        "prompt tokens": used.prompt_tokens,
        "reply tokens": reply,
        "tokens/s": reply / used.latency if used.latency else 0.0,
        "seconds": used.latency,
    }


def main() -> None:
    """Runs the benchmark from the command line."""
    given = options(
        __doc__,
        agents=4,
        steps=10,
        memory=MEMORIES,
        model=NAME,
        api_base="",
        python=sys.executable,
        verbose=False,
    )
    if not given.verbose:
        logging.getLogger("mesa_memory").setLevel(logging.ERROR)
    if not given.api_base and given.model not in MODELS:
        sys.exit(f"--model {given.model} needs --api-base; without: {[*MODELS]}")
    rows = []
    try:
        with (
            nullcontext() if given.api_base else SmallModel(given.python, given.model)
        ) as server:
            base = server.base if server else given.api_base
            whom = {"llm_model": f"openai/{given.model}", "api_base": base}
            for name in given.memory:
                most = LONGER.get(name, SETTINGS["max_tokens"])
                settings = SETTINGS | {"max_tokens": most}
                rows += lived(name, given.agents, given.steps, whom, settings)
    except MissingModel as error:
        raise SystemExit(str(error)) from None
    title = f"{given.model}: {given.agents} agents x {given.steps} steps"
    show(title, rows, 1, given.json)


if __name__ == "__main__":
    main()
