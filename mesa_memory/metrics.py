"""Measures of memory for Mesa's ``DataCollector`` and for studies."""

from mesa_memory.experiments.measures.metrics import *  # noqa: F403
from mesa_memory.experiments.measures.metrics import __all__  # noqa: F401
