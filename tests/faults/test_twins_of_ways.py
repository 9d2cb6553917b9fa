"""The direct way and litellm make the same records of the same replies, good and bad."""

import json

import pytest

from mesa_memory import Recording, configure
from mesa_memory.errors import MesaMemoryError
from tests.golden.recorded import rows
from tests.support import ways
from tests.support.client import warm_up
from tests.support.faults import FAULTS
from tests.support.fleet import ASKING, HANGING, HASTY, Town
from tests.support.network import elsewhere  # noqa: F401 - guards every test here
from tests.support.openai_server import OpenAIServer

pytestmark = pytest.mark.slow
#: one fault is met by these; each other one by the memory whose turn it is
ALL = ("429 once", "500", "401", "thinking", "control characters", "null")
CASES = [
    (fault, memory)
    for number, (fault, kind) in enumerate(FAULTS.items())
    for memory in kind.memories
    if fault in ALL or memory == kind.memories[number % len(kind.memories)]
]
#: classes of errors that a record names
KINDS = ("LLMRejected", "PromptTooLong", "LLMUnavailable", "BadReply")


@pytest.fixture(scope="module")
def server():
    warm_up()
    with OpenAIServer() as server:
        yield server


def lived(memory, fault, server, file):
    """The rows of a run whose provider works, fails, and works again."""
    server.behave = None
    recording = Recording(str(file), parameters={})
    settings = HASTY | {"execution": "blocking", "record": recording}
    town = Town(memory, 1, server.base, **settings)
    town.script = lambda agent: happen(town, agent)
    for step in range(5):
        server.behave = FAULTS[fault].make() if step == 3 else server.behave
        if step == 4:
            server.behave = None
        elif step == 3 and fault == "silent":
            configure(town, timeout=HANGING["timeout"], attempts=1)
        try:
            town.advance()
            town.services.flush()
        except MesaMemoryError as error:
            town.tell(town.citizens[0], f"{type(error).__name__} was raised")
    town.services.recorder.close()
    return [worded(row) for row in rows(file)]


def happen(town, agent):
    town.tell(agent, f"word {town.steps} from Bob", sender=2)
    town.tell(agent, f"more {town.steps} from Bob", sender=2)
    town.show(agent, f"sight {town.steps}")


def worded(row):
    """A row without the words in which a library tells of a fault; its kind stays."""
    if row[0] == "calls":
        row = [told(part) if isinstance(part, str) else part for part in row]
    return json.dumps(row, ensure_ascii=False, default=str)


def told(text):
    head = text.partition(":")[0]
    return head if head in KINDS else text


@pytest.mark.parametrize(("fault", "memory"), CASES)
def test_both_ways_make_the_same_records(fault, memory, server, tmp_path, monkeypatch):
    found = []
    for way in ways.WAYS:
        with monkeypatch.context() as patch:
            ways.take(way, patch)
            found.append(lived(memory, fault, server, tmp_path / f"{way}.sqlite"))
    direct, other = found
    assert [pair for pair in zip(direct, other) if pair[0] != pair[1]] == []
    assert len(direct) == len(other) > 10


def test_each_fault_is_met_by_one_memory_at_least():
    assert {fault for fault, _ in CASES} == FAULTS.keys()
    assert {memory for _, memory in CASES} == set(ASKING)
