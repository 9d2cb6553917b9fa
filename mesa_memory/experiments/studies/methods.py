"""The methods section of a study or a run, in sentences that can go into a paper.

It states facts from the store and nothing else. The sentences are in ``methods.jinja``.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

import mesa_memory.runs.measured as measured
from mesa_memory.core.arguments import readable
from mesa_memory.core.render import one_line, shorten
from mesa_memory.inference.numbers import p_of
from mesa_memory.llm.doubles.offline import answerer
from mesa_memory.runs.run import Run
from mesa_memory.stores.studies import FINISHED, Studies, StudyRow

#: longest value of a parameter, in characters
MAX_VALUE_CHARS = 80
#: seeds that are listed one by one
MAX_LISTED_SEEDS = 12
_SUMS = (
    "calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "failures", "unpriced",
)  # fmt: skip


def methods(facts: Mapping[str, Any]) -> str:
    """The methods text, a paragraph for each subject.

    Args:
        facts: of ``facts_of_study`` or ``facts_of_run``.
    """
    text = _template().render(facts)
    paragraphs = [" ".join(part.split()) for part in text.split("\n\n")]
    return "\n\n".join(filter(None, paragraphs))


def facts_of_study(studies: Studies, row: StudyRow) -> dict[str, Any]:
    """The facts of a study's runs, by the names of the template."""
    cases = studies.cases(row.id)
    lengths = {case.done for case in cases if case.done is not None}
    states = Counter(case.state for case in cases)
    drift = [
        f"{difference} (after {accepted['runs']} runs)"
        for accepted in row.drift
        for difference in accepted["differences"]
    ]
    return {
        "model": row.model,
        "runs": len(cases),
        "steps": lengths.pop() if len(lengths) == 1 else None,
        "seeds": list(dict.fromkeys(readable(case.seed) for case in cases)),
        "replicates": 1 + max((case.replicate for case in cases), default=0),
        "forked": studies.forked(row.id),
        "unfinished": {name: n for name, n in states.items() if name != FINISHED},
        "forecast": (row.design.get("forecast") or {}).get("cost"),
        "settings": row.design.get("settings") or {},
        "plan": row.design.get("plan"),
        "looks": row.design.get("looks") or [],
        "measures": row.design.get("measures") or [],
        "outcomes": _outcomes(row.design),
        **_asked(studies.rows("calls", row.id)),
        "made": _made(studies.memories(row.id)),
        **_said(row.design.get("questions") or [], studies.rows("responses", row.id)),
        "versions": row.fingerprint.get("versions", {}),
        "drift": drift,
        **_parameters([readable(dict(case.parameters)) for case in cases]),
        **_spent(studies.spent(row.id)),
    }


def facts_of_run(run: Run, weights: Iterable[str] = ()) -> dict[str, Any]:
    """The facts of a recorded run, by the names of the template.

    Args:
        weights: how its recalls were ranked, in words.
    """
    agents, said = run.agents(as_records=True), measured.responses(run)
    spent = []
    by = ("model", "purpose", "tier", "replayed", "cached")
    for row in run.cost(by, as_records=True):
        known = row["replayed"] or row["cached"]
        count = {"calls": 0, "not_sent": row["calls"]} if known else {"not_sent": 0}
        spent.append({**(dict.fromkeys(_SUMS, 0) if known else {}), **row, **count})
    return {
        "model": run.model,
        "runs": 1,
        "steps": run.steps[-1] if run.steps else None,
        "agents": len(agents),
        "seeds": [] if run.seed is None else [run.seed],
        "replicates": 1,
        "parent": None if run.parent is None else (run.parent, run.parent_step or 0),
        "memories": Counter(str(row["memory"]) for row in agents if row["memory"]),
        "changes": Counter(
            str(row["kind"]) for row in run.interventions(as_records=True)
        ),
        "weights": list(weights),
        "forecast": None,
        "settings": {},
        "plan": None,
        "looks": [],
        "measures": measured.measures(run),
        "outcomes": [],
        **_asked(run.calls(as_records=True)),
        "made": _made(run.memories(as_records=True)),
        "attributes": measured.attributes(run),
        **_said(list(dict.fromkeys(row["question"] for row in said)), said),
        "versions": run.versions,
        **_parameters([run.parameters]),
        **_spent(spent),
    }


def _outcomes(design: Mapping[str, Any]) -> list[str]:
    """The outcomes by name, with what their docstrings say."""
    told = design.get("told") or {}
    names = design.get("outcomes") or []
    return [f"{n} ({told[n]})" if told.get(n) else n for n in names]


def _asked(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The models asked, their addresses, settings and days; and repeated requests."""
    found: dict[str, list[str]] = {}
    sent = [row for row in calls if not (row["replayed"] or row["cached"])]
    for row in sent:
        if row["client"] is None:  # answered in this process
            continue
        served = row["answered"] or row["model"]
        name = f"{served} (asked as {row['asked'] or row['model']}"
        name += f" at {row['address']}" if row["address"] else ""
        options = [f"{n} = {_value(v)}" for n, v in (row["settings"] or {}).items()]
        name += f"; {', '.join(options)}" if options else ""
        found.setdefault(name, []).append(str(row["date"] or "")[:10])
    again = sum((row["attempts"] or 1) > 1 for row in sent)
    asked = [f"{name}; {_days(dates)})" for name, dates in found.items()]
    return {"asked": asked, "again": again}


def _days(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return f"on {first}" if first == last else f"from {first} to {last}"


def _made(agents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The memories with their settings, each combination once."""
    found: dict[str, None] = {}
    for row in agents:
        if not row["memory"]:
            continue
        given = row["settings"] or {}
        told = [*_flat(given.get("memory")), *_flat(given.get("layers"))]
        if "shown_instead" in given:
            told.append(f"shown instead: {given['shown_instead']}")
        found[f"{row['memory']} ({', '.join(told)})" if told else row["memory"]] = None
    return list(found)


def _flat(values: Any, of: str = "") -> Iterable[str]:
    """``layer.part.name = value`` of nested settings, without empty ones."""
    for name, value in (values or {}).items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{of}{name}.")
        elif value is not None:
            yield f"{of}{name} = {_value(value)}"


def _said(questions: Sequence[str], answers: Sequence[Mapping]) -> dict[str, Any]:
    """The questions of questionnaires, and how many answers could be used."""
    unusable = sum(row["error"] is not None for row in answers)
    return {"questions": list(questions), "answers": len(answers), "unusable": unusable}


def _parameters(given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The varied parameters with their values, and the constant ones."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for each in given for name in each):
        values = (each[name] for each in given if name in each)
        found[name] = list(dict.fromkeys(map(_value, values)))
    return {
        "varied": {n: ", ".join(v) for n, v in found.items() if len(v) > 1},
        "fixed": {n: v[0] for n, v in found.items() if len(v) == 1 and v != ["None"]},
    }


def _spent(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Calls by model and purpose, the tiers, and the sums."""
    models, tiers, not_sent = (Counter[str]() for _ in range(3))
    purposes: dict[str, Counter[str]] = {}
    for row in rows:
        name = answerer(str(row["model"] or ""))
        models[name] += row["calls"]
        of_model = purposes.setdefault(name, Counter())
        of_model[str(row["purpose"] or "")] += row["calls"]
        tiers[str(row["tier"] or "")] += row["calls"]
        not_sent[name] += row["not_sent"]
    return {
        "models": +models,
        "purposes": {name: +found for name, found in purposes.items()},
        "tiers": [tier for tier in +tiers if tier],
        "not_sent": +not_sent,
        "used": {name: sum(row[name] or 0 for row in rows) for name in _SUMS},
    }


@cache
def _template() -> Any:
    from jinja2 import Environment

    environment = Environment(autoescape=False)  # noqa: S701 - it is plain text
    environment.filters |= {
        "listed": _listed,
        "number": "{:,}".format,
        "pairs": _pairs,
        "ps": lambda found: [f"{p_of(p)} ({arm})" for arm, p in found.items()],
        "seeds": _seeds,
        "times": lambda number: {1: "once", 2: "twice"}.get(
            number, f"{number:,} times"
        ),
    }
    name = files("mesa_memory.experiments.studies") / "methods.jinja"
    return environment.from_string(name.read_text(encoding="utf-8"))


def _pairs(found: Mapping[str, Any], form: str) -> list[str]:
    """Each name and value in a form such as ``"{} = {}"``."""
    return [form.format(name, _value(value)) for name, value in found.items()]


def _listed(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _seeds(seeds: Sequence[Any]) -> str:
    numbers = [int(s) for s in seeds if str(s).lstrip("-").isdigit()]
    several = len(numbers) == len(seeds) > 2
    if several and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(seeds) > MAX_LISTED_SEEDS:
        return f"{len(seeds)} different ones, which are in the store"
    return _listed([_value(seed) for seed in seeds])


def _value(value: Any) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(shorten(str(value), MAX_VALUE_CHARS))
