"""Runs against a server that answers one request in ten with an error of some provider."""

import logging
import os
import subprocess
import sys
from typing import ClassVar

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, LongTermMemory, Services, configure
from mesa_memory.errors import LLMRejected
from tests.contracts.test_provider_errors import behaviour, spoken_here
from tests.support.client import warm_up
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.openai_server import OpenAIServer
from tests.support.server_process import ROOT

ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": "test"}
ENVIRONMENT |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
ROWS = spoken_here()


def weather(every):
    """Answers one request in ``every`` with the next error of the table."""
    state = {"requests": 0, "errors": []}

    def behave(received):
        state["requests"] += 1
        if state["requests"] % every:
            return None
        row = ROWS[len(state["errors"]) % len(ROWS)]
        state["errors"].append(row)
        return behaviour(row)

    return behave, state


class Seen:
    """Keeps each message that any memory of a model was given."""

    of: ClassVar[dict] = {}

    def __init__(self, model):
        self.records = self.of[id(model)] = []

    def opened(self, record):
        if record.kind == "message":
            self.records.append(record)

    def graded(self, record):
        """Nothing follows from a grade."""

    closed = graded


def lived(steps, every, caplog):
    """A run of two agents, the errors that were raised, and those that were sent."""
    warm_up()
    caplog.set_level(logging.INFO, "mesa_memory")
    behave, state = weather(every)
    raised = []
    with OpenAIServer(behave=behave) as server:
        model = mesa.Model(rng=1)
        hasty = {"attempts": 3, "backoff": 0.01, "timeout": 20, "deadline": 30}
        configure(model, execution="blocking", **hasty)
        Services.of(model).observers.append(Seen(model))
        agents = []
        for kind in (EpisodicMemory, LongTermMemory):
            agent = LLMAgent(model, CoTReasoning, "openai/m", api_base=server.base)
            agent.memory = kind(agent)
            agents.append(agent)
        for step in range(steps + 3):
            if step == steps:
                server.behave = None
            model.steps += 1
            for agent in agents:
                if step < steps:
                    said = {"message": f"word {step} of Bob", "sender": 9}
                    agent.memory.add_to_memory("message", said)
                try:
                    agent.memory.process_step()
                except LLMRejected as error:
                    raised.append(error)
    return agents, raised, state["errors"]


def check(steps, every, caplog):
    (episodic, long_term), raised, errors = lived(steps, every, caplog)
    records = episodic.memory.current_records()
    found = {r.content["message"]: r for r in records if r.kind == "message"}
    assert len(found) == steps
    filtered = [row for row in errors if row["does"] == "event"]
    ungraded = [text for text, record in found.items() if record.importance is None]
    assert len(ungraded) <= len(filtered)
    # Every word is in the summary, or still in sight.
    assert long_term.memory.long_term_memory
    kept = [r for r in Seen.of[id(long_term.model)] if r.layer == "long_term"]
    assert len(kept) == steps
    assert {r.closed_because for r in kept} <= {None, "consolidated"}
    waiting = [r for r in long_term.memory.current_records() if r.kind == "message"]
    assert len(waiting) <= len(filtered)
    # Every error is raised once or stands in the log with its step.
    # A single event that is too long cannot be asked about in parts.
    told = [row for row in errors if row["does"] in ("told", "split")]
    assert len(raised) <= len(told)
    for error in raised:
        assert error.step is not None
        assert error.agent in (1, 2)
    assert caplog.text.count("content filter refuses an event") <= len(filtered)


def test_a_run_through_all_kinds_of_errors_loses_nothing(caplog):
    check(30, 4, caplog)


@pytest.mark.slow
def test_a_long_run_with_one_error_in_ten_loses_nothing(caplog):
    check(50, 10, caplog)
    caplog.clear()
    check(150, 3, caplog)  # all errors of the table; the memory holds 200 events


TWO_LOOPS = """
import asyncio, gc
import mesa
from mesa_memory import LongTermMemory, configure
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from tests.support.openai_server import OpenAIServer

with OpenAIServer() as server:
    model = mesa.Model(rng=1)
    configure(model, client="litellm")
    agent = LLMAgent(model, CoTReasoning, "openai/m", api_base=server.base)
    agent.memory = LongTermMemory(agent)
    model.steps += 1
    agent.memory.add_to_memory("message", {"message": "the mill", "sender": 2})
    agent.memory.process_step()
    print(agent.memory.long_term_memory)
    asyncio.run(agent.llm.agenerate("hello"))
    gc.collect()
"""


def test_no_task_of_litellm_is_reported_as_destroyed():
    done = subprocess.run(
        [sys.executable, "-c", TWO_LOOPS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=120,
        env=ENVIRONMENT,
    )
    assert done.returncode == 0, done.stderr
    assert "Summary of" in done.stdout
    assert "destroyed" not in done.stderr
    assert "LoggingWorker" not in done.stderr
