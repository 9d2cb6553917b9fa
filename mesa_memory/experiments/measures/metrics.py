"""Measures of memory: reporters for Mesa's ``DataCollector``, and measures of a study.

Each is a function of a model, or, where it needs to be told something, a factory that
gives one: ``{"size": metrics.size, "know": metrics.holders("the well is poisoned")}``.
They send no request, leave no trace in any memory, and are the same for one model in
every process; a resumed run goes on with the same values. An undefined value, such as
the mean age of nothing, is NaN. Agents without a memory of this package do not count.
"""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import pandas as pd

from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.render import record_text
from mesa_memory.experiments.measures.holdings import holdings, minds, texts
from mesa_memory.hosts.mesa import clock
from mesa_memory.layers.impressions import KIND as IMPRESSION
from mesa_memory.llm.ledger import Usage
from mesa_memory.runs.claims.claim import claim
from mesa_memory.runs.claims.clauses import sentences
from mesa_memory.runtime.services import Services
from mesa_memory.tasks import BY_RESEARCHER

__all__ = [
    "calls", "cost", "holders", "impressions", "layers", "size", "tokens", "who_holds",
]  # fmt: skip

#: a reporter: what it gives is a number, unless it says otherwise
type Measure = Callable[[Any], float]
#: what a fact is recognised by: its words, or a function of a text
type Fact = str | Callable[[str], Any]

# -- size ------------------------------------------------------------------------------


def layers(model: Any) -> pd.DataFrame:
    """The size and age of each layer of each agent's memory, as a table.

    Returns:
        Columns ``agent`` (unique id), ``layer`` (its name; ``"pending"`` is what no layer
        has admitted yet), ``records`` (number), ``characters`` (number) and ``age`` (mean,
        in steps since the record was made), in the order of agents and layers.
    """
    now = clock(model)
    rows = [
        (held.agent, held.layer, len(held.text), float(now - held.record.step))
        for held in holdings(model)
    ]
    whose = ["agent", "layer"]
    frame = pd.DataFrame(rows, columns=[*whose, "characters", "age"])
    return frame.groupby(whose, sort=False, as_index=False).agg(
        records=("characters", "size"),
        characters=("characters", "sum"),
        age=("age", "mean"),
    )


def size(model: Any, layer: str | None = None) -> float:
    """The number of records of an agent, each counted once; the mean over agents, >= 0.

    Args:
        layer: None is all layers; see ``layers`` for their names.
    """
    owners = {agent.unique_id for agent, _, _ in minds(model)}
    return len(_held(layer, model)) / len(owners) if owners else math.nan


def _held(layer: str | None, model: Any) -> list[MemoryRecord]:
    found = [h for h in holdings(model) if layer is None or h.layer == layer]
    return list({held.record.id: held.record for held in found}.values())


# -- who knows what --------------------------------------------------------------------


def holders(fact: Fact) -> Measure:
    """The number of agents who remember a fact; 0 to the number of agents.

    Args:
        fact: a text: one sentence of a record must state it, with its names and numbers,
            in these words or words of like meaning, and not deny it; the same rule as in
            the dashboard and in reports, see the guide to metrics. Or a function that is
            given the text of a record and says if the fact is in it, such as
            ``re.compile("wells?").search``.

    Raises:
        ValueError: for a text without words; TypeError: for anything else.
    """
    _checked_fact(fact)
    return partial(_holders, fact)


def who_holds(model: Any, fact: Fact) -> list[Any]:
    """The unique ids of the agents who remember a fact, in order; see ``holders``."""
    _checked_fact(fact)
    if isinstance(fact, str):
        return _who_states(model, fact)
    return [agent for agent, said in texts(model).items() if any(map(fact, said))]


def _who_states(model: Any, fact: str) -> list[Any]:
    """The agents with a record whose text, as a run records it, states a fact."""
    said: dict[Any, set[str]] = {agent.unique_id: set() for agent, _, _ in minds(model)}
    for held in holdings(model):
        record = held.record
        text = record_text(record.kind, record.origin, record.content)
        said[held.agent].update(sentences(text))
    every = sorted(set().union(*said.values()))
    judged = zip(every, claim(fact).judge(every))
    stating = {sentence for sentence, judgement in judged if judgement.counts()}
    return [agent for agent, own in said.items() if not own.isdisjoint(stating)]


def _holders(fact: Fact, model: Any) -> int:
    return len(who_holds(model, fact))


def _checked_fact(fact: Any) -> None:
    if isinstance(fact, str):
        claim(fact)
    elif not callable(fact):
        raise TypeError(f"fact must be a text or a function of a text, got {fact!r}")


# -- who thinks what of whom -----------------------------------------------------------


def impressions(model: Any, value: str = "sentiment") -> pd.DataFrame:
    """The impressions that agents have of each other, as a matrix.

    Args:
        value: ``"sentiment"``, -1 (hostile) to 1 (friendly), or ``"familiarity"``, 0 (a
            stranger) to 1.

    Returns:
        A row for each observer and a column for each subject, by unique id; NaN
        without an impression.
    """
    if value not in ("sentiment", "familiarity"):
        raise ValueError(f"value must be 'sentiment' or 'familiarity', got {value!r}")
    names = list(dict.fromkeys(agent.unique_id for agent, _, _ in minds(model)))
    matrix = pd.DataFrame(math.nan, index=names, columns=names, dtype=float)
    for held in holdings(model):
        record = held.record
        about = record.subject
        if record.kind != IMPRESSION or record.origin != DERIVED or about is None:
            continue
        said = record.content.get(value)
        if about in matrix.columns and isinstance(said, int | float):
            matrix.loc[held.agent, about] = float(said)
    return matrix


# -- what it costs ---------------------------------------------------------------------


def calls(model: Any, purposes: tuple[str, ...] = ()) -> int:
    """Requests to language models since the run began, >= 0; failed ones count.

    Waits until the memories have finished their work, as do ``tokens`` and ``cost``.

    Args:
        purposes: such as ``"grade"``; empty is all but the researcher's (``probe``,
            questionnaires), so that questions change no measure.
    """
    return _used(purposes, model).calls


def tokens(model: Any, purposes: tuple[str, ...] = ()) -> int:
    """Tokens in and out since the run began, >= 0; see ``calls``."""
    return _used(purposes, model).tokens


def cost(model: Any, purposes: tuple[str, ...] = ()) -> float:
    """US dollars since the run began, >= 0; NaN if a price is unknown. See ``calls``."""
    used = _used(purposes, model)
    # Rounded, as calls end in any order, and so are their prices added.
    return math.nan if used.cost is None else round(used.cost, 9)


def _used(purposes: tuple[str, ...], model: Any) -> Usage:
    """The usage for these purposes; without a purpose, all but the researcher's."""
    if not Services.exist(model):
        return Usage()
    services = Services.of(model)
    services.flush()  # else the count depends on which replies have arrived
    by_purpose = {p: used for (p,), used in services.ledger.by("purpose").items()}
    chosen = purposes or [each for each in by_purpose if each not in BY_RESEARCHER]
    return sum((by_purpose[p] for p in chosen if p in by_purpose), Usage())
