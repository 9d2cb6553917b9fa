"""The calls of a recorded run, which answer the requests of another model, or of the same one resumed."""

import threading
from collections import defaultdict, deque
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.fault_table import FailedAttempt
from mesa_memory.core.requests import LLMRequest, Reply
from mesa_memory.hosts import mesa
from mesa_memory.llm.doubles.replay import Recorded, ReplayLLM, response
from mesa_memory.runs.recording.collector import Call, changed_files
from mesa_memory.runs.recording.rows import (
    REPLY_NUMBERS,
    REPLY_TEXTS,
    asking,
    call_row,
    prompt_hash,
)
from mesa_memory.runs.recording.stored import RecordedVectors
from mesa_memory.runtime.services import Services
from mesa_memory.stores.open import open_store, split_run
from mesa_memory.stores.schema import calls, runs, unfinished_calls, wrong
from mesa_memory.stores.sql import Store

#: all columns without the prompt, which is long and rarely needed
_SHORT = [column for column in calls.c if column.name != "prompt"]


def replay(
    model: Any, services: Services, location: Any
) -> tuple[ReplayLLM, RecordedVectors]:
    """Answers and vectors for ``model`` from the newest run with its seed.

    Args:
        location: a store, see ``configure``; ``"run.sqlite#3"`` is its run 3.

    Raises:
        TypeError: if the location is not a path or an address.
        ValueError: if the run does not exist.
        StoreError: if the store cannot be read.
    """
    if not isinstance(location, str | Path):
        raise TypeError(
            f"replay must be the path or address of a recorded run, got {location!r}: "
            "configure(model, replay='run.sqlite')"
        )
    place, number = split_run(str(location))
    store = open_store(place, read_only=True)
    run = _run(store, number, str(mesa.seed(model)))
    answers = recorded_answers(
        store, run, changed=lambda: changed_files(store, run, services.wordings)
    )
    return answers, RecordedVectors(store, run, complete=True)


def recorded_answers(
    store: Store,
    run: int,
    paid: bool = False,
    changed: Callable[[], Sequence[str]] = tuple,
) -> ReplayLLM:
    """The answers of a run.

    Args:
        paid: whether they cost what they cost then; else nothing.
        changed: gives the prompt files whose text is not the recorded one.
    """
    return ReplayLLM(
        lambda request: [
            _call(store, row, row["cost"] if paid else 0.0)
            for row in _recorded(store, run, request)
        ],
        prompt_hash,
        changed,
    )


def _run(store: Store, number: str | None, seed: str) -> int:
    newest = store.run_id(number)
    if number:
        return newest
    with store.reading() as on:
        found = on.execute(sa.select(runs.c.seed, runs.c.id).order_by(runs.c.id))
        seeds = dict(found.all())
    if seed not in seeds:
        raise ValueError(
            f"{store.location} has no run with seed {seed}, only with the seeds "
            f"{sorted(map(str, seeds))}: make the model with one of them"
        )
    return seeds[seed]


def _recorded(store: Store, run: int, request: LLMRequest) -> list[Any]:
    own = {"run": run, "agent": asking(request), "step": request.step}
    query = sa.select(*_SHORT).filter_by(**own, purpose=request.purpose)
    with store.reading() as on:
        return list(on.execute(query.order_by(calls.c.occurrence)).mappings())


def _call(store: Store, row: Any, cost: float | None) -> Recorded:
    def prompt() -> list[dict[str, str]]:
        query = sa.select(calls.c.prompt).filter_by(run=row["run"], seq=row["seq"])
        with store.reading() as on:
            return on.scalar(query) or []

    failed = row["error"] is not None
    reply = None if failed else reply_of(row, cost)
    asked = {"model": row["asked"], **(row["settings"] or {})}
    return Recorded(row["prompt_hash"], prompt, reply, row["error"], asked)


def reply_of(row: Any, cost: float | None = 0.0, latency: float = 0.0) -> Reply:
    """The reply in a recorded call.

    Args:
        cost: in US dollars; a replayed reply costs nothing.
    """
    said = {name: row[column] for column, name in REPLY_NUMBERS.items()}
    said |= {name: row[name] or "" for name in REPLY_TEXTS}
    said |= {"text": row["reply"], "model": row["model"] or "", "cost": cost}
    said |= {"latency": latency, "finish": row["finish"] or "stop"}
    said["attempts"] = 1 if row["attempts"] is None else row["attempts"]
    try:  # litellm's own classes, with pydantic's, and ours
        said["raw"] = None if row["raw"] is None else response(row["raw"])
        said["failed"] = tuple(FailedAttempt(**each) for each in row["failed"] or ())
    except (ValueError, TypeError) as error:
        raise wrong("calls.raw or calls.failed", "an answer of a model", row) from error
    return Reply(**said, cached=bool(row["cached"]))


_COLUMNS = {c.name for c in unfinished_calls.columns} - {"run", "number"}


class PaidAnswers:
    """The answers of a step that was not finished, by request; each is used once.

    They are paid for, and written as they come. When the run is gone on with, a request of
    the same agent, step and purpose with the same prompt gets its answer again.
    """

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
        whose = asking(request), float(request.step), request.purpose
        key = (*whose, prompt_hash(request))
        with self._lock:
            left = self._left.get(key)
            if not left:
                return None
            reply = left.popleft()
            if not left:
                del self._left[key]
        return reply


def answer_row(call: Call) -> dict[str, Any]:
    """The row of ``unfinished_calls`` for a call that was answered."""
    return {name: v for name, v in call_row(call).items() if name in _COLUMNS}
