"""How much of a run a report holds, so that it stays small enough to be sent."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Sample:
    """How much is taken.

    Attributes:
        chars: of each text, the rest is cut.
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

    def notes(self, whole: "Sample", longest: int, recalled: int) -> list[str]:
        """What is left out, in sentences.

        Args:
            whole: what would be taken if there were room.
            longest: characters of the longest text.
            recalled: candidates of the longest recall.
        """
        found = []
        if self.every > 1:
            found.append(
                f"Messages are shown for one step in {self.every}, counted back from "
                "the last one; curves and colours show all steps."
            )
        if self.people < whole.people:
            found.append(
                f"The memories of {self.people} of {whole.people} chosen agents are "
                "shown."
            )
        if recalled > self.candidates:
            found.append(
                f"Of each recall the best {self.candidates} candidates are shown."
            )
        if longest > self.chars:
            found.append(f"Texts are cut after {self.chars} characters.")
        return found


#: characters of a text and candidates of a recall, most first
_SIZES = ((10_000, 1000), (600, 12), (300, 8), (160, 5), (120, 3))


def samples(people: int, steps: int) -> Iterator[Sample]:
    """Samples of a run, largest first: texts, then messages, then people get fewer.

    Args:
        people: agents that were chosen.
        steps: finished steps of the run.
    """
    for chars, candidates in _SIZES:
        yield Sample(chars, candidates, 1, people)
    chars, candidates = _SIZES[-1]
    every = 2
    while every <= max(steps // 4, 1):
        yield Sample(chars, candidates, every, people)
        every *= 2
    for fewer in range(people - 1, -1, -1):
        yield Sample(chars, candidates, every, fewer)
