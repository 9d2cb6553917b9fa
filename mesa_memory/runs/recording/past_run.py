"""From one run to the next: an agent continues with its memory of a recorded run."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import sqlalchemy as sa

from mesa_memory.core.codec import decode_snapshot
from mesa_memory.core.content import is_id
from mesa_memory.core.records import MemoryRecord, records_in
from mesa_memory.core.snapshot import FilteredRecords, records_after
from mesa_memory.hosts.mesa_llm import Names
from mesa_memory.layers.base import Layer
from mesa_memory.memories.host.interventions import changed_by_hand, memory_of
from mesa_memory.memories.host.memory_module import MemoryModule
from mesa_memory.memories.host.transfer import SourceMemory, copy_layers
from mesa_memory.runs.recording.stored import RecordedVectors, StoredRecords
from mesa_memory.runtime.services import Services
from mesa_memory.stores.open import open_store, split_run
from mesa_memory.stores.schema import agents, wrong
from mesa_memory.stores.sql import Store

#: name of the intervention
CARRY_OVER = "carry_over"


def carry_over(
    past: str | Path, into: Any, layers: Sequence[str] | None = None
) -> list[MemoryRecord]:
    """Lets an agent begin a run with its memory at the end of another one.

    Layers of its memory go on as those of the same name ended in the recorded run; what
    they held is copied, under new ids, and the recorded run is only read. Steps become
    steps before this run: the last one there is this moment, what happened three steps
    before is of step -3. Copies of events are ``"imported"``; what a memory made stays
    ``"derived"``. The first of a copy's ``sources`` says which record of which run it
    is a copy of, and the intervention ``"carry_over"`` of this run lists all.

    Call it after ``configure`` and before the agent's first step. A run that goes on
    (``resume``, ``fork``) has its own copies and does not read the other run again.

    Agents are known by their unique ids: those of the other run must mean the same
    people here.

    Args:
        past: path or address of a store, and after ``#`` the number of a run, as in
            ``"run.sqlite#3"``; without, the newest but the one that is being recorded.
        into: the agent; its memory must have layers of the same classes.
        layers: names of the layers, such as ``("facts", "summary")``; None is all that
            both memories have.

    Returns:
        The copies, oldest first; none in a run that goes on.

    Raises:
        ValueError: if the run or the agent does not exist, a unique id means another
            person there, or a layer is missing or is not empty.
        MemoryMismatch: if the layers do not fit.
        StoreError: if the run cannot be read.
        TypeError: if the agent's memory is of another package.
    """
    memory = memory_of(into)
    if isinstance(layers, str):
        raise TypeError(
            f"layers must be a tuple of names, got {layers!r}: ({layers!r},)"
        )
    services = Services.of(into.model)
    if services.recorder is not None and getattr(services.recorder, "muted", False):
        return []  # the run that goes on has its own copies
    place, number = split_run(str(past))
    with closing(open_store(place, read_only=True)) as store:
        life = _Life(store, _run(store, number, services.recorder))
        life.check_people(into)
        known = services.vectors.known
        services.vectors.known = known or RecordedVectors(store, life.run)
        source, said = life.memory_of(into.unique_id)
        try:
            chosen = _chosen(memory, source, layers)
            with changed_by_hand(memory, CARRY_OVER) as detail:
                copies = copy_layers(source, memory, chosen)
                records = {copy.id: old for old, copy in copies.items()}
                detail.update(said, layers=[n.name for n in chosen], records=records)
        finally:
            services.vectors.known = known
        people = life.names.items()
        here = {agent.unique_id for agent in into.model.agents}
        gone = [[who, called] for who, called in people if called and who not in here]
        Names.of(into.model).remember(gone)
    return list(copies.values())


def _chosen(
    memory: MemoryModule, source: SourceMemory, names: Sequence[str] | None
) -> list[Layer]:
    """The layers that are meant, in the order of the memory; all are empty.

    Args:
        names: of the layers; None is all that both have.

    Raises:
        ValueError: if a layer is missing, or holds something already; nothing has
            changed then.
    """
    here = {layer.name: layer for layer in memory.layers}
    both = [name for name in here if name in source.parts]
    wanted = both if names is None else list(dict.fromkeys(names))
    lacking = [name for name in wanted if name not in both]
    if lacking or not wanted:
        what = ", ".join(map(repr, lacking)) or "nothing"
        raise ValueError(
            f"{what} can be carried over: {source.name} has the layers "
            f"{', '.join(source.parts) or 'none'}, the memory of agent "
            f"{memory.agent.unique_id} has {', '.join(here) or 'none'}; name layers "
            "that both have"
        )
    chosen = [layer for name, layer in here.items() if name in wanted]
    memory.settle()
    full = [layer.name for layer in chosen if any(True for _ in layer.all_records())]
    if full:
        raise ValueError(
            f"{', '.join(full)} of agent {memory.agent.unique_id} holds something "
            "already: carry over before the agent's first step, into a new memory"
        )
    return chosen


class _Life:
    """The agents of a recorded run, and their memories at the end of a step.

    Attributes:
        names: what people call the agents, by unique id; empty for one without a name.
    """

    def __init__(self, store: Store, run: int) -> None:
        self._store, self.run = store, run
        at, self._states = store.checkpoint(run)
        self._step = int(at) if at == int(at) else at  # as the model counts it
        query = sa.select(agents.c.agent, agents.c.unique_id, agents.c.name)
        with store.reading() as on:
            rows = on.execute(query.filter_by(run=run)).all()
        ids = [(text if own is None else own, name) for text, own, name in rows]
        self.names = {own: name or "" for own, name in ids if is_id(own)}

    def check_people(self, into: Any) -> None:
        """Raises ValueError if a unique id is nobody's there, or another person's here."""
        if str(into.unique_id) not in self._states:
            there = ", ".join(sorted(filter(None, self._states))) or "none"
            raise ValueError(
                f"run {self.run} of {self._store.location} has no agent "
                f"{into.unique_id!r} with a memory; the unique ids of those it has are "
                f"{there}. Agents know each other by unique id, so it must have the same "
                "in both (set agent.unique_id before it gets its memory)"
            )
        here = Names.of(into.model)
        for who, there in self.names.items():
            now = here.name(who)
            if there and now and there != now:
                raise ValueError(
                    f"agent {who} is {there!r} in run {self.run} and {now!r} here, "
                    "so their memories would be confused: give people "
                    "the same unique ids in both runs"
                )

    def memory_of(self, agent: Any) -> tuple[SourceMemory, dict[str, Any]]:
        """An agent's memory at the end of the step, and what this run's record says of it."""
        state = self._states[str(agent)]
        state = state if isinstance(state, Mapping) else {}
        parts, layer = state.get("parts"), state.get("layer")
        if not isinstance(parts, Mapping) or not isinstance(layer, str):
            whose = f"the checkpoint of agent {agent} in run {self.run}"
            raise wrong(whose, "its layers", state, self._store.location)
        stored = StoredRecords(self._store, self.run, agent, layer, self._step)
        lookup = records_after(stored, state.get("before", {}))
        # No layer has received these events yet.
        waiting = [state.get("staging"), state.get("waiting")]
        ahead = decode_snapshot(waiting, lookup)
        known = {record.id for record in records_in(ahead)}
        records = FilteredRecords(lookup, lambda record: record.id not in known)
        file = self._store.location.rpartition("/")[2]
        told = {"store": file, "run": self.run, "agent": str(agent), "step": self._step}
        return SourceMemory(f"{file}#{self.run}", parts, records, self._step), told


def _run(store: Store, number: Any, recorder: Any) -> int:
    """The chosen run, or the newest; never the one that is being recorded."""
    own = getattr(recorder, "run", None)
    if own is not None and recorder.store.location != store.location:
        own = None
    return store.run_id(number, but=own)
