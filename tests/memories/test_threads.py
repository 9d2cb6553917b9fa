"""Agents in threads: one speaks while another reads, is shown something, is copied."""

import copy
import re
import sys
import threading
from pathlib import Path

import mesa
import pytest

import mesa_memory
from mesa_memory import EpisodicMemory, Services, ShortTermMemory, configure, open_run
from tests.support.classes import EVERY
from tests.support.single import settle
from tests.support.turns import in_turn

#: how many events come while a memory is read
EVENTS = 300
#: at most this often another thread comes in during one call
MOST = 100


class Square(mesa.Model):
    """Agents who are driven from outside, without Mesa-LLM's step hooks."""

    def __init__(self, memory, execution="deferred", record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", execution=execution, record=record)
        settle(self, memory, 2)


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


class Meanwhile:
    """At every third line that this thread goes through in the package, another works.

    If the other one has to wait for a lock, this thread goes on. So what is not guarded
    is met wherever it can be met, and not by luck.

    Args:
        work: what the other thread does, again and again; takes how often it was done.
    """

    PACKAGE = str(Path(mesa_memory.__file__).parent)

    def __init__(self, work):
        self.work, self.done, self.faults = work, 0, []
        self.due, self.idle = threading.Event(), threading.Event()
        self.over = False
        self.lines, self.left = 0, MOST
        self.thread = threading.Thread(target=self.go)

    def go(self):
        while True:
            self.idle.set()
            self.due.wait()
            self.due.clear()
            if self.over:
                return
            try:
                self.work(self.done)
            except Exception as error:
                self.faults.append(error)
            self.done += 1

    def trace(self, frame, event, argument):
        if not frame.f_code.co_filename.startswith(self.PACKAGE):
            return None
        self.lines += 1
        if self.lines % 3 == 0 and self.left and self.idle.is_set():
            self.left -= 1
            self.idle.clear()
            self.due.set()
            self.idle.wait(0.01)  # it may wait for a lock that is held here
        return self.trace

    def __enter__(self):
        self.thread.start()
        self.idle.wait()
        sys.settrace(self.trace)
        return self

    def __exit__(self, *raised):
        sys.settrace(None)
        self.idle.wait()
        self.over = True
        self.due.set()
        self.thread.join()
        if raised[1] is None:
            assert not self.faults, self.faults


def reads_of(mind):
    names = ["messages", "get_communication_history", "get_prompt_ready",
             "current_records", "format_short_term"]  # fmt: skip
    names += ["recall"] * isinstance(mind, EpisodicMemory)
    return [getattr(mind, name) for name in names]


@pytest.mark.timeout(600)
@in_turn(execution=["blocking", "deferred"], memory=EVERY)
def test_an_event_may_come_at_any_line_of_a_read(memory, execution):
    square = Square(memory, execution, rng=1)
    mind = square.agents[0].memory

    def send(number):
        if number % 3 == 0:
            mind.process_step()  # what has arrived goes from one place to another
        text = f"The bridge is broken, says number {number}!"
        mind.add_to_memory("message", {"message": text, "sender": 2})

    for number in range(-10, 0):
        send(number)
    reads = {name: getattr(mind, name) for name in ("messages", "current_records")}
    if memory is ShortTermMemory:
        reads["format_short_term"] = mind.format_short_term
    with Meanwhile(send) as sender:
        for _ in range(5):
            for name, read in reads.items():
                sender.left = MOST
                assert is_whole(numbers_in(read())), name
        for read in reads_of(mind):
            sender.left = MOST
            read()
        square.step()
    assert numbers_in(mind.messages())[-1] == sender.done - 1


def numbers_in(told):
    """The numbers of the messages in what a read gave, in its order."""
    if not isinstance(told, str):  # what was made of messages names them, too
        told = "\n".join(
            str(m) for m in told if getattr(m, "kind", "") in ("", "message")
        )
    lines = told.splitlines()
    found = [re.search(r"number (-?\d+)!", line) for line in lines]
    return [int(each[1]) for each in found if each]


def is_whole(numbers):
    """True if none is missing, and none there twice."""
    return numbers == list(range(numbers[0], numbers[-1] + 1)) if numbers else True


@in_turn(memory=EVERY, whole=[True, False])
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
        assert is_whole([int(text.rstrip("!").split()[-1]) for text in heard])
        assert twin.get_prompt_ready()


def test_what_an_agent_is_shown_is_recorded_while_an_observer_looks(tmp_path):
    file = str(tmp_path / "run.sqlite")
    square = Square(EpisodicMemory, record=file, rng=1)
    first, second = (agent.memory for agent in square.agents)
    for memory in (first, second):
        memory.add_to_memory("note", {"text": "A ship came in."})
    looking, done = threading.Event(), threading.Event()

    def observe():
        with first.peek():
            looking.set()
            done.wait(600)
            first.get_prompt_ready()

    thread = threading.Thread(target=observe)
    thread.start()
    looking.wait(600)
    for _ in range(20):
        first.get_prompt_ready()
    with second.peek():
        second.get_prompt_ready()
    done.set()
    thread.join()
    square.step()
    Services.of(square).recorder.close()
    with open_run(file) as run:
        assert len(run.prompts(1, as_records=True)) == 20
        assert not run.prompts(2, as_records=True)
