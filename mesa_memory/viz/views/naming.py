"""How views call agents where a bare number would say nothing."""

from typing import Any

from mesa_memory.viz.run_view import Source


def named(source: Source, agent: Any) -> str:
    """An agent by its name, ``Ada (4)``; by its number, ``Agent 4``, if it has none."""
    called = source.called(agent)
    return f"Agent {called}" if called == str(agent) else called
