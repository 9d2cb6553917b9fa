"""A bar that says how many runs have ended, what they cost, and what all will cost."""

import sys
from typing import Any

from mesa_memory.experiments.studies.worker import Outcome


class Progress:
    """A tqdm bar on stderr; nothing where it is not wanted.

    Args:
        total: how many runs there are to make.
        spent: dollars that the study has cost before; None is unknown.
    """

    def __init__(self, total: int, spent: float | None, shown: bool) -> None:
        from tqdm.auto import tqdm

        self.total, self.ended = total, 0
        self.before, self.cost = spent, 0.0
        self.failed, self.calls = 0, 0
        quiet = not shown or not total
        self.bar: Any = tqdm(total=total, disable=quiet, unit="run", file=sys.stderr)

    def __enter__(self) -> "Progress":
        return self

    def __exit__(self, *_: object) -> None:
        self.bar.close()

    def add(self, outcome: Outcome) -> None:
        """A run has ended."""
        self.ended += 1
        self.calls += outcome.usage.get("calls") or 0
        cost = outcome.usage.get("cost", 0.0)
        self.before = None if cost is None else self.before
        self.cost += cost or 0.0
        self.failed += outcome.state != "finished"
        self.bar.update()
        self.bar.set_postfix_str(self.said, refresh=False)

    @property
    def said(self) -> str:
        """Calls, cost so far, and the cost of all if the others cost the same."""
        failed = f", {self.failed} not finished" if self.failed else ""
        if self.before is None:
            return f"{self.calls} calls, cost unknown{failed}"
        so_far = self.before + self.cost
        if not so_far:
            return f"{self.calls} calls{failed}"
        ahead = self.before + self.cost * self.total / max(1, self.ended)
        return f"{self.calls} calls, ${so_far:.2f} of about ${ahead:.2f}{failed}"
