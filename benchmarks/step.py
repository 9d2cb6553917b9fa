"""The processor time of an agent-step: three events and one prompt, by class of memory.

    python -m benchmarks.step [--only EpisodicMemory …] [--steps 50] [--rounds 7]
        [--beside CHECKOUT] [--json]

No model is asked: the offline rules answer, executed blocking. Times are microseconds for
a step, the median of the rounds, which alternate all that is compared; each round has a
new model, six steps before the time is taken, and Python's garbage collected. *Recorded*
is the same with ``configure(record=…)``, up to the commit of the rows. *Theirs* is
Mesa-LLM's class of this name, whose requests are answered at once; *ratio* is ours to it.

``--beside`` measures another checkout of this project in the same rounds, with the
interpreter in its ``.venv``; *to beside* are the ratios of this checkout to that one,
not recorded and recorded.
"""

import json
import statistics
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks.tables import options, show
from tests.support import walker

MEMORIES = (
    "ShortTermMemory", "STLTMemory", "LongTermMemory", "EpisodicMemory",
    "ImpressionMemory", "FactMemory", "ConversationMemory", "NarrativeMemory",
    "LayeredMemory",
)  # fmt: skip


class Checkout:
    """A process that measures one checkout.

    Args:
        interpreter: the Python whose packages have that checkout.
    """

    def __init__(self, interpreter: str) -> None:
        # -P: only installed packages, none of the folder of the program.
        command = [interpreter, "-P", walker.__file__]
        pipe = subprocess.PIPE
        self._process = subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True)

    def microseconds(self, **given: Any) -> float:
        """The time of a step; see ``walker.seconds`` for the arguments."""
        print(json.dumps(given), file=self._process.stdin, flush=True)
        assert self._process.stdout is not None
        if not (line := self._process.stdout.readline()):
            raise SystemExit(f"{self._process.args} ended while measuring {given}")
        return 1e6 * float(line)

    def end(self) -> None:
        """Ends the process."""
        self._process.communicate()


def compare(
    memory: str, steps: int, rounds: int, here: Checkout, beside: Checkout | None
) -> dict[str, Any]:
    """The row of one class."""
    ways: dict[str, tuple[Checkout, dict[str, bool]]] = {
        "us": (here, {}),
        "recorded_us": (here, {"recorded": True}),
    }
    if memory in walker.PEERS:
        ways["theirs_us"] = here, {"peer": True}
    if beside:
        ways["beside_us"] = beside, {}
        ways["beside_recorded_us"] = beside, {"recorded": True}
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, (checkout, kind) in ways.items():
            times = checkout.microseconds(memory=memory, steps=steps, **kind)
            found[name].append(times)
    median = {name: statistics.median(values) for name, values in found.items()}
    row: dict[str, Any] = {"memory": memory}
    for name in ("us", "recorded_us", "theirs_us"):
        row[name] = median.get(name, "")
    row["ratio"] = median["us"] / median["theirs_us"] if row["theirs_us"] else ""
    if beside:
        for ours in ("us", "recorded_us"):
            row[f"beside_{ours}"] = median[f"beside_{ours}"]
            row["to_" + f"beside_{ours}".removesuffix("_us")] = (
                median[ours] / median[f"beside_{ours}"]
            )
    return row


def main() -> None:
    """Runs the benchmark from the command line."""
    given = options(__doc__, steps=50, rounds=7, only=MEMORIES, beside="")
    here = Checkout(sys.executable)
    other = Path(given.beside) / ".venv" / "bin" / "python"
    beside = Checkout(str(other)) if given.beside else None
    rows = [compare(n, given.steps, given.rounds, here, beside) for n in given.only]
    for checkout in (here, beside):
        if checkout:
            checkout.end()
    show("Processor time of an agent-step", rows, digits=1, as_json=given.json)


if __name__ == "__main__":
    main()
