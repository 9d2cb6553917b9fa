"""A memory class of a user's own: its thoughts run offline, its state comes back."""

import json
import sqlite3
import warnings
from collections import deque
from enum import StrEnum
from typing import Literal

import mesa
import numpy as np
import pytest
from mesa_llm.reasoning.cot import CoTReasoning
from pydantic import BaseModel, Field

from mesa_memory import (
    EpisodicMemory,
    LLMRejected,
    OfflineLLM,
    Services,
    ShortTermMemory,
    configure,
    register_policy,
    resume,
)
from mesa_memory.errors import UndeclaredState
from mesa_memory.llm import LLMRequest
from tests.support.street import Neighbour


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


def talk(turn):
    """What README's neighbours say."""
    return "I greet my neighbour."


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

    def remember(self):
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


class Street(mesa.Model):
    """README's model."""

    def __init__(self, n=2, rng=None, memory="diary", llm="offline", embedder="static"):
        super().__init__(rng=rng)
        configure(self, llm=llm, execution="blocking", embedder=embedder)
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, register_policy("talk", talk))
            agent.memory = KINDS[memory](agent)

    def step(self):
        self.agents.shuffle_do("step")


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


KINDS = {"diary": Diary, "telling": Telling, "episodic": EpisodicMemory}
FELT = ("mood", "moods", "seen", "places", "latest", "worst")


def felt(street):
    return [
        [getattr(agent.memory, name) for name in FELT]
        + [agent.memory.first.id, [(k, r.id) for k, r in agent.memory.marked.items()]]
        for agent in street.agents
    ]


def lived(steps, **given):
    street = Street(rng=1, **given)
    for _ in range(steps):
        street.step()
    return street


# -- thoughts ------------------------------------------------------------------------


def test_a_thought_of_ones_own_runs_offline():
    memory = lived(3).agents[0].memory
    assert memory.moods == [1, 2, 3], "a field named like an input keeps its value"
    assert "Day 3" in memory.mood and len(memory.mood) <= 40
    assert felt(lived(3)) == felt(lived(3))


def test_an_answer_of_ones_own_takes_the_place_of_the_made_one():
    def answer(inputs):
        causes = [{"what": "rain", "certainty": 0.5}] * 2
        shape = {"feeling": "calm", "strength": 2, "direction": "up", "secret": None}
        return shape | {"text": "fine", "since": inputs["since"], "causes": causes}

    street = lived(2, llm=OfflineLLM({"mood": answer}))
    assert [agent.memory.mood for agent in street.agents] == ["fine", "fine"]


def test_a_schema_that_nobody_can_guess_is_told_with_what_to_do():
    class Plate(BaseModel):
        plate: str = Field(pattern=r"^[A-Z]{3}-\d{4}$")

    request = LLMRequest("plate", 1, 1, "s", "p", Plate)
    with pytest.raises(LLMRejected, match=r"'plate' that Plate accepts.*OfflineLLM\("):
        OfflineLLM().complete(request)


# -- embedders -----------------------------------------------------------------------


class Own:
    """An embedder of the user's own; counts in which threads it was asked."""

    dim, batch = 4, 8

    def __init__(self, name, **said):
        self.name, self.threads = name, set()
        vars(self).update(said)

    def embed(self, texts):
        import threading

        self.threads.add(threading.current_thread() is threading.main_thread())
        rows = [[len(text), text.count("e"), text.count("a"), 1] for text in texts]
        table = np.array(rows, dtype=np.float32)
        return table / np.linalg.norm(table, axis=1, keepdims=True)


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
    street = lived(2, memory="episodic", embedder=embedder)
    assert Services.of(street).embeds_here is local
    assert "bridge" in street.agents[0].memory.get_prompt_ready()


# -- state ---------------------------------------------------------------------------


def test_the_state_of_a_class_of_ones_own_comes_back_on_resume(tmp_path):
    file = str(tmp_path / "run.sqlite")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        street = Street(rng=1)
        configure(street, record=file)
        for _ in range(4):
            street.step()
        configure(street, record=None)
        again = resume(Street, file)
        assert felt(again) == felt(street)
        memory = again.agents[0].memory
        assert type(memory.latest) is deque and memory.latest.maxlen == 2
        assert memory.places == {("mill", 3)} and memory.seen[3][0] == 3
        assert memory.first.content["message"]
        for _ in range(3):
            again.step()
        assert felt(again) == felt(lived(7))
        configure(again, record=None)


def test_state_that_cannot_be_kept_is_told_at_the_first_step():
    for name, value, reason in (
        ("callback", talk, "an object (talk)"),
        ("table", np.zeros(3), "an object (ndarray)"),
        ("inner", [{"deep": object()}], "an object (object)"),
        ("api_key", "sk-very-secret-123456", "a secret"),
        ("server_url", "https://example.org", "an address"),
    ):

        class Holder(Diary):
            state = (*Diary.state, name)

        street = Street(rng=1)
        for agent in street.agents:
            agent.memory = Holder(agent)
            setattr(agent.memory, name, value)
        with pytest.raises(UndeclaredState, match=f"Holder names '{name}'") as told:
            street.step()
        assert reason in str(told.value) and "snapshot()" in str(told.value)
        assert "very-secret" not in str(told.value)


def test_a_class_with_a_snapshot_of_its_own_decides_what_is_kept(tmp_path):
    file = str(tmp_path / "run.sqlite")
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        street = Street(rng=1, memory="telling")
        configure(street, record=file)
        street.agents[0].memory.table[1] = 5
        street.step()
        configure(street, record=None)
    again = resume(Street, file)
    assert again.agents[0].memory.table.tolist() == [0, 5, 0]
    configure(again, record=None)


def test_a_file_cannot_set_what_is_not_a_users_own(tmp_path):
    file = tmp_path / "run.sqlite"
    street = Street(rng=1)
    configure(street, record=str(file))
    street.step()
    configure(street, record=None)
    hostile = {
        "_api_base": "http://evil.example",
        "server": "evil.example",
        "where": "http://evil.example",
        "remember": "text",
        "__class__": "text",
        "mood": "changed",
    }
    with sqlite3.connect(file) as store:
        rows = store.execute("SELECT rowid, * FROM checkpoints").fetchall()
        names = [c[1] for c in store.execute("PRAGMA table_info(checkpoints)")]
        for row in rows:
            for column, value in zip(names, row[1:], strict=True):
                if isinstance(value, str | bytes) and b"moods" in (
                    value if isinstance(value, bytes) else value.encode()
                ):
                    state = json.loads(value)
                    _find_own(state).update(hostile)
                    text = json.dumps(state)
                    text = text.encode() if isinstance(value, bytes) else text
                    sql = f"UPDATE checkpoints SET {column} = ? WHERE rowid = ?"
                    store.execute(sql, (text, row[0]))
    again = resume(Street, str(file))
    moods = {agent.memory.mood for agent in again.agents}
    assert "changed" in moods, "the file was changed"
    for agent in again.agents:
        memory = agent.memory
        assert memory.layer_context.runtime.api_base is None
        assert callable(memory.remember)
        assert type(memory) is Diary
        assert not hasattr(memory, "server") and not hasattr(memory, "where")
    configure(again, record=None)


def _find_own(state):
    if isinstance(state, dict):
        if "state" in state and "staging" in state:
            return state["state"]
        return next(
            (f for v in state.values() if (f := _find_own(v)) is not None), None
        )
    return None
