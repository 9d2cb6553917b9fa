"""The runs of a study that are still to be made, and where each of them begins."""

from dataclasses import replace
from typing import Any

from mesa_memory.errors import StoreUnavailable, StudyError
from mesa_memory.experiments.studies.design import Case
from mesa_memory.experiments.studies.forks import forks_of
from mesa_memory.experiments.studies.planned import asked_seeds
from mesa_memory.stores.studies import CaseRow


def missing_runs(study: Any) -> tuple[list[Case], dict[str, float]]:
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
    known, last = (
        {row.key for row in rows},
        max((row.number for row in rows), default=0),
    )
    rows = [replace(row, steps=max(row.steps, study.steps)) for row in rows]
    rows += [
        CaseRow(0, last + number, case.key, "", {}, None, 0, float(study.steps))
        for number, case in enumerate(study.design.cases, start=1)
        if case.key not in known
    ]
    begun = {k: fork.step for k, fork in forks_of(study, rows, checkpoints).items()}
    return [case for case in wanted if case.key not in done], begun
