"""The cost of a study's missing runs, arm by arm."""

import inspect
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from mesa_memory.core.codec import encode, readable
from mesa_memory.core.content import dollars
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.errors import StoreUnavailable, StudyError
from mesa_memory.experiments.estimates.estimate import Estimate
from mesa_memory.experiments.estimates.forecast import estimate
from mesa_memory.experiments.studies.analysis import asked_seeds
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.design import Case
from mesa_memory.experiments.studies.forks import forks_of
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.runs.table import Table
from mesa_memory.stores.studies import CaseRow

#: the factor that says which language model is asked
LLM = "llm"
#: settings of ``configure`` that a pilot does without
_NOT_IN_PILOTS = ("cache", "replay")


@dataclass(frozen=True)
class StudyEstimate(NotebookShown):
    """The forecast of a study's missing runs.

    Attributes:
        arms: in the order of the design; arms without a missing run are left out.
    """

    arms: tuple[Estimate, ...]

    @property
    def runs(self) -> int:
        """The number of missing runs."""
        return sum(arm.runs for arm in self.arms)

    @property
    def total(self) -> dict[str, Any]:
        """Runs, calls, tokens and dollars of all arms together.

        Each arm counts with its first model. Without the price of an arm, the cost is
        None.
        """
        return {
            "runs": self.runs,
            "calls": round(sum(arm.calls.value for arm in self.arms)),
            "tokens": round(sum(arm.tokens.value for arm in self.arms)),
            "cost": _sum([arm.cost.value for arm in self.arms]),
        }

    def __str__(self) -> str:
        """A row for each arm and model, and the total."""
        if not self.arms:
            return "Nothing is missing: all runs of the study are finished."
        total, rows = self.total, self.costs()
        table = "" if rows.empty else f"{rows.to_string(index=False)}\n"
        cost = f"${dollars(total['cost'])}" if total["cost"] is not None else (
            "unknown; name a model that has a price, such as openai/gpt-5-mini"
        )  # fmt: skip
        last = f"{total['runs']} runs: {total['calls']:,} calls, {total['tokens']:,} tokens"
        return f"{table}total of {last}, cost {cost}"

    def costs(self, *, as_records: bool = False) -> Any:
        """Calls, tokens and dollars of each arm, by model."""
        rows = [
            {**arm.labels, "runs": arm.runs, **row}
            for arm in self.arms
            for row in arm.costs(as_records=True)
        ]
        return Table.of(rows).given(as_records)


def estimate_study(
    study: Any, llm: str | Sequence[str] = (), **given: Any
) -> StudyEstimate:
    """See ``Study.estimate``. Arms that differ in ``llm`` alone share their pilots."""
    arms: dict[str, list[Case]] = {}
    cases_left, beginnings = _missing_runs(study)
    for case in cases_left:
        arms.setdefault(_key(case.labels), []).append(case)
    models = {key: _models(cases[0], llm) for key, cases in arms.items()}
    named = list(dict.fromkeys(name for names in models.values() for name in names))
    alike: dict[tuple[str, int], list[str]] = {}
    for key, cases in arms.items():
        since = int(min(beginnings.get(case.key, 0) for case in cases))
        others = {name: v for name, v in cases[0].labels.items() if name != LLM}
        alike.setdefault((_key(others), since), []).append(key)
    found: dict[str, Estimate] = {}
    for (_, since), keys in alike.items():
        told = _of_one_run(study, arms[keys[0]][0], llm=named, since=since, **given)
        for key in keys:
            labels = {n: readable(v) for n, v in arms[key][0].labels.items()}
            found[key] = told.of(models[key], len(arms[key]), labels)
    return StudyEstimate(tuple(found[key] for key in arms))


def _missing_runs(study: Any) -> tuple[list[Case], dict[str, float]]:
    """The cases that are wanted and not finished, in the order of the design.

    Returns:
        The cases; and by the key of a case the step up to which it begins as another
        one, which makes these steps.
    """
    rows, checkpoints, kept = [], {}, {}
    try:
        with study.stored() as (studies, row):
            rows, kept = studies.cases(row.id), row.design
            checkpoints = studies.checkpoints(row.id)
    except (StoreUnavailable, StudyError):
        pass  # nothing of it has been run
    done = {row.key for row in rows if not row.due and row.steps >= study.steps}
    wanted = study.design.first(asked_seeds(study, kept)).cases
    known = {row.key for row in rows}
    last = max((row.number for row in rows), default=0)
    rows = [replace(row, steps=max(row.steps, study.steps)) for row in rows]
    rows += [
        CaseRow(0, last + number, case.key, "", {}, None, 0, float(study.steps))
        for number, case in enumerate(study.design.cases, start=1)
        if case.key not in known
    ]
    begun = {k: fork.step for k, fork in forks_of(study, rows, checkpoints).items()}
    return [case for case in wanted if case.key not in done], begun


def _of_one_run(study: Any, case: Case, **given: Any) -> Estimate:
    """The forecast of a case, made and changed as a study's worker does it."""

    def make(**parameters: Any) -> Any:
        return Arm.of(study.model, Case(parameters, {})).make()

    make.__signature__ = inspect.signature(study.model)  # type: ignore[attr-defined]
    parameters = {n: v for n, v in case.parameters.items() if n not in _NOT_IN_PILOTS}
    if LLM in parameters:
        parameters[LLM] = PROVIDER
    change = Arm.of(study.model, case).change if case.changes else None
    return estimate(make, parameters, steps=study.steps, change=change, **given)


def _models(case: Case, llm: str | Sequence[str]) -> list[str]:
    """The models that an arm is priced for: those asked for, or its own."""
    own = case.parameters.get(LLM)
    named = llm or (own if isinstance(own, str) and own != PROVIDER else ())
    return [named] if isinstance(named, str) else list(named)


def _sum(values: Sequence[Any]) -> Any:
    return None if None in values else sum(values)


def _key(labels: Mapping[str, Any]) -> str:
    return json.dumps(encode(dict(labels)), sort_keys=True, default=str)
