"""The progress of a study: its cases by state, its cost, and the making of missing runs."""

import sys
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.core.content import dollars
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.errors import (
    BudgetExceeded,
    MeasureError,
    NotPicklable,
    StoreUnavailable,
    StudyChanged,
    WorkerLost,
)
from mesa_memory.experiments.studies.checks import arm_checks, arm_warnings
from mesa_memory.experiments.studies.fingerprint import Fingerprint, differences
from mesa_memory.experiments.studies.worker import (
    BUSY,
    CHANGED,
    LOST,
    LOST_WORKER,
    Job,
    JobOutcome,
)
from mesa_memory.stores.studies import (
    FAILED,
    FINISHED,
    RUNNING,
    STOPPED,
    WAITING,
    CaseRow,
    Studies,
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
        arms = arm_checks(self.cases)
        return [{n: v for n, v in arm.items() if n != "makers"} for arm in arms]

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


#: seconds after which a case that another process makes is looked at again
BUSY_S = 1.0
INTERRUPTED = "the study was interrupted; study.run() continues it"


class Progress:
    """A tqdm bar on stderr with the number of runs that have ended, and their cost."""

    def __init__(self, shown: bool) -> None:
        from tqdm.auto import tqdm

        self.cost: float | None = 0.0
        self.calls = self.failed = 0
        given = {"desc": "preparing", "unit": " runs", "file": sys.stderr}
        self.bar: Any = tqdm(total=0, disable=not shown, **given)

    def begin(self, total: int, spent: float | None) -> None:
        """The runs begin.

        Args:
            total: number of runs to make.
            spent: dollars that the study has cost before; None is unknown.
        """
        self.cost = spent
        self.bar.leave = total > 0
        self.bar.reset(total)

    def stage(self, text: str) -> None:
        """Shows what the workers do."""
        self.bar.set_description(text)

    def add(self, outcome: JobOutcome) -> None:
        """A run has ended."""
        used = outcome.usage.get("cost", 0.0)
        self.cost = None if None in (used, self.cost) else self.cost + used
        self.calls += outcome.usage.get("calls") or 0
        self.failed += outcome.state != FINISHED
        cost = "cost unknown" if self.cost is None else f"${dollars(self.cost)}"
        failed = f", {self.failed} not finished" if self.failed else ""
        self.bar.update()
        self.bar.set_postfix_str(f"{self.calls} calls, {cost}{failed}", refresh=False)


#: gives the fingerprint of the study's code as it is now
type Current = Callable[[], Fingerprint]


def make(
    studies: Studies, workers: Any, jobs: Sequence[Job], bar: Progress, current: Current
) -> None:
    """Makes all jobs of a study; a fork follows its parent.

    Raises:
        BudgetExceeded, MeasureError, NotPicklable, StoreUnavailable, StudyChanged,
        WorkerLost: see ``Study.run``.
    """
    left = {job.number: job for job in jobs}
    try:
        while left:
            ready = {
                number: job
                for number, job in left.items()
                if job.fork is None or job.fork.case not in left
            }
            busy = set()
            with closing(workers.outcomes([*ready.values()], bar.stage)) as outcomes:
                for outcome in outcomes:
                    if outcome.state == BUSY:
                        busy.add(outcome.number)
                        continue
                    bar.add(outcome)
                    if outcome.state == LOST_WORKER:
                        _check_code(jobs[0], current)
                    _take(studies, jobs[0], outcome)
            left = {n: j for n, j in left.items() if n in busy or n not in ready}
            if busy:  # another process makes them now, or a worker of it was killed
                time.sleep(BUSY_S)
    except (WorkerLost, NotPicklable) as error:
        _check_code(jobs[0], current, error)
        raise
    except KeyboardInterrupt:  # without the frames of all that waited
        raise KeyboardInterrupt(INTERRUPTED) from None


def _check_code(job: Job, current: Current, error: Exception | None = None) -> None:
    """Raises if the code has changed, so that workers perhaps cannot load it."""
    now = current()
    if found := differences(job.compared, {part: now[part] for part in job.compared}):
        raise _code_changed(job, found) from error


def _code_changed(job: Job, found: Sequence[str]) -> StudyChanged:
    return StudyChanged(
        f"while the study {job.study_name!r} ran, its code was changed: "
        f"{'; '.join(found)}. Runs with both versions would be in one table. What is "
        "finished is kept. Undo the changes and call study.run() again, or begin a "
        "study of another name.",
        differences=tuple(found),
    )


def _take(studies: Studies, job: Job, outcome: JobOutcome) -> None:
    """Raises for an outcome that ends the study.

    Args:
        job: any one of the study's.
    """
    if outcome.state == LOST:
        raise StoreUnavailable(
            f"a worker cannot use the store: {outcome.error}. Earlier "
            "records are kept; study.run() continues from there.",
            location=job.location,
        )
    if outcome.budget:
        left = sum(case.due for case in studies.cases(job.study))
        raise BudgetExceeded(
            f"the budget of the study {job.study_name!r} is used up, and {left} of its "
            f"runs are not finished: {outcome.error}. Records are kept; "
            "study.run(budget=Budget(…)) with a larger one continues from there."
        )
    if outcome.measure:
        raise MeasureError(
            f"{outcome.error}. Mend it and call study.run() again: no other run of the "
            f"study {job.study_name!r} was begun after this one."
        )
    if outcome.state == CHANGED:
        raise _code_changed(job, outcome.differences)
    if outcome.state == LOST_WORKER:
        studies.settle(job.study, outcome.number, state=FAILED, error=outcome.error)
