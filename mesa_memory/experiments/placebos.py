"""Placebos of a memory for an arm of a study, by a class of memory."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, partial
from typing import Any

from mesa_memory.hosts.mesa.model import clock
from mesa_memory.memories.placebo import Placebo, placebo_of, showing
from mesa_memory.memories.wording import OtherWording
from mesa_memory.runs import open_run

OTHER_RUN = "other_run"


def placebo(
    memory: Callable[[Any], Any],
    kind: str | None = None,
    *,
    run: str | os.PathLike[str] | None = None,
    rewrite: Callable[[str], str] | None = None,
) -> "partial[Any]":
    """A memory whose agent is shown something else, of the same number of tokens.

    The memory stores, grades, summarizes and reflects on the truth. What is compared
    with the memory itself shows: ``shuffled`` the part of order, ``scrambled`` of sense,
    ``neutral`` of content at equal length, ``other_agent`` whose memory it is,
    ``other_run`` of this run. ``other_agent`` reads the other memory as it is at that
    moment: with agents that act in parallel, that may differ from run to run.

    Args:
        memory: a class of memory, or another function of the agent.
        kind: ``"shuffled"`` (own lines in another order), ``"scrambled"`` (own words
            without order), ``"neutral"`` (filler, line by line), ``"other_agent"`` (of
            one other agent, drawn), or ``"other_run"``.
        run: of ``other_run``: file of a recorded run; the same agent's text at that step.
        rewrite: instead of a kind, a function from the text to another text.

    Returns:
        A function of the agent, as a factor ``memory`` takes it.

    Raises:
        ValueError: for an unknown kind, ``other_run`` without ``run``, or a placebo of
            a placebo.
    """
    if rewrite is not None and kind is None:
        name = getattr(rewrite, "__qualname__", repr(rewrite))
        wording = OtherWording(name, rewrite)
        return showing(memory, Placebo(f"rewritten by {name}", wording))
    if kind is None or rewrite is not None:
        raise ValueError("give either a kind of placebo or rewrite=…")
    if kind == OTHER_RUN:
        if run is None:
            raise ValueError("the placebo 'other_run' needs run=…, a file of a run")
        return showing(memory, Placebo(OTHER_RUN, OtherRun(os.path.abspath(run))))
    return placebo_of(memory, kind)


@dataclass(frozen=True)
class OtherRun:
    """Shows what the same agent was shown in a recorded run at the same step.

    Attributes:
        file: of the run.
    """

    file: str

    def __call__(self, memory: Any, section: str, text: str) -> str:
        """The newest text of the section at that step; empty if the run lacks one."""
        agent = memory.agent
        where = str(agent.unique_id), float(clock(agent.model)), section
        return _shown(self.file).get(where, "")


@cache
def _shown(file: str) -> dict[tuple[str, float, str], str]:
    """The texts of a recorded run by agent, step and section."""
    with open_run(file) as run:
        return {
            (str(row["agent"]), float(row["step"]), row["section"]): row["text"]
            for row in run.prompts(as_records=True)
        }
