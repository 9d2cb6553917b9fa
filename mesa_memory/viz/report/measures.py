"""What a report counts: for each agent and step, and as curves."""

from dataclasses import dataclass

import numpy as np

from mesa_memory.runs import Run
from mesa_memory.viz.data.activity import Activity
from mesa_memory.viz.data.spread import spread
from mesa_memory.viz.data.story.colouring import Colouring, of_outcome
from mesa_memory.viz.data.story.scene import Scene

#: similarity from which on a text counts as the one that is looked for
LEAST = 0.6
#: the name of the measure that says who remembers the text
REMEMBER = "Remember it"
#: what happened: its name, what it counts, and its name in ``Activity``
COUNTED = (
    ("Events", "events that reached agents in the step", "events"),
    ("Conclusions", "summaries, reflections, impressions made in the step", "made"),
    ("Recalls", "times that memories were recalled in the step", "recalls"),
    ("Calls", "requests to a language model in the step", "calls"),
    ("Tokens", "tokens of these requests, both ways", "tokens"),
)


@dataclass(frozen=True)
class Measure:
    """A number, or a word, for each agent and step; and its curves.

    Attributes:
        name: a word or a short phrase.
        hint: what it means.
        lines: label and values of each curve; shape (steps,), NaN for no number.
        of_agents: shape (agents, steps); of ``classes`` the number, from 1, and 0 for
            none. None if it is not about single agents.
        classes: the words there are; empty for numbers.
    """

    name: str
    hint: str
    lines: list[tuple[str, np.ndarray]]
    of_agents: np.ndarray | None = None
    classes: tuple[str, ...] = ()


def measures(
    run: Run, counted: Activity, scene: Scene, about: str, unlike: str
) -> list[Measure]:
    """All that there is to count: the texts looked for, outcomes, activity, collected.

    Args:
        about, unlike: see ``population``.
    """
    found = _holders(run, about, unlike) if about.strip() else []
    found += [_outcome(of_outcome(scene, name)) for name in scene.outcomes]
    for name, hint, key in COUNTED:
        if counted[key].any():
            line = ("", counted[key].sum(axis=0))
            found.append(Measure(name, hint, [line], counted[key]))
    for name, values in scene.collected.items():
        found.append(Measure(name, "collected by the model", [("", values)]))
    return found


def _holders(run: Run, about: str, unlike: str) -> list[Measure]:
    """Who remembered something like the text, and like the other one."""
    found, other = spread.compared(run, about, unlike)
    told = []
    for text, one in ((about, found), (unlike, other)):
        if one is not None:
            held = (spread.holding(one, LEAST).counts > 0).astype(np.float32)
            hint = f"agents that remember something like “{text.strip()}”"
            name = REMEMBER if one is found else "Remember the other text"
            told.append(Measure(name, hint, [("", held.sum(axis=0))], held))
    return told


def _outcome(given: Colouring) -> Measure:
    if not given.classes:
        means = [np.nan if mean is None else mean for mean in given.means()]
        hint = "what the model says of its agents; the curve is the mean"
        return Measure(given.label, hint, [("", np.array(means))], given.values)
    lines = [(name, np.array(counts)) for name, counts in given.counts()]
    hint = "what the model says of its agents; the curves count the agents"
    return Measure(given.label, hint, lines, given.values + 1, given.classes)
