"""A study as one HTML file: plan, verdict, table, plot, audit, cost, traces, methods."""

import inspect
from collections.abc import Collection
from pathlib import Path
from typing import Any

from mesa_memory.core.codec import encode, readable
from mesa_memory.core.content import dollars
from mesa_memory.core.text.redaction import scrub
from mesa_memory.experiments.reports.facts import facts_of_study, shown_value
from mesa_memory.experiments.reports.methods import methods
from mesa_memory.experiments.reports.templates import COLOURS, page, picture
from mesa_memory.experiments.reports.traces import trace
from mesa_memory.experiments.studies.analysis import compare_outcomes
from mesa_memory.experiments.studies.checks import CHECKS
from mesa_memory.statistics.comparison import Comparison
from mesa_memory.statistics.difference import number

_PACKAGE = "mesa_memory.experiments.reports"
#: arguments that say where a run is kept, or that the study itself gives to each run
_MADE_BY_STUDY = {"rng", "seed", "record", "cache", "replay"}
#: measures whose curves are drawn
MAX_CURVES = 6
DASHES = ("-", "--", ":", "-.")


def write_study_report(
    study: Any, path: str | Path, audit: Any, overwrite: bool, **compared: Any
) -> Path:
    """Writes the report of a study; it loads nothing and runs no script.

    Args:
        study: a ``Study`` that has run.
        path, audit, overwrite, compared: see ``Study.report``.

    Raises:
        FileExistsError: if there is such a file, and ``overwrite`` is False.
        ValueError: if nothing can be compared.
        StoreError, StudyError: if the study cannot be read.
    """
    found, others, refused = compare_outcomes(study, **compared)
    target = Path(path)
    if target.exists() and not overwrite:
        raise FileExistsError(
            f"{target} exists; choose another name, or allow it with overwrite=True"
        )
    status, results = study.status(), study.results()
    frame = results.runs
    with study.stored() as (studies, row):
        facts = facts_of_study(studies, row)
        differ = any(each.p_holm < found.level for each in found.contrasts)
        differ = differ and not found.by  # its contrasts have four runs, not two
        followed = trace(studies.store, frame, found) if differ else None
    told = page(
        _PACKAGE, "study_report.html", study=study, status=status, found=found, audit=audit, followed=followed, differ=differ,
        others=others, refused=refused, curves=_curves(results.steps, found, study.measures),
        plot=picture(found.figure()), cost=_cost(status),
        seeds=_seeds(found), defaults=_defaults(study), checks=_checks(status),
        methods=methods(facts).split("\n\n"), awareness=facts["awareness"],
    )  # fmt: skip
    target.write_text(scrub(told), encoding="utf-8", errors="replace")
    return target


def _curves(*given: Any) -> tuple[str, list[str]] | None:
    """``curves`` as a picture."""
    drawn = curves(*given)
    return None if drawn is None else (picture(drawn[0]), drawn[1])


def curves(
    steps: Any, found: Comparison, own: Collection[str]
) -> tuple[Any, list[str]] | None:
    """The measures of the arms by step, as a figure; and their names.

    Args:
        steps: ``Results.steps``, whose columns after ``step`` are the measures.
        found: names the arms.
        own: names of the study's measures, which come before the model's variables.
    """
    from matplotlib.figure import Figure

    if found.factor not in steps.columns:
        return None
    columns = list(steps.columns)
    measured = steps[columns[columns.index("step") + 1 :]]
    names = list(measured.select_dtypes(["number", "bool"]).columns)
    # An outcome that is collected in each step, too, comes first.
    names.sort(key=lambda name: (name != found.outcome, name not in own))
    names = [name for name in names if steps[name].nunique() > 1][:MAX_CURVES]
    if not names or steps["step"].nunique() < 2:
        return None
    rows = -(-len(names) // 2)
    figure = Figure(figsize=(8, 2.6 * rows + 0.4), layout="constrained")
    panels = figure.subplots(rows, 2, squeeze=False).ravel()
    for panel, name in zip(panels, names):
        for n, arm in enumerate((found.base, *(each.arm for each in found.contrasts))):
            of_arm = steps[steps[found.factor] == arm].groupby("step")[name]
            mean, colour = of_arm.mean(), COLOURS[n % len(COLOURS)]
            panel.plot(
                mean.index, mean, DASHES[n % len(DASHES)], color=colour, label=str(arm)
            )
            panel.fill_between(
                mean.index, of_arm.min().astype(float), of_arm.max().astype(float),
                color=colour, alpha=0.12,
            )  # fmt: skip
        panel.set_title(name, fontsize=10)
        panel.set_xlabel("step")
    for panel in panels[len(names) :]:
        panel.set_axis_off()
    panels[0].legend(fontsize=8)
    return figure, names


def _seeds(found: Comparison) -> tuple[list[str], list[list[str]]]:
    """The values of the outcome: the seeds as rows, the arms as columns, the base first."""
    rows = zip(found.seeds, *found.values.values())
    names = ["seed", *map(str, found.values)]
    return names, [[str(seed), *map(number, values)] for seed, *values in rows]


def _defaults(study: Any) -> list[tuple[str, str]]:
    """The arguments of the model that no arm sets, with their defaults."""
    given = {name for _, labels in study.design.arms for name in labels}
    left = [
        each
        for each in inspect.signature(study.model).parameters.values()
        if each.default is not each.empty and each.name not in given | _MADE_BY_STUDY
    ]
    return [(each.name, _default(each.default)) for each in left]


def _default(value: Any) -> str:
    return getattr(value, "__name__", None) or shown_value(readable(encode(value)))


def _cost(status: Any) -> list[tuple[Any, ...]]:
    """Name, counted number and forecast, if there is one, of runs, calls and dollars."""
    counted = {
        "runs": status.counts["finished"], "calls": status.calls, "cost": status.cost,
    }  # fmt: skip
    columns = [counted, *filter(None, [status.forecast])]
    return [(n, *(_sum(n, each.get(n)) for each in columns)) for n in counted]


def _sum(name: str, value: float | None) -> str | None:
    if value is None:
        return None
    return dollars(value) if name == "cost" else f"{value:,.0f}"


def _checks(status: Any) -> tuple[list[str], list[list[Any]]]:
    """The manipulation checks: the arms as columns, the checks as rows."""
    arms = status.checks
    names = ("runs", *CHECKS)
    rows = [[name.replace("_", " "), *(arm[name] for arm in arms)] for name in names]
    return ["check", *(arm["arm"] for arm in arms)], rows if arms else []
