"""Pytest plugin: each model of Mesa-LLM's tests is configured as soon as it is made."""

import os

import mesa
from report_outcomes import pytest_runtest_logreport, pytest_sessionfinish, touching

from mesa_memory import configure
from mesa_memory.runtime.reasoning import AgentLLM

__all__ = ["pytest_runtest_logreport", "pytest_sessionfinish"]

_made = mesa.Model.__init__


def _configured(self, *args, **kwargs):
    _made(self, *args, **kwargs)
    configure(self)


mesa.Model.__init__ = _configured
_generate = AgentLLM.generate


def _counting(self, *args, **kwargs):
    touching.add(os.environ["PYTEST_CURRENT_TEST"].rpartition(" ")[0])
    return _generate(self, *args, **kwargs)


AgentLLM.generate = _counting
