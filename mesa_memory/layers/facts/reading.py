"""Reads events: the facts they state, beside facts that it has about the same."""

import re
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple

from mesa_memory.core import render
from mesa_memory.core.content import ID_CHARS, id_of
from mesa_memory.core.events import subjects
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.text.naming import name_key, with_name
from mesa_memory.errors import BadReply, ContentFiltered
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.facts.sources import checked_sources
from mesa_memory.layers.facts.statement import KIND, FactStatement, bare
from mesa_memory.layers.facts.table import FactTable
from mesa_memory.tasks import EXTRACT, JUDGE
from mesa_memory.tasks.base import in_batches
from mesa_memory.tasks.extract import Candidate, Extracted
from mesa_memory.tasks.judge import DELETE, NONE
from mesa_memory.tasks.offline.attributes import canonical
from mesa_memory.tasks.offline.statements import MIN_EVENTS

#: most events in one request; the rest waits its turn
MAX_EVENTS = 40
#: known facts in a request: of those named in its events, and besides the newest
MAX_NAMED_FACTS, MAX_NEWEST_FACTS = 30, 10
#: the most facts that a judge is shown for one statement
MAX_RIVALS = 5
#: longest summary in a request
SUMMARY_SHOWN = 2000
#: what a message without a sender is said by
UNKNOWN_SPEAKER = "somebody"
NOTHING_WARNING = (
    "%s found no fact in %s events, which were read by %s This warning appears once per "
    "run."
)
_LABEL = re.compile(r"(?:[^()]*\()?agent (\S+?)\)?", re.IGNORECASE)
#: what a speaker calls itself
_SELF = ("i", "me", "myself", "the speaker", "speaker")


class NameResolver:
    """The agents that a memory has met in its events, by unique id.

    Attributes:
        met: their unique ids, in order of meeting.
    """

    context: LayerContext

    def __init__(self) -> None:
        self.met: dict[Any, None] = {}

    def meet(self, events: Iterable[MemoryRecord]) -> list[Any]:
        """Takes note of those in events; returns those who are met for the first time."""
        before = len(self.met)
        for event in events:
            for who in subjects(event.kind, event.content):
                if not isinstance(who, str) or len(who) <= ID_CHARS:
                    self.met[who] = None
        return list(self.met)[before:] if len(self.met) > before else []

    def find(self, text: str, speaker: Any = None) -> Any:
        """The unique id of the one agent that a text names; None if it names none.

        Args:
            speaker: who is meant by ``I``; None is the agent that remembers.
        """
        said, me = name_key(text), self.context.agent.unique_id
        if said in _SELF:
            return me if speaker is None else speaker
        names = self.context.names
        if label := _LABEL.fullmatch(said):
            who = id_of(label[1])
            there = who in self.met or who == me or names.has_mind(who) is not None
            return who if there else None
        everybody = {who: names.name(who) for who in (me, *self.met)}
        found = with_name(everybody, text)
        return found[0] if len(found) == 1 else None


class Reading(NamedTuple):
    """Statements found in events.

    Attributes:
        events: oldest first.
        known: the facts that were shown beside them.
        found: what the events state.
    """

    events: list[MemoryRecord]
    known: list[MemoryRecord]
    found: Extracted


class FactReader:
    """Asks which facts events state, and a judge if two names may mean the same.

    Args:
        gate: what a statement must be to be kept.

    Attributes:
        resolver: whom the memory has met.
        table: the facts that are known; set by the layer.
        events: how many it has read in this process.
        judged, stated: about how many candidates a judge was asked, and of how many.
        meant: by subject and attribute, the known attribute that a judge has found it to
            mean, so that no judge is asked twice.
    """

    context: LayerContext
    table: FactTable

    def __init__(self, gate: Sequence[str]) -> None:
        self.gate, self.resolver = tuple(gate), NameResolver()
        self.judged = self.stated = self.events = 0
        self.meant: dict[tuple[Any, ...], str] = {}

    def read(
        self, unread: Sequence[MemoryRecord], summary: str | None
    ) -> Flow[Reading]:
        """Reads the oldest events, as many as fit one request.

        Args:
            summary: the one so far, empty before the first; None if none is wanted.
        """
        lines = self._lines(unread)
        events, known = list(unread[: len(lines)]), self._known(lines)
        if summary is not None:
            summary = render.shorten(summary, SUMMARY_SHOWN)
        me = self.context.agent.unique_id
        said = [self._said(event, line) for event, line in zip(events, lines)]
        found: Extracted = yield from self.context.ask(
            EXTRACT,
            me=self.context.names(me),
            lines=lines,
            said=said,
            known=[self._as_input(record, speakers=True) for record in known],
            summary=summary,
        )
        words = [
            (" ".join(told), _speaker(event) is not None)
            for event, told in zip(events, said)
        ]
        candidates = [
            checked_sources(
                each, words, self.resolver.find(each.subject, UNKNOWN_SPEAKER) == me
            )
            for each in found.candidates
        ]
        return Reading(events, known, replace(found, candidates=candidates))

    def statements(self, reading: Reading) -> Flow[list[FactStatement]]:
        """The statements of the events read, under the attributes already known.

        The ones that the gate refuses are statements, too; no judge is asked about
        them. Without a usable answer of the judge, each stays under its own names.
        """
        statements = [
            self._statement(each, reading) for each in reading.found.candidates
        ]
        unclear = {
            place: rivals
            for place, statement in enumerate(statements)
            if reading.found.candidates[place].sources and self.passes(statement)
            if (rivals := self.table.like(statement, MAX_RIVALS))
        }
        if unclear:
            with suppress(BadReply, ContentFiltered):
                yield from self._judge(statements, unclear)
        return statements

    def note_read(self, events: int) -> None:
        """Counts events that were read; warns once if no memory of the run has a fact."""
        self.events += events
        runtime, made = self.context.runtime, self.context.log.bus.made[KIND]
        if self.events >= MIN_EVENTS and not (self.stated or made):
            whose = self.context.names(self.context.agent.unique_id)
            counts = f"{self.events} of {self.events}"
            answered = runtime.answered_by(EXTRACT.purpose)
            runtime.services.say_once(NOTHING_WARNING, whose, counts, answered)

    def passes(self, statement: FactStatement) -> bool:
        """The write gate's verdict."""
        return all(statement.gate.get(name, True) for name in self.gate)

    # -- what is asked --------------------------------------------------------------------

    def _lines(self, unread: Sequence[MemoryRecord]) -> list[str]:
        """The oldest events that fit one request, at least one, as lines."""
        told = [
            render.at_step(event.step, self.context.line(event), self.context.wording)
            for event in unread[:MAX_EVENTS]
        ]
        return in_batches(told, len)[0]

    def _known(self, lines: Sequence[str]) -> list[MemoryRecord]:
        """The facts that a request shows: of those named in it, stale and newest ones."""
        # The newest of each subject in turn: one of many facts hides no other.
        named = map(reversed, self.table.named_in(lines))
        in_turn = filter(None, chain.from_iterable(zip_longest(*named)))
        chosen = {r.id: r for r in islice(in_turn, MAX_NAMED_FACTS)}
        for record in (
            *self.table.stale()[-MAX_NEWEST_FACTS:],
            *self.table.newest(MAX_NEWEST_FACTS),
        ):
            chosen[record.id] = record
        return sorted(chosen.values(), key=lambda record: record.order)

    def _as_input(self, record: MemoryRecord, speakers: bool = False) -> dict[str, Any]:
        """A known fact as requests have it, with its speakers if they are wanted."""
        statement, text = self.table.of(record), str(record.content["text"])
        heard = [
            self.context.names(who) for who in statement.speakers if who is not None
        ]
        said = f" ({', '.join(heard)})" if speakers and heard else ""
        stale = " (?)" * (record.stale_since is not None)
        return {
            "line": render.one_line(text + said) + stale,
            "subject": statement.subject,
            "attribute": statement.attribute,
            "value": statement.value,
            "holds": statement.holds,
        }

    def _said(self, event: MemoryRecord, line: str) -> tuple[str, str]:
        """The speaker, empty without one, and the words."""
        content, limit = event.content, self.context.event_chars
        if _speaker(event) is None or not isinstance(content, Mapping):
            text = content.get("text") if isinstance(content, Mapping) else None
            told = line.partition(": ")[2] if text is None else render.value_text(text)
            return "", render.shorten(told, limit)
        told = render.message_text({**content, "sender": None})
        return self.context.names(_speaker(event)), render.shorten(told, limit)

    def _judge(
        self,
        statements: list[FactStatement],
        unclear: Mapping[int, Sequence[MemoryRecord]],
    ) -> Flow[None]:
        """Puts the statements that a known fact is about under that fact's names."""
        shown = list({r.id: r for rivals in unclear.values() for r in rivals}.values())
        places = {record.id: place for place, record in enumerate(shown)}
        decisions = yield from self.context.ask(
            JUDGE,
            new=[
                {
                    "line": statements[place].content["text"],
                    "attribute": statements[place].attribute,
                    "value": statements[place].value,
                    "holds": statements[place].holds,
                    "may_be": [places[record.id] for record in rivals],
                }
                for place, rivals in unclear.items()
            ],
            known=[self._as_input(record) for record in shown],
        )
        self.judged += len(unclear)
        for place, (operation, fact) in zip(unclear, decisions):
            if fact is not None:
                meant = self.table.of(shown[fact])
                self.meant[_aspect(statements[place])] = meant.attribute
                statements[place] = _as_meant(statements[place], meant, operation)

    # -- what comes of it -----------------------------------------------------------------

    def _statement(self, given: Candidate, reading: Reading) -> FactStatement:
        """A candidate with its subject and its speakers told from the events."""
        events = [reading.events[place] for place in given.sources]
        heard = [who for event in events if (who := _speaker(event)) is not None]
        who = self.resolver.find(given.subject, heard[0] if heard else None)
        seen = [self._witness(given)] * bool(given.witnessed)
        steps = [event.step for event in events] or [reading.events[0].step]
        statement = FactStatement(
            render.one_line(given.subject if who is None else self.context.names(who)),
            render.one_line(given.attribute),
            render.one_line(given.value),
            who,
            *(given.holds, given.several, given.changed),
            tuple(dict.fromkeys([*heard, *seen])),
            self._quoted(given, heard),
            *(min(steps), max(steps), max(len(events), 1)),
            given.gate,
        )
        statement = replace(
            statement, attribute=self.meant.get(_aspect(statement), statement.attribute)
        )
        return self._numbered(statement)

    def _numbered(self, statement: FactStatement) -> FactStatement:
        """A statement with ``several``, if its attribute is known to be so."""
        plural = self.table.plural(statement)
        return replace(statement, several=True) if plural else statement

    def placed(self, statement: FactStatement) -> FactStatement:
        """A statement from elsewhere, under the names that are known here."""
        who = self.resolver.find(statement.subject)
        subject = statement.subject if who is None else self.context.names(who)
        return self._numbered(replace(statement, subject=subject, about=who))

    def _witness(self, given: Candidate) -> Any:
        """The speaker of an event that is not a message; None if the agent saw it."""
        if not given.speaker:
            return None
        who = self.resolver.find(given.speaker)
        me = who == self.context.agent.unique_id
        return None if me else render.one_line(given.speaker) if who is None else who

    def _quoted(self, given: Candidate, heard: Sequence[Any]) -> str:
        """The person that the sender of a message quotes; empty without one."""
        if not heard or not given.speaker:
            return ""
        who = self.resolver.find(given.speaker)
        return "" if who in heard else render.one_line(given.speaker)


def _aspect(statement: FactStatement) -> tuple[Any, ...]:
    """The subject and the attribute of a statement, as plain data."""
    subject = "" if statement.about is not None else bare(statement.subject)
    return statement.about, subject, canonical(statement.attribute)


def _speaker(event: MemoryRecord) -> Any:
    """The sender of an event, such as a message; None for an event without speaker."""
    sender = event.sender
    if isinstance(sender, int | str) and not isinstance(sender, bool):
        return sender
    return UNKNOWN_SPEAKER if event.kind == "message" else None


def _as_meant(
    statement: FactStatement, known: FactStatement, operation: str
) -> FactStatement:
    """A statement about the same thing as a known one, by that one's names."""
    same = replace(statement, attribute=known.attribute, several=known.several)
    if operation == NONE:
        return replace(same, value=known.value, holds=known.holds)
    if operation == DELETE:
        return replace(same, value=known.value, holds=False)
    return same
