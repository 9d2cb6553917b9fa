"""Interventions of a researcher: step, agent and record."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from mesa_memory.runs import Run
from mesa_memory.runs.past import Row

#: kinds of interventions in words
KIND_LABELS = {
    "implant": "implanted by hand",
    "edit": "edited by hand",
    "erase": "erased by hand",
    "exchange": "exchanged by hand",
    "replace_memory": "replaced by hand",
}


@dataclass(frozen=True)
class Intervention:
    """One change by hand.

    Attributes:
        step: the model's clock at which it was done.
        agent: unique id of whose memory it was.
        kind: such as ``"implant"``.
        record: id of the changed record; empty without one.
        by: id of the record that replaced it; empty without one.
        detail: further recorded data.
    """

    step: float
    agent: Any
    kind: str
    record: str
    by: str
    detail: Row

    @property
    def says(self) -> str:
        """The intervention in words."""
        return KIND_LABELS.get(self.kind, f"{self.kind} by hand")


def interventions(run: Run) -> list[Intervention]:
    """All changes by hand of a run, in order."""
    return [_intervention(row) for row in run.interventions(as_records=True)]


def of_records(found: Iterable[Intervention]) -> dict[str, Intervention]:
    """The newest change by hand of each record that one made, ended or replaced."""
    named = {}
    for one in found:
        for record in (one.record, one.by):
            if record:
                named[record] = one
    return named


def _intervention(row: Row) -> Intervention:
    detail = row["detail"] if isinstance(row["detail"], dict) else {}
    named = [detail.get(name) for name in ("record", "by")]
    record, by = (name if isinstance(name, str) else "" for name in named)
    return Intervention(
        row["step"], row["agent"], row["kind"] or "change", record, by, detail
    )
