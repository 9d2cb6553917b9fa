"""The plan of a study: the stages of its runs, and the comparison of its arms."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.experiments.studies.design import Case, label_of
from mesa_memory.experiments.studies.results import COUNTED, Results
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.statistics.interaction import compared
from mesa_memory.stores.studies import FINISHED, Studies, StudyRow

EXPLORATORY = "Exploratory: {}."


def check_plan(study: Any) -> None:
    """Raises unless the study has the factor, base, outcome and seeds of its plan."""
    plan = study.plan
    if plan is None:
        return
    for factor in (plan.factor, *filter(None, [plan.by])):
        if factor not in study.design.varied:
            there = ", ".join(study.design.varied) or "none"
            raise ValueError(
                f"the plan compares the factor {factor!r}; those with several levels "
                f"are: {there}"
            )
    levels = study.design.levels(plan.factor)
    if plan.base not in levels:
        raise ValueError(
            f"the plan has base={plan.base!r}; the levels of {plan.factor!r} are {levels}"
        )
    for outcome in plan.primary + plan.secondary:
        if outcome not in study.outcomes:
            there = ", ".join(sorted(study.outcomes)) or "none"
            raise ValueError(
                f"the plan compares the outcome {outcome!r}; the study has: {there}"
            )
    seeds, last = len(study.design.seeds), max(plan.looks, default=0)
    if seeds < last:
        raise ValueError(
            f"the plan needs {last} seeds, and the study has {seeds}: give it "
            f"seeds=range({last})"
        )
    others = len(study.design.levels(plan.by)) if plan.by else 2
    plan.check_looks(len(levels) - 1, others)


def asked_seeds(study: Any, kept: Mapping[str, Any]) -> int:
    """The largest number of seeds that the plan may still ask for."""
    looks = kept.get("looks") or []
    if study.plan is not None and looks and looks[-1]["next"] == looks[-1]["seeds"]:
        return int(looks[-1]["seeds"])
    return len(study.design.seeds)


def stages(study: Any, studies: Studies, row: StudyRow) -> Iterator[list[Case]]:
    """The cases to make, in stages; the next one depends on the results so far.

    A look waits until all its runs are finished: with a failed one, the plan stays there.
    """
    plan, seeds = study.plan, study.design.seeds
    if plan is None:
        yield study.design.cases
        return
    number = plan.looks[0] if plan.looks else len(seeds)
    looks: list[dict[str, Any]] = []
    own = (plan.factor, plan.by)
    others = [name for name in study.design.varied if name not in own]
    while True:
        wanted = study.design.first(number).cases
        yield wanted
        keys = {case.key for case in wanted}
        done = [case for case in studies.cases(row.id) if case.key in keys]
        if any(case.state != FINISHED or case.due for case in done):
            return
        now = studies.find(study.name) or row
        looks.append(plan.look(Results(studies, now).runs, seeds, number, others))
        studies.update(row.id, design={**now.design, "looks": looks})
        if looks[-1]["next"] == number:
            return
        number = looks[-1]["next"]


def compare_arms(study: Any, **given: Any) -> Comparison:
    """See ``Study.compare``; what is not given is as the plan says for the outcome.

    With another base or ``by`` the plan still gives factor, outcome, margin and bounds.
    """
    plan, varied = study.plan, study.design.varied
    names = ("factor", "base", "outcome", "margin", "bounds", "by")
    asked: dict[str, Any] = {name: given.get(name) for name in names}
    mine = () if plan is None else plan.primary + plan.secondary
    outcome = asked["outcome"] or next(iter(mine), None)
    if outcome in mine:
        arms = any(asked[name] is not None for name in ("factor", "base", "by"))
        said = {n: v for n, v in plan.asked(outcome).items() if asked[n] is None}
        kept: Sequence[str] = (
            ("factor", "outcome", "margin", "bounds") if arms else names
        )
        if asked["by"] == plan.factor:
            kept = kept[1:]
        asked |= {name: said[name] for name in kept if name in said}
    factors = [name for name in varied if name != asked["by"]]
    asked["factor"] = factor = _only("factor", asked["factor"], factors)
    asked["outcome"] = outcome = outcome_of(study, asked["outcome"])
    frame = study.results().runs
    asked["base"] = _level(factor, asked["base"], frame)
    planned = outcome in mine and asked == plan.asked(outcome) | {
        "base": _level(factor, plan.base, frame)
    }
    own = factor, asked["by"]
    more: dict[str, Any] = {
        "others": [n for n in varied if n not in own and n in frame.columns],
        "leave_out_nan": bool(given.get("leave_out_nan")),
        "notes": [_note(study, planned, outcome)],
    }
    if planned and not given.get("outcome"):
        further = [f"compare(outcome={n!r})" for n in mine if n != outcome]
        if further:
            told = ", ".join(further)
            more["notes"].append(f"The plan has further outcomes: {told}.")
    if planned and outcome in plan.primary:
        return plan.compare(frame, **more)[plan.primary.index(outcome)]
    more["level"] = plan.level if planned else 0.05
    return compared(frame, **asked, **more)


def compare_outcomes(
    study: Any, **asked: Any
) -> tuple[Comparison, list[Comparison], list[str]]:
    """The comparison asked for, and those of the same arms by the other outcomes.

    Args:
        study: a ``Study`` that has run.
        **asked: see ``Study.compare``. Without an outcome and a plan, the first counts.

    Returns:
        The comparison, the others, and a sentence for each outcome that cannot be compared.
    """
    names = list(study.outcomes)
    if study.plan is None and asked.get("outcome") is None and names:
        asked["outcome"] = names[0]
    found = study.compare(**asked)
    plan, others, refused = study.plan, [], []
    same = {"factor": found.factor, "base": found.base, "by": found.by}
    for name in names:
        if name == found.outcome:
            continue
        planned = plan and name in plan.primary + plan.secondary and not asked
        try:
            others.append(study.compare(outcome=name, **({} if planned else same)))
        except ValueError as error:
            refused.append(f"{name} is not compared: {error}")
    return found, others, refused


def outcome_of(study: Any, given: str | None) -> str:
    """The outcome to compare: the only one, or a column of numbers by its name.

    Raises:
        ValueError: for any other name; lists those there are.
    """
    outcome = _only("outcome", given, sorted(study.outcomes))
    counted = ("steps", *COUNTED)
    if outcome not in study.outcomes and outcome not in counted:
        own = ", ".join(sorted(study.outcomes)) or "none"
        raise ValueError(
            f"there is no outcome {outcome!r}; those of the study are: {own}. What is "
            f"counted can be compared, too: {', '.join(counted)}"
        )
    return outcome


def _only(kind: str, given: str | None, there: list[str]) -> str:
    """The name that was given, or the only one of the study."""
    if given is not None:
        return given
    if len(there) != 1:
        names = ", ".join(there) or "none"
        raise ValueError(f"{kind}=… must name one of those of the study: {names}")
    return there[0]


def _level(factor: str, base: Any, frame: Any) -> Any:
    """The base as it stands in the table; its first level if none is given."""
    if base is None and factor in frame.columns and None not in set(frame[factor]):
        return frame[factor].iloc[0]
    return readable(label_of(factor, base)) if callable(base) else base


def _note(study: Any, planned: bool, outcome: str) -> str:
    if planned and outcome in study.plan.secondary:
        return f"Secondary outcome of the plan: {study.plan}."
    if planned:
        return f"Planned before the first run: {study.plan}."
    return unplanned(study)


def unplanned(study: Any) -> str:
    """The note on what the plan of a study does not name."""
    if study.plan is None:
        return EXPLORATORY.format("the study has no plan")
    return EXPLORATORY.format("it is not what the plan of the study names")
