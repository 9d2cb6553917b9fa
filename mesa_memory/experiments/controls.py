"""Controls of an effect of memory: placebos, and an audit of the wording."""

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreUnavailable, StudyError, UnknownMemory
from mesa_memory.experiments.studies.analysis import outcome_of
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


@dataclass(frozen=True)
class Audit(NotebookShown):
    """An arm in other wordings, and its effect to stand beside.

    Attributes:
        wordings: each of them compared with the arm as it is.
        effect: the arm compared with the base of the study; None without another arm.
        unchanged: wordings that changed no character of the recorded texts, so that no
            run was made with them.
    """

    wordings: Comparison
    effect: Comparison | None
    unchanged: tuple[str, ...] = ()

    def __str__(self) -> str:
        """The comparison of the wordings, and the largest shift beside the effect."""
        return f"{self.wordings}\n{self.summary}"

    @property
    def summary(self) -> str:
        """The largest shift, beside the effect of the memory."""
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
        raise ValueError(f"no wording changes what memory={memory!r} has shown")
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


def audit_of(
    study: Any,
    audited: Any,
    unchanged: tuple[str, ...],
    memory: Any,
    outcome: str | None,
    base: Any,
) -> Audit:
    """The audit of an arm whose wordings are finished."""
    wordings = audited.compare(MEMORY, base=str(memory), outcome=outcome)
    if base is None or base == memory:
        return Audit(wordings, None, unchanged)
    whole = study.compare(MEMORY, base=base, outcome=outcome)
    mine = tuple(each for each in whole.contrasts if each.arm == memory)
    return Audit(wordings, replace(whole, contrasts=mine), unchanged)
