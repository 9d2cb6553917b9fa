"""Limits of a report's contents, so that the file stays small enough to be sent."""

from collections.abc import Iterator
from dataclasses import dataclass

#: characters of a text and candidates of a recall, most first
_SIZES = ((10_000, 1000), (600, 12), (160, 5), (120, 3))


@dataclass(frozen=True)
class Sample:
    """Limits of a report's contents.

    Attributes:
        chars: of each text; the rest is cut.
        candidates: of each recall.
        every: messages are taken of every n-th step, counted back from the last one.
        people: agents whose memory is shown.
    """

    chars: int
    candidates: int
    every: int
    people: int

    def takes(self, place: int, steps: int) -> bool:
        """True if the messages of the step at ``place`` of ``steps`` are taken."""
        return (steps - 1 - place) % self.every == 0

    def notes(self, people: int, cut: bool, dropped: bool) -> list[str]:
        """The omissions, in sentences.

        Args:
            people: agents that were chosen.
            cut: whether a text was cut.
            dropped: whether a candidate of a recall is left out.
        """
        found = []
        if self.every > 1:
            found.append(
                f"Messages are shown for one step in {self.every}, counted back from "
                "the last one; curves and colours show all steps."
            )
        if self.people < people:
            found.append(f"The memories of {self.people} of {people} agents are shown.")
        if dropped:
            found.append(f"Each recall shows its best {self.candidates} candidates.")
        if cut:
            found.append(f"Texts are cut after {self.chars} characters.")
        return found


def samples(people: int, steps: int) -> Iterator[Sample]:
    """Samples of a run, largest first: texts, then messages, then people get fewer.

    Args:
        people: agents that were chosen.
        steps: finished steps of the run.
    """
    for chars, candidates in _SIZES:
        yield Sample(chars, candidates, 1, people)
    every = 2
    while every <= max(steps // 4, 1):
        yield Sample(chars, candidates, every, people)
        every *= 2
    for fewer in range(people - 1, -1, -1):
        yield Sample(chars, candidates, every, fewer)
