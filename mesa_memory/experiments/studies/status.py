"""The progress of a study: its cases by state, and its cost."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.core.content import dollars
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.experiments.studies.checks import arm_checks, arm_warnings
from mesa_memory.stores.studies import (
    FAILED,
    FINISHED,
    RUNNING,
    STOPPED,
    WAITING,
    CaseRow,
)

#: failed cases that a printed status names
MAX_LISTED_FAILURES = 5


@dataclass(frozen=True, repr=False)
class Status(NotebookShown):
    """The progress of a study.

    Attributes:
        name: of the study.
        cases: all of them, in order, as they are in the store.
        drift: differences in code, prompts, configuration and versions that were
            accepted, oldest first.
        forecast: ``runs``, ``calls``, ``tokens`` and ``cost`` as they were expected
            before the first run; None without an earlier estimate. The cost is
            in US dollars, and None if no model was priced.
    """

    name: str
    cases: tuple[CaseRow, ...]
    drift: tuple[Any, ...] = ()
    forecast: Mapping[str, Any] | None = None

    @property
    def counts(self) -> dict[str, int]:
        """Cases by state: finished, failed, stopped, running and waiting.

        ``running`` cases are with a worker now, or were with a killed one.
        A finished case that is to go further counts as waiting.
        """
        found = Counter(_state(case) for case in self.cases)
        order = (FINISHED, FAILED, STOPPED, RUNNING, WAITING)
        return {state: found[state] for state in order}

    @property
    def finished(self) -> bool:
        """True if nothing is left to run."""
        return not any(case.due for case in self.cases)

    @property
    def failed(self) -> list[dict[str, Any]]:
        """Number, run, parameters, seed, replicate and error of each failed case."""
        return [
            {"case": case.number, "run": case.name}
            | {"parameters": readable(dict(case.parameters))}
            | {"seed": readable(case.seed), "replicate": case.replicate}
            | {"error": case.error}
            for case in self.cases
            if case.state == FAILED
        ]

    @property
    def calls(self) -> int:
        """Requests to language models in the runs that have ended."""
        return sum(case.usage.get("calls") or 0 for case in self.cases)

    @property
    def cost(self) -> float | None:
        """US dollars of the runs that have ended; None if a price is unknown."""
        costs = [case.usage["cost"] for case in self.cases if case.usage]
        return None if None in costs else sum(costs)

    @property
    def checks(self) -> list[dict[str, Any]]:
        """Manipulation checks of each arm, added up over the runs that have ended.

        Each has ``arm``, the parameters that differ between arms as a text, all its
        ``parameters``, the number of ``runs``, and the checks by name; see
        ``Results.runs``.
        """
        hidden = "makers"
        return [
            {name: value for name, value in arm.items() if name != hidden}
            for arm in arm_checks(self.cases)
        ]

    @property
    def warnings(self) -> list[str]:
        """A text for each arm whose memories have made nothing of at least 12 events."""
        return arm_warnings(self.cases)

    def __repr__(self) -> str:
        """The counts in a line, and the failed runs and the warnings below it."""
        states = [f"{count} {state}" for state, count in self.counts.items() if count]
        counts = f"{', '.join(states) or 'no cases'} of {len(self.cases)}"
        lines = [f"study {self.name!r}: {counts}; {_calls(self.calls, self.cost)}"]
        if self.forecast is not None:
            told = _calls(self.forecast["calls"], self.forecast["cost"])
            runs = f"{told} in {self.forecast['runs']} runs"
            lines.append(f"  forecast before the first run: {runs}")
        for each in self.failed[:MAX_LISTED_FAILURES]:
            lines.append(f"  case {each['case']}, {each['run']}: {each['error']}")
        if len(self.failed) > MAX_LISTED_FAILURES:
            lines.append(f"  and {len(self.failed) - MAX_LISTED_FAILURES} more")
        return "\n".join([*lines, *(f"  {warning}" for warning in self.warnings)])


def _calls(number: int, cost: float | None) -> str:
    priced = "at an unknown cost" if cost is None else f"for ${dollars(cost)}"
    return f"{number} calls {priced}"


def _state(case: CaseRow) -> str:
    return WAITING if case.state == FINISHED and case.due else case.state
