"""Attribution: which memory an outcome or a decision depends on, found by erasing it.

A recorded run is taken up at a step. Copies of it go on to the end: some as they are, and
some without the records that say the same thing, in all agents that have them. If the
outcome changes, the records have an effect. It is the effect from the step on, not an
earlier one. For one decision, a copy goes on for one step, and the records are those that
the agent was shown in it.
"""

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import TYPE_CHECKING, Any

from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import checked_int
from mesa_memory.experiments.erasures import Erasure, Shown, alike, candidates
from mesa_memory.runs.recording.configure import configure
from mesa_memory.runs.recording.resume import close, copy_at
from mesa_memory.runs.run import open_run
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
        difference: the outcome without them less the outcome as it was.
        p_holm: corrected for the number of confirmed groups; None if it was not tested.
        part_of: the text of the group of which it is one record; empty for a group.
        together: how many groups were erased together.
        instead: of a decision, what was decided without the records, if that differs.
    """

    erasure: Erasure
    difference: GroupDifference
    p_holm: float | None = None
    part_of: str = ""
    together: int = 1
    instead: str = ""

    def found(self, exact: bool) -> bool:
        """True if erasing changes the outcome, beyond chance unless runs are exact."""
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
        effects: the largest first; single records follow their group.
        runs: copies that were run.
        decision: what the agent decided, if one decision was asked about.
        stopped: True if it ended before all was tried.
    """

    step: float
    outcome: float
    exact: bool
    effects: tuple[Effect, ...] = field(default=())
    runs: int = 0
    decision: str | None = None
    stopped: bool = False

    @property
    def blamed(self) -> list[Effect]:
        """The groups whose erasure changes the outcome."""
        return [e for e in self.effects if not e.part_of and e.found(self.exact)]

    def table(self) -> "pd.DataFrame":
        """A row for each group and each single record that was tried.

        ``what``, ``who`` (agents), ``records`` (ids), ``single``, ``effect`` in units of
        the outcome, ``low``, ``high``, ``p``, ``p_holm``, ``stays`` (records made from
        a group, which are still there).
        """
        import pandas as pd

        return pd.DataFrame([_row(each, self.exact) for each in self.effects])

    def __str__(self) -> str:
        """A sentence for each memory that matters."""
        how = "exact" if self.exact else "tested by permutation on fresh runs"
        what = f"Outcome {number(self.outcome)}"
        if self.decision is not None:
            what = f"Decision “{self.decision}”"
        lines = [f"{what}; {self.runs} runs ({how})."]
        for each in self.blamed:
            agents = ", ".join(map(str, each.erasure.records))
            told = f"Without “{each.erasure.text}” (agents {agents}) the outcome changes by "
            told += f"{signed(each.difference.mean)}"
            if each.instead:
                told = f"Without “{each.erasure.text}” the decision is “{each.instead}”"
            if not self.exact and each.p_holm is not None:
                low, high = each.difference.interval
                told += f" [{number(low)}, {number(high)}], {said_p(each.p_holm)}"
            lines.append(f"{told}.")
            if each.erasure.followers:
                made = each.erasure.followers
                lines.append(f"  {made} records that memories made from it stay.")
        if not self.blamed:
            tried = max((each.together for each in self.effects), default=0)
            several = f"up to {tried} groups were erased together" if tried > 1 else ""
            lines.append(
                "No memory was found on which it depends. Several may act together: "
                f"{several or 'each group was erased alone'}."
            )
        if self.stopped:
            lines.append("It was stopped before all was tried.")
        return "\n".join(lines)


def attribute(
    model_class: Callable[..., Any],
    location: Any,
    *,
    step: float,
    outcome: Callable[[Any], float] | None = None,
    steps: float | None = None,
    agent: Any = None,
    run: int | None = None,
    screen: int = 12,
    confirm: int = 24,
    max_runs: int | None = None,
    single: bool = True,
    progress: bool = True,
    trust: bool = False,
    **parameters: Any,
) -> Attribution:
    """Finds the memories on which the outcome of a recorded run, or a decision, depends.

    Records that say the same are erased together, as news that was passed on survives
    the erasure of one copy. Candidates are records that agents were shown after the step; an event shown
    as a fact is erased with it.
    If language models answer differently each time, each group is tried ``screen`` times; the
    three with the largest effects are tried ``confirm`` times more on fresh runs and tested
    by permutation, corrected by Holm's method. If no group alone changes the outcome, groups
    that say alike are erased together, then all, halves, and pairs. The copies are not
    recorded; their requests are paid, and a line in the log says the number of runs and
    their price before the first. Ctrl-C ends it, and what was found until then is returned.

    Args:
        model_class, location, run, trust, parameters: see ``resume``.
        step: after which finished step records are erased; with ``agent``, the step of
            the decision.
        outcome: a number, from the model at the end; by default, with ``agent``, the
            number of its decisions in the step that have another answer.
        steps: at which a copy ends; with ``agent``, by default ``step``.
        agent: unique id of one agent: candidates are the records that it was shown in the
            step and had before.
        screen: runs of the model as it was, and of each group if these differ.
        confirm: further runs of the three largest groups, and of the model as it was.
        max_runs: ends after this number of runs.
        single: also try each record of a group that matters alone.
        progress: show a bar on stderr.

    Raises:
        ValueError: if ``steps`` is not after ``step``, a number is out of range, or the
            agent was shown nothing in the step.
        TypeError: without an outcome or ``steps``, if no agent is given.
        ParameterError, ReplayMismatch, StoreError: see ``resume``.
    """
    checked_int("screen", screen, 2)
    checked_int("confirm", confirm, 2)
    if max_runs is not None:
        checked_int("max_runs", max_runs, screen + 1)
    decided = None if agent is None else _Decisions(agent, step)
    if decided is None and (steps is None or not callable(outcome)):
        raise TypeError(
            "attribute needs outcome, a function of the model, and steps, at which a copy "
            "ends; or an agent and the step of its decision: attribute(Town, file, "
            "agent=15, step=7)"
        )
    since = step if agent is None else _step_before(location, run, step)
    steps = step if steps is None else steps
    if not steps > since:
        raise ValueError(f"steps must be after step={step:g}, got steps={steps!r}")
    from tqdm.auto import tqdm

    begun = copy_at(model_class, location, since, run=run, trust=trust, **parameters)
    one = None if agent is None else (agent, step)
    groups = candidates(begun, Shown.of(location, run, since, one))
    bar = tqdm(desc="attribution", unit=" runs", file=sys.stderr, disable=not progress)
    trials = _Trials(begun, outcome or decided, steps, bar, max_runs)  # type: ignore[arg-type]
    search = _Search(trials, groups, screen, confirm, single, 2 * len(groups))
    price = _price(location, run, since, steps)
    logger.warning("%s %s", search.plan(since), price)
    with bar:
        found = search.found(since)
    said = None if decided is None or outcome else decided.reference
    return replace(found, decision=said)


def _step_before(location: Any, run: Any, step: float) -> float:
    """The last finished step before the one of a decision."""
    with open_run(location, run) as recorded:
        before = [each for each in recorded.steps if each < step]
        if step not in recorded.steps or not before:
            raise ValueError(
                f"the decision must be of a recorded step after the first, got {step!r}; "
                f"the steps are {recorded.steps[:1]} to {recorded.steps[-1:]}"
            )
        return before[-1]


def _price(location: Any, run: Any, since: float, steps: float) -> str:
    """The requests and dollars of a run, as the recorded steps had them."""
    with open_run(location, run) as recorded:
        rows = [
            r for r in recorded.cost(["step"], as_records=True) if r["step"] > since
        ]
        made = sum(step > since for step in recorded.steps) or 1
    share = (steps - since) / made
    calls = share * sum(row["calls"] for row in rows)
    costs = [row["cost"] for row in rows]
    price = "an unknown sum" if None in costs else f"${share * sum(costs):.4f}"
    return f"Each sends about {calls:.0f} requests, for {price}."


class _Spent(Exception):
    """The runs that were allowed have been made."""


@dataclass
class _Trials:
    """Copies of a model, run to the end."""

    model: Any
    outcome: Callable[[Any], float]
    steps: float
    bar: Any
    most: int | None = None
    runs: int = 0

    def outcomes(self, erasure: Erasure | None, times: int) -> list[float]:
        """The outcomes of some copies, without the records of an erasure."""
        return [self._once(erasure) for _ in range(times)]

    def _once(self, erasure: Erasure | None) -> float:
        if self.runs == self.most:
            raise _Spent
        copy = deepcopy(self.model)
        if erasure is not None:
            erasure.erase_from(copy)
        if isinstance(self.outcome, _Decisions):
            configure(copy, record=True)
        while copy.steps < self.steps and copy.running:
            copy.step()
        self.runs += 1
        self.bar.update()
        try:
            return float(self.outcome(copy))
        finally:
            if isinstance(self.outcome, _Decisions):
                close(copy)


@dataclass
class _Decisions:
    """Counts the decisions of an agent in a step that have another answer.

    Attributes:
        reference: the answers of the first copy.
        newest: those of the last one.
    """

    agent: Any
    step: float
    reference: str | None = None
    newest: str = ""
    _first: list[Any] = field(default_factory=list)

    def __call__(self, model: Any) -> float:
        recorder: Any = Services.of(model).recorder
        recorder.sync()
        with open_run(recorder.store) as run:
            rows = run.decisions(self.agent, self.step, as_records=True)
        answers = [[row["answer"], row["tool_calls"]] for row in rows]
        self.newest = " / ".join(
            str(row["answer"] or row["tool_calls"]) for row in rows
        )
        if self.reference is None:
            self.reference, self._first = self.newest, answers
        alike = sum(one == other for one, other in zip(answers, self._first))
        return max(len(answers), len(self._first)) - alike


@dataclass
class _Search:
    """Tries groups alone, and together if none of them alone has an effect."""

    trials: _Trials
    groups: Sequence[Erasure]
    screen: int
    confirm: int
    single: bool
    more: int
    effects: list[Effect] = field(default_factory=list)

    def plan(self, step: float) -> str:
        """The number of runs that there may be."""
        groups, ends = len(self.groups), self.trials.most
        alone = [len(each.single) for each in self.groups] if self.single else []
        singles = sum(count for count in alone if count > 1)
        exact = self.screen + groups + singles
        tried = groups + 1 + self.more + singles
        most = self.screen * tried + self.confirm * (CONFIRMED + 1)
        return (
            f"{groups} groups of records were shown after step {step:g}: "
            f"up to {exact} runs of {self.trials.steps - step:g} steps if answers are "
            f"always the same, and up to {self.more} more of several groups together; "
            f"else up to {most}"
            f"{'' if ends is None else f'; it ends after {ends} runs'}."
        )

    def found(self, step: float) -> Attribution:
        """The groups with an effect so far, also after a stop."""
        self.base = self.trials.outcomes(None, self.screen)
        self.exact = len(set(self.base)) == 1
        self.times = 1 if self.exact else self.screen
        stopped = False
        try:
            self._try()
        except (KeyboardInterrupt, _Spent):
            stopped = True
        mean = sum(self.base) / len(self.base)
        own = [each for each in self.effects if not each.part_of]
        ordered = [
            each
            for group in _ranked(own)
            for each in (
                group,
                *_ranked(e for e in self.effects if e.part_of == group.erasure.text),
            )
        ]
        return Attribution(
            step, mean, self.exact, tuple(ordered), self.trials.runs, stopped=stopped
        )

    def _try(self) -> None:
        for group in self.groups:
            self.effects.append(self._effect(group))
        if not self.exact:
            self._confirm()
        if not any(each.found(self.exact) for each in self.effects):
            for together in self._together():
                self.effects.append(together)
        if self.single:
            for each in [e for e in self.effects if e.found(self.exact)]:
                alone = each.erasure.single
                for one in alone if len(alone) > 1 and each.together == 1 else ():
                    self.effects.append(self._effect(one, each.erasure.text))

    def _effect(self, erasure: Erasure, part_of: str = "", together: int = 1) -> Effect:
        outcomes = self.trials.outcomes(erasure, self.times)
        difference = GroupDifference(outcomes, self.base)
        instead = ""
        if isinstance(self.trials.outcome, _Decisions) and difference.mean:
            instead = self.trials.outcome.newest
        return Effect(
            erasure, difference, part_of=part_of, together=together, instead=instead
        )

    def _confirm(self) -> None:
        """The largest effects on fresh runs."""
        if not self.effects:
            return
        ranked = _ranked(self.effects)
        first, rest = ranked[:CONFIRMED], ranked[CONFIRMED:]
        base = self.trials.outcomes(None, self.confirm)
        fresh = [
            GroupDifference(self.trials.outcomes(each.erasure, self.confirm), base)
            for each in first
        ]
        corrected = holm([each.p for each in fresh])
        tested = [
            replace(each, difference=new, p_holm=p)
            for each, new, p in zip(first, fresh, corrected)
        ]
        self.effects = [*tested, *rest]

    def _together(self) -> Iterator[Effect]:
        """Groups that say alike, then all, halves and pairs; ends with the first effect."""
        for several in alike(self.groups):
            tried = self._several(several)
            yield tried
            if tried.found(self.exact):
                return
        current = list(self.groups)
        while len(current) > 1:
            tried = self._several(current)
            yield tried
            if not tried.found(self.exact):
                return
            half = len(current) // 2
            halves = [current[:half], current[half:]] if len(current) > 2 else []
            smaller = None
            for part in halves:
                if self.more > 0 and len(part) > 1 and smaller is None:
                    tried = self._several(part)
                    yield tried
                    smaller = part if tried.found(self.exact) else None
            if smaller is None:
                break
            current = smaller
        for pair in combinations(current, 2) if len(current) > 2 else ():
            if self.more <= 0:
                return
            tried = self._several(pair)
            yield tried
            if tried.found(self.exact):
                return

    def _several(self, groups: Sequence[Erasure]) -> Effect:
        """The effect of groups together; it is tested for all that may be tried."""
        self.more -= 1
        first, *others = groups
        tried = self._effect(sum(others, first), together=len(groups))
        if self.exact:
            return tried
        return replace(
            tried, p_holm=min(1.0, 2 * len(self.groups) * tried.difference.p)
        )


def _ranked(effects: Iterable[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda each: -abs(each.difference.mean))


def _row(each: Effect, exact: bool) -> dict[str, Any]:
    low, high = (None, None) if exact else each.difference.interval
    return {
        "what": each.erasure.text,
        "who": list(each.erasure.records),
        "records": [n for names in each.erasure.records.values() for n in names],
        "single": bool(each.part_of),
        "effect": each.difference.mean,
        "low": low,
        "high": high,
        "p": None if each.p_holm is None else each.difference.p,
        "p_holm": each.p_holm,
        "stays": None if each.part_of else each.erasure.followers,
    }
