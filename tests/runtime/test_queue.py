"""A memory's queue of finished steps."""

import threading

import pytest

from mesa_memory import STLTMemory, configure
from mesa_memory.runtime.queue import CommitQueue
from tests.support.town import Town
from tests.support.waiting import HUNG


class Instant:
    """Performs nothing, and that at once."""

    def instant(self):
        return True

    def release(self):
        """Holds nothing."""


class Interrupted:
    """Settles batches; during the first one somebody presses Ctrl-C."""

    def __init__(self):
        self.pressed, self.settled = False, []

    def __call__(self, batch):
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        self.settled.append(batch)
        return
        yield


@pytest.mark.parametrize("way", ["begin", "run_here"])
def test_after_ctrl_c_the_next_step_is_settled(way):
    settle = Interrupted()
    queue = CommitQueue(settle, Instant, threading.RLock())
    queue.put("interrupted")
    with pytest.raises(KeyboardInterrupt):
        getattr(queue, way)()
    queue.put("next")
    waiting = threading.Thread(target=queue.settle, args=(True,), daemon=True)
    waiting.start()
    waiting.join(HUNG)
    assert not waiting.is_alive()
    assert settle.settled == ["next"]
    assert queue.idle


class Impatient:
    """A consolidation policy; somebody presses Ctrl-C when it is asked first."""

    def __init__(self):
        self.pressed = False

    def due(self, tokens, capacity):
        """None is ever due."""
        if not self.pressed:
            self.pressed = True
            raise KeyboardInterrupt
        return 0


def test_ctrl_c_at_the_end_of_an_agents_step_loses_nothing():
    """In a notebook the model stays, and so do its agents' memories."""
    town = Town(
        1,
        lambda agent: STLTMemory(agent, consolidation=Impatient()),
        setup=lambda model: configure(model, llm="offline"),
    )
    with pytest.raises(KeyboardInterrupt):
        town.step()
    town.step()
    memory = town.citizens[0].memory
    assert [entry.step for entry in memory.short_term_memory] == [1, 2]
    assert "On day 1 I sold 1 fish." in memory.format_short_term()
