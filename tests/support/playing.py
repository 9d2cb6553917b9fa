"""A recorded run that has ended, for tests that read one."""

from typing import Any

from mesa_memory import Services


def play(model: Any, steps: int) -> Any:
    """The model after some steps; its record has ended."""
    for _ in range(steps):
        model.step()
    Services.of(model).recorder.close()
    return model
