"""What happened in a run since its last finished step, and the rows that say so.

Noting a change is one append, made by the simulation's thread: no object is made that
Python's garbage collector would have to look through. The rows are made later, by the
thread that writes them, in an order that is the same in every execution.
"""

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from mesa_memory import render
from mesa_memory.content import plain
from mesa_memory.effects import LLMRequest, Reply
from mesa_memory.recording.vectors import row_of
from mesa_memory.records import MemoryRecord
from mesa_memory.snapshots import encode
from mesa_memory.stores.base import Batch

#: longest text of a record, for readers; the content is kept whole
TEXT_CHARS = 2000


@dataclass(slots=True)
class Changes:
    """Everything noted, each list in the order of noting."""

    opened: list[MemoryRecord] = field(default_factory=list)
    graded: list[tuple[str, float]] = field(default_factory=list)
    closed: list[MemoryRecord] = field(default_factory=list)
    embedded: list[tuple[Sequence[str], Any, str]] = field(default_factory=list)
    recalls: list[tuple[tuple[int, int], dict]] = field(default_factory=list)
    prompts: list[tuple[tuple[int, int], dict]] = field(default_factory=list)
    calls: list["Call"] = field(default_factory=list)
    interventions: list[dict] = field(default_factory=list)
    answers: list[tuple[str, Any]] = field(default_factory=list)
    vectors: list[tuple[str, Any]] = field(default_factory=list)
    agents: list[dict] = field(default_factory=list)

    def __bool__(self) -> bool:
        """True if anything was noted."""
        return any(getattr(self, name) for name in self.__slots__)

    @property
    def lasting(self) -> bool:
        """True if a memory is not what it was."""
        return bool(self.opened or self.graded or self.closed or self.interventions)


@dataclass(frozen=True, slots=True)
class Call:
    """A request and what became of it.

    Attributes:
        occurrence: 1 for the agent's first request of this purpose at this step.
        reply: None if there was an error.
        replayed: True if the answer came from a recorded run.
    """

    request: LLMRequest
    occurrence: int
    reply: Reply | None
    error: BaseException | None
    replayed: bool = False


@dataclass(slots=True)
class Handed:
    """A step on its way to the writer; see ``stores.writer.Waiting``.

    Attributes:
        changes: all that was noted in it.
        snapshot: what the run can go on from, not yet encoded; None if there is none.
        kept: its checkpoint stays when there are newer ones.
        finished: False for what happened between two steps.
    """

    step: float
    changes: Changes
    snapshot: Mapping[str, Any] | None
    kept: bool
    finished: bool

    @property
    def resumable(self) -> bool:
        """True if there is a checkpoint of its end."""
        return self.snapshot is not None

    def batch(self) -> Batch:
        """The rows, in an order that is the same in every execution."""
        step, changes = self.step, self.changes
        opened = sorted(changes.opened, key=lambda record: record.place)
        calls = sorted(
            changes.calls,
            key=lambda c: (str(c.request.agent), c.request.purpose, c.occurrence),
        )
        return Batch(
            step=step,
            opened=[_record_row(record) for record in opened],
            graded=[(record, grade, step) for record, grade in changes.graded],
            closed=[_closing(record) for record in changes.closed],
            embedded=[
                (record, vector.tobytes(), source)
                for records, vectors, source in changes.embedded
                for record, vector in zip(records, np.asarray(vectors, dtype="<f2"))
            ],
            recalls=[row for _, row in sorted(changes.recalls, key=lambda c: c[0])],
            prompts=[row for _, row in sorted(changes.prompts, key=lambda c: c[0])],
            calls=[_call_row(call) for call in calls],
            interventions=changes.interventions,
            answers=[
                {"step": step, "key": key, "value": value}
                for key, value in sorted(changes.answers, key=lambda answer: answer[0])
            ],
            agents=changes.agents,
            vectors=[row_of(key, vector) for key, vector in changes.vectors],
            checkpoint=None if self.snapshot is None else encode(self.snapshot),
            kept=self.kept,
            finished=self.finished,
        )


def agent_row(memory: Any) -> dict[str, Any]:
    """Who has a memory, and which."""
    agent = memory.agent
    return {
        "agent": str(agent.unique_id),
        "unique_id": agent.unique_id,
        "class": type(agent).__name__,
        "memory": type(memory).__name__,
        "layers": [memory.layer],
    }


def _closing(record: MemoryRecord) -> tuple[str, float, str | None, str | None]:
    assert record.valid_to is not None
    return record.id, record.valid_to, record.closed_because, record.superseded_by


def _record_row(record: MemoryRecord) -> dict[str, Any]:
    """What does not change any more; its grade and end are changes of their own."""
    return {
        "id": record.id,
        "agent": str(record.agent),
        "layer": record.layer,
        "kind": record.kind,
        "step": record.step,
        "text": text_of(record),
        "content": record.content,
        "subject": record.subject,
        "sources": record.sources,
        "valid_from": record.valid_from,
    }


def text_of(record: MemoryRecord) -> str | None:
    """What a record says; None leaves it to the store to show the content."""
    content = record.content
    if isinstance(content, dict):
        if record.kind == "message" and "message" in content:
            return render.event_text("message", content, TEXT_CHARS)
        if record.sources and "text" in content:
            return str(content["text"])
    return None


_encode = json.JSONEncoder(ensure_ascii=False, sort_keys=True).encode


def prompt_hash(request: LLMRequest) -> str:
    """SHA-256 of the messages as sent, and of the model asked; 64 hex digits."""
    return _hash(request.model, request.messages())


def _hash(model: str | None, messages: list[dict[str, Any]]) -> str:
    text = _encode([model, messages])
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def _call_row(call: Call) -> dict[str, Any]:
    request, reply = call.request, call.reply
    prompt = request.messages()
    row: dict[str, Any] = {
        "step": request.step,
        "agent": str(request.agent),
        "purpose": request.purpose,
        "occurrence": call.occurrence,
        "model": (reply and reply.model) or request.model,
        "prompt": prompt,
        "prompt_hash": _hash(request.model, prompt),
        "cached": call.replayed,
    }
    if reply is None:
        return row | {"error": f"{type(call.error).__name__}: {call.error}"}
    return row | {
        "reply": reply.text,
        "raw": _raw(reply.raw) if request.purpose == "reasoning" else None,
        "tokens_in": reply.prompt_tokens,
        "tokens_out": reply.completion_tokens,
        "cost": reply.cost,
        "latency": reply.latency,
        "attempts": reply.attempts,
        "finish": reply.finish,
    }


def _raw(raw: Any) -> Any:
    """A provider's response as plain data."""
    dump = getattr(raw, "model_dump", None)
    return plain(dump(mode="json") if dump else raw)
