"""Towns that are killed at random moments, each in a process of its own.

    python -m tests.support.killed FOLDER COUNT

Writes FOLDER/0.sqlite, … and prints for each the step that had been told last.
"""

import os
import random
import signal
import sys
import time
from pathlib import Path

# Loaded here, once, and not by each of the towns.
import model2vec  # noqa: F401

import mesa_memory.runs.recording.recorder
import mesa_memory.stores.sqlite  # noqa: F401
from mesa_memory import Services
from tests.support.recorded_town import RecordedTown

STEPS = 12
#: seconds that a step takes, as if a model had been asked; fast steps are written
#: together, the one that comes after a slow step at once
FAST, SLOW = 0.02, 0.3


def live(file: Path, told: int) -> None:
    """A whole life; tells each finished step."""
    town = RecordedTown(str(file))
    for _ in range(STEPS):
        town.step()
        time.sleep(FAST if town.steps % 4 else SLOW)
        os.write(told, bytes([town.steps]))
    Services.of(town).recorder.close()


def killed(file: Path, chance: random.Random) -> int:
    """Lets a town live and kills it; the step that it had told last."""
    listen, tell = os.pipe()
    # Forked before any thread was started here, so that nothing is loaded twenty times.
    child = os.fork()
    if not child:
        live(file, tell)
        os._exit(0)
    os.close(tell)
    until, seen = chance.randrange(1, STEPS), 0
    while seen < until and (told := os.read(listen, 1)):
        seen = told[0]
    # Somewhere within the next step, or while it is written.
    time.sleep(chance.uniform(0, FAST))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while told := os.read(listen, STEPS):  # it may have got further than it was heard
        seen = told[-1]
    os.close(listen)
    return seen


def main() -> None:
    """Kills as many towns as asked for."""
    folder, count = Path(sys.argv[1]), int(sys.argv[2])
    chance = random.Random(3)
    for trial in range(count):
        print(killed(folder / f"{trial}.sqlite", chance), flush=True)


if __name__ == "__main__":
    main()
