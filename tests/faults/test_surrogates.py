"""Half of a character, as a cut text or a broken model sends it, in any place of a run."""

import pytest

from mesa_memory import configure, open_run
from tests.support.fleet import MEMORIES, Town
from tests.support.network import elsewhere  # noqa: F401 - guards every test here

HALF = "half \ud83d"
EVENTS = [
    ("sight \udc00", {"text": "a field"}),
    ("note", {"te\ud800xt": {"\udfff": ["\ud83d"]}}),
    ("message", {"message": HALF, "sender": HALF, "recipients": [HALF]}),
    ("observation", {"self_state": {}, "local_state": {HALF: {HALF: HALF}}}),
    ("action", {"tool_calls": [{"name": HALF, "response": HALF}]}),
    ("plan", {"content": HALF}),
]


@pytest.mark.parametrize("memory", MEMORIES)
def test_half_a_character_in_an_event_does_not_end_the_run(memory, tmp_path):
    town = Town(memory, 1, llm="offline", execution="blocking")
    configure(town, record=str(tmp_path / "run.sqlite"))
    (agent,) = town.citizens
    agent.name = agent.system_prompt = HALF
    for _ in range(6):
        for event in EVENTS:
            agent.memory.add_to_memory(*event)
        town.advance()
    shown = agent.memory.get_prompt_ready() + agent.memory.get_communication_history()
    assert shown.encode()
    configure(town, record=None)
    with open_run(str(tmp_path / "run.sqlite")) as run:
        assert run.state(agent.unique_id, 5) is not None
