"""One agent in ten whose model refuses or fails: told soon, and the others lose nothing."""

from contextlib import suppress
from itertools import cycle, product

from mesa_memory import LLMRejected, MemoryStalled
from mesa_memory.errors import LLMError
from tests.support.fleet import Town
from tests.support.openai_server import Behaviour, OpenAIServer
from tests.support.turns import in_turn

AGENTS, BAD, STEPS = 10, 4, 14
FAULTS = (LLMError, MemoryStalled)

refuse = Behaviour.status
#: what providers say of a fault that no waiting cures; tests/llm has the others
REFUSALS = {
    "a wrong key": refuse(
        401, "Incorrect API key provided", code_name="invalid_api_key"
    ),
    "no quota": refuse(429, "You exceeded your quota", code_name="insufficient_quota"),
    "a parameter": refuse(400, "Invalid value: 'tier'. Supported values are: 'auto'."),
}
#: what waiting might cure, though the model has never answered
FAILURES = {
    "no channel": refuse(500, "No available channel for model"),
    "a page to log in": Behaviour.raw(b"<html>Please log in</html>", "text/html"),
    "a closed connection": Behaviour.drop_before(),
}


class OneBad(OpenAIServer):
    """Gives one agent's model another behaviour."""

    def __init__(self, behaviour):
        super().__init__(behave=self._behave, latency=0.01)
        self.behaviour, self.bad = behaviour, 0

    def _behave(self, received):
        if received.model != f"test-{BAD}":
            return None
        self.bad += 1
        return self.behaviour


def live(memory, mode, server, steps=STEPS):
    """Lives through these steps, whatever is raised; gives the errors with their steps."""
    town = Town(memory, AGENTS, server.base, "openai/test-{}")
    errors = []
    for step in range(1, steps + 1):
        for citizen in town.citizens:
            town.tell(citizen, f"news {step} for {citizen.unique_id}")
        try:
            town.advance(mode)
        except FAULTS as error:
            errors.append((step, error))
    return town, errors


def check_the_others(town):
    """Nothing is lost, and each of the others has thought about what it was told."""
    others = [citizen for citizen in town.citizens if citizen.unique_id != BAD]
    town.step()
    for citizen in others:
        citizen.step()
    with suppress(*FAULTS):
        town.services.flush()
    with suppress(*FAULTS):  # its reader is told once more
        town.citizens[BAD - 1].memory.get_prompt_ready()
    town.check_nothing_lost()
    thought = town.thought()
    assert all(thought[citizen.unique_id] for citizen in others)


MODES, MEMORIES = ("asyncio", "threading"), ("stlt", "long_term", "episodic")


def test_a_refusal_is_told_at_the_next_step_and_the_others_lose_nothing():
    memories = cycle(MEMORIES)
    for refusal, mode in product(REFUSALS.values(), MODES):
        with OneBad(refusal) as server:
            memory, steps = next(memories), 7
            town, errors = live(memory, mode, server, steps)
            first_asked = 4 if memory == "stlt" else 1
            step, error = errors[0]
            assert isinstance(error, LLMRejected) and error.agent == BAD
            assert step <= first_asked + 1
            assert {e.agent for _, e in errors} == {BAD}
            # One request for each step in which it was due: nothing is tried in vain.
            assert server.bad <= steps
            check_the_others(town)


@in_turn(mode=MODES, failure=[*FAILURES.values()])
def test_nothing_waits_for_a_model_that_never_answers_while_others_do(
    failure, mode, caplog
):
    with OneBad(failure) as server:
        town, errors = live("long_term", mode, server)
        step, error = errors[0]
        assert isinstance(error, MemoryStalled) and error.agent == BAD
        assert step == town.services.max_pending_steps + 1
        # Two attempts of the first request, and one of each later one.
        assert server.bad <= STEPS + 1
        assert any("tried again" in r.message for r in caplog.records)
        check_the_others(town)


def test_a_model_that_has_answered_once_has_all_its_attempts():
    with OneBad(None) as server:
        town = Town("long_term", 2 * BAD, server.base, "openai/test-{}", backoff=0.01)
        for step in (1, 2):
            server.behaviour = FAILURES["no channel"] if step == 2 else None
            server.bad = 0
            for citizen in town.citizens:
                town.tell(citizen, f"news {step}")
            town.advance()
            town.services.flush()
        assert server.bad == town.services.settings.attempts
