"""An embedder of the user's own that gives no usable vectors is told so, by its name."""

import mesa
import numpy as np
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, Services, configure, open_run, register_policy
from mesa_memory.errors import EmbedderError


async def later(texts):
    """Somebody may write ``async def embed``."""


WRONG = {
    "nothing": (lambda texts: None, "gave None"),
    "too few": (lambda texts: np.ones((len(texts) - 1, 4)), r"shape \(\d+, 4\)"),
    "too many": (lambda texts: np.ones((len(texts) + 1, 4)), r"shape \(\d+, 4\)"),
    "another length": (lambda texts: np.ones((len(texts), 3)), r"shape \(\d+, 3\)"),
    "no table": (lambda texts: np.ones(4), r"shape \(4,\)"),
    "not a number": (lambda texts: np.full((len(texts), 4), np.nan), "gave NaN"),
    "ragged": (
        lambda texts: [[1.0] * (3 + n) for n in range(len(texts) + 1)],
        "not a table of numbers",
    ),
    "words": (lambda texts: [["far"] * 4 for _ in texts], "not a table of numbers"),
    "a coroutine": (later, "async"),
}


class MyEmbedder:
    """Gives what a test says; counts how often it was asked."""

    name, dim, batch = "mine", 4, 10

    def __init__(self, give, **said):
        self.give, self.calls = give, 0
        vars(self).update(said)

    def embed(self, texts):
        self.calls += 1
        return self.give(texts)


def ones(texts):
    return np.full((len(texts), 4), 0.5)


class Thinker(LLMAgent):
    def step(self):
        self.apply_plan(self.reasoning.plan(prompt="What now?"))


class Room(mesa.Model):
    def __init__(self, embedder, policy=None, execution="deferred", record=None):
        super().__init__(rng=1)
        configure(
            self, llm="offline", embedder=embedder, execution=execution, record=record
        )
        name = register_policy("quiet", policy or (lambda turn: "I wait."))
        self.agent = Thinker(self, CoTReasoning, name)
        self.agent.memory = EpisodicMemory(self.agent)
        self.agent.memory.add_to_memory(
            "message", {"message": "It rains.", "sender": 4}
        )

    def step(self):
        self.agents.shuffle_do("step")


def lived(room):
    for _ in range(2):
        room.step()
    room.agent.memory.recall("rain")
    return room


@pytest.mark.timeout(600)
@pytest.mark.parametrize("local", [True, False], ids=["local", "remote"])
@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_vectors_that_are_none_are_told_at_once(execution, local):
    for give, said in WRONG.values():
        mine = MyEmbedder(give, local=local)
        room = Room(mine, execution=execution)
        with pytest.raises(EmbedderError, match=said) as raised:
            lived(room)
        message = str(raised.value)
        assert "MyEmbedder.embed()" in message and "(1, 4)" in message
        assert not raised.value.passing
        assert mine.calls == 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("local", [True, False], ids=["local", "remote"])
def test_nothing_is_lost_and_a_better_embedder_goes_on(local, tmp_path):
    file = str(tmp_path / "run.sqlite")
    mine = MyEmbedder(lambda texts: np.ones((1, 3)), local=local)
    room = Room(mine, record=file)
    with pytest.raises(EmbedderError, match="shape"):
        lived(room)
    mine.give = ones
    lived(room)
    texts = [
        hit.record.content.get("message") for hit in room.agent.memory.recall("rain")
    ]
    assert "It rains." in texts
    Services.of(room).recorder.close()
    with open_run(file) as run:
        kept = [row["text"] for row in run.history(agent=1, as_records=True)]
    assert any("It rains." in text for text in kept)


@pytest.mark.timeout(600)
def test_a_policy_that_reads_a_memory_with_wrong_vectors_ends_the_step():
    mine = MyEmbedder(lambda texts: None)

    def remember(turn):
        room.agent.memory.recall("rain")
        return "I wait."

    room = Room(mine, remember)
    with pytest.raises(EmbedderError, match=r"MyEmbedder.embed\(\) gave None"):
        room.step()


@pytest.mark.timeout(600)
def test_an_outage_of_ones_own_embedder_leaves_the_words(caplog):
    def out(texts):
        raise EmbedderError("the line is dead", passing=True)

    room = Room(MyEmbedder(out))
    room.step()
    assert "recalled by words alone" in caplog.text
    assert "It rains." in room.agent.memory.get_prompt_ready()
