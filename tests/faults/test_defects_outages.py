"""Mesa-LLM's defects D37 and D38: outages of the language model."""

import litellm
import pytest
from mesa_llm.module_llm import ModuleLLM

from mesa_memory import LLMUnavailable, MemoryStalled, configure
from tests.support.models import citizen, each, live, ours, seen
from tests.support.openai_server import Behaviour, OpenAIServer, always, sequence

QUICK = {"backoff": 0.01, "attempts": 3, "deadline": 5, "timeout": 2}
#: the client library beneath both packages makes two more attempts of its own when
#: Mesa-LLM calls it, after a wait that the server may name
SOON = 0.001
#: how an outage comes out of Mesa-LLM
OUTAGES = (litellm.BadGatewayError, litellm.ServiceUnavailableError)
BUSY = Behaviour.status(429, "slow down", retry_after=SOON)


class _Forever(Exception):
    """Mesa-LLM has tried so often that it will never stop."""


@pytest.fixture
def impatient(monkeypatch):
    """Mesa-LLM's waits take no time, and the 50th is one too many."""
    waits = []

    def wait(seconds):
        waits.append(seconds)
        if len(waits) == 50:
            raise _Forever

    monkeypatch.setattr(ModuleLLM.generate.retry, "sleep", wait)


def asked_by(make, server, **settings):
    """A long-term memory that asks ``server``."""
    agent = citizen(api_base=server.base)
    own = {"api_base": server.base} if make.package == "theirs" else {}
    memory = make(agent, **own)
    if make.package == "ours":
        configure(agent.model, execution=make.execution, **QUICK | settings)
    return memory


@each("LongTermMemory", raises=_Forever)
def test_d37_an_outage_that_lasts_ends_in_an_error(make, impatient):
    with OpenAIServer(behave=always(BUSY)) as server:
        memory = asked_by(make, server, on_failure="raise")
        with pytest.raises(MemoryStalled) as stalled:
            live(memory, seen("dawn"))
            memory.get_prompt_ready()
    assert isinstance(stalled.value.__cause__, LLMUnavailable)
    assert server.requests == 3


@ours("LongTermMemory")
def test_d37_an_outage_of_some_steps_is_survived(make):
    with OpenAIServer() as server:
        server.behave = always(Behaviour.status(503))
        memory = asked_by(make, server)
        for number in range(3):
            live(memory, seen(f"sight-{number}."))
        assert "sight-0." in memory.get_prompt_ready()
        server.behave = None
        live(memory)
        assert "Summary of" in memory.format_long_term()
    assert all(f"sight-{n}." in server.log[-1].prompt for n in range(3))


@pytest.mark.parametrize("status", [502, 503])
@each("LongTermMemory", raises=OUTAGES)
def test_d38_a_passing_fault_of_an_openai_server_is_tried_again(make, status):
    faults = [Behaviour.status(status, retry_after=SOON)] * 3
    with OpenAIServer(behave=sequence(*faults)) as server:
        memory = asked_by(make, server, attempts=4)
        live(memory, seen("dawn"))
        assert "Summary of" in memory.format_long_term()
    assert server.requests == 4


@each("LongTermMemory", raises=litellm.InternalServerError)
def test_d38_a_refused_connection_does_not_end_the_run(make):
    with OpenAIServer() as server:
        memory = asked_by(make, server)
    live(memory, seen("dawn"))  # the port is closed now
    assert "dawn" in memory.get_prompt_ready()
