"""What the runs of a study that are still missing will cost, arm by arm."""

import inspect
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from mesa_memory.core.arguments import encode, readable
from mesa_memory.experiments.arm import Arm
from mesa_memory.experiments.design import Case
from mesa_memory.experiments.estimate import Estimate
from mesa_memory.experiments.forecast import estimate
from mesa_memory.experiments.growth import Sum
from mesa_memory.llm.policy import PROVIDER
from mesa_memory.runs.table import Table

if TYPE_CHECKING:
    from mesa_memory.experiments.study import Study

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

    def costs(self, *, as_records: bool = False) -> Any:
        """Calls, tokens and dollars of each arm, by model and tier."""
        rows = [
            {**dict(arm.labels), "runs": arm.estimate.runs, **row}
            for arm in self.arms
            for row in arm.estimate.costs(as_records=True)
        ]
        return Table(tuple(rows[0]) if rows else (), rows).given(as_records)

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
            for name, forecast in (
                ("calls", told.calls),
                ("tokens", told.tokens),
                ("cost", told.priced[0].cost if told.priced else None),
            ):
                counts = [_used(usage, name) for usage in counted]
                count = None if None in counts else sum(counts)
                value = (
                    None
                    if forecast is None
                    else forecast.value * len(counted) / told.runs
                )
                row |= {f"{name}_forecast": value, name: count}
                row[f"{name}_difference"] = (
                    value / count - 1 if value and count else None
                )
            rows.append(row)
        return Table(tuple(rows[0]) if rows else (), rows).given(as_records)

    def purposes(self, *, as_records: bool = False) -> Any:
        """Calls and tokens of each arm by purpose."""
        rows = [
            {**dict(arm.labels), **row}
            for arm in self.arms
            for row in arm.estimate.purposes(as_records=True)
        ]
        return Table(tuple(rows[0]) if rows else (), rows).given(as_records)

    def totals(self, *, as_records: bool = False) -> Any:
        """All arms together, by model and tier.

        An arm whose own model is priced counts for that model alone.
        """
        sums: dict[tuple[str, str], list[Sum | None]] = {}
        for arm in self.arms:
            for each in arm.estimate.priced:
                key = (each.model, each.tier)
                now = [
                    arm.estimate.calls, each.prompt, each.cached, each.completion,
                    each.cost,
                ]  # fmt: skip
                before = sums.get(key, [Sum(0.0, 0.0)] * 5)
                sums[key] = [
                    None if a is None or b is None else a + b
                    for a, b in zip(before, now)
                ]
        names = ("calls", "prompt_tokens", "cached_tokens", "completion_tokens")
        rows = []
        for (model, tier), (*counts, cost) in sums.items():
            row: dict[str, Any] = {"model": model, "tier": tier}
            row |= {n: round(c.value) for n, c in zip(names, counts) if c is not None}
            row |= dict(zip(("cost", "cost_low", "cost_high"), interval(cost)))
            rows.append(row)
        return Table(tuple(rows[0]) if rows else (), rows).given(as_records)


def interval(told: Sum | None) -> tuple[float | None, float | None, float | None]:
    """A number with the ends of its interval of 90%."""
    return (None, None, None) if told is None else (told.value, told.low, told.high)


def estimate_study(
    study: "Study",
    llm: str | Sequence[str] = (),
    *,
    tiers: str | Sequence[str] = ("",),
    progress: Callable[[int, int], None] = lambda done, of: None,
    **given: Any,
) -> StudyEstimate:
    """See ``Study.estimate``."""
    missing = study.missing
    arms: dict[str, list[Case]] = {}
    for case in missing:
        arms.setdefault(_key(case.labels), []).append(case)
    pilots: dict[str, Estimate] = {}
    found = []
    for number, cases in enumerate(arms.values()):
        first = cases[0]
        own = first.parameters.get(LLM)
        named = llm or (own if isinstance(own, str) and own != PROVIDER else ())
        named = [named] if isinstance(named, str) else list(named)
        others = {n: v for n, v in first.labels.items() if n != LLM}
        key = _key({"of": others, "llm": named})
        if key not in pilots:

            def tell(done: int, of: int, before: int = number) -> None:
                progress(before * of + done, len(arms) * of)

            pilots[key] = estimate(
                _Maker(study.model),
                _for_a_pilot(first.parameters),
                steps=study.steps,
                llm=named,
                tiers=tiers,
                progress=tell,
                **given,
            )
        labels = {n: readable(v) for n, v in first.labels.items()}
        of_runs = pilots[key].times(len(cases))
        found.append(ArmEstimate(labels, _key(first.labels), of_runs))
    return StudyEstimate(tuple(found))


class _Maker:
    """Makes the model of an arm as a study's worker does."""

    def __init__(self, model: Callable[..., Any]) -> None:
        self._model = model
        self.__signature__ = inspect.signature(model)

    def __call__(self, **given: Any) -> Any:
        """A new model."""
        return Arm.of(self._model, Case(given, {})).make()


def _for_a_pilot(parameters: Mapping[str, Any]) -> dict[str, Any]:
    given = {n: v for n, v in parameters.items() if n not in _NOT_IN_PILOTS}
    return given | ({LLM: PROVIDER} if LLM in given else {})


def _used(usage: Mapping[str, Any], name: str) -> Any:
    if name == "tokens":
        return (usage.get("tokens_in") or 0) + (usage.get("tokens_out") or 0)
    return usage.get(name)


def _key(labels: Mapping[str, Any]) -> str:
    return json.dumps(encode(dict(labels)), sort_keys=True, default=str)
