"""The end of a program, and a child of it, while memories still think."""

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

MODEL = """
import os, sys, time
import mesa
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_memory import EpisodicMemory, LongTermMemory, configure, register_policy
from mesa_memory.llm import Reply

class Slow:
    def complete(self, request):
        time.sleep(0.3)
        if request.purpose == "grade":
            text = '{"grades": [3]}'
        else:
            text = '{"summary": "The bridge is broken."}'
        if os.getpid() == PARENT:
            print("answered", request.purpose, flush=True)
        return Reply(text)

PARENT = os.getpid()
model = mesa.Model(rng=1)
configure(model, llm=Slow(), execution=EXECUTION)
agent = LLMAgent(model, CoTReasoning, register_policy("mute", lambda turn: ""))
agent.memory = MEMORY(agent)
model.step()
agent.memory.add_to_memory("message", {"message": "The bridge is broken.", "sender": 2})
"""

THINKS = "agent.memory.process_step()\n"
CHILD = """
child = os.fork()
if not child:
    read = agent.memory.get_prompt_ready()
    os._exit(0 if "The bridge is broken" in read else 1)
assert "The bridge is broken" in agent.memory.get_prompt_ready()
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
"""
WORKER = """
import multiprocessing

def read():
    assert "The bridge is broken" in agent.memory.get_prompt_ready()

worker = multiprocessing.get_context("fork").Process(target=read)
worker.start()
worker.join(600)
assert worker.exitcode == 0, worker.exitcode
"""


def ran(*parts, memory="LongTermMemory", execution="deferred"):
    script = "".join(parts).replace("EXECUTION", repr(execution))
    script = script.replace("MEMORY", memory)
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


@pytest.mark.parametrize("memory", ["LongTermMemory", "EpisodicMemory"])
@pytest.mark.parametrize("child", [CHILD, WORKER], ids=["fork", "multiprocessing"])
def test_a_child_reads_a_memory_that_was_thinking_when_it_was_forked(child, memory):
    ended = ran(MODEL, THINKS, child, memory=memory)
    assert ended.stderr == ""
    assert ended.returncode == 0
