"""Pytest plugin: Mesa-LLM's memory classes are replaced by ours before collection.

It runs in a process of its own (see ``runner``), where ``tests`` is Mesa-LLM's package,
so it imports nothing from this repository's tests.
"""

import sys
from importlib import import_module
from types import ModuleType

from report_outcomes import (
    pytest_runtest_logreport,
    pytest_sessionfinish,
    strangers,
    touching,
)

import mesa_memory
from mesa_memory.runtime import services

__all__ = ["pytest_runtest_logreport", "pytest_sessionfinish"]

#: where Mesa-LLM keeps each class, its agent's default included
PLACES = {
    "mesa_llm.memory.st_memory": "ShortTermMemory",
    "mesa_llm.memory.st_lt_memory": "STLTMemory",
    "mesa_llm.memory.lt_memory": "LongTermMemory",
    "mesa_llm.memory.episodic_memory": "EpisodicMemory",
    "mesa_llm.llm_agent": "STLTMemory",
}

running = ""


def shim(original: ModuleType, name: str) -> ModuleType:
    """The module with ``name`` being ours; ``EventGrade`` and the like stay."""
    module = ModuleType(original.__name__, original.__doc__)
    module.__dict__.update(vars(original))
    setattr(module, name, getattr(mesa_memory, name))
    return module


def exchange() -> None:
    """Puts ours in place of theirs, for ``import`` and for attribute access."""
    originals = {place: import_module(place) for place in PLACES}
    for place, name in PLACES.items():
        original = originals[place]
        if place == "mesa_llm.llm_agent":  # LLMAgent looks the name up in its globals
            setattr(original, name, getattr(mesa_memory, name))
            continue
        parent, _, leaf = place.rpartition(".")
        sys.modules[place] = shim(original, name)
        setattr(sys.modules[parent], leaf, sys.modules[place])


def block() -> None:
    """Makes blocking execution the default.

    Mesa-LLM's tests empty ``os.environ``, so ``MESA_MEMORY_EXECUTION`` would not last.
    """
    original = services.Services.__init__

    def blocking(self, *args, **kwargs):
        original(self, *args, **kwargs)
        self.execution = "blocking"

    services.Services.__init__ = blocking


def watch() -> None:
    """Notes which tests make a memory of ours, directly or through an agent."""
    original = mesa_memory.MemoryModule.__new__

    def new(cls, *args, **kwargs):
        touching.add(running)
        return original(cls, *args, **kwargs)

    mesa_memory.MemoryModule.__new__ = new


def pytest_runtest_logstart(nodeid):
    """Knows which test is running."""
    global running
    running = nodeid


def pytest_collection_finish(session):
    """Notes every test module that has a memory class of Mesa-LLM's own."""
    for item in session.items:
        for name in set(PLACES.values()):
            used = getattr(item.module, name, None)
            if used is not None and used is not getattr(mesa_memory, name):
                strangers.add(f"{item.module.__name__}.{name}")


exchange()
block()
watch()
