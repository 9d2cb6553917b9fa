"""Interventions of a researcher, and the records that they changed."""

from collections.abc import Iterable

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


def interventions(run: Run) -> list[Row]:
    """All changes by hand of a run, in order.

    As ``Run.interventions`` gives them, with ``record`` (id of the changed record), ``by``
    (id of the record that replaced it; both empty without one), and ``says``, the kind in
    words.
    """
    return [_with_records(row) for row in run.interventions(as_records=True)]


def _with_records(row: Row) -> Row:
    kind = row["kind"] or "change"
    detail = row["detail"] if isinstance(row["detail"], dict) else {}
    named = {name: detail.get(name) for name in ("record", "by")}
    ids = {name: id if isinstance(id, str) else "" for name, id in named.items()}
    says = KIND_LABELS.get(kind, f"{kind} by hand")
    return row | {"kind": kind, "detail": detail, "says": says} | ids


def of_records(found: Iterable[Row]) -> dict[str, Row]:
    """The newest change by hand of each record that one made, ended or replaced."""
    return {
        record: one for one in found for record in (one["record"], one["by"]) if record
    }
