"""Summaries without a language model: the lines that matter most, word for word."""

from collections.abc import Sequence

from mesa_memory.tasks.grade import offline_grade
from mesa_memory.tasks.offline.terms import Terms


def most_important(lines: Sequence[str], count: int) -> list[int]:
    """Positions of the lines that matter most, oldest first.

    Of lines that say the same only the last counts; of equally important ones the later
    comes first. Lines that say nothing, such as a greeting, come last.
    """
    last = {line: position for position, line in enumerate(lines)}

    def rank(position: int) -> tuple[bool, int, int]:
        line = lines[position]
        return not Terms.of(line).words, -offline_grade("", line), -position

    return sorted(sorted(last.values(), key=rank)[:count])


def sentence(text: str) -> str:
    """A text that ends like a sentence."""
    return text if text.endswith((".", "!", "?", "…")) else f"{text}."
