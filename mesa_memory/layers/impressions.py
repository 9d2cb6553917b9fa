"""An agent's impressions of the agents it has met."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.content import by_id
from mesa_memory.core.events import evidence, subjects
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.requests import Fault, Flow, LLMRequest, first_fault, gather
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.statement import statement
from mesa_memory.core.text.naming import names_one_of
from mesa_memory.errors import BadReply, ContentFiltered, PromptTooLong
from mesa_memory.layers.base import Layer
from mesa_memory.layers.lines import Line, folded_for
from mesa_memory.layers.view import StepView, ask_about, askable
from mesa_memory.layers.window import Window
from mesa_memory.tasks import IMPRESS
from mesa_memory.tasks.base import in_batches
from mesa_memory.tasks.impress import Impression

#: number of newest interactions that are kept, and shown in one request
MAX_INTERACTIONS = 40
#: most agents in one request
MAX_OTHERS = 20
#: of the records
KIND = "impression"


@dataclass
class Acquaintance:
    """One other agent, as far as this one knows it.

    Attributes:
        revisions: impressions of it, oldest first; the last is current.
        since: interactions since the last impression, oldest first.
    """

    revisions: list[MemoryRecord] = field(default_factory=list)
    since: list[MemoryRecord] = field(default_factory=list)

    @property
    def current(self) -> MemoryRecord | None:
        """The impression of this moment; None before the first."""
        return self.revisions[-1] if self.revisions else None


class Impressions(Layer):
    """One current impression of each agent met.

    An impression is renewed from the previous one and what happened since, once
    ``update_every`` interactions have come together; all that are due in a step are
    asked for in one request.

    Args:
        window: says who was seen and heard last.
        update_every: interactions with an agent between two impressions.
        max_chars: longest accepted impression.
        counts: kinds of events that are interactions, and what an impression is made
            from. With ``("message", "observation")`` sights count as well, as soon as
            something was said, too. An event of a kind of your own is about those whom
            its ``sender`` and ``recipients`` name.

    Attributes:
        known: each agent met, by unique id, in order of meeting.
        most: agents in one request.

    Raises:
        ValueError: if no kind counts, or a kind is not a text.
    """

    name = "impressions"
    restored = ("known",)
    most = MAX_OTHERS

    def __init__(
        self,
        window: Window,
        update_every: int = 5,
        max_chars: int = 400,
        counts: Iterable[str] = ("message",),
    ) -> None:
        self.window, self.update_every, self.max_chars = window, update_every, max_chars
        self.counts = _kinds(counts)
        self.known: dict[Any, Acquaintance] = {}

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Counts interactions; see ``Layer``."""
        for event in events:
            if event.kind not in self.counts:
                continue
            for subject in self._dealt_with(view, event):
                known = self.known.setdefault(subject, Acquaintance())
                known.since.append(event)
                del known.since[:-MAX_INTERACTIONS]

    def remember(self, view: StepView) -> Flow[None]:
        """Renews every impression that is due; one failing leaves the others be."""
        for known in self.known.values() if view.journal.filtered else ():
            known.since = askable(view, known.since)
        due = {s: list(k.since) for s, k in self.known.items() if self._is_due(k.since)}
        told = [self._told(view, subject, since) for subject, since in due.items()]
        outcomes = yield from self._impress(view, told)
        for (subject, since), outcome in zip(due.items(), outcomes, strict=True):
            if isinstance(outcome, Impression):
                self._renew(view, subject, since, outcome)
            elif isinstance(outcome, ContentFiltered):
                yield from self._ask_around(view, subject, since)
        left = [o for o in outcomes if not isinstance(o, ContentFiltered)]
        if fault := first_fault(left):
            raise fault

    def _impress(
        self, view: StepView, others: Sequence[Mapping[str, Any]]
    ) -> Flow[list[Impression | Fault]]:
        """An impression of each of these agents, or the fault, in their order.

        As many as fit are requested together. Of a reply that leaves some out, or has
        some that are invalid, the good ones count, and each of the others is asked for
        alone: an agent of whom the model can say nothing keeps back no impression of
        another one.

        Args:
            others: of each ``subject``, ``previous``, ``since``, ``meetings``.
        """
        groups = in_batches(
            others, lambda each: sum(map(len, each["since"])), self.most
        )
        outcomes = yield from gather(
            [self._impress_group(view, group) for group in groups]
        )
        found: list[Impression | Fault] = []
        for group, outcome in zip(groups, outcomes, strict=True):
            found += outcome if isinstance(outcome, list) else [outcome] * len(group)
        return found

    def _impress_group(
        self, view: StepView, group: Sequence[Mapping[str, Any]]
    ) -> Flow[list[Impression | Fault]]:
        """Asks for all of a group, then for each missing one alone.

        Raises:
            LLMError: if the model cannot be reached.
        """
        found: dict[int, Impression | Fault] = {}
        if len(group) > 1:
            # It may be able to answer for one at a time.
            with suppress(BadReply, PromptTooLong, ContentFiltered):
                usable = yield from IMPRESS.ask(self._request(view, group))
                found |= usable.impressions
        left = [place for place in range(len(group)) if place not in found]
        alone = [IMPRESS.ask(self._request(view, [group[place]])) for place in left]
        found |= zip(left, (yield from gather(alone)), strict=True)
        return [found[place] for place in range(len(group))]

    def _ask_around(
        self, view: StepView, subject: Any, since: list[MemoryRecord]
    ) -> Flow[None]:
        """Renews an impression without the events that a content filter refuses."""

        def ask(events: list[MemoryRecord]) -> Flow[Impression]:
            return IMPRESS.ask(self._request(view, [self._told(view, subject, events)]))

        outcome = yield from ask_about(view, since, ask)
        self.known[subject].since = askable(view, self.known[subject].since)
        if outcome is not None:
            self._renew(view, subject, askable(view, since), outcome)

    def _is_due(self, since: Sequence[MemoryRecord]) -> bool:
        """Enough has happened, and something was said if words count at all."""
        if len(since) < self.update_every:
            return False
        said = any(event.kind == "message" for event in since)
        return said or "message" not in self.counts

    def current(self) -> dict[Any, MemoryRecord]:
        """The current impression of each agent, by unique id, in order of meeting."""
        return {s: k.current for s, k in self.known.items() if k.current}

    def summary(self, view: StepView) -> list[Line]:
        """Impressions of those seen nearby, just heard from, or named in what they said."""
        current, names = self.current(), view.names
        shown = {s: current[s] for s in self._at_hand(view, current) if s in current}
        return [
            Line(
                view.told(
                    "impression",
                    who=names(subject),
                    text=record.content["text"],
                    sentiment=f"{record.content['sentiment']:+.1f}",
                    familiarity=f"{record.content['familiarity']:.1f}",
                ),
                (record,),
                wording=view.wording,
            )
            for subject, record in shown.items()
        ]

    def records(self) -> Iterator[MemoryRecord]:
        """The current impressions; the events since then are other layers' to hold."""
        yield from self.current().values()

    def history(self) -> Iterator[MemoryRecord]:
        """All earlier impressions."""
        for known in self.known.values():
            yield from known.revisions

    def snapshot(self) -> dict[str, Any]:
        """The agents it knows, and the interactions since the last impression."""
        return {"known": [(s, k.since.copy()) for s, k in self.known.items()]}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Restores the agents it has met; the impressions are on the shelf."""
        self.known = {s: Acquaintance(since=since) for s, since in snapshot["known"]}
        for record in shelf.of_kind(KIND):  # an event may have that name, too
            if record.subject in self.known and record.origin == DERIVED:
                self.known[record.subject].revisions.append(record)

    def _dealt_with(self, view: StepView, event: MemoryRecord) -> list[Any]:
        """Those met in an event, without the others who listened to the same speaker."""
        met = self._met(view, event.kind, event.content)
        if event.kind != "message" or event.sender in (None, view.agent.unique_id):
            return met
        return [other for other in met if other == event.sender]

    def _met(self, view: StepView, kind: str, content: Any) -> list[Any]:
        """Unique ids of the other minds in an event, in order, each once."""
        me, seen = view.agent.unique_id, kind == "observation"
        named = subjects(kind if seen else "message", content)
        others = [s for s in dict.fromkeys(named) if s != me]
        # Somebody unknown who speaks has a mind.
        minds = ((s, view.names.all.has_mind(s)) for s in others)
        return [s for s, mind in minds if (not seen if mind is None else mind)]

    def _at_hand(self, view: StepView, known: Iterable[Any]) -> list[Any]:
        """Agents in the newest observation, those heard from since last step, those named.

        Args:
            known: unique ids of those who may be named.
        """
        now = view.now
        seen: list[Any] = []
        heard: list[Any] = []
        said: list[str] = []
        held = [(each.step, each.events) for each in self.window.held]
        for step, events in [*held, *view.pending()]:
            for event in events:
                kind, content = event.kind, event.content
                if kind == "observation":
                    seen = self._met(view, kind, content)
                elif kind == "message" and now - step <= 1:
                    heard += self._met(view, kind, content)
                    said.append(render.value_text(content.get("message", "")))
        return list(dict.fromkeys([*seen, *heard, *self._named(view, known, said)]))

    def _named(
        self, view: StepView, known: Iterable[Any], said: Sequence[str]
    ) -> list[Any]:
        """Those of some agents whose names stand in texts."""
        name, text = view.names.name, "\n".join(said)
        return [s for s in known if text and names_one_of(text, (by_id(s), name(s)))]

    def _told(
        self, view: StepView, subject: Any, since: Sequence[MemoryRecord]
    ) -> dict[str, Any]:
        """The part of a request about another agent; see ``IMPRESS``."""
        known = self.known[subject].current
        before = known.content if known else None
        if known and known.stale_since is not None:
            before = known.content | {"stale": known.stale_since}
        told = [
            Line(
                self._evidence(view, event, subject),
                (event,),
                event.step,
                event.kind,
                said=statement(event) if event.kind == "message" else None,
            )
            for event in since
        ]
        lines = [
            render.at_step(line.step, line.text, view.wording)
            for line in folded_for(view, told, voice=view.voice)
        ]
        return {
            "subject": view.names(subject),
            "previous": before,
            "since": lines,
            "seen": [
                self._seen(view, event, line.text) for event, line in zip(since, told)
            ],
            "meetings": len(since),
        }

    def _request(
        self, view: StepView, others: Sequence[Mapping[str, Any]]
    ) -> LLMRequest:
        """Asks for impressions of these agents."""
        several = {"others": list(others)}
        told = others[0] if len(others) == 1 else several
        observer = view.names(view.agent.unique_id)
        return view.request_for(
            IMPRESS, observer=observer, **told, max_chars=self.max_chars
        )

    def _evidence(self, view: StepView, event: MemoryRecord, subject: Any) -> str:
        """The part of an event about another agent, on one line."""
        content = evidence(event.kind, event.content, subject)
        limit = view.limits.event_chars
        return render.event_text(event.kind, content, limit, view.voice)

    def _seen(
        self, view: StepView, event: MemoryRecord, line: str
    ) -> tuple[str, str, bool]:
        """An event for the offline rules: its line, its words and its speaker.

        A message has the line of the agent's own prompt. A deed says nothing.
        """
        content = event.content
        if event.kind != "message" or not isinstance(content, Mapping):
            return line, "", False
        own, text = event.sender == view.agent.unique_id, content.get("message", "")
        return view.own_line(event), render.value_text(text), own

    def _renew(
        self,
        view: StepView,
        subject: Any,
        since: Sequence[MemoryRecord],
        new: Impression,
    ) -> None:
        known = self.known[subject]
        content = new.model_dump() | {"text": render.one_line(new.text.strip())}
        record = self.revise(view, known.current, KIND, content, since, subject=subject)
        known.revisions.append(record)
        del known.since[: len(since)]


def _kinds(counts: Iterable[str]) -> tuple[str, ...]:
    """The kinds of events that count, each once.

    Raises:
        ValueError: without a kind, or for a kind that is not text.
    """
    several = isinstance(counts, list | tuple | set | frozenset)
    kinds = tuple(counts) if several else ()
    if not kinds or not all(isinstance(kind, str) and kind for kind in kinds):
        raise ValueError(
            "counts must name the kinds of events that are interactions, such as "
            f"('message',) or ('message', 'observation'); got {counts!r}"
        )
    return tuple(sorted(set(kinds)))
