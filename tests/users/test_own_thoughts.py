"""A memory class of a user's own: its thoughts run offline, its state comes back."""

import json
import sqlite3
from collections import deque
from enum import StrEnum
from typing import Literal

import numpy as np
import pytest
from pydantic import BaseModel, Field

from mesa_memory import LLMRejected, OfflineLLM, Services, ShortTermMemory, resume
from mesa_memory.errors import UndeclaredState
from mesa_memory.llm import LLMRequest
from tests.support.playing import ended, lived
from tests.support.street import Street


class Feeling(StrEnum):
    CALM = "calm"
    UPSET = "upset"


class Cause(BaseModel):
    what: str
    certainty: float = Field(ge=0, le=1)


class Mood(BaseModel):
    """The reply to a thought of the user's own."""

    text: str = Field(max_length=40)
    feeling: Feeling
    strength: int = Field(ge=1, le=5)
    direction: Literal["up", "down"]
    since: int
    causes: list[Cause] = Field(min_length=2)
    secret: str | None
    colour: str = "grey"


class Diary(ShortTermMemory):
    """Thinks about its mood once a step, and keeps what it felt."""

    state = ("mood", "moods", "seen", "places", "latest", "worst", "first", "marked")

    def __init__(self, agent):
        super().__init__(agent, n=3)
        self.mood = "new here"
        self.moods = []
        self.seen = {}
        self.places = {("mill", 3)}
        self.latest = deque(maxlen=2)
        self.worst = float("-inf")
        self.first = None
        self.marked = {}

    def remember(self, view):
        event = self.current_records()[-1]
        reply = yield LLMRequest(
            "mood",
            self.agent.unique_id,
            self.agent.model.steps,
            "You feel.",
            "How do you feel?",
            Mood,
            inputs={"since": self.agent.model.steps, "line": event.content["message"]},
        )
        found = json.loads(reply.text)
        self.mood = found["text"]
        self.moods.append(found["since"])
        self.seen[found["since"]] = (len(self.moods), self.mood)
        self.latest.append(self.mood)
        self.worst = max(self.worst, found["strength"])
        self.first = self.first or event
        self.marked[self.agent.model.steps] = event


class Telling(Diary):
    """Keeps itself what a file cannot hold."""

    def __init__(self, agent):
        super().__init__(agent)
        self.table = np.zeros(3)

    def snapshot(self):
        return super().snapshot() | {"table": self.table.tolist()}

    def restore(self, snapshot, shelf):
        super().restore(snapshot, shelf)
        self.table = np.array(snapshot["table"])


DIARY, TELLING = f"{__name__}:Diary", f"{__name__}:Telling"
FELT = ("mood", "moods", "seen", "places", "latest", "worst")


def felt(street):
    return [
        [getattr(agent.memory, name) for name in FELT]
        + [agent.memory.first.id, [(k, r.id) for k, r in agent.memory.marked.items()]]
        for agent in street.agents
    ]


def diarists(steps, **given):
    """Two neighbours with a diary, after some steps."""
    given = {"n": 2, "memory": DIARY, "execution": "blocking"} | given
    return lived(Street(**given), steps)


# -- thoughts ------------------------------------------------------------------------


def test_a_thought_of_ones_own_runs_offline():
    memory = diarists(3).agents[0].memory
    assert memory.moods == [1, 2, 3], "a field named like an input keeps its value"
    assert "Day 3" in memory.mood and len(memory.mood) <= 40
    assert felt(diarists(3)) == felt(diarists(3))


def test_a_schema_that_nobody_can_guess_is_told_with_what_to_do():
    class Plate(BaseModel):
        plate: str = Field(pattern=r"^[A-Z]{3}-\d{4}$")

    request = LLMRequest("plate", 1, 1, "s", "p", Plate)
    with pytest.raises(LLMRejected, match=r"'plate' that Plate accepts.*OfflineLLM\("):
        OfflineLLM().complete(request)


# -- embedders -----------------------------------------------------------------------


class Own:
    """An embedder of the user's own."""

    dim, batch = 4, 8

    def __init__(self, name, **said):
        self.name = name
        vars(self).update(said)

    def embed(self, texts):
        return np.full((len(texts), 4), 0.5, dtype=np.float32)


@pytest.mark.parametrize(
    ("embedder", "local"),
    [
        (Own("mine", local=True), True),
        (Own("mine"), False),
        (Own("static-of-a-server"), False),
        (Own("static-of-a-server", local=False), False),
    ],
    ids=["says so", "says nothing", "has such a name", "says it is not"],
)
def test_an_embedder_is_local_if_it_says_so(embedder, local):
    street = diarists(2, memory="episodic", embedder=embedder)
    assert Services.of(street).embeds_here is local
    assert "bridge" in street.agents[0].memory.get_prompt_ready()


# -- state ---------------------------------------------------------------------------


@pytest.mark.filterwarnings("error::UserWarning")
def test_the_state_of_a_class_of_ones_own_comes_back_on_resume(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = diarists(4, record=file)
    ended(street)
    again = resume(Street, file, memory=DIARY)
    assert felt(again) == felt(street)
    memory = again.agents[0].memory
    assert type(memory.latest) is deque and memory.latest.maxlen == 2
    assert memory.places == {("mill", 3)} and memory.seen[3][0] == 3
    assert memory.first.content["message"]
    assert felt(lived(again, 3)) == felt(diarists(7))
    ended(again)


def test_state_that_cannot_be_kept_is_told_at_the_first_step():
    for name, value, reason in (
        ("callback", felt, "an object (felt)"),
        ("table", np.zeros(3), "an object (ndarray)"),
        ("inner", [{"deep": object()}], "an object (object)"),
        ("api_key", "sk-very-secret-123456", "a secret"),
        ("server_url", "https://example.org", "an address"),
    ):

        class Holder(Diary):
            state = (*Diary.state, name)

        street = diarists(0, memory=Holder)
        for agent in street.agents:
            setattr(agent.memory, name, value)
        with pytest.raises(UndeclaredState, match=f"Holder names '{name}'") as told:
            street.step()
        assert reason in str(told.value) and "snapshot()" in str(told.value)
        assert "very-secret" not in str(told.value)


@pytest.mark.filterwarnings("error::UserWarning")
def test_a_class_with_a_snapshot_of_its_own_decides_what_is_kept(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = diarists(0, memory=TELLING, record=file)
    street.agents[0].memory.table[1] = 5
    ended(lived(street, 1))
    again = resume(Street, file, memory=TELLING)
    assert again.agents[0].memory.table.tolist() == [0, 5, 0]
    ended(again)


def test_a_file_cannot_set_what_is_not_a_users_own(tmp_path):
    file = tmp_path / "run.sqlite"
    ended(diarists(1, record=str(file)))
    hostile = {
        "_api_base": "http://evil.example",
        "server": "evil.example",
        "where": "http://evil.example",
        "remember": "text",
        "__class__": "text",
        "mood": "changed",
    }
    fields = json.dumps(hostile).strip("{}")
    with sqlite3.connect(file) as store:
        replaced = "replace(state, '\"moods\":', ?)"
        store.execute(
            f"UPDATE checkpoints SET state = {replaced}", [f'{fields}, "moods":']
        )
    again = resume(Street, str(file), memory=DIARY)
    moods = {agent.memory.mood for agent in again.agents}
    assert "changed" in moods, "the file was changed"
    for agent in again.agents:
        memory = agent.memory
        assert memory.model_choice.api_base is None
        assert callable(memory.remember)
        assert type(memory) is Diary
        assert not hasattr(memory, "server") and not hasattr(memory, "where")
    ended(again)
