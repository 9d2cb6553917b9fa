"""A study keeps no finished model alive, whatever its agents gave to Mesa-LLM."""

import gc
import tracemalloc
import weakref

import mesa
import psutil
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.tools.tool_manager import ToolManager

from mesa_memory import ShortTermMemory, configure, register_policy
from mesa_memory.experiments import Study

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
        quiet = register_policy("quiet", lambda turn: "Nothing.")
        for _ in range(5):
            worker = Worker(self, CoTReasoning, quiet)
            worker.memory = ShortTermMemory(worker)
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


@pytest.mark.slow
def test_a_thousand_models_grow_by_at_most_20_megabytes_after_the_100th(tmp_path):
    process = psutil.Process()
    tracemalloc.start()
    try:
        mined(tmp_path, range(100))
        held, size = tracemalloc.get_traced_memory()[0], process.memory_info().rss
        assert mined(tmp_path, range(100, 1000)) == 0
        grown = (
            tracemalloc.get_traced_memory()[0] - held,
            process.memory_info().rss - size,
        )
    finally:
        tracemalloc.stop()
    print(f"grown by {grown[0] / 1e6:.1f} MB traced, {grown[1] / 1e6:.1f} MB resident")
    # What is resident also tells of tests before this one: alone, it is 10 MB.
    assert grown[0] < 20e6
