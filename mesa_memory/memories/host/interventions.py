"""Interventions in an agent's memory between two steps, and questions to it.

``implant``, ``erase``, ``edit`` and ``exchange`` change a live memory and are recorded as
what they are; ``probe`` asks an agent something and leaves no trace in its memory.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pydantic import BaseModel

from mesa_memory.core import render
from mesa_memory.core.codec import RECORD, drop_record, encode_snapshot, rename
from mesa_memory.core.content import plain
from mesa_memory.core.events import plain_event
from mesa_memory.core.importance import GRADE_MAX, valid
from mesa_memory.core.records import (
    DERIVED,
    EDITED,
    ERASED,
    EXCHANGED,
    IMPORTED,
    MemoryRecord,
)
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.transfer import copy_of, copy_records, restore
from mesa_memory.tasks import PROBE

#: number of events recalled for the question of a probe
PROBE_EVENTS = 20


def implant(
    agent: Any, kind: str, content: dict[str, Any], importance: float | None = None
) -> MemoryRecord:
    """Lets an agent remember an event that never happened.

    It arrives as any other event does, and is graded, summarised and recalled so; its
    ``origin`` is ``"imported"``.

    Args:
        agent: whose memory.
        kind: of the event, such as ``"message"``.
        content: see ``add_to_memory``.
        importance: the grade, on the memory's scale; None leaves it to the memory.

    Raises:
        TypeError: if content is not a dict, or the memory is of another package.
        ValueError: for a grade outside the scale.
    """
    memory = _changing(agent)
    top = getattr(memory, "importance_scale", GRADE_MAX)
    grade = None if importance is None else valid(importance, "importance", top)
    record = memory.arrive(kind, content, IMPORTED)
    if grade is not None:
        memory.journal.grade(record, grade)
    _note(memory, "implant", {"record": record.id})
    return record


def erase(agent: Any, record: MemoryRecord | str) -> None:
    """Lets an agent forget a record, at once.

    Args:
        record: a current record of the agent's memory, or its id.

    Raises:
        ValueError: if the memory lacks this current record.
        TypeError: if the memory is of another package.
    """
    memory = _changing(agent)
    old = _current(memory, record)
    kept = {held.id: held for held in memory.held_records() if held is not old}
    state = encode_snapshot(memory.snapshot())
    for part in (state.get("state", {}), *state.get("parts", {}).values()):
        part |= {name: None for name, v in part.items() if v == {RECORD: old.id}}
    memory.journal.close(old, memory.now, ERASED)
    restore(memory, drop_record(state, old.id), kept)
    _note(memory, "erase", {"record": old.id})


def edit(
    agent: Any, record: MemoryRecord | str, content: dict[str, Any]
) -> MemoryRecord:
    """Puts another content in a record's place; kind, step, grade and evidence stay.

    Args:
        record: a current record of the agent's memory, or its id.
        content: the new content. What a memory made itself must keep its fields: a
            summary has ``text``, an impression ``sentiment`` and ``familiarity``, too.

    Returns:
        The record that is current now.

    Raises:
        ValueError: if the memory lacks this current record, or the content lacks a
            field.
        TypeError: if content is not a dict, or the memory is of another package.
    """
    memory = _changing(agent)
    old = _current(memory, record)
    if not isinstance(content, dict):
        raise TypeError(f"content must be a dict, got {content!r}")
    missing = (
        sorted(old.content.keys() - content.keys()) if old.origin == DERIVED else []
    )
    if missing:
        raise ValueError(f"the content of a {old.kind} must have {missing}, too")
    state = encode_snapshot(memory.snapshot())
    known = {held.id: held for held in memory.held_records()}
    _, kept = plain_event(old.kind, content, memory.view().names.all)
    for layer in memory.layers:
        kept = layer.edited(old, kept)
    new = copy_of(memory, old, kept, old.sources, old.origin, order=old.order)
    memory.journal.close(old, memory.now, EDITED, by=new)
    restore(memory, state, known | {old.id: new})
    _note(memory, "edit", {"record": old.id, "by": new.id})
    return new


def exchange(one: Any, other: Any) -> None:
    """Exchanges the memories of two agents.

    Each agent's records are closed, and copies of the other's are opened in its name;
    their ``sources`` are the originals. Copies of events are ``"imported"``, as they did
    not happen to the agent; what a memory made of them stays ``"derived"``. Each agent
    keeps its ``biography``.

    Raises:
        ValueError: if their memories are of different classes, or the same.
        TypeError: if a memory is of another package.
    """
    left, right = _changing(one), _changing(other)
    kinds = [
        f"{type(memory).__name__} ({', '.join(layer.name for layer in memory.layers)})"
        for memory in (left, right)
    ]
    if kinds[0] != kinds[1] or left is right:
        raise ValueError(
            "two memories of one class with the same layers can be exchanged, got "
            f"{kinds[0]} of agent {one.unique_id} and {kinds[1]} of agent "
            f"{other.unique_id}"
        )
    for memory in (left, right):
        memory.settle()
    states = {m: encode_snapshot(m.snapshot()) for m in (left, right)}
    pinned = {m: {r.id: r for r in m.journal.pinned} for m in (left, right)}
    held = {
        m: [r for r in m.held_records() if r.id not in pinned[m]] for m in (left, right)
    }
    copies = {}
    for memory, source in ((left, right), (right, left)):
        memory.journal.before = dict(memory.journal.numbers)
        copies[memory] = copy_records(memory, held[source])
    for memory, source in ((left, right), (right, left)):
        for record in held[memory]:
            memory.journal.close(record, memory.now, EXCHANGED)
        state = rename(states[source], {old: c.id for old, c in copies[memory].items()})
        own = {"pinned": states[memory].get("pinned", [])}
        restore(memory, state | own, copies[memory] | pinned[memory])
    _note(left, "exchange", {"with": plain(other.unique_id)})
    _note(right, "exchange", {"with": plain(one.unique_id)})


def probe(
    agent: Any,
    question: str,
    schema: type[BaseModel] | None = None,
    memory: str | None = None,
) -> Any:
    """Asks an agent something, from its memory, without any trace in it.

    Memory, access times and random generators stay as they are; the call is in the
    ledger and the record, under the purpose ``"probe"``.

    Args:
        agent: who is asked.
        question: in plain text; line breaks and further spaces become single spaces.
        schema: pydantic class of the answer; the ``description`` of each of its fields
            says what is wanted. None asks for plain text.
        memory: is read in the place of the agent's memory; None reads its memory.

    Returns:
        The answer as text, or an instance of the schema.

    Raises:
        LLMError: without an answer that fits the schema.
        TypeError: if the memory is of another package, or the schema is not a pydantic class.
        ValueError: if the question is empty.
    """
    held = memory_of(agent)
    if not isinstance(question, str) or not question.strip():
        raise ValueError(f"question must be a text, got {question!r}")
    known = isinstance(schema, type) and issubclass(schema, BaseModel)
    if schema is not None and not known:
        raise TypeError(f"schema must be a pydantic class or None, got {schema!r}")
    asked = render.one_line(" ".join(question.split()))
    found: list[str] = []
    if memory is None:
        with held.peek():
            memory, found = held.get_prompt_ready(), _recalled(held, asked)
    inputs: dict[str, Any] = {"question": asked, "memory": memory, "recalled": found}
    if schema is not None:
        inputs["schema"] = schema
    flow = held.view().ask(PROBE, **inputs)
    return held.run(flow)


@contextmanager
def changed_by_hand(memory: MemoryModule, kind: str) -> Iterator[dict[str, Any]]:
    """Within it a memory is changed by hand, which is recorded as such.

    Args:
        kind: of the intervention.

    Yields:
        What the record says of it besides; to be filled.
    """
    _changing(memory.agent, memory)
    detail: dict[str, Any] = {}
    with memory.exclusive():
        yield detail
    _note(memory, kind, detail)


def memory_of(agent: Any) -> MemoryModule:
    """An agent's memory.

    Raises:
        TypeError: if it is of another package.
    """
    memory = getattr(agent, "memory", None)
    if not isinstance(memory, MemoryModule):
        raise TypeError(
            f"agent {getattr(agent, 'unique_id', agent)} must have a memory of "
            f"mesa_memory, got {type(memory).__name__}"
        )
    return memory


def _changing(agent: Any, held: MemoryModule | None = None) -> MemoryModule:
    """An agent's memory, or one that it holds besides, about to be changed by hand."""
    memory = held or memory_of(agent)
    if memory.services.recorder:
        # So that the run can still go on from the end of the step before.
        memory.services.recorder.checkpoint()
    memory.settle()
    memory.close_dropped()
    return memory


def _current(memory: MemoryModule, record: MemoryRecord | str) -> MemoryRecord:
    wanted = record.id if isinstance(record, MemoryRecord) else record
    for held in memory.current_records():
        if held.id == wanted:
            return held
    raise ValueError(
        f"{wanted!r} is not a current record of agent {memory.agent.unique_id}; "
        "memory.current_records() lists them"
    )


def _recalled(memory: MemoryModule, question: str) -> list[str]:
    """The events recalled for the question, in memories that can recall.

    Of a placebo, what it shows instead.
    """
    search = getattr(memory, "search", None)
    if search is None:
        return []
    found = [each.record for each in search(question, PROBE_EVENTS).records]
    view, instead = memory.view(), memory.shown_instead
    lines = [render.at_step(r.step, view.own_line(r), view.wording) for r in found]
    text = "\n".join(lines)
    return instead(memory, "search", text).split("\n") if instead and text else lines


def _note(memory: MemoryModule, kind: str, detail: dict[str, Any]) -> None:
    """Tells the recorder."""
    recorder = memory.services.recorder
    if recorder:
        agent, step = memory.agent.unique_id, memory.now
        recorder.intervened(agent, step, kind, detail)
