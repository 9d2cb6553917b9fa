"""Mesa: the rows of a model's own DataCollector."""

from collections.abc import Iterable, Iterator
from typing import Any

#: step, unique id of an agent (None is the model), values by reporter
type Collected = tuple[float, Any, dict[str, Any]]


class CollectorReader:
    """Reads the new rows of a model's ``datacollector``.

    Args:
        model: with or without a ``datacollector``; rows that exist already are skipped.
    """

    def __init__(self, model: Any) -> None:
        self._rows = self._agents = self._types = 0
        self._look(model)

    def forget(self) -> None:
        """Counts all rows as new again."""
        self._rows = self._agents = self._types = 0

    def new(self, model: Any) -> Iterator[Collected]:
        """The new rows, those of the model first; each is given once."""
        collector = getattr(model, "datacollector", None)
        before = (self._rows, self._agents, self._types)
        self._look(model)
        if collector is None:
            return
        yield from _of_model(collector, self._rows - before[0], model)
        yield from _of_agents(collector, before[1])
        yield from _of_types(collector, before[2])

    def _look(self, model: Any) -> None:
        collector = getattr(model, "datacollector", None)
        if collector is not None:
            series = getattr(collector, "model_vars", {}).values()
            self._rows = max(map(len, series), default=0)
            self._agents = len(getattr(collector, "_agent_records", ()))
            self._types = len(getattr(collector, "_agenttype_records", ()))


def _of_model(collector: Any, count: int, model: Any) -> Iterator[Collected]:
    """The last ``count`` rows of the model's reporters."""
    steps = list(getattr(collector, "_collection_steps", ()))
    now = getattr(model, "steps", None)
    if len(steps) < count:  # a DataCollector that does not say when
        now = model.time if now is None else now
        steps = [now - n for n in range(count)][::-1]
    for back in range(count, 0, -1):
        values = {
            name: series[-back]
            for name, series in collector.model_vars.items()
            if len(series) >= back
        }
        yield steps[-back], None, values


def _of_agents(collector: Any, seen: int) -> Iterator[Collected]:
    records = getattr(collector, "_agent_records", {})
    for step in list(records)[seen:]:
        yield from _rows(step, collector.agent_reporters, records[step])


def _of_types(collector: Any, seen: int) -> Iterator[Collected]:
    records = getattr(collector, "_agenttype_records", {})
    for step in list(records)[seen:]:
        for kind, rows in records[step].items():
            yield from _rows(step, collector.agenttype_reporters[kind], rows)


def _rows(
    step: float, names: Iterable[str], rows: Iterable[Any]
) -> Iterator[Collected]:
    for row in rows:
        yield step, row[1], dict(zip(names, row[2:]))
