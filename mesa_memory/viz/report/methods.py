"""The methods text of a report: how a recorded run was made, in sentences."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from mesa_memory.core.content import one_line, shorten
from mesa_memory.llm.doubles.offline import answerer
from mesa_memory.runs import Run
from mesa_memory.viz.report.people import Person

#: longest value of a parameter
VALUE_CHARS = 80


def methods(
    run: Run, agents: Sequence[dict[str, Any]], people: Sequence[Person]
) -> str:
    """What a paper would say of the run; facts of the record only.

    Args:
        agents: rows of ``Run.agents``.
        people: their recalls say how records are ranked.
    """
    said = [_model(run, len(agents)), _memories(agents), _calls(run), _recalls(people)]
    if run.parent is not None:
        said.insert(1, f"It was forked from run {run.parent}{_since(run)}.")
    changed = run.interventions(as_records=True)
    if changed:
        kinds = Counter(str(row["kind"]) for row in changed)
        listed = ", ".join(f"{count} × {kind}" for kind, count in sorted(kinds.items()))
        said.append(f"Memories were changed by hand during the run: {listed}.")
    said.append(_versions(run))
    return " ".join(sentence for sentence in said if sentence)


def _since(run: Run) -> str:
    step = run.parent_step
    return "" if step is None else f" after step {step:g}"


def _model(run: Run, agents: int) -> str:
    steps = run.steps
    until = f", to step {steps[-1]:g}" if steps else ""
    given = ", ".join(
        f"{name} = {shorten(one_line(str(value)), VALUE_CHARS)}"
        for name, value in run.parameters.items()
    )
    parameters = f" Its parameters were {given}." if given else ""
    seed = f" and the random seed {run.seed}" if run.seed is not None else ""
    return (
        f"The model {run.model} ran for {len(steps)} recorded steps{until}, with "
        f"{agents} agents{seed}.{parameters}"
    )


def _memories(agents: Sequence[dict[str, Any]]) -> str:
    kinds = Counter(str(row["memory"]) for row in agents if row["memory"])
    if not kinds:
        return ""
    listed = ", ".join(f"{kind} ({count} agents)" for kind, count in kinds.items())
    return f"The agents' memories were of the class {listed}."


def _calls(run: Run) -> str:
    rows = run.cost(("purpose", "model"), as_records=True)
    if not rows:
        return "No language model was asked."
    total = run.cost((), as_records=True)[0]
    models = sorted({answerer(str(row["model"])) for row in rows if row["model"]})
    purposes = sorted({str(row["purpose"]) for row in rows})
    price = total["cost"]
    cost = "an unknown amount" if price is None else f"{price:.4f} US dollars"
    again = total["cached_calls"]
    replayed = f" {again} of them were answered by an earlier record." if again else ""
    return (
        f"{total['calls']} requests were answered by {', '.join(models) or 'a model'}, "
        f"for {', '.join(purposes)}: {total['tokens_in']} tokens in, "
        f"{total['tokens_out']} tokens out, {cost}.{replayed}"
    )


def _recalls(people: Sequence[Person]) -> str:
    found: dict[str, None] = {}
    for person in people:
        for recall in person.recalls:
            pairs = zip(recall.names, recall.weights)
            weighed = [f"{name} ({w:g})" for name, w in pairs if w]
            if weighed:
                found[", ".join(weighed)] = None
    if not found:
        return ""
    return (
        "Records were recalled by a weighted sum of their parts, with these weights: "
        f"{'; or '.join(list(found)[:3])}."
    )


def _versions(run: Run) -> str:
    listed = ", ".join(f"{name} {version}" for name, version in run.versions.items())
    return f"The run was recorded with {listed}." if listed else ""
