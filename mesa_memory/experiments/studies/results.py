"""The results of a study as tables: one row for each run, step, agent or call."""

import copy
from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from mesa_memory.core.arguments import readable
from mesa_memory.experiments.measures.watch import MODEL
from mesa_memory.experiments.studies.checks import CHECKS, arm_warnings
from mesa_memory.stores.studies import Studies, StudyRow

if TYPE_CHECKING:
    import pandas as pd

#: what a row says of its case, besides the parameters
CASE, SEED, REPLICATE = "case", "seed", "replicate"
#: what a run has used
USED = ("calls", "tokens_in", "tokens_out", "cost")


class Results:
    """The tables of a study; each row says of which case it is.

    Each is a pandas DataFrame that begins with ``case`` (its number), one column for
    each parameter, ``seed`` and ``replicate``. They hold what is in the store at the
    time, in the order of the cases, and do not depend on the executor.

    Args:
        studies: the store's; it is read now.
        study: the study's row in it.
    """

    def __init__(self, studies: Studies, study: StudyRow) -> None:
        self._design, self._rows = study.design, studies.cases(study.id)
        self._measured = studies.rows("measures", study.id)
        self._called = studies.rows("calls", study.id)
        self._responded = studies.rows("responses", study.id)

    def numbers(self) -> "Results":
        """The same tables with only the numbers among outcomes, measures and variables.

        A text, also one in a list or a key of a dict, may be what an agent said.
        """
        found = copy.copy(self)
        for name in ("runs", "steps", "agents"):
            vars(found).pop(name, None)
        found._measured = [
            {**row, "measured": numbers_only(row["measured"])} for row in self._measured
        ]
        return found

    def __repr__(self) -> str:
        tables = "runs, steps, agents, calls, answers"
        return f"<Results of {len(self._rows)} runs; tables: {tables}>"

    @cached_property
    def runs(self) -> "pd.DataFrame":
        """A row for each case.

        Besides the columns of all tables: ``state``, ``steps`` done, the outcomes, ``calls``,
        ``tokens_in``, ``tokens_out``, ``cost`` in US dollars, the manipulation checks
        (``CHECKS``), ``error``, and ``run``, the name under which ``open_run`` finds the
        run. A check that was not counted is None: all but the thoughts asked and
        answered, if the run is not recorded.
        """
        outcomes = self._names("outcomes")
        last = {
            row["case"]: row["measured"]
            for row in self._measured
            if row["agent"] == MODEL and (outcomes & row["measured"].keys())
        }
        rows = []
        for case in self._rows:
            found = last.get(case.number, {})
            more = {name: readable(found.get(name)) for name in sorted(outcomes)}
            spent = {name: case.usage.get(name) for name in USED}
            done = {"state": case.state, "steps": _whole(case.done)}
            checks = case.usage.get("checks", {})
            spent |= {name: checks.get(name) for name in CHECKS}
            end = {"error": case.error, "run": case.name if case.run else None}
            rows.append(self._cases[case.number] | done | more | spent | end)
        return _frame(rows)

    @property
    def warnings(self) -> list[str]:
        """A text for each arm whose memories have made nothing of at least 12 events."""
        return arm_warnings(self._rows)

    @cached_property
    def steps(self) -> "pd.DataFrame":
        """A row for each step of each run, with the measures of the model.

        Step 0 is the beginning. What the model's own DataCollector has collected is
        there, too.
        """
        outcomes = self._names("outcomes")
        rows = []
        for row in self._measured:
            found = {n: v for n, v in row["measured"].items() if n not in outcomes}
            if row["agent"] == MODEL and found:
                rows.append(self._at(row) | _values(found))
        return _frame(rows)

    @cached_property
    def agents(self) -> "pd.DataFrame":
        """A row for each agent at each step, as the model's DataCollector has it."""
        return _frame(
            self._at(row) | {"agent": _agent(row["agent"])} | _values(row["measured"])
            for row in self._measured
            if row["agent"] != MODEL
        )

    @cached_property
    def calls(self) -> "pd.DataFrame":
        """A row for each request to a language model; no seconds, which differ."""
        names = ("purpose", "model", "tokens_in", "tokens_out", "tokens_cached",
                 "cost", "replayed", "cached", "tier", "finish", "error")  # fmt: skip
        return _frame(
            self._at(row)
            | {"agent": _agent(row["agent"])}
            | {name: row[name] for name in names}
            for row in self._called
        )

    @cached_property
    def answers(self) -> "pd.DataFrame":
        """A row for each question put to each agent, with its answer or error."""
        return _frame(
            self._at(row)
            | {"agent": _agent(row["agent"]), "question": row["question"]}
            | {"value": row["value"], "error": row["error"]}
            for row in self._responded
        )

    def _names(self, what: str) -> set[str]:
        return set(self._design.get(what, ()))

    @cached_property
    def _cases(self) -> dict[int, dict[str, Any]]:
        return {
            case.number: {CASE: case.number}
            | {name: readable(value) for name, value in case.parameters.items()}
            | {SEED: readable(case.seed), REPLICATE: case.replicate}
            for case in self._rows
        }

    def _at(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return self._cases[row["case"]] | {"step": _whole(row["step"])}


def numbers_only(measured: Mapping[str, Any]) -> dict[str, Any]:
    """What was measured, by name, with None for all but numbers and lists of them."""
    return {name: _number(value) for name, value in measured.items()}


def _number(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_number(each) for each in value]
    return value if isinstance(value, int | float) else None


def _frame(rows: Any) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame(list(rows))


def _values(found: Mapping[str, Any]) -> dict[str, Any]:
    return {name: readable(value) for name, value in found.items()}


def _whole(step: float | None) -> float | None:
    return int(step) if step is not None and step == int(step) else step


def _agent(name: str | None) -> Any:
    return int(name) if name is not None and name.isdecimal() else name
