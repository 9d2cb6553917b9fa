"""The reads of a memory: one thread at a time, and known to the recorder."""

import threading
from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import wraps
from operator import attrgetter, itemgetter
from typing import TYPE_CHECKING, Any, TypedDict

from mesa_memory.core import render
from mesa_memory.core.events import plain_event
from mesa_memory.core.inbox import Group, by_kind
from mesa_memory.core.journal import Journal
from mesa_memory.core.records import (
    EVICTED,
    SUPERSEDED,
    MemoryRecord,
    Observer,
    records_in,
    records_of,
)
from mesa_memory.core.statement import FOLD
from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.wording import COMMON, STEP
from mesa_memory.errors import CannotRecall
from mesa_memory.hosts.mesa_llm import Memory
from mesa_memory.layers.base import Layer, check_views
from mesa_memory.layers.lines import Line, in_steps, pending
from mesa_memory.layers.message import Message
from mesa_memory.layers.view import (
    StepView,
    begin,
    end,
    option_of,
    reading,
    view_here,
    view_of,
)
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import entry_of_step
from mesa_memory.memories.prompt.sections import Section, compose

logger = logger_of(__name__)
#: what an agent is shown, by the method that it asks
SHOWN_SECTIONS = {
    "get_prompt_ready": "memory",
    "format_long_term": "long term",
    "format_short_term": "short term",
    "get_communication_history": "messages",
}
#: reads that rank records, for which postponed work is done first
_RECALLS = ("recall", "search", "explain", "retrieve_top_k_entries")
#: what begins with the opening text: each request of Mesa-LLM's reasoning shows one of them
PINNED_SECTIONS = ("memory", "long term")
#: reads that wait for other threads
_SYNCHRONIZED = (
    *SHOWN_SECTIONS, *_RECALLS, "messages", "memory_entries", "short_term_memory", "long_term_memory", "impressions",
    "revisions", "current_records", "facts", "conflicts", "fact_history", "conversations",
    "chapters",
)  # fmt: skip


class MemoryLock:
    """Held, no other thread changes the memory, and its work is not awaited.

    Args:
        lock: the memory's, reentrant.

    Attributes:
        thread: the holder; None if the lock is free.
    """

    __slots__ = ("_depth", "_lock", "thread")

    def __init__(self, lock: Any) -> None:
        self._lock, self._depth = lock, 0
        self.thread: int | None = None

    def __enter__(self) -> None:
        """Waits for other threads; the holder may take it again."""
        self._lock.acquire()
        self._depth += 1
        self.thread = threading.get_ident()

    def __exit__(self, *_: object) -> None:
        """Releases the lock."""
        self._depth -= 1
        if not self._depth:
            self.thread = None
        self._lock.release()


def prepare_reads(cls: type) -> None:
    """Lets the reads of a class of memory wait for other threads and tell the recorder."""
    for name in _SYNCHRONIZED:
        found = vars(cls).get(name)
        if isinstance(found, property):
            get = found.fget and synchronized(found.fget)
            setattr(cls, name, property(get, found.fset, found.fdel, found.__doc__))
        elif callable(found):
            section, recall = SHOWN_SECTIONS.get(name), name in _RECALLS
            read = recorded(found, section) if section else synchronized(found, recall)
            setattr(cls, name, read)


def synchronized(read: Callable[..., Any], recall: bool = False) -> Callable[..., Any]:
    """A read that first waits for unfinished work, and then is alone with the memory."""

    @wraps(read)
    def settled(self: Any, *args: Any, **given: Any) -> Any:
        if self._exclusive.thread == threading.get_ident():
            return read(self, *args, **given)  # a part of another read
        self.settle(recall)
        with self._exclusive:
            view = self.view()  # held until the end
            token = begin(view)
            try:
                return read(self, *args, **given)
            finally:
                end(token)

    return settled


def recorded(read: Callable[[Any], str], section: str) -> Callable[[Any], str]:
    """``synchronized``, and tells the recorder its text, unless it is part of another.

    All that an agent is shown passes here: a placebo changes it, the opening text precedes it.
    Each such read takes ``about``, see ``MemoryReads.get_prompt_ready``.
    """
    part = synchronized(read)

    @wraps(read)
    def shown(self: Any, about: str | None = None) -> str:
        if not isinstance(about, str | None):
            raise TypeError(f"about must be a question or None, got {about!r}")
        if option_of(self, "nested"):
            return part(self)
        self.settle(recall=about is not None)
        with self._exclusive:
            asked = {} if about is None else {"about": about}
            view = view_of(self, nested=True, **asked)
            token = begin(view)
            try:
                text = read(self)
            finally:
                end(token)
        if self.shown_instead is not None:
            text = self.shown_instead(self, section, text)
        opening = opening_text(view) if section in PINNED_SECTIONS else ""
        text = f"{opening}\n\n{text}" if opening and text else opening or text
        if (recorder := view.services.recorder) and not view.unnoticed:
            journal = self.journal
            used, journal.budget_used = journal.budget_used, None
            recorder.shown(view.origin(), section, text, used)
        return text

    return shown


def opening_text(view: StepView) -> str:
    """The name of a step, and the pinned facts under their heading; empty without any."""
    wording, pinned = view.wording, view.journal.pinned
    parts = [wording(COMMON, STEP)] if wording.step else []
    if pinned:
        told = (f"- {r.content['field']}: {r.content['value']}" for r in pinned)
        parts.append("\n".join([f"{view.told('heading biography')}:", *told]))
    return "\n\n".join(parts)


class MemoryOptions(TypedDict, total=False):
    """Arguments of all memories; see ``MemoryModule``."""

    llm_model: str | None
    display: bool
    api_base: str | None
    additive_event_types: Iterable[str] | None
    event_chars: int
    section_chars: int
    history_capacity: int
    repetitions: str


class MemoryReads(Memory):
    """The plain reads of a memory: of its layers and of pending events.

    Attributes:
        layers: the parts of the memory, in the order of its prompt.
        state: names of the attributes that a snapshot keeps: records and plain data.
        restored: names of the attributes that ``snapshot`` and ``restore`` of the class
            keep in a form of their own, or that users change between two steps.
        journal: its records, and events on their way.
        event_chars: longest text of one event in a prompt.
        section_chars: longest text of a prompt's section.
        display: whether new entries are printed.
        shown_instead: makes another text of what is shown, from memory, section and text.
    """

    layers: tuple[Layer, ...] = ()
    state: tuple[str, ...] = ()
    restored: tuple[str, ...] = ()
    _exclusive: MemoryLock
    shown_instead: Callable[[Any, str, str], str] | None = None
    agent: Any
    journal: Journal
    services: Any
    work: Any
    event_chars = 1000
    section_chars = 8000
    display = False
    repetitions = FOLD
    history_capacity = Delegate("journal", "How many messages are kept.")
    additive_event_types = Delegate("journal", "Kinds that accumulate in a step.")

    def __init_subclass__(cls, **given: Any) -> None:
        """Prepares the reads of a class, also of a user's."""
        super().__init_subclass__(**given)
        check_views(cls, {"remember": ""})
        prepare_reads(cls)

    @property
    def step_content(self) -> dict:
        """The events since the agent's step began: kind -> content or contents."""
        return by_kind(self.journal.inbox.arrived(), self.additive_event_types)

    @step_content.setter
    def step_content(self, content: Mapping[str, Any]) -> None:
        journal, additive = self.journal, self.additive_event_types
        now = 0.0 if not content else self.clock
        events = []
        with self.exclusive():
            for kind, given in content.items():
                several = kind in additive and isinstance(given, list)
                for item in given if several else [given]:
                    known, kept = plain_event(kind, item, self.services.names)
                    me = self.agent.unique_id
                    events.append(journal.open_event(me, known, now, kept))
            for event in journal.inbox.replace_arrived(events):
                journal.close(event, event.step, SUPERSEDED)

    if not TYPE_CHECKING:  # type checkers find wrong names by themselves

        def __getattr__(self, name: str) -> Any:
            if name in ("recall", "arecall", "explain"):
                raise CannotRecall(
                    f"{type(self).__name__} lacks {name!r}, since it does not rank its "
                    "records: EpisodicMemory, FactMemory, ConversationMemory and "
                    "LayeredMemory do. Give the agent one of them, or use "
                    "search_memories(agent, query), which finds words in any memory."
                )
            return super().__getattribute__(name)

    def format_short_term(self) -> str:
        """Recent steps, the one under way included: one event to a line."""
        view = self.view()
        blocks = in_steps(self.recent(), view)
        return self.section(blocks, "steps") if blocks else view.told("nothing recent")

    def section(self, blocks: Sequence[str], what: str) -> str:
        """The newest blocks of text that there is room for; see ``render.section``."""
        return render.section(blocks, self.section_chars, what, self.view().wording)

    def bulleted(self, lines: Iterable[Line], what: str) -> str:
        """``section`` of lines."""
        return self.section([f"- {line.text}" for line in lines], what)

    def under(self, heading: str, text: str, until: float | None = None) -> str:
        """A text under a heading, given by its name in the prompt file ``memory``.

        Args:
            until: the step that the text reaches; None does not say.
        """
        view = self.view()
        named = view.told(f"heading {heading}")
        if until is not None:
            named = render.until_step(named, until, view.wording)
        return f"{named}:\n{text}"

    def recent(self) -> list[Line]:
        """The lines of the short-term section: of all layers, then pending events.

        An event that two layers show is in the first of them.
        """
        found: list[Line] = []
        shown: set[MemoryRecord] = set()
        view = self.view()
        for lines in [*[each.recent(view) for each in self.layers], pending(view)]:
            found += [
                line
                for line in lines
                if not line.records or not shown.issuperset(line.records)
            ]
            shown.update(*[line.records for line in lines])
        return found

    def format_long_term(self) -> str:
        """The sections of the layers beyond the recent steps; empty without any."""
        view = self.view()
        layers = [
            each for each in self.layers if type(each).summary is not Layer.summary
        ]
        layers.sort(key=attrgetter("volatility"))
        sections = [Section.of(view, each, list(each.summary(view))) for each in layers]
        return compose(sections, self.section_chars, len).text if sections else ""

    def get_prompt_ready(self, about: str | None = None) -> str:
        """The memory as prompt text.

        Args:
            about: the question that the prompt is going to put. A memory that recalls
                takes it as the query in place of the events of the step;
                an empty text recalls by importance and recency. None takes the step.

        Raises:
            TypeError: if about is not a text.
        """
        return self.prompt_text()

    def prompt_text(self) -> str:
        """``get_prompt_ready`` of this kind of memory: what is older stands first."""
        return self.with_recent("long_term", self.format_long_term()) + "\n"

    def with_recent(self, heading: str, known: str) -> str:
        """The long-term part under its heading, and the recent steps, if there are any.

        A memory that is wholly empty says that nothing is recent.
        """
        told, steps = self.view().told, self.format_short_term()
        if known and steps == told("nothing recent"):
            return self.under(heading, known)
        recent = f"{told('heading short_term')}:\n{steps}"
        return f"{self.under(heading, known)}\n\n{recent}" if known else recent

    view = view_of

    @property
    @abstractmethod
    def clock(self) -> float:
        """The model's clock; the agent's own steps, while that stands still at 0."""

    @property
    def now(self) -> float:
        """The model's clock; for work under way, the clock when it was committed.

        Deferred work ends when the answers come, which must not show in any record.
        """
        view = view_here(self)
        return self.clock if view is None else view.now

    @contextmanager
    def peek(self) -> Iterator[None]:
        """Reads of this thread or task leave no trace: no access, nothing recorded.

        For an observer's eye, such as a data collector's; not for what the agent sees.
        """
        with reading(self, unnoticed=True):
            yield

    @contextmanager
    def reads_about(self, question: str | None) -> Iterator[None]:
        """Reads of this thread or task recall for a question; None: for the step."""
        with reading(self, about=question):
            yield

    def messages(
        self, last: int | None = None, with_agent: Any = None
    ) -> list[Message]:
        """The messages heard and sent, oldest first.

        Args:
            last: only the newest ``last`` of them.
            with_agent: only messages to or from this agent (or unique id).

        Raises:
            ValueError: if last is negative.
        """
        if last is not None and last < 0:
            raise ValueError(f"last must be 0 or more, got {last}")
        own = [Message.of(r.step, r.content) for r in list(self.journal.history)]
        found = sorted(own, key=lambda message: message.step)
        if with_agent is not None:
            other = self.view().names.unique_id(with_agent)
            found = [m for m in found if other == m.sender or other in m.recipients]
        return found if last is None else found[max(0, len(found) - last) :]

    def get_communication_history(self) -> str:
        """The messages as text, oldest first; empty without any."""
        view = self.view()
        lines = [
            render.at_step(
                message.step,
                render.shorten(message.line(view.own_voice), self.event_chars),
                view.wording,
            )
            for message in self.messages()
        ]
        return f"{self.section(lines, 'messages')}\n\n" if lines else ""

    def records(self) -> Iterable[MemoryRecord]:
        """The records that it holds besides its layers: those in its ``state``.

        A record that neither a layer nor this holds is closed. A class that holds some
        in an object of its own extends this.
        """
        return records_of(self)

    def current_records(self) -> list[MemoryRecord]:
        """The records that are held and whose lifetime is open, oldest first.

        In ``remember``, also what its step brought.
        """
        dropped, view = self._dropped(), view_here(self)
        for _, events in view.commit.groups if view and view.commit else ():
            for event in events:
                dropped.pop(event.id, None)
        found = [r for r in self.journal.current() if r.id not in dropped]
        return sorted(found, key=lambda record: record.order)

    def held_records(self) -> list[MemoryRecord]:
        """All records that this memory uses, oldest first, closed ones too."""
        found = [
            *records_in(self.snapshot()),
            *self.records(),
            *self.journal.history,
            *(record for layer in self.layers for record in layer.all_records()),
            *(record for layer in self.layers for record in layer.history()),
        ]
        return sorted({r.id: r for r in found}.values(), key=lambda r: r.order)

    def recount(self, observer: Observer) -> None:
        """Tells a late observer of all records that this memory uses."""
        for record in self.held_records():
            observer.opened(record)
            if not record.current:
                observer.closed(record)

    def show(self, step: float, events: Sequence[MemoryRecord]) -> None:
        """Prints a step's entry if asked to; a console that cannot must not stop a run."""
        if not self.display:
            return
        try:
            entry_of_step(self, step, events).display()
        except (OSError, ValueError) as error:
            logger.warning("step %s is not displayed: %s", step, error)

    def close_dropped(self) -> None:
        """Closes the records that this memory does not hold any more.

        Called after each batch, and at the end of each recorded step of the model. A
        record is held by a layer or by the ``state`` of the memory; the message history
        alone does not hold it.
        """
        journal = self.journal
        with self.exclusive():
            for record in self._dropped().values():
                why, step = journal.leaving.get(record.id) or (EVICTED, self.now)
                journal.close(record, step, why)

    def pending(self) -> list[Group]:
        """Events that are not admitted yet, by step, oldest step first."""
        steps: dict[float, list[MemoryRecord]] = {}
        for step, events in (group for c in self.work.waiting for group in c.groups):
            steps.setdefault(step, []).extend(events)
        for event in self.journal.inbox.events():
            steps.setdefault(event.step, []).append(event)
        return sorted(steps.items(), key=itemgetter(0))

    def _dropped(self) -> dict[str, MemoryRecord]:
        """The open records that nothing holds, by id, in order of making."""
        held = set(self.journal.inbox.events())
        for batch in self.work.waiting:
            held.update(*[events for _, events in batch.groups])
        for layer in self.layers:
            held.update(layer.all_records())
        held.update(self.records(), self.journal.pinned)
        return {r.id: r for r in self.journal.current() if r not in held}

    @abstractmethod
    def settle(self, recall: bool = False) -> None:
        """Before a read: commits finished steps and waits for unfinished work.

        Before a ``recall``, postponed work is done, too.
        """

    def exclusive(self) -> MemoryLock:
        """Within it no other thread changes the memory, and its work is not awaited."""
        return self._exclusive


prepare_reads(MemoryReads)
