"""A researcher's changes of memories while a model runs."""

from mesa_memory.memories.host.biographies import biography
from mesa_memory.memories.host.interventions import (
    edit,
    erase,
    exchange,
    implant,
    probe,
)
from mesa_memory.memories.replacement import replace_memory

__all__ = [
    "biography",
    "edit",
    "erase",
    "exchange",
    "implant",
    "probe",
    "replace_memory",
]
