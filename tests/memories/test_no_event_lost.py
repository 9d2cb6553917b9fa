"""Everybody talks to everybody while the model fails at random: nothing is lost."""

import asyncio
import itertools
import random

import pytest

from mesa_memory import LLMUnavailable, OfflineLLM
from tests.support.fleet import ASKING, EXECUTIONS, MEMORIES, MODES, Town, idle

COUNT, STEPS = 8, 50


class Moody:
    """Answers late, as the offline model does; sometimes not at all.

    Attributes:
        requests: all that were asked.
        failures: how many were not answered.
    """

    def __init__(self, failing: float, latency: float = 0.002) -> None:
        self.failing, self.latency = failing, latency
        self.requests = []
        self.failures = 0
        self._random = random.Random(11)
        self._model = OfflineLLM()

    async def acomplete(self, request):
        self.requests.append(request)
        await asyncio.sleep(self._random.random() * self.latency)
        if self._random.random() < self.failing:
            self.failures += 1
            where = {"agent": request.agent, "step": request.step}
            raise LLMUnavailable("a bad mood", purpose=request.purpose, **where)
        return self._model.complete(request)


def talk(town):
    """A script: each agent tells all others something new in each step."""

    def script(agent):
        town.say_to_all(agent, f"{agent.unique_id} says word {town.steps}")

    return script


@pytest.mark.parametrize(
    ("memory", "mode", "execution"),
    [
        (memory, mode, execution)
        for memory, (mode, execution) in itertools.product(
            MEMORIES, itertools.product(MODES, EXECUTIONS)
        )
        if execution == "deferred" or mode == "sync"
    ],
)
def test_each_message_is_recorded_once_at_the_step_it_arrived(memory, mode, execution):
    llm = Moody(failing=0.2)
    # Eight impressions at once nearly always have one that fails.
    town = Town(memory, COUNT, llm=llm, execution=execution, max_pending_steps=STEPS)
    town.script = talk(town)
    for _ in range(STEPS):
        town.advance(mode)
    town.services.flush()
    assert len(town.sent) == COUNT * COUNT * STEPS
    assert town.miscounted() == {}
    assert town.uncovered() == []
    assert (llm.failures > 0) == (memory in ASKING)
    llm.failing = 0.0
    town.script = idle  # takes up what came after each agent's last step
    town.advance(mode)
    town.services.flush()
    assert [town.due(citizen) for citizen in town.citizens] == [0] * COUNT
    assert town.uncovered() == []
