"""A store for Mesa's ``run_scenarios``, in the file of a study.

The protocol is ``mesa.experimental.scenarios.Store`` of Mesa's main branch, August 2026.
"""

from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from mesa_memory.core.arguments import encode, full_name, lost
from mesa_memory.errors import ParameterError, StudyChanged
from mesa_memory.experiments.studies.design import Case
from mesa_memory.experiments.studies.entry import location_of
from mesa_memory.hosts.mesa import arguments as mesa_arguments
from mesa_memory.runs.recording.parameters import decoded
from mesa_memory.stores.open import open_store
from mesa_memory.stores.studies import FAILED, FINISHED, STOPPED, CaseRow, Studies

#: name of the study
NAME = "scenarios"
#: the protocol's methods that write nothing
READ = ("writer", "retrieve_output", "read_scenarios", "status", "check_status",
        "succeeded", "failed", "pending", "aborted")  # fmt: skip


class ScenarioStore:
    """Keeps what ``run_scenarios(…, store=…)`` makes: each run as soon as it has ended.

    It has the methods of Mesa's ``Store``. Made again with the same file, it has all
    runs of before; those in ``pending()`` and ``failed()`` are still to be made.

    Args:
        scenario_class: of the scenarios: a file does not say which code to load.
        store: path of a SQLite file, or address of a PostgreSQL database; it gets a
            study ``"scenarios"`` with a case for each of them.

    Raises:
        HostChanged: if the installed Mesa lacks ``run_scenarios``.
        StoreError: if the store cannot be used; also when something is written.
    """

    def __init__(self, scenario_class: type, store: str | Path) -> None:
        self._mesa, self._errors = mesa_arguments.scenario_runs()
        self._kind, self._location = scenario_class, location_of(store)
        self._numbers: dict[Any, int] = {}  # of cases
        self._inner = self._mesa.InMemoryStore()
        for method in READ:
            setattr(self, method, getattr(self._inner, method))
        with self._studies() as (studies, study):
            for case in studies.cases(study):
                self._load(case)

    def write_scenarios(self, scenarios: list[Any], config: Any = None) -> None:
        """Enters scenarios that are about to be run; others that are there stay.

        Raises:
            ParameterError: for a parameter that cannot be written, such as an object.
            StudyChanged: if the store has other scenarios with these ids.
        """
        rows = list(map(self._row, scenarios))
        with self._studies() as (studies, study):
            known = {case.name: case.key for case in studies.cases(study)}
            for row in rows:
                if known.get(row["name"], row["key"]) != row["key"]:
                    raise StudyChanged(
                        f"{self._location} has {row['name']} with other parameters or "
                        "another seed: give the new scenarios other ids, or a new store"
                    )
            studies.add_cases(study, rows)
            self._numbers = {self._id(c): c.number for c in studies.cases(study)}
        self._inner.write_scenarios(scenarios)

    def mark_succeeded(self, ref: Any) -> None:
        """Writes the output of a run.

        Raises:
            ParameterError: for a table with anything else than numbers, texts and lists.
        """
        tables = {name: _plain(name, frame) for name, frame in ref.payload.items()}
        self._end(ref.run_id, FINISHED, {"output": tables})
        self._inner.mark_succeeded(ref)

    def mark_failed(self, run_id: Any, failure: Any) -> None:
        """Writes why a run failed."""
        self._end(run_id, FAILED, _told(failure))
        self._inner.mark_failed(run_id, failure)

    def mark_aborted(self, run_id: Any, failure: Any) -> None:
        """Writes why a run was not made, such as lost workers."""
        self._end(run_id, STOPPED, _told(failure))
        self._inner.mark_aborted(run_id, failure)

    @contextmanager
    def _studies(self) -> Iterator[tuple[Studies, int]]:
        """The store, open, and the id of the study in it."""
        with closing(open_store(self._location)) as store:
            studies = Studies(store)
            yield studies, studies.add(NAME, full_name(self._kind), {}, {}).id

    def _end(self, run_id: Any, state: str, usage: Mapping[str, Any]) -> None:
        """Writes how a run ended.

        Raises:
            MesaException: Mesa's own, for a run that was never entered.
        """
        self._inner.check_status(run_id)
        ended = {"state": state, "ended": True, "usage": usage}
        with self._studies() as (studies, study):
            studies.settle(study, self._numbers[run_id], **ended)

    def _id(self, case: CaseRow) -> Any:
        return self._mesa.RunId(case.parameters["scenario_id"], case.replicate)

    def _row(self, scenario: Any) -> dict[str, Any]:
        """A scenario as a case."""
        number, values = mesa_arguments.scenario_parts(scenario)
        source, replicate = values.pop("rng"), values.pop("replication_id")
        parameters = {name: encode(value) for name, value in values.items()}
        _check(f"a parameter of scenario {number}", parameters)
        parameters["scenario_id"] = number
        generator = type(scenario.rng.bit_generator).__name__
        seed = encode([generator, source.entropy, list(source.spawn_key)])
        key = Case({}, parameters, seed, replicate).key
        name = f"{NAME}/scenario={number},replication={replicate}"
        row = {"key": key, "name": name, "parameters": parameters, "steps": 0.0}
        return row | {"seed": seed, "replicate": replicate}

    def _load(self, case: CaseRow) -> None:
        """Takes a case of the store into memory."""
        values = decoded(case.parameters, None) | {"replication_id": case.replicate}
        number = values.pop("scenario_id")
        generator, entropy, spawned = decoded(case.seed, None)
        sequence = np.random.SeedSequence(entropy, spawn_key=spawned)
        values["rng"] = np.random.Generator(getattr(np.random, generator)(sequence))
        scenario = mesa_arguments.make_scenario(self._kind, number, values)
        self._inner.write_scenarios([scenario])
        run_id = self._id(case)
        self._numbers[run_id] = case.number
        if case.state == FINISHED:
            output = _frames(case.usage["output"])
            self._inner.mark_succeeded(self._mesa.InMemoryReference(run_id, output))
        elif told := case.usage.get("failure"):
            told |= {"origin": self._errors.FailureOrigin(told["origin"])}
            mark = {FAILED: self._inner.mark_failed, STOPPED: self._inner.mark_aborted}
            mark[case.state](run_id, self._errors.FailureInfo(**told))


def _told(failure: Any) -> dict[str, Any]:
    return {"failure": asdict(failure) | {"origin": failure.origin.value}}


def _check(what: str, plain: Any) -> None:
    """Raises for plain data that lacks something."""
    if why := lost(plain):
        raise ParameterError(f"{what} cannot be written: {why}. Give it as plain data")


def _plain(name: str, frame: Any) -> dict[str, Any]:
    """A DataFrame with its index as plain data."""
    flat = frame.reset_index(allow_duplicates=True)
    columns = [
        [encode(label), str(column.dtype), [encode(value) for value in column.tolist()]]
        for label, column in flat.items()
    ]
    plain = {"index": list(map(encode, frame.index.names)), "columns": columns}
    _check(f"the output {name!r}", plain)
    return plain


def _frames(output: Mapping[str, Any]) -> dict[str, Any]:
    """The DataFrames of an output again."""
    import pandas as pd

    found = {}
    for name, plain in output.items():
        names, columns = decoded(plain["index"], None), decoded(plain["columns"], None)
        series = [pd.Series(values, dtype=dtype) for _, dtype, values in columns]
        frame = pd.concat(series, axis=1).set_index(list(range(len(names))))
        frame.index.names = names
        frame.columns = pd.Index([label for label, *_ in columns[len(names) :]])
        found[name] = frame
    return found
