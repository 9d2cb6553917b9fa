"""Models after some steps, and the end of their recorded runs."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from mesa_memory import Services, open_run
from mesa_memory.runs import Run


def lived(model: Any, steps: int = 2) -> Any:
    """The model after some steps."""
    for _ in range(steps):
        model.step()
    return model


def ended(model: Any) -> Any:
    """The number of a model's run, whose recorder was closed."""
    recorder = Services.of(model).recorder
    recorder.close()
    return recorder.run


def play(model: Any, steps: int) -> Any:
    """The model after some steps; its record has ended."""
    ended(lived(model, steps))
    return model


@contextmanager
def reading(model: Any) -> Iterator[Run]:
    """What was recorded of a model, whose record ends with the block."""
    recorder = Services.of(model).recorder
    recorder.sync()
    with open_run(recorder.store, recorder.run) as run:
        yield run
    recorder.close()


def held(model: Any) -> dict[Any, dict[str, Any]]:
    """Ids and contents of what each agent remembers."""
    Services.of(model).flush()
    return {
        agent.unique_id: {r.id: r.content for r in agent.memory.current_records()}
        for agent in model.agents
    }


def recorded(file: Any, run: int, step: float | None = None) -> dict[Any, Any]:
    """Ids and contents of what the record says of agents 1 and 2 at a step."""
    with open_run(file, run) as told:
        return {
            agent: {r["id"]: r["content"] for r in told.state(agent, step, as_records=True)}
            for agent in (1, 2)
        }  # fmt: skip
