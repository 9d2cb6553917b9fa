"""Models after some steps, and the end of their recorded runs."""

from typing import Any

from mesa_memory import Services


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
