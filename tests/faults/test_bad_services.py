"""No key, no model, or one that answers nonsense: told typed, and nothing is forgotten."""

from itertools import cycle

import pytest

from mesa_memory import LLMRejected, STLTMemory, configure
from mesa_memory.llm import Reply
from tests.support import story
from tests.support.fleet import ASKING, EXECUTIONS, HASTY, MEMORIES, Town
from tests.support.story import live, town_of
from tests.support.turns import in_turn

shared, server = story.shared, story.server
KEY_GONE = "No API key found for OPENAI"


@pytest.mark.parametrize(
    ("llm", "said"),
    [
        ("anthropic/claude-3-haiku", "No API key found for ANTHROPIC"),
        ("gpt-4o", "'gpt-4o'"),
        ("no provider", "'no provider'"),
    ],
)
def test_an_own_model_without_key_or_provider_is_refused_at_construction(
    llm, said, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    (agent,) = Town("short_term").citizens
    with pytest.raises(ValueError, match=said):
        STLTMemory(agent, llm_model=llm)


@in_turn(
    memory=ASKING,
    execution=EXECUTIONS,
    llm=[None, "nowhere/model", "anthropic/claude-3-haiku-20240307"],
)
def test_a_model_that_cannot_be_used_is_told_typed(
    memory, execution, llm, server, monkeypatch
):
    monkeypatch.delenv("ANTHROPIC_API_KEY", raising=False)
    town = town_of(memory, server, llm=llm, execution=execution)
    if llm is None:  # the agent's own, whose key is gone
        monkeypatch.delenv("OPENAI_API_KEY")
    with pytest.raises(LLMRejected, match=(llm and "API key") or KEY_GONE) as told:
        live(town, 5)
    assert told.value.agent == 1
    assert server.requests == 0
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    configure(town, llm=None, execution=execution, **HASTY)
    town.check_nothing_lost()
    live(town, 4)
    assert town.due(town.citizens[0]) == 0
    town.check_nothing_lost()


@in_turn(memory=["stlt", "long_term", "episodic"], execution=EXECUTIONS)
def test_who_speaks_to_an_agent_without_a_key_is_told_nothing_of_it(
    memory, execution, server, monkeypatch
):
    town = town_of(memory, server, execution=execution)
    listener = town.citizens[0].memory
    monkeypatch.delenv("OPENAI_API_KEY")
    for day in range(1, 10):  # the agent itself never acts
        town.steps = town.time = day
        listener.add_to_memory(
            "message", {"message": f"Fish on day {day}", "sender": 2}
        )
    with pytest.raises(LLMRejected, match=KEY_GONE):
        listener.get_prompt_ready()
    assert server.requests == 0
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    assert "Fish on day 9" in listener.get_prompt_ready()


# -- a model of the user's own that answers nonsense ------------------------------------


class Own:
    """A user's model that gives whatever it is told to."""

    def __init__(self, answer):
        self.answer = answer

    def complete(self, request):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


def test_a_broken_own_model_makes_no_memory_forget():
    bugs = KeyError("bug"), RuntimeError("bug"), OSError("bug")
    executions = cycle(EXECUTIONS)
    for memory in MEMORIES:
        for answer in (None, "text", 7, Reply(7), *bugs):
            execution = next(executions)
            town = town_of(memory, None, llm=Own(answer), execution=execution)
            raised = 0
            for _ in range(5):
                try:
                    live(town, 1)
                except Exception:
                    raised += 1
            assert (raised > 0) == (memory in ASKING)
            configure(town, llm="offline", execution=execution)
            town.check_nothing_lost()
            live(town, 1)
            assert town.due(town.citizens[0]) == 0
            town.check_nothing_lost()
