"""The facts that one memory knows, by what they are about."""

import heapq
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from mesa_memory.core.content import words
from mesa_memory.core.records import BY_HAND, MemoryRecord
from mesa_memory.memories.claim import Claim, bare
from mesa_memory.tasks.attributes import known as usual
from mesa_memory.tasks.attributes import related

#: the longest name of a subject that is looked for in a text, in words
NAME_WORDS = 5

type Topic = tuple[Any, ...]


class FactTable:
    """Records of claims, those that have ended too; a repeated claim counts once.

    Attributes:
        claims: of each record here, by id.
    """

    def __init__(self, records: Iterable[MemoryRecord] = ()) -> None:
        self.claims: dict[str, Claim] = {}
        self._records: dict[str, MemoryRecord] = {}
        self._topics: dict[Topic, list[str]] = {}
        self._subjects: dict[Any, dict[Topic, None]] = {}
        self._named: dict[str, dict[Any, None]] = {}
        records = list(records)
        there = {record.id: record for record in records}
        for record in records:
            claim, taken_up = Claim.of(record), there.get(record.superseded_by or "")
            if taken_up is None or Claim.of(taken_up).says != claim.says:
                self.add(record, claim)

    def add(self, record: MemoryRecord, claim: Claim) -> None:
        """Takes up a record."""
        self.claims[record.id], self._records[record.id] = claim, record
        topic = claim.topic
        self._topics.setdefault(topic, []).append(record.id)
        self._subjects.setdefault(topic[0], {})[topic] = None
        names = [" ".join(words(bare(claim.subject)))]
        if claim.about is not None:
            names.append(" ".join(words(f"agent {claim.about}")))
            names.append(" ".join(words(claim.subject.partition(" (")[0])))
        for name in names:
            self._named.setdefault(name, {})[topic[0]] = None

    def replace(self, old: MemoryRecord, new: MemoryRecord, claim: Claim) -> None:
        """Puts a record of the same claim in the place of an earlier one."""
        del self.claims[old.id], self._records[old.id]
        topic = self._topics[claim.topic]
        topic[topic.index(old.id)] = new.id
        self.claims[new.id], self._records[new.id] = claim, new

    def remove(self, record: MemoryRecord) -> None:
        """Takes out a record in whose place there is one of another topic."""
        self._topics[self.claims.pop(record.id).topic].remove(record.id)
        del self._records[record.id]

    # -- what is there ------------------------------------------------------------------

    def records(self) -> list[MemoryRecord]:
        """All of them, in order of making, without what was taken out by hand."""
        found = self._records.values()
        kept = [record for record in found if record.closed_because not in BY_HAND]
        return sorted(kept, key=lambda record: record.place)

    def current(self) -> list[MemoryRecord]:
        """Those whose lifetime is open, topic by topic, the oldest topic first."""
        return [record for group in self.groups() for record in group]

    def groups(self) -> list[list[MemoryRecord]]:
        """The current ones of each topic that has any, the oldest topic first.

        The order is the same after a run was resumed: it follows from what the facts
        say, and not from when this table was made.
        """
        found = [group for topic in self._topics if (group := self.of_topic(topic))]
        return sorted(found, key=lambda group: self._order(group[0]))

    def of_topic(self, topic: Topic) -> list[MemoryRecord]:
        """The current ones of one topic, by the step since when they hold."""
        known = [self._records[key] for key in self._topics.get(topic, ())]
        return sorted((r for r in known if r.current), key=self._order)

    def past(self, topic: Topic) -> list[tuple[MemoryRecord, float | None]]:
        """All of one topic and until when each held, by the step since when.

        None is until now. What was forgotten held until then.
        """
        known = [self._records[key] for key in self._topics.get(topic, ())]
        known = [record for record in known if record.closed_because not in BY_HAND]
        known.sort(key=self._order)
        return [(record, self._until(record, known)) for record in known]

    def at(self, step: float) -> list[MemoryRecord]:
        """Those that held at a step, as far as that is known now."""
        found = [
            record
            for topic in self._topics
            for record, until in self.past(topic)
            if self.claims[record.id].since <= step and (until is None or step < until)
        ]
        return sorted(found, key=self._order)

    def newest(self, count: int) -> list[MemoryRecord]:
        """The current ones that were made last, in order of making."""
        known = [record for record in self._records.values() if record.current]
        return heapq.nlargest(count, known, key=lambda record: record.place)[::-1]

    def topics_of(self, subject: Any, attribute: str | None = None) -> list[Topic]:
        """The topics of a subject, or those of one of its attributes.

        Args:
            subject: the first part of a topic.
        """
        known = self._subjects.get(subject, ())
        return [topic for topic in known if attribute in (None, topic[1])]

    def conflicts(self) -> list[list[MemoryRecord]]:
        """The current ones that cannot all hold, topic by topic."""
        return [group for group in self.groups() if self.disagree(group)]

    def disagree(self, records: Sequence[MemoryRecord]) -> bool:
        """True if two of them cannot both hold."""
        claims = [self.claims[record.id] for record in records]
        return any(a.contradicts(b) for n, a in enumerate(claims) for b in claims[:n])

    def weight(self, record: MemoryRecord) -> tuple[Any, ...]:
        """How much a fact is worth keeping: the lowest goes first."""
        claim = self.claims[record.id]
        return (record.stale_since is None, claim.strength, claim.last, record.place)

    def stale(self) -> list[MemoryRecord]:
        """The current ones that rest on something that does not hold any more."""
        found = [
            r for r in self._records.values() if r.current and r.stale_since is not None
        ]
        return sorted(found, key=self._order)

    # -- what a new claim meets -----------------------------------------------------------

    def plural(self, claim: Claim) -> bool:
        """True if the subject is known to have several values of the attribute."""
        known = self.topics_of(claim.topic[0], claim.attribute)
        return any(len(topic) > 2 for topic in known)

    def like(self, claim: Claim, most: int) -> list[MemoryRecord]:
        """The newest current ones of other attributes that may mean the same.

        Empty if the attribute is known of the subject: then there is nothing to ask.
        """
        known = self.topics_of(claim.topic[0])
        if any(topic[1] == claim.attribute for topic in known):
            return []
        found = [
            record
            for topic in known
            for record in self.of_topic(topic)
            if self._may_mean(self.claims[record.id], claim)
        ]
        return sorted(found, key=self._order)[-most:]

    def of_name(self, name: str) -> list[MemoryRecord]:
        """The current ones of what is called so and is no agent that is known."""
        topics = self.topics_of(bare(name))
        return [record for topic in topics for record in self.of_topic(topic)]

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
            topics = self.topics_of(subject)
            found = [record for topic in topics for record in self.of_topic(topic)]
            yield sorted(found, key=self._order)

    def _order(self, record: MemoryRecord) -> tuple[Any, ...]:
        claim = self.claims[record.id]
        return (claim.since, claim.subject, claim.attribute, claim.value, record.place)

    def _may_mean(self, one: Claim, other: Claim) -> bool:
        if related(one.attribute, other.attribute):
            return True
        unusual = not (usual(one.attribute) and usual(other.attribute))
        return unusual and bare(one.value) == bare(other.value)

    def _until(
        self, record: MemoryRecord, known: Sequence[MemoryRecord]
    ) -> float | None:
        claim = self.claims[record.id]
        ends = [
            self.claims[other.id].since
            for other in known
            if other is not record
            and self.claims[other.id].ends(claim)
            and (
                self.claims[other.id].since > claim.since or other.place > record.place
            )
        ]
        if ends:
            return min(ends)
        return record.valid_to
