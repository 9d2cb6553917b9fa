"""What memory logic asks of the outside world, and what it is answered: plain data.

Logic is written as generators that *yield* effects and receive answers; see ``flow``.
"""

from collections.abc import Generator, Mapping
from dataclasses import dataclass, field
from typing import Any

from mesa_memory.core import replies
from mesa_memory.core.embedding import EmbedRequest

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
class Gather:
    """Flows to run side by side, each at its own pace.

    The answer is a list, in their order: what each returned, or the error that ended it.
    """

    flows: tuple[Generator["Effect", Any, Any], ...]


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


type Effect = LLMRequest | EmbedRequest | Gather | Claim | Publish | Await
