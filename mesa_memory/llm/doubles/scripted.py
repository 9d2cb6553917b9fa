"""A language model for tests: answers by rules or from a queue, keeps its history."""

import json
import threading
from collections import deque
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from mesa_memory.core.requests import LLMRequest, Reply

#: what a script may answer: text, a dict for a JSON reply, an error to raise, a whole
#: reply, or a function of the request that gives one of these
type Answer = (
    str | dict | list | Exception | Reply | Callable[[LLMRequest], Answer] | None
)


class ScriptedLLM:
    """Answers from a queue first, then by rules; remembers every request.

    Args:
        queue: answers used up one after the other.
        rules: purpose -> answer, used again and again; ``"*"`` is for any purpose.

    Attributes:
        history: the requests received, oldest first.

    Example:
        >>> llm = ScriptedLLM(rules={"consolidate": {"summary": "Agent 4 is well."}})
        >>> llm.history
        []
    """

    instant = True

    def __init__(
        self, queue: Iterable[Answer] = (), rules: Mapping[str, Answer] | None = None
    ) -> None:
        self._queue: deque[Answer] = deque(queue)
        self._rules = dict(rules or {})
        self._lock = threading.Lock()
        self.history: list[LLMRequest] = []

    def enqueue(self, *answers: Answer) -> None:
        """Appends answers to the queue."""
        with self._lock:
            self._queue.extend(answers)

    def complete(self, request: LLMRequest) -> Reply:
        """The next answer.

        Raises:
            LookupError: if the queue is empty and no rule fits.
            Exception: the error that the script holds at this point.
        """
        with self._lock:
            self.history.append(request)
            answer = self._next(request)
        return self._reply(answer, request)

    async def acomplete(self, request: LLMRequest) -> Reply:
        """``complete``, for event loops."""
        return self.complete(request)

    def _next(self, request: LLMRequest) -> Answer:
        if self._queue:
            return self._queue.popleft()
        for key in (request.purpose, "*"):
            if key in self._rules:
                return self._rules[key]
        raise LookupError(
            f"the script lacks an answer for purpose {request.purpose!r}: enqueue one "
            f"or give a rule; rules exist for {sorted(self._rules)}"
        )

    def _reply(self, answer: Any, request: LLMRequest) -> Reply:
        if callable(answer):
            answer = answer(request)
        if isinstance(answer, Exception):
            raise answer
        if isinstance(answer, Reply):
            return answer
        if isinstance(answer, dict | list):
            answer = json.dumps(answer, ensure_ascii=False)
        return Reply(text=answer, model="scripted", cost=0.0)
