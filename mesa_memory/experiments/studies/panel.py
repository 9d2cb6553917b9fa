"""Panel data of a study: that of each run, with its factors and seed."""

from collections.abc import Mapping
from typing import Any

from mesa_memory.core.codec import readable
from mesa_memory.errors import StudyError
from mesa_memory.experiments.studies.results import CASE, REPLICATE, SEED
from mesa_memory.runs.panel import OWN, Panel, joined, panel
from mesa_memory.runs.run import open_run

_STATE = "run_state"


def study_panel(study: Any, facts: Mapping[str, str] | None, texts: bool) -> Panel:
    """See ``Study.panel``."""
    if not study.record:
        raise StudyError(
            "a study with record=False keeps no agents and steps: run it with record=True "
            "to have panel data"
        )
    with study.stored() as (studies, row):
        found = []
        for case in studies.cases(row.id):
            if case.run is not None:
                head = {CASE: case.number}
                head |= {_free(n): readable(v) for n, v in case.parameters.items()}
                head |= {SEED: readable(case.seed), REPLICATE: case.replicate}
                with open_run(studies.store, case.run) as run:
                    own = panel(run, facts, texts)
                found.append((head | {_STATE: case.state}, own))
    told = {name: ("", f"Factor {name} of the design", "cases") for head, _ in found for name in head}  # fmt: skip
    told |= {
        CASE: ("", "Number of the run", "cases"),
        SEED: ("", "Seed of the model's random numbers", "cases"),
        REPLICATE: ("", "Number of the repetition, from 0", "cases"),
        _STATE: ("", "State of the run", "cases"),
    }
    return joined(found, told)


def _free(factor: str) -> str:
    return f"factor_{factor}" if factor in (*OWN, _STATE) else factor
