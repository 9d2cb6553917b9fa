"""A running summary of the events that leave a window."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from typing import Any, Protocol

from mesa_memory.core import render
from mesa_memory.core.records import CONSOLIDATED, EVICTED, MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.text.replies import Unusable
from mesa_memory.core.validate import checked_int
from mesa_memory.errors import BadReply, LLMRejected, PromptTooLong
from mesa_memory.layers.archive import EventArchive
from mesa_memory.layers.base import Layer
from mesa_memory.layers.context import LayerContext
from mesa_memory.layers.entry import Entry, entry_told, records_of
from mesa_memory.layers.filtering import ask_about, askable
from mesa_memory.layers.lines import Line
from mesa_memory.layers.window import Window
from mesa_memory.tasks import CONSOLIDATE, Task
from mesa_memory.tasks.grounding import DROPPED, NOTHING_SHARED, doubt_of

#: most characters of events in one request; the rest waits its turn
REQUEST_CHARS = 24_000
#: most characters of events that a doubtful summary covers and that stay
COVERED_CHARS = REQUEST_CHARS // 2
#: longest summary in a request
SUMMARY_SHOWN = 8000


class Due(Protocol):
    """Says how much of a window goes into the summary now."""

    def __call__(self, window: Window) -> int:
        """The number of its oldest entries; 0 if none are due."""


def held_entries(window: Window) -> int:
    """All entries of a window are due: a function, so that a summary can be pickled."""
    return len(window.held)


class RunningSummary(Layer):
    """Folds the oldest entries of a window into one summary, all or nothing.

    The window evicts an entry only when the summary has it. What a doubtful summary
    covers stays in ``window.covered``: it is shown, and covered again by the next
    summary, until one is not doubtful. From ``COVERED_CHARS``, or what the section
    has room for, the oldest leave all the same: the doubtful summary has them.

    A summary of summaries drifts: what one leaves out, no later one has. With
    ``refresh_every`` it is rewritten from the events from time to time: from those
    that are still held (``EventArchive``), the most important first, in one request
    that is no longer than any other may be. What a user has written by hand stays: no
    earlier event is told again. Without a usable reply, it is updated as usual.

    Args:
        window: what is full hands over its oldest.
        due: how many of its oldest entries are due now; by default all.
        refresh_every: each such request goes back to the events; None never does.

    Attributes:
        current: the summary's record; None before the first. Its content says under
            ``doubtful`` why it is.
        former: the summary before ``current``, if that drops its content; both are
            shown until a summary is not doubtful.
        summary_chars: longest accepted summary.
        archive: the events to go back to; empty without ``refresh_every``.

    Raises:
        ValueError: for a wrong ``refresh_every``.
    """

    name, heading, volatility = "summary", "What happened before", 0.3
    restored = ("current", "former", "_folds", "_made", "_refused")
    kind = "summary"  #: of its records
    task = CONSOLIDATE  #: what is asked
    summary_chars = 4000

    def __init__(
        self,
        window: Window,
        due: Due = held_entries,
        refresh_every: int | None = None,
    ) -> None:
        self.window, self.due = window, due
        every = refresh_every
        self.refresh_every = (
            None if every is None else checked_int("refresh_every", every)
        )
        self.archive = EventArchive()
        self.current: MemoryRecord | None = None
        self.former: MemoryRecord | None = None
        self._folds = 0  # since it went back to the events
        self._made = ""  # id of the summary that the archive belongs to
        self._refused = False  # the last reply was unusable

    @property
    def text(self) -> str:
        """The summary; empty before the first."""
        return " ".join([record.content["text"] for record in self.records()])

    @property
    def _is_stale(self) -> bool:
        """True if something that the summary rests on does not hold any more."""
        return any(record.stale_since is not None for record in self.records())

    # -- as a layer ---------------------------------------------------------------------

    def remember(self) -> Flow[None]:
        """Folds what is due, in as many requests as it takes.

        After an unusable reply it asks for no more than the oldest entry, until that is
        in the summary: so the request stays short while the window grows. If a request
        is too long for the model, the oldest entry is asked for alone, too.
        """
        most: int | None = None
        while due := self.due(self.window):
            try:
                yield from self._fold(min(due, most or due))
            except PromptTooLong:
                covered = self.window.covered
                if askable(self.context, records_of(covered)):
                    self._let_go(len(covered), all_of_it=False)
                elif min(due, most or due) == 1:
                    raise
                else:
                    most = 1

    def summary(self) -> list[Line]:
        """The summary on one line."""
        return [Line(self.shown(), tuple(self.records()))] if self.text else []

    def shown(self) -> str:
        """The summary as it is shown; only one made by hand is cut."""
        limit = max(self.context.section_chars, self.summary_chars)
        return render.shorten(self.text, limit)

    def records(self) -> Iterator[MemoryRecord]:
        """The summary's record, after the one that it drops."""
        yield from filter(None, (self.former, self.current))

    def history(self) -> list[MemoryRecord]:
        """The events to go back to."""
        return self.archive.events()

    def snapshot(self) -> dict[str, Any]:
        """The summary's record, and what it can go back to."""
        events = {
            "events": self.archive.events(), "folds": self._folds, "made": self._made,
        }  # fmt: skip
        return {
            "summary": self.current,
            **({"former": self.former} if self.former else {}),
            **({"refused": True} if self._refused else {}),
            **(events if self.refresh_every else {}),
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up the summary."""
        self.current, self.former = snapshot["summary"], snapshot.get("former")
        self._refused = snapshot.get("refused", False)
        self._begin_anew()
        if self.refresh_every and self._is_own(snapshot.get("made", "")):
            self.archive.add(snapshot["events"], self.context.line)
            self._keep_up(snapshot["folds"])

    def _is_own(self, made: str) -> bool:
        """True if the summary is the one that was made, or a copy; not if edited."""
        now = self.current
        return now is not None and bool(made) and made in (now.id, *now.sources)

    def _begin_anew(self) -> None:
        """Goes back to no earlier event."""
        self.archive.clear()
        self._folds, self._made = 0, ""

    def _keep_up(self, folds: int) -> None:
        """The archive belongs to the summary of now."""
        self._folds = folds
        self._made = self.current.id if self.current else ""

    def replace(
        self,
        text: str,
        events: Sequence[MemoryRecord] = (),
        same: bool = False,
        doubt: str = "",
    ) -> None:
        """Puts a text in the place of the summary, made of it and of these events.

        Args:
            same: it goes on with the old one, which held; see ``Layer.revise``.
            doubt: why the text is doubtful; empty if it is not.
        """
        content = {"text": text, **({"doubtful": doubt} if doubt else {})}
        old = self.current
        if doubt == DROPPED and old and self.former is None:
            self.former = old
            self.current = self.open(self.kind, content, [old, *events])
            return
        self.current = self.revise(old, self.kind, content, events, same)
        if self.former and not doubt:
            self.context.supersede(self.former, self.current, same)
            self.former = None

    def set_by_hand(self, text: str) -> None:
        """Puts a text in its place that does not come from a model."""
        if text or self.current:
            self.replace(text)
            self._begin_anew()

    # -- folding ------------------------------------------------------------------------

    def _fold(self, count: int) -> Flow[None]:
        """Folds the oldest ``count`` entries of the window, or as many as fit."""
        window = self.window
        again = list(window.covered)
        room = REQUEST_CHARS - sum(map(window.chars, again))
        if isinstance(oldest := window.held[0], Entry):
            window.split(oldest, room)
        fresh = self._fitting(list(window.held)[: 1 if self._refused else count], room)
        covered = [*again, *fresh]
        before = self._to_go_back_to(covered)

        def ask(events: list[MemoryRecord]) -> Flow[Any]:
            return self._asked(self._of(covered, events), before)

        try:
            found = yield from ask_about(self.context, records_of(covered), ask)
        except BadReply:
            self._refused = True
            raise
        self._refused = False
        (text, doubt), told = found or (("", ""), ())
        if found is not None:
            events = [*told, *askable(self.context, records_of(covered))]
            self.replace(text, events, same=True, doubt=doubt)
            if self.refresh_every:
                self._keep_up(0 if before else self._folds + 1)
        for _ in fresh:
            window.covered.append(window.held.popleft())
        if found is not None and not doubt:
            self._let_go(len(covered), all_of_it=False)
        self._let_go(self._surplus())

    def _of(self, entries: Sequence[Any], events: list[MemoryRecord]) -> list[Any]:
        """The entries with these of their events alone."""
        kept, found = {event.id for event in events}, []
        for entry in entries:
            every = records_of([entry])
            left = [event for event in every if event.id in kept]
            if len(left) == len(every):
                found.append(entry)
            elif left:
                found.append(self.window.entry(entry.step, left))
        return found

    def _surplus(self) -> int:
        """Number of covered entries that have to leave for lack of room."""
        window = self.window
        recent = sum(map(window.chars, window.entries()))
        room = min(COVERED_CHARS, self.context.section_chars - recent)
        sizes = accumulate(map(window.chars, reversed(window.covered)))
        return sum(size > room for size in sizes)

    def _let_go(self, count: int, all_of_it: bool = True) -> None:
        """The oldest of the covered entries leave; the summary has them.

        Args:
            all_of_it: False keeps the events that a content filter refuses in sight.
        """
        context, covered, kept = self.context, self.window.covered, []
        for _ in range(count):
            entry = covered.popleft()
            every = records_of([entry])
            events = askable(context, every)
            refused = [event for event in every if event not in events]
            if self.refresh_every:
                self.archive.add([e for e in events if e.current], context.line)
            context.let_go(events, CONSOLIDATED, context.now, self)
            if all_of_it:
                context.let_go(refused, EVICTED, context.now, self)
            elif refused:
                kept.append(self.window.entry(entry.step, refused))
        covered.extendleft(reversed(kept))

    def _fitting(self, entries: Sequence[Any], room: int) -> list[Any]:
        """The oldest that have room, in characters; at least one."""
        if sum(map(self.window.chars, entries)) <= room:  # as nearly always
            return list(entries)
        sizes = accumulate(sum(self.window.line_lengths(entry)) for entry in entries)
        return list(entries)[: max(1, sum(size <= room for size in sizes))]

    def _to_go_back_to(self, covered: Sequence[Any]) -> list[MemoryRecord]:
        """The earlier events to include again, oldest first; usually empty."""
        due = self._folds + 1 >= (self.refresh_every or math.inf)
        if self.refresh_every is None or not (due or self._is_stale):
            return []
        size = sum(sum(self.window.line_lengths(entry)) for entry in covered)
        return self.archive.events(max(0, REQUEST_CHARS - size))

    def _asked(
        self, covered: Sequence[Any], before: Sequence[MemoryRecord]
    ) -> Flow[tuple[tuple[Any, str], Sequence[MemoryRecord]]]:
        """The new summary, and the earlier events that were told for it."""
        if before:
            with suppress(BadReply, LLMRejected):  # it may be too much for the model
                return (yield from self._ask_for(covered, before)), before
        return (yield from self._ask_for(covered)), ()

    def _ask_for(
        self, entries: Sequence[Any], before: Sequence[MemoryRecord] = ()
    ) -> Flow[tuple[Any, str]]:
        limit, line = self.context.event_chars, self.context.line
        told = [(event.step, [(event.kind, line(event))]) for event in before]
        told += [(entry.step, entry_told(entry, limit)) for entry in entries]
        blocks = render.folded(told)
        # Only a summary that a user has put there by hand is longer.
        known = render.shorten(self.text, max(self.summary_chars, SUMMARY_SHOWN))
        inputs = {
            "summary": known,
            "lines": [(step, line) for step, lines in blocks for line in lines],
            "max_chars": self.summary_chars,
        }
        if before:
            inputs["anew"] = True
        if self._is_stale:
            inputs["stale"] = True
        return ask_for_summary(self.context, self.task, False, self._kept(), **inputs)

    def _kept(self) -> str:
        """The text that the next summary has to keep; of a vague one, nothing."""
        record = self.former or self.current
        if record is None or record.content.get("doubtful") == NOTHING_SHARED:
            return ""
        return record.content["text"]


def ask_for_summary(
    context: LayerContext,
    task: Task,
    again: bool = False,
    kept: str = "",
    **inputs: Any,
) -> Flow[tuple[str | None, str]]:
    """The text of a summary on one line, and why it is doubtful.

    Args:
        again: a doubtful summary is sent back once, and the better reply is used; for a
            summary that no later one covers.
        kept: the text that the summary has to keep.

    Returns:
        The text, None if the task's check gives none, and the doubt, empty if the
        summary is not doubtful.

    Raises:
        LLMError: without a usable reply.
    """
    doubtful: list[tuple[str, str]] = []

    def proved(reply: Any) -> tuple[str | None, str]:
        # Code in the place of ``memory.llm`` is the user's own.
        own = context.runtime.replaced() is not None
        unchecked = own and hasattr(reply, "summary")
        value = reply if unchecked else task.check(reply, inputs)
        text = getattr(value, "summary", value)
        if text is None:
            return None, ""
        text = render.one_line(" ".join(text.split()))
        doubt = "" if own else doubt_of(text, inputs | {"summary": kept})
        if doubt and again:
            doubtful.append((text, doubt))
            raise Unusable(f"the summary {doubt}")
        return text, doubt

    try:
        return (yield from task.ask(context.request_for(task, **inputs), proved))
    except BadReply:
        if not doubtful:
            raise
        # The later one was written with the doubt in view.
        return min(reversed(doubtful), key=lambda one: one[1] == NOTHING_SHARED)
