"""A study: many runs of one model, with memory as a factor, kept in one store."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import StudyError
from mesa_memory.experiments.measures.after import After
from mesa_memory.experiments.measures.questionnaires import Questionnaire, checked
from mesa_memory.experiments.measures.watch import Measure, check_measures
from mesa_memory.experiments.studies.analysis import check_plan, compare_arms, stages
from mesa_memory.experiments.studies.arm import Arm
from mesa_memory.experiments.studies.design import Design
from mesa_memory.experiments.studies.entry import (
    add_cases,
    enter,
    fingerprint_of,
    jobs,
    location_of,
    try_models,
)
from mesa_memory.experiments.studies.executors import check_picklable, workers_of
from mesa_memory.experiments.studies.fingerprint import Fingerprint
from mesa_memory.experiments.studies.forks import check_changes
from mesa_memory.experiments.studies.results import Results, check_names
from mesa_memory.experiments.studies.shards import gather, shard_of
from mesa_memory.experiments.studies.status import Progress, Status, make
from mesa_memory.experiments.studies.worker import named_parts
from mesa_memory.llm.ledger import Budget
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.statistics.plan import Plan
from mesa_memory.stores.base import AUTO
from mesa_memory.stores.open import open_store
from mesa_memory.stores.studies import Studies, StudyRow

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from mesa_memory.experiments.awareness import Awareness
    from mesa_memory.experiments.controls import Audit
    from mesa_memory.experiments.estimates import StudyEstimate

logger = logger_of(__name__)


class Study:
    """Runs a model with each combination of factors and seeds, and keeps all of it.

    A study that is made again, on another day, goes on with what its store lacks.

    Args:
        model: class of Mesa model, or a function that makes one. It takes ``rng`` or
            ``seed``; if it takes ``record``, it is told where to record.
        factors: values by name, see ``Design.of``. What the model does not take may be
            ``memory`` (each agent gets it) or a setting of ``configure``.
        seeds: of the models' random numbers; each arm is run with each of them.
        steps: at which a run ends, unless the model sets ``running`` to False before.
        measures: functions of the model, or names of its attributes, by name; at the
            end of each step. What the model's DataCollector collects is kept anyway.
        outcomes: the same, at the end of the run only; attributes are there at first, too.
            ``After`` makes one from a measure's values over time.
        questionnaires: what agents are asked, and when; nothing else changes by it.
        store: path of a SQLite file, or address of a PostgreSQL database.
        replicates: runs of each arm and seed; they differ in what language models
            answer, and each has its own cached answers (``cache``).
        name: of the study, by default the model's; a store may have several.
        record: False keeps no memories and calls, only what is measured; a run that
            was killed then begins anew.
        plan: of the analysis; ``run`` then makes the seeds that it asks for, and stops.

    Raises:
        EmptyDesign: if there is nothing to run.
        UnknownMemory: if a name leads to no memory.
        TypeError, ValueError: for another wrong argument, also for a factor, outcome or
            measure with the name of another column of ``results()``.
    """

    def __init__(
        self,
        model: Callable[..., Any],
        factors: Any = None,
        *,
        seeds: Iterable[Any] = (0,),
        steps: int,
        measures: Mapping[str, Measure] | None = None,
        outcomes: Mapping[str, Measure] | None = None,
        questionnaires: Questionnaire | Iterable[Questionnaire] = (),
        store: str | Path = "study.sqlite",
        replicates: int = 1,
        name: str | None = None,
        record: bool = True,
        plan: Plan | None = None,
    ) -> None:
        if not callable(model):
            raise TypeError(
                f"model must be a model class or a function, got {model!r:.80}"
            )
        self.model = model
        self.steps = checked_int("steps", steps)
        self.design = Design.of({} if factors is None else factors, seeds, replicates)
        self.measures = check_measures("measures", measures)
        self.outcomes = check_measures("outcomes", outcomes)
        for what, each in self.outcomes.items():
            if isinstance(each, After) and each.measure not in self.measures:
                raise ValueError(
                    f"outcomes[{what!r}] is {each}, and the study lacks this measure: give "
                    f"measures={{{each.measure!r}: …}}"
                )
        self.questionnaires = checked(questionnaires)
        self.location = location_of(store)
        self.name = getattr(model, "__name__", "study") if name is None else name
        self.record, self.share = record, (1, 1)
        self.journal = AUTO
        self.forecast: dict[str, Any] | None = None
        self.take(self.design, plan)

    def take(self, design: Design, plan: Plan | None) -> None:
        """Takes a design and a plan, and makes the arms of it."""
        self.design, self.plan = design, plan
        self.cases = {case.key: case for case in design.cases}
        self.arms = {key: Arm.of(self.model, c) for key, c in self.cases.items()}
        arms = list(self.arms.values())
        check_names(design.factors, self.outcomes, self.measures)
        check_plan(self)
        check_changes(arms, self.steps, self.record)
        self.parts = named_parts(arms, self)

    def __repr__(self) -> str:
        return f"<Study {self.name!r}: {len(self.cases)} runs in {self.location}>"

    def run(
        self,
        executor: Any = None,
        *,
        budget: Budget | None = None,
        accept_drift: bool = False,
        progress: bool = True,
    ) -> Status:
        """Makes the runs that are missing; finished ones are not made again.

        A run that fails does not stop the others; ``status().failed`` lists it, and the
        next ``run`` tries it again. After an interrupt (Ctrl-C), or if a worker was
        killed, the next ``run`` goes on from the last checkpoint, and pays for no
        answer a second time.

        Args:
            executor: who makes the runs: None is a process for each processor, a number
                is that of processes, ``"serial"`` is this process; or ``Processes``, or
                an executor of ``concurrent.futures``, Dask or mpi4py.
            budget: of the whole study, over all workers, with what it has used before.
            accept_drift: go on although code, prompts, configuration or versions
                differ from those of the runs that are there; the study keeps what
                differed.
            progress: show a bar on stderr.

        Raises:
            BudgetExceeded: if the budget does not allow the next call; what was
                recorded is kept, and ``run`` with another budget goes on from there.
            StudyChanged: if they differ, and that was not accepted; or if code changed
                while the study ran.
            StudyError: if the model does not take an arm's memory, or lacks what is
                measured; no run is made then.
            MeasureError: if a table cannot keep what an outcome or a measure gave; no
                further run is begun.
            NotPicklable: if a part cannot be sent to the workers, before they start; or
                if one cannot load it.
            WorkerLost: if workers do not start, several times in a row.
            StoreError: if the store cannot be used.
        """
        workers = workers_of(executor)
        if budget is not None and not isinstance(budget, Budget):
            raise TypeError(f"budget must be a Budget(cost=…) or None, got {budget!r}")
        check_picklable(workers.dumps(self.parts), self.parts)
        bar, store = Progress(progress), open_store(self.location, journal=self.journal)
        with closing(bar.bar), closing(store):
            studies = Studies(store)
            row, print_ = enter(self, studies, accept_drift)
            # What was accepted may differ between machines; code never may.
            compared = {"code": print_["code"]} if accept_drift else print_
            for wanted in stages(self, studies, row):
                add_cases(self, studies, row, wanted)
                try_models(self, studies, row, wanted)
                studies.free_reserved(row.id)
                todo = jobs(self, studies, row, wanted, print_, compared, budget)
                spent = Status(self.name, tuple(studies.cases(row.id))).cost
                bar.begin(len(todo), spent)
                make(studies, workers, todo, bar, lambda: self.fingerprint)
            status = self._status(studies, self._row(studies))
        if status.failed or status.warnings:
            logger.warning("%s", status)
        return status

    def status(self) -> Status:
        """The progress of the study, as the store has it."""
        with self.stored() as (studies, row):
            return self._status(studies, row)

    def results(self) -> Results:
        """The results so far, as tables.

        Raises:
            StudyError: if the store does not have this study.
            StoreError: if it cannot be read.
        """
        with self.stored() as (studies, row):
            return Results(studies, row)

    def shard(self, number: int, of: int) -> "Study":
        """One of ``of`` shards: each ``of``-th run, in a file of its own.

        Jobs of a cluster each run their own, such as ``study.shard(3, 40).run("serial")``;
        then ``study.gather()`` takes all finished runs into the study's file.

        Raises:
            ValueError: unless ``number`` is 1 to ``of``, or for a study in PostgreSQL.
        """
        return shard_of(self, number, of)

    def gather(self) -> int:
        """Takes the finished and failed runs of all shards over; returns their number.

        Raises:
            StudyChanged: if a shard was made with other code, outcomes, versions or steps.
        """
        return gather(self)

    def estimate(self, llm: Any = (), **given: Any) -> "StudyEstimate":
        """The cost of the missing runs, before they are paid; nothing is sent.

        Before the study's first run, ``run`` keeps the total of the forecast, and
        ``status()`` and ``methods()`` show them beside what was counted.

        Args:
            llm: models to be priced; by default each arm's own, its ``llm``.
            **given: ``cached``, ``replies``, ``prices``, ``policy`` and
                ``effort`` of ``mesa_memory.experiments.estimates``.
        """
        from mesa_memory.experiments.estimates import estimate_study

        told = estimate_study(self, llm, **given)
        self.forecast = told.total
        return told

    def compare(
        self,
        factor: str | None = None,
        *,
        base: Any = None,
        outcome: str | None = None,
        margin: float | None = None,
        bounds: tuple[float, float] | None = None,
        by: str | None = None,
        leave_out_nan: bool = False,
    ) -> Comparison:
        """Compares the arms with one of them, by paired differences on seeds.

        What is not given is as the plan says for the outcome; with another base or ``by``
        the plan still gives factor, outcome, margin and bounds. Without a plan it is the
        only factor, its first level and the only outcome.

        Args:
            factor: the one with the levels to compare.
            base: the level that the others are compared with.
            outcome: name of the outcome.
            margin: the largest difference that counts as none.
            bounds: lowest and highest possible outcome, such as (0, 1) of a share: the
                intervals then hold for any shape.
            by: another factor: the effects at its levels are compared with each other, see
                ``compare_effects``.
            leave_out_nan: seeds whose outcome is NaN in an arm are left out.

        Raises:
            ValueError: for an unknown name or level, or if no two seeds are finished.
            StoreError, StudyError: if the results cannot be read.
        """
        return compare_arms(
            self, factor=factor, base=base, outcome=outcome, margin=margin,
            bounds=bounds, by=by, leave_out_nan=leave_out_nan,
        )  # fmt: skip

    def seeds_for(
        self,
        *,
        effect: float | None = None,
        interaction: float | None = None,
        power: float = 0.8,
        half_width: float | None = None,
        **compared: Any,
    ) -> dict[Any, tuple[int, int]]:
        """The seeds that each arm needs, with the finished runs as the pilot.

        Two numbers for each arm, as the pilot does not know the spread of the outcome.

        Args:
            effect, interaction, power, half_width: see ``Comparison.seeds_for``.
            **compared: ``factor``, ``base``, ``outcome`` and ``by``, see ``compare``.

        Raises:
            ValueError: as ``compare`` does, and for a number out of its range.
        """
        found = self.compare(**compared)
        return found.seeds_for(
            effect=effect, interaction=interaction, power=power, half_width=half_width
        )

    def audit(
        self,
        memory: Any,
        *,
        outcome: str | None = None,
        base: Any = None,
        wordings: Mapping[str, Callable[[str], str]] | None = None,
        axes: Sequence[str] = ("wording",),
        given: Mapping[str, Any] | None = None,
        margin: float | None = None,
        executor: Any = None,
        progress: bool = True,
    ) -> "Audit":
        """Runs an arm and its base again with changes that must not matter.

        ``wording`` changes order, headings and form of the arm's text, see
        ``memories.rephrasings``; a wording that changes no recorded text is left out and
        named. ``order``, ``ids``, ``names`` and ``streams`` (random numbers) turn the model
        before its first step, ``label`` gives the memories another name, ``sharing`` looks
        for agents with one memory. ``model``, ``temperature`` and ``size`` need ``given``.
        All runs are a study of their own in the same store; finished ones are not repeated.

        Args:
            memory: level of the factor ``memory``.
            outcome: name of the outcome.
            base: another level, whose difference from the arm is the effect; without it,
                the arm's outcome is compared.
            wordings: your own functions from a text to another text, by name.
            axes: of the audit, see above.
            given: levels by axis, such as ``{"temperature": [0.0, 1.0]}``; of ``size`` by
                argument: ``{"size": {"n_agents": [10, 60]}}``.
            margin: the largest change that counts as none; None takes the plan's.
            executor, progress: see ``run``.

        Raises:
            ValueError: for an unknown level, outcome or axis, or a name that is taken.
        """
        from mesa_memory.experiments.controls import audit

        return audit(
            self, memory, axes, given or {}, margin, outcome=outcome, base=base,
            wordings=wordings or {}, executor=executor, progress=progress,
        )  # fmt: skip

    def awareness(
        self,
        n: int = 50,
        *,
        llm: str | None = None,
        api_base: str | None = None,
        experiment: str | None = None,
        expected: str | None = None,
    ) -> "Awareness":
        """Shows recorded prompts to the model that was asked: does it know the experiment?

        Of each memory, up to ``n`` decisions are sent with three questions: which experiment
        is this, what result is expected, does the text say what to do. The log says the
        price first. Runs stay as they are; checklist and report have the shares.

        Args:
            n: prompts of each memory, evenly over its decisions.
            llm, api_base: another model, ``"provider/model"``, and its server.
            experiment, expected: patterns (``re``) of a right answer; None counts any
                answer but "unknown".

        Raises:
            StudyError: without recorded decisions, or if code decided in them.
        """
        from mesa_memory.experiments.awareness import awareness

        checked_int("n", n)
        found = awareness(self, n, llm, api_base, experiment, expected)
        with closing(open_store(self.location)) as store:
            studies = Studies(store)
            row = self._row(studies)
            studies.update(row.id, design={**row.design, "awareness": found.lines})
        return found

    def methods(self) -> str:
        """The methods section: design, models, cost, versions, accepted differences.

        Raises:
            StoreError, StudyError: if the store cannot be read, or lacks the study.
        """
        from mesa_memory.experiments.reports import facts, methods

        with self.stored() as (studies, row):
            return methods.methods(facts.facts_of_study(studies, row))

    def checklist(self) -> str:
        """The core items of GUIDE-LLM, and what is recorded for an ODD description."""
        from mesa_memory.experiments.reports import facts, methods

        with self.stored() as (studies, row):
            return methods.checklist(facts.facts_of_study(studies, row))

    def report(
        self,
        path: str | Path,
        *,
        audit: Any = None,
        overwrite: bool = False,
        **compared: Any,
    ) -> Path:
        """Writes one HTML file that shows the study without a server or a network.

        It has what ``compare`` says of all outcomes, each seed, the measures by step,
        manipulation checks, defaults, cost beside the forecast, methods, and the first
        decision in which two arms of a seed differ.

        Args:
            path: of the file; its folder must exist.
            audit: of ``Study.audit``, to be shown, too.
            overwrite: replace a file that exists.
            **compared: ``factor``, ``base``, ``outcome``, ``by`` and others, see ``compare``;
                of several outcomes without a plan, the first is the main one.

        Raises:
            FileExistsError: if there is such a file, and ``overwrite`` is False.
            ValueError, StoreError, StudyError: as for ``compare``.
        """
        from mesa_memory.experiments.reports.study_report import write_study_report

        return write_study_report(self, path, audit, overwrite, **compared)

    def curves(self, **compared: Any) -> "Figure":
        """The measures by step: a line for each arm, with a band over its runs.

        Args:
            **compared: names the arms, see ``compare``.

        Raises:
            StudyError: if no measure changes with the steps.
        """
        from mesa_memory.experiments.reports.study_report import curves

        found = curves(self.results().steps, self.compare(**compared), self.measures)
        if found is None:
            raise StudyError(
                "no measure of the study changes with the steps: give measures=…, or let "
                "the model's DataCollector collect some"
            )
        return found[0]

    def panel(
        self,
        path: str | Path | None = None,
        *,
        facts: Mapping[str, str] | None = None,
        texts: bool = True,
    ) -> Any:
        """Panel data of all runs: one row for each run, agent and step; see ``Run.panel``.

        Each row begins with ``case``, the factors, ``seed``, ``replicate`` and the state
        of its run.

        Args:
            path, facts, texts: see ``Run.panel``.

        Raises:
            StudyError: if the runs are not recorded.
        """
        from mesa_memory.experiments.studies.panel import study_panel
        from mesa_memory.runs import panel

        frame = study_panel(self, facts, texts).frame()
        return frame if path is None else panel.write(frame, path)

    def archive(self, folder: str | Path, *, texts: bool = True) -> Path:
        """Writes a sealed folder with all of the study, for a repository of data.

        Tables, panel data, methods, checklist, the report if arms can be compared, the store, and a
        list of all files with their hashes; ``verify(folder)`` checks it.

        Args:
            folder: must not exist yet.
            texts: False leaves out what agents and models said. Numbers stay, and names
                that programs choose, such as kinds of events and purposes; outcomes,
                measures and variables that are not numbers do not.

        Raises:
            FileExistsError: if the folder exists.
        """
        from mesa_memory.experiments.reports.archive import archive_study

        return archive_study(self, Path(folder), texts)

    @property
    def fingerprint(self) -> Fingerprint:
        """Hashes of code, prompts, configuration and versions; see ``fingerprint``."""
        return fingerprint_of(self)

    def _status(self, studies: Studies, row: StudyRow) -> Status:
        cases, forecast = tuple(studies.cases(row.id)), row.design.get("forecast")
        return Status(self.name, cases, tuple(row.drift), forecast)

    @contextmanager
    def stored(self) -> Iterator[tuple[Studies, StudyRow]]:
        """The study in its store, to be read.

        Raises:
            StudyError: if the store does not have this study.
            StoreError: if it cannot be read.
        """
        with closing(open_store(self.location, read_only=True)) as store:
            studies = Studies(store)
            yield studies, self._row(studies)

    def _row(self, studies: Studies) -> StudyRow:
        row = studies.find(self.name)
        if row is None:
            raise StudyError(
                f"{self.location} has no study {self.name!r}, but "
                f"{studies.names()}. Run it first: study.run()."
            )
        return row
