"""A bar with the number of runs that have ended, and their cost."""

import sys
from typing import Any

from mesa_memory.experiments.studies.worker import JobOutcome
from mesa_memory.stores.studies import FINISHED


class Progress:
    """A tqdm bar on stderr; nothing where it is not wanted.

    Args:
        total: number of runs to make.
        spent: dollars that the study has cost before; None is unknown.
    """

    def __init__(self, total: int, spent: float | None, shown: bool) -> None:
        from tqdm.auto import tqdm

        self.cost, self.calls, self.failed = spent, 0, 0
        quiet = not shown or not total
        self.bar: Any = tqdm(total=total, disable=quiet, unit="run", file=sys.stderr)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def add(self, outcome: JobOutcome) -> None:
        """A run has ended."""
        cost = outcome.usage.get("cost", 0.0)
        self.cost = None if None in (cost, self.cost) else self.cost + cost
        self.calls += outcome.usage.get("calls") or 0
        self.failed += outcome.state != FINISHED
        self.bar.update()
        self.bar.set_postfix_str(self.text, refresh=False)

    @property
    def text(self) -> str:
        """Calls, cost so far, and runs that have not finished."""
        cost = "cost unknown" if self.cost is None else f"${self.cost:.2f}"
        failed = f", {self.failed} not finished" if self.failed else ""
        return f"{self.calls} calls, {cost}{failed}"
