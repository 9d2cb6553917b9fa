"""A researcher's changes of memories while a model runs."""

from mesa_memory.memories.host.interventions import edit, erase, implant, probe, swap

__all__ = ["edit", "erase", "implant", "probe", "swap"]
