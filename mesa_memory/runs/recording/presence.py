"""The memories that the agents of a recorded model hold, from step to step.

An agent may be given another memory in the middle of a run. The records of the former memory
end in the run then, so the agent cannot get that memory back.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from weakref import WeakKeyDictionary

from mesa_memory.core.records import REPLACED, MemoryRecord, RecordLog
from mesa_memory.memories.host.layer_names import memories_of

#: an agent's unique id as text, and the layer
type Key = tuple[str, str]


class MemoryPresence:
    """The memories that were held at the end of the last step, and those put aside.

    A memory put aside is not changed: its user may still read it. Only its records in
    the run end.

    Args:
        closed: called with each record that has ended.
    """

    def __init__(self, closed: Callable[[MemoryRecord], None]) -> None:
        self._closed = closed
        # Journals do not keep a model alive, memories would.
        self._held: dict[Key, RecordLog] = {}
        self._aside = WeakKeyDictionary[RecordLog, None]()  # a set in order
        self._ended = set[str]()  # ids of the records of these

    def meet(self, agent: Any) -> None:
        """Notes the memories of an agent that may be about to get another one."""
        for _, memory in memories_of(agent):
            self._held[_key(memory)] = memory.journal

    def begin_at(self, memories: Mapping[str, Any]) -> None:
        """Restarts from these memories."""
        self._aside.clear()
        self._ended.clear()
        self._held = {_key(memory): memory.journal for memory in memories.values()}

    def has_ended(self, record: MemoryRecord) -> bool:
        """True for a record of a memory put aside, which the run has ended already."""
        return record.id in self._ended

    def compare(self, model: Any, memories: Mapping[str, Any], step: float) -> None:
        """Ends the memories put aside since the last step.

        An agent that has left the model keeps what it held.

        Args:
            memories: held now, see ``checkpoints.memories``.
            step: in which the records of other memories end.

        Raises:
            ValueError: if a memory put aside is held again.
        """
        held = {_key(memory): memory.journal for memory in memories.values()}
        before = self._held  # keeps journals of memories that are freed already
        if gone := before.keys() - held.keys():
            here = {str(agent.unique_id) for agent in model.agents}
            for key in sorted(gone):
                if key[0] in here:
                    self._aside[before[key]] = None
        self._held = held
        if self._aside:
            self._end(step, memories)

    def _end(self, step: float, memories: Mapping[str, Any]) -> None:
        for memory in memories.values():
            if memory.journal in self._aside:
                raise ValueError(
                    f"agent {memory.agent.unique_id} holds a memory again that it did "
                    "not hold at the end of an earlier step: the run has ended its "
                    "records. To keep a memory meanwhile, let the agent hold it under "
                    "another name: agent.diary = agent.memory"
                )
        for journal in list(self._aside):
            for record in journal.current():
                if record.id not in self._ended:
                    self._ended.add(record.id)
                    self._closed(
                        replace(record, valid_to=step, closed_because=REPLACED)
                    )


def _key(memory: Any) -> Key:
    return str(memory.agent.unique_id), memory.layer
