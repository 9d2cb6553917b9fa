"""The agent's knowledge of its world, as facts that change with the world."""

from collections.abc import Sequence
from typing import Any, Unpack

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.validate import checked_int
from mesa_memory.layers.facts.layer import Facts
from mesa_memory.layers.facts.shown import FactLines
from mesa_memory.layers.lines import Line
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import HeldSteps
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions
from mesa_memory.memories.host.recalls import RecallMixin, RecallService
from mesa_memory.tasks.extract import GATE, checked_gate


class FactMemory(RecallMixin, MemoryModule):
    """Facts (subject, attribute, value, speakers), and the last events that are in none.

    One request a step names the facts of its events, and the known facts that they end.
    Another value of the same attribute ends the older one by the step of its event; what
    two speakers say of it stands side by side. With ``max_facts=10`` and ``summary=True`` it is the character
    memory of a story engine.

    Args:
        agent: the agent that owns the memory.
        max_facts: how many facts to keep, the strongest and newest; None keeps all.
        n: for how many steps an event stays word for word if no fact holds it, at least
            1; an event that is not read yet stays, too.
        summary: keep a summary of three to five sentences, too, by the same request.
        gate: what a statement must be to be kept: ``"fact"``, ``"stable"``,
            ``"useful"``, or some of them.
        direct_tokens: longest list of facts that is shown in full; of a longer one, the
            recalled facts are shown.
        considered_facts: number of facts recalled for a prompt.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Raises:
        ValueError: for a number below 1, or an unknown part of the gate.
    """

    layer = "fact"
    short_term_memory = HeldSteps()
    n = Delegate("_window", "How many steps are kept word for word.", "capacity")
    max_facts = Delegate("_facts", "How many facts are kept; None is all.", "most")
    summary = Delegate(
        "_facts", "Whether the memory also keeps a summary.", "summarised"
    )
    direct_tokens = Delegate("_lines", "Longest list of facts that is shown in full.")

    def __init__(
        self,
        agent: Any,
        max_facts: int | None = None,
        n: int = 5,
        *,
        summary: bool = False,
        gate: Sequence[str] = GATE,
        direct_tokens: int = 2000,
        considered_facts: int = 20,
        **options: Unpack[MemoryOptions],
    ) -> None:
        considered = checked_int("considered_facts", considered_facts)
        self._lines = FactLines(checked_int("direct_tokens", direct_tokens), considered)
        most = None if max_facts is None else checked_int("max_facts", max_facts)
        self._facts = Facts(most, checked_gate(gate), bool(summary), self._lines)
        self._window = Window(checked_int("n", n), until=self._facts.has_read)
        self._recalls = RecallService(self, self._lines.recollection)
        super().__init__(agent, layers=[self._window, self._facts], **options)

    def facts(self, at: float | None = None) -> list[MemoryRecord]:
        """The facts known now, or the facts that held at a step.

        A record's content has ``subject``, ``attribute``, ``value``, ``holds``,
        ``speakers``, ``since``, ``last`` and ``strength``; its ``sources`` are the
        evidence.

        Args:
            at: a step; what has ended since counts as far as it held then.
        """
        table = self._facts.table
        return table.current() if at is None else table.at(at)

    def conflicts(self) -> list[list[MemoryRecord]]:
        """The facts that may not all hold, since two speakers said different things."""
        return self._facts.table.conflicts()

    def fact_history(
        self, subject: Any, attribute: str
    ) -> list[tuple[MemoryRecord, float | None]]:
        """All values of an attribute, and until which step each held; None is until now.

        Args:
            subject: an agent, its unique id or its name, or the name of a thing.
            attribute: its name, such as ``"home"``.
        """
        return self._facts.past(self.view(), subject, attribute)

    def recent(self) -> list[Line]:
        """The recent events, word for word: those not read yet, and those in no fact."""
        held = self._facts.table.evidence
        return [line for line in super().recent() if not held.issuperset(line.ids)]

    def format_long_term(self) -> str:
        """The summary, if there is one, and the facts."""
        brief = [line.text for line in self._facts.brief_lines(self.view())]
        told = self.bulleted(self._lines.shown(self.view()), "facts")
        return "\n".join([*brief, *([told] if told else [])])

    def prompt_text(self) -> str:
        """The facts, and recent steps."""
        return self.with_recent("facts", self.format_long_term())
