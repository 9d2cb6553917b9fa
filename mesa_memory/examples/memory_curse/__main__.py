"""Cooperation by length of memory, with a rule or with a language model.

    python -m mesa_memory.examples.memory_curse
    python -m mesa_memory.examples.memory_curse --store curse.sqlite --llm provider/model

With ``--store`` the runs are kept: the command again prints the result without new runs.
"""

import argparse
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from mesa_memory.errors import StudyError
from mesa_memory.examples.memory_curse.model import OWN, MemoryCurse
from mesa_memory.experiments import Study


def main(arguments: Sequence[str] | None = None) -> None:
    """Prints the comparison of the memories, each on the same seeds."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--llm", default="offline", help="provider/model")
    parser.add_argument("--seeds", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--processes", type=int, help="default: none but this one")
    parser.add_argument("--store", type=Path, help="SQLite file that keeps the runs")
    given = parser.parse_args(arguments)
    with TemporaryDirectory(prefix="mesa-memory-") as folder:
        study = Study(
            MemoryCurse,
            {"memory": list(OWN), "llm": given.llm},
            seeds=range(given.seeds),
            steps=given.rounds,
            outcomes={"cooperation": "cooperation"},
            store=given.store or Path(folder) / "curse.sqlite",
        )
        if (status := study.run(given.processes or "serial")).failed:
            raise StudyError(str(status))
        print(study.compare("memory", base="window_2"))


if __name__ == "__main__":
    main()
