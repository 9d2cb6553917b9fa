"""The exam: what memories keep of a made life, for how long, and at which price."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from mesa_memory.core.content import dollars
from mesa_memory.core.notebook import NotebookShown
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import StudyError
from mesa_memory.experiments.exam.items import INTERVALS, KINDS, RIGHT, languages
from mesa_memory.experiments.exam.life import STAGES, Life
from mesa_memory.experiments.measures import metrics
from mesa_memory.experiments.reports.templates import COLOURS, page, picture
from mesa_memory.experiments.studies.study import Study
from mesa_memory.statistics.comparison import Comparison, compare
from mesa_memory.statistics.difference import PairedDifference

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.figure import Figure

#: what is measured of each item
MEASURES = ("shown", "found", "answered")
#: the retention interval at which the price of a kept item is told, in steps
PRICED_AT = 20
#: factors of an exam
FACTORS = ("memory", "llm", "language")
#: what is said of each table of the page
NOTES = {
    "Shares": "Share of items that are right, mean over seeds: shown in the agent's "
    "prompt, found among three recalled records, answered by the language model.",
    "Losses": "Share of all items that were lost, by the stage at which they were.",
    "Kinds": "Share of items shown, by kind.",
    "Errors": "Items that were not right, by kind and judgement.",
}
#: of the curves
CURVES = (*COLOURS, "#000000")


class Exam:
    """Memories live through the same made life, and are asked what they have kept.

    One agent among six others hears items whose truth is known, among small talk. Each
    item is asked for once, after its retention interval, without a trace in the memory.

    Args:
        memories: names of memories (see ``registry.find``), or functions of an agent by
            label; also of your own.
        llm: whom memories and agent ask, or several; see ``configure``. An object has a
            label: ``{"mine": MyLLM()}``.
        seeds: of names, numbers and order; each memory lives through each.
        steps: of a life; an item that does not fit is left out.
        languages: of sentences and prompts: en, de, fr, es, pt, ja, zh.
        kinds: of items, see ``items.KINDS``.
        intervals: retention intervals, in steps.
        ask: put each question to the language model, too; one request for each item.
        store: of the study that the exam is.
        **settings: further settings of ``configure``, such as ``max_tokens``.

    Attributes:
        study: with it an exam is estimated (``study.estimate()``), resumed after a kill,
            and looked into.

    Raises:
        ValueError, TypeError: for an unknown kind or language, or a wrong argument.
        UnknownMemory: if a name leads to no memory.
    """

    def __init__(
        self,
        memories: Iterable[str] | Mapping[str, Callable[[Any], Any]],
        *,
        llm: Any = "offline",
        seeds: Iterable[int] = range(5),
        steps: int = 120,
        languages: Sequence[str] = ("en",),
        kinds: Sequence[str] = KINDS,
        intervals: Sequence[int] = INTERVALS,
        ask: bool = True,
        store: str | Path = "exam.sqlite",
        **settings: Any,
    ) -> None:
        _check(languages, kinds, intervals)
        factors = {
            "memory": memories if isinstance(memories, Mapping) else list(memories),
            "llm": llm,
            "language": list(languages),
            "length": checked_int("steps", steps),
            "kinds": [tuple(kinds)],
            "intervals": [tuple(intervals)],
            "ask": ask,
            **{name: [value] for name, value in settings.items()},
        }
        self.study = Study(
            Life,
            factors,
            seeds=seeds,
            steps=steps,
            outcomes={"marks": "marks", "sums": _sums},
            store=store,
            name="exam",
        )

    def run(self, executor: Any = None, **given: Any) -> "ExamResult":
        """Makes the lives that are missing; see ``Study.run`` for all arguments.

        Raises:
            StudyError: if a life ended with an error.
            BudgetExceeded: if the budget does not allow the next request.
        """
        status = self.study.run(executor, **given)
        if status.failed:
            raise StudyError(f"the exam is not complete: {status}")
        return self.result()

    def result(self) -> "ExamResult":
        """The lives that are finished.

        Raises:
            StudyError: if none is.
        """
        return ExamResult(self.study.results().runs)


class ExamResult(NotebookShown):
    """Shares of items kept, losses, errors and prices, by memory.

    A share is that of items judged right, the unit is the seed, and the bands are 95% t
    intervals over seeds, cut at 0 and 1.

    Args:
        runs: the table ``runs`` of the exam's study.
    """

    def __init__(self, runs: "pd.DataFrame") -> None:
        import pandas as pd

        done = runs[runs["state"] == "finished"]
        if done.empty:
            raise StudyError("no life of the exam is finished yet: call run() first.")
        keys = [*FACTORS, "seed"]
        self.arms = [name for name in FACTORS if done[name].nunique() > 1] or ["memory"]
        rows = [
            {name: run[name] for name in keys} | mark
            for _, run in done.iterrows()
            for mark in run["marks"]
        ]
        #: a row for each item of each life, with its judgements and where it was lost
        self.marks: pd.DataFrame = pd.DataFrame(rows)
        #: a row for each life, with its price and its intrusions
        self.lives: pd.DataFrame = pd.DataFrame(
            [{n: run[n] for n in keys} | run["sums"] for _, run in done.iterrows()]
        )

    def shares(self, measure: str = "shown", by: str = "interval") -> "pd.DataFrame":
        """The share that is right: columns of the arm, ``by``, ``mean``, ``low``, ``high``.

        Args:
            measure: ``"shown"``, ``"found"`` or ``"answered"``.
            by: ``"interval"``, ``"kind"`` or ``"variant"``.
        """
        import pandas as pd

        marks = self.marks.dropna(subset=[measure])
        right = marks.assign(right=marks[measure] == RIGHT)
        seeds = right.groupby([*self.arms, by, "seed"], sort=False)["right"].mean()
        rows = []
        for key, values in seeds.groupby([*self.arms, by], sort=False):
            mean, low, high = interval_of(values)
            rows.append((*key, mean, max(low, 0.0), min(high, 1.0)))
        return pd.DataFrame(rows, columns=[*self.arms, by, "mean", "low", "high"])

    def wide(self, measure: str = "shown", by: str = "interval") -> "pd.DataFrame":
        """The means of ``shares``: a row for each arm, a column for each ``by``."""
        shares = self.shares(measure, by).set_index([*self.arms, by])["mean"]
        means = shares.unstack(sort=False).sort_index(axis=1)
        means.columns = [f"{name:g}" if by == "interval" else name for name in means]
        return means.reset_index()

    @cached_property
    def table(self) -> "pd.DataFrame":
        """A row for each arm: shares by interval, intrusions and the price.

        ``tokens``, ``requests`` and ``dollars`` are of one life: the memory's size as it
        is shown (mean over steps), and what the memory itself asked. ``per_kept`` is the
        dollars for each item that is shown after 20 steps.
        """
        import pandas as pd

        found = [
            self.wide(measure).set_index(self.arms).add_prefix(f"{measure} ")
            for measure in MEASURES
        ]
        priced = self.marks[self.marks["interval"] == PRICED_AT]
        kept = (priced["shown"] == RIGHT).groupby([priced[n] for n in self.arms]).sum()
        sums = self.lives.groupby(self.arms, sort=False)
        means = sums[["tokens", "requests", "dollars"]].mean()
        rate = sums["intrusions"].sum() / sums["sentences"].sum()
        means.insert(0, "intrusions", rate)
        means["per_kept"] = sums["dollars"].sum() / kept
        whole = pd.concat([*found, means], axis=1).reindex(means.index)
        return whole.reset_index()

    @property
    def losses(self) -> "pd.DataFrame":
        """The share of items that were lost at each stage; a row for each arm."""
        stages = self.marks.groupby(self.arms, sort=False)["stage"]
        shares = stages.value_counts(normalize=True).unstack(fill_value=0)
        known = [stage for stage in STAGES[1:] if stage in shares]
        return shares[known].reset_index()

    @property
    def errors(self) -> "pd.DataFrame":
        """Numbers of items that were not right, by arm, kind, measure and judgement."""
        long = self.marks.melt(
            [*self.arms, "kind"], MEASURES, "measure", "judgement"
        ).dropna(subset=["judgement"])
        wrong = long[long["judgement"] != RIGHT]
        keys = [*self.arms, "kind", "measure", "judgement"]
        return wrong.groupby(keys).size().rename("items").reset_index()

    def compare(
        self, base: str, measure: str = "shown", interval: int | None = None
    ) -> Comparison:
        """The memories beside one of them, paired by seed; see ``statistics.compare``.

        Args:
            base: label of the memory that the others are compared with.
            measure: see ``shares``.
            interval: of these items alone; None takes all.
        """
        marks = self.marks.dropna(subset=[measure])
        if interval is not None:
            marks = marks[marks["interval"] == interval]
        keys = [*FACTORS, "seed"]
        right = marks.assign(**{measure: marks[measure] == RIGHT})
        frame = right.groupby(keys, sort=False)[measure].mean().reset_index()
        frame = frame.assign(state="finished", replicate=0)
        others = [name for name in self.arms if name != "memory"]
        return compare(frame, "memory", outcome=measure, base=base, others=others)

    def figure(self) -> "Figure":
        """A panel for each measure: the share over the retention interval, with bands."""
        from matplotlib.figure import Figure

        measures = [m for m in MEASURES if not self.shares(m).empty]
        figure = Figure(figsize=(4.2 * len(measures) + 1.6, 3.6), layout="constrained")
        panels = figure.subplots(1, len(measures), sharey=True, squeeze=False)[0]
        for panel, measure in zip(panels, measures):
            curves = self.shares(measure).groupby(self.arms, sort=False)
            for n, (arm, curve) in enumerate(curves):
                look = {"color": CURVES[n % len(CURVES)]}
                label = ", ".join(map(str, arm))
                panel.plot(curve["interval"], curve["mean"], "o-", label=label, **look)
                panel.fill_between(
                    curve["interval"], curve["low"], curve["high"], alpha=0.12, **look
                )
            panel.set(xscale="log", xlabel="retention interval, steps", title=measure)
            ticks = sorted(self.marks["interval"].unique())
            panel.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
            panel.minorticks_off()
            panel.set_ylim(-0.03, 1.03)
        panels[0].set_ylabel("share right")
        figure.legend(*panels[0].get_legend_handles_labels(), loc="outside right upper")
        return figure

    def plot(self, path: str | Path) -> Path:
        """Draws ``figure`` into a picture file."""
        self.figure().savefig(path, dpi=150)
        return Path(path)

    def report(self, path: str | Path, overwrite: bool = False) -> Path:
        """Writes a page with table, curves, losses and errors; it loads nothing.

        Raises:
            FileExistsError: if there is such a file, and ``overwrite`` is False.
        """
        tables = [self.table, self.losses, self.wide(by="kind"), self.errors]
        told = page(
            "mesa_memory.experiments.exam", "exam_report.html",
            tables=[(*note, *_cells(own)) for note, own in zip(NOTES.items(), tables)],
            lives=len(self.lives), plot=picture(self.figure()),
        )  # fmt: skip
        with open(path, "w" if overwrite else "x", encoding="utf-8") as file:
            file.write(told)
        return Path(path)

    def __str__(self) -> str:
        return self.table.to_string(index=False, float_format="%.2f", na_rep="")


def _check(
    wanted: Sequence[str], kinds: Sequence[str], intervals: Sequence[int]
) -> None:
    chosen = {"languages": (wanted, languages()), "kinds": (kinds, KINDS)}
    for name, (given, known) in chosen.items():
        if not given or not set(given) <= set(known):
            raise ValueError(
                f"{name} must be some of {', '.join(known)}; got {list(given)!r}"
            )
    for each in intervals:
        checked_int("intervals", each)


def _cells(frame: "pd.DataFrame") -> tuple[list[str], list[list[str]]]:
    """The columns of a table, and its rows as texts."""
    names, rows = list(map(str, frame)), frame.itertuples(index=False)
    return names, [list(map(_cell, names, row)) for row in rows]


def _cell(name: str, value: Any) -> str:
    if value != value or value is None:
        return ""
    if name in ("dollars", "per_kept"):
        return dollars(value)
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def interval_of(values: Any) -> tuple[float, float, float]:
    """Mean and bounds of the 95% t interval; of one seed the mean alone."""
    if len(values) < 2:
        mean = float(values.mean())
        return mean, mean, mean
    found = PairedDifference(tuple(map(float, values)))
    return (found.mean, *found.interval())


def _sums(life: Life) -> dict[str, float]:
    """The price of a life, without the questions of the exam, and its intrusions."""
    return {
        "tokens": sum(life.sizes) / len(life.sizes),
        "requests": metrics.calls(life),
        "dollars": metrics.cost(life),
        "sentences": life.intrusions["sentences"],
        "intrusions": life.intrusions["intrusions"],
    }
