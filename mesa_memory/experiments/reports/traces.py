"""Two runs of a seed side by side, from where their agents decide differently."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mesa_memory.core.render import shorten
from mesa_memory.runs.measured import outcomes_by_step
from mesa_memory.runs.run import Run
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.stores.sql import Store

#: characters of a text in a trace, and recalled records whose evidence is listed
TEXT_CHARS, MAX_RECORDS = 3_000, 3


@dataclass(frozen=True)
class Side:
    """The text that an agent was shown and its decision, in one of the two runs.

    Attributes:
        arm: the run's level of the factor.
        value: its outcome.
        run: its name.
        memory: the text of the memory in the request; empty without any.
        answer: the agent's answer, or the tools that it called.
        evidence: records that were recalled, each followed by those it was made from;
            see ``Run.provenance``.
        outcome: the agent's recorded outcome at the end of the step, if it differs.
    """

    arm: Any
    value: float
    run: str
    memory: str
    answer: str
    evidence: list[dict[str, Any]] = field(default_factory=list)
    outcome: Any = None


@dataclass(frozen=True)
class DecisionTrace:
    """The first decision in which two runs of a seed differ.

    Attributes:
        seed: the one whose difference is nearest to the median.
        step: of the decision; None if all decisions are the same.
        agent: who decides.
        question: what it was asked, without the memory.
        sides: the base and the arm.
        outcome: name of the recorded outcome that differs; empty if the words differ.
    """

    seed: Any
    step: float | None
    agent: Any
    question: str
    sides: tuple[Side, ...]
    outcome: str = ""


def trace(store: Store, frame: Any, found: Comparison) -> DecisionTrace | None:
    """Follows the seed nearest to the median difference of the clearest contrast.

    Args:
        store: of the study; it is read.
        frame: ``Results.runs``.
        found: the comparison; the contrast with the smallest p is followed.

    Returns:
        The trace; None if one of the two runs is not recorded.
    """
    clearest = min(found.contrasts, key=lambda each: each.p_holm)
    apart = np.array(clearest.difference.values)
    place = int(np.argmin(np.abs(apart - np.median(apart))))
    seed, names = found.seeds[place], []
    for arm in (found.base, clearest.arm):
        rows = frame[(frame[found.factor] == arm) & (frame["seed"] == seed)]
        names.append(rows["run"].iloc[0] if len(rows) else None)
    if None in names:
        return None
    runs = [Run(store, store.run_id(name), lent=True) for name in names]
    if not all(run.unique_ids for run in runs):
        return None
    base = found.base_values[place]
    ends = (found.base, base), (clearest.arm, base + clearest.difference.values[place])
    rows, name, values = _parting(runs)
    if not rows:
        blank = (Side(*end, str(own), "", "") for end, own in zip(ends, names))
        return DecisionTrace(seed, None, None, "", tuple(blank))
    sides = tuple(map(_side, runs, ends, rows, values))
    first = rows[0]
    asked = first["step"], first["agent"], _short(first["question_only"])
    return DecisionTrace(seed, *asked, sides, name)


#: the rows of two decisions; the name of the outcome that differs, and its values
type _Pair = tuple[Sequence[dict[str, Any]], str, Sequence[Any]]


def _parting(runs: Sequence[Run]) -> _Pair:
    """The first decision that both runs have, and whose recorded outcome differs.

    Words differ long before deeds do; they count, with an empty name, if no outcome is
    recorded or differs. Without a difference there are no rows.
    """
    steps = sorted({*runs[0].steps} & {*runs[1].steps})
    known = [outcomes_by_step(run, steps) for run in runs]
    in_words: _Pair = (), "", (None, None)
    for step in steps:
        left, right = (_decided(run, step) for run in runs)
        for key, row in left.items():
            if key not in right:
                continue
            rows, values = (row, right[key]), [of[step] for of in known]
            for name in values[0].keys() & values[1].keys():
                mine, theirs = (of[name].get(str(row["agent"])) for of in values)
                if None not in (mine, theirs) and mine != theirs:
                    return rows, name, (mine, theirs)
            if not in_words[0] and _said(row) != _said(right[key]):
                in_words = rows, "", (None, None)
    return in_words


def _decided(run: Run, step: float) -> dict[tuple[Any, int], dict[str, Any]]:
    """The decisions of a step by agent and number."""
    found: dict[tuple[Any, int], dict[str, Any]] = {}
    asked = Counter[Any]()
    for row in run.decisions(step=step, as_records=True):
        asked[row["agent"]] += 1
        found[row["agent"], asked[row["agent"]]] = row
    return found


def _said(decision: dict[str, Any]) -> tuple[Any, ...]:
    calls = [(call["name"], str(call["arguments"])) for call in decision["tool_calls"]]
    return decision["answer"], calls


def _side(run: Run, end: tuple[Any, float], row: dict[str, Any], outcome: Any) -> Side:
    """The decision of a run; ``end`` is its arm and the outcome of the study."""
    answer, calls = _said(row)
    told = [answer or "", *(f"{tool} {arguments}" for tool, arguments in calls)]
    # What the answer used comes first; the order is otherwise that of the recall.
    recalled = sorted(row["recalled"], key=lambda each: not each["used"])
    ids = list(dict.fromkeys(each["id"] for each in recalled))[:MAX_RECORDS]
    evidence = [line for id in ids for line in run.provenance(id, as_records=True)]
    texts = _short(row["memory"] or ""), _short("\n".join(filter(None, told)))
    return Side(*end, run.name or str(run.id), *texts, evidence, outcome)


def _short(text: str) -> str:
    return shorten(text.strip(), TEXT_CHARS)
