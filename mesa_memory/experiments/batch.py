"""Mesa's ``batch_run`` on top of a study: the same arguments, the same rows."""

import inspect
import itertools
import tempfile
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from mesa_memory.errors import StudyError
from mesa_memory.experiments.measures.watch import MODEL
from mesa_memory.experiments.studies.design import Case, Design
from mesa_memory.experiments.studies.executors import SERIAL
from mesa_memory.experiments.studies.factors import Factor
from mesa_memory.experiments.studies.results import Results, value_of
from mesa_memory.experiments.studies.study import Study

type Row = dict[str, Any]


def batch_run(
    model_cls: Any,
    parameters: Mapping[str, Any],
    number_processes: int | None = 1,
    iterations: int | None = None,
    data_collection_period: int = -1,
    max_steps: int = 1000,
    display_progress: bool = True,
    rng: Any = None,
    *,
    store: str | Path | None = None,
    executor: Any = None,
    record: bool | None = None,
) -> list[Row]:
    """Runs a model with each combination of parameters, as Mesa's ``batch_run`` does.

    Args:
        model_cls: class of the model; what its ``datacollector`` collects is returned.
        parameters: values by name, one or several each.
        number_processes: None is one for each processor; 1 is this process.
        iterations: runs of each combination, if there is no ``rng``.
        data_collection_period: -1 gives the last row that was collected, n every n-th one.
        max_steps: at which a run ends.
        display_progress: show a bar.
        rng: a seed, or several: each combination is run with each.
        store: where the study is kept, so that it goes on with what is missing; None
            keeps nothing.
        executor: who makes the runs, see ``Study.run``; instead of
            ``number_processes``.
        record: True records memories and calls in the store; by default if there is
            one.

    Returns:
        Rows as Mesa's, in the order of ``RunId``.

    Raises:
        StudyError: if a run has failed; in a store, the others are kept.
        ValueError: for both ``iterations`` and ``rng``.
    """
    if iterations is not None and rng is not None:
        raise ValueError(
            "you cannot use both iterations and rng at the same time. Please only use "
            "rng."
        )
    seeds = [None] * iterations if iterations is not None else _several(rng)
    cases, runs = _cases(model_cls, parameters, seeds)
    chosen = executor or (SERIAL if number_processes == 1 else number_processes)
    with tempfile.TemporaryDirectory(prefix="mesa-memory-") as folder:
        study = Study(
            model_cls,
            Design((), (), tuple(seeds), listed=cases),
            steps=max_steps,
            store=Path(folder) / "study.sqlite" if store is None else store,
            record=store is not None if record is None else record,
        )
        status = study.run(chosen, progress=display_progress)
        if status.failed:
            raise StudyError(str(status))
        return list(_rows(study.results(), runs, data_collection_period))


def _several(rng: Any) -> list[Any]:
    return list(rng) if isinstance(rng, Iterable) else [rng]


def _cases(
    model: Any, parameters: Mapping[str, Any], seeds: list[Any]
) -> tuple[tuple[Case, ...], dict[str, Row]]:
    """Mesa's runs in Mesa's order, and by key what each of its rows begins with."""
    named = "seed" if "seed" in inspect.signature(model).parameters else "rng"
    factors = [Factor.of(name, values) for name, values in parameters.items()]
    names = [factor.name for factor in factors]
    cases: list[Case] = []
    runs: dict[str, Row] = {}
    count: Counter[str] = Counter()
    for iteration, seed in enumerate(seeds):
        again, count[repr(seed)] = count[repr(seed)], count[repr(seed)] + 1
        for levels in itertools.product(*(factor.levels for factor in factors)):
            values = {name: level.value for name, level in zip(names, levels)}
            labels = {name: level.label for name, level in zip(names, levels)}
            case = Case(values, labels, seed, again)
            first: Row = {"RunId": len(cases), "iteration": iteration}
            runs[case.key] = {"case": first, "given": {**values, named: seed}}
            cases.append(case)
    return tuple(cases), runs


def _rows(results: Results, runs: dict[str, Row], period: int) -> Iterator[Row]:
    """The rows of Mesa's format from what was measured."""
    own: dict[int, dict[float, Row]] = defaultdict(dict)
    agents: dict[tuple[int, float], list[Row]] = defaultdict(list)
    for row in results.measured:
        case, step = row["case"], row["step"]
        values = {name: value_of(value) for name, value in row["measured"].items()}
        if row["agent"] == MODEL:
            own[case][step] = values
        else:
            whose = {"AgentID": int(row["agent"])}
            agents[case, step].append(whose | values)
    numbers = {case.key: case.number for case in results.rows}
    for key, run in runs.items():
        number = numbers[key]
        steps = sorted(own[number])
        for step in steps[-1:] if period == -1 else steps[::period]:
            head = run["case"] | {"Step": step} | run["given"] | own[number][step]
            told = sorted(agents[number, step], key=lambda row: row["AgentID"])
            yield from [head | row for row in told] or [head]
