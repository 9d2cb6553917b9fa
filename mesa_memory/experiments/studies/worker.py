"""Makes one case in any process: started or continued, and recorded.

What it writes depends on the case alone, not on who makes it, where and when.
"""

import traceback
from collections.abc import Callable, Iterable, Mapping
from contextlib import closing
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from mesa_memory.core.codec import encode, full_name
from mesa_memory.core.content import text_of
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.errors import (
    BudgetExceeded,
    MeasureError,
    MesaMemoryError,
    RunInUse,
    StoreError,
)
from mesa_memory.experiments.measures.questionnaires import (
    Questionnaire,
    parts_of,
    responses,
)
from mesa_memory.experiments.measures.watch import Measure, Watch
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.checks import counted_checks, recorded_checks
from mesa_memory.experiments.studies.fingerprint import changed_code
from mesa_memory.experiments.studies.forks import Fork, take_over
from mesa_memory.hosts.mesa import clock
from mesa_memory.hosts.mesa_llm import forget_tools
from mesa_memory.llm.ledger import Budget, Usage
from mesa_memory.runs.recording.config import Recording, versions
from mesa_memory.runs.recording.resume import begin_in, keep_recipe, resume_in
from mesa_memory.runtime.services import Services
from mesa_memory.stores.base import Batch, RunInfo
from mesa_memory.stores.open import open_store
from mesa_memory.stores.studies import (
    FAILED,
    FINISHED,
    STOPPED,
    CaseRow,
    Spending,
    Studies,
)

logger = logger_of(__name__)

#: states of an outcome besides those of a case
BUSY, LOST, LOST_WORKER, CHANGED = "busy", "lost", "lost worker", "changed"
#: a thing that a user has given, after its name
type NamedObject = tuple[str, Any]


@dataclass(frozen=True)
class Job:
    """A case with all that is needed to make it elsewhere.

    Attributes:
        location: the store.
        study, number, study_name: which case it is.
        run_name: of its run.
        labels: its parameters as JSON.
        measures, outcomes: see ``Watch``.
        steps: how far it goes.
        questionnaires: what agents are asked, and when.
        recorded: False writes nothing but what is measured and answered.
        fingerprint: hash of the runs' inputs.
        compared: parts of the study's fingerprint that a worker's own must equal.
        budget: of the whole study; None for unlimited.
        fork: the case that it begins as, unless it has steps already.
        forkable: others may begin as this one: each step keeps its checkpoint.
    """

    location: str
    study: int
    study_name: str
    number: int
    run_name: str
    arm: Arm
    labels: Mapping[str, Any]
    seed: Any
    steps: float
    measures: Mapping[str, Measure] = field(default_factory=dict)
    outcomes: Mapping[str, Measure] = field(default_factory=dict)
    questionnaires: tuple[Questionnaire, ...] = ()
    recorded: bool = True
    fingerprint: str | None = None
    compared: Mapping[str, Any] = field(default_factory=dict)
    budget: Budget | None = None
    fork: Fork | None = None
    forkable: bool = False

    @property
    def parts(self) -> list[NamedObject]:
        """All that the user has given for the run, with names."""
        return named_parts([self.arm], self)

    @property
    def info(self) -> RunInfo:
        """The facts of the run before its first step."""
        return RunInfo(
            model=full_name(self.arm.model),
            parameters={**self.labels, "seed": encode(self.seed)},
            seed=None if self.seed is None else str(self.seed),
            versions=versions(),
            name=self.run_name,
        )


@dataclass(frozen=True)
class JobOutcome:
    """The end of a case, as its worker reports it.

    Attributes:
        state: finished, stopped or failed; ``"busy"`` if another process makes it,
            ``"lost worker"`` if the workers that made it died;
            ``"lost"`` if the store cannot be used; ``"changed"`` if the worker has
            other code than the study.
        usage: calls, tokens and dollars of its run.
        budget: True if the budget does not allow another call.
        measure: True if no table can keep what an outcome or a measure gave.
        differences: of a worker with other code, in words.
    """

    number: int
    state: str
    error: str | None = None
    usage: Mapping[str, Any] = field(default_factory=dict)
    budget: bool = False
    measure: bool = False
    differences: tuple[str, ...] = ()


def named_parts(arms: Iterable[Arm], of: Any) -> list[NamedObject]:
    """All that the user has given for runs, with names; ``of`` is a study or a job."""
    parts = [part for arm in arms for part in arm.parts]
    parts += [(f"the measure {name!r}", each) for name, each in of.measures.items()]
    parts += [(f"the outcome {name!r}", each) for name, each in of.outcomes.items()]
    return parts + parts_of(of.questionnaires)


def run_apart(job: Job, stopping: Callable[[], bool] = lambda: False) -> JobOutcome:
    """``run_job`` in another process, if that has the study's code.

    A worker that starts while the study runs loads the files as they are by then.
    """
    changed = changed_code(job.compared, [value for _, value in job.parts])
    if changed:
        return JobOutcome(job.number, CHANGED, differences=tuple(changed))
    return run_job(job, stopping)


def run_job(job: Job, stopping: Callable[[], bool] = lambda: False) -> JobOutcome:
    """Makes a case as far as it is wanted; errors become an outcome.

    Args:
        stopping: True as soon as the run is to be ended between two steps.
    """
    try:
        with closing(open_store(job.location)) as store:
            studies = Studies(store)
            try:
                case, new = studies.claim(job.study, job.number, job.info)
            except RunInUse as error:
                return JobOutcome(job.number, BUSY, str(error))
            if not case.due:
                return JobOutcome(job.number, FINISHED, usage=case.usage)
            return _CaseRun(job, studies, case, stopping).made(new)
    except StoreError as error:
        return JobOutcome(job.number, LOST, _told(error))


class _CaseRun:
    """The run of a claimed case."""

    def __init__(
        self, job: Job, studies: Studies, case: CaseRow, stopping: Callable[[], bool]
    ) -> None:
        assert case.run is not None
        self.before = list(case.usage.get("spent", ()))
        self.job, self.studies, self.run = job, studies, case.run
        self.stopping = stopping
        self.watch = Watch(job.measures, job.outcomes, job.steps)
        self.rows: list[dict[str, Any]] = []  # of a run that is not recorded
        self.responses: list[dict[str, Any]] = []

    def made(self, new: bool) -> JobOutcome:
        """Makes the run and writes how it ended."""
        model, job = None, self.job
        try:
            model = self._model(new)
            self._share_budget(model)
            while model.running and clock(model) < job.steps:
                if self.stopping():
                    return self._settle(STOPPED, model, "it was interrupted")
                job.arm.change(model)
                self._step(model)
            return self._settle(FINISHED, model)
        except RunInUse as error:  # another process has taken the run over
            _abandon(model)
            return JobOutcome(job.number, BUSY, str(error))
        except StoreError as error:
            _abandon(model)
            return self._settle(FAILED, None, _told(error))
        except KeyboardInterrupt:
            self._settle(STOPPED, model, "it was interrupted")
            raise
        except BaseException as error:  # sys.exit, too: this run alone ends
            stopped = _due_to(error, BudgetExceeded)
            state = STOPPED if stopped else FAILED
            ended = self._settle(state, model, _told(error))
            measure = _due_to(error, MeasureError)
            return replace(ended, budget=stopped, measure=measure)
        finally:
            if model is not None:
                forget_tools(model)

    def _model(self, new: bool) -> Any:
        """The model, at its beginning or where the run was left."""
        store, job = self.studies.store, self.job
        if not job.recorded:
            if not new:
                store.truncate(self.run, -1.0)
            model = job.arm.make()
            self.watch.attach(model, fresh=True)
            self._note(model)
            return model
        each = 1 if job.forkable else None
        recording = Recording(
            job.location, job.run_name, dict(job.labels), each, each_step=self._observe
        )
        if job.fork is not None and not store.steps(self.run):
            take_over(self.studies, job.study, job.fork, self.run)
            new = False
        after = store.newest_checkpoint(self.run) or 0

        def make() -> Any:
            return job.arm.make(recording, after)

        model = begin_in(make, store, self.run) if new else self._resumed(make)
        keep_recipe(store, self.run, job.arm.recipe(model, job.location))
        if job.arm.changes and self.studies.ended_before(self.run):
            model.running = False
        recorder: Any = Services.of(model).recorder
        self.watch.attach(model, fresh=recorder.step is None)
        if recorder.step is None:
            recorder.observe(model)
        return model

    def _resumed(self, make: Callable[[], Any]) -> Any:
        store: Any = self.studies.store
        if store.steps(self.run) and store.newest_checkpoint(self.run) is None:
            store.truncate(self.run, -1.0)  # no model was asked in these steps
        return resume_in(make, store, self.run)

    def _share_budget(self, model: Any) -> None:
        """Charges the run's further use to the whole study."""
        if self.job.budget is None:
            return
        job, limits = self.job, asdict(self.job.budget)
        spending = Spending(self.studies.store, job.study, job.number, limits)
        used = self.studies.usage(self.run)
        tokens = used["tokens_in"] + used["tokens_out"]
        spending.open({"calls": used["calls"], "tokens": tokens, "cost": used["cost"]})
        Services.of(model).ledger.account = spending

    def _step(self, model: Any) -> None:
        model.step()
        if not self.job.recorded:
            if self.job.measures or self.job.outcomes:
                Services.of(model).flush()
            self._note(model)

    def _note(self, model: Any) -> None:
        self.rows += self.watch.rows(model)
        self.responses += self._asked(model)

    def _observe(self, model: Any) -> None:
        recorder: Any = Services.of(model).recorder
        recorder.measured(self.watch.rows(model))
        with recorder.noting():
            recorder.responded(self._asked(model))

    def _asked(self, model: Any) -> list[dict[str, Any]]:
        """The agents' answers at this step, after all was measured."""
        last = clock(model) >= self.job.steps or not model.running
        return responses(self.job.questionnaires, model, last)

    def _settle(self, state: str, model: Any, error: str | None = None) -> JobOutcome:
        """Ends the run, and writes how the case ended."""
        if model is not None and state != FINISHED:
            _join(model)
        done = None if model is None else self._done(state, model)
        usage = self._end(state, model, done)
        if model is None or self.job.recorded:
            usage["checks"] = recorded_checks(self.studies.store, self.run)
        else:
            usage["checks"] = counted_checks(Services.of(model).ledger)
        values = {"state": state, "done": done, "error": error, "usage": usage}
        if state == FINISHED:
            values["ended"] = not model.running
        values["fingerprint"] = self.job.fingerprint
        self.studies.settle(self.job.study, self.job.number, **values)
        return JobOutcome(self.job.number, state, error, usage)

    def _end(self, state: str, model: Any, done: float | None) -> dict[str, Any]:
        """Ends the run; returns its usage."""
        store = self.studies.store
        recorder: Any = None if model is None else Services.of(model).recorder
        if recorder is not None and recorder.active:
            if state != FINISHED and self._changing(recorder):
                recorder.abandon()  # the change is made again when the run goes on
            else:
                recorder.close(None if state == FINISHED else state)
                return self.studies.usage(self.run)
        usage = {"spent": self.before} if self.before else {}
        if model is not None and not self.job.recorded:
            Services.of(model).flush()
            usage = _ledger(model)
            usage["spent"] = self.before + usage["spent"]
            if state == FINISHED:
                batch = Batch(
                    step=float(done or 0), measures=self.rows, responses=self.responses
                )
                store.write(self.run, batch)
        store.end(self.run, state)
        return self.studies.usage(self.run) | usage

    def _changing(self, recorder: Any) -> bool:
        """True if the model was changed after the last finished step, or is to be."""
        return any(change.step == recorder.step for change in self.job.arm.changes)

    def _done(self, state: str, model: Any) -> float | None:
        """The last step that was finished."""
        recorder: Any = Services.of(model).recorder
        if state == FINISHED or recorder is None:
            return clock(model)
        return recorder.step


def _abandon(model: Any) -> None:
    """Records nothing more of a model; the store gives the lease back as it is closed."""
    recorder: Any = None if model is None else Services.of(model).recorder
    if recorder is not None:
        recorder.abandon()


def _join(model: Any) -> None:
    """Waits for calls in flight: their answers are paid for, and kept."""
    try:
        Services.of(model).flush()
    except MesaMemoryError as error:  # the run has ended for another reason already
        logger.debug("work of a memory failed in a run that has stopped: %s", error)


def _ledger(model: Any) -> dict[str, Any]:
    """The usage of a model that is not recorded, and its parts as ``Studies.spent``."""
    ledger = Services.of(model).ledger
    parts = [
        _usage(part)
        | {
            "model": name,
            "purpose": purpose,
            "tier": "",
            "calls": part.calls - part.cached,
            "not_sent": part.cached,
            "cost": part.cost or 0,
            "tokens_cached": part.cached_tokens,
            "failures": part.failures,
            "unpriced": int(part.cost is None),
        }
        for (name, purpose), part in ledger.by("model", "purpose").items()
    ]
    return _usage(ledger.total) | {"spent": parts}


def _usage(used: Usage) -> dict[str, Any]:
    return {
        "calls": used.calls,
        "tokens_in": used.prompt_tokens,
        "tokens_out": used.completion_tokens,
        "cost": used.cost,
    }


def _due_to(error: BaseException | None, kind: type[Exception]) -> bool:
    """True if an error of this kind is the reason of another."""
    while error is not None and not isinstance(error, kind):
        error = error.__cause__ or error.__context__
    return error is not None


def _told(error: BaseException) -> str:
    """An error for a table: its class, message, and place."""
    if isinstance(error, MemoryError):
        return (
            "MemoryError: the worker is out of memory. Give each machine fewer "
            "workers, or record with fewer kept checkpoints."
        )
    said = f"{type(error).__name__}: {text_of(error)}".rstrip(": ")
    notes = map(text_of, getattr(error, "__notes__", ()))
    frames = traceback.extract_tb(error.__traceback__)
    own = [f for f in frames if "mesa_memory" not in Path(f.filename).parts] or frames
    where = ""
    if own and not isinstance(error, MeasureError):
        where = f" ({Path(own[-1].filename).name}, line {own[-1].lineno}, in {own[-1].name})"
    return "; ".join([said + where, *notes])


def steps_done(job: Job) -> float:
    """The last step of a case that is in the store; 0 without one."""
    try:
        with closing(open_store(job.location, read_only=True)) as store:
            run = Studies(store).case(job.study, job.number).run
            return 0.0 if run is None else max(store.steps(run), default=0.0)
    except StoreError as error:  # the next worker will say what is wrong with it
        logger.debug("it is not known how far case %s is: %s", job.number, error)
        return 0.0
