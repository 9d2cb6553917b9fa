"""No request made for one agent holds what only another one knows."""

import re

from mesa_memory import LLMUnavailable
from tests.support.fleet import ASKING, MIXED, MODES, Town
from tests.support.single import Late
from tests.support.turns import in_turn

SECRET = re.compile(r"secret-of-(\d+)")


class Moody(Late):
    """Does not answer one of ten requests."""

    async def acomplete(self, request):
        reply = await super().acomplete(request)
        if self.dice.random() < 0.1:
            where = {"agent": request.agent, "step": request.step}
            raise LLMUnavailable("a bad mood", purpose=request.purpose, **where)
        return reply


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


@in_turn(memory=[MIXED, *ASKING, MIXED, MIXED], mode=MODES)
def test_no_request_tells_another_agents_secret(memory, mode):
    execution = "blocking" if mode == "sync" else "deferred"
    llm = Moody(11, 0.001)
    town = Town(memory, 10, llm=llm, execution=execution, max_pending_steps=100)
    town.script = confide(town)
    for _ in range(6):
        town.advance(mode)
    town.services.flush()
    assert len(llm.asked) > 20
    for request in llm.asked:
        texts = [message["content"] for message in request.messages()]
        assert told([*texts, repr(request.inputs)]) <= {request.agent}
    for citizen in town.citizens:
        assert told([citizen.memory.get_prompt_ready()]) == {citizen.unique_id}
