"""An audit of wording: does an outcome depend on the form of the agents' memories?"""

import inspect
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.errors import UnknownMemory
from mesa_memory.experiments.studies.analysis import outcome_of
from mesa_memory.experiments.studies.entry import TWO_LINES
from mesa_memory.memories import registry
from mesa_memory.memories.placebo import showing
from mesa_memory.memories.wording import WORDINGS, OtherWording
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.statistics.difference import number, signed

MEMORY = "memory"
#: changes of settings, where a memory has them: by name, the argument and what is made of it
SETTINGS: dict[str, tuple[str, Callable[[int], int]]] = {
    "k - 1": ("k", lambda value: value - 1),
    "k + 1": ("k", lambda value: value + 1),
    "budget - 25%": ("budget", lambda value: round(value * 0.75)),
    "budget + 25%": ("budget", lambda value: round(value * 1.25)),
}


@dataclass(frozen=True)
class Audit(NotebookShown):
    """An arm in other wordings, and its effect to stand beside.

    Attributes:
        wordings: each of them compared with the arm as it is.
        effect: the arm compared with the base of the study; None without another arm.
    """

    wordings: Comparison
    effect: Comparison | None

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
        return told


def wordings_of(
    memory: Any, own: Mapping[str, Any], more: Mapping[str, Callable[[str], str]]
) -> dict[str, Any]:
    """Makers of a memory in other wordings, and with other settings, by name.

    Args:
        memory: a name, or what makes it.
        own: the model's own memories by name.
        more: a user's functions from a text to a text, by name.
    """
    maker = registry.find(memory, own)
    changes = WORDINGS | {
        name: OtherWording(name, function) for name, function in more.items()
    }
    found: dict[str, Any] = {
        name: showing(maker, change) for name, change in changes.items()
    }
    takes = inspect.signature(maker).parameters
    given = maker.keywords if isinstance(maker, partial) else {}
    for name, (argument, changed) in SETTINGS.items():
        default = takes[argument].default if argument in takes else None
        value = given.get(argument, default)
        if isinstance(value, int) and changed(value) > 0:
            found[name] = partial(maker, **{argument: changed(value)})
    return found


def audit_study(
    study: Any,
    memory: Any,
    outcome: str | None,
    more: Mapping[str, Callable[[str], str]],
) -> Any:
    """A study of one arm in all wordings, in the same store.

    Args:
        study: the ``Study`` that has the arm.
        memory: level of its factor ``memory``.
        outcome: name of the outcome, to be compared when all runs are made.
        more: a user's functions from a text to a text, by name.

    Raises:
        ValueError: if no arm of the study has the memory, the study lacks the outcome, or
            a name is taken.
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
        makers = wordings_of(value, getattr(study.model, "own_memories", {}), more)
    except UnknownMemory as error:
        error.add_note(f"{TWO_LINES}.")
        raise
    arms = tuple(
        ({**values, MEMORY: maker}, {**labels, MEMORY: name})
        for values, labels in mine
        for name, maker in ({str(memory): value} | makers).items()
    )
    audited = copy(study)
    audited.name = f"{study.name}, wordings of {memory}"
    audited.take(replace(design, arms=arms), None)
    return audited


def audit_of(
    study: Any, audited: Any, memory: Any, outcome: str | None, base: Any
) -> Audit:
    """The audit of an arm whose wordings are finished."""
    wordings = audited.compare(MEMORY, base=str(memory), outcome=outcome)
    if base is None or base == memory:
        return Audit(wordings, None)
    whole = study.compare(MEMORY, base=base, outcome=outcome)
    mine = tuple(each for each in whole.contrasts if each.arm == memory)
    return Audit(wordings, replace(whole, contrasts=mine))
