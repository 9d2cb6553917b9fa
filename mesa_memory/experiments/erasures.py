"""Records that say the same, to be erased together: the candidates of an attribution."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.render import record_text
from mesa_memory.experiments.measures.retention import texts_by_agent
from mesa_memory.memories.host.interventions import erase
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.runs.claims.claim import claim, has_words
from mesa_memory.runs.run import Run

#: an event's text, in the content of a record: the words of a message or a deed
_WORDS = ("message", "text")
#: characters by which a line is found in a prompt, which may cut it later
FOUND_CHARS = 120


@dataclass(frozen=True)
class Erasure:
    """Records that say the same, and were shown after the step, also as a fact.

    Attributes:
        text: what they say; of a fact, the event that it was made from.
        records: their ids by the unique id of their agents, current at the step.
        followers: how many current records were made from them; these stay.
        also: the same in other words.
    """

    text: str
    records: Mapping[Any, tuple[str, ...]]
    followers: int = 0
    also: tuple[str, ...] = ()

    def __add__(self, other: "Erasure") -> "Erasure":
        """Both together."""
        records = dict(self.records)
        for agent, names in other.records.items():
            records[agent] = (*records.get(agent, ()), *names)
        text = f"{self.text}” and “{other.text}"
        return Erasure(text, records, self.followers + other.followers)

    def erase_from(self, model: Any) -> None:
        """Erases the records from the memories of a model."""
        for agent in model.agents:
            for name in self.records.get(agent.unique_id, ()):
                erase(agent, name)


def candidates(model: Any, shown: "Shown | None") -> list[Erasure]:
    """The groups of current records that say the same, in order of arrival.

    Args:
        model: at the step.
        shown: after the step; None takes every record, as the run ends at the step.
    """
    records: dict[str, dict[Any, dict[str, None]]] = {}
    current: list[MemoryRecord] = []
    for agent in model.agents:
        memory = getattr(agent, "memory", None)
        if not isinstance(memory, MemoryModule):
            continue
        held = {record.id: record for record in memory.current_records()}
        seen = [r for r in held.values() if shown is None or shown.has(r, memory)]
        for record in seen:
            made_of = [held[name] for name in record.sources if name in held]
            text, names = _origin(record, made_of, seen)
            of_text = records.setdefault(text, {})
            of_text.setdefault(agent.unique_id, {}).update(dict.fromkeys(names))
        current += held.values()
    found = []
    for text, *also in paraphrases(list(records)):
        all_of = records[text]
        for other in also:
            for agent, of_other in records[other].items():
                all_of.setdefault(agent, {}).update(of_other)
        gone = {n for of_agent in all_of.values() for n in of_agent}
        named = {agent: tuple(of_agent) for agent, of_agent in all_of.items()}
        found.append(Erasure(text, named, _followers(gone, current), tuple(also)))
    return found


def paraphrases(texts: Sequence[str]) -> list[list[str]]:
    """The texts in groups of which each states the first, and the first states it."""
    found: list[list[str]] = []
    for text in texts:
        for group in found:
            if _states(group[0], text) and _states(text, group[0]):
                group.append(text)
                break
        else:
            found.append([text])
    return found


def _states(text: str, said: str) -> bool:
    return has_words(text) and claim(text).judge([said])[0].counts()


def _origin(
    record: MemoryRecord, events: Sequence[MemoryRecord], seen: Sequence[MemoryRecord]
) -> tuple[str, list[str]]:
    """The words that a record goes back to, and the ids of all that says them.

    Events that say the same and are shown as nothing but a fact are erased with it.
    """
    said = {_words(event) for event in events}
    if len(said) != 1 or any(event in seen for event in events):
        return _words(record), [record.id]
    return said.pop(), [*(event.id for event in events), record.id]


def _words(record: MemoryRecord) -> str:
    """The words of a record, without speaker and listener."""
    for name in _WORDS:
        if isinstance(said := record.content.get(name), str) and said.strip():
            return " ".join(said.split())
    text = record_text(record.kind, record.origin, record.content)
    return " ".join(text.split())


def _followers(names: set[str], current: Iterable[MemoryRecord]) -> int:
    return sum(
        record.id not in names and not names.isdisjoint(record.sources)
        for record in current
    )


@dataclass(frozen=True)
class Shown:
    """The texts that agents were shown after a step.

    Attributes:
        texts: of each agent, by unique id as text.
        recalled: ids of the records that recalls showed.
    """

    texts: Mapping[str, str]
    recalled: frozenset[str]

    @classmethod
    def of(
        cls, run: Run, step: float, one: tuple[Any, float] | None = None
    ) -> "Shown | None":
        """The texts of a run; None if it ends at the step.

        Args:
            one: the agent and the step of a decision; None takes all after the step.

        Raises:
            ValueError: if that agent was not shown its memory in the step.
        """
        asked = (None, None) if one is None else one
        if not any(later > step for later in run.steps):
            return None
        shown = run.prompts(*asked, as_records=True)
        texts = texts_by_agent(row for row in shown if row["step"] > step)
        rows = run.recalls(*asked, as_records=True)
        recalled = {r["id"] for r in rows if r["step"] > step and r["shown"]}
        if one is not None and not texts and not recalled:
            raise ValueError(
                f"agent {one[0]!r} was not shown its memory in step {one[1]:g}: choose a "
                "step in which it decided, see run.decisions()"
            )
        return cls(texts, frozenset(recalled))

    def has(self, record: MemoryRecord, memory: MemoryModule) -> bool:
        """True if the record, its line or its words, was shown to its agent."""
        text = self.texts.get(str(record.agent), "")
        lines = memory.view().own_line(record), _words(record)
        found = any(line[:FOUND_CHARS] in text for line in lines)
        return found or record.id in self.recalled
