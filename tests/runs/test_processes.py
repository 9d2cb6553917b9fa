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

#: what follows it, and how memories think; their thoughts are not lost
ENDINGS = {
    "deferred": "agent.memory.process_step()\n",
    "blocking": "model.step()\nagent.memory.add_to_memory('note', {'text': 'Rain.'})\n",
}


@pytest.mark.parametrize("execution", ENDINGS)
def test_what_is_left_to_think_about_at_exit_is_thought_about(execution):
    script = (MODEL + ENDINGS[execution]).replace("EXECUTION", repr(execution))
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", script]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=600)
    assert ended.stderr == ""
    assert "answered consolidate" in ended.stdout
