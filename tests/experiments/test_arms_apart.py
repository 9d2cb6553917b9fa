"""Arms do not leak into each other, in whatever order and however many at once they run."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study

MEMORIES, SEEDS = ["stlt", "episodic", "short_term"], [0, 1, 2, 3]


def correct(model):
    return sum(opinion == "correction" for opinion in model.opinions.values())


def told(model):
    return sum(len(agent.memory.get_prompt_ready()) for agent in model.agents)


def numbers(tmp_path, name, executor, memories, seeds):
    """The numbers of each case: outcomes, requests, tokens and checks."""
    study = Study(
        RumorModel, {"memory": memories, "n_agents": [6]}, seeds=seeds, steps=6,
        outcomes={"correct": correct, "told": told}, store=tmp_path / f"{name}.sqlite",
    )  # fmt: skip
    study.run(executor, progress=False)
    frame = study.results().runs.drop(columns=["case", "run"])
    frame = frame.set_index(["memory", "seed"]).sort_index()
    return frame.select_dtypes("number")


@pytest.mark.slow
def test_no_value_differs_for_any_order_threads_or_processes(tmp_path):
    first = numbers(tmp_path, "serial", "serial", MEMORIES, SEEDS)
    assert (
        first.size >= 144 and first["run_calls"].min() >= 0 < first["run_calls"].sum()
    )
    backwards = MEMORIES[::-1], SEEDS[::-1]
    with ThreadPoolExecutor(4) as threads:
        others = {
            "backwards": numbers(tmp_path, "backwards", "serial", *backwards),
            "threads": numbers(tmp_path, "threads", threads, MEMORIES, SEEDS),
            "processes": numbers(tmp_path, "processes", 2, *backwards),
        }
    apart = {
        name: int((found.fillna(-1) != first.fillna(-1)).to_numpy().sum())
        for name, found in others.items()
    }
    assert apart == dict.fromkeys(others, 0)
