"""Attribution: the memory on which an outcome or a decision depends, found by erasing it.

A recorded run is taken up at a step. Copies of it go on to the end: some as they are, and
some without the records that say the same thing, in all agents that have them. If the
outcome changes, the records are necessary for it. Others go on with these records alone:
if their outcome is not the one of a copy without all candidates, the records are
sufficient. These are effects from the step on, not earlier ones. For one decision, a copy
goes on for one step, with the records that the agent was shown in it.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import reduce
from operator import add
from typing import TYPE_CHECKING, Any

from mesa_memory.core.content import brief
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import checked_int
from mesa_memory.experiments.erasures import Erasure, Shown, candidates
from mesa_memory.runs.recording.configure import configure
from mesa_memory.runs.recording.resume import close, copy_at
from mesa_memory.runs.run import Run, open_run
from mesa_memory.runtime.services import Services
from mesa_memory.statistics.difference import (
    GroupDifference,
    holm,
    number,
    said_p,
    signed,
)

if TYPE_CHECKING:
    import pandas as pd

logger = logger_of(__name__)
#: groups whose effect is tried once more, on fresh runs
CONFIRMED = 3


@dataclass(frozen=True)
class Effect:
    """The change of an outcome when records are erased.

    Attributes:
        erasure: the records.
        difference: the outcome without them minus the outcome as it was; if they were
            kept alone, the outcome with them minus the outcome without all candidates.
        p_holm: corrected for the number of confirmed effects; None if it was not tested.
        kept: whether the records were kept alone, and all other candidates erased.
        instead: of a decision, what was decided then, if that differs.
    """

    erasure: Erasure
    difference: GroupDifference
    p_holm: float | None = None
    kept: bool = False
    instead: str = ""

    def found(self, exact: bool) -> bool:
        """True if it changes the outcome, beyond chance unless runs are exact."""
        if exact:
            return self.difference.mean != 0
        return self.p_holm is not None and self.p_holm < 0.05


@dataclass(frozen=True)
class Attribution(NotebookShown):
    """The memories on which an outcome depends.

    Attributes:
        step: after which they were erased.
        outcome: the mean outcome of the run as it was.
        exact: True if the runs as they were all ended alike; then each difference is an
            effect, and nothing is tested.
        effects: the largest first.
        runs: copies that were run.
        calls, cost: their requests, and dollars; None if a price is unknown.
        decision: what the agent decided, if one decision was asked about.
        stopped: True if it ended before all was tried.
    """

    step: float
    outcome: float
    exact: bool
    effects: tuple[Effect, ...] = field(default=())
    runs: int = 0
    calls: int = 0
    cost: float | None = 0.0
    decision: str | None = None
    stopped: bool = False

    @property
    def blamed(self) -> list[Effect]:
        """The groups whose erasure changes the outcome: they are necessary."""
        return self._found(kept=False)

    @property
    def sufficient(self) -> list[Effect]:
        """The groups that change the outcome if no other candidate is there."""
        return self._found(kept=True)

    def _found(self, kept: bool) -> list[Effect]:
        groups = [each for each in self.effects if each.kept == kept]
        return [each for each in groups if each.found(self.exact)]

    def table(self) -> "pd.DataFrame":
        """A row for each group of records.

        ``what``, ``who`` (agents), ``records`` (ids), ``stays`` (records made from it,
        which are still there). The effect of erasing it, in units of the
        outcome: ``effect``, ``low``, ``high``, ``p``, ``p_holm``; that of keeping it
        alone, if several groups were tried: ``alone``, ``alone_low`` and so on.
        """
        import pandas as pd

        kept = {e.erasure.text: e for e in self.effects if e.kept}
        return pd.DataFrame([
            _row(each, self.exact) | _numbers(kept.get(each.erasure.text), self.exact)
            for each in self.effects if not each.kept
        ])  # fmt: skip

    def __str__(self) -> str:
        """A sentence for each memory that matters."""
        how = "exact" if self.exact else "tested by permutation on fresh runs"
        what = f"Outcome {number(self.outcome)}"
        if self.decision is not None:
            what = f"Decision “{self.decision}”"
        price = "an unknown price" if self.cost is None else f"${self.cost:.4f}"
        lines = [f"{what}; {self.runs} runs ({how}), {self.calls} requests, {price}."]
        for each in [*self.blamed, *self.sufficient]:
            lines.append(f"{self._sentence(each)}.")
            if each.erasure.followers and not each.kept:
                made = each.erasure.followers
                lines.append(f"  {made} records that memories made from it stay.")
        if len(lines) == 1:
            lines.append(
                "No memory was found on which it depends: each group was erased alone, and "
                "kept alone. Sets of two or more were not tried: of causes such as (A and B) "
                "or (C and D), no group is necessary and none is sufficient."
            )
        if self.stopped:
            lines.append("It was stopped before all was tried.")
        return "\n".join(lines)

    def _sentence(self, each: Effect) -> str:
        agents = ", ".join(map(str, each.erasure.records))
        what = f"“{each.erasure.text}”"
        if each.erasure.also:
            what += f" and {len(each.erasure.also)} paraphrases"
        told = f"With {what} alone" if each.kept else f"Without {what}"
        change = signed(each.difference.mean)
        if each.instead:
            told += f" the decision is “{each.instead}”"
        elif each.kept:
            told += f" (agents {agents}) changes the outcome by {change}"
        else:
            told += f" (agents {agents}) the outcome changes by {change}"
        if not self.exact and each.p_holm is not None:
            low, high = each.difference.interval
            told += f" [{number(low)}, {number(high)}], {said_p(each.p_holm)}"
        return told


def attribute(
    model_class: Callable[..., Any],
    location: Any,
    *,
    step: float,
    outcome: Callable[[Any], float] | None = None,
    steps: float | None = None,
    agent: Any = None,
    decision: int | None = None,
    run: int | None = None,
    screen: int = 12,
    max_runs: int | None = None,
    progress: bool = True,
    trust: bool = False,
    **parameters: Any,
) -> Attribution:
    """Finds the memories on which the outcome of a recorded run, or a decision, depends.

    Records that say the same, also in other words (see ``runs.claims``), are erased
    together, as news that was passed on survives the erasure of one copy. Each group is
    erased alone, and kept alone without all others. Candidates are records that agents
    were shown after the step; an event shown as a fact is erased with it.
    If language models answer differently each time, each group is tried ``screen`` times; the
    three with the largest effects, erased and kept, are tried twice as often on
    fresh runs and tested by permutation, corrected by Holm's method. The copies are not
    recorded; their requests are paid, from the model's budget if it has one, and a line
    in the log says the number of runs and their price before the first. Ctrl-C ends it
    and returns the results so far.

    Args:
        model_class, location, run, trust, parameters: see ``resume``.
        step: after which finished step records are erased; with ``agent``, the step of
            the decision.
        outcome: a number, from the model at the end; by default, with ``agent``, 1 if
            its decision has another answer, else 0.
        steps: at which a copy ends; with ``agent``, by default ``step``.
        agent: unique id of one agent: candidates are the records that it was shown in the
            step and had before.
        decision: its number among those of the agent in the step, from 1, in the order
            of ``run.decisions()``; needed if there are several and no ``outcome``.
        screen: runs of the model as it was, and of each group if these differ.
        max_runs: ends after this number of runs; None makes all.
        progress: show a bar on stderr.

    Raises:
        ValueError: if ``steps`` is not after ``step``, a number is out of range, or the
            agent was shown nothing in the step, or decided several times in it.
        TypeError: without an outcome or ``steps``, if no agent is given; with a
            ``decision`` and an ``outcome``, or no agent.
        ParameterError, ReplayMismatch, StoreError: see ``resume``.
    """
    checked_int("screen", screen, 2)
    if max_runs is not None:
        checked_int("max_runs", max_runs, screen + 1)
    _check_question(agent, decision, outcome, steps)
    decided = None if agent is None else _Decision(agent, step, decision or 1)
    with open_run(location, run) as recorded:
        since = step if agent is None else _step_before(recorded, step)
        if decided is not None and outcome is None:
            _check_number(decision, decided, recorded)
        steps = step if steps is None else steps
        if not steps > since:
            raise ValueError(f"steps must be after step={step:g}, got steps={steps!r}")
        shown = Shown.of(recorded, since, None if agent is None else (agent, step))
        price = _price(recorded, since, steps)
    from tqdm.auto import tqdm

    begun = copy_at(model_class, location, since, run=run, trust=trust, **parameters)
    groups = candidates(begun, shown)
    bar = tqdm(desc="attribution", unit=" runs", file=sys.stderr, disable=not progress)
    how: Any = outcome or decided
    search = _Search(begun, how, since, steps, groups, screen, bar, max_runs)
    logger.warning("%s", search.plan(*price))
    with bar:
        found = search.found()
    said = None if decided is None or outcome else decided.reference
    return replace(found, decision=said)


def _check_question(agent: Any, decision: Any, outcome: Any, steps: Any) -> None:
    """Raises TypeError if it is not clear on what a memory's effect is asked."""
    if agent is None and (steps is None or not callable(outcome)):
        raise TypeError(
            "attribute needs outcome, a function of the model, and steps, at which a copy "
            "ends; or an agent and the step of its decision: attribute(Town, file, "
            "agent=15, step=7)"
        )
    if decision is not None and (agent is None or outcome is not None):
        raise TypeError(
            f"decision={decision!r} chooses a decision of one agent: give agent= and no "
            "outcome=, or leave decision= out"
        )


def _step_before(recorded: Run, step: float) -> float:
    """The last finished step before the one of a decision."""
    before = [each for each in recorded.steps if each < step]
    if step not in recorded.steps or not before:
        raise ValueError(
            f"the decision must be of a recorded step after the first, got {step!r}; "
            f"the steps are {recorded.steps[:1]} to {recorded.steps[-1:]}"
        )
    return before[-1]


def _check_number(given: int | None, decided: "_Decision", recorded: Run) -> None:
    """Raises unless the number means one of the recorded decisions."""
    rows = recorded.decisions(decided.agent, decided.step, as_records=True)
    if given in range(1, len(rows) + 1) or (given is None and len(rows) < 2):
        return
    told = [f"{n} “{brief(_answer(row), 60)}”" for n, row in enumerate(rows, 1)]
    raise ValueError(
        f"agent {decided.agent!r} made {len(rows)} decisions in step {decided.step:g}: "
        f"{', '.join(told)}. Give decision= one of these numbers, got {given!r}"
    )


def _answer(row: Mapping[str, Any]) -> str:
    return " ".join(str(row[part]) for part in ("answer", "tool_calls") if row[part])


def _price(recorded: Run, since: float, steps: float) -> tuple[float, float | None]:
    """The requests and dollars of a run, as the recorded steps had them."""
    by_step = recorded.cost(["step"], as_records=True)
    rows = [row for row in by_step if row["step"] > since]
    share = (steps - since) / (sum(step > since for step in recorded.steps) or 1)
    costs = [row["cost"] for row in rows]
    price = None if None in costs else share * sum(costs)
    return share * sum(row["calls"] for row in rows), price


class _Spent(Exception):
    """The runs that were allowed have been made."""


@dataclass
class _Decision:
    """1 if a decision has another answer than in the first copy, else 0.

    Attributes:
        number: among the agent's decisions in the step, from 1.
        reference: the answer in the first copy; empty if it did not decide.
        newest: that in the last one.
    """

    agent: Any
    step: float
    number: int
    reference: str | None = None
    newest: str = ""

    def __call__(self, model: Any) -> float:
        recorder: Any = Services.of(model).recorder
        recorder.sync()
        with open_run(recorder.store) as run:
            rows = run.decisions(self.agent, self.step, as_records=True)
        self.newest = "".join(map(_answer, rows[self.number - 1 : self.number]))
        if self.reference is None:
            self.reference = self.newest
        return float(self.newest != self.reference)


@dataclass
class _Search:
    """Erases each group alone, and keeps each alone, in copies of a model."""

    model: Any
    outcome: Callable[[Any], float]
    since: float
    steps: float
    groups: Sequence[Erasure]
    screen: int
    bar: Any
    most: int | None = None
    runs: int = 0
    effects: list[Effect] = field(default_factory=list)

    def plan(self, calls: float, cost: float | None) -> str:
        """The fewest and the most runs, with their price."""
        groups, ends = len(self.groups), self.most
        tried, bases, largest = groups, 1, min(groups, CONFIRMED)
        if groups > 1:
            tried, bases, largest = 2 * groups, 2, 2 * largest
        least = self.screen + tried + bases - 1
        most = self.screen * (tried + bases) + 2 * self.screen * (bases + largest)
        price = "an unknown price" if cost is None else f"${cost:.4f}"
        return (
            f"{groups} groups of records were shown after step {self.since:g}. Runs of "
            f"{self.steps - self.since:g} steps: {least} if answers are always the same, "
            f"else up to {most}{'' if ends is None else f'; it ends after {ends} runs'}. "
            f"Each sends about {calls:.0f} requests, for {price}; all send "
            f"{least * calls:.0f} to {most * calls:.0f}."
        )

    def found(self) -> Attribution:
        """The groups with an effect so far, also after a stop."""
        ledger = Services.of(self.model).ledger
        before = ledger.total
        self.base = self._outcomes(None, self.screen)
        self.exact = len(set(self.base)) == 1
        self.times = 1 if self.exact else self.screen
        stopped = False
        try:
            self._try()
        except (KeyboardInterrupt, _Spent):
            stopped = True
        mean = sum(self.base) / len(self.base)
        return Attribution(
            self.since, mean, self.exact, tuple(_ranked(self.effects)), self.runs,
            ledger.total.calls - before.calls,
            _less(ledger.total.cost, before.cost), stopped=stopped,
        )  # fmt: skip

    def _outcomes(self, erasure: Erasure | None, times: int) -> list[float]:
        """The outcomes of some copies, without the records of an erasure."""
        return [self._once(erasure) for _ in range(times)]

    def _once(self, erasure: Erasure | None) -> float:
        if self.runs == self.most:
            raise _Spent
        copy, is_decision = deepcopy(self.model), isinstance(self.outcome, _Decision)
        if erasure is not None:
            erasure.erase_from(copy)
        if is_decision:
            configure(copy, record=True)
        while copy.steps < self.steps and copy.running:
            copy.step()
        self.runs += 1
        self.bar.update()
        try:
            return float(self.outcome(copy))
        finally:
            if is_decision:
                close(copy)

    def _try(self) -> None:
        for group in self.groups:
            self.effects.append(self._effect(group))
        if len(self.groups) > 1:
            self.none = self._outcomes(reduce(add, self.groups), self.times)
            for group in self.groups:
                self.effects.append(self._effect(group, kept=True))
        if not self.exact:
            self._confirm()

    def _effect(self, erasure: Erasure, kept: bool = False) -> Effect:
        outcomes = self._outcomes(self._erased(erasure, kept), self.times)
        difference = GroupDifference(outcomes, self.none if kept else self.base)
        instead = ""
        if isinstance(self.outcome, _Decision) and difference.mean:
            instead = self.outcome.newest
        return Effect(erasure, difference, None, kept, instead)

    def _erased(self, group: Erasure, kept: bool) -> Erasure:
        """The records to erase: a group, or all others."""
        if not kept:
            return group
        return reduce(add, [each for each in self.groups if each is not group])

    def _confirm(self) -> None:
        """The largest effects on fresh runs, erased and kept."""
        ranked, times = _ranked(self.effects), 2 * self.screen
        largest = [
            each
            for kept in (False, True)
            for each in [e for e in ranked if e.kept == kept][:CONFIRMED]
        ]
        bases = {False: self._outcomes(None, times)}
        if len(self.groups) > 1:
            bases[True] = self._outcomes(reduce(add, self.groups), times)
        fresh = [
            GroupDifference(
                self._outcomes(self._erased(e.erasure, e.kept), times), bases[e.kept]
            )
            for e in largest
        ]
        tested = [
            replace(each, difference=new, p_holm=p)
            for each, new, p in zip(largest, fresh, holm([each.p for each in fresh]))
        ]
        self.effects = [*tested, *(e for e in ranked if e not in largest)]


def _less(cost: float | None, before: float | None) -> float | None:
    return None if cost is None or before is None else cost - before


def _ranked(effects: Iterable[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda each: -abs(each.difference.mean))


def _row(each: Effect, exact: bool) -> dict[str, Any]:
    return {
        "what": each.erasure.text,
        "who": list(each.erasure.records),
        "records": [n for names in each.erasure.records.values() for n in names],
        "stays": each.erasure.followers,
        **_numbers(each, exact),
    }


def _numbers(each: Effect | None, exact: bool) -> dict[str, float | None]:
    """The effect with its interval and p, by the names of columns."""
    if each is None:
        return {}
    low, high = (None, None) if exact else each.difference.interval
    p = None if each.p_holm is None else each.difference.p
    first, of = ("alone", "alone_") if each.kept else ("effect", "")
    names = first, f"{of}low", f"{of}high", f"{of}p", f"{of}p_holm"
    return dict(zip(names, (each.difference.mean, low, high, p, each.p_holm)))
