"""The direct way and litellm make the same records of the same replies, good and bad."""

import json

import pytest

from mesa_memory import Recording, configure
from mesa_memory.errors import MesaMemoryError
from tests.golden.recorded import rows
from tests.support import story, ways
from tests.support.faults import FAULTS
from tests.support.fleet import HANGING
from tests.support.story import live, town_of

pytestmark = pytest.mark.slow
shared, server = story.shared, story.server
KEY = ("429 once", "500", "401", "thinking", "control characters", "null", "silent")
CASES = [
    (fault, FAULTS[fault].memories[number % len(FAULTS[fault].memories)])
    for number, fault in enumerate(KEY)
]
#: classes of errors that a record names
KINDS = ("LLMRejected", "PromptTooLong", "LLMUnavailable", "BadReply")


def lived(memory, fault, server, file):
    """The rows of a run whose provider works, fails, and works again."""
    recording = Recording(str(file), parameters={})
    town = town_of(memory, server, execution="blocking", record=recording)
    for step in range(5):
        server.behave = FAULTS[fault].make() if step == 3 else server.behave
        if step == 4:
            server.behave = None
        elif step == 3 and fault == "silent":
            configure(town, timeout=HANGING["timeout"], attempts=1)
        try:
            live(town, 1)
        except MesaMemoryError as error:
            town.tell(town.citizens[0], f"{type(error).__name__} was raised")
    town.services.recorder.close()
    return [worded(row) for row in rows(file)]


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
