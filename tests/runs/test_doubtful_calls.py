"""A request whose reply is doubtful says so in the record and in the dashboard."""

import mesa
import pytest

from mesa_memory import (
    ConversationMemory,
    LongTermMemory,
    ScriptedLLM,
    Services,
    configure,
    open_run,
)
from mesa_memory.viz.views.requests import requests
from tests.support.single import settle

VAGUE, GOOD = "We had a pleasant time.", "Bram gives forty crowns; Ada thanks him."


class Inn(mesa.Model):
    """An agent that hears two things in the first step, and nothing after it."""

    def __init__(self, memory, llm, record):
        super().__init__(rng=1)
        configure(self, llm=llm, execution="blocking", record=record)
        (self.guest,) = settle(self, memory)

    def step(self):
        if self.steps == 1:
            for text in ("Bram gives forty crowns.", "Ada sends her thanks."):
                said = {"message": text, "sender": 3}
                self.guest.memory.add_to_memory("message", said)
        self.guest.memory.process_step()


def conversing(agent):
    return ConversationMemory(agent, idle_steps=0)


@pytest.mark.parametrize(
    ("memory", "replies", "doubts"),
    [
        (conversing, [VAGUE, GOOD], [True, False]),
        (LongTermMemory, ["Hello! How can I assist you?", GOOD], [False, False]),
    ],
)
def test_a_call_has_the_doubt_about_its_reply(tmp_path, memory, replies, doubts):
    llm, file = ScriptedLLM(), tmp_path / "run.sqlite"
    llm.enqueue(*({"summary": text} for text in replies))
    model = Inn(memory, llm, file)
    for _ in range(3):
        model.step()
    Services.of(model).recorder.close()
    run = open_run(file)
    rows = run.calls(as_records=True)
    assert [bool(row["doubtful"]) for row in rows] == doubts
    told = {row["doubtful"] for row in rows} - {None}
    assert told <= {"shares no name, number or word with the events"}
    assert not any(row["given_up"] for row in rows)
    name = model.guest.unique_id
    shown = [one for n in run.steps for one in requests(run, name, n - 1, n)]
    assert [one["outcome"].endswith(", doubtful") for one in shown] == doubts
