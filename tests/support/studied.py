"""A small street with memories, as a study runs it: at the top of a module, so that
workers can load it."""

import os
import signal
import time
from pathlib import Path

os.environ.setdefault("OPENAI_API_KEY", "test")

import mesa
import sqlalchemy as sa
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import LongTermMemory, Services, ShortTermMemory, configure
from mesa_memory.interventions import implant
from mesa_memory.memories import registry
from mesa_memory.stores.schema import unfinished_calls
from tests.support.single import settle
from tests.support.waiting import until


class Walker(LLMAgent):
    """Sees a number each day, and remembers it."""

    def step(self):
        seen = {"view": f"number {self.model.random.randrange(1000)}"}
        self.memory.add_to_memory("observation", seen)
        self.wealth += self.random.randrange(3)


class Street(mesa.Model):
    """Walkers; it knows nothing of studies and records.

    Args:
        n: how many.
        bad: raises at step 2, if the seed is this.
    """

    def __init__(self, n=2, memory="short_term", bad=None, stop=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.bad, self.stop, self.seeded = bad, stop, rng
        for walker in settle(self, registry.find(memory), n, Walker, "openai/test"):
            walker.wealth = 0
        reporters = {"wealth": "wealth"}
        self.datacollector = mesa.DataCollector(
            {"total": lambda model: sum(model.agents.get("wealth"))}, reporters
        )
        self.datacollector.collect(self)

    def step(self):
        if self.steps == 2 and self.bad is not None and self.seeded == self.bad:
            raise ZeroDivisionError("a bad day")
        self.agents.do("step")
        self.datacollector.collect(self)
        self.running = self.steps != self.stop

    def get_state(self):
        return {"wealth": [a.wealth for a in self.agents]}

    def set_state(self, state):
        for walker, wealth in zip(self.agents, state["wealth"]):
            walker.wealth = wealth


class Plain(mesa.Model):
    """A model without memories, seeds, or anything else of this package."""

    def __init__(self, width=3, seed=None):
        super().__init__(seed=seed)
        self.width, self.drawn = width, 0

    def step(self):
        self.drawn = self.random.randrange(self.width * 1000)


class Forgetful(ShortTermMemory):
    """Remembers one step."""

    def __init__(self, agent):
        super().__init__(agent, n=1)


def remembered(model):
    """How many events all walkers hold."""
    return sum(len(walker.memory.short_term_memory) for walker in model.agents)


class Payer(LLMAgent):
    """Notes where and when it is, so that no two of its prompts are alike."""

    def step(self):
        where = f"door {self.unique_id} of street {self.model.seeded}"
        seen = {"view": f"day {self.model.steps} at {where}"}
        self.memory.add_to_memory("observation", seen)


class PaidStreet(mesa.Model):
    """Each of its memories asks a provider for a summary in each step.

    Args:
        base: address of the provider.
        dies: a folder; the process is killed in step 2, once for each seed, when all
            answers of the step are there. ``"always"`` is each time.
        wait: seconds that a step takes besides.
        client: which way its requests go.
    """

    def __init__(
        self, base, n=2, dies=None, wait=0.0, cache=None, client="auto", rng=None
    ):
        super().__init__(rng=rng)
        configure(self, cache=cache, client=client)
        self.seeded, self.dies, self.wait = rng, dies, wait
        settle(self, LongTermMemory, n, Payer, "openai/test", api_base=base)

    def step(self):
        self.agents.do("step")
        for agent in self.agents:
            agent.memory.process_step()
            agent.memory.get_prompt_ready()
        time.sleep(self.wait)
        if self.dies and self.steps == 2:
            self._die()

    def _die(self):
        mark = Path(self.dies) / str(self.seeded)
        if self.dies == "always" or not mark.exists():
            if self.dies != "always":
                mark.touch()
            # The answers are written by a thread of their own.
            until(lambda: self._written() >= len(self.agents))
            os.kill(os.getpid(), signal.SIGKILL)

    def _written(self):
        """How many answers of a step that has not ended are in the store."""
        recorder = Services.of(self).recorder
        count = sa.select(sa.func.count()).select_from(unfinished_calls)
        with recorder.store.reading() as on:
            return on.scalar(count.filter_by(run=recorder.run))


class Greedy(Street):
    """Needs more memory than there is."""

    def step(self):
        raise MemoryError


class Vandal(Street):
    """Deletes the file that it is recorded in."""

    def __init__(self, file, n=2, rng=None):
        super().__init__(n, rng=rng)
        self.file = Path(file)

    def step(self):
        super().step()
        self.file.unlink(missing_ok=True)


def alarm(model):
    """Everybody remembers a fire that there never was."""
    for agent in model.agents:
        implant(agent, "observation", {"view": "the mill has burnt down"})


def flood(model):
    """Everybody remembers a flood that there never was."""
    for agent in model.agents:
        implant(agent, "observation", {"view": "the river is over its banks"})


def lethal(model):
    """An alarm after which the process is killed in step 2, once."""
    alarm(model)
    if model.dies:
        model.dies = str(Path(model.dies) / "later")


def stumbling(folder, model):
    """An alarm that does not come to its end the first time."""
    alarm(model)
    mark = Path(folder) / f"{model.seeded} stumbled"
    if not mark.exists():
        mark.touch()
        raise ZeroDivisionError("a bad change")


def read(model):
    """What all remember."""
    return [agent.memory.get_prompt_ready() for agent in model.agents]


def maker(model):
    """The process that made the run."""
    return os.getpid()
