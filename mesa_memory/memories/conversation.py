"""Conversations under way, and a summary of each past one."""

from collections.abc import Sequence
from typing import Any, Unpack

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.validate import checked_int, checked_number
from mesa_memory.layers.conversations import Conversations
from mesa_memory.layers.lines import in_steps
from mesa_memory.layers.view import StepView
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import Entry, step_entries
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions
from mesa_memory.memories.host.recalls import RecallMixin, RecallService
from mesa_memory.retrieval.scoring import Scoring


class Surroundings(Window):
    """The steps of all events other than messages."""

    def admit(
        self, view: StepView, step: float, events: Sequence[MemoryRecord]
    ) -> None:
        """Adds the step's entry, if anything but words happened."""
        others = [event for event in events if event.kind != "message"]
        if others:
            super().admit(view, step, others)


class ConversationMemory(RecallMixin, MemoryModule):
    """Conversations word for word, and a summary of each that is over (UNIMATRIx).

    Messages with the same participants are a conversation. It is over once more than
    ``idle_steps`` steps have passed without a message, when a participant leaves the
    model, or by ``close_conversation``. Then the agent writes a summary of 2 to 3
    sentences of its own, from what it said and heard. Summaries are never forgotten: the
    newest are shown, and others are recalled by their meaning, for the last three lines
    of dialogue.

    Args:
        agent: the agent that owns the memory.
        short_term_turns: how many of the newest messages of a conversation are shown, at
            least 1.
        recent: how many of the newest summaries are shown, 0 or more.
        recall: how many of the others are recalled, 0 or more.
        idle_steps: steps without a message that a conversation survives, 0 or more.
        n: how many steps of other events to keep word for word, at least 1.
        summary_chars: longest accepted summary.
        scoring: how summaries are recalled; None is by meaning, however old.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Raises:
        ValueError: for a number that is too low.
        TypeError: if scoring is not a ``Scoring``.
    """

    layer = "conversation"
    n = Delegate("_window", "Steps of other events that are kept.", "capacity")
    short_term_turns = Delegate("_talks", "Turns of a conversation that are shown.")
    recalled = Delegate("_recollection", "Others that are recalled.", "considered")
    idle_steps = Delegate("_talks", "Steps that a conversation survives in silence.")
    summary_chars = Delegate("_talks", "Longest accepted summary.")
    scoring = Delegate("_recollection", "How summaries are recalled.")

    def __init__(
        self,
        agent: Any,
        short_term_turns: int = 15,
        recent: int = 20,
        recall: int = 3,
        idle_steps: float = 3,
        n: int = 5,
        *,
        summary_chars: int = 600,
        scoring: Scoring | None = None,
        **options: Unpack[MemoryOptions],
    ) -> None:
        self._window = Surroundings(checked_int("n", n))
        self._talks = Conversations(
            checked_int("short_term_turns", short_term_turns),
            checked_int("recent", recent, least=0),
            checked_int("recall", recall, least=0),
            checked_number("idle_steps", idle_steps),
            checked_int("summary_chars", summary_chars),
            scoring,
        )
        self._recollection = self._talks.recollection
        self._recalls = RecallService(self, self._recollection)
        super().__init__(agent, layers=[self._window, self._talks], **options)

    def close_conversation(self, *others: Any) -> int:
        """Ends a conversation with the step under way; it is summarised at its end.

        Args:
            others: all other participants, agents or unique ids; none ends all
                conversations.

        Returns:
            How many went on until now.
        """
        self.settle()
        view = self.view()
        ids = [view.names.unique_id(other) for other in others]
        with self.exclusive():
            return self._talks.close_talks(view, ids or None, view.now)

    def conversations(self) -> list[MemoryRecord]:
        """The summaries of all conversations that are over, oldest first.

        A record's content has ``text``, ``with`` (unique ids of the others), ``began``
        and ``ended`` (steps) and ``turns``; its ``sources`` are the messages.
        """
        return list(self._talks.held)

    @property
    def memory_entries(self) -> list[Entry]:
        """The events that are held, one entry for each step, oldest first."""
        return step_entries(self)

    def format_short_term(self) -> str:
        """The last steps, and each conversation under way."""
        happened = [line for line in self.recent() if line.kind != "message"]
        view = self.view()
        blocks = [*in_steps(happened, view), *self._talks.threads(view)]
        if not blocks:
            return view.told("nothing recent")
        return self.section(blocks, "steps")

    def format_long_term(self) -> str:
        """The summaries recalled for the dialogue, and then the newest."""
        view = self.view()
        shown = self.bulleted(self._talks.summary(view), "conversations")
        found = self._talks.bring_to_mind(view)
        if found is None:
            return shown
        view.note_recall("prompt", found)
        recalled = sorted(
            (each.record for each in found.records), key=lambda record: record.order
        )
        lines = [self._talks.told(view, record) for record in recalled]
        earlier = self.bulleted(lines, "conversations")
        if not earlier:
            return shown
        if found.weak and found.left_out:
            earlier = f"{view.told('unsure')}\n{earlier}"
        parts = self.under("relevant", earlier), self.under("latest", shown)
        return "\n\n".join(parts).rstrip()

    def prompt_text(self) -> str:
        """The summaries, and the conversations under way."""
        return self.with_recent("conversations", self.format_long_term())
