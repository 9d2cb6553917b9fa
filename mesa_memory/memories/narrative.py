"""An agent's life as a story: the newest steps, the story so far, and its chapters."""

from typing import Any, Unpack

from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.validate import checked_int
from mesa_memory.layers.chapters import Chapters, Rule
from mesa_memory.layers.summary import Story
from mesa_memory.layers.window import Window
from mesa_memory.memories.host.delegate import Delegate
from mesa_memory.memories.host.entries import HeldSteps
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.reads import MemoryOptions


class NarrativeMemory(MemoryModule):
    """The newest steps verbatim, the story so far, and a recap of each chapter.

    The story has fewer than five sentences. Once more than ``story_tokens`` tokens are
    not in it, all but the last ``keep_last`` steps are merged into it. A complete
    chapter has a recap of two or three sentences, which is never rewritten. The newest
    recaps are shown in full, older ones shorter; see ``Chapters``.

    Args:
        agent: the agent that owns the memory.
        chapters: when a chapter is complete: the number of its steps, or a function that
            receives the chapter's events (``MemoryRecord``, oldest first) after each
            step and returns true.
        story_tokens: most tokens that are not in the story, at least 1.
        keep_last: number of steps that stay verbatim, 0 or more.
        story_chars: longest accepted story.
        recap_chars: longest accepted recap of a chapter.
        **options: further arguments of ``MemoryModule``, such as ``llm_model``.

    Attributes:
        short_term_memory: the entries that are not in the story, oldest first.
        story: the story so far.

    Raises:
        ValueError: for a number that is too low, or another rule for chapters.
    """

    layer = "narrative"
    short_term_memory = HeldSteps()
    story = Delegate(
        "_story",
        "The story so far; setting it closes the old one and opens a new one.",
        "text",
        "set_by_hand",
    )
    story_chars = Delegate("_story", "Longest accepted story.", "summary_chars")
    recap_chars = Delegate("_chapters", "Longest accepted recap.")

    def __init__(
        self,
        agent: Any,
        chapters: Rule = 10,
        story_tokens: int = 1500,
        keep_last: int = 4,
        *,
        story_chars: int = 800,
        recap_chars: int = 700,
        **options: Unpack[MemoryOptions],
    ) -> None:
        self._window = Window(None)
        self._story = Story(
            self._window,
            checked_int("story_tokens", story_tokens),
            checked_int("keep_last", keep_last, least=0),
            checked_int("story_chars", story_chars),
        )
        self._chapters = Chapters(
            chapters, self._story, checked_int("recap_chars", recap_chars)
        )
        super().__init__(
            agent, layers=[self._window, self._story, self._chapters], **options
        )

    def chapters(self) -> list[MemoryRecord]:
        """The recaps of all chapters that are complete, oldest first.

        A record's content has ``text``, ``number``, ``began`` and ``ended`` (steps);
        its ``sources`` are the events and the story that it was made from.
        """
        return list(self._chapters.told)

    def format_long_term(self) -> str:
        """The chapters, older ones shorter, and the story so far.

        The one that reaches further comes last.
        """
        recaps = [f"- {line.text}" for line in self._chapters.summary(self.view())]
        chapters = [self.under("chapters", "\n".join(recaps))] * bool(recaps)
        if not self._story.text:
            return "".join(chapters)
        until = self._story.until
        story = self.under("story", self._story.shown(self.view()), until)
        ended = max(
            (r.content.get("ended") or 0 for r in self._chapters.told), default=0
        )
        behind = until is not None and until < ended
        return "\n\n".join([story, *chapters] if behind else [*chapters, story])

    def prompt_text(self) -> str:
        """Chapters and story, and then the recent steps."""
        known = self.format_long_term()
        before = f"{known}\n\n" if known else ""
        return before + self.under("short_term", self.format_short_term())
