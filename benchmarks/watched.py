"""What ``benchmarks.watching`` watches: models with realistic work.

    python -m benchmarks.watched CASE STEPS [--file PATH] [--base URL] [--pause SECONDS]

Runs a model as a program of its own. It says ``ready`` after some first steps, begins
when it reads a line, and says how many seconds the steps took.
"""

import argparse
import sys
import time
from typing import Any

import mesa

from benchmarks.town import Town
from mesa_memory import Services, ShortTermMemory, configure
from mesa_memory.examples.rumor.model import RumorModel

#: steps before the clock starts: libraries are loaded, memories have begun
FIRST = 10
#: the least that Mesa's page waits between two steps of Play, in milliseconds
PAUSE = 1


def rumor(record: Any, base: str | None) -> mesa.Model:
    """The example with 30 people; they ask the server at ``base``, if there is one."""
    llm = "openai/local" if base else "offline"
    return RumorModel(llm=llm, api_base=base, rng=1, record=record)


class Readers(Town):
    """30 agents that note what happens, and nothing else: steps of milliseconds."""

    def __init__(self, record: Any = None) -> None:
        setup = lambda model: configure(model, llm="offline", record=record)  # noqa: E731
        super().__init__(30, ShortTermMemory, None, setup)


def readers(record: Any, base: str | None) -> mesa.Model:
    """Agents that ask nobody."""
    assert base is None, "readers ask no server"
    return Readers(record)


MODELS = {"rumor": rumor, "readers": readers}


def timed(model: mesa.Model, steps: int, tell: bool = False) -> mesa.Model:
    """Has a model say how long its steps took, the first ones left out, and end.

    It says seconds by the clock, and processor seconds of the whole process.

    Args:
        tell: say it of each step, too.
    """
    inner, started = model.step, (0.0, 0.0)

    def step() -> None:
        nonlocal started
        begun = time.perf_counter()
        inner()
        if tell:
            print(f"step {time.perf_counter() - begun:.4f}", flush=True)
        if model.steps == FIRST:
            started = time.perf_counter(), time.process_time()
        elif model.steps == FIRST + steps:
            clock, spent = time.perf_counter(), time.process_time()
            took = clock - started[0], spent - started[1]
            print("took {:.4f} {:.4f}".format(*took), flush=True)
            model.running = False

    model.step = step
    return model


def first(model: mesa.Model) -> mesa.Model:
    """Makes the first steps but one, and waits until they are written."""
    for _ in range(FIRST - 1):
        model.step()
    Services.of(model).recorder.sync()
    return model


def main() -> None:
    """Runs a model that another program watches."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case", choices=MODELS)
    parser.add_argument("steps", type=int)
    parser.add_argument("--file")
    parser.add_argument("--base")
    parser.add_argument("--pause", type=float, default=0.0)
    given = parser.parse_args()
    made = MODELS[given.case](given.file or True, given.base)
    model = first(timed(made, given.steps))
    print("ready", flush=True)
    sys.stdin.readline()
    while model.running:
        time.sleep(given.pause)
        model.step()
    Services.of(model).recorder.close()


if __name__ == "__main__":
    main()
