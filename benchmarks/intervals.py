"""How often what a run uses lies in the forecast's interval of 90%.

    python -m benchmarks.intervals [--memory NAME,NAME] [--seeds 2] [--processes 2]

The town of the rumour is run whole, with 24, 16 and 8 people, and pilots are run with other
seeds. Every forecast from the pilots' first steps is compared with what every run has used
by then: calls, tokens, cached tokens, and dollars at a price without and with a cache.
All of it is counted at four characters to a token; ``benchmarks.estimates`` compares with
a provider's own count.
"""

import argparse
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any

import numpy as np

from benchmarks.tables import show
from mesa_memory.examples.rumor import memories
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments.forecast import foretold
from mesa_memory.experiments.growth import Sum
from mesa_memory.experiments.pilot import Pilot, run_pilot
from mesa_memory.llm.price import Price
from mesa_memory.memories.registry import OURS

#: dollars of a million tokens, as of a small model; the second has a cache
PRICES = {"own/plain": Price(0.25e-6, 2e-6), "own/cached": Price(0.25e-6, 2e-6, 25e-9)}
#: agents and steps of the long pilot and of the wide one
PILOTS = ((8, 67), (16, 16))
#: agents and steps of whole runs, and the seed of the first
WHOLE, FIRST_SEED = ((24, 100), (16, 40), (8, 100)), 10
#: of runs with so many agents: steps of the long and the wide pilot, and of the run
FORECASTS = {
    24: ((67, 16, 100), (40, 10, 70), (40, 10, 50)),
    16: ((27, 8, 40), (20, 7, 30)),
    8: ((67, 16, 100), (40, 10, 70)),
}


def used(run: Pilot, steps: int) -> dict[str, float]:
    """What a whole run has used after some steps."""
    sums = [t[:, : steps + 1].sum(axis=(0, 1)) for t in run.counts.values()]
    calls, prompt, cached, said = (float(each) for each in np.sum(sums, axis=0))
    plain, kept = PRICES.values()
    return {
        "calls": calls,
        "tokens": prompt + said,
        "cached": cached,
        "$ plain": plain.cost(prompt, said),
        "$ cached": kept.cost(prompt, said, cached),
    }


def told(pilots: Sequence[Pilot], agents: int, steps: int) -> dict[str, Sum]:
    """What is forecast of it."""
    found = foretold(pilots, agents, steps, PRICES, prices=PRICES)
    plain, kept = found.priced
    assert plain.cost is not None and kept.cost is not None
    return {
        "calls": found.calls,
        "tokens": found.tokens,
        "cached": kept.cached,
        "$ plain": plain.cost,
        "$ cached": kept.cost,
    }


def compared(
    memory: str, pilots: Sequence[Pilot], run: Pilot
) -> Iterator[dict[str, Any]]:
    """Each forecast of each quantity of a run, from the beginnings of two pilots."""
    agents = round(run.agents)
    for long, wide, steps in FORECASTS[agents]:
        begun = (pilots[0].first(long), pilots[1].first(wide))
        forecast, count = told(begun, agents, steps), used(run, steps)
        for name, counted in count.items():
            of = forecast[name]
            if not counted and not of.value:
                continue
            slack = 1e-9 * counted
            yield {
                "memory": memory,
                "from": f"{agents} x {steps} from {long}",
                "quantity": name,
                "off": of.value / counted - 1 if counted else float("inf"),
                "width": (of.high - of.value) / of.value if of.value else 0.0,
                "inside": bool(of.low - slack <= counted <= of.high + slack),
            }


def measured(memory: str, seeds: int) -> list[dict[str, Any]]:
    """All rows of one memory."""

    def run(size: tuple[int, int], seed: int) -> Pilot:
        given = {"n_agents": size[0], "memory": memory}
        return run_pilot(RumorModel, given, size[1], seed)

    pilots = [[run(size, seed) for size in PILOTS] for seed in range(seeds)]
    whole = [run(size, FIRST_SEED + seed) for size in WHOLE for seed in range(seeds)]
    return [row for each in whole for p in pilots for row in compared(memory, p, each)]


def summary(rows: Sequence[Mapping[str, Any]], by: str) -> list[dict[str, Any]]:
    """A row for each value of a column, and one for all."""
    found = []
    for value in [*dict.fromkeys(row[by] for row in rows), "all"]:
        some = [row for row in rows if value in (row[by], "all")]
        off = [100 * abs(row["off"]) for row in some]
        found.append(
            {
                by: value,
                "values": len(some),
                "inside_%": 100 * float(np.mean([row["inside"] for row in some])),
                "off_%_median": float(np.median(off)),
                "interval_%_median": 100
                * float(np.median([row["width"] for row in some])),
            }
        )
    return found


def main() -> None:
    """Prints how many lie inside, by quantity, size and memory."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--memory", default=",".join([*OURS, *memories.OWN]))
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    one = partial(measured, seeds=options.seeds)
    with ProcessPoolExecutor(options.processes, get_context("spawn")) as pool:
        rows = [
            row for part in pool.map(one, options.memory.split(",")) for row in part
        ]
    for by in ("quantity", "from", "memory"):
        show(f"Counted values in the interval of 90%, by {by}", summary(rows, by), 1)


if __name__ == "__main__":
    main()
