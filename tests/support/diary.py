"""An observer that keeps every record of a model."""

from typing import Any

from mesa_memory import Services


class Diary:
    """The records of all agents, for as long as the model lives.

    Attributes:
        by_id: the records, in the order in which they were opened.
    """

    def __init__(self, model: Any) -> None:
        self.by_id: dict[str, Any] = {}
        Services.of(model).observers.append(self)

    @property
    def records(self) -> list[Any]:
        """The records, oldest first."""
        return list(self.by_id.values())

    def opened(self, record: Any) -> None:
        """Keeps the record."""
        assert record.id not in self.by_id, "an id was used twice"
        self.by_id[record.id] = record

    def graded(self, record: Any) -> None:
        """The record is kept already."""
        assert record.id in self.by_id

    closed = graded
