"""Tells where the name is that this file has, see ``mesa_memory.__path__``."""

raise ImportError(
    f"write from mesa_memory.experiments import {__name__.rpartition('.')[2]}"
)
