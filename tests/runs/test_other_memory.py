"""A run that is resumed with another class of memory says which, and what to do."""

from functools import partial

import mesa
import pytest
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Services,
    ShortTermMemory,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.errors import MemoryMismatch
from tests.support.classes import EVERY
from tests.support.street import Neighbour


class Mine(ShortTermMemory):
    """Keeps something else, under the layer's name of its base."""

    def snapshot(self):
        return super().snapshot() | {"mine": 1}

    def restore(self, snapshot, shelf):
        super().restore(snapshot, shelf)
        self.mine = snapshot["mine"]


CLASSES = {kind.__name__: kind for kind in (*EVERY, Mine)}


class Street(mesa.Model):
    def __init__(self, memory="EpisodicMemory", file="", diary=False, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=file or None)
        name = register_policy("talk", lambda turn: "I greet my neighbour.")
        for _ in range(2):
            agent = Neighbour(self, CoTReasoning, name)
            agent.memory = CLASSES["EpisodicMemory" if diary else memory](agent)
            if diary:
                agent.diary = CLASSES[memory](agent)

    def step(self):
        self.agents.shuffle_do("step")


def record(file, memory, diary=False):
    street = Street(memory, file, diary, rng=1)
    for _ in range(3):
        street.step()
    Services.of(street).recorder.close()


PAIRS = [
    ("EpisodicMemory", "ShortTermMemory"),
    ("ShortTermMemory", "EpisodicMemory"),
    ("STLTMemory", "ShortTermMemory"),
    ("LongTermMemory", "ImpressionMemory"),
    ("ShortTermMemory", "Mine"),
    ("FactMemory", "ImpressionMemory"),
]


@pytest.mark.parametrize("again", [resume, fork])
@pytest.mark.parametrize(("was", "now"), PAIRS)
def test_another_class_than_that_of_the_run_is_told_by_name(was, now, again, tmp_path):
    file = str(tmp_path / "run.sqlite")
    record(file, was)
    said = rf"the run has {was} for agent 1 \(agent.memory\), .* makes {now}\. Make the"
    with pytest.raises(MemoryMismatch, match=said):
        again(partial(Street, memory=now), file, file=file, rng=1)
    with open_run(file) as run:  # the run stays as it was
        assert run.steps[-1] == 3
    street = resume(Street, file, memory=was, file=file, rng=1)
    street.step()
    Services.of(street).recorder.close()


def test_another_class_under_another_attribute_is_told_by_place(tmp_path):
    file = str(tmp_path / "run.sqlite")
    record(file, "STLTMemory", diary=True)
    with pytest.raises(MemoryMismatch, match=r"STLTMemory for agent 1 \(agent.diary\)"):
        resume(Street, file, memory="LongTermMemory", diary=True, file=file, rng=1)
