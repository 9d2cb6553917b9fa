"""Enters a study and its cases into the store, and makes the jobs of its workers."""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from mesa_memory.core.codec import encode, full_name
from mesa_memory.core.content import text_of
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import MeasureError, StudyChanged, StudyError
from mesa_memory.experiments.measures.after import After
from mesa_memory.experiments.measures.watch import check_attributes, check_functions
from mesa_memory.experiments.studies.arm import MEMORY
from mesa_memory.experiments.studies.design import Case, add_names
from mesa_memory.experiments.studies.fingerprint import (
    Fingerprint,
    differences,
    digest,
    fingerprint,
    identity,
)
from mesa_memory.experiments.studies.forks import forks_of
from mesa_memory.experiments.studies.worker import Job
from mesa_memory.hosts.mesa_llm import forget_tools
from mesa_memory.llm.ledger import Budget
from mesa_memory.stores.open import is_postgres, sqlite_path
from mesa_memory.stores.studies import WAITING, Studies, StudyRow

logger = logger_of(__name__)

#: how a model takes a memory in any form
TWO_LINES = (
    "If your model looks a memory up by name, as in MEMORIES[memory](self), change two "
    "lines: 'self.memory = find(memory, MEMORIES)(self)' with find from "
    "mesa_memory.memories.registry, and 'own_memories = MEMORIES' in the model's class"
)


def enter(
    study: Any, studies: Studies, accept_drift: bool
) -> tuple[StudyRow, Fingerprint]:
    """The study in the store, which keeps the cases that it had.

    Raises:
        StudyChanged: if it has changed since its first run, and that is not accepted.
        StudyError: if the store has a study of another model by this name.
    """
    print_, design = study.fingerprint, described(study)
    row = studies.add(study.name, full_name(study.model), design, print_)
    if row.model != full_name(study.model):
        raise StudyError(
            f"{study.location} has a study {study.name!r} of another model, "
            f"{row.model}. Give this one another name: Study(…, name='…')."
        )
    begun = [case for case in studies.cases(row.id) if case.state != WAITING]
    found = differences(row.fingerprint, print_)
    if found and begun and not accept_drift:
        raise StudyChanged(
            f"{len(begun)} runs of the study {study.name!r} were made before these "
            f"changes: {'; '.join(found)}. Undo them, begin a study of another name, "
            "or continue with study.run(accept_drift=True), which notes them.",
            differences=tuple(found),
        )
    drift = list(row.drift)
    if found and begun:
        drift.append({"differences": found, "runs": len(begun)})
    told = row.design.get("forecast") if begun else study.forecast
    if told is not None:
        design["forecast"] = told
    if "awareness" in row.design:  # see ``Study.awareness``
        design["awareness"] = row.design["awareness"]
    studies.update(row.id, design=design, fingerprint=print_, drift=drift)
    return row, print_


def try_models(study: Any, studies: Studies, row: StudyRow, wanted: Any) -> None:
    """Makes a model as the first run does, to find what no run can do; drops it.

    A run of each kind of argument ``memory`` is tried: a name, a class, a function.

    Raises:
        StudyError: if the model does not take a class or a function for its memory, or
            lacks what is measured.
        MeasureError: if an outcome gives what no table can keep.
    """
    begun = {case.key for case in studies.cases(row.id) if case.run is not None}
    tried = set()
    for case in wanted:
        arm = study.arms[case.key]
        memory = arm.arguments.get(MEMORY)
        if case.key in begun or type(memory) in tried:
            continue
        tried.add(type(memory))
        try:
            model = arm.make()
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # also sys.exit
            if callable(memory):
                raise StudyError(_takes_names(study, memory, error)) from error
            logger.debug("run %s will tell what is wrong: %s", case.key, text_of(error))
            continue
        try:
            for what in ("measures", "outcomes"):
                check_attributes(what, getattr(study, what), model)
            check_functions(study.outcomes, model)
        except AttributeError as error:
            raise StudyError(f"{error}. No run was made.") from error
        except MeasureError as error:
            raise MeasureError(f"{error}. No run was made.") from error
        finally:
            forget_tools(model)


def _takes_names(study: Any, memory: Any, error: BaseException) -> str:
    model = getattr(study.model, "__name__", "the model")
    return (
        f"{model} cannot be made with memory={memory!r:.80} ({type(error).__name__}: "
        f"{text_of(error):.80}). In a study a memory may also be a class or a function of the "
        f"agent: audits and placebos give functions. {TWO_LINES}. No run was made."
    )


def add_cases(
    study: Any, studies: Studies, row: StudyRow, wanted: Sequence[Case]
) -> None:
    """Adds cases that the store lacks."""
    new = [
        {"key": case.key, "parameters": dict(case.labels)}
        | {"seed": encode(case.seed), "replicate": case.replicate}
        | {"steps": float(study.steps)}
        for case in wanted
    ]
    add_names(study.name, new, studies.cases(row.id))
    studies.add_cases(row.id, new)


def fingerprint_of(study: Any) -> Fingerprint:
    """Hashes of code, prompts, configuration and versions; see ``fingerprint``."""
    named = {"measure": study.measures, "outcome": study.outcomes}
    configuration = {
        f"{kind} {name!r}": identity(each)
        for kind, given in named.items()
        for name, each in sorted(given.items())
    }
    configuration |= {"model": identity(study.model), "record": study.record}
    if study.plan is not None:
        configuration["plan"] = study.plan.description
    if study.questionnaires:
        asked = [each.description for each in study.questionnaires]
        configuration["questionnaires"] = asked
    levels = {
        f"{name}={labels[name]}": identity(value)
        for values, labels in study.design.arms
        for name, value in values.items()
        if isinstance(labels.get(name), str) and labels[name] != value
    }
    parts = [value for _, value in study.parts]
    return fingerprint(parts, configuration, levels)


def described(study: Any) -> dict[str, Any]:
    """The design for the store, besides the cases."""
    found = {
        "measures": sorted(study.measures),
        "outcomes": sorted(study.outcomes),
        "questions": [q.name for each in study.questionnaires for q in each.questions],
        "settings": study.design.settings,
        "told": {name: _told(function) for name, function in study.outcomes.items()},
        "steps": study.steps,
        "record": study.record,
    }
    over = {n: each for n, each in study.outcomes.items() if isinstance(each, After)}
    if over:
        found["after"] = {n: [o.measure, o.step, o.form] for n, o in over.items()}
    return found if study.plan is None else found | {"plan": str(study.plan)}


def _told(function: Any) -> str:
    """The first sentence of an outcome's docstring; empty without one."""
    if isinstance(function, After):
        return str(function)
    text = (function.__doc__ or "").strip() if callable(function) else ""
    return text.partition("\n\n")[0].rstrip(".")


def jobs(
    study: Any,
    studies: Studies,
    row: StudyRow,
    wanted: Iterable[Case],
    print_: Fingerprint,
    compared: Fingerprint,
    budget: Budget | None,
) -> list[Job]:
    """A job for each wanted case that is not finished."""
    keys, made_with = {case.key for case in wanted}, digest(print_)
    number, of = study.share
    cases = studies.cases(row.id)
    begun = forks_of(study, cases, studies.checkpoints(row.id))
    return [
        Job(
            location=study.location,
            study=row.id,
            study_name=study.name,
            number=case.number,
            run_name=case.name,
            arm=study.arms[case.key],
            labels=case.parameters,
            seed=study.cases[case.key].seed,
            steps=study.steps,
            measures=study.measures,
            outcomes=study.outcomes,
            questionnaires=study.questionnaires,
            recorded=study.record,
            fingerprint=made_with,
            compared=compared,
            budget=budget,
            fork=begun.get(case.key),
            forkable=bool(study.design.changing),
        )
        for case in cases
        if case.due and case.key in keys and (case.number - number) % of == 0
    ]


def location_of(store: str | Path) -> str:
    """The store's path or address, the same in every process."""
    address = os.fspath(store)
    if is_postgres(address):
        return address
    path = sqlite_path(address)
    if path == ":memory:":
        raise ValueError(
            "a study cannot be kept in memory, as its workers could not write into it: "
            "give the path of a file, such as store='study.sqlite'"
        )
    return os.path.abspath(os.path.expanduser(path))
