"""No request made for one agent holds what only another one knows."""

import asyncio
import random
import re

import pytest

from mesa_memory import LLMUnavailable, OfflineLLM
from tests.support.fleet import ASKING, MIXED, Town

SECRET = re.compile(r"secret-of-(\d+)")


class Moody:
    """Answers late, as the offline model does; one of ten requests is not answered."""

    def __init__(self):
        self.requests, self._model = [], OfflineLLM()
        self._random = random.Random(11)

    async def acomplete(self, request):
        self.requests.append(request)
        await asyncio.sleep(self._random.random() * 0.001)
        if self._random.random() < 0.1:
            where = {"agent": request.agent, "step": request.step}
            raise LLMUnavailable("a bad mood", purpose=request.purpose, **where)
        return self._model.complete(request)


def confide(town):
    """A script: each agent sees a secret, hears one, and says something harmless."""

    def script(agent):
        me, step = agent.unique_id, town.steps
        town.show(agent, f"secret-of-{me} seen in step {step}")
        town.tell(agent, f"secret-of-{me} heard in step {step}")
        town.say_to_all(agent, f"good day {step}")

    return script


def told(texts):
    """Whose secrets stand in texts."""
    return {int(number) for text in texts for number in SECRET.findall(text)}


@pytest.mark.parametrize("memory", [*ASKING, MIXED])
@pytest.mark.parametrize(
    ("mode", "execution"),
    [("sync", "blocking"), ("asyncio", "deferred"), ("threading", "deferred")],
)
def test_no_request_tells_another_agents_secret(memory, mode, execution):
    llm = Moody()
    town = Town(memory, 10, llm=llm, execution=execution, max_pending_steps=100)
    town.script = confide(town)
    for _ in range(6):
        town.advance(mode)
    town.services.flush()
    assert len(llm.requests) > 20
    for request in llm.requests:
        texts = [message["content"] for message in request.messages()]
        assert told([*texts, repr(request.inputs)]) <= {request.agent}
    for citizen in town.citizens:
        assert told([citizen.memory.get_prompt_ready()]) == {citizen.unique_id}
