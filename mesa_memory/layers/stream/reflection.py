"""Settings of reflection, as values.

Reflection is due once the events since the last one have gathered enough importance
(Park et al. 2023, section 4.2).
"""

from dataclasses import dataclass

from mesa_memory.core.validate import checked_int

#: importance that makes a reflection due, if nothing else is said
REFLECTION_THRESHOLD = 30.0


@dataclass(frozen=True)
class Reflection:
    """Settings of reflection; made by ``direct`` or ``questions``.

    Attributes:
        last: how many of the newest records are looked at.
        insights: the most that are kept of each question.
        asked: questions to be asked first; 0 reflects on the newest records as such.
        per_question: how many records are recalled for a question.
        max_depth: insights from events have depth 1, insights from those have depth 2,
            and so on up to ``max_depth``.

    Raises:
        ValueError: for a number below 1 (``asked``, ``per_question``: below 0).
    """

    last: int = 20
    insights: int = 3
    asked: int = 0
    per_question: int = 0
    max_depth: int = 3

    def __post_init__(self) -> None:
        for name in ("last", "insights", "max_depth"):
            checked_int(name, getattr(self, name))
        for name in ("asked", "per_question"):
            checked_int(name, getattr(self, name), least=1 if self.asked else 0)

    @classmethod
    def direct(
        cls, last: int = 20, insights: int = 3, max_depth: int = 3
    ) -> "Reflection":
        """Insights from the newest records: one request."""
        return cls(last, insights, max_depth=max_depth)

    @classmethod
    def questions(
        cls,
        questions: int = 3,
        per_question: int = 10,
        insights: int = 5,
        last: int = 100,
        max_depth: int = 3,
    ) -> "Reflection":
        """The paper's form: questions first, then a recall for each.

        One request for the questions and one for each of them, at the same time.

        Args:
            questions: how many to ask.
            per_question: how many records to recall for each.
            insights: the most of each question.
            last: how many of the newest records the questions are made from.
            max_depth: see ``Reflection``.
        """
        checked_int("questions", questions)
        return cls(last, insights, questions, per_question, max_depth)
