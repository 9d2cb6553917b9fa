"""An embedder of the user's own that gives no usable vectors is told so, by its name."""

import numpy as np
import pytest

from mesa_memory import EpisodicMemory, open_run
from mesa_memory.errors import EmbedderError
from tests.support.single import memory_of
from tests.support.turns import in_turn


async def later(texts):
    """Somebody may write ``async def embed``."""


WRONG = {
    "nothing": (lambda texts: None, r"gave .* where \(\d, 4\)"),
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


def listener(embedder, **services):
    """The memory of an agent that has heard of the rain and plans what to do."""
    memory = memory_of(EpisodicMemory, embedder=embedder, **services)
    memory.add_to_memory("message", {"message": "It rains.", "sender": 4})
    return memory


def lived(memory):
    """The texts that the memory recalls after two steps."""
    for _ in range(2):
        memory.agent.model.step()
        memory.process_step(pre_step=True)
        memory.agent.reasoning.plan(prompt="What now?")
        memory.process_step()
    return [hit.record.content.get("message") for hit in memory.recall("rain")]


@pytest.mark.timeout(600)
@in_turn(local=[True, False], execution=["blocking", "deferred"])
def test_vectors_that_are_none_are_told_at_once(execution, local):
    for give, said in WRONG.values():
        mine = MyEmbedder(give, local=local)
        with pytest.raises(EmbedderError, match=said) as raised:
            lived(listener(mine, execution=execution))
        message = str(raised.value)
        assert "MyEmbedder.embed()" in message and "(1, 4)" in message
        assert not raised.value.passing
        assert mine.calls == 1


@pytest.mark.timeout(600)
@pytest.mark.parametrize("local", [True, False], ids=["local", "remote"])
def test_nothing_is_lost_and_a_better_embedder_goes_on(local, tmp_path):
    file = str(tmp_path / "run.sqlite")
    mine = MyEmbedder(lambda texts: np.ones((1, 3)), local=local)
    memory = listener(mine, record=file)
    with pytest.raises(EmbedderError, match="shape"):
        lived(memory)
    mine.give = lambda texts: np.full((len(texts), 4), 0.5)
    assert "It rains." in lived(memory)
    memory.services.recorder.close()
    with open_run(file) as run:
        kept = [row["text"] for row in run.history(agent=1, as_records=True)]
    assert any("It rains." in text for text in kept)
