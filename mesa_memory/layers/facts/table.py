"""The facts of one memory, by topic."""

from collections.abc import Iterable, Iterator, Sequence, Set
from typing import Any

from mesa_memory.core.content import words
from mesa_memory.core.records import IMPORTED, REFUSED, MemoryRecord
from mesa_memory.core.snapshot import RecordLookup, look_up
from mesa_memory.layers.eviction import surplus_places
from mesa_memory.layers.facts.statement import KIND, FactStatement, bare, is_fact
from mesa_memory.tasks.offline.attributes import related

#: the longest name of a subject that is looked for in a text, in words
NAME_WORDS = 5

type Topic = tuple[Any, ...]


class FactTable:
    """Records of statements, also ended ones; a repeated statement counts once.

    Ended records are kept apart. Only questions about the past go through them, so the
    cost of a step does not grow with the number of ended facts.

    Attributes:
        statements: of each record here, by id.
        evidence: ids of the sources of all facts, current and ended.

    Args:
        records: of statements.
        evidence: of facts that it does not have.
    """

    def __init__(
        self, records: Iterable[MemoryRecord] = (), evidence: Iterable[str] = ()
    ) -> None:
        self.statements: dict[str, FactStatement] = {}
        self._topics: dict[Topic, dict[str, MemoryRecord]] = {}
        self._attributes: dict[Any, dict[str, dict[Topic, None]]] = {}
        self._open: dict[Topic, list[MemoryRecord]] = {}
        self._open_of: dict[Any, dict[Topic, None]] = {}
        self._named: dict[str, dict[Any, None]] = {}
        self.evidence = set(evidence)
        for record in records:
            self.add(record, FactStatement.of(record))

    def add(self, record: MemoryRecord, statement: FactStatement) -> None:
        """Takes up a record."""
        self.statements[record.id], topic = statement, statement.topic
        self.evidence.update(record.sources)
        self._topics.setdefault(topic, {})[record.id] = record
        attributes = self._attributes.setdefault(topic[0], {})
        attributes.setdefault(topic[1], {})[topic] = None
        if record.current:
            self._reopen(topic, [*self._open.get(topic, ()), record])
        names = [" ".join(words(bare(statement.subject)))]
        if statement.about is not None:
            names.append(" ".join(words(f"agent {statement.about}")))
            names.append(" ".join(words(statement.subject.partition(" (")[0])))
        for name in names:
            self._named.setdefault(name, {})[topic[0]] = None

    def remove(self, record: MemoryRecord) -> None:
        """Takes out a record."""
        topic = self.statements.pop(record.id).topic
        del self._topics[topic][record.id]
        if not self._topics[topic]:  # no fact is left that makes the attribute known
            attributes = self._attributes[topic[0]]
            del attributes[topic[1]][topic]
            if not attributes[topic[1]]:
                del attributes[topic[1]]
        self._reopen(topic, [r for r in self._open.get(topic, ()) if r is not record])

    def _reopen(self, topic: Topic, records: list[MemoryRecord]) -> None:
        """Notes the current records of a topic."""
        if records:
            self._open[topic] = records
            self._open_of.setdefault(topic[0], {})[topic] = None
        elif self._open.pop(topic, None):
            del self._open_of[topic[0]][topic]

    def of(self, record: MemoryRecord) -> FactStatement:
        """The statement of a record here."""
        return self.statements[record.id]

    # -- what is there ------------------------------------------------------------------

    def records(self) -> list[MemoryRecord]:
        """All of them, in order of making."""
        known = (record for group in self._topics.values() for record in group.values())
        return sorted(known, key=lambda record: record.order)

    def current(self) -> list[MemoryRecord]:
        """Those whose lifetime is open, topic by topic, the oldest topic first."""
        return [record for group in self.groups() for record in group]

    def groups(self) -> list[list[MemoryRecord]]:
        """The current ones of each topic that has any, the oldest topic first.

        The order is the same after a run was resumed: it follows from what the facts
        say, and not from when this table was made.
        """
        found = [group for topic in [*self._open] if (group := self.of_topic(topic))]
        return sorted(found, key=lambda group: self._order(group[0]))

    def of_topic(self, topic: Topic) -> list[MemoryRecord]:
        """The current ones of one topic, by the step since when they hold."""
        known = self._open.get(topic, [])
        current = [record for record in known if record.current]
        if len(current) < len(known):  # some have ended since
            self._reopen(topic, current)
        return sorted(current, key=self._order)

    def of_subject(self, subject: Any) -> list[MemoryRecord]:
        """The current ones of a subject, which is the first part of a topic."""
        topics = [*self._open_of.get(subject, ())]
        found = [record for topic in topics for record in self.of_topic(topic)]
        return sorted(found, key=self._order)

    def past(self, topic: Topic) -> list[tuple[MemoryRecord, float | None]]:
        """All of one topic and until when each held, by the step since when.

        None is until now. What was forgotten held until then.
        """
        known = self.ever(topic)
        return [(record, self._until(record, known)) for record in known]

    def ever(self, topic: Topic) -> list[MemoryRecord]:
        """All of one topic, also ended ones, by the step since when they held."""
        return sorted(self._topics.get(topic, {}).values(), key=self._order)

    def at(self, step: float) -> list[MemoryRecord]:
        """The facts that held at a step, as known now."""
        found = [
            record
            for topic in self._topics
            for record, until in self.past(topic)
            if self.of(record).since <= step and (until is None or step < until)
        ]
        return sorted(found, key=self._order)

    def newest(self, count: int) -> list[MemoryRecord]:
        """The current ones that were made last, in order of making."""
        return sorted(self.current(), key=lambda record: record.order)[-count:]

    def topics_of(self, subject: Any, attribute: str) -> list[Topic]:
        """The topics of an attribute of a subject, which is the first part of a topic."""
        return [*self._attributes.get(subject, {}).get(attribute, ())]

    def conflicts(self) -> list[list[MemoryRecord]]:
        """The current ones that cannot all hold, topic by topic."""
        return [group for group in self.groups() if self.disagree(group)]

    def disagree(self, records: Sequence[MemoryRecord]) -> bool:
        """True if two of them cannot both hold."""
        statements = [self.of(record) for record in records]
        return any(
            a.contradicts(b) for n, a in enumerate(statements) for b in statements[:n]
        )

    def disputed(self, records: Sequence[MemoryRecord]) -> bool:
        """True if a judge has found of two of them that they cannot both hold."""
        known = sorted(map(self.of, records), key=lambda each: each.since)
        return any(
            newer.disputed and newer.contradicts(older)
            for place, newer in enumerate(known)
            for older in known[:place]
        )

    def surplus(self, most: int | None) -> list[MemoryRecord]:
        """The current ones beyond a number: hearsay first, by speaker in turn."""
        known = self.current()
        if most is None or len(known) <= most:
            return []
        speakers, weights = map(self._speaker, known), map(self._weight, known)
        return [
            known[place] for place in sorted(surplus_places(speakers, weights, most, 1))
        ]

    def _speaker(self, record: MemoryRecord) -> Any:
        """The first speaker of a fact; None for one that the agent has witnessed."""
        statement = self.of(record)
        own = statement.seen or record.origin == IMPORTED
        return None if own else ("said by", *statement.speakers[:1])

    def _weight(self, record: MemoryRecord) -> Any:
        statement, stale = self.of(record), record.stale_since is not None
        return not stale, statement.strength, statement.last, record.order

    def stale(self) -> list[MemoryRecord]:
        """The current ones that rest on something that does not hold any more."""
        found = [r for r in self.current() if r.stale_since is not None]
        return sorted(found, key=self._order)

    # -- what a new statement meets -----------------------------------------------------------

    def plural(self, statement: FactStatement) -> bool:
        """True if the subject is known to have several values of the attribute."""
        # The topic of one of several values names that value, too.
        return any(len(topic) > 2 for topic in self.topics_of(*statement.topic[:2]))

    def like(
        self, statement: FactStatement, most: int, names: Set[str] = frozenset()
    ) -> list[MemoryRecord]:
        """The newest current ones of other attributes that may mean the same.

        Empty if the attribute is known of the subject: then there is nothing to ask.

        Args:
            names: words that do not tell one attribute from another.
        """
        subject, attribute = statement.topic[:2]
        if attribute in self._attributes.get(subject, ()):
            return []
        found = [
            record
            for record in self.of_subject(subject)
            if related(self.of(record).attribute, statement.attribute, names)
        ]
        return found[-most:]

    def named_in(self, texts: Iterable[str]) -> Iterator[list[MemoryRecord]]:
        """The current ones of each subject that is named in texts, in that order."""
        seen: dict[Any, None] = {}
        for text in texts:
            said = words(text)
            for start in range(len(said)):
                for end in range(start + 1, min(start + NAME_WORDS, len(said)) + 1):
                    named = self._named.get(" ".join(said[start:end]), ())
                    seen |= dict.fromkeys(sorted(named, key=repr))
        for subject in seen:
            yield self.of_subject(subject)

    def _order(self, record: MemoryRecord) -> tuple[Any, ...]:
        statement = self.of(record)
        return (
            statement.since,
            statement.subject,
            statement.attribute,
            statement.value,
            record.order,
        )

    def _until(
        self, record: MemoryRecord, known: Sequence[MemoryRecord]
    ) -> float | None:
        statement = self.of(record)
        ends = [
            self.of(other).since
            for other in known
            if other is not record
            and self.of(other).ends(statement)
            and (self.of(other).since > statement.since or other.order > record.order)
        ]
        by = self.statements.get(record.superseded_by or "")
        if by is not None and by.says != statement.says:
            ends.append(max(by.since, statement.since))
        return min(ends, default=record.valid_to)


def table_of(shelf: RecordLookup) -> FactTable:
    """The table of these records.

    Facts that were refused or taken out by hand are left out, and so are earlier
    revisions of a fact that was stated again.
    """
    known = [record for record in shelf.of_kind(KIND) if is_fact(record)]
    kept = [record for record in known if record.closed_because != REFUSED]
    evidence = (source for record in kept for source in record.sources)
    return FactTable((r for r in kept if not _renewed(r, shelf)), evidence)


def _renewed(record: MemoryRecord, shelf: RecordLookup) -> bool:
    """True if the next revision says the same, even if it was taken out by hand since."""
    by = look_up(shelf, record.superseded_by)
    if by is None or by.id != record.superseded_by or not is_fact(by):
        return False  # ``edit`` lists the new record under the id of the old one
    return FactStatement.of(by).says == FactStatement.of(record).says
