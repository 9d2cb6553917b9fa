"""The end of a program while memories still think."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

MODEL = """
import time
import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_memory import LongTermMemory, configure, register_policy
from mesa_memory.llm import Reply

class Slow:
    def complete(self, request):
        time.sleep(0.3)
        if request.purpose == "grade":
            text = '{"grades": [3]}'
        else:
            text = '{"summary": "The bridge is broken."}'
        print("answered", request.purpose, flush=True)
        return Reply(text)

model = mesa.Model(rng=1)
configure(model, llm=Slow(), execution=EXECUTION)
agent = LLMAgent(model, CoTReasoning, register_policy("mute", lambda turn: ""))
agent.memory = LongTermMemory(agent)
model.step()
agent.memory.add_to_memory("message", {"message": "The bridge is broken.", "sender": 2})
"""

THINKS = "agent.memory.process_step()\n"


def ran(*parts, execution="deferred"):
    script = "".join(parts).replace("EXECUTION", repr(execution))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    return subprocess.run(command, capture_output=True, text=True, timeout=600)


@pytest.mark.parametrize("execution", ["deferred", "blocking"])
def test_work_that_needs_a_thread_is_done_at_exit(execution):
    later = "model.step()\nagent.memory.add_to_memory('note', {'text': 'Rain.'})\n"
    ended = ran(MODEL, later, execution=execution)
    assert ended.stderr == ""
    assert "answered consolidate" in ended.stdout


def test_a_step_that_ended_right_before_the_program_is_thought_about():
    ended = ran(MODEL, THINKS)
    assert ended.stderr == ""
    assert "answered consolidate" in ended.stdout
