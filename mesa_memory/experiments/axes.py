"""Axes of an audit: what must not matter is turned in both arms, and the effect compared."""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from copy import copy
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from mesa_memory.core.codec import readable
from mesa_memory.errors import StoreUnavailable, StudyError, UnknownMemory
from mesa_memory.experiments.studies.design import label_of
from mesa_memory.experiments.studies.entry import TWO_LINES
from mesa_memory.hosts import mesa as mesa_host
from mesa_memory.hosts.draws import draw
from mesa_memory.hosts.mesa_llm import forget_tools
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.memories import registry
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.placebo import showing
from mesa_memory.memories.rephrasings import OtherWording
from mesa_memory.statistics.comparison import (
    Comparison,
    Contrast,
    compare,
    contrasts_of,
)
from mesa_memory.statistics.difference import (
    PairedDifference,
    number,
    said_p,
    seeds_to_decide,
    signed,
)
from mesa_memory.statistics.interaction import of_effects
from mesa_memory.statistics.power import seeds_for_power, seeds_for_width
from mesa_memory.stores.studies import FINISHED

MEMORY, TURN, AS_IT_IS = "memory", "audit_turn", "as it is"
WORDING, SHARING, STREAMS, LABEL = "wording", "sharing", "streams", "label"
#: the axes whose levels a user gives
GIVEN = {"model": "llm", "temperature": "temperature", "size": None}
AXES = (WORDING, "order", "ids", "names", STREAMS, LABEL, SHARING, *GIVEN)
#: from good to bad; an axis has the last one of its turns
ROBUST, UNDECIDED, SHIFTED, FRAGILE = "robust", "not decided", "shifted", "fragile"
UNTESTED = "cannot be tested"
#: begins new names of agents, and sounds of which they are made
_SOUNDS = ("ba", "de", "fi", "go", "lu", "ma", "ne", "po", "ri", "su")


@dataclass(frozen=True)
class AxisVerdict:
    """The conclusion on one axis.

    Attributes:
        axis: one of ``AXES``.
        verdict: robust, shifted, fragile, not decided, or cannot be tested.
        why: the reason, with the interval and the margin.
        shift: change of the effect at each seed, of the turn that matters most; None if
            nothing was compared.
    """

    axis: str
    verdict: str
    why: str
    shift: PairedDifference | None = None

    def __str__(self) -> str:
        """One line."""
        return f"{self.axis}: {self.verdict}; {self.why}."


# -- turning a model -------------------------------------------------------------------


@dataclass(frozen=True)
class Turned:
    """Makes a model, and turns it before its first step.

    Attributes:
        model: class of the model, or a function that makes one.
    """

    model: Callable[..., Any]

    def __call__(self, **arguments: Any) -> Any:
        """The model, turned as its argument ``audit_turn`` says."""
        turn = arguments.pop(TURN, AS_IT_IS)
        made = self.model(**arguments)
        _TURNS.get(turn, lambda model: None)(made)
        return made

    @property
    def __signature__(self) -> inspect.Signature:
        """That of the model, and the name of the turn."""
        own = inspect.signature(self.model)
        last = inspect.Parameter(TURN, inspect.Parameter.KEYWORD_ONLY, default=AS_IT_IS)
        in_order = sorted([*own.parameters.values(), last], key=lambda p: p.kind)
        return own.replace(parameters=in_order)

    @property
    def __name__(self) -> str:
        """The model's."""
        return getattr(self.model, "__name__", "model")

    @property
    def own_memories(self) -> Any:
        """The model's; None without any."""
        return getattr(self.model, "own_memories", None)


def _reverse_order(model: Any) -> None:
    """The agent sets in reverse."""
    ranks = {agent: rank for rank, agent in enumerate(model.agents)}
    for several in (model.agents, *model.agents_by_type.values()):
        several.sort(ranks.get, ascending=False, inplace=True)


def _reverse_ids(model: Any) -> None:
    """The unique ids in reverse."""
    agents = list(model.agents)
    ids = [agent.unique_id for agent in agents]
    ids.sort(key=lambda id: (isinstance(id, str), id))
    turned = dict(zip(ids, reversed(ids)))
    for agent in agents:
        agent.unique_id = turned[agent.unique_id]


def _rename(model: Any) -> None:
    """Names that occur nowhere else, also in the agents' own prompts."""
    named = _named(model)
    new = {agent.name: _name(place) for place, agent in enumerate(named)}
    old = re.compile(r"\b(" + "|".join(map(re.escape, sorted(new, key=len, reverse=True))) + r")\b")  # fmt: skip
    for agent in named:
        agent.name = new[agent.name]
        if isinstance(told := getattr(agent, "system_prompt", None), str):
            agent.system_prompt = old.sub(lambda found: new[found[0]], told)


def _named(model: Any) -> list[Any]:
    """The agents whose name can be set."""
    return [a for a in model.agents if isinstance(vars(a).get("name"), str)]


def _name(place: int) -> str:
    tens, ones = divmod(place, len(_SOUNDS))
    return f"{_SOUNDS[tens % 10]}{_SOUNDS[ones]}{'n' * (tens // 10)}vo".capitalize()


def _other_streams(model: Any) -> None:
    """Other random numbers from here on, in ``draw`` and in the model's generators."""
    other = draw(model, "audit of streams")
    model.random.seed(int(other.integers(2**32)))
    state = np.random.default_rng(int(other.integers(2**32))).bit_generator.state
    model.rng.bit_generator.state = state
    mesa_host.begin_with(model, int(other.integers(2**32)))


_TURNS: dict[str, Callable[[Any], None]] = {
    "order": _reverse_order, "ids": _reverse_ids, "names": _rename,
    STREAMS: _other_streams,
}  # fmt: skip


@dataclass(frozen=True)
class Alias:
    """A memory by another name.

    Attributes:
        maker: makes the memory of an agent.
    """

    maker: Callable[[Any], Any]

    def __call__(self, agent: Any) -> Any:
        """The memory."""
        return self.maker(agent)

    def __str__(self) -> str:
        """A name that says nothing."""
        return "a memory"


def shared_memories(model: Any) -> int:
    """The number of agents whose memory, or a layer of it, another agent has, too."""
    owners: dict[int, set[Any]] = {}
    for agent in model.agents:
        memory = getattr(agent, "memory", None)
        if not isinstance(memory, MemoryModule):
            continue
        for part in (memory, *memory.layers):
            owners.setdefault(id(part), set()).add(agent)
    return len(set().union(*(who for who in owners.values() if len(who) > 1)))


# -- the study of the turns ------------------------------------------------------------


@dataclass
class TurnedStudy:
    """A study of an arm and its base in all turns, in the same store.

    Attributes:
        study: of the user.
        memory, base: levels of ``memory``; the base is None if there is none.
        turns: the axis by the name of its turn.
        untested: why an axis is left out, by axis.
        audited: the study that is run.
        by_code: code decides for the agents: their models are policies of this package.
    """

    study: Any
    memory: Any
    base: Any
    turns: dict[str, str]
    untested: dict[str, str]
    audited: Any
    by_code: bool

    @classmethod
    def of(
        cls, study: Any, memory: Any, base: Any, outcome: str, axes: Sequence[str],
        given: Mapping[str, Any], wordings: Sequence[OtherWording],
    ) -> "TurnedStudy":  # fmt: skip
        """The study for these axes.

        Raises:
            ValueError: if no arm of the study has the memory.
        """
        base = None if base == memory else base
        mine, theirs = (
            [arm for arm in study.design.arms if readable(arm[1].get(MEMORY)) == level]
            for level in (memory, base)
        )
        if not mine:
            there = study.design.levels(MEMORY)
            raise ValueError(f"no arm has memory={memory!r}; the arms have {there}")
        both = [*mine, *(theirs if base is not None else ())]
        untested, by_code = _first_look(study, mine[0], axes, given)
        if not wordings:
            untested[WORDING] = f"no wording changes what memory={memory!r} has shown"
        arms = [_turned(study.model, arm, AS_IT_IS) for arm in both]
        turns: dict[str, str] = {}
        for axis in axes:
            if axis in untested or axis == SHARING:
                continue
            for name, change in _turns(axis, given, wordings).items():
                turns[name] = axis
                turned = mine if axis == WORDING else both
                arms += [_turned(study.model, arm, name, *change) for arm in turned]
        audited = copy(study)
        audited.name = f"{study.name}, axes of {memory}"
        audited.model, audited.record = Turned(study.model), False
        audited.measures, audited.questionnaires = {}, ()
        audited.outcomes = {SHARING: shared_memories} | {
            name: each for name, each in study.outcomes.items() if name == outcome
        }
        audited.take(replace(study.design, arms=tuple(arms)), None)
        return cls(study, memory, base, turns, untested, audited, by_code)

    @property
    def announcement(self) -> str:
        """The number of runs and what they cost, at the price of the finished ones."""
        runs, price = len(self.audited.cases), "of unknown cost"
        with suppress(StoreUnavailable, StudyError):  # nothing has been run
            frame = self.study.results().runs
            spent = frame[frame["state"] == FINISHED]["run_cost"].dropna()
            if len(spent):
                price = f"about {spent.mean() * runs:.2f} US dollars"
        return (
            f"the audit of {', '.join(sorted({*self.turns.values()})) or SHARING} makes up to "
            f"{runs} runs of {self.study.steps:g} steps, {price} at the price of the study's "
            "own runs"
        )

    def wordings(self, outcome: str, notes: Sequence[str]) -> Comparison | None:
        """The arm in each wording, compared with the arm as it is; None without any."""
        names = {AS_IT_IS: self.memory} | {n: n for n in self._of_axis(WORDING)}
        frame = self.audited.results().runs
        frame = frame[(frame[MEMORY] == self.memory) & frame[TURN].isin([*names])]
        if len(names) == 1:
            return None
        others = [n for n in self.study.design.varied if n != MEMORY]
        return compare(
            frame.assign(**{MEMORY: frame[TURN].map(names)}), MEMORY, outcome=outcome,
            base=self.memory, others=others, notes=notes,
        )  # fmt: skip

    def verdicts(
        self, axes: Sequence[str], outcome: str, margin: float | None, bounds: Any
    ) -> list[AxisVerdict]:
        """A verdict for each axis, once the runs are finished.

        P is corrected for the number of wordings, and for that of all other turns.
        """
        frame = self.audited.results().runs
        effects = self._effects(frame, outcome)
        pairs: dict[str, tuple[np.ndarray, np.ndarray]] = {}
        for turn, axis in self.turns.items():
            known = effects.reindex(columns=[turn, AS_IT_IS]).dropna().to_numpy()
            if len(known) < 2:
                self.untested[axis] = f"its runs failed: {self._error(frame, turn)}"
            else:
                pairs[turn] = known[:, :1], known[:, 1:]
        bounds = bounds if self.base is None else of_effects(bounds)
        found = []
        for reworded in (True, False):
            family = {
                turn: pair
                for turn, pair in pairs.items()
                if (self.turns[turn] == WORDING) == reworded
            }
            found += [
                judged(
                    self.turns[each.arm], each, pairs[each.arm][1].ravel(), margin,
                    len(family), self.base is not None,
                )
                for each in contrasts_of(family, bounds)
            ]  # fmt: skip
        return [self._of(axis, found, frame, outcome) for axis in axes]

    def _of_axis(self, axis: str) -> list[str]:
        return [turn for turn, own in self.turns.items() if own == axis]

    def _effects(self, frame: Any, outcome: str) -> Any:
        """The effect at each seed, a column for each turn; without a base, the outcome."""
        done = frame[frame["state"] == FINISHED]
        done = done.assign(**{outcome: done[outcome].astype(float)})
        means = done.groupby(["seed", MEMORY, TURN], sort=False)[outcome].mean()
        effects = means.xs(self.memory, level=MEMORY).unstack()
        if self.base is None:
            return effects
        bases = means.xs(self.base, level=MEMORY).unstack()
        # A base is not reworded.
        bases = bases.assign(**dict.fromkeys(self._of_axis(WORDING), bases[AS_IT_IS]))
        return effects - bases

    def _error(self, frame: Any, turn: str) -> str:
        told = frame[frame[TURN] == turn]["error"].dropna()
        return str(told.iloc[0])[:160] if len(told) else "they are not finished"

    def _of(
        self, axis: str, found: list[AxisVerdict], frame: Any, outcome: str
    ) -> AxisVerdict:
        if axis == SHARING:
            most = frame[SHARING].max()
            if not most > 0:
                return AxisVerdict(
                    axis, ROBUST, "no two agents have one memory or layer"
                )
            return AxisVerdict(axis, FRAGILE, f"{most:g} agents share a memory or a layer of it")  # fmt: skip
        if axis in self.untested:
            return AxisVerdict(axis, UNTESTED, self.untested[axis])
        if axis == STREAMS and (differ := self._irreproducible(frame, outcome)):
            return AxisVerdict(axis, FRAGILE, differ)
        # The turn that matters most.
        order = (ROBUST, UNDECIDED, SHIFTED, FRAGILE)
        mine = [told for told in found if told.axis == axis]
        return max(mine, key=lambda told: order.index(told.verdict))

    def _irreproducible(self, frame: Any, outcome: str) -> str:
        """A sentence if runs made again with the same seeds had another outcome."""
        keys = [*self.study.design.factors, "seed", "replicate"]
        first = self.study.results().runs
        both = frame[frame[TURN] == AS_IT_IS].merge(
            first[first["state"] == FINISHED], on=keys, suffixes=("", " before")
        )
        both = both[[outcome, f"{outcome} before"]].dropna()
        differ = (both[outcome] != both[f"{outcome} before"]).sum()
        if not differ:
            return ""
        return (
            f"{differ} of {len(both)} runs made again with the same seed have another "
            "outcome: numbers that the seed does not decide, or other answers of a model"
        )


def _turns(
    axis: str, given: Mapping[str, Any], wordings: Sequence[OtherWording]
) -> dict[str, tuple[Any, ...]]:
    """The turns of an axis by name: other factors, another maker of memories, its identity."""
    if axis == WORDING:
        return {
            each.name: ({}, partial(showing, change=each), each) for each in wordings
        }
    if axis == LABEL:
        return {LABEL: ({}, Alias)}
    if axis not in GIVEN:
        return {axis: ()}
    name = GIVEN[axis]
    levels = given[axis] if name is None else {name: given[axis]}
    return {
        f"{factor} {value}": ({factor: value},)
        for factor, values in levels.items()
        for value in values
    }


def _turned(
    model: Any,
    arm: Any,
    name: str,
    factors: Mapping[str, Any] | None = None,
    remade: Callable[[Any], Any] | None = None,
    identity: Any = None,
) -> Any:
    """An arm with a turn: its values, and their labels."""
    values, labels = (dict(each) for each in arm)
    for factor, value in (factors or {}).items():
        values[factor], labels[factor] = value, label_of(factor, value)
    if remade is not None:
        try:
            maker = registry.find(values[MEMORY], registry.own_memories(model))
        except UnknownMemory as error:
            error.add_note(f"{TWO_LINES}.")
            raise
        values[MEMORY] = remade(maker)
    return values | {TURN: identity or name}, labels | {TURN: name}


def _first_look(
    study: Any, arm: Any, axes: Sequence[str], given: Mapping[str, Any]
) -> tuple[dict[str, str], bool]:
    """Why an axis cannot be tested, and whether code decides, from one model that is not run."""
    labels = arm[1]
    case = next(c for c in study.cases.values() if c.labels == labels)
    model = study.arms[case.key].make()
    try:
        several = len(model.agents) > 1
        named = bool(_named(model))
        llms = [str(getattr(getattr(a, "llm", None), "llm_model", "")) for a in model.agents]  # fmt: skip
    finally:
        forget_tools(model)
    by_code = bool(llms) and all(name.startswith(f"{PROVIDER}/") for name in llms)
    found = {axis: f"give given={{{axis!r}: …}}" for axis in GIVEN if axis not in given}
    if not several:
        found |= dict.fromkeys(("order", "ids"), "the model begins with one agent")
    if not named:
        found["names"] = "no agent has a name that can be set"
    return {axis: why for axis, why in found.items() if axis in axes}, by_code


# -- verdicts --------------------------------------------------------------------------


def judged(
    axis: str, turn: Contrast, before: np.ndarray, margin: float | None, turns: int,
    has_base: bool,
) -> AxisVerdict:  # fmt: skip
    """The verdict on one turn.

    Args:
        axis: its name.
        turn: its effect against that without it, p corrected for the number of turns.
        before: the effect without it, one for each seed.
        margin: the largest shift that counts as none; None compares with none.
        turns: the number of turns that are compared.
        has_base: the effect is a difference from a base, so that it can vanish.
    """
    shift, p = turn.difference, turn.p_holm
    low, high = shift.interval()
    told = f"{turn.arm} changes the {'effect' if has_base else 'outcome'} by "
    told += f"{signed(shift.mean)} [{number(low)}, {number(high)}], {said_p(p)}"
    if margin is not None:
        told += f", margin {margin:g}"
    if shift.equal:
        return AxisVerdict(axis, ROBUST, f"equal in all {shift.seeds} seeds", shift)
    if margin is not None and _within(shift, margin):
        return AxisVerdict(axis, ROBUST, told, shift)
    if p >= 0.05:
        more = f"{told}; {_needed(shift, margin, turns)}"
        return AxisVerdict(axis, UNDECIDED, more, shift)
    if has_base and _vanishes(before, before + shift.values):
        return AxisVerdict(axis, FRAGILE, f"{told}; the effect is gone or turned round", shift)  # fmt: skip
    if not has_base and margin is not None and (low > margin or high < -margin):
        return AxisVerdict(axis, FRAGILE, told, shift)
    return AxisVerdict(axis, SHIFTED, told, shift)


def _within(shift: PairedDifference, margin: float) -> bool:
    if shift.bounds is not None:
        low, high = shift.interval()
        return -margin < low and high < margin
    p = shift.equivalence(margin)
    return p is not None and p < 0.05


def _vanishes(*effects: np.ndarray) -> bool:
    """True if there was an effect, and none of its sign is left."""
    before, after = (PairedDifference(tuple(map(float, each))) for each in effects)
    (low, high), (after_low, after_high) = before.interval(), after.interval()
    return (low > 0 and after_low <= 0) or (high < 0 and after_high >= 0)


def _needed(shift: PairedDifference, margin: float | None, turns: int) -> str:
    """The seeds that show a large shift to be one, and a small one to be within the margin."""
    least, size = seeds_to_decide(turns), abs(shift.mean)
    if margin is None:
        return f"give a margin; at least {least} seeds"
    if size > margin / 2:
        seeds = seeds_for_power(shift.sd, size, contrasts=turns)
    else:
        seeds = max(seeds_for_width(shift.sd, margin - size), least)
    return f"about {seeds} seeds are needed"
