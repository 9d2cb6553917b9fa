"""What memory logic asks of the outside world, and the two drivers that answer.

Logic is written once, as generators that *yield* effects and receive answers:
``text = yield from ask(request)``. ``run`` answers them blocking, ``arun`` with
``await``; the scheduler drives the same generators in the background. A performer
is anything with ``perform(effect)`` and ``aperform(effect)``.
"""

from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol

from mesa_memory import replies
from mesa_memory.embedding import EmbedRequest
from mesa_memory.errors import BadReply, LLMError

type Steps[T] = Generator["Effect", Any, T]


@dataclass(frozen=True)
class LLMRequest:
    """One question to a language model, as data.

    Attributes:
        purpose: names the kind of thinking, such as ``"grade"``; the ledger, the
            offline model and scripted models go by it.
        agent: unique id of the asking agent; ``step``: the model's clock.
        system, prompt: the texts sent.
        schema: pydantic class the reply must satisfy.
        inputs: what the prompt was made of, for models that need no prose.
        model, api_base: where to send it; None means the configured default.
        repair: (the refused reply, what was wrong with it) in a second round.
    """

    purpose: str
    agent: Any
    step: float
    system: str
    prompt: str
    schema: type | None
    inputs: Mapping[str, Any] = field(default_factory=dict)
    model: str | None = None
    api_base: str | None = None
    repair: tuple[str, str] | None = None

    @property
    def arguments(self) -> dict[str, Any]:
        """What is sent to the provider besides the messages."""
        return {}

    def messages(self) -> list[dict[str, str]]:
        """The chat messages, oldest first."""
        messages = [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.prompt},
        ]
        if self.repair:
            reply, problem = self.repair
            messages += [
                {"role": "assistant", "content": reply},
                {"role": "user", "content": replies.repair_prompt(problem)},
            ]
        return messages


@dataclass(frozen=True)
class Reply:
    """A model's answer.

    Attributes:
        text: the content; None if the model sent none.
        model: the model that answered.
        prompt_tokens, completion_tokens: None when the provider did not say.
        cost: US dollars; None means unknown, never zero.
        latency: seconds, all attempts and waits included.
        attempts: requests sent.
        finish: why the model stopped; ``"length"`` marks a truncated reply.
        raw: the provider's response object, for wrapped reasoning.
    """

    text: str | None
    model: str = ""
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    latency: float = 0.0
    attempts: int = 1
    finish: str = "stop"
    raw: Any = None


@dataclass(frozen=True)
class Together:
    """Effects to answer concurrently; the answer is a list of values and errors."""

    effects: tuple["Effect", ...]


@dataclass(frozen=True)
class Claim:
    """Asks which shared answers are known; answered with a ``Claimed``."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class Claimed:
    """Of the keys claimed: known values, those now ours to find, and the rest.

    Attributes:
        known: key -> value.
        ours: keys this asker must ``Publish``; the performer gives back those that
            a failed flow leaves open.
        others: keys that somebody else is finding now; ``Await`` them.
    """

    known: dict[str, Any]
    ours: list[str]
    others: list[str]


@dataclass(frozen=True)
class Publish:
    """Hands in the values found for claimed keys."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class Await:
    """Waits for somebody else's claim; answered with its value, None if it failed."""

    key: str


type Effect = LLMRequest | EmbedRequest | Together | Claim | Publish | Await


class Performer(Protocol):
    """Answers effects."""

    def instant(self) -> bool:
        """True if every answer comes without waiting."""

    def release(self) -> None:
        """The flow has ended, well or not."""

    def perform(self, effect: Effect) -> Any:
        """The answer, blocking."""

    async def aperform(self, effect: Effect) -> Any:
        """The answer, without blocking the event loop."""


def ask(
    request: LLMRequest, max_chars: int, check: Callable[[Any], Any] = lambda v: v
) -> Steps[Any]:
    """The validated reply to ``request``: an instance of its schema.

    A reply that does not pass is sent back once with the reason.

    Args:
        max_chars: longest text any field may have.
        check: says more than a schema can: takes the instance, returns what shall be
            returned or raises ``replies.Unusable``.

    Raises:
        BadReply: if the second reply does not pass either.
    """
    if request.schema is None:
        raise TypeError(f"a request needs a schema to be read: {request.purpose}")
    while True:
        reply = yield request
        try:
            return check(replies.read(reply, request.schema, max_chars))
        except replies.Unusable as problem:
            if request.repair:
                raise BadReply(
                    f"the model's reply cannot be used: {problem}. Its text began "
                    f"with {(reply.text or '')[:80]!r}.",
                    purpose=request.purpose,
                    agent=request.agent,
                    step=request.step,
                ) from problem
            # Some providers refuse an empty message.
            shown = (reply.text or "(nothing)")[: replies.REPAIR_CHARS]
            request = replace(request, repair=(shown, str(problem)))


def together[T](flows: Sequence[Steps[T]]) -> Steps[list[T | LLMError]]:
    """Runs flows side by side; one failing leaves the others alone.

    Returns:
        For each flow, in order, its result or the ``LLMError`` that ended it.
    """
    results: list[Any] = [None] * len(flows)
    waiting: dict[int, Effect] = {}

    def advance(index: int, resume: Callable[..., Effect], *value: Any) -> None:
        try:
            waiting[index] = resume(*value)
        except StopIteration as stop:
            results[index] = stop.value
        except LLMError as error:
            results[index] = error

    for index, flow in enumerate(flows):
        advance(index, flow.__next__)
    while waiting:
        asked = dict(sorted(waiting.items()))
        waiting.clear()
        answers = yield Together(tuple(asked.values()))
        for index, answer in zip(asked, answers, strict=True):
            flow = flows[index]
            failed = isinstance(answer, BaseException)
            advance(index, flow.throw if failed else flow.send, answer)
    return results


def run[T](steps: Steps[T], performer: Performer, first: Effect | None = None) -> T:
    """Drives a flow to its end, blocking at each effect.

    Args:
        first: the effect at which an already started flow stands.
    """
    try:
        effect = next(steps) if first is None else first
        while True:
            try:
                answer = performer.perform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()


async def arun[T](
    steps: Steps[T], performer: Performer, first: Effect | None = None
) -> T:
    """``run``, awaiting each effect."""
    try:
        effect = next(steps) if first is None else first
        while True:
            try:
                answer = await performer.aperform(effect)
            except Exception as error:
                effect = steps.throw(error)
            else:
                effect = steps.send(answer)
    except StopIteration as stop:
        return stop.value
    finally:
        steps.close()
