"""The results of a study as tables: one row for each run, step, agent or call."""

from collections.abc import Iterable, Mapping
from functools import cached_property
from operator import itemgetter
from typing import TYPE_CHECKING, Any

from mesa_memory.core.codec import OBJECT, mark_of, readable
from mesa_memory.experiments.measures.after import After
from mesa_memory.experiments.measures.values import distinct_names
from mesa_memory.experiments.measures.watch import MODEL
from mesa_memory.experiments.studies.checks import CHECKS, arm_warnings
from mesa_memory.stores.studies import Studies, StudyRow

if TYPE_CHECKING:
    import pandas as pd

#: columns of each table, besides the factors: which run a row is of
CASE, SEED, REPLICATE = KEYS = ("case", "seed", "replicate")
#: what a run has used
USED = ("calls", "tokens_in", "tokens_out", "cost")
#: columns of ``Results.runs`` with what was counted; the prefix keeps them apart from names
#: of outcomes
COUNTED = tuple(f"run_{name}" for name in (*USED, *CHECKS))
#: columns of ``Results.calls``, by their names in the store
_CALLS = {
    name: f"call_{name}"
    for name in ("purpose", "model", "tokens_in", "tokens_out", "tokens_cached", "cost",
                 "replayed", "cached", "tier", "finish", "error")
}  # fmt: skip
#: the same of ``Results.answers``
_ANSWERS = {"question": "question", "value": "answer", "error": "error"}
#: the package's columns of each table, besides ``KEYS``
COLUMNS = {
    "runs": ("state", "steps", *COUNTED, "error", "run"),
    "steps": ("step",),
    "agents": ("step", "agent"),
    "calls": ("step", "agent", *_CALLS.values()),
    "answers": ("step", "agent", *_ANSWERS.values()),
}


def check_names(
    factors: Iterable[str], outcomes: Iterable[str], measures: Iterable[str]
) -> None:
    """Raises for a name that another column of the same table has.

    Raises:
        ValueError: names it.
    """
    factors = list(factors)
    given = {
        "factor": (factors, [name for own in COLUMNS.values() for name in own]),
        "outcome": (outcomes, [*COLUMNS["runs"], *factors]),
        "measure": (measures, [*COLUMNS["steps"], *factors]),
    }
    for kind, (names, taken) in given.items():
        for name in names:
            if name in KEYS or name in taken:
                raise ValueError(
                    f"the {kind} {name!r} has the name of another column, and one would "
                    "hide the other in the tables. Give it another name, such as "
                    f"'my_{name}'; for seeds, give seeds=[…]"
                )


class Results:
    """The tables of a study; each row says of which case it is.

    Each is a pandas DataFrame that begins with ``case`` (its number), one column for
    each parameter, ``seed`` and ``replicate``. They hold what is in the store at the
    time, in the order of the cases, and do not depend on the executor.

    Outcomes, measures and variables of the DataCollector are columns of their own names. A
    variable whose name another column has begins with ``collected_``.

    Args:
        studies: the store's; it is read now.
        study: the study's row in it.
        texts: False keeps only the numbers among outcomes, measures and variables. A
            text, also one in a list or a key of a dict, may be what an agent said.
    """

    def __init__(self, studies: Studies, study: StudyRow, texts: bool = True) -> None:
        self._design, self._rows = study.design, studies.cases(study.id)
        self._measured = studies.rows("measures", study.id)
        for row in self._measured if not texts else ():
            row |= {n: numbers_only(row[n] or {}) for n in ("measured", "outcomes")}
        self._called = studies.rows("calls", study.id)
        self._responded = studies.rows("responses", study.id)

    def __repr__(self) -> str:
        tables = "runs, steps, agents, calls, answers"
        return f"<Results of {len(self._rows)} runs; tables: {tables}>"

    @cached_property
    def runs(self) -> "pd.DataFrame":
        """A row for each case.

        Besides the columns of all tables: ``state``, ``steps`` done, the outcomes,
        ``run_calls``, ``run_tokens_in``, ``run_tokens_out``, ``run_cost`` in US dollars,
        the manipulation checks, such as ``run_records_made``, then ``error``, and ``run``,
        the name under which ``open_run`` finds the run. A check that was not counted is
        None: all but the thoughts asked and answered, if the run is not recorded.
        """
        ended = {
            row["case"]: row["outcomes"] for row in self._measured if row["outcomes"]
        }
        rows = []
        for case in self._rows:
            found = ended.get(case.number, {})
            if found:
                found = found | self._over_time(case.number)
            more = {n: readable(found.get(n)) for n in self._design.get("outcomes", ())}
            used = case.usage | case.usage.get("checks", {})
            done = {"state": case.state, "steps": _whole(case.done)}
            spent = {name: used.get(name.removeprefix("run_")) for name in COUNTED}
            end = {"error": case.error, "run": case.name if case.run else None}
            rows.append(self._cases[case.number] | done | more | spent | end)
        return self._frame(rows)

    def _over_time(self, case: int) -> dict[str, float | None]:
        """The outcomes of a case that are made from its measures, by name."""
        over = self._design.get("after", {})
        told = self._by_case.get(case, ()) if over else ()
        return {
            name: After(measure, *how).of([
                (row["step"], readable(row["measured"].get(measure))) for row in told
            ])
            for name, (measure, *how) in over.items()
        }  # fmt: skip

    @cached_property
    def _by_case(self) -> dict[int, list[dict[str, Any]]]:
        """The measured rows of models, by case and step."""
        found: dict[int, list[dict[str, Any]]] = {}
        for row in sorted(self._measured, key=itemgetter("step")):
            if row["agent"] == MODEL and row["measured"]:
                found.setdefault(row["case"], []).append(row)
        return found

    @property
    def warnings(self) -> list[str]:
        """Texts about what the tables lack.

        Arms whose memories have made nothing of at least 12 events, and variables of the
        DataCollector whose values no table can keep.
        """
        lost = {
            f"the variable {name!r} of the DataCollector has values of the type "
            f"{value[OBJECT]}, which no table can keep: let it give a number or a text."
            for row in self._measured
            for name, value in row["measured"].items()
            if mark_of(value) == OBJECT
        }
        return arm_warnings(self._rows) + sorted(lost)

    @cached_property
    def steps(self) -> "pd.DataFrame":
        """A row for each step of each run, with the measures of the model.

        Step 0 is the beginning. What the model's own DataCollector has collected is
        there, too.
        """
        return self._frame(
            self._at(row) | self._values(row["measured"])
            for row in self._measured
            if row["agent"] == MODEL and row["measured"]
        )

    @cached_property
    def agents(self) -> "pd.DataFrame":
        """A row for each agent at each step, as the model's DataCollector has it."""
        return self._frame(
            self._of(row) | self._values(row["measured"], "agent")
            for row in self._measured
            if row["agent"] != MODEL
        )

    @cached_property
    def calls(self) -> "pd.DataFrame":
        """A row for each request to a language model; no seconds, which differ."""
        return self._logged(self._called, _CALLS)

    @cached_property
    def answers(self) -> "pd.DataFrame":
        """A row for each question put to each agent, with its answer or error."""
        return self._logged(self._responded, _ANSWERS)

    def _logged(
        self, rows: Iterable[Mapping[str, Any]], columns: Mapping[str, str]
    ) -> "pd.DataFrame":
        return self._frame(
            self._of(row) | {shown: row[name] for name, shown in columns.items()}
            for row in rows
        )

    def _values(self, found: Mapping[str, Any], *own: str) -> dict[str, Any]:
        """Measured values for a reader, under names that no other column has."""
        named = distinct_names(found, {*self._factors, *KEYS, "step", *own})
        return {name: readable(value) for name, value in named.items()}

    @property
    def _factors(self) -> dict[str, None]:
        """The names of the factors, in order."""
        return dict.fromkeys(name for case in self._rows for name in case.parameters)

    def _frame(self, rows: Iterable[Mapping[str, Any]]) -> "pd.DataFrame":
        """A table; a factor that some runs lack keeps its whole numbers."""
        import pandas as pd

        rows = list(rows)
        frame = pd.DataFrame(rows)
        for name in self._factors:
            if name in frame and frame[name].isna().any():
                given = [row.get(name) for row in rows]
                frame[name] = pd.Series(given, dtype=object, index=frame.index)
        return frame

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

    def _of(self, row: Mapping[str, Any]) -> dict[str, Any]:
        return self._at(row) | {"agent": _agent(row["agent"])}


def numbers_only(measured: Mapping[str, Any]) -> dict[str, Any]:
    """Measured values by name, with None for all but numbers and lists of them."""
    return {name: _number(value) for name, value in measured.items()}


def _number(value: Any) -> Any:
    if isinstance(value, list | tuple):
        return [_number(each) for each in value]
    return value if isinstance(value, int | float) else None


def _whole(step: float | None) -> float | None:
    return int(step) if step is not None and step == int(step) else step


def _agent(name: str | None) -> Any:
    return int(name) if name is not None and name.isdecimal() else name
