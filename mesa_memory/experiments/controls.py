"""Controls of an effect of memory: placebos, and an audit of the wording."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mesa_memory.core.codec import readable
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreUnavailable, StudyError, UnknownMemory
from mesa_memory.experiments.axes import (
    AXES,
    UNTESTED,
    WORDING,
    AxisVerdict,
    TurnedStudy,
    judged,
    worst,
)
from mesa_memory.experiments.studies.analysis import outcome_of, unplanned
from mesa_memory.experiments.studies.entry import TWO_LINES
from mesa_memory.memories import registry
from mesa_memory.memories.placebo import Placebo, placebo_of, showing
from mesa_memory.memories.rephrasings import WORDINGS, OtherWording
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.statistics.difference import number, seeds_to_decide, signed

logger = logger_of(__name__)
MEMORY = "memory"


def placebo(
    memory: Callable[[Any], Any],
    kind: str | None = None,
    *,
    rewrite: Callable[[str], str] | None = None,
) -> "partial[Any]":
    """A memory whose agent is shown something else, of the same number of tokens.

    The memory stores, grades, summarizes and reflects on the truth. What is compared
    with the memory itself shows: ``shuffled`` the part of order and dates, ``scrambled``
    of sense, ``neutral`` of content at equal length, ``other_agent`` whose memory it is.
    ``other_agent`` reads the other memory as it is at that moment: with agents that act
    in parallel, that may differ from run to run.

    Args:
        memory: a class of memory, or another function of the agent.
        kind: ``"shuffled"`` (own lines in another order), ``"scrambled"`` (own words
            without order), ``"neutral"`` (filler, line by line) or ``"other_agent"`` (of
            one other agent, drawn).
        rewrite: instead of a kind, a function from the text to another text.

    Returns:
        A function of the agent, as a factor ``memory`` takes it.

    Raises:
        ValueError: for an unknown kind, or a placebo of a placebo.
    """
    if (rewrite is None) == (kind is None):
        raise ValueError("give either a kind of placebo or rewrite=…")
    if rewrite is None:
        return placebo_of(memory, str(kind))
    name = getattr(rewrite, "__qualname__", repr(rewrite))
    return showing(memory, Placebo(f"rewritten by {name}", OtherWording(name, rewrite)))


class NothingReworded(ValueError):
    """No wording changes a character that the agents of an arm were shown."""


@dataclass(frozen=True)
class Audit(NotebookShown):
    """Wordings of an arm, and other axes on which its effect must not depend.

    Attributes:
        wordings: each of them compared with the arm as it is; None if not asked for.
        effect: the arm compared with the base of the study; None without another arm.
        unchanged: wordings that changed no character of the recorded texts, so that no
            run was made with them.
        axes: a verdict for each axis, if others than the wording were asked for.
        notes: on what the audit cannot see.
    """

    wordings: Comparison | None
    effect: Comparison | None = None
    unchanged: tuple[str, ...] = ()
    axes: tuple[AxisVerdict, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The wordings with the largest shift, then a line for each axis."""
        told = [] if self.wordings is None else [str(self.wordings), self.summary]
        return "\n".join([*told, *map(str, self.axes), *self.notes])

    @property
    def summary(self) -> str:
        """The largest shift, beside the effect of the memory."""
        assert self.wordings is not None
        contrasts = self.wordings.contrasts
        most = max(contrasts, key=lambda each: abs(each.difference.mean))
        # Corrected for the number of wordings, as the largest of several is biased upwards.
        low, high = most.difference.interval(1 - 0.05 / len(contrasts))
        told = f"largest shift {signed(most.difference.mean)} [{number(low)}, {number(high)}]"
        told += f" ({most.arm})"
        if self.effect is not None:
            each = self.effect.contrasts[0]
            told += f", effect {signed(each.difference.mean)} {each.interval}"
        if self.unchanged:
            told += f"; not counted, as they changed no character: {', '.join(self.unchanged)}"
        return told


def audit_study(
    study: Any,
    memory: Any,
    outcome: str | None,
    more: Mapping[str, Callable[[str], str]],
) -> tuple[Any, tuple[str, ...]]:
    """A study of one arm in all wordings, in the same store.

    Args:
        study: the ``Study`` that has the arm.
        memory: level of its factor ``memory``.
        outcome: name of the outcome, to be compared when all runs are made.
        more: a user's functions from a text to a text, by name.

    Returns:
        The study, and the wordings that are left out, since they change nothing.

    Raises:
        ValueError: if no arm of the study has the memory, the study lacks the outcome, a
            name is taken, or no wording changes the recorded texts.
    """
    outcome_of(study, outcome)
    taken = WORDINGS.keys() & more.keys()
    if taken:
        raise ValueError(f"a wording of the audit is called {sorted(taken)[0]!r}")
    design = study.design
    mine = [arm for arm in design.arms if readable(arm[1].get(MEMORY)) == memory]
    if not mine:
        there = design.levels(MEMORY)
        raise ValueError(f"no arm has memory={memory!r}; the arms have {there}")
    value = mine[0][0][MEMORY]
    try:
        maker = registry.find(value, registry.own_memories(study.model))
    except UnknownMemory as error:
        error.add_note(f"{TWO_LINES}.")
        raise
    changes = WORDINGS | {name: OtherWording(name, each) for name, each in more.items()}
    unchanged = _unchanged(changes.values(), study, memory)
    makers = {n: showing(maker, w) for n, w in changes.items() if n not in unchanged}
    if not makers:
        raise NothingReworded(f"no wording changes what memory={memory!r} has shown")
    needed, seeds = seeds_to_decide(len(makers)), len(design.seeds)
    if seeds < needed:
        logger.warning(
            "%d seeds cannot show an effect of one of %d wordings: at least %d",
            seeds, len(makers), needed,
        )  # fmt: skip
    arms = tuple(
        ({**values, MEMORY: maker}, {**labels, MEMORY: name})
        for values, labels in mine
        for name, maker in ({str(memory): value} | makers).items()
    )
    audited = copy(study)
    audited.name = f"{study.name}, wordings of {memory}"
    audited.take(replace(design, arms=arms), None)
    return audited, unchanged


def _unchanged(
    wordings: Iterable[OtherWording], study: Any, memory: Any
) -> tuple[str, ...]:
    """The names of wordings that change no text that an arm's agents have read."""
    try:
        with study.stored() as (studies, row):
            numbers = {
                case.number
                for case in studies.cases(row.id)
                if readable(case.parameters.get(MEMORY)) == memory
            }
            rows = studies.rows("prompts", row.id, ("text",))
    except (StoreUnavailable, StudyError):  # nothing has been run
        return ()
    texts = {row["text"] for row in rows if row["case"] in numbers and row["text"]}
    return tuple(
        each.name
        for each in wordings
        if texts and all(each.function(text) == text for text in texts)
    )


#: what an audit cannot see
OUTSIDE = (
    "What lies outside of memory, such as the topology or the schedule of the model, is "
    "tested by ABMfact."
)
CODE_READS = (
    "Code decides for the agents, and code reads the words that it was written for: no "
    "verdict on wording or names says anything about a language model."
)


def audit(
    study: Any,
    memory: Any,
    axes: Sequence[str],
    given: Mapping[str, Any],
    margin: float | None,
    **asked: Any,
) -> Audit:
    """See ``Study.audit``."""
    unknown = [axis for axis in axes if axis not in AXES]
    if unknown or isinstance(axes, str) or not axes:
        raise ValueError(f"axes must be some of {', '.join(AXES)}, got {axes!r}")
    outcome, base = outcome_of(study, asked["outcome"]), asked["base"]
    how = asked["executor"], asked["progress"]
    told, found = Audit(None), None
    if WORDING in axes:
        try:
            told = _audit_wordings(
                study, memory, outcome, base, asked["wordings"], *how
            )
        except NothingReworded as error:
            if len(axes) == 1:
                raise
            found = AxisVerdict(WORDING, UNTESTED, str(error))
    if tuple(axes) == (WORDING,):
        return told
    plan = study.plan
    margin = margin if margin is not None or plan is None else plan.margin
    bounds = None if plan is None else plan.bounds
    turned = TurnedStudy.of(study, memory, base, outcome, axes, given)
    logger.warning("%s.", turned.announcement)
    turned.audited.run(how[0], progress=how[1])
    verdicts = turned.verdicts(axes, outcome, margin, bounds)
    if told.wordings is not None:
        found = _of_wordings(told.wordings, told.effect, margin)
    verdicts = [found, *verdicts] if found else verdicts
    notes = (CODE_READS, OUTSIDE) if turned.by_code else (OUTSIDE,)
    return replace(told, axes=tuple(verdicts), notes=notes)


def _audit_wordings(
    study: Any, memory: Any, outcome: str, base: Any,
    wordings: Mapping[str, Callable[[str], str]], executor: Any, progress: bool,
) -> Audit:  # fmt: skip
    """The wordings of an arm, and the effect of the memory against its base."""
    audited, unchanged = audit_study(study, memory, outcome, wordings)
    audited.run(executor, progress=progress)
    compared = audited.compare(MEMORY, base=str(memory), outcome=outcome)
    compared = replace(compared, notes=(unplanned(study),))
    if base is None or base == memory:
        return Audit(compared, None, unchanged)
    whole = study.compare(MEMORY, base=base, outcome=outcome)
    mine = tuple(each for each in whole.contrasts if each.arm == memory)
    return Audit(compared, replace(whole, contrasts=mine), unchanged)


def _of_wordings(
    wordings: Comparison, effect: Comparison | None, margin: float | None
) -> AxisVerdict:
    """The verdict on the wording that matters most."""
    before, turns = np.array(wordings.base_values), wordings.contrasts
    has_base = effect is not None and effect.seeds == wordings.seeds
    if has_base:
        before = before - effect.base_values  # type: ignore[union-attr]
    known = margin, len(turns), has_base
    return worst([judged(WORDING, each, before, *known) for each in turns])
