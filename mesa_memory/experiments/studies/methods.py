"""The methods section of a study: what was run, with what, at what cost, and what changed.

It states facts from the store and nothing else, in sentences that can go into a paper.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core.render import one_line, shorten
from mesa_memory.llm.doubles.offline import answerer
from mesa_memory.runs.compare import differing_parameters
from mesa_memory.runs.run import Run
from mesa_memory.tasks import registered

#: longest value of a parameter, in characters
VALUE_CHARS = 60
#: seeds that are listed one by one
LISTED = 12


@dataclass(frozen=True)
class Facts:
    """What the methods text is written from.

    Attributes:
        model: class of the model.
        factors: what was varied, by name: its values as text, in order.
        fixed: the other parameters of the model.
        seeds: of the runs, in order.
        replicates: runs with the same seed.
        steps: of each run; None if they differ.
        runs: how many runs there are, by their state.
        prefixes: how many runs were forked from a shared beginning.
        models: language models that answered, with their number of calls.
        purposes: of the requests, with the number of calls.
        cached: models of answers that came from a cache or a recorded run, with their
            number.
        tiers: service tiers that were served.
        used: calls, tokens_in, tokens_cached, tokens_out and cost, as ``Run.cost``.
        forecast: what was expected to be paid before the first run, in US dollars.
        versions: of what the runs were made with; several where they differ.
        drift: differences that were accepted, in words.
    """

    model: str
    factors: Mapping[str, Sequence[str]] = field(default_factory=dict)
    fixed: Mapping[str, Any] = field(default_factory=dict)
    seeds: Sequence[Any] = ()
    replicates: int = 1
    steps: float | None = None
    runs: Mapping[str, int] = field(default_factory=dict)
    prefixes: int = 0
    models: Mapping[str, int] = field(default_factory=dict)
    purposes: Mapping[str, int] = field(default_factory=dict)
    cached: Mapping[str, int] = field(default_factory=dict)
    tiers: Sequence[str] = ()
    used: Mapping[str, Any] = field(default_factory=dict)
    forecast: float | None = None
    versions: Mapping[str, Sequence[str]] = field(default_factory=dict)
    drift: Sequence[str] = ()


def methods(facts: Facts) -> str:
    """The methods text, one paragraph to a subject."""
    parts = (_design(facts), _models(facts), _cost(facts), _made_with(facts))
    return "\n\n".join(part for part in (*parts, _drift(facts)) if part)


def facts_of(runs: Iterable[Run]) -> Facts:
    """What recorded runs say themselves; what differs between them counts as varied.

    Args:
        runs: open runs, of any store; at least one.

    Raises:
        ValueError: if there is no run.
    """
    found = list(runs)
    if not found:
        raise ValueError("methods need at least one recorded run")
    given = [dict(run.parameters) for run in found]
    seeds = [
        p.pop("rng", None) or p.pop("seed", None) or r.seed
        for p, r in zip(given, found)
    ]
    apart = differing_parameters(given)
    factors: dict[str, list[str]] = {}
    for row in apart:
        for name, value in row.items():
            values = factors.setdefault(name, [])
            if _value(value) not in values:
                values.append(_value(value))
    lengths = {run.steps[-1] for run in found if run.steps}
    return Facts(
        model=found[0].model,
        factors=factors,
        fixed={n: v for n, v in given[0].items() if n not in factors and v is not None},
        seeds=list(dict.fromkeys(seeds)),
        steps=lengths.pop() if len(lengths) == 1 else None,
        runs=Counter(run.status for run in found),
        prefixes=sum(run.parent is not None for run in found),
        models=_calls(found, "model"),
        purposes=_calls(found, "purpose"),
        tiers=[tier for tier in _calls(found, "tier") if tier],
        used=_used(found),
        versions=_versions(found),
    )


# -- the paragraphs ----------------------------------------------------------------------


def _design(facts: Facts) -> str:
    total = sum(facts.runs.values())
    varied = [f"{name} ({', '.join(values)})" for name, values in facts.factors.items()]
    text = f"{facts.model} was run {_times(total)}"
    if facts.steps is not None:
        text += f" for {facts.steps:g} steps"
    text += f", varying {_and(varied)}." if varied else "."
    if facts.seeds:
        text += f" The seeds were {_seeds(facts.seeds)}"
        text += (
            f", each with {facts.replicates} replicates."
            if facts.replicates > 1
            else "."
        )
    if facts.fixed:
        kept = [f"{name} = {_value(value)}" for name, value in facts.fixed.items()]
        text += f" The other parameters were {_and(kept)}."
    if facts.prefixes:
        text += (
            f" {facts.prefixes} of the runs were forked from a recorded run with which "
            "they share their beginning."
        )
    unfinished = {s: n for s, n in facts.runs.items() if s != "finished"}
    if unfinished:
        told = _and([f"{number} {state}" for state, number in unfinished.items()])
        text += f" Not all runs came to their end: {told}."
    return text


def _models(facts: Facts) -> str:
    again = _answerers(facts.cached, "answers")
    cached = f"Answers of {again} came from a cache or a recorded run." if again else ""
    if not facts.models:
        return cached or "No language model was asked."
    tiers = f" in the service tier {_and(list(facts.tiers))}" if facts.tiers else ""
    known = registered()
    purposes = [
        f"{name} ({number:,})" if name in known or name == "reasoning" else f"{name} ({number:,}, a task of this study)"
        for name, number in facts.purposes.items()
    ]  # fmt: skip
    return (
        f"Requests were answered by {_answerers(facts.models, 'calls')}{tiers}. "
        f"By purpose: {_and(purposes)}. {cached}"
    ).strip()


def _answerers(models: Mapping[str, int], counted: str) -> str:
    return _and([f"{answerer(m)} ({n:,} {counted})" for m, n in models.items()])


def _cost(facts: Facts) -> str:
    used = facts.used
    if not used.get("calls"):
        return ""
    text = f"Altogether {used['calls']:,} calls used {used['tokens_in']:,} tokens in prompts"
    if used.get("tokens_cached"):
        text += f" ({used['tokens_cached']:,} of them from providers' caches)"
    text += f" and {used['tokens_out']:,} tokens in replies"
    cost = used.get("cost")
    text += (
        f", at {cost:,.4f} US dollars."
        if cost is not None
        else ", at an unknown price."
    )
    if facts.forecast is not None:
        text += (
            f" The forecast before the first run was {facts.forecast:,.4f} US dollars."
        )
    if used.get("failures"):
        text += f" {used['failures']:,} calls failed."
    return text


def _made_with(facts: Facts) -> str:
    if not facts.versions:
        return ""
    named = [f"{name} {' and '.join(found)}" for name, found in facts.versions.items()]
    return f"The runs were made with {_and(named)}."


def _drift(facts: Facts) -> str:
    if not facts.drift:
        return ""
    told = "; ".join(facts.drift)
    return (
        "Not all runs were made with the same code, prompts, configuration and "
        f"versions. These differences were accepted: {told}."
    )


# -- parts of them -----------------------------------------------------------------------


def _calls(runs: Sequence[Run], by: str) -> dict[str, int]:
    found: dict[str, int] = {}
    for run in runs:
        for row in run.cost(by, as_records=True):
            name = str(row[by] or "")
            found[name] = found.get(name, 0) + row["calls"]
    return found


def _used(runs: Sequence[Run]) -> dict[str, Any]:
    """The sums over runs; an unknown cost makes the sum unknown."""
    rows = [run.cost((), as_records=True)[0] for run in runs]
    names = ("calls", "tokens_in", "tokens_cached", "tokens_out", "failures")
    found = {name: sum(row[name] for row in rows) for name in names}
    costs = [row["cost"] for row in rows]
    return found | {"cost": None if None in costs else sum(costs)}


def _versions(runs: Sequence[Run]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for run in runs:
        for name, version in run.versions.items():
            known = found.setdefault(name, [])
            if version not in known:
                known.append(version)
    return found


def _seeds(seeds: Sequence[Any]) -> str:
    numbers = [int(s) for s in seeds if str(s).lstrip("-").isdigit()]
    several = len(numbers) == len(seeds) > 2
    if several and numbers == list(range(numbers[0], numbers[0] + len(numbers))):
        return f"{numbers[0]} to {numbers[-1]}"
    if len(seeds) > LISTED:
        return f"{len(seeds)} different ones, which are in the store"
    return _and([_value(seed) for seed in seeds])


def _times(number: int) -> str:
    return {1: "once", 2: "twice"}.get(number, f"{number:,} times")


def _and(parts: Sequence[str]) -> str:
    if len(parts) < 2:
        return "".join(parts)
    return f"{', '.join(parts[:-1])} and {parts[-1]}"


def _value(value: Any) -> str:
    return one_line(shorten(str(value), VALUE_CHARS))
