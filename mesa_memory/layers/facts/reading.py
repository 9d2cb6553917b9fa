"""Reads events: the facts they state, beside facts that it has about the same."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import chain, islice, zip_longest
from typing import Any, NamedTuple

from mesa_memory.core import render
from mesa_memory.core.events import recipients_of
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.text.vocabulary import vocabulary, words
from mesa_memory.errors import BadReply, ContentFiltered
from mesa_memory.layers.facts.naming import NameResolver
from mesa_memory.layers.facts.shown import FactLines
from mesa_memory.layers.facts.sources import checked_sources
from mesa_memory.layers.facts.statement import KIND, FactStatement, bare
from mesa_memory.layers.facts.table import FactTable
from mesa_memory.layers.facts.values import includes
from mesa_memory.layers.view import StepView
from mesa_memory.tasks import EXTRACT, JUDGE
from mesa_memory.tasks.base import in_batches
from mesa_memory.tasks.extract import Candidate, Extracted
from mesa_memory.tasks.judge import ADD, DELETE, NONE
from mesa_memory.tasks.offline.attributes import canonical
from mesa_memory.tasks.offline.statements import MIN_EVENTS

#: most events in one request; the rest waits its turn
MAX_EVENTS = 40
#: known facts in a request: of those named in its events, those nearest in words and
#: meaning, and besides the newest
MAX_NAMED_FACTS, MAX_NEAREST_FACTS, MAX_NEWEST_FACTS = 30, 8, 5
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


class Reading(NamedTuple):
    """A reply to a request for facts.

    Attributes:
        events: oldest first.
        known: the facts that were shown beside them.
        found: what the events state.
    """

    events: list[MemoryRecord]
    known: list[MemoryRecord]
    found: Extracted


@dataclass
class Stated:
    """A statement that events make, beside the facts known before.

    Attributes:
        events: its evidence; empty if the reply named no event of the request.
        cited: the known facts that it follows from, or that it ends.
        repeats: the known fact that says the same in other words.
    """

    statement: FactStatement
    events: list[MemoryRecord]
    cited: list[MemoryRecord]
    repeats: MemoryRecord | None = None


class FactReader:
    """Asks which facts events state, and a judge if two may mean the same.

    Args:
        gate: what a statement must be to be kept.

    Attributes:
        resolver: whom the memory has met.
        table: the facts that are known; set by the layer.
        lines: finds the facts nearest to a text; set by the layer.
        events: how many it has read in this process.
        judged, stated: about how many candidates a judge was asked, and of how many.
        meant: by subject and attribute, the known attribute that a judge has found it to
            mean, so that no judge is asked twice.
    """

    table: FactTable
    lines: FactLines

    def __init__(self, gate: Sequence[str]) -> None:
        self.gate, self.resolver = tuple(gate), NameResolver()
        self.judged = self.stated = self.events = 0
        self.meant: dict[tuple[Any, ...], str] = {}

    def read(
        self, view: StepView, unread: Sequence[MemoryRecord], summary: str | None
    ) -> Flow[Reading]:
        """Reads the oldest events, as many as fit one request.

        Args:
            summary: the one so far, empty before the first; None if none is wanted.
        """
        lines = self._lines(view, unread)
        events = list(unread[: len(lines)])
        said = [self._said(view, event, line) for event, line in zip(events, lines)]
        known = yield from self._known(view, lines, [text for *_, text in said])
        if summary is not None:
            summary = render.shorten(summary, SUMMARY_SHOWN)
        me = view.agent.unique_id
        found: Extracted = yield from view.ask(
            EXTRACT,
            me=view.names(me),
            lines=lines,
            said=said,
            known=[self._as_input(view, record, speakers=True) for record in known],
            summary=summary,
        )
        told = [
            (f"{who} {text}", _speaker(event) is not None)
            for event, (who, _, text) in zip(events, said)
        ]
        candidates = [
            checked_sources(
                each,
                told,
                self.resolver.find(view, each.subject, UNKNOWN_SPEAKER) == me,
            )
            for each in found.candidates
        ]
        return Reading(events, known, replace(found, candidates=candidates))

    def statements(self, view: StepView, reading: Reading) -> Flow[list[Stated]]:
        """The statements of the events read, under the names already known.

        The ones that the gate refuses are statements, too; no judge is asked about
        them. Without a usable answer of the judge, each stays as it was stated.
        """
        stated = [
            self._stated(view, each, reading) for each in reading.found.candidates
        ]
        unclear = {
            place: rivals
            for place, each in enumerate(stated)
            if self.passes(view, each) and (rivals := self._rivals(view, each))
        }
        if unclear:
            with suppress(BadReply, ContentFiltered):
                yield from self._judge(view, stated, unclear)
        return stated

    def note_read(self, view: StepView, events: int) -> None:
        """Counts events that were read; warns once if no memory of the run has a fact."""
        self.events += events
        made = view.journal.bus.made[KIND]
        if self.events >= MIN_EVENTS and not (self.stated or made):
            whose = view.names(view.agent.unique_id)
            counts = f"{self.events} of {self.events}"
            answered = view.model_choice.answered_by(EXTRACT.purpose)
            view.services.say_once(NOTHING_WARNING, whose, counts, answered)

    def passes(self, view: StepView, stated: Stated) -> bool:
        """The write gate's verdict; what ends a known fact matters always."""
        gate = stated.statement.gate
        fits = all(gate.get(name, True) for name in self.gate)
        return bool(stated.events) and (fits or bool(self.ended_by(view, stated)))

    def ended_by(self, view: StepView, stated: Stated) -> list[MemoryRecord]:
        """The known facts that a statement cites and ends."""
        me, statement = view.agent.unique_id, stated.statement
        return [
            record
            for record in stated.cited
            if record.current and statement.ends(FactStatement.of(record), me, True)
        ]

    # -- what is asked --------------------------------------------------------------------

    def _lines(self, view: StepView, unread: Sequence[MemoryRecord]) -> list[str]:
        """The oldest events that fit one request, at least one, as lines."""
        told = [
            render.at_step(event.step, view.line(event), view.wording)
            for event in unread[:MAX_EVENTS]
        ]
        return in_batches(told, len)[0]

    def _known(
        self, view: StepView, lines: Sequence[str], said: Sequence[str]
    ) -> Flow[list[MemoryRecord]]:
        """The facts that a request shows.

        Those of subjects named in it, stale and newest ones, then those nearest to each
        event.
        """
        # The newest of each subject in turn: one of many facts hides no other.
        named = map(reversed, self.table.named_in(lines))
        chosen = {r.id: r for r in islice(_in_turn(named), MAX_NAMED_FACTS)}
        for record in (
            *self.table.stale()[-MAX_NEWEST_FACTS:],
            *self.table.newest(MAX_NEWEST_FACTS),
        ):
            chosen[record.id] = record
        if len(chosen) < len(self.table.current()):
            near = _in_turn((yield from self.lines.nearest(view, said)))
            further = {r.id: r for r in near if r.id not in chosen}
            chosen |= dict(islice(further.items(), MAX_NEAREST_FACTS))
        return sorted(chosen.values(), key=lambda record: record.order)

    def _as_input(
        self, view: StepView, record: MemoryRecord, speakers: bool = False
    ) -> dict[str, Any]:
        """A known fact as requests have it, with its speakers if they are wanted."""
        statement = self.table.of(record)
        heard = [view.names(who) for who in statement.speakers if who is not None]
        said = f" ({', '.join(heard)})" if speakers and heard else ""
        stale = " (?)" * (record.stale_since is not None)
        return {
            "line": render.one_line(statement.text(view.wording) + said) + stale,
            "subject": statement.subject,
            **_parts(statement),
        }

    def _said(
        self, view: StepView, event: MemoryRecord, line: str
    ) -> tuple[str, str, str]:
        """The speaker and the only listener, empty without one, and the words."""
        content, limit = event.content, view.limits.event_chars
        speaker, names = _speaker(event), view.names
        if speaker is None or not isinstance(content, Mapping):
            text = content.get("text") if isinstance(content, Mapping) else None
            told = line.partition(": ")[2] if text is None else render.value_text(text)
            return "", "", render.shorten(told, limit)
        me = view.agent.unique_id
        heard = set(recipients_of(content) or [me]) - {speaker}
        listener = names(*heard) if len(heard) == 1 else ""
        told = render.message_text({**content, "sender": None})
        return names(speaker), listener, render.shorten(told, limit)

    # -- what a judge is asked ----------------------------------------------------------

    def _rivals(self, view: StepView, stated: Stated) -> list[MemoryRecord]:
        """The known facts that a statement may be about, or be another value of.

        A value that only says less or more than one by the same speakers repeats that.
        """
        statement = stated.statement
        known = self.table.of_topic(statement.topic)
        if not known:
            return self.table.like(statement, MAX_RIVALS, self._names(view))
        said = set(statement.speakers)
        if not statement.holds and any(record in stated.cited for record in known):
            return []  # it says which it denies
        rivals = []
        for record in known:
            other = self.table.of(record)
            denied = bare(other.value) == bare(statement.value) and not statement.holds
            if denied or other.says == statement.says:
                return []  # there is nothing to ask
            if other.holds and not statement.changed and record not in stated.cited:
                again = statement.seen or said <= set(other.speakers)
                if again and statement.holds and self._includes(view, statement, other):
                    stated.repeats = record
                    return []
                if statement.since >= other.since and not statement.seen:
                    rivals.append(record)
        return rivals[-MAX_RIVALS:]

    def _includes(
        self, view: StepView, one: FactStatement, other: FactStatement
    ) -> bool:
        spoken = vocabulary(view.wording.language)
        return includes(one.value, other.value, spoken)

    def _names(self, view: StepView) -> frozenset[str]:
        """The words that do not tell one attribute from another: names, function words."""
        me, names = view.agent.unique_id, view.names
        known = chain.from_iterable(words(names(w)) for w in (me, *self.resolver.met))
        return vocabulary(view.wording.language).stop_words.union(known)

    def _judge(
        self,
        view: StepView,
        stated: list[Stated],
        unclear: Mapping[int, Sequence[MemoryRecord]],
    ) -> Flow[None]:
        """Takes up what a judge says of unclear statements."""
        shown = list({r.id: r for rivals in unclear.values() for r in rivals}.values())
        places = {record.id: place for place, record in enumerate(shown)}
        decisions = yield from view.ask(
            JUDGE,
            new=[
                {
                    "line": stated[place].statement.text(view.wording),
                    **_parts(stated[place].statement),
                    "may_be": [places[record.id] for record in rivals],
                }
                for place, rivals in unclear.items()
            ],
            known=[self._as_input(view, record) for record in shown],
        )
        self.judged += len(unclear)
        for place, (operation, fact) in zip(unclear, decisions):
            record = None if fact is None else shown[fact]
            self._take_up(stated[place], operation, record)

    def _take_up(
        self, stated: Stated, operation: str, record: MemoryRecord | None
    ) -> None:
        """A judge has compared a statement with the known facts."""
        statement = stated.statement
        if record is None:
            known = self.table.of_topic(statement.topic)
            apart = operation == ADD and statement.holds and bool(known)
            stated.statement = replace(statement, several=statement.several or apart)
            return
        meant = self.table.of(record)
        if canonical(meant.attribute) != canonical(statement.attribute):
            self.meant[_aspect(statement)] = meant.attribute
        same = replace(statement, attribute=meant.attribute, several=meant.several)
        if operation == DELETE and not statement.holds:
            same = replace(same, value=meant.value)
        elif operation == NONE and statement.holds == meant.holds:
            stated.repeats = record
        elif operation != NONE:
            same = replace(same, disputed=statement.holds and meant.holds)
        stated.statement = same

    # -- what comes of it -----------------------------------------------------------------

    def _stated(self, view: StepView, given: Candidate, reading: Reading) -> Stated:
        """A candidate with its subject and its speakers told from the events."""
        events = [reading.events[place] for place in given.sources]
        heard = [who for event in events if (who := _speaker(event)) is not None]
        who = self.resolver.find(view, given.subject, heard[0] if heard else None)
        seen = [self._witness(view, given)] * bool(given.witnessed)
        steps = [event.step for event in events] or [reading.events[0].step]
        statement = FactStatement(
            render.one_line(given.subject if who is None else view.names(who)),
            render.one_line(given.attribute),
            render.one_line(given.value),
            who,
            holds=given.holds,
            several=given.several,
            changed=given.changed,
            speakers=tuple(dict.fromkeys([*heard, *seen])),
            quoting=self._quoted(view, given, heard),
            since=min(steps),
            last=max(steps),
            strength=max(len(events), 1),
            gate=given.gate,
        )
        meant = self.meant.get(_aspect(statement), statement.attribute)
        statement = replace(statement, attribute=meant)
        if self.table.plural(statement):
            statement = replace(statement, several=True)
        cited = [reading.known[place] for place in given.rests_on]
        return Stated(statement, events, cited)

    def _witness(self, view: StepView, given: Candidate) -> Any:
        """The speaker of an event that is not a message; None if the agent saw it."""
        if not given.speaker:
            return None
        who = self.resolver.find(view, given.speaker)
        me = who == view.agent.unique_id
        return None if me else render.one_line(given.speaker) if who is None else who

    def _quoted(self, view: StepView, given: Candidate, heard: Sequence[Any]) -> str:
        """The person that the sender of a message quotes; empty without one."""
        if not heard or not given.speaker:
            return ""
        who = self.resolver.find(view, given.speaker)
        return "" if who in heard else render.one_line(given.speaker)


def _in_turn(groups: Iterable[Iterable[MemoryRecord]]) -> Iterable[MemoryRecord]:
    """The first of each group, then the second of each, and so on."""
    return filter(None, chain.from_iterable(zip_longest(*groups)))


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


def _parts(statement: FactStatement) -> dict[str, Any]:
    """Attribute and value of a statement, and whether it holds, for a request."""
    names = ("attribute", "value", "holds")
    return {name: getattr(statement, name) for name in names}
