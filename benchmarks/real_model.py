"""What memories get out of a real, very small language model.

    python -m benchmarks.real_model [--model gemma-3-270m] [--agents 4] [--steps 10]
        [--memory NAME …] [--python INTERPRETER] [--verbose] [--json]
    python -m benchmarks.real_model --api-base http://localhost:11434/v1 --model llama3.1:8b

By default SmolLM2-135M-Instruct behind llama.cpp's server (``benchmarks/real_models.txt``,
which also has Gemma 3 270M); with an address any other server that speaks the OpenAI
protocol. Each memory lives in a recorded town of its own. Of what it asks for:

* at once: the first reply could be used;
* repaired: the reply after the repair round could be used;
* given up: no reply could be used; asked for again at the next step, so one thought may
  be counted more than once.

Doubtful is the share of all replies that were marked so. Seconds and tokens are those of
the requests, one at a time.
"""

import logging
import sys
from collections.abc import Callable
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pandas as pd

from benchmarks.small_model import GEMMA, MODELS, NAME, MissingModel, SmallModel
from benchmarks.tables import options, show
from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    MesaMemoryError,
    NarrativeMemory,
    Recording,
    Services,
    ShortTermMemory,
    STLTMemory,
    close,
    configure,
    open_run,
)
from mesa_memory.core.records import EVENT, EVICTED
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
OUTCOMES = ("at once", "repaired", "given up")
SETTINGS: dict[str, Any] = {
    "concurrency": 1, "temperature": 0.0, "seed": 1, "max_tokens": 300,
    "timeout": 300, "deadline": 900, "attempts": 2, "execution": "blocking",
}  # fmt: skip
#: of models that repeat themselves without an end
LESS_REPETITION = {GEMMA: {"options": {"frequency_penalty": 0.6}}}


def lived(
    name: str, agents: int, steps: int, whom: dict[str, Any], settings: dict[str, Any]
) -> list[dict[str, Any]]:
    """One row for each purpose of a memory's requests; at least one."""
    ended = "yes"
    with TemporaryDirectory() as folder:
        file = Path(folder, "run.sqlite")
        record = Recording(file, parameters={"memory": name})
        memory = partial(MEMORIES[name], **whom)
        setup = partial(configure, record=record, **settings)
        town = Town(agents, memory, None, setup, CITIZENS.get(name, Citizen))
        diary = Diary(town)
        try:
            for _ in range(steps):
                town.step()
            Services.of(town).flush()
        except MesaMemoryError as error:
            ended = f"step {town.steps:g}: {type(error).__name__}"
            print(error, file=sys.stderr)
        close(town)
        with open_run(file) as run:
            calls = run.calls()
    # An event is lost that is in no summary and nowhere else.
    events = [record for record in diary.records if record.origin == EVENT]
    lost = sum(record.closed_because == EVICTED for record in events)
    common = {"memory": name, "ended": ended, "lost": f"{lost}/{len(events)}"}
    if calls.empty:
        return [common | row("-", calls)]
    parts = calls.groupby("purpose", sort=False)
    return [common | row(purpose, part) for purpose, part in parts]


def row(purpose: str, calls: pd.DataFrame) -> dict[str, Any]:
    """The figures of the requests of one purpose."""
    again, given_up = calls.repairs.astype(bool), calls.given_up.notna()
    asked, repaired = sum(~again), sum(again & ~given_up)
    counts = (asked - repaired - sum(given_up), repaired, sum(given_up))
    shares = [f"{n / asked:.0%}" if asked else "-" for n in counts]
    seconds, tokens = float(calls.latency.sum()), int(calls.tokens_out.sum())
    return {
        "purpose": purpose,
        "asked for": asked,
        **dict(zip(OUTCOMES, shares, strict=True)),
        "doubtful": f"{calls.doubtful.notna().mean():.0%}" if asked else "-",
        "requests": len(calls),
        "prompt tokens": int(calls.tokens_in.sum()),
        "reply tokens": tokens,
        "tokens/s": tokens / seconds if seconds else 0.0,
        "seconds": seconds,
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
                less = LESS_REPETITION.get(given.model, {})
                settings = SETTINGS | less | {"max_tokens": most}
                rows += lived(name, given.agents, given.steps, whom, settings)
    except MissingModel as error:
        raise SystemExit(str(error)) from None
    title = f"{given.model}: {given.agents} agents x {given.steps} steps"
    show(title, rows, 1, given.json)


if __name__ == "__main__":
    main()
