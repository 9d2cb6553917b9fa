"""The calls of a recorded run, for a model that is to be answered from it."""

from collections.abc import Callable
from typing import Any

import sqlalchemy as sa

from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.llm.replay import Recorded, ReplayLLM, ReplayOrCall, response
from mesa_memory.recording.tablerows import prompt_hash
from mesa_memory.recording.vectors import RecordedVectors
from mesa_memory.stores.base import Store, open_store
from mesa_memory.stores.schema import calls, runs

#: all columns but the prompt, which is long and rarely needed
_SHORT = [column for column in calls.c if column.name != "prompt"]


def replay(
    model: Any, location: Any, on_miss: str, client: Callable[[LLMRequest], Any]
) -> tuple[ReplayLLM | ReplayOrCall, RecordedVectors]:
    """Answers and vectors for ``model`` from the newest run with its seed.

    Args:
        location: a store, see ``configure``; ``"run.sqlite#3"`` is its run 3.
        on_miss: ``"raise"``, or ``"call"`` to ask the client.
        client: gives the client that answers a request that was not recorded.

    Raises:
        ValueError: if there is no such run.
        StoreError: if the store cannot be read.
    """
    place, _, number = str(location).partition("#")
    store = open_store(place, read_only=True)
    run = _run(store, number, str(getattr(model, "_seed", None)))
    answers = ReplayLLM(lambda request: _recorded(store, run, request), prompt_hash)
    vectors = RecordedVectors(store, run, complete=on_miss == "raise")
    return (answers if vectors.complete else ReplayOrCall(answers, client)), vectors


def _run(store: Store, number: str, seed: str) -> int:
    query = sa.select(runs.c.id, runs.c.seed).order_by(runs.c.id.desc())
    with store.reading() as on:
        found = dict(on.execute(query).tuples().all())
    if number:
        if not number.isdecimal() or int(number) not in found:
            raise ValueError(
                f"{store.location} has the runs {sorted(found)}, not {number}"
            )
        return int(number)
    for run, its_seed in found.items():
        if its_seed == seed:
            return run
    raise ValueError(
        f"{store.location} has no run with seed {seed}, only with the seeds "
        f"{sorted(set(map(str, found.values())))}: make the model with one of them"
    )


def _recorded(store: Store, run: int, request: LLMRequest) -> list[Recorded]:
    own = {"run": run, "agent": str(request.agent), "step": request.step}
    query = sa.select(*_SHORT).filter_by(**own, purpose=request.purpose)
    with store.reading() as on:
        rows = list(on.execute(query.order_by(calls.c.occurrence)).mappings())
    return [_call(store, row) for row in rows]


def _call(store: Store, row: Any) -> Recorded:
    def prompt() -> list[dict[str, str]]:
        query = sa.select(calls.c.prompt).filter_by(run=row["run"], seq=row["seq"])
        with store.reading() as on:
            return on.scalar(query) or []

    failed = row["error"] is not None
    return Recorded(
        row["prompt_hash"], prompt, None if failed else _reply(row), row["error"]
    )


def _reply(row: Any) -> Reply:
    return Reply(
        text=row["reply"],
        model=row["model"] or "",
        prompt_tokens=row["tokens_in"],
        completion_tokens=row["tokens_out"],
        cost=0.0,  # nobody is paid for it again
        attempts=row["attempts"] or 1,
        finish=row["finish"] or "stop",
        raw=None if row["raw"] is None else response(row["raw"]),
    )
