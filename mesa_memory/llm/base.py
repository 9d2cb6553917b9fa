"""The shape of a language model, and the settings all of them share."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple, Protocol, runtime_checkable

from mesa_memory.core.content import plain
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.core.text import redaction
from mesa_memory.core.text.addresses import server_address
from mesa_memory.core.validate import checked_int, checked_number, one_of


@runtime_checkable
class LLM(Protocol):
    """Answers requests. One of the two methods is enough.

    A class attribute ``instant = True`` says that answers take no time, so that they
    are computed in the simulation's own thread.
    """

    def complete(self, request: LLMRequest) -> Reply:
        """The answer, blocking; called from any thread."""


@runtime_checkable
class AsyncLLM(Protocol):
    """A language model for event loops; always called in the background loop."""

    async def acomplete(self, request: LLMRequest) -> Reply:
        """The answer."""


#: clients of providers: "auto" is direct where the server speaks the OpenAI protocol,
#: otherwise litellm
CLIENTS = ("auto", "direct", "litellm")
#: options that say how a request is sent, and change no answer
SENDING_OPTIONS = frozenset(
    {"timeout", "request_timeout", "stream_timeout", "max_retries", "num_retries"}
    | {"metadata", "user", "safety_identifier", "service_tier", "store"}
    | {"prompt_cache_key", "prompt_cache_retention", "cache_control"}
    | {"api_base", "base_url"}
)
#: settings that are sent to the model, where given
SENT_SETTINGS = ("temperature", "seed", "max_tokens")


class Attempt(NamedTuple):
    """One HTTP request that is to be sent.

    Attributes:
        model: ``"provider/model"``; the request's own, or a fallback.
        api_base: the server's address; None is the provider's usual one.
        address: target of the direct client; None for litellm.
        request: the question.
        arguments: what goes with the messages, such as ``temperature``, ``tools`` and
            ``response_format``; later ones win.
        options: the user's own, which win over ``arguments``.
        timeout: seconds.
    """

    model: str
    api_base: str | None
    address: Any
    request: LLMRequest
    arguments: Mapping[str, Any]
    options: Mapping[str, Any]
    timeout: float

    @property
    def by_tool(self) -> bool:
        """True if the reply is requested as arguments of a tool call."""
        return self.request.schema is not None and "tools" in self.arguments


class Sender(Protocol):
    """A way to providers: sends one attempt, without retries and limits."""

    name: str

    async def send(self, attempt: Attempt) -> Reply:
        """The reply, without its usage.

        Raises:
            Exception: any; ``llm.errors`` says what it means.
        """


@dataclass(frozen=True)
class LLMSettings:
    """Settings of requests to providers.

    Attributes:
        client: ``"auto"`` sends requests itself to servers that speak the OpenAI
            protocol, with litellm to all others; ``"direct"`` or ``"litellm"`` is always
            that way.
        timeout: seconds for one attempt.
        attempts: the most attempts for one request.
        deadline: seconds for one request with all its attempts and the waits between
            them; waiting for its turn does not count, and each fallback has its own.
        backoff: seconds before the second attempt; doubled each time, with jitter.
        concurrency: the most requests at once (and connections open); how many there
            are up to it follows from what the server takes.
        temperature, seed, max_tokens: sent if given.
        options: further arguments of ``litellm.acompletion``, for the provider.
        fallbacks: models to ask, in order, when the first cannot answer.
    """

    client: str = "auto"
    timeout: float = 60.0
    attempts: int = 5
    deadline: float = 180.0
    backoff: float = 1.0
    concurrency: int = 256
    temperature: float | None = None
    seed: int | None = None
    max_tokens: int | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    fallbacks: tuple[str, ...] = ()

    @cached_property
    def sent(self) -> Mapping[str, Any]:
        """The settings that are sent to the model, by name."""
        values = {name: getattr(self, name) for name in SENT_SETTINGS}
        return {name: value for name, value in values.items() if value is not None}

    @cached_property
    def told(self) -> Mapping[str, Any]:
        """The settings that may change an answer: ``sent``, and options by name."""
        return {**self.sent, **_telling(self.options)}

    def api_base(self, request: LLMRequest) -> str | None:
        """The server's address; one among ``options`` or the request's arguments wins.

        None is the provider's usual one.
        """
        for given in (self.options, request.arguments):
            if base := given.get("api_base") or given.get("base_url"):
                return str(base)
        return request.api_base

    def __post_init__(self) -> None:
        one_of("client", CLIENTS, self.client)
        for name in ("timeout", "deadline"):
            checked_number(name, getattr(self, name), above=True)
        for name in ("attempts", "concurrency"):
            checked_int(name, getattr(self, name))
        checked_number("backoff", self.backoff)
        if not isinstance(self.options, Mapping):
            raise ValueError(f"options must be a dict, got {self.options!r}")
        redaction.learn_named(self.options)
        bases = {k: v for k, v in self.options.items() if k in ("api_base", "base_url")}
        right = {name: server_address(base) for name, base in bases.items() if base}
        object.__setattr__(self, "options", {**self.options, **right})
        several = isinstance(self.fallbacks, list | tuple)
        if not several or not all(isinstance(name, str) for name in self.fallbacks):
            raise ValueError(
                "fallbacks must be a list or tuple of model names, got "
                f"{self.fallbacks!r}; write ('provider/model',)"
            )


def _telling(options: Mapping[str, Any]) -> dict[str, Any]:
    """The options that may change an answer; none of them is a secret."""
    return {
        name: _telling(value) if isinstance(value, Mapping) else plain(value)
        for name, value in options.items()
        if name not in SENDING_OPTIONS and not redaction.secret_name(str(name))
    }
