"""Requests of memory logic, and a model's answers, as data.

Logic is written once, as *flows*: generators that yield effects, plain data, and receive
answers: ``text = yield from ask(request)``. ``runtime.flows`` drives them: blocking, in an
event loop, or in the background.
"""

import json
import math
from collections.abc import Callable, Generator, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

from mesa_memory.core.content import count_tokens
from mesa_memory.core.fault_table import FailedAttempt
from mesa_memory.core.text import replies
from mesa_memory.core.wording import ENGLISH, Wording
from mesa_memory.errors import BadReply, ContentFiltered, EmbedderError, LLMError

#: the purpose of an agent's own requests, unless a call gives another one
REASONING = "reasoning"
#: a larger number of tokens is an error of its server
MOST_TOKENS = 10**12
#: where providers say how many prompt tokens they read from their cache: Anthropic,
#: DeepSeek; OpenAI and all who speak its protocol say it among the details
_CACHED = ("cache_read_input_tokens", "prompt_cache_hit_tokens")


def token_count(value: Any) -> int | None:
    """A number of tokens; None if this is not one."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    fits = 0 <= value <= MOST_TOKENS and value == int(value)
    return int(value) if fits else None


@dataclass(frozen=True)
class Route:
    """The way of a request to its model.

    Attributes:
        client: ``"direct"`` or ``"litellm"``.
        form: how a reply by a schema was asked for: ``"json_schema"``,
            ``"json_object with schema"``, ``"json_object"``, ``"tools"`` or ``"plain"``.
        without: settings that the server refuses, and that are not sent to it.
    """

    client: str
    form: str = "plain"
    without: tuple[str, ...] = ()


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
        cached_tokens: prompt tokens that the provider read from its cache; None when it
            did not say.
        tier: the service tier that was served, such as ``"flex"``; empty if unknown.
        cached: True if it came from the response cache; then nothing was sent.
        client: what sent the request, such as ``"litellm"``; empty if unknown.
        answered: the model that answered, in the provider's words, such as
            ``"gpt-5-mini-2025-08-07"``; empty if it did not say.
        response_id: the provider's number of the answer; empty without one.
        form: how the answer's form was asked for, such as ``"json_schema"``; empty if
            unknown.
        without: settings that the server refuses, and that were not sent to it.
        failed: attempts that failed before this answer.
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
    cached_tokens: int | None = None
    tier: str = ""
    cached: bool = False
    client: str = ""
    form: str = ""
    without: tuple[str, ...] = ()
    failed: tuple[FailedAttempt, ...] = ()
    answered: str = ""
    response_id: str = ""

    def __post_init__(self) -> None:
        """Leaves out counts and costs that cannot be true; they are unknown then."""
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            object.__setattr__(self, name, token_count(getattr(self, name)))
        if self.cost is not None and not 0 <= self.cost < math.inf:
            object.__setattr__(self, "cost", None)

    @property
    def route(self) -> "Route | None":
        """The way of its request; None if unknown."""
        return Route(self.client, self.form, self.without) if self.client else None


# -- as providers say it ----------------------------------------------------------------


class TokenCounts(NamedTuple):
    """Tokens of one call; None where the provider does not say.

    Attributes:
        prompt: of the whole prompt, cached ones included.
        completion: of the reply.
        cached: of the prompt, read from the provider's cache.
    """

    prompt: int | None = None
    completion: int | None = None
    cached: int | None = None

    @classmethod
    def of(cls, usage: Any) -> "TokenCounts":
        """The counts in a reply's ``usage``: a mapping or an object; of None, unknown."""
        said = _getter(usage)
        prompt, cached = token_count(said("prompt_tokens")), None
        if details := said("prompt_tokens_details"):
            cached = token_count(_getter(details)("cached_tokens"))
        for name in _CACHED:
            if cached is None and (given := said(name)) is not None:
                cached = token_count(given)
        if cached is not None and prompt is not None:
            cached = min(cached, prompt)
        return cls(prompt, token_count(said("completion_tokens")), cached)


def tier_of(response: Any) -> str:
    """The service tier that was served, as a response says; empty if it does not."""
    said = _getter(response)
    tier = said("service_tier")
    if not isinstance(tier, str) and (usage := said("usage")) is not None:
        tier = _getter(usage)("service_tier")
    return tier if isinstance(tier, str) else ""


def _getter(given: Any) -> Callable[[str], Any]:
    """Returns the value of a name in a mapping or an object; None if it is missing."""
    # The commonest first: to ask for an abstract class takes its time.
    if type(given) is dict or isinstance(given, Mapping):
        return given.get
    return lambda name: getattr(given, name, None)


# -- requests --------------------------------------------------------------------------


type Flow[T] = Generator["Effect", Any, T]


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
        turn: where it stands among the requests of gathered flows, whose replies come
            in any order; empty outside of them.
        accepts: takes the reply and raises ``replies.Unusable`` if it cannot be used,
            so that it is not cached; None if unknown.
        settings: of its sending that may change the answer, by name.
        refusal: filled in by the flow that reads the reply; None without one.
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
    turn: tuple[int, ...] = ()
    settings: Mapping[str, Any] = field(default_factory=dict)
    accepts: Callable[["Reply"], object] | None = field(
        default=None, compare=False, repr=False
    )
    refusal: replies.Refusal | None = field(default=None, compare=False, repr=False)

    @property
    def wording(self) -> Wording:
        """The words in which it is asked."""
        return self.inputs.get("wording") or ENGLISH

    @property
    def where(self) -> dict[str, Any]:
        """The arguments of an ``LLMError`` about it."""
        return {"purpose": self.purpose, "agent": self.agent, "step": self.step}

    @property
    def arguments(self) -> dict[str, Any]:
        """The arguments that are sent besides the messages."""
        return {}

    @cached_property
    def tokens(self) -> int:
        """Tokens of the request, at four characters to a token."""
        texts = [message["content"] or "" for message in self.messages()]
        if arguments := self.arguments:
            texts.append(json.dumps(arguments, default=str))
        return sum(map(count_tokens, texts))

    def messages(self) -> list[dict[str, str]]:
        """The chat messages, oldest first.

        A second round shows the refused reply and what was wrong with it.
        """
        told = [("system", self.system), ("user", self.prompt)]
        if self.repair:
            reply, problem = self.repair
            asked = replies.repair_prompt(problem, self.wording)
            told += [("assistant", reply), ("user", asked)]
        return [{"role": role, "content": text} for role, text in told]


@dataclass(frozen=True)
class ChatRequest(LLMRequest):
    """A reasoning step's request: any messages, and tools.

    Attributes:
        chat: the messages, oldest first.
        given: ``tools``, ``tool_choice`` and ``response_format``, where given.
    """

    chat: tuple[dict[str, str], ...] = ()
    given: Mapping[str, Any] = field(default_factory=dict)

    @property
    def arguments(self) -> dict[str, Any]:
        """See ``LLMRequest``."""
        return dict(self.given)

    def messages(self) -> list[dict[str, str]]:
        """See ``LLMRequest``."""
        return list(self.chat)


@dataclass(frozen=True)
class EmbedRequest:
    """Texts to be turned into vectors; the answer is an ``Embedded``.

    Attributes:
        agent: unique id of the asking agent; ``step``: the model's clock.
    """

    texts: tuple[str, ...]
    agent: Any
    step: float


@dataclass(frozen=True)
class Embedded:
    """Vectors, shape (texts, dim), and the name of the embedder that made them."""

    vectors: Any
    source: str


@dataclass(frozen=True)
class Gather:
    """Flows to run side by side, each at its own pace.

    The answer is a list, in their order: what each returned, or the error that ended it.
    """

    flows: tuple[Generator["Effect", Any, Any], ...]


@dataclass(frozen=True)
class AcquireShared:
    """Asks which shared answers are known; answered with a ``SharedAnswers``."""

    keys: tuple[str, ...]


@dataclass(frozen=True)
class SharedAnswers:
    """Of the keys claimed: known values, those now ours to find, and the rest.

    Attributes:
        known: key -> value.
        ours: keys this asker must ``PublishShared``; the performer gives back keys
            that a failed flow leaves open.
        others: keys that another agent is finding now; ``AwaitShared`` them.
    """

    known: dict[str, Any]
    ours: list[str]
    others: list[str]


@dataclass(frozen=True)
class PublishShared:
    """Hands in the values found for claimed keys."""

    values: Mapping[str, Any]


@dataclass(frozen=True)
class AwaitShared:
    """Waits for another agent's request; answered with its value, None if it failed."""

    key: str


type Effect = (
    LLMRequest | EmbedRequest | Gather | AcquireShared | PublishShared | AwaitShared
)

#: the errors that end one flow of several, and leave the others be
FAULTS = (LLMError, EmbedderError)
type Fault = LLMError | EmbedderError


def ask(
    request: LLMRequest,
    max_chars: int,
    check: Callable[[Any], Any] = lambda v: v,
    repairs: bool = True,
) -> Flow[Any]:
    """The validated reply to ``request``: an instance of its schema.

    A reply that does not pass is sent back once with the reason.

    Args:
        max_chars: longest text any field may have.
        check: takes the instance, and returns it or another value in its place, or
            raises ``replies.Unusable``. The ``doubt`` of the returned value goes into
            the record.
        repairs: False fails at once, without sending a reply back.

    Raises:
        ContentFiltered: if the provider's filter has cut the reply.
        BadReply: if the second reply does not pass either.
    """
    if request.schema is None:
        raise TypeError(f"a request needs a schema to be read: {request.purpose}")
    read = _Reader(request.schema, max_chars, check)
    while True:
        refusal = replies.Refusal()
        request = replace(request, accepts=read, refusal=refusal)
        reply = yield request
        try:
            found = read(reply)
            refusal.doubt = getattr(found, "doubt", "")
            return found
        except replies.Filtered as problem:
            refusal.reason = str(problem)
            raise ContentFiltered(f"{problem}.", **request.where) from problem
        except replies.Unusable as problem:
            if doubtful := isinstance(problem, replies.Doubtful):
                refusal.doubt = problem.reason
            if request.repair or not repairs:
                began = f"Its text began with {(reply.text or '')[:80]!r}."
                said = f"the model's reply cannot be used: {problem}. {began}"
                if not doubtful:
                    refusal.reason = str(problem)
                raise BadReply(said, **request.where) from problem
            # Some providers refuse an empty message.
            shown = (reply.text or "(nothing)")[: replies.REPAIR_CHARS]
            told = problem.told(request.wording)
            request = replace(request, repair=(shown, told))


@dataclass(slots=True, eq=False)
class _Reader:
    """Reads a reply once: a cached one before it is returned, then by who has asked."""

    schema: type
    max_chars: int
    check: Callable[[Any], Any]
    last: Reply | None = None
    value: Any = None

    def __call__(self, reply: Reply) -> Any:
        if reply is not self.last:
            said = replies.read(reply, self.schema, self.max_chars)
            self.value, self.last = self.check(said), reply
        return self.value


def gather[T](flows: Iterable[Flow[T]]) -> Flow[list[T | Fault]]:
    """Runs flows side by side, each at its own pace; one failing leaves the others be.

    A flow returns its finding; the caller opens, closes and counts records afterwards,
    in the order of the flows and not of the replies.

    Returns:
        For each flow, in order, its result or the ``LLMError`` or ``EmbedderError`` that
        ended it; see ``first_fault``.
    """
    given = tuple(flows)
    return (yield Gather(given)) if given else []


def first_fault(outcomes: Iterable[Any]) -> Fault | None:
    """The error to raise from the results of ``gather``; None if all went well.

    One that waiting cannot cure comes first, then an outage, then an unusable reply.
    """
    faults = [outcome for outcome in outcomes if isinstance(outcome, FAULTS)]
    return min(faults, key=lambda f: (f.passing, isinstance(f, BadReply)), default=None)
