"""Answers from a recorded run: the same requests get the same replies, without a model.

A request is found by agent, step, purpose and occurrence, and its prompt must be the
recorded one. Requests that went out side by side may come in another order; the prompt
tells them apart.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from difflib import unified_diff
from typing import Any

from mesa_memory import errors
from mesa_memory.core.content import plain
from mesa_memory.core.render import shorten
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.errors import LLMError, LLMUnavailable, ReplayMismatch

#: answers all requests of new services; None without an override
CLIENT_OVERRIDE: ContextVar[Any] = ContextVar("client override", default=None)
#: longest diff in the text of an error
DIFF_CHARS = 2000


@contextmanager
def override_client(client: Any) -> Iterator[None]:
    """Meanwhile ``client`` answers all requests of new services.

    Args:
        client: like ``ReplayLLM``; it replaces every configured client.
    """
    token = CLIENT_OVERRIDE.set(client)
    try:
        yield
    finally:
        CLIENT_OVERRIDE.reset(token)


@dataclass(frozen=True)
class Recorded:
    """A recorded call.

    Attributes:
        prompt_hash: of the request, see ``prompts.prompt_hash``.
        prompt: gives its messages; they are read only to show a difference.
        reply: what came; None if the call failed.
        error: class name and message of its failure.
        asked: the model that it named, and its settings, by name.
    """

    prompt_hash: str
    prompt: Callable[[], Sequence[dict[str, str]]]
    reply: Reply | None
    error: str | None = None
    asked: Mapping[str, Any] = field(default_factory=dict)


class ReplayLLM:
    """Answers from the calls of a recorded run.

    Args:
        calls: gives the recorded calls for a request's agent, step and purpose, in
            order of occurrence.
        hash_of: of a request.
        changed_files: gives the names of the prompt files whose text is not the recorded
            one; they are read only to explain a difference.
    """

    instant = True

    def __init__(
        self,
        calls: Callable[[LLMRequest], list[Recorded]],
        hash_of: Callable[[LLMRequest], str],
        changed_files: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self._calls, self._hash, self._changed = calls, hash_of, changed_files
        self._left: dict[tuple, list[Recorded]] = {}
        self._lock = threading.Lock()

    def again(self) -> "ReplayLLM":
        """One that has not answered anything yet."""
        return ReplayLLM(self._calls, self._hash, self._changed)

    def complete(self, request: LLMRequest) -> Reply:
        """The recorded answer.

        Raises:
            ReplayMismatch: if nothing was recorded for this prompt.
            LLMError: the recorded failure.
        """
        with self._lock:
            found = self._take(request)
        if found.reply is None:
            raise _failure(found.error or "", request)
        return found.reply

    async def acomplete(self, request: LLMRequest) -> Reply:
        """``complete``, for event loops."""
        return self.complete(request)

    def _take(self, request: LLMRequest) -> Recorded:
        key = (request.agent, request.step, request.purpose)
        if key not in self._left:
            self._left[key] = self._calls(request)
        left, wanted = self._left[key], self._hash(request)
        for position, recorded in enumerate(left):
            if recorded.prompt_hash == wanted:
                return left.pop(position)
        raise ReplayMismatch(
            _difference(request, left[0] if left else None, self._changed),
            **request.where,
        )


def response_data(raw: Any) -> Any:
    """A provider's response as plain data."""
    dump = getattr(raw, "model_dump", None)
    return plain(dump(mode="json") if dump else raw)


def response(raw: Any) -> Any:
    """A recorded response of a provider, as litellm gives it."""
    from litellm import ModelResponse

    return ModelResponse(**raw)


def _difference(
    request: LLMRequest,
    recorded: Recorded | None,
    changed_files: Callable[[], Sequence[str]],
) -> str:
    if recorded is None:
        return (
            "the recorded run does not have another request of this purpose at this step. "
            "Replay needs the same model, parameters and versions. To go on after a "
            "recorded run, resume or fork it."
        )
    now = {"model": request.model, **request.settings}
    names = [
        n for n in {**now, **recorded.asked} if now.get(n) != recorded.asked.get(n)
    ]
    if names:
        changes = [
            f"{n} was {recorded.asked.get(n)!r}, is {now.get(n)!r}" for n in names
        ]
        return (
            f"the request is not the recorded one: {'; '.join(changes)}. Replay with the "
            "recorded settings, see run.calls()."
        )
    before = _lines(recorded.prompt())
    after = _lines(request.messages())
    shown = "\n".join(unified_diff(before, after, "recorded", "now", lineterm="", n=1))
    files = ", ".join(changed_files())
    wording = f" The text of these prompt files has changed: {files}." if files else ""
    return f"the prompt is not the recorded one.{wording}\n{shorten(shown, DIFF_CHARS)}"


def _lines(messages: Sequence[dict[str, str]]) -> list[str]:
    return [
        f"{message['role']}: {line}"
        for message in messages
        for line in (message.get("content") or "").splitlines()
    ]


def _failure(recorded: str, request: LLMRequest) -> LLMError:
    """The failure that was recorded, as the same class."""
    name, _, text = recorded.partition(": ")
    kind = getattr(errors, name, None)
    if not (isinstance(kind, type) and issubclass(kind, LLMError)):
        kind, text = LLMUnavailable, recorded
    prefix = f"agent {request.agent}, step {request.step}, {request.purpose}: "
    return kind(text.removeprefix(prefix), **request.where)
