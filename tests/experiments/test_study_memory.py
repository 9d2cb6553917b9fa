"""A study keeps no finished model alive, whatever its agents gave to Mesa-LLM."""

import gc
import tracemalloc
import weakref
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context

import mesa
import psutil
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.tools.tool_manager import ToolManager

from mesa_memory import ShortTermMemory, configure
from mesa_memory.experiments import Study
from tests.support.single import settle

MADE: list[weakref.ref] = []


class Worker(LLMAgent):
    """Offers a method of its own as a tool."""

    def step(self):
        self.memory.add_to_memory("observation", {"text": f"day {self.model.steps}"})
        self.memory.process_step(pre_step=True)
        self.memory.process_step()

    def dig(self, depth: int) -> str:
        """Digs a hole.

        Args:
            depth: in metres.
        """
        return f"{self.unique_id} digs {depth} metres"


class Mine(mesa.Model):
    """Workers whose tools are in the process-wide list of Mesa-LLM."""

    def __init__(self, fails=False, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.fails = fails
        for worker in settle(self, ShortTermMemory, 5, Worker):
            worker.tool_manager.register(worker.dig)
        MADE.append(weakref.ref(self))

    def step(self):
        self.agents.do("step")
        assert not self.fails


def mined(tmp_path, seeds, fails=False):
    """Runs a study of two steps for each seed; counts the models alive after it."""
    MADE.clear()
    study = Study(Mine, {"fails": [fails]}, seeds=seeds, steps=2, record=False,
                  store=tmp_path / f"{len(seeds)}.sqlite")  # fmt: skip
    study.run("serial", progress=False)
    gc.collect()
    assert len(MADE) >= len(seeds)
    return sum(made() is not None for made in MADE)


@pytest.mark.parametrize("fails", [False, True])
def test_no_model_outlives_its_run(fails, tmp_path):
    others = Mine(rng=1).agents[0].tool_manager
    before = list(ToolManager.instances)
    assert mined(tmp_path, range(3), fails) == 0
    assert ToolManager.instances == before
    assert others in before


def grown_by(tmp_path):
    """Models alive in the end, and bytes from the 100th to the 300th: traced, resident."""
    process = psutil.Process()
    tracemalloc.start()
    mined(tmp_path, range(100))
    held, size = tracemalloc.get_traced_memory()[0], process.memory_info().rss
    alive = mined(tmp_path, range(100, 300))
    traced = tracemalloc.get_traced_memory()[0] - held
    return alive, (traced, process.memory_info().rss - size)


@pytest.mark.slow
def test_a_model_makes_a_process_grow_by_at_most_22_kilobytes(tmp_path):
    # In a process of its own: what is resident also tells of what ran before.
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        alive, grown = process.submit(grown_by, tmp_path).result()
    print(f"grown by {grown[0] / 1e6:.1f} MB traced, {grown[1] / 1e6:.1f} MB resident")
    assert alive == 0
    assert grown[0] < 200 * 22e3 and grown[1] < 30e6
