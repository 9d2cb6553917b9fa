"""What the agent thinks of each other agent it has met."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.flow import first_fault, gather
from mesa_memory.core.inbox import Group
from mesa_memory.core.participants import evidence, subjects
from mesa_memory.core.records import SUPERSEDED, MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.validate import whole
from mesa_memory.memories.entry import entry_events
from mesa_memory.memories.window import ShortTerm
from mesa_memory.tasks import IMPRESS
from mesa_memory.tasks.impress import Impression

#: so many of the newest interactions are kept, and shown in one request
SHOWN = 40


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


class ImpressionMemory(ShortTerm):
    """The last steps, and one current impression of each agent met (UNIMATRIx).

    An impression is renewed from the previous one and what happened since, once
    ``update_every`` interactions (hearing from, speaking to, seeing) have come
    together and something was said; those of several agents are renewed concurrently.
    Only agents with a memory or a language model count, and whoever is heard: there is
    nothing to think of a heap of sugar.

    Args:
        agent: the agent that owns the memory.
        update_every: interactions with an agent between two impressions, at least 1.
        n: how many steps to keep word for word, at least 1.
        display, llm_model, api_base, additive_event_types: see ``MemoryModule``.
        impression_chars: longest accepted impression.
        **limits: ``event_chars``, ``section_chars``, ``history_capacity`` of
            ``MemoryModule``.

    Raises:
        ValueError: for a number below 1.
    """

    layer = "impression"

    def __init__(
        self,
        agent: Any,
        update_every: int = 5,
        n: int = 5,
        display: bool = False,
        llm_model: str | None = None,
        api_base: str | None = None,
        additive_event_types: Iterable[str] | None = None,
        *,
        impression_chars: int = 400,
        **limits: int,
    ) -> None:
        self.update_every = whole("update_every", update_every)
        self.n = whole("n", n)
        self.impression_chars = whole("impression_chars", impression_chars)
        self._known: dict[Any, Acquaintance] = {}
        super().__init__(
            agent,
            llm_model,
            display,
            api_base,
            additive_event_types,
            **limits,
        )

    def remember(self) -> Flow[None]:
        """Renews every impression that is due; one failing leaves the others be."""
        due = {
            subject: list(known.since)
            for subject, known in self._known.items()
            if len(known.since) >= self.update_every
            and any(event.kind == "message" for event in known.since)
        }
        flows = [self._impress(subject, since) for subject, since in due.items()]
        outcomes = yield from gather(flows)
        for (subject, since), outcome in zip(due.items(), outcomes, strict=True):
            if isinstance(outcome, Impression):
                self._renew(subject, since, outcome)
        if fault := first_fault(outcomes):
            raise fault

    def impressions(self) -> dict[Any, MemoryRecord]:
        """The current impression of each agent met, by unique id, in order of meeting.

        A record's content has ``text``, ``sentiment`` (-1 to 1) and ``familiarity``
        (0 to 1); its ``sources`` are the evidence.
        """
        self._settled()
        return {s: k.current for s, k in self._known.items() if k.current}

    def impression_of(self, agent: Any) -> MemoryRecord | None:
        """The current impression of an agent (or unique id); None if there is none."""
        return self.impressions().get(getattr(agent, "unique_id", agent))

    def revisions(self, agent: Any) -> list[MemoryRecord]:
        """All impressions of an agent (or unique id), oldest first."""
        self._settled()
        known = self._known.get(getattr(agent, "unique_id", agent))
        return list(known.revisions) if known else []

    def format_long_term(self) -> str:
        """Impressions of the agents present: seen nearby or just heard from."""
        current = self.impressions()
        lines = [
            "- {}: {} (sentiment {:+.1f}, familiarity {:.1f})".format(
                self._names(subject), *_parts(current[subject])
            )
            for subject in self._present()
            if subject in current
        ]
        return render.section(lines, self.section_chars, "impressions")

    def get_prompt_ready(self) -> str:
        """Recent steps, and impressions of those present."""
        return (
            f"Short term memory:\n{self.format_short_term()}\n\n"
            f"Impressions of those present:\n{self.format_long_term() or 'None yet.'}"
        )

    def snapshot(self) -> dict[str, Any]:
        """See ``MemoryModule``; whom it knows, and what happened since."""
        known = [(s, k.since.copy()) for s, k in self._known.items()]
        return super().snapshot() | {"known": known}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """See ``MemoryModule``."""
        super().restore(snapshot, shelf)
        self._known = {s: Acquaintance(since=since) for s, since in snapshot["known"]}
        for record in shelf.of_kind("impression"):
            if (
                record.subject in self._known and record.sources
            ):  # no event of that name
                self._known[record.subject].revisions.append(record)

    def _keeps(self) -> Iterator[MemoryRecord]:
        yield from super()._keeps()
        yield from (known.current for known in self._known.values() if known.current)

    def _held(self) -> list[MemoryRecord]:
        own = [record for known in self._known.values() for record in known.revisions]
        return sorted([*super()._held(), *own], key=lambda record: record.place)

    def _admit(self, groups: Sequence[Group]) -> None:
        super()._admit(groups)
        self._keep(self.n)
        for event in (event for _, events in groups for event in events):
            for subject in self._met(event.kind, event.content):
                known = self._known.setdefault(subject, Acquaintance())
                known.since.append(event)
                del known.since[:-SHOWN]

    def _met(self, kind: str, content: Any) -> list[Any]:
        """Unique ids of the other minds in an event, in order, each once."""
        me, heard = self.agent.unique_id, kind == "message"
        others = [s for s in dict.fromkeys(subjects(kind, content)) if s != me]
        # Somebody unknown who speaks has a mind.
        minds = ((s, self._names.has_mind(s)) for s in others)
        return [s for s, mind in minds if (heard if mind is None else mind)]

    def _present(self) -> list[Any]:
        """Agents in the newest observation, then those heard from since last step."""
        now = self._now()
        seen: list[Any] = []
        heard: list[Any] = []
        for entry in self._recent():
            for kind, content in entry_events(entry):
                if kind == "observation":
                    seen = self._met(kind, content)
                elif kind == "message" and now - (entry.step or 0) <= 1:
                    heard += self._met(kind, content)
        return list(dict.fromkeys([*seen, *heard]))

    def _impress(self, subject: Any, since: Sequence[MemoryRecord]) -> Flow[Impression]:
        known = self._known[subject].current
        told = [(e.step, [(e.kind, self._evidence(e, subject))]) for e in since]
        lines = [
            f"Step {render.value_text(step)}: {line}"
            for step, found in render.folded(told)
            for line in found
        ]
        reply: Impression = yield from self.ask(
            IMPRESS,
            observer=self._names(self.agent.unique_id),
            subject=self._names(subject),
            previous=known.content if known else None,
            since=lines,
            meetings=len(since),
            max_chars=self.impression_chars,
        )
        return reply

    def _evidence(self, event: MemoryRecord, subject: Any) -> str:
        """What an event says of another agent, on one line."""
        content, limit = evidence(event.kind, event.content, subject), self.event_chars
        line = render.event_text(event.kind, content, limit, self._names)
        me = self.agent.unique_id
        if event.kind == "message" and content.get("sender") == me:
            return line.replace(" says: ", f" says to {self._names(subject)}: ", 1)
        return line

    def _renew(
        self, subject: Any, since: Sequence[MemoryRecord], new: Impression
    ) -> None:
        known, now = self._known[subject], self._now()
        old = known.current
        sources = ([old.id] if old else []) + [event.id for event in since]
        content = new.model_dump() | {"text": render.one_line(new.text.strip())}
        record = self._open(
            "impression", now, content, subject=subject, sources=tuple(sources)
        )
        known.revisions.append(record)
        del known.since[: len(since)]
        if old is not None:
            self._journal.close(old, now, SUPERSEDED, by=record)


def _parts(record: MemoryRecord) -> tuple[str, float, float]:
    content = record.content
    return content["text"], content["sentiment"], content["familiarity"]
