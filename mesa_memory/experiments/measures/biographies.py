"""Consistency of agents with their biographies, asked on schedule."""

from collections.abc import Iterable, Mapping
from typing import Any

from mesa_memory.experiments.measures.questionnaires import Answer, Questionnaire
from mesa_memory.experiments.measures.questions import Question
from mesa_memory.memories.host.biographies import BiographyTable

#: name of the row with the share of an agent's answers that agree with the table
AGREEMENT = "agreement"
#: about a field of a biography
QUESTION = "What is your {field}? Answer with the value alone."


class BiographyQuestions(Questionnaire):
    """Asks each agent for the fields of its row, and compares the answers with the row.

    After an agent's answers comes one more, ``"agreement"``: the share of its usable
    answers that agree with the table, from 0 to 1; None without a usable one. Numbers
    agree if they are equal. Texts agree without regard to case, spaces, punctuation at
    their ends, and the field's name before them (``Home: the mill.``).

    Args:
        table: as for ``biography``; it need not be pinned, as in an arm without it.
        every, at: the schedule, see ``Questionnaire``.
        question: text of a question, with ``{field}`` for its field. A field whose values
            are all numbers is asked for a number.

    Raises:
        TypeError, ValueError: for a table or a schedule that is invalid.
    """

    def __init__(
        self,
        table: Any,
        every: int | None = None,
        at: Iterable[float] = (),
        question: str = QUESTION,
    ) -> None:
        self.table = BiographyTable.read(table)
        values: dict[str, list[str]] = {}
        for row in self.table.rows.values():
            for field, value in row.items():
                values.setdefault(field, []).append(value)
        if AGREEMENT in values:
            raise ValueError(f"a field of a biography cannot be called {AGREEMENT!r}")
        questions = [
            Question(field, question.replace("{field}", field), _kind(known))
            for field, known in values.items()
        ]
        super().__init__(questions, every, at, agents=self.has_row)

    @property
    def description(self) -> dict[str, Any]:
        """See ``Questionnaire``; with the table."""
        return super().description | {"table": self.table.rows}

    def has_row(self, agent: Any) -> bool:
        """True if the table has a row for the agent."""
        return self.table.row_of(agent) is not None

    def asked(self, agent: Any, now: float) -> list[Answer]:
        """See ``Questionnaire``; of the fields that the agent's row has."""
        row: Mapping[str, str] = self.table.row_of(agent) or {}
        fields = [question for question in self.questions if question.name in row]
        answers = [self.answer(agent, question, now) for question in fields]
        agree = [_agree(each, row) for each in answers if each.error is None]
        share = sum(agree) / len(agree) if agree else None
        error = None if agree else "no answer can be used"
        return [*answers, Answer(now, agent.unique_id, AGREEMENT, share, error)]


def _kind(values: Iterable[str]) -> str:
    numbers = [_number(value) for value in values]
    if None in numbers:
        return "text"
    return "integer" if all(n == int(n) for n in numbers if n is not None) else "float"


def _number(value: Any) -> float | None:
    try:
        number = float(value)
    except (TypeError, ValueError):
        return None
    return number if abs(number) < float("inf") else None


def _agree(answer: Answer, row: Mapping[str, str]) -> bool:
    wanted, number = row[answer.question], _number(answer.value)
    if number is not None:
        return number == _number(wanted)
    said = _bare(str(answer.value))
    value = said.removeprefix(f"{_bare(answer.question)}:")
    return _bare(wanted) in (said, _bare(value))


def _bare(text: str) -> str:
    """A text without case, further spaces, and punctuation at its ends."""
    return " ".join(text.casefold().split()).strip(" .,;:!?'\"“”‘’«»。！？")
