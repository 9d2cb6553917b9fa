"""The comparison of a study's arms, with what its plan says of it."""

from typing import Any

from mesa_memory.core.arguments import readable
from mesa_memory.experiments.studies.design import label_of
from mesa_memory.experiments.studies.results import COUNTED
from mesa_memory.inference.comparison import Comparison, compare

EXPLORATORY = "Exploratory: {}."


def compare_arms(
    study: Any, factor: str | None, base: Any, outcome: str | None, margin: float | None
) -> Comparison:
    """See ``Study.compare``."""
    plan = study.plan
    if plan is not None and (factor, base, outcome, margin) == (None,) * 4:
        factor, base, outcome, margin = (
            plan.factor, plan.base, plan.outcome, plan.margin
        )  # fmt: skip
    varied = study.design.varied
    factor = _only("factor", factor, varied)
    outcome = outcome_of(study, outcome)
    frame = study.results().runs
    level = _level(factor, base, frame)
    others = [name for name in varied if name != factor and name in frame.columns]
    planned = plan is not None and (
        factor, level, outcome, margin
    ) == (plan.factor, _level(factor, plan.base, frame), plan.outcome, plan.margin)  # fmt: skip
    return compare(
        frame,
        factor,
        outcome=outcome,
        base=level,
        margin=margin,
        others=others,
        level=plan.level if plan is not None and planned else 0.05,
        notes=[_note(study, planned)],
    )


def compare_outcomes(
    study: Any, **compared: Any
) -> tuple[Comparison, list[Comparison], list[str]]:
    """The comparison asked for, and those of the same arms by the other outcomes.

    Args:
        study: a ``Study`` that has run.
        **compared: see ``Study.compare``. Without an outcome and a plan, the first counts.

    Returns:
        The comparison, the others, and a sentence for each outcome that cannot be compared.
    """
    names = list(study.outcomes)
    if study.plan is None and compared.get("outcome") is None and names:
        compared["outcome"] = names[0]
    found = study.compare(**compared)
    others, refused = [], []
    for name in names:
        if name == found.outcome:
            continue
        try:
            same = {"factor": found.factor, "base": found.base, "outcome": name}
            others.append(study.compare(**same))
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


def _note(study: Any, planned: bool) -> str:
    if planned:
        return f"Planned before the first run: {study.plan}."
    if study.plan is None:
        return EXPLORATORY.format("the study has no plan")
    return EXPLORATORY.format("it is not what the plan of the study names")
