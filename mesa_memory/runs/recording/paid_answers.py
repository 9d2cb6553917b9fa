"""The answers of a step that was not finished: they are paid for, and used again.

Each answer is written when it comes. When the run is gone on with, a request of the
same agent, step and purpose with the same prompt gets it instead of a new one.
"""

import threading
from collections import defaultdict, deque
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.reply import Reply
from mesa_memory.core.requests import LLMRequest
from mesa_memory.runs.recording.collector import Call
from mesa_memory.runs.recording.replay import reply_of
from mesa_memory.runs.recording.rows import asking, call_row, prompt_hash
from mesa_memory.stores.schema import unfinished_calls
from mesa_memory.stores.sql import Store

_COLUMNS = {c.name for c in unfinished_calls.columns} - {"run", "number"}


class PaidAnswers:
    """Answers by request; each is used once."""

    def __init__(self) -> None:
        self._left: dict[tuple, deque[Reply]] = defaultdict(deque)
        self._lock = threading.Lock()

    def __bool__(self) -> bool:
        """True while there are any."""
        return bool(self._left)

    @classmethod
    def of(cls, store: Store, run: int, step: float) -> "PaidAnswers":
        """The answers of a run after the end of a step.

        Raises:
            StoreError: if the store fails.
        """
        query = sa.select(unfinished_calls).filter_by(run=run)
        query = query.where(unfinished_calls.c.step >= step)
        found = cls()
        with store.reading() as on:
            for row in on.execute(query.order_by("number")).mappings():
                key = (row["agent"], row["step"], row["purpose"], row["prompt_hash"])
                found._left[key].append(reply_of(row, row["cost"], row["latency"]))
        return found

    def take(self, request: LLMRequest) -> Reply | None:
        """The answer to a request; None without one."""
        key = _key(request)
        with self._lock:
            left = self._left.get(key)
            if not left:
                return None
            reply = left.popleft()
            if not left:
                del self._left[key]
        return reply


def _key(request: LLMRequest) -> tuple[str, float, str, str]:
    whose = (asking(request), float(request.step), request.purpose)
    return (*whose, prompt_hash(request))


def answer_row(call: Call) -> dict[str, Any]:
    """The row of ``unfinished_calls`` for a call that was answered."""
    return {name: v for name, v in call_row(call).items() if name in _COLUMNS}
