"""Agents in threads: one speaks while another reads, is shown something, is copied."""

import copy
import random
import sys
import threading

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    Services,
    ShortTermMemory,
    STLTMemory,
    configure,
    open_run,
    register_policy,
)

CLASSES = [
    EpisodicMemory,
    ImpressionMemory,
    LongTermMemory,
    ShortTermMemory,
    STLTMemory,
]
#: so many events come while a memory is read
EVENTS = 300


class Square(mesa.Model):
    """Agents who are driven from outside, without Mesa-LLM's step hooks."""

    def __init__(self, memory, execution="deferred", record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", execution=execution, record=record)
        name = register_policy("quiet", lambda turn: "I wait.")
        for _ in range(2):
            agent = LLMAgent(self, CoTReasoning, name)
            agent.memory = memory(agent)


@pytest.fixture
def switching():
    """Threads take turns as often as they can."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def beside(work, until_done):
    """Does ``work`` in a thread, and something else here as long as it goes on."""
    faults = []

    def guarded():
        try:
            work()
        except Exception as error:
            faults.append(error)

    thread = threading.Thread(target=guarded)
    thread.start()
    while thread.is_alive():
        until_done()
    thread.join()
    assert not faults, faults


def sender(square, memory):
    def send():
        for number in range(EVENTS):
            if number % 5 == 0:
                square.step()
            text = f"The bridge is broken, says number {number}!"
            memory.add_to_memory("message", {"message": text, "sender": 2})

    return send


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
@pytest.mark.parametrize("memory", CLASSES)
def test_one_thread_reads_what_another_sends(memory, execution, switching):
    square = Square(memory, execution, rng=1)
    mind = square.agents[0].memory
    reads = ["get_prompt_ready", "messages", "get_communication_history",
             "current_records", "format_short_term"]  # fmt: skip
    if memory is EpisodicMemory:
        reads += ["recall"]
    choice = random.Random(1)
    beside(sender(square, mind), lambda: getattr(mind, choice.choice(reads))())
    square.step()
    assert len(mind.messages()) == mind.history_capacity
    assert f"number {EVENTS - 1}!" in mind.get_prompt_ready()


@pytest.mark.parametrize("memory", CLASSES)
@pytest.mark.parametrize("whole", [True, False], ids=["model", "memory"])
def test_a_copy_is_made_while_another_thread_sends(memory, whole, switching):
    square = Square(memory, rng=1)
    mind = square.agents[0].memory
    copies = []

    def duplicate():
        if whole:
            copies.append(copy.deepcopy(square).agents[0].memory)
        else:
            copies.append(copy.deepcopy(mind))
        del copies[:-3]

    beside(sender(square, mind), duplicate)
    for twin in copies:
        heard = [message.text for message in twin.messages()]
        numbers = [int(text.rstrip("!").split()[-1]) for text in heard]
        assert numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True
        assert twin.get_prompt_ready()


def test_what_an_agent_is_shown_is_recorded_while_an_observer_looks(tmp_path):
    file = str(tmp_path / "run.sqlite")
    square = Square(EpisodicMemory, record=file, rng=1)
    first, second = (agent.memory for agent in square.agents)
    for memory in (first, second):
        memory.add_to_memory("note", {"text": "A ship came in."})
    looking, done = threading.Event(), threading.Event()

    def observe():
        with first.unnoticed():
            looking.set()
            done.wait(600)
            first.get_prompt_ready()

    thread = threading.Thread(target=observe)
    thread.start()
    looking.wait(600)
    for _ in range(20):
        first.get_prompt_ready()
    with second.unnoticed():
        second.get_prompt_ready()
    done.set()
    thread.join()
    square.step()
    Services.of(square).recorder.close()
    with open_run(file) as run:
        assert len(run.prompts(1, as_records=True)) == 20
        assert not run.prompts(2, as_records=True)
