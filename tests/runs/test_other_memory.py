"""A run that is resumed with another class of memory says which, and what to do."""

from functools import partial

import pytest

from mesa_memory import ShortTermMemory, fork, open_run, resume
from mesa_memory.errors import MemoryMismatch
from tests.support.hamlet import Hamlet
from tests.support.playing import ended, lived, play


class Mine(ShortTermMemory):
    """Keeps something else, under the layer's name of its base."""

    def snapshot(self):
        return super().snapshot() | {"mine": 1}

    def restore(self, snapshot, shelf):
        super().restore(snapshot, shelf)
        self.mine = snapshot["mine"]


class Street(Hamlet):
    """Neighbours who may keep their memory as a diary, beside an episodic one."""

    makers = Hamlet.makers | {"Mine": Mine}

    def __init__(self, memory="EpisodicMemory", record=None, diary=False):
        super().__init__("EpisodicMemory" if diary else memory, record)
        if diary:
            for agent in self.agents:
                agent.diary = self.makers[memory](agent)


PAIRS = [("EpisodicMemory", "ShortTermMemory"), ("ShortTermMemory", "Mine")]


@pytest.mark.parametrize("again", [resume, fork])
@pytest.mark.parametrize(("was", "now"), PAIRS)
def test_another_class_than_that_of_the_run_is_told_by_name(was, now, again, tmp_path):
    file = str(tmp_path / "run.sqlite")
    play(Street(was, file), 3)
    said = rf"the run has {was} for agent 1 \(agent.memory\), .* makes {now}\. Make the"
    with pytest.raises(MemoryMismatch, match=said):
        again(partial(Street, memory=now), file)
    with open_run(file) as run:  # the run stays as it was
        assert run.steps[-1] == 3
    assert ended(lived(resume(Street, file), 1)) == 1


def test_another_class_under_another_attribute_is_told_by_place(tmp_path):
    file = str(tmp_path / "run.sqlite")
    play(Street("STLTMemory", file, diary=True), 3)
    with pytest.raises(MemoryMismatch, match=r"STLTMemory for agent 1 \(agent.diary\)"):
        resume(Street, file, memory="LongTermMemory")
