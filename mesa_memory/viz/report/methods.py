"""The methods text of a report: the text of a study of one run, and facts of its memories."""

from collections import Counter
from collections.abc import Iterable

from mesa_memory.experiments.studies.methods import facts_of, methods
from mesa_memory.runs import Run
from mesa_memory.viz.report.contents import Person


def methods_text(run: Run, people: Iterable[Person]) -> str:
    """Sentences for a paper; each states a fact of the record.

    Args:
        people: their recalls have the weights of the ranking.
    """
    kinds = Counter(str(row["memory"]) for row in run.agents(as_records=True))
    listed = _counted(kinds)
    said = [f"The classes of the agents' memories were {listed}."] if kinds else []
    if run.parent is not None:
        after = "" if run.parent_step is None else f" after step {run.parent_step:g}"
        said.append(f"The run was forked from run {run.parent}{after}.")
    changed = Counter(str(row["kind"]) for row in run.interventions(as_records=True))
    if changed:
        said.append(
            f"A researcher changed memories during the run: {_counted(changed)}."
        )
    weights = _weights(people)
    if weights:
        said.append(
            "Records were ranked by a weighted sum of their parts, with the weights "
            f"{'; or '.join(weights[:3])}."
        )
    return "\n\n".join([methods(facts_of([run])), " ".join(said)])


def _counted(kinds: Counter[str]) -> str:
    return ", ".join(f"{kind} ({count})" for kind, count in sorted(kinds.items()))


def _weights(people: Iterable[Person]) -> list[str]:
    """The weights of the recalls, each once."""
    found: dict[str, None] = {}
    for recall in (recall for person in people for recall in person.recalls):
        pairs = zip(recall.names, recall.weights)
        found[", ".join(f"{name} ({weight:g})" for name, weight in pairs if weight)] = (
            None
        )
    return [text for text in found if text]
