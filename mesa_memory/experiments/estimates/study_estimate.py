"""What the runs of a study that are still missing will cost, arm by arm."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

from mesa_memory.core.arguments import encode, readable
from mesa_memory.experiments.changes import give_memory
from mesa_memory.experiments.estimates.estimate import Estimate, combined
from mesa_memory.experiments.estimates.forecast import estimate
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.design import Case
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.runs.table import Table

if TYPE_CHECKING:
    from mesa_memory.experiments.studies.study import Study

#: the factor that says which language model is asked
LLM = "llm"
#: settings of ``configure`` that a pilot does without
_NOT_IN_PILOTS = ("cache", "replay")


@dataclass(frozen=True)
class ArmEstimate:
    """The forecast of one arm.

    Attributes:
        labels: what the arm is, as it stands in tables.
        key: tells it apart.
        estimate: of all of its runs that are missing.
    """

    labels: Mapping[str, Any]
    key: str
    estimate: Estimate


@dataclass(frozen=True)
class StudyEstimate:
    """The forecast of a study's missing runs.

    Attributes:
        arms: in the order of the design; arms without a missing run are left out.
    """

    arms: tuple[ArmEstimate, ...]

    @property
    def runs(self) -> int:
        """How many runs are missing."""
        return sum(arm.estimate.runs for arm in self.arms)

    @property
    def total(self) -> dict[str, Any]:
        """Runs, calls, tokens and dollars of all arms together.

        Of each arm counts the model that is priced first; the cost is None if an arm
        has none, or its price is unknown.
        """
        of = [arm.estimate for arm in self.arms]
        costs = [_cost(told) for told in of]
        known = [cost for cost in costs if cost is not None]
        return {
            "runs": self.runs,
            "calls": round(sum(told.calls.value for told in of)),
            "tokens": round(sum(told.tokens.value for told in of)),
            "cost": sum(known) if len(known) == len(costs) else None,
        }

    def costs(self, *, as_records: bool = False) -> Any:
        """Calls, tokens and dollars of each arm, by model and tier."""
        rows = [
            {**dict(arm.labels), "runs": arm.estimate.runs, **row}
            for arm in self.arms
            for row in arm.estimate.costs(as_records=True)
        ]
        return Table.of(rows).given(as_records)

    def beside(self, study: "Study", *, as_records: bool = False) -> Any:
        """The forecast beside what the runs used, a row for each arm that has ended.

        Args:
            study: the same one, after its runs.
            as_records: a list of dicts instead of a DataFrame.
        """
        used: dict[str, list[Any]] = {}
        for case in study.status().cases:
            if case.usage:
                used.setdefault(_key(case.parameters), []).append(case.usage)
        rows = []
        for arm in self.arms:
            counted = used.get(arm.key, [])
            if not counted:
                continue
            told, row = arm.estimate, {**dict(arm.labels), "runs": len(counted)}
            forecasts = (told.calls.value, told.tokens.value, _cost(told))
            for name, forecast in zip(("calls", "tokens", "cost"), forecasts):
                counts = [_used(usage, name) for usage in counted]
                count = None if None in counts else sum(counts)
                share = len(counted) / told.runs
                value = None if forecast is None else forecast * share
                difference = value / count - 1 if value and count else None
                row |= {f"{name}_forecast": value, name: count}
                row |= {f"{name}_difference": difference}
            rows.append(row)
        return Table.of(rows).given(as_records)

    def purposes(self, *, as_records: bool = False) -> Any:
        """Calls and tokens of each arm by purpose."""
        rows = [
            {**dict(arm.labels), **row}
            for arm in self.arms
            for row in arm.estimate.purposes(as_records=True)
        ]
        return Table.of(rows).given(as_records)

    def totals(self, *, as_records: bool = False) -> Any:
        """All arms together, by model and tier.

        An arm whose own model is priced counts for that model alone.
        """
        sums: dict[tuple[str, str], Estimate] = {}
        for arm in self.arms:
            for each in arm.estimate.priced:
                key, own = (
                    (each.model, each.tier),
                    replace(arm.estimate, priced=(each,)),
                )
                sums[key] = combined([(1, sums[key]), (1, own)]) if key in sums else own
        rows = [row for told in sums.values() for row in told.costs(as_records=True)]
        return Table.of(rows).given(as_records)


def estimate_study(
    study: "Study",
    llm: str | Sequence[str] = (),
    *,
    tiers: str | Sequence[str] = ("",),
    progress: Callable[[int, int], None] = lambda done, of: None,
    **given: Any,
) -> StudyEstimate:
    """See ``Study.estimate``."""
    missing, beginnings = study.missing, study.beginnings
    arms: dict[str, list[Case]] = {}
    for case in missing:
        arms.setdefault(_key(case.labels), []).append(case)
    pilots = _Pilots(study.model, {"tiers": tiers, **given})
    found = []
    for number, cases in enumerate(arms.values()):
        first = cases[0]
        own = first.parameters.get(LLM)
        named = llm or (own if isinstance(own, str) and own != PROVIDER else ())

        def tell(done: int, of: int, before: int = number) -> None:
            progress(before * of + done, len(arms) * of)

        models = [named] if isinstance(named, str) else list(named)
        pilot = partial(pilots.of, first, models, tell)
        shared = min(beginnings.get(case.key, 0) for case in cases)
        of_one = _after(shared, study.steps, first, pilot)
        labels = {n: readable(v) for n, v in first.labels.items()}
        found.append(ArmEstimate(labels, _key(first.labels), of_one.times(len(cases))))
    return StudyEstimate(tuple(found))


class _Pilots:
    """Forecasts of one run each; what is equal but for the model is made once."""

    def __init__(self, model: Callable[..., Any], given: Mapping[str, Any]) -> None:
        self._model, self._given = model, given
        self._found: dict[str, Estimate] = {}

    def of(
        self,
        case: Case,
        models: Sequence[str],
        progress: Callable[[int, int], None],
        memory: str | None,
        steps: float,
    ) -> Estimate:
        """The forecast of one run of ``steps`` steps; ``memory`` is given to everyone."""
        others = {n: case.labels.get(n) for n in case.parameters if n != LLM}
        said = {"of": others, "llm": models, "memory": memory, "steps": steps}
        if (key := _key(said)) not in self._found:
            self._found[key] = estimate(
                _Maker(self._model, memory),
                _for_a_pilot(case.parameters),
                steps=int(steps),
                llm=models,
                progress=progress,
                **self._given,
            )
        return self._found[key]


def _after(
    shared: float,
    steps: int,
    case: Case,
    pilot: Callable[[str | None, float], Estimate],
) -> Estimate:
    """What a run needs after the steps that it takes over from another one.

    A memory that begins in the middle begins empty, as at the start of a shorter run.
    What another change brings about is not known: it is taken to ask nothing more.
    """
    swaps = sorted(
        (change.step, change.memory)
        for change in case.changes.values()
        if change.memory is not None
    )
    begins: list[tuple[float, str | None]] = [(0, None), *swaps]
    parts = []
    for (begin, memory), end in zip(begins, [*(step for step, _ in swaps), steps]):
        if end > max(begin, shared):
            parts.append((1, pilot(memory, end - begin)))
            if shared > begin:
                parts.append((-1, pilot(memory, shared - begin)))
    return combined(parts)


class _Maker:
    """Makes the model of an arm as a study's worker does; with a memory, if it has one."""

    def __init__(self, model: Callable[..., Any], memory: str | None = None) -> None:
        self._model, self._memory = model, memory
        self.__signature__ = inspect.signature(model)

    def __call__(self, **given: Any) -> Any:
        """A new model."""
        model = Arm.of(self._model, Case(given, {})).make()
        if self._memory is not None:
            give_memory(model, self._memory)
        return model


def _for_a_pilot(parameters: Mapping[str, Any]) -> dict[str, Any]:
    given = {n: v for n, v in parameters.items() if n not in _NOT_IN_PILOTS}
    return given | ({LLM: PROVIDER} if LLM in given else {})


def _cost(told: Estimate) -> float | None:
    """Dollars for the model that is priced first; None if unknown."""
    cost = told.priced[0].cost if told.priced else None
    return None if cost is None else float(cost.mean())


def _used(usage: Mapping[str, Any], name: str) -> Any:
    if name == "tokens":
        return (usage.get("tokens_in") or 0) + (usage.get("tokens_out") or 0)
    return usage.get(name)


def _key(labels: Mapping[str, Any]) -> str:
    return json.dumps(encode(dict(labels)), sort_keys=True, default=str)
