"""Chapters: parts of a life, each with a recap that is written once."""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import groupby
from operator import attrgetter
from typing import Any, NamedTuple

from mesa_memory.core import render
from mesa_memory.core.content import cut
from mesa_memory.core.records import DERIVED, MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.core.validate import checked_int
from mesa_memory.layers.base import Layer
from mesa_memory.layers.lines import Line, folded_events, step_of
from mesa_memory.layers.summary import Story, summary_of
from mesa_memory.layers.view import StepView, askable
from mesa_memory.tasks import CHAPTER
from mesa_memory.tasks.base import REQUEST_CHARS

#: of the records
KIND = "chapter"
#: the first sentence of a recap, with at least as many characters that "Dr." is none
FIRST_SENTENCE = re.compile(r".{30,}?[.!?…](?=\s)|.{12,}?[。！？]")
#: longest beginning of a recap that stands for the whole
BEGINNING_CHARS = 120

#: says when a chapter is complete: a number of steps, or a function of the chapter's
#: events
type Rule = int | Callable[[list[MemoryRecord]], Any]


class Complete(NamedTuple):
    """A complete chapter that waits for its recap.

    Attributes:
        ended: its last step.
        events: oldest first, the newest that fit a request.
    """

    ended: float
    events: list[MemoryRecord]


class Chapters(Layer):
    """Writes a recap of two or three sentences of each complete chapter.

    A recap is never rewritten. The newest recaps are shown in full, at least one, older
    ones by their first sentence, and the oldest as a count. All of them stay current
    records, which ``search_memories`` finds in full. Recaps share three quarters of
    ``section_chars`` with the steps that are verbatim, so that the prompt does not grow
    with the run; first sentences have a quarter at most.

    Args:
        rule: when a chapter is complete. With a number, each has that number of steps;
            a function is given the chapter's events after each step, oldest first, and
            says whether it is.
        story: the story so far, which the recap is to be understood from.
        recap_chars: longest accepted recap.

    Attributes:
        told: the chapters that have a recap, oldest first.
        complete: the chapters that are due.
        events: of the chapter under way, oldest first.
        began: the step after which it began.

    Raises:
        ValueError: for any other rule.
    """

    name, volatility = "chapters", 0.1
    state = ("began", "_count")
    restored = ("told", "complete", "events", "_size", "_known")

    def __init__(self, rule: Rule, story: Story, recap_chars: int = 700) -> None:
        self.rule, self.story = checked_rule(rule), story
        self.recap_chars = recap_chars
        self.told: list[MemoryRecord] = []
        self.complete: list[Complete] = []
        self.events: list[MemoryRecord] = []
        self.began = 0.0
        self._size = 0  # characters of the events
        self._count = 0  # chapters told so far, also those that were erased since
        # Other layers may think at the same time, so it is the one of before that.
        self._known: MemoryRecord | None = None

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Adds events to the chapter, and asks the user's rule; see ``Layer``."""
        self._known = self.story.current
        self.events += events
        self._size += sum(self._chars(view, event) for event in events)
        while self._size > REQUEST_CHARS and len(self.events) > 1:
            self._size -= self._chars(view, self.events.pop(0))
        if callable(self.rule) and self.rule(list(self.events)):
            self._close(step)

    def remember(self, view: StepView) -> Flow[None]:
        """Tells the chapters that are complete; a recap that fails stays due.

        That a chapter is complete follows from the clock or the user's rule and is
        settled before anything is asked: a failure does not open it again.
        """
        if isinstance(self.rule, int) and view.now - self.began >= self.rule:
            self._close(view.now)
        while self.complete:
            recap, doubt = yield from summary_of(
                view,
                CHAPTER,
                self.complete[0].events,
                partial(self._inputs, view),
                again=True,
            )
            self._tell(view, self.complete.pop(0), recap, doubt)

    def summary(self, view: StepView) -> list[Line]:
        """The count of the oldest chapters, older ones, and the newest in full."""
        told, brief = self.told, view.limits.section_chars // 4
        room = 3 * brief - sum(self.story.window.lengths(view))
        full = self._fitting(len(told), room - brief, partial(self._line_of, view))
        full = full or [self._line_of(view, record) for record in told[-1:]]
        room = min(brief, room - sum(len(line.text) for line in full))
        short = self._fitting(
            len(told) - len(full), room, partial(self._beginning_of, view)
        )
        count = len(told) - len(full) - len(short)
        left_out = view.told("left out chapters", count=count)
        note = Line(left_out, kind=KIND, rank=math.inf)
        return [*[note] * bool(count), *short, *full]

    def records(self) -> list[MemoryRecord]:
        """The recaps; the events are other layers' to hold."""
        return self.told

    def snapshot(self) -> dict[str, Any]:
        """The chapter under way, and those without a recap."""
        return {
            "events": list(self.events),
            "complete": [[ended, list(events)] for ended, events in self.complete],
            "known": self._known,
        }

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up the chapter under way; the recaps are on the shelf."""
        view = self.memory.view()
        self.events = list(snapshot["events"])
        self._size = sum(self._chars(view, event) for event in self.events)
        self.complete = [
            Complete(ended, list(events))
            for ended, events in snapshot["complete"]
            if events
        ]
        self._known = snapshot["known"]
        found = [
            record
            for record in shelf.current()
            if record.kind == KIND and record.origin == DERIVED
        ]
        self.told = sorted(found, key=lambda record: record.step)  # edited ones, too

    def moved(self, snapshot: dict[str, Any], later: float) -> dict[str, Any]:
        """See ``Layer``; chapters begin and end with a step."""
        complete = [[ended + later, events] for ended, events in snapshot["complete"]]
        began = snapshot["began"] + later
        return snapshot | {"began": began, "complete": complete}

    # -- chapters -----------------------------------------------------------------------

    def _close(self, step: float) -> None:
        """The chapter under way ends with a step; one without events goes on."""
        if self.events:
            self.complete.append(Complete(step, self.events))
        self.events, self._size, self.began = [], 0, step

    def _inputs(self, view: StepView, events: Sequence[MemoryRecord]) -> dict[str, Any]:
        """The inputs of a request about these events of a chapter."""
        steps = groupby(events, attrgetter("step"))
        return {
            "number": self._count + 1,
            "story": self._known.content["text"] if self._known else "",
            "lines": folded_events(view, [step_of(view, s, [*es]) for s, es in steps]),
            "max_chars": self.recap_chars,
        }

    def _tell(
        self, view: StepView, chapter: Complete, recap: str | None, doubt: str
    ) -> None:
        if recap is None:  # a content filter refuses all of it
            return
        events = askable(view, chapter.events)
        known = [self._known] if self._known else []
        content = {
            "text": recap,
            "number": self._count + 1,
            "began": chapter.events[0].step,
            "ended": chapter.ended,
            **({"doubtful": doubt} if doubt else {}),
        }
        self.told.append(self.open(view, KIND, content, [*known, *events]))
        self._count += 1

    def _fitting(
        self, count: int, room: int, line_of: Callable[[MemoryRecord], Line]
    ) -> list[Line]:
        """The newest of the first ``count`` recaps that have room, oldest first."""
        lines: list[Line] = []
        while len(lines) < count:
            line = line_of(self.told[count - 1 - len(lines)])
            room -= len(line.text) + 3
            if room < 0:
                break
            lines.append(line)
        return lines[::-1]

    def _beginning_of(self, view: StepView, record: MemoryRecord) -> Line:
        """A chapter by the first sentence of its recap."""
        text = render.value_text(record.content.get("text"))
        found = FIRST_SENTENCE.match(text)
        short = cut(found[0] if found else text, BEGINNING_CHARS)
        return self._line_of(view, record, short, record.step)

    def _line_of(
        self,
        view: StepView,
        record: MemoryRecord,
        said: str | None = None,
        rank: float = math.inf,
    ) -> Line:
        content = record.content
        number, began, ended, text = map(
            render.value_text, map(content.get, ("number", "began", "ended", "text"))
        )
        given = {"number": number, "first": began, "last": ended}
        told = view.told("chapter", **given, text=said or text)
        wording = view.wording
        return Line(told, (record,), kind=KIND, rank=rank, wording=wording)

    def _chars(self, view: StepView, event: MemoryRecord) -> int:
        return len(view.line(event)) + 3


def checked_rule(rule: Any) -> Rule:
    """The rule as given.

    Raises:
        ValueError: if it does not say when a chapter is complete.
    """
    if callable(rule) and not isinstance(rule, type):
        return rule
    if isinstance(rule, str) or callable(rule):
        raise ValueError(
            "chapters must be a number of steps, or a function of the chapter's events "
            f"that says whether it is complete; got {rule!r}"
        )
    return checked_int("chapters", rule)
