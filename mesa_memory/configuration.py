"""Sets the services of a model run."""

import os
from typing import Any

from mesa_memory.checks import whole
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.llm.base import LLM, AsyncLLM, LLMSettings
from mesa_memory.llm.ledger import Budget
from mesa_memory.llm.offline import OfflineLLM
from mesa_memory.llm.policy import PROVIDER
from mesa_memory.pooling import EmbeddingPool
from mesa_memory.recording.attaching import Recording, start
from mesa_memory.recording.vectors import Vectors
from mesa_memory.scheduler import execution_of
from mesa_memory.services import Services

ON_FAILURE = ("retry", "raise")
ON_MISS = ("raise", "call")


def configure(
    model: Any,
    *,
    llm: LLM | AsyncLLM | str | None = None,
    execution: str | None = None,
    budget: Budget | None = None,
    max_pending_steps: int = 10,
    on_failure: str = "retry",
    embedder: Any = "static",
    record: Any = None,
    replay: Any = None,
    on_miss: str = "raise",
    **settings: Any,
) -> Services:
    """Sets the services of ``model``; call it before the agents are created.

    Args:
        model: the Mesa model.
        llm: ``"offline"``, a model name for all memories (``"provider/model"``), or
            an object with ``complete`` or ``acomplete``. None asks each agent's model.
        execution: ``"deferred"`` (default: work goes on in the background and is
            joined before the agent's next step or the next read) or ``"blocking"``.
            None takes the environment variable ``MESA_MEMORY_EXECUTION``.
        budget: calls, tokens and money that must not be crossed.
        max_pending_steps: stop after so many failing steps of a memory in a row.
        on_failure: ``"raise"`` stops at the first failure instead.
        embedder: ``"static"`` (shipped, offline), ``"static:NAME"``,
            ``"fastembed:NAME"``, ``"litellm:PROVIDER/MODEL"``, or an embedder.
        record: path of a SQLite file, ``"postgresql+psycopg://…"``, True (in memory)
            or a ``Recording``; None records nothing.
        replay: a recorded run, a path or address like ``record``, that answers every
            request in place of a model, and of an embedder.
        on_miss: what to do if it has no answer: ``"raise"`` a ``ReplayMismatch``, or
            ``"call"`` the model or the embedder.
        **settings: fields of ``LLMSettings``, such as ``timeout`` and ``concurrency``.

    Raises:
        ValueError, TypeError: for a wrong argument.
        StoreError: if the store cannot be used.
    """
    if on_failure not in ON_FAILURE:
        raise ValueError(f"on_failure must be one of {ON_FAILURE}, got {on_failure!r}")
    pending = whole("max_pending_steps", max_pending_steps)
    name = llm if isinstance(llm, str) and "/" in llm else None
    recording = _recording(record)
    # All arguments are checked before any of them takes effect.
    chosen = {
        "settings": LLMSettings(**settings),
        "execution": execution_of(execution or os.environ.get("MESA_MEMORY_EXECUTION")),
        "max_pending_steps": 1 if on_failure == "raise" else pending,
        "model": name,
        "llm": None if name else _llm(llm),
        "embedder": embedder_of(embedder),
        "pool": EmbeddingPool(),  # what waits there is of another embedder
    }
    services = Services.of(model)
    chosen |= _replay(model, services, replay, on_miss)
    before, services.recorder = services.recorder, None
    if before is not None:
        before.close()
    if recording is not None:
        chosen["recorder"] = start(model, services, recording)
    vars(services).update(chosen)
    services.ledger.budget = budget or Budget()
    services._litellm = None  # made anew, with these settings
    return services


def _replay(model: Any, services: Services, location: Any, on_miss: str) -> dict:
    """What answers from a recorded run."""
    if on_miss not in ON_MISS:
        raise ValueError(f"on_miss must be one of {ON_MISS}, got {on_miss!r}")
    if location is None:
        return {"replay": None, "vectors": Vectors()}
    from mesa_memory.recording import replaying

    live = services.live_client
    answers, vectors = replaying.replay(model, location, on_miss, live)
    return {"replay": answers, "vectors": Vectors(vectors)}


def _recording(record: Any) -> Recording | None:
    if record is None or record is False:
        return None
    return record if isinstance(record, Recording) else Recording(record)


def _llm(llm: Any) -> LLM | AsyncLLM | None:
    if llm is None or hasattr(llm, "complete") or hasattr(llm, "acomplete"):
        return llm
    if llm == PROVIDER:
        return OfflineLLM()
    raise ValueError(
        "llm must be 'offline', a name like 'openai/gpt-4o-mini', an object with "
        f"complete() or acomplete(), or None; got {llm!r}"
    )
