"""A step on its way to the writer."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from mesa_memory.core.snapshot import encode
from mesa_memory.runs.recording.changes import Call, Changes
from mesa_memory.runs.recording.rows import call_row, closing, recall_row, record_row
from mesa_memory.runs.recording.uses import replies_to
from mesa_memory.runs.recording.vectors import row_of
from mesa_memory.stores.base import Batch
from mesa_memory.tasks import BY_RESEARCHER


@dataclass(slots=True)
class StepBatch:
    """A step on its way to the writer; see ``stores.writer.Waiting``.

    Attributes:
        changes: of the step.
        snapshot: a checkpoint, not yet encoded; None without one.
        kept: its checkpoint stays beside newer ones.
        finished: False for changes between two steps.
        extends: changes between two steps belong to the end of the first.
    """

    step: float
    changes: Changes
    snapshot: Mapping[str, Any] | None
    kept: bool
    finished: bool
    extends: bool = False

    @property
    def resumable(self) -> bool:
        """True if there is a checkpoint of its end."""
        return self.snapshot is not None

    def batch(self) -> Batch:
        """The rows, in an order that is the same in every execution."""
        step, changes = self.step, self.changes
        grades = dict(changes.graded)
        opened = [
            record_row(record, grades.pop(record.id, None), step)
            for record in sorted(changes.opened, key=lambda record: record.order)
        ]
        calls = sorted(
            changes.calls,
            key=lambda c: (str(c.request.agent), c.request.purpose, c.occurrence),
        )
        return Batch(
            step=step,
            opened=opened,
            graded=[(record, grade, step) for record, grade in grades.items()],
            closed=[closing(record) for record in changes.closed],
            embedded=[
                (record, vector.tobytes(), source)
                for records, vectors, source in changes.embedded
                for record, vector in zip(records, np.asarray(vectors, dtype="<f2"))
            ],
            staled=changes.staled,
            recalls=_recall_rows(changes),
            prompts=[row for _, row in sorted(changes.prompts, key=lambda c: c[0])],
            calls=[call_row(call) for call in calls if not _is_probe(call)],
            probes=[call_row(call) for call in calls if _is_probe(call)],
            interventions=changes.interventions,
            answers=[
                {"step": step, "key": key, "value": value}
                for key, value in sorted(changes.answers, key=lambda answer: answer[0])
            ],
            scenes=changes.scenes,
            agents=changes.agents,
            measures=changes.measures,
            responses=changes.responses,
            vectors=[row_of(key, vector) for key, vector in changes.vectors],
            checkpoint=None if self.snapshot is None else encode(self.snapshot),
            kept=self.kept,
            finished=self.finished,
            extends=self.extends,
        )


def _is_probe(call: Call) -> bool:
    """True if a researcher asked, not an agent of the simulation."""
    return call.request.purpose in BY_RESEARCHER


def _recall_rows(changes: Changes) -> list[dict[str, Any]]:
    """The recalls in order, each with the candidates that the agent's reply used."""
    recalls = sorted(changes.recalls, key=lambda recall: recall.place)
    said = replies_to(recalls, changes.calls)
    return [recall_row(recall, said.get(n)) for n, recall in enumerate(recalls)]
