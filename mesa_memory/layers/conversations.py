"""Conversations: open ones verbatim, and the agent's summaries of the others."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.conversations import Conversation, Grouping
from mesa_memory.core.records import CONSOLIDATED, DERIVED, MemoryRecord
from mesa_memory.core.requests import FAULTS, Flow, first_fault, gather
from mesa_memory.core.snapshot import RecordLookup
from mesa_memory.errors import BadReply, EmbedderError
from mesa_memory.layers.base import Layer
from mesa_memory.layers.lines import Line
from mesa_memory.layers.message import Message
from mesa_memory.layers.stream.indexing import EventIndex
from mesa_memory.layers.stream.recalling import RecallResult, Recollection
from mesa_memory.layers.summary import summary_of
from mesa_memory.layers.view import StepView, askable
from mesa_memory.retrieval.activation import moved
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.tasks import CONVERSATION
from mesa_memory.tasks.base import in_batches

#: of the records
KIND = "conversation"
#: a conversation this number of times as long as the turns that are shown is too long to
#: wait for its end: the turns that are not shown are summarised before
LONG_TALK_FACTOR = 4
#: number of lines of dialogue that bring earlier conversations to mind
QUERY_LINES = 3

#: a conversation, and the oldest of its messages, which are due to be summarised
type Due = tuple[Conversation, list[MemoryRecord]]


class Conversations(Layer):
    """Groups messages into conversations by their participants.

    The first message opens a conversation. It closes once more than ``idle_steps``
    steps have passed without one, when a participant leaves the model, or by
    ``close``. Then the agent writes its own summary, from what it said and heard; those
    of several conversations are written concurrently. Until then the words stay.

    Args:
        short_term_turns: how many of a conversation's newest messages are shown.
        recent: how many of the newest summaries are shown.
        recall: how many of the others are recalled.
        idle_steps: steps without a message that a conversation survives.
        summary_chars: longest accepted summary.
        scoring: how summaries are recalled; None is by meaning, however old.

    Attributes:
        talks: conversations that are not summarised yet, in the order of their first
            message.
        held: the summaries, oldest first.
        recollection: ranks the summaries.
        index: the summaries by what they are about.
    """

    name, volatility = "conversations", 0.6
    state = ("_refused",)
    restored = ("talks", "held", "_fresh")

    def __init__(
        self,
        short_term_turns: int = 15,
        recent: int = 20,
        recall: int = 3,
        idle_steps: float = 3,
        summary_chars: int = 600,
        scoring: Scoring | None = None,
    ) -> None:
        self.short_term_turns, self.newest = short_term_turns, recent
        self.idle_steps, self.summary_chars = idle_steps, summary_chars
        self.talks: list[Conversation] = []
        self.held: list[MemoryRecord] = []
        self._fresh: list[MemoryRecord] = []  # those that are to be embedded
        self._refused = 0  # unusable replies in a row
        by_meaning = Scoring.relevance_only() if scoring is None else scoring
        self.recollection = _DialogueRecall(recall, scoring=by_meaning)
        self.recollection.talks = self
        self.index = self.recollection.index = EventIndex(self.held, None)

    # -- what is said -------------------------------------------------------------------

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Adds messages to their conversations; see ``Layer``."""
        said = [event for event in events if event.kind == "message"]
        self._group(view, self.talks, step, said)

    def step_ends(self, view: StepView) -> None:
        """Closes the conversations in which a participant has left the model."""
        has_left = view.names.all.has_left
        for talk in self.talks:
            if talk.closed is None and any(map(has_left, talk.others)):
                talk.closed = view.now

    def close_talks(
        self, view: StepView, others: Sequence[Any] | None, step: float
    ) -> int:
        """Ends conversations with this step, whose messages still belong to them.

        Args:
            others: unique ids of all other participants; None ends every conversation.

        Returns:
            How many went on until now.
        """
        for came, events in view.pending():
            grouping = self._grouping(view, self.talks, came)
            for event in events:
                if event.kind == "message":
                    grouping.meet(event)
        found = [
            talk
            for talk in self.talks
            if talk.closed is None and (others is None or talk.among(others))
        ]
        for talk in found:
            talk.closed = step
        return len(found)

    def under_way(self, view: StepView) -> list[Conversation]:
        """Conversations without a summary, with the newest messages, by age."""
        talks = [talk.copy() for talk in self.talks]
        for step, events in view.pending():
            said = [event for event in events if event.kind == "message"]
            self._group(view, talks, step, said)
        return [talk for talk in talks if talk.messages]

    def spoken(self, view: StepView) -> list[MemoryRecord]:
        """The newest messages of conversations that go on, oldest first."""
        talks = [talk for talk in self.under_way(view) if talk.closed is None]
        newest = [message for talk in talks for message in talk.messages[-QUERY_LINES:]]
        return sorted(newest, key=lambda message: message.order)

    def _group(
        self,
        view: StepView,
        talks: list[Conversation],
        step: float,
        said: Sequence[MemoryRecord],
    ) -> None:
        if said:  # else none of them closes
            grouping = self._grouping(view, talks, step)
            for message in said:
                grouping.add(message)

    def _grouping(
        self, view: StepView, talks: list[Conversation], step: float
    ) -> Grouping:
        return Grouping(talks, step, self.idle_steps, view.agent.unique_id)

    # -- what is made of it -------------------------------------------------------------

    def remember(self, view: StepView) -> Flow[None]:
        """Summarises the conversations that are over, and embeds the summaries.

        What fails stays due, and leaves the others be. After an unusable reply one is
        asked for at a time, by turns, until one is summarised.
        """
        faults: list[Any] = []
        while not faults and (due := self._due(view)):
            outcomes = yield from gather(
                summary_of(
                    view,
                    CONVERSATION,
                    said,
                    partial(self._inputs, view, talk),
                    again=True,
                )
                for talk, said in due
            )
            for (talk, messages), outcome in zip(due, outcomes, strict=True):
                if not isinstance(outcome, FAULTS):
                    self._take_up(view, talk, messages, *outcome)
            faults += [outcome for outcome in outcomes if isinstance(outcome, FAULTS)]
            unusable = any(isinstance(fault, BadReply) for fault in faults)
            self._refused = self._refused + 1 if unusable else 0
        # What is still said in this step belongs to a conversation closed in it.
        self.talks = [
            talk
            for talk in self.talks
            if talk.messages or (talk.closed is not None and talk.closed >= view.now)
        ]
        try:
            yield from self.index.embed(view, self._fresh)
            self._fresh = []
        except EmbedderError as error:
            faults.append(error)
        if fault := first_fault(faults):
            raise fault

    def _due(self, view: StepView) -> list[Due]:
        """Messages to summarise now, as many of each conversation as fit."""
        now, found = view.now, []
        for talk in self.talks:
            over = talk.closed is not None or talk.silent(now) > self.idle_steps
            count = len(talk.messages)
            if not over:
                long = count > LONG_TALK_FACTOR * self.short_term_turns
                count = count - self.short_term_turns if long else 0
            if count:
                oldest = talk.messages[:count]
                fitting = in_batches(oldest, lambda m: len(view.own_line(m)) + 3)[0]
                found.append((talk, fitting))
        turn = self._refused % max(1, len(found))
        return found[turn : turn + 1] if self._refused else found

    def _inputs(
        self, view: StepView, talk: Conversation, messages: Sequence[MemoryRecord]
    ) -> dict[str, Any]:
        names = view.names
        return {
            "me": names(view.agent.unique_id),
            "others": view.voice.listed(talk.others),
            "turns": [self._turn(view, message) for message in messages],
            "lines": [(message.step, view.own_line(message)) for message in messages],
            "max_chars": self.summary_chars,
        }

    def _turn(self, view: StepView, message: MemoryRecord) -> tuple[str, str]:
        """The speaker's name, empty for the agent itself, and the words."""
        said = Message.of(message.step, message.content)
        known = said.sender not in (None, view.agent.unique_id)
        words = render.shorten(render.value_text(said.text), view.limits.event_chars)
        return view.names(said.sender) if known else "", words

    def _take_up(
        self,
        view: StepView,
        talk: Conversation,
        messages: Sequence[MemoryRecord],
        text: str | None,
        doubt: str,
    ) -> None:
        """Replaces the messages by a summary.

        A doubtful summary keeps all messages; any summary keeps filtered ones.
        """
        told = askable(view, messages)
        words = [m for m in messages if doubt or m not in told]
        content: dict[str, Any] = {
            "text": text or view.told("not summarised"),
            "with": list(talk.others),
            "began": messages[0].step,
            "ended": messages[-1].step,
            "turns": len(messages),
        }
        if doubt:
            content["doubtful"] = doubt
        if words:
            content["said"] = " · ".join(view.own_line(each) for each in words)
        only = talk.others[0] if len(talk.others) == 1 else None
        record = self.open(view, KIND, content, told or messages, subject=only)
        del talk.messages[: len(messages)]
        for message in messages:
            self.close(view, message, CONSOLIDATED)
        self.held.append(record)
        self._fresh.append(record)

    # -- what is shown ------------------------------------------------------------------

    def recent(self, view: StepView) -> list[Line]:
        """The newest turns of each conversation without a summary."""
        said = [
            message for talk in self.under_way(view) for message in self._turns(talk)
        ]
        return [
            self.line(view, message) for message in sorted(said, key=lambda m: m.order)
        ]

    def _turns(self, talk: Conversation) -> list[MemoryRecord]:
        """The newest messages of a conversation."""
        return talk.messages[max(0, len(talk.messages) - self.short_term_turns) :]

    def threads(self, view: StepView) -> list[str]:
        """Each conversation that is not summarised as a text, the newest last."""
        talks = sorted(self.under_way(view), key=lambda talk: talk.messages[-1].order)
        return [self._thread(view, talk) for talk in talks]

    def _thread(self, view: StepView, talk: Conversation) -> str:
        shown = self._turns(talk)
        left_out = len(talk.messages) - len(shown)
        told, wording = view.told, view.wording
        others, over = view.voice.listed(talk.others), talk.closed is not None
        note = [told("left out turns", count=left_out)] * bool(left_out)
        lines = [
            f"- {render.at_step(m.step, view.own_line(m), wording)}" for m in shown
        ]
        return "\n".join([told("thread", who=others, over=over), *note, *lines])

    def summary(self, view: StepView) -> list[Line]:
        """The newest summaries, oldest first."""
        return [self.told(view, record) for record in self._newest()]

    def _newest(self) -> list[MemoryRecord]:
        return self.held[-self.newest :] if self.newest else []

    def told(self, view: StepView, record: MemoryRecord) -> Line:
        """One summary on a line, with its steps and participants."""
        content = record.content
        first, last = content["began"], content["ended"]
        others = content["with"]  # somebody may have edited it
        several = others if isinstance(others, list | tuple) else [others]
        said = content.get("said")
        text = view.told(
            "conversation",
            first=render.value_text(first),
            last=render.value_text(last),
            who=view.voice.listed(several),
            text=render.value_text(content["text"]),
            said=render.value_text(said) if said else "",
        )
        wording = view.wording
        return Line(text, (record,), kind=KIND, rank=record.step, wording=wording)

    def bring_to_mind(self, view: StepView) -> RecallResult | None:
        """Earlier summaries, not among the newest, that the dialogue calls for, if any."""
        newest = self._newest()
        if len(newest) == len(self.held) or not self.recollection.sought(view):
            return None
        self.index.refresh(view)
        return self.recollection.find(view, None, None, without=newest)

    # -- its state ----------------------------------------------------------------------

    def records(self) -> list[MemoryRecord]:
        """The words of conversations under way, and the summaries."""
        return [*self.held, *(m for talk in self.talks for m in talk.messages)]

    def snapshot(self) -> dict[str, Any]:
        """The conversations under way; the summaries are its current records."""
        talks = [
            [list(t.others), t.last, t.closed, list(t.messages)] for t in self.talks
        ]
        accessed = self.index.accessed()
        return {"talks": talks, "fresh": list(self._fresh), "accessed": accessed}

    def restore(self, snapshot: Mapping[str, Any], shelf: RecordLookup) -> None:
        """Takes up the conversations under way, and the summaries."""
        view = self.memory.view()
        self.talks = [
            Conversation(tuple(others), last, closed, list(messages))
            for others, last, closed, messages in snapshot["talks"]
        ]
        by_age = sorted(shelf.current(), key=lambda record: record.step)
        # An event may have that name, too.
        self.held[:] = [r for r in by_age if r.kind == KIND and r.origin == DERIVED]
        fresh = set(snapshot["fresh"])
        self._fresh = [record for record in self.held if record in fresh]
        self.index.restore(view, snapshot["accessed"], fresh)

    def moved(self, snapshot: dict[str, Any], later: float) -> dict[str, Any]:
        """See ``Layer``."""
        talks = [
            [others, last + later, None if over is None else over + later, said]
            for others, last, over, said in snapshot["talks"]
        ]
        given = snapshot["accessed"].items()
        accessed = {key: moved(each, later) for key, each in given}
        return snapshot | {"talks": talks, "accessed": accessed}


class _DialogueRecall(Recollection):
    """Recalls earlier conversations by the newest lines of dialogue."""

    talks: Conversations
    ungraded = list  # nothing here waits for a grade

    def spoken(self, view: StepView) -> list[MemoryRecord]:
        """The last lines of dialogue; empty without any."""
        return self.talks.spoken(view)[-QUERY_LINES:]

    def _under_way(self, view: StepView) -> list[MemoryRecord]:
        return self.spoken(view)
