"""Runs against a server that answers one request in ten with an error of some provider."""

import logging
import os
import re
from collections import Counter

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, LongTermMemory, Services, configure, open_run
from mesa_memory.core.fault_table import BUSY
from mesa_memory.errors import LLMRejected
from tests.llm.test_provider_errors import DOES, behaviour, spoken_here
from tests.support.client import warm_up
from tests.support.diary import Diary
from tests.support.openai_server import Behaviour, OpenAIServer

ENVIRONMENT = {**os.environ, "OPENAI_API_KEY": "test"}
ENVIRONMENT |= {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
ROWS = spoken_here()
#: faults without an error message: behaviour, the action that helps, HTTP status
ODD = (
    (Behaviour.drop_before(), BUSY, None),
    (Behaviour.raw(b"<html>Bad gateway</html>"), BUSY, None),
    (Behaviour.drop_inside(), BUSY, None),
    (Behaviour.raw(b'{"choices": []}'), BUSY, None),
    (Behaviour("reply", code=502, body=b"<h1>502</h1>"), BUSY, 502),
    (Behaviour("reply", code=529, body=b'{"type": "overloaded_error"}'), BUSY, 529),
)
#: a line of the log: agent, step, kind and HTTP status of a failed attempt, and the action
FAILED = re.compile(
    r"agent (\d+), step (\d+), \w+: attempt \d+ failed \(model 'openai/m', ([\w ]+), "
    r"(?:HTTP (\d+)|no response)\): (.+)"
)


def expected(row):
    """The kind and the HTTP status under which an error of the table is recorded."""
    status = row["body"]["error"]["code"] if row["status"] == 200 else row["status"]
    return DOES[row["does"]], status


def weather(every):
    """Answers one request in ``every`` with the next error of the table, or an odd one."""
    faults = [(behaviour(row), *expected(row), row["does"]) for row in ROWS]
    for number, odd in enumerate(ODD):
        faults.insert(3 * number + 1, (*odd, "waited"))
    state = {"requests": 0, "errors": []}

    def behave(received):
        state["requests"] += 1
        if state["requests"] % every:
            return None
        fault, kind, status, does = faults[len(state["errors"]) % len(faults)]
        state["errors"].append({"kind": kind, "status": status, "does": does})
        return fault

    return behave, state


class Village(mesa.Model):
    """Two agents that hear a word at each step."""

    def __init__(self, base, record):
        super().__init__(rng=1)
        self.talking, self.raised = True, []
        hasty = {"attempts": 3, "backoff": 0.01, "timeout": 20, "deadline": 30}
        configure(self, execution="blocking", record=record, **hasty)
        self.diary = Diary(self)
        for kind in (EpisodicMemory, LongTermMemory):
            agent = LLMAgent(self, CoTReasoning, "openai/m", api_base=base)
            agent.memory = kind(agent)

    def step(self):
        for agent in self.agents:
            if self.talking:
                said = {"message": f"word {self.steps} of Bob", "sender": 9}
                agent.memory.add_to_memory("message", said)
            try:
                agent.memory.process_step()
            except LLMRejected as error:
                self.raised.append(error)


def lived(steps, every, caplog, file):
    """A run of two agents, the errors that were raised, and those that were sent."""
    warm_up()
    caplog.set_level(logging.INFO, "mesa_memory")
    behave, state = weather(every)
    with OpenAIServer(behave=behave) as server:
        model = Village(server.base, file)
        for step in range(steps + 3):
            if step == steps:
                server.behave, model.talking = None, False
            model.step()
        next(iter(model.agents)).memory.recall("word")  # the last word waited for more
        state["requests"] = server.requests
    configure(model, record=None)
    return list(model.agents), model.raised, state


@pytest.mark.parametrize(
    ("steps", "every"),
    [
        (30, 4),
        # All errors of the table; the memory holds 200 events.
        pytest.param(150, 3, marks=pytest.mark.slow),
    ],
)
def test_a_run_through_all_kinds_of_errors_loses_nothing(
    steps, every, caplog, tmp_path
):
    file = tmp_path / "run.sqlite"
    (episodic, long_term), raised, state = lived(steps, every, caplog, file)
    errors = state["errors"]
    records = episodic.memory.current_records()
    found = {r.content["message"]: r for r in records if r.kind == "message"}
    assert len(found) == steps
    filtered = [row for row in errors if row["does"] == "event"]
    ungraded = [text for text, record in found.items() if record.importance is None]
    assert len(ungraded) <= len(filtered)
    # Every word is in the summary, or still in sight.
    assert long_term.memory.long_term_memory
    heard = [r for r in long_term.model.diary.records if r.kind == "message"]
    kept = [r for r in heard if r.layer == "long_term"]
    assert len(kept) == steps
    assert {r.closed_because for r in kept} <= {None, "consolidated"}
    waiting = [r for r in long_term.memory.current_records() if r.kind == "message"]
    shown = long_term.memory.get_prompt_ready()
    unseen = [r for r in waiting if r.content["message"] not in shown]
    assert len(unseen) <= len(filtered)
    # Every error is raised once or stands in the log with its step.
    # A single event that is too long cannot be asked about in parts.
    told = [row for row in errors if row["does"] in ("told", "split")]
    assert len(raised) <= len(told)
    for error in raised:
        assert error.step is not None
        assert error.agent in (1, 2)
    assert caplog.text.count("content filter refuses an event") <= len(filtered)
    explained(episodic.model, file, state, raised, caplog)


def explained(model, file, state, raised, caplog):
    """Server, log, ledger and ``run.calls`` agree about each failed request."""
    with open_run(file) as run:
        calls = run.calls(as_records=True)
    failed = [(c["agent"], c["step"], f) for c in calls for f in c["failed"] or ()]
    recorded = Counter(
        (a, s, f["kind"], f["status"], f["action"]) for a, s, f in failed
    )
    lines = [FAILED.fullmatch(record.getMessage()) for record in caplog.records]
    logged = Counter(
        (int(agent), float(step), kind, status and int(status), action)
        for agent, step, kind, status, action in (
            line.groups() for line in lines if line
        )
    )
    assert logged == recorded
    sent = Counter((error["kind"], error["status"]) for error in state["errors"])
    assert Counter((f["kind"], f["status"]) for _, _, f in failed) == sent
    # Each request that was sent is one attempt of one call.
    ledger = Services.of(model).ledger
    assert ledger.total.attempts == state["requests"]
    assert sum(call["attempts"] for call in calls) == state["requests"]
    assert ledger.total.failed_attempts == len(failed)
    assert ledger.total.failures == sum(call["error"] is not None for call in calls)
    assert ledger.total.calls == len(calls)
    by_agent = ledger.by("agent")
    for agent in (1, 2):
        own = [attempt for a, _, attempt in failed if a == agent]
        assert by_agent[agent,].failed_attempts == len(own)
    # A call that failed names its agent, step and error; the log or the caller got it.
    told = caplog.text + "".join(map(str, raised))
    for call in calls:
        if call["error"] is not None:
            kind, _, text = call["error"].partition(": ")
            assert text.startswith(f"agent {call['agent']}, step {call['step']:g}, ")
            assert call["failed"][-1]["action"] == f"given up with {kind}"
            if kind in ("LLMRejected", "LLMUnavailable"):
                assert text in told
