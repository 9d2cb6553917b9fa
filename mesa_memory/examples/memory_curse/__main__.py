"""Cooperation by length of memory, with a rule or with a language model.

    python -m mesa_memory.examples.memory_curse
    python -m mesa_memory.examples.memory_curse provider/model

The runs are kept in ``curse.sqlite``: the command again prints the result without new runs.
"""

import sys

from mesa_memory.errors import StudyError
from mesa_memory.examples.memory_curse.model import OWN, MemoryCurse
from mesa_memory.experiments import Study


def main(llm: str = "offline", seeds: int = 20, rounds: int = 100) -> None:
    """Prints the comparison of the memories, each on the same seeds."""
    study = Study(
        MemoryCurse,
        {"memory": list(OWN), "llm": llm},
        seeds=range(seeds),
        steps=rounds,
        outcomes={"cooperation": "cooperation"},
        store="curse.sqlite",
        name=f"curse of {llm}",
    )
    if (status := study.run("serial")).failed:
        raise StudyError(str(status))
    print(study.compare("memory", base="window_2"))


if __name__ == "__main__":
    main(sys.argv[1] if sys.argv[1:] else "offline")
