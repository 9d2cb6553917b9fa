"""A provider that says how long to wait: it is not asked before, and the run goes on."""

import logging
import time
from itertools import pairwise

import pytest

from mesa_memory import MemoryStalled, Services
from mesa_memory.embedders.litellm import LiteLLMEmbedder
from mesa_memory.errors import EmbedderError
from tests.support.embeddings import EmbeddingsServer, refused
from tests.support.openai_server import Behaviour, always
from tests.support.street import Street

#: so that no request waits until a provider may be asked again
UNWILLING = {"attempts": 1, "timeout": 60, "deadline": 60}


def street_of(server, n=3, name="openai/x", **services):
    """README's street with a memory that asks the model in each step."""
    given = {"memory": "long_term", "base": server.base, "llm": None, **services}
    return Street(n=n, name=name, **given)


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_a_wait_of_an_hour_does_not_end_a_run_of_quick_steps(execution, server, caplog):
    caplog.set_level(logging.WARNING, "mesa_memory")
    server.behave = always(Behaviour.status(429, "Quota is used up", retry_after=3600))
    street = street_of(server, execution=execution)
    for _ in range(25):
        street.step()
    Services.of(street).flush()
    asked = 1 if execution == "blocking" else 3
    assert 1 <= server.requests <= asked, (
        "nobody is asked again before the hour is over"
    )
    told = [r.getMessage() for r in caplog.records if "3600 s" in r.getMessage()]
    assert any("No request is sent to it before" in text for text in told)
    assert len(caplog.records) <= 2 * asked, "it is told once, not in each step"
    for agent in street.agents:
        shown = agent.memory.get_prompt_ready()
        assert "Day 1:" in shown or "Day 25:" in shown


def test_once_the_wait_is_over_the_provider_is_asked_and_nothing_is_lost(server):
    server.behave = always(Behaviour.status(429, retry_after=1))
    street = street_of(server, n=2, execution="blocking", **UNWILLING)
    for _ in range(15):
        street.step()
    times = [received.time for received in server.log]
    assert all(later - former >= 1 for former, later in pairwise(times))
    server.behave = None
    time.sleep(1)
    street.step()
    Services.of(street).flush()
    asked = "\n".join(received.prompt for received in server.log)
    for day in range(1, 16):
        assert f"Day {day}:" in asked
    assert all(agent.memory.long_term_memory for agent in street.agents)


def test_a_provider_that_refuses_after_each_wait_stalls_the_run(server):
    server.behave = always(Behaviour.status(429, retry_after=0.2))
    given = UNWILLING | {"execution": "blocking", "max_pending_steps": 3}
    street = street_of(server, n=1, **given)
    with pytest.raises(
        MemoryStalled, match=r"3 step\(s\) in a row.*asks to wait 0.2 s"
    ):
        for _ in range(20):
            street.step()
            time.sleep(0.1)
    assert 1 < server.requests <= 3


def test_a_wait_of_one_model_keeps_no_other_from_being_asked(server):
    server.behave = lambda received: (
        Behaviour.status(429, retry_after=3600) if received.model == "x" else None
    )
    street = street_of(server, fallbacks=("openai/y",), execution="blocking")
    for _ in range(3):
        street.step()
    assert [received.model for received in server.log].count("x") == 1
    assert all(agent.memory.long_term_memory for agent in street.agents)


@pytest.mark.parametrize(("wait", "asked"), [(3600, 1), (0.3, 2)])
def test_a_provider_of_embeddings_is_not_asked_before_its_wait_is_over(wait, asked):
    def busy(number, body, rows):
        return refused(429, {"Retry-After": f"{wait}"}) if number == 1 else None

    with EmbeddingsServer(busy) as server:
        embedder = LiteLLMEmbedder("openai/x", api_base=server.base, attempts=1)
        began = time.monotonic()
        with pytest.raises(EmbedderError, match=f"asks to wait {wait} s") as told:
            embedder.embed(["the dam broke"])
        assert told.value.retry_after == wait
        if asked == 1:
            with pytest.raises(EmbedderError, match=r"asks to wait 3\d\d\d") as again:
                embedder.embed(["the dam broke"])
            assert again.value.passing
            assert not again.value.sent
        else:
            assert embedder.embed(["the dam broke"]).shape == (1, 8)
            assert time.monotonic() - began >= wait
        assert len(server.bodies) == asked
