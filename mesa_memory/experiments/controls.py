"""Controls of an effect of memory: placebos, and an audit of the wording."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import StoreUnavailable, StudyError
from mesa_memory.experiments.axes import AXES, MEMORY, WORDING, AxisVerdict, TurnedStudy
from mesa_memory.experiments.studies.analysis import outcome_of, unplanned
from mesa_memory.memories.placebo import Placebo, placebo_of, showing
from mesa_memory.memories.rephrasings import WORDINGS, OtherWording
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.statistics.difference import number, seeds_to_decide, signed

logger = logger_of(__name__)


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
    wordings, unchanged = _wordings(study, memory, axes, asked["wordings"])
    turned = TurnedStudy.of(study, memory, base, outcome, axes, given, wordings)
    if (*axes,) == (WORDING,) == (*turned.untested,):
        raise ValueError(turned.untested[WORDING])
    logger.warning("%s.", turned.announcement)
    turned.audited.run(asked["executor"], progress=asked["progress"])
    plan, effect = study.plan, None
    margin = margin if margin is not None or plan is None else plan.margin
    bounds = None if plan is None else plan.bounds
    if turned.base is not None:
        effect = study.compare(MEMORY, base=base, outcome=outcome)
        mine = tuple(each for each in effect.contrasts if each.arm == memory)
        effect = replace(effect, contrasts=mine)
    return Audit(
        turned.wordings(outcome, (unplanned(study),)), effect, unchanged,
        tuple(turned.verdicts(axes, outcome, margin, bounds)),
        (CODE_READS, OUTSIDE) if turned.by_code else (OUTSIDE,),
    )  # fmt: skip


def _wordings(
    study: Any, memory: Any, axes: Sequence[str], more: Mapping[str, Any]
) -> tuple[list[OtherWording], tuple[str, ...]]:
    """The wordings to try, and names of wordings that change nothing.

    Args:
        more: a user's functions from a text to a text, by name.

    Raises:
        ValueError: if a name is taken.
    """
    if WORDING not in axes:
        return [], ()
    taken = {*WORDINGS, *AXES} & more.keys()
    if taken:
        raise ValueError(f"a wording of the audit is called {sorted(taken)[0]!r}")
    every = [*WORDINGS.values(), *(OtherWording(n, each) for n, each in more.items())]
    unchanged = _unchanged(every, study, memory)
    wordings = [each for each in every if each.name not in unchanged]
    needed, seeds = seeds_to_decide(len(wordings)), len(study.design.seeds)
    if wordings and seeds < needed:
        logger.warning(
            "%d seeds cannot show an effect of one of %d wordings: at least %d",
            seeds, len(wordings), needed,
        )  # fmt: skip
    return wordings, unchanged
