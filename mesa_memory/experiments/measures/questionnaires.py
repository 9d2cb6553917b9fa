"""Questionnaires: typed items put to agents on a schedule, without any trace in them."""

from collections.abc import Callable, Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, fields
from numbers import Real
from typing import TYPE_CHECKING, Any

from mesa_memory.core.text.redaction import logger as logger_of
from mesa_memory.core.text.redaction import scrub
from mesa_memory.core.validate import checked_number
from mesa_memory.errors import BadReply
from mesa_memory.experiments.measures.questions import Question
from mesa_memory.hosts.mesa import clock
from mesa_memory.memories.host.interventions import probe
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.runtime.services import Services

if TYPE_CHECKING:
    import pandas

logger = logger_of(__name__)

#: agents that are asked at the same time, where answers take their time
MAX_AGENTS_AT_ONCE = 32


@dataclass(frozen=True)
class Answer:
    """The answer of one agent to one question.

    Attributes:
        step: the model's clock.
        agent: its unique id.
        question: name of the item.
        value: text, number, or JSON data; None without a usable answer.
        error: the reason for an unusable answer; None for a usable one.
    """

    step: float
    agent: Any
    question: str
    value: Any = None
    error: str | None = None


class Questionnaire:
    """Questions with their schedule and their agents.

    Args:
        questions: each with a name of its own; put in this order.
        every: put after each step that can be divided by this number.
        at: steps after which they are put, besides. With neither, they are put at the end
            of a study's run, or whenever ``ask`` is called.
        agents: unique ids, or a function of an agent that says if it is asked; None asks
            all agents that have a memory of this package.

    Raises:
        ValueError, TypeError: without a question, if two have the same name, or if
            the schedule or the choice of agents is invalid.

    Example:
        >>> survey = Questionnaire(
        ...     [Question("knows", "Is the well safe?", "choice", choices=("yes", "no"))],
        ...     every=10,
        ... )
        >>> survey.due(20), survey.due(25)
        (True, False)
    """

    #: whether answers are judged by the truth of their questions
    judges = False

    def __init__(
        self,
        questions: Question | Iterable[Question],
        every: int | None = None,
        at: Iterable[float] = (),
        agents: Collection[Any] | Callable[[Any], bool] | None = None,
    ) -> None:
        self.questions = _questions(questions)
        known = [each.name for each in self.questions if each.truth is not None]
        if known and not self.judges:
            raise ValueError(
                f"the question {known[0]!r} has a truth, by which MemoryQuiz judges: give "
                "it as MemoryQuiz(questions=…)"
            )
        self.every = (
            None if every is None else checked_number("every", every, above=True)
        )
        steps = (at,) if isinstance(at, Real) else at
        self.at = tuple(checked_number("at", step) for step in steps)
        if isinstance(agents, str) or not (
            agents is None or callable(agents) or isinstance(agents, Collection)
        ):
            raise TypeError(
                "agents must be a list of unique ids, a function of an agent, or None "
                f"for all; got {agents!r}"
            )
        self.agents = agents

    def __repr__(self) -> str:
        names = ", ".join(question.name for question in self.questions)
        return f"<Questionnaire {names}>"

    @property
    def at_end(self) -> bool:
        """True if nothing else says when: then it is put at the end of a run."""
        return self.every is None and not self.at

    def due(self, step: float) -> bool:
        """True if the questions are to be put after this step."""
        return step in self.at or bool(self.every and step and step % self.every == 0)

    def put(self, model: Any) -> list[Answer]:
        """The answers of this step, if the questions are due; see ``ask``."""
        return self.ask(model) if self.due(clock(model)) else []

    def ask(self, model: Any) -> list[Answer]:
        """Puts all questions now, between two steps or at the end of one.

        An answer that does not come or cannot be used is an ``Answer`` with an error, and
        stops nothing. Where a provider is asked, several agents are asked at once, each
        its questions in order; an object with ``complete`` is asked one after the other.

        Returns:
            By agent, in the model's order, and question.

        Raises:
            LLMError, MemoryStalled: of a memory whose own work of finished steps failed,
                which is joined first, as it is at the end of every recorded step.
        """
        services, now = Services.of(model), clock(model)
        services.flush()
        chosen = self.chosen(model)
        if hasattr(services.llm, "complete") or all(map(_instant, chosen)):
            found = [self.asked(agent, now) for agent in chosen]
        else:
            with ThreadPoolExecutor(
                min(MAX_AGENTS_AT_ONCE, max(1, len(chosen)))
            ) as threads:
                found = list(threads.map(lambda agent: self.asked(agent, now), chosen))
        return [answer for answers in found for answer in answers]

    def asked(self, agent: Any, now: float) -> list[Answer]:
        """The answers of one agent; a subclass may choose questions or judge answers."""
        return [self.answer(agent, question, now) for question in self.questions]

    def answer(self, agent: Any, question: Question, now: float) -> Answer:
        """The answer of one agent to one question, or the reason why it is missing."""
        name = agent.unique_id
        try:
            said = probe(agent, question.text, question.form)
        except Exception as error:  # whatever it is, a survey must not stop a run
            told = scrub(f"{type(error).__name__}: {error}")
            logger.info("agent %s gave no answer to %r: %s", name, question.name, told)
            return Answer(now, name, question.name, error=told)
        return Answer(now, name, question.name, question.value(said))

    @property
    def description(self) -> dict[str, Any]:
        """The questions and their schedule, as plain data."""
        asked = [question.description for question in self.questions]
        return {"questions": asked, "every": self.every, "at": list(self.at)}

    def chosen(self, model: Any) -> list[Any]:
        """The agents that are asked."""
        if self.agents is None:
            return [a for a in model.agents if _memory(a) is not None]
        if callable(self.agents):
            return [a for a in model.agents if self.agents(a)]
        return [a for a in model.agents if a.unique_id in self.agents]


def answer_text(agent: Any, question: str, memory: str | None = None) -> str:
    """The answer of an agent in plain text; empty if the reply cannot be used.

    Args:
        agent, question, memory: see ``probe``.

    Raises:
        LLMError: if no reply came.
    """
    try:
        return str(probe(agent, question, memory=memory))
    except BadReply:
        return ""


def checked(given: Any) -> tuple[Questionnaire, ...]:
    """The questionnaires of a study.

    Raises:
        TypeError: if one of them is not a ``Questionnaire``.
        ValueError: if two questions have the same name.
    """
    several = (given,) if isinstance(given, Questionnaire) else tuple(given)
    for each in several:
        if not isinstance(each, Questionnaire):
            raise TypeError(
                f"questionnaires must be of class Questionnaire, got {each!r:.80}"
            )
    if several:
        _questions([q for each in several for q in each.questions])
    return several


def parts_of(questionnaires: Iterable[Questionnaire]) -> list[tuple[str, Any]]:
    """The agents and questions of questionnaires, with names."""
    found: list[tuple[str, Any]] = []
    for each in questionnaires:
        found.append((f"the agents of {each!r}", each.agents))
        found += [(f"the question {q.name!r} of {each!r}", q) for q in each.questions]
    return found


def responses(
    questionnaires: Iterable[Questionnaire], model: Any, last: bool
) -> list[dict[str, Any]]:
    """Rows of the table ``responses`` for the questions due now.

    Args:
        last: the run ends here.
    """
    now = clock(model)
    due = [q for q in questionnaires if q.due(now) or (last and q.at_end)]
    return [
        vars(answer) | {"agent": str(answer.agent)}
        for questionnaire in due
        for answer in questionnaire.ask(model)
    ]


def answers_frame(answers: Iterable[Answer]) -> "pandas.DataFrame":
    """Answers as a table: ``step``, ``agent``, ``question``, ``value`` and ``error``.

    Args:
        answers: in the order of the rows; values keep their types.
    """
    import pandas

    names = [field.name for field in fields(Answer)]
    frame = pandas.DataFrame([vars(answer) for answer in answers], columns=names)
    return frame.astype({"value": object, "error": object})


def _memory(agent: Any) -> MemoryModule | None:
    memory = getattr(agent, "memory", None)
    return memory if isinstance(memory, MemoryModule) else None


def _instant(agent: Any) -> bool:
    memory = _memory(agent)
    return memory is None or memory.instant()


def _questions(given: Any) -> tuple[Question, ...]:
    questions: Sequence[Any] = (given,) if isinstance(given, Question) else tuple(given)
    for each in questions:
        if not isinstance(each, Question):
            raise TypeError(f"questions must be of class Question, got {each!r}")
    names = [question.name for question in questions]
    if not names or len(set(names)) < len(names):
        raise ValueError(
            f"a questionnaire needs questions with different names, got {names!r}"
        )
    return tuple(questions)
