"""Attribution: which memory an outcome hangs on, found by erasing it.

A recorded run is taken up at a step. Copies of it go on to the end: some as they are, and
some without the records that say the same thing, in all agents that have them. If the
outcome changes, the records have an effect. It is the effect from the step on, not an
earlier one.
"""

import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.render import record_text
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import checked_int
from mesa_memory.inference.difference import holm
from mesa_memory.inference.numbers import number, said_p, signed
from mesa_memory.inference.two_groups import GroupDifference
from mesa_memory.memories.host.interventions import erase
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.runs.recording.resume import copy_at
from mesa_memory.runs.run import open_run

if TYPE_CHECKING:
    import pandas as pd

logger = logger_of(__name__)
#: groups whose effect is tried once more, on fresh runs
CONFIRMED = 3
#: an event's text, in the content of a record: the words of a message or a deed
_WORDS = ("message", "text")
#: characters by which a line is found in a prompt, which may cut it later
FOUND_CHARS = 120


@dataclass(frozen=True)
class Erasure:
    """Records that say the same, and were shown after the step.

    Attributes:
        text: what they say.
        records: their ids by the unique id of their agents, current at the step.
        followers: how many current records were made from them; these stay.
    """

    text: str
    records: Mapping[Any, tuple[str, ...]]
    followers: int = 0

    def erase_from(self, model: Any) -> None:
        """Erases the records from the memories of a model."""
        for agent in model.agents:
            for name in self.records.get(agent.unique_id, ()):
                erase(agent, name)

    @property
    def single(self) -> list["Erasure"]:
        """Each of the records alone."""
        return [
            Erasure(self.text, {agent: (name,)})
            for agent, names in self.records.items()
            for name in names
        ]


@dataclass(frozen=True)
class Effect:
    """The change of an outcome when records are erased.

    Attributes:
        erasure: the records.
        difference: the outcome without them less the outcome as it was.
        p_holm: corrected for the number of confirmed groups; None if it was not tested.
        part_of: the text of the group of which it is one record; empty for a group.
    """

    erasure: Erasure
    difference: GroupDifference
    p_holm: float | None = None
    part_of: str = ""

    def found(self, exact: bool) -> bool:
        """True if erasing changes the outcome, beyond chance unless runs are exact."""
        if exact:
            return self.difference.mean != 0
        return self.p_holm is not None and self.p_holm < 0.05


@dataclass(frozen=True)
class Attribution:
    """The memories on which an outcome hangs.

    Attributes:
        step: after which they were erased.
        outcome: the mean outcome of the run as it was.
        exact: True if the runs as they were all ended alike; then each difference is an
            effect, and nothing is tested.
        effects: the largest first; single records follow their group.
        runs: copies that were run.
    """

    step: float
    outcome: float
    exact: bool
    effects: tuple[Effect, ...] = field(default=())
    runs: int = 0

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
        lines = [f"Outcome {number(self.outcome)}; {self.runs} runs ({how})."]
        for each in self.blamed:
            agents = ", ".join(map(str, each.erasure.records))
            told = f"Without “{each.erasure.text}” (agents {agents}) the outcome is "
            told += f"{signed(each.difference.mean)}"
            if not self.exact and each.p_holm is not None:
                low, high = each.difference.interval
                told += f" [{number(low)}, {number(high)}], {said_p(each.p_holm)}"
            lines.append(f"{told}.")
            if each.erasure.followers:
                made = each.erasure.followers
                lines.append(f"  {made} records that memories made from it stay.")
        if not self.blamed:
            lines.append("No memory was found on which it hangs.")
        return "\n".join(lines)


def attribute(
    model_class: Callable[..., Any],
    location: Any,
    *,
    step: float,
    outcome: Callable[[Any], float],
    steps: int,
    run: int | None = None,
    screen: int = 12,
    confirm: int = 24,
    single: bool = True,
    progress: bool = True,
    trust: bool = False,
    **parameters: Any,
) -> Attribution:
    """Finds the memories on which the outcome of a recorded run hangs.

    Records that say the same are erased together, as news that was passed on survives
    the erasure of one copy. Candidates are records that agents were shown after the step.
    If language models answer differently each time, each group is tried ``screen`` times; the
    three with the largest effects are tried ``confirm`` times more on fresh runs and tested
    by permutation, corrected by Holm's method. The copies are not recorded; their
    requests are paid, and a line in the log says before how many runs there may be.

    Args:
        model_class, location, run, trust, parameters: see ``resume``.
        step: after which finished step records are erased.
        outcome: a number, from the model at the end.
        steps: at which a copy ends.
        screen: runs of the model as it was, and of each group if these differ.
        confirm: further runs of the three largest groups, and of the model as it was.
        single: also try each record of a group that matters alone.
        progress: show a bar on stderr.

    Raises:
        ValueError: if ``steps`` is not after ``step``, or a number is out of range.
        ParameterError, ReplayMismatch, StoreError: see ``resume``.
    """
    checked_int("screen", screen, 2)
    checked_int("confirm", confirm, 2)
    if not steps > step:
        raise ValueError(f"steps must be after step={step:g}, got steps={steps!r}")
    from tqdm.auto import tqdm

    begun = copy_at(model_class, location, step, run=run, trust=trust, **parameters)
    groups = candidates(begun, _Shown.of(location, run, step))
    bar = tqdm(desc="attribution", unit="run", file=sys.stderr, disable=not progress)
    trials = _Trials(begun, outcome, steps, bar)
    most = screen * (len(groups) + 1) + confirm * (CONFIRMED + 1)
    logger.warning(
        "%d groups of records were shown after step %g: %d runs of %g steps if answers "
        "are always the same, else up to %d, and more for single records",
        len(groups), step, screen + len(groups), steps - step, most,
    )  # fmt: skip
    with bar:
        return _found(trials, step, groups, screen, confirm, single)


@dataclass
class _Trials:
    """Copies of a model, run to the end."""

    model: Any
    outcome: Callable[[Any], float]
    steps: int
    bar: Any
    runs: int = 0

    def outcomes(self, erasure: Erasure | None, times: int) -> list[float]:
        """The outcomes of some copies, without the records of an erasure."""
        return [self._once(erasure) for _ in range(times)]

    def _once(self, erasure: Erasure | None) -> float:
        copy = deepcopy(self.model)
        if erasure is not None:
            erasure.erase_from(copy)
        while copy.steps < self.steps and copy.running:
            copy.step()
        self.runs += 1
        self.bar.update()
        return float(self.outcome(copy))


def _found(
    trials: _Trials,
    step: float,
    groups: Sequence[Erasure],
    screen: int,
    confirm: int,
    single: bool,
) -> Attribution:
    base = trials.outcomes(None, screen)
    exact = len(set(base)) == 1
    times = 1 if exact else screen
    effects = _ranked(_effect(trials, each, base, times) for each in groups)
    if not exact:
        effects = _confirmed(trials, effects, confirm)
    found: list[Effect] = []
    for each in effects:
        found.append(each)
        alone = each.erasure.single
        if single and len(alone) > 1 and each.found(exact):
            ones = (_effect(trials, one, base, times, each) for one in alone)
            found += _ranked(ones)
    mean = sum(base) / len(base)
    return Attribution(step, mean, exact, tuple(found), trials.runs)


def _effect(
    trials: _Trials,
    erasure: Erasure,
    base: Sequence[float],
    times: int,
    group: Effect | None = None,
) -> Effect:
    difference = GroupDifference(trials.outcomes(erasure, times), base)
    part_of = "" if group is None else group.erasure.text
    return Effect(erasure, difference, part_of=part_of)


def _confirmed(
    trials: _Trials, effects: Sequence[Effect], confirm: int
) -> list[Effect]:
    """The largest effects on fresh runs, and the others as they are."""
    first, rest = effects[:CONFIRMED], effects[CONFIRMED:]
    base = trials.outcomes(None, confirm)
    fresh = [_effect(trials, each.erasure, base, confirm) for each in first]
    corrected = holm([each.difference.p for each in fresh])
    tested = [
        Effect(each.erasure, each.difference, p) for each, p in zip(fresh, corrected)
    ]
    return [*_ranked(tested), *rest]


def _ranked(effects: Iterable[Effect]) -> list[Effect]:
    return sorted(effects, key=lambda each: -abs(each.difference.mean))


def candidates(model: Any, shown: "_Shown | None") -> list[Erasure]:
    """The groups of current records that say the same, in order of arrival.

    Args:
        model: at the step.
        shown: after the step; None takes every record, as the run ends at the step.
    """
    records: dict[str, dict[Any, list[str]]] = {}
    current: list[MemoryRecord] = []
    for agent in model.agents:
        memory = getattr(agent, "memory", None)
        if not isinstance(memory, MemoryModule):
            continue
        held = memory.current_records()
        for record in held:
            line = memory.layer_context.own_line(record)
            if shown is None or shown.has(record, (line, _words(record))):
                of_text = records.setdefault(_words(record), {})
                of_text.setdefault(agent.unique_id, []).append(record.id)
        current += held
    return [
        Erasure(
            text,
            {agent: tuple(names) for agent, names in of_text.items()},
            _followers({n for names in of_text.values() for n in names}, current),
        )
        for text, of_text in records.items()
    ]


def _words(record: MemoryRecord) -> str:
    """The words of a record, without speaker and listener."""
    for name in _WORDS:
        if isinstance(said := record.content.get(name), str) and said.strip():
            return " ".join(said.split())
    text = record_text(record.kind, record.origin, record.content)
    return " ".join(text.split())


def _followers(names: set[str], current: Iterable[MemoryRecord]) -> int:
    return sum(not names.isdisjoint(record.sources) for record in current)


@dataclass(frozen=True)
class _Shown:
    """The texts that agents were shown after a step.

    Attributes:
        texts: of each agent, by unique id.
        recalled: ids of the records that recalls showed.
    """

    texts: Mapping[Any, str]
    recalled: frozenset[str]

    @classmethod
    def of(cls, location: Any, run: Any, step: float) -> "_Shown | None":
        """The texts of a run; None if it ends at the step."""
        with open_run(location, run) as recorded:
            if not any(later > step for later in recorded.steps):
                return None
            texts: dict[Any, list[str]] = {}
            for row in recorded.prompts(as_records=True):
                if row["step"] > step:
                    texts.setdefault(row["agent"], []).append(row["text"] or "")
            rows = recorded.recalls(as_records=True)
        recalled = {r["id"] for r in rows if r["step"] > step and r["shown"]}
        joined = {agent: "\n".join(told) for agent, told in texts.items()}
        return cls(joined, frozenset(recalled))

    def has(self, record: MemoryRecord, lines: Iterable[str]) -> bool:
        """True if the record, or one of its lines, was shown to its agent."""
        text = self.texts.get(record.agent, "")
        found = any(line[:FOUND_CHARS] in text for line in lines)
        return found or record.id in self.recalled


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
