"""The facts of a study or a run that a reviewer asks for, from the store alone."""

import os
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import mesa_memory.runs.measured as measured
from mesa_memory.core.codec import readable
from mesa_memory.core.render import one_line, shorten
from mesa_memory.experiments.studies.fingerprint import HASH_DIGITS, digest
from mesa_memory.llm.doubles.offline import answerer
from mesa_memory.llm.doubles.policy import PROVIDER
from mesa_memory.runs.checks import record_checks
from mesa_memory.runs.queries import step_names
from mesa_memory.runs.run import Run
from mesa_memory.stores.studies import FINISHED, Studies, StudyRow, spent

#: longest value of a parameter, in characters
MAX_VALUE_CHARS = 80
#: the checks of records that memories made, and of the doubtful ones among them
_MADE = {"texts_made": "records_made", "doubtful": "thoughts_doubtful"}
_FILES = ("name", "language", "hash", "text")
_SUMS = (
    "calls", "tokens_in", "tokens_cached", "tokens_out", "cost", "failures", "unpriced",
)  # fmt: skip
#: the columns of a request that reports read
_ASKED = (
    "purpose", "model", "asked", "answered", "address", "settings", "date", "client", "replayed",
    "cached", "attempts", "repairs", "given_up", "prompt_hash",
)  # fmt: skip


def facts_of_study(studies: Studies, row: StudyRow) -> dict[str, Any]:
    """The facts of a study's runs, by the names of the templates."""
    cases = studies.cases(row.id)
    lengths = {case.done for case in cases if case.done is not None}
    states = Counter(case.state for case in cases)
    files = studies.rows("prompt_files", row.id, _FILES)
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
        # An audit is a study of its own in the same store, see ``experiments.controls``.
        "audits": [n for n in studies.names() if n.startswith(f"{row.name}, ")],
        "plan": row.design.get("plan"),
        "awareness": row.design.get("awareness") or [],
        "looks": row.design.get("looks") or [],
        "measures": row.design.get("measures") or [],
        "outcomes": _outcomes(row.design),
        "recorded": bool(row.design.get("record", True)),
        "changes": _kinds(studies.rows("interventions", row.id, ("kind",))),
        **_doubts(case.usage.get("checks") or {} for case in cases),
        "code": digest(row.fingerprint.get("code", {})),
        "step_names": step_names(files),
        "prompt_files": _files(files),
        "beyond": len(studies.rows("unfinished_calls", row.id, ("number",))),
        **_asked(studies.rows("calls", row.id, _ASKED)),
        "made": _made(studies.rows("agents", row.id, ("memory", "settings"))),
        **_said(row.design.get("questions") or [], studies.rows("responses", row.id)),
        "versions": row.fingerprint.get("versions", {}),
        "drift": drift,
        **_parameters([readable(dict(case.parameters)) for case in cases]),
        **_spent(studies.spent(row.id)),
    }


def facts_of_run(run: Run, weights: Iterable[str] = ()) -> dict[str, Any]:
    """The facts of a recorded run, by the names of ``methods.jinja``.

    Args:
        weights: how its recalls were ranked, in words.
    """
    agents, said = run.agents(as_records=True), measured.responses(run)
    return {
        "model": run.model,
        "runs": 1,
        "steps": run.steps[-1] if run.steps else None,
        "agents": len(agents),
        "step_names": [run.step_name] if run.step_name else [],
        "seeds": [] if run.seed is None else [run.seed],
        "replicates": 1,
        "parent": None if run.parent is None else (run.parent, run.parent_step or 0),
        "memories": Counter(str(row["memory"]) for row in agents if row["memory"]),
        "changes": _kinds(run.interventions(as_records=True)),
        "weights": list(weights),
        "forecast": None,
        "measures": measured.measures(run),
        **_doubts([record_checks(run.store, run.id)]),
        **_asked(run.calls(as_records=True)),
        "made": _made(run.memories(as_records=True)),
        "attributes": measured.attributes(run),
        **_said(list(dict.fromkeys(row["question"] for row in said)), said),
        "versions": run.versions,
        **_parameters([run.parameters]),
        **_spent(spent(run.store, [run.id])),
    }


def _kinds(interventions: Iterable[Mapping[str, Any]]) -> Counter[str]:
    return Counter(str(each["kind"]) for each in interventions)


def _doubts(checks: Iterable[Mapping[str, Any]]) -> dict[str, int]:
    """The numbers of texts that memories made in all runs, and of the doubtful ones."""
    rows = list(checks)
    return {
        name: sum(row.get(check) or 0 for row in rows) for name, check in _MADE.items()
    }


def _outcomes(design: Mapping[str, Any]) -> list[str]:
    """The outcomes by name, with what their docstrings say."""
    told = design.get("told") or {}
    names = design.get("outcomes") or []
    return [f"{n} ({told[n]})" if told.get(n) else n for n in names]


def _asked(calls: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The models asked, their addresses, settings and days; and what came of it."""
    found: dict[str, list[str]] = {}
    sent = [row for row in calls if not (row["replayed"] or row["cached"])]
    for row in sent:
        if row["client"] is None:  # answered in this process
            continue
        served = row["answered"] or row["model"]
        name = f"{served} (asked as {row['asked'] or row['model']}"
        name += f" at {row['address']}" if row["address"] else ""
        options = [
            f"{n} = {shown_value(v)}" for n, v in (row["settings"] or {}).items()
        ]
        name += f"; {', '.join(options)}" if options else ""
        found.setdefault(name, []).append(str(row["date"] or "")[:10])
    return {
        "asked": [f"{name}; {_days(dates)})" for name, dates in found.items()],
        "again": sum((row["attempts"] or 1) > 1 for row in sent),
        "kept": sum(bool(row["cached"]) for row in calls),
        "from_runs": sum(bool(row["replayed"]) for row in calls),
        "repairs": sum(bool(row["repairs"]) for row in sent),
        "given_up": sum(bool(row["given_up"]) for row in calls),
        "texts": len({row["prompt_hash"] for row in calls}),
    }


def _files(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """The prompt files with the beginnings of their hashes, each once."""
    names = (f"{r['name']} ({r['language']}, {r['hash'][:HASH_DIGITS]})" for r in rows)
    return list(dict.fromkeys(names))


def _days(dates: Sequence[str]) -> str:
    first, last = min(dates), max(dates)
    return f"on {first}" if first == last else f"from {first} to {last}"


def _made(agents: Iterable[Mapping[str, Any]]) -> list[str]:
    """The memories with their settings, each combination once.

    A placebo has those of the memory in whose place it is, which are not told again.
    """
    found: dict[str, None] = {}
    for row in agents:
        if not row["memory"]:
            continue
        given = row["settings"] or {}
        told = [*_flat(given.get("memory")), *_flat(given.get("layers"))]
        name = f"{row['memory']} ({', '.join(told)})" if told else row["memory"]
        if "shown_instead" in given:
            same = f"{row['memory']} with the same settings" if name in found else name
            name = f"{same}, shown instead: {given['shown_instead']}"
        found[name] = None
    return list(found)


def _flat(values: Any, of: str = "") -> Iterable[str]:
    """``layer.part.name = value`` of nested settings, without empty ones."""
    for name, value in (values or {}).items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{of}{name}.")
        elif value is not None:
            yield f"{of}{name} = {shown_value(value)}"


def _said(questions: Sequence[str], answers: Sequence[Mapping]) -> dict[str, Any]:
    """The questions of questionnaires, and how many answers could be used."""
    unusable = sum(row["error"] is not None for row in answers)
    return {"questions": list(questions), "answers": len(answers), "unusable": unusable}


def _parameters(given: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The varied parameters with their values, and the constant ones."""
    found: dict[str, list[str]] = {}
    for name in dict.fromkeys(name for each in given for name in each):
        values = (each[name] for each in given if name in each)
        found[name] = list(dict.fromkeys(map(shown_value, values)))
    return {
        "varied": {n: v for n, v in found.items() if len(v) > 1},
        "fixed": {n: v[0] for n, v in found.items() if len(v) == 1 and v != ["None"]},
    }


def _spent(rows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Calls by model and purpose, the tiers, and the sums.

    ``outside`` is True if other models answered than this package's; calls, tokens and
    dollars in ``used`` are then theirs alone. ``inside`` is True if there are more.
    """
    models, tiers, not_sent = (Counter[str]() for _ in range(3))
    purposes: dict[str, Counter[str]] = {}
    for row in rows:
        name, purpose = answerer(str(row["model"] or "")), str(row["purpose"] or "")
        models[name] += row["calls"]
        purposes.setdefault(name, Counter())[purpose] += row["calls"]
        tiers[str(row["tier"] or "")] += row["calls"]
        not_sent[name] += row["not_sent"]
    theirs = [r for r in rows if str(r["model"]).partition("/")[0] != PROVIDER]
    outside, theirs = bool(theirs), theirs or list(rows)
    used = {name: sum(row[name] or 0 for row in theirs) for name in _SUMS}
    return {
        "outside": outside,
        "inside": len(theirs) < len(rows),
        "models": +models,
        "purposes": {name: +found for name, found in purposes.items()},
        "all_purposes": list(dict.fromkeys(str(row["purpose"] or "") for row in rows)),
        "tiers": [tier for tier in +tiers if tier],
        "not_sent": +not_sent,
        "used": used | {"failures": sum(row["failures"] or 0 for row in rows)},
    }


def shown_value(value: Any) -> str:
    """A value of a parameter on one line, cut where it is long; paths by their last names."""
    value = _without_folders(value)
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return one_line(shorten(str(value), MAX_VALUE_CHARS))


def _without_folders(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _without_folders(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(each) for each in value]
    whole = isinstance(value, str) and os.path.isabs(value)
    return os.path.basename(value) if whole else value
