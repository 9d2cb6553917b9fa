"""Makes the runs of a study in stages, as its plan asks for them."""

from collections.abc import Iterator, Mapping
from typing import Any

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.experiments.studies.design import Case
from mesa_memory.experiments.studies.results import Results
from mesa_memory.stores.studies import FINISHED, Studies, StudyRow

logger = logger_of(__name__)


def check_plan(study: Any) -> None:
    """Raises unless the study has the factor, base, outcome and seeds of its plan."""
    plan = study.plan
    if plan is None:
        return
    if plan.factor not in study.design.varied:
        there = ", ".join(study.design.varied) or "none"
        raise ValueError(
            f"the plan compares the factor {plan.factor!r}; those with several levels "
            f"are: {there}"
        )
    levels = study.design.levels(plan.factor)
    if plan.base not in levels:
        raise ValueError(
            f"the plan has base={plan.base!r}; the levels of {plan.factor!r} are {levels}"
        )
    if plan.outcome not in study.outcomes:
        there = ", ".join(sorted(study.outcomes)) or "none"
        raise ValueError(
            f"the plan compares the outcome {plan.outcome!r}; the study has: {there}"
        )
    if len(study.design.seeds) < plan.least:
        raise ValueError(
            f"the plan needs {plan.least} seeds, and the study has "
            f"{len(study.design.seeds)}: give it seeds=range({plan.least})"
        )


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
    number, looks = plan.first, []
    others = [name for name in study.design.varied if name != plan.factor]
    while True:
        wanted = study.design.first(number).cases
        yield wanted
        keys = {case.key for case in wanted}
        done = [case for case in studies.cases(row.id) if case.key in keys]
        if any(case.state != FINISHED or case.due for case in done):
            return
        now = studies.find(study.name) or row
        looks.append(plan.look(Results(studies, now).runs, seeds, number, others))
        wanted_next = looks[-1]["next"]
        studies.update(row.id, design={**now.design, "looks": looks})
        if wanted_next > len(seeds):
            logger.warning(
                "the plan asks for %d seeds, and the study has %d: give it "
                "seeds=range(%d) and run it again",
                wanted_next, len(seeds), wanted_next,
            )  # fmt: skip
        if wanted_next == number or wanted_next > len(seeds):
            return
        number = wanted_next
