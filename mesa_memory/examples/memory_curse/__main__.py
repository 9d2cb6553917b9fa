"""Cooperation by length of memory: with a rule, or from a recording of a language model.

    python -m mesa_memory.examples.memory_curse
    python -m mesa_memory.examples.memory_curse --recording curse.sqlite --llm provider/model

The second makes those runs that the recording lacks. Recorded runs need no key: they are
replayed from their answers, and must give the recorded cooperation again.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from mesa_memory.errors import StudyError
from mesa_memory.examples.memory_curse.model import OWN, MemoryCurse
from mesa_memory.experiments import Study
from mesa_memory.experiments.estimates.missing import missing_runs

SEEDS, ROUNDS = 20, 100
NO_RECORDING = (
    "No recording of a language model is named (--recording FILE): these players "
    "follow the grudging rule of the example."
)


def study(
    store: Path, llm: str = "offline", seeds: int = SEEDS, rounds: int = ROUNDS
) -> Study:
    """The study: each memory on the same seeds."""
    return Study(
        MemoryCurse,
        {"memory": list(OWN), "llm": llm},
        seeds=range(seeds),
        steps=rounds,
        outcomes={"cooperation": "cooperation"},
        store=store,
    )


def replayed(made: Study, memory: str, seed: int) -> MemoryCurse:
    """A recorded run once more, from its answers alone: no key, no network.

    Raises:
        ReplayMismatch: if a prompt is not the recorded one.
        LookupError: if the study lacks this run.
    """
    runs = made.results().runs
    chosen = runs[(runs["memory"] == memory) & (runs["seed"] == seed)]
    if chosen.empty:
        raise LookupError(f"the recording has no run of {memory!r} with seed {seed}")
    run = chosen.iloc[0]
    game = MemoryCurse(
        memory, run["llm"], rng=seed, replay=f"{made.location}#{run['run']}"
    )
    for _ in range(made.steps):
        game.step()
    return game


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the comparison of the memories."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--recording", type=Path, help="SQLite file of recorded runs")
    parser.add_argument("--llm", default="offline", help="provider/model")
    parser.add_argument("--seeds", type=int, default=SEEDS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--processes", type=int, help="default: none but this one")
    given = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="mesa-memory-") as folder:
        store = given.recording or Path(folder) / "curse.sqlite"
        made = study(store, given.llm, given.seeds, given.rounds)
        if missing_runs(made)[0]:  # a complete recording may be of an older version
            made.run(given.processes or "serial")
        if (status := made.status()).failed:
            raise StudyError(str(status))
        print(made.compare("memory", base="window_2", outcome="cooperation"))
        print(_replays(made) if given.recording else NO_RECORDING)


def _replays(made: Study) -> str:
    """Replays each run, and says how many give the recorded cooperation."""
    runs = made.results().runs
    same = [
        replayed(made, run.memory, run.seed).cooperation == run.cooperation
        for run in runs.itertuples()
    ]
    return f"{sum(same)} of {len(same)} recorded runs have the same cooperation in a replay."


if __name__ == "__main__":
    main()
