"""A running summary of the events that leave a window, and a story made of them."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

from mesa_memory.core import render
from mesa_memory.core.records import CONSOLIDATED, EVICTED, MemoryRecord
from mesa_memory.core.requests import Flow
from mesa_memory.core.text.replies import Doubtful
from mesa_memory.errors import BadReply, PromptTooLong
from mesa_memory.layers.base import Layer
from mesa_memory.layers.consolidation import Consolidation, OverTokens
from mesa_memory.layers.lines import Line, StepEvents, folded_events, records_of
from mesa_memory.layers.view import StepView, ask_about, askable
from mesa_memory.layers.window import Window
from mesa_memory.tasks import CONSOLIDATE, STORY, Task
from mesa_memory.tasks.base import REQUEST_CHARS
from mesa_memory.tasks.grounding import DROPPED, NOTHING_SHARED, doubt_of

#: most characters of events that a doubtful summary covers and that stay
COVERED_CHARS = REQUEST_CHARS // 2
#: longest summary in a request
SUMMARY_SHOWN = 8000


#: says how many of the oldest entries of a window go into the summary now
type Due = Callable[[StepView, Window], int]


class TextAndDoubt(NamedTuple):
    """A summary on one line, None without one, and why it is doubtful; empty if not."""

    text: str | None
    doubt: str = ""


def held_entries(view: StepView, window: Window) -> int:
    """All entries of a window are due: a function, so that a summary can be pickled."""
    return len(window.held)


class RunningSummary(Layer):
    """Folds the oldest entries of a window into one summary, all or nothing.

    The window evicts an entry only when the summary has it. What a doubtful summary
    covers stays in ``window.covered``: it is shown, and covered again by the next
    summary, until one is not doubtful. From ``COVERED_CHARS``, or what the section
    has room for, the oldest leave all the same: the doubtful summary has them.

    Args:
        window: what is full hands over its oldest.
        due: how many of its oldest entries are due now; by default all.

    Attributes:
        current: the summary's record; None before the first. Its content says under
            ``doubtful`` why it is.
        former: the summary before ``current``, if that drops its content; both are
            shown until a summary is not doubtful.
        summary_chars: longest accepted summary.
    """

    name, volatility = "summary", 0.3
    state = ("former", "current", "_refused")
    kind = "summary"  #: of its records
    task = CONSOLIDATE  #: what is asked
    summary_chars = 4000

    def __init__(self, window: Window, due: Due = held_entries) -> None:
        self.window, self.due = window, due
        self.current: MemoryRecord | None = None
        self.former: MemoryRecord | None = None
        self._refused = False  # the last reply was unusable

    @property
    def text(self) -> str:
        """The summary; empty before the first."""
        return " ".join([record.content["text"] for record in self.records()])

    @property
    def until(self) -> float | None:
        """The step that the summary reaches; None before the first summary."""
        return self.current.content.get("until") if self.current else None

    # -- as a layer ---------------------------------------------------------------------

    def remember(self, view: StepView) -> Flow[None]:
        """Folds the events that are due, in as many requests as needed.

        After an unusable reply it asks for no more than the oldest entry, until that is
        in the summary: so the request stays short while the window grows. If a request
        is too long for the model, the oldest entry is asked for alone, too.
        """
        most: int | None = None
        while due := self.due(view, self.window):
            try:
                yield from self._fold(view, min(due, most or due))
            except PromptTooLong:
                covered = self.window.covered
                if askable(view, records_of(covered)):
                    self._release(view, len(covered), all_of_it=False)
                elif min(due, most or due) == 1:
                    raise
                else:
                    most = 1

    def summary(self, view: StepView) -> list[Line]:
        """The summary on one line."""
        if not self.text:
            return []
        wording = view.wording
        return [Line(self.shown(view), tuple(self.records()), wording=wording)]

    def shown(self, view: StepView) -> str:
        """The summary as it is shown; only one made by hand is cut."""
        limit = max(view.limits.section_chars, self.summary_chars)
        return render.shorten(self.text, limit)

    def replace(
        self,
        view: StepView,
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
        old = self.current
        # Put right by hand, it reaches as far as before.
        known = old.content.get("until") if old else None
        until = events[-1].step if events else known
        content: dict[str, Any] = {"text": text, "until": until}
        content |= {"doubtful": doubt} if doubt else {}
        if doubt == DROPPED and old and self.former is None:
            self.former = old
            self.current = self.open(view, self.kind, content, [old, *events])
            return
        self.current = self.revise(view, old, self.kind, content, events, same)
        if self.former and not doubt:
            view.supersede(self.former, self.current, same)
            self.former = None

    def set_by_hand(self, text: str) -> None:
        """Puts a text in its place that does not come from a model."""
        if text or self.current:
            self.replace(self.memory.view(), text)

    # -- folding ------------------------------------------------------------------------

    def _fold(self, view: StepView, count: int) -> Flow[None]:
        """Folds the oldest ``count`` entries of the window, or as many as fit."""
        window = self.window
        fresh = self._fitting(view, 1 if self._refused else count)
        covered = [*window.covered, *fresh]
        events, inputs = records_of(covered), partial(self._inputs, view, covered)
        try:
            text, doubt = yield from summary_of(
                view, self.task, events, inputs, kept=self._kept()
            )
        except BadReply:
            self._refused = True
            raise
        self._refused = False
        if text is not None:
            self.replace(view, text, askable(view, events), same=True, doubt=doubt)
        for _ in fresh:
            window.covered.append(window.held.popleft())
        if text is not None and not doubt:
            self._release(view, len(covered), all_of_it=False)
        self._release(view, self._surplus(view))

    def _inputs(
        self,
        view: StepView,
        entries: Sequence[StepEvents],
        events: Sequence[MemoryRecord],
    ) -> dict[str, Any]:
        """The inputs of a request about these events of steps."""
        # Only a summary that a user has put there by hand is longer.
        known = render.shorten(self.text, max(self.summary_chars, SUMMARY_SHOWN))
        stale = any(record.stale_since is not None for record in self.records())
        return {
            "summary": known,
            "lines": folded_events(view, _with(entries, events)),
            "max_chars": self.summary_chars,
            **({"stale": True} if stale else {}),
        }

    def _surplus(self, view: StepView) -> int:
        """Number of covered entries that have to leave for lack of room."""
        window = self.window
        if not window.covered:
            return 0
        recent = sum(window.lengths(view))
        room = min(COVERED_CHARS, view.limits.section_chars - recent)
        sizes = accumulate(
            window.chars(view, each) for each in reversed(window.covered)
        )
        return sum(size > room for size in sizes)

    def _release(self, view: StepView, count: int, all_of_it: bool = True) -> None:
        """The oldest of the covered entries leave; the summary has them.

        Args:
            all_of_it: False keeps the events that a content filter refuses in sight.
        """
        covered, kept = self.window.covered, []
        for _ in range(count):
            entry = covered.popleft()
            events = askable(view, entry.events)
            refused = [event for event in entry.events if event not in events]
            view.release(events, CONSOLIDATED, view.now, self)
            if all_of_it:
                view.release(refused, EVICTED, view.now, self)
            elif refused:
                kept.append(StepEvents(entry.step, refused))
        covered.extendleft(reversed(kept))

    def _fitting(self, view: StepView, count: int) -> list[StepEvents]:
        """The oldest entries, ``count`` at most, as far as a request has room for them.

        The request tells the covered ones, too. The first is split if it is too long.
        """
        window = self.window
        entries = list(window.held)[:count]
        if window.surely_fit(view, [*window.covered, *entries], REQUEST_CHARS):
            return entries
        room = REQUEST_CHARS - sum([window.chars(view, e) for e in window.covered])
        window.split(view, window.held[0], room)
        entries = list(window.held)[:count]
        if len(entries) == 1 or sum([window.chars(view, e) for e in entries]) <= room:
            return entries
        sizes = accumulate([sum(window.line_lengths(view, e)) for e in entries])
        return entries[: max(1, sum([size <= room for size in sizes]))]

    def _kept(self) -> str:
        """The text that the next summary has to keep; of a vague one, nothing."""
        record = self.former or self.current
        if record is None or record.content.get("doubtful") == NOTHING_SHARED:
            return ""
        return record.content["text"]


class Story(RunningSummary):
    """Merges the oldest entries of a window into a story of fewer than five sentences.

    Once the window has more than ``tokens`` tokens, all but its last ``keep_last``
    entries go into the story. So do the oldest that the section lacks room for.

    Args:
        window: the newest steps, word for word.
        tokens: of the entries that are not in the story.
        keep_last: how many entries stay word for word.
        chars: longest accepted story.
    """

    name = kind = "story"
    task = STORY

    def __init__(
        self, window: Window, tokens: int = 1500, keep_last: int = 4, chars: int = 800
    ) -> None:
        policy = OverTokens(tokens, keep_last)
        super().__init__(window, Consolidation(keep_last, None, policy))
        self.summary_chars = chars


def _with(
    steps: Iterable[StepEvents], events: Iterable[MemoryRecord]
) -> Iterator[StepEvents]:
    """The steps with these of their events alone."""
    kept = set(events)
    for each in steps:
        left = [event for event in each.events if event in kept]
        if len(left) == len(each.events):
            yield each
        elif left:
            yield StepEvents(each.step, left)


def summary_of(
    view: StepView,
    task: Task,
    events: Sequence[MemoryRecord],
    inputs_of: Callable[[Sequence[MemoryRecord]], dict[str, Any]],
    again: bool = False,
    kept: str = "",
) -> Flow[TextAndDoubt]:
    """The text of a summary of events on one line, and why it is doubtful.

    Args:
        inputs_of: the inputs of a request about some of the events.
        again: a doubtful summary is sent back once, and the better reply is used; for a
            summary that no later one covers.
        kept: the text that the summary has to keep.

    Returns:
        The text, and the doubt, empty if the summary is not doubtful. None in place of
        the text if the task's check gives none, or a content filter refuses all events.

    Raises:
        LLMError: without a usable reply.
    """
    asking = _CheckedSummary(view, task, inputs_of, again, kept)
    return (yield from ask_about(view, events, asking)) or TextAndDoubt(None)


@dataclass(slots=True, eq=False)
class _CheckedSummary:
    """Asks for a summary of some events, and proves the replies; see ``summary_of``.

    Attributes:
        inputs: of the last request.
        doubtful: replies to it that were sent back.
    """

    view: StepView
    task: Task
    inputs_of: Callable[[Sequence[MemoryRecord]], dict[str, Any]]
    again: bool
    kept: str
    inputs: dict[str, Any] = field(init=False)
    doubtful: tuple[TextAndDoubt, ...] = ()

    def __call__(self, events: Sequence[MemoryRecord]) -> Flow[TextAndDoubt]:
        """The reply to one request, and its doubt."""
        self.inputs, self.doubtful = self.inputs_of(events), ()
        request = self.view.request_for(self.task, **self.inputs)
        asked = self.task.ask(request, self._proved)
        return self._better(asked) if self.again else asked

    def _better(self, asked: Flow[TextAndDoubt]) -> Flow[TextAndDoubt]:
        """The reply; where none is beyond doubt, the better one."""
        try:
            return (yield from asked)
        except BadReply:
            if not self.doubtful:
                raise
            # The later one was written with the doubt in view.
            return min(self.doubtful[::-1], key=lambda one: one.doubt == NOTHING_SHARED)

    def _proved(self, reply: Any) -> TextAndDoubt:
        # Code in the place of ``memory.llm`` is the user's own.
        own = self.view.model_choice.user_llm() is not None
        unchecked = own and hasattr(reply, "summary")
        value = reply if unchecked else self.task.check(reply, self.inputs)
        text = getattr(value, "summary", value)
        if text is None:
            return TextAndDoubt(None)
        text = render.one_line(" ".join(text.split()))
        doubt = "" if own else doubt_of(text, self.inputs | {"summary": self.kept})
        proved = TextAndDoubt(text, doubt)
        if doubt and self.again:
            self.doubtful += (proved,)
            raise Doubtful(doubt)  # a part of the prompt file
        return proved
