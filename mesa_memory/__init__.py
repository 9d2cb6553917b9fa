"""Memories for agents of Mesa-LLM simulations.

    from mesa_memory import STLTMemory

    agent.memory = STLTMemory(agent)

Interventions, experiments, metrics and tests of memories are in modules of these names.
Public names are loaded on first use, so that importing the package is fast and
touches neither the network nor litellm.
"""

import logging
import os
import sys
from collections.abc import Mapping
from importlib import import_module
from typing import Any

# litellm, once it is loaded, would fetch its price list; the one it ships is used.
os.environ.setdefault("LITELLM_LOCAL_MODEL_COST_MAP", "True")


def _tell_of_the_price_list() -> None:
    """Says what to do if litellm was loaded first and looked for a network in vain."""
    module = sys.modules.get("litellm.litellm_core_utils.get_model_cost_map")
    told = getattr(module, "get_model_cost_map_source_info", None)
    if told is not None and told().get("fallback_reason"):
        logging.getLogger(__name__).warning(
            "litellm was loaded before mesa_memory and looked for its price list on "
            "the network, in vain. To start without that, import mesa_memory before "
            "mesa_llm, or set LITELLM_LOCAL_MODEL_COST_MAP=True."
        )


_tell_of_the_price_list()

__title__ = "mesa-memory"
__version__ = "0.1.0"
__license__ = "Apache-2.0"
__copyright__ = "Copyright 2026 the mesa-memory contributors"

_PLACES = {
    "BadReply": "errors",
    "Budget": "llm.ledger",
    "BudgetExceeded": "errors",
    "ConversationMemory": "memories.conversation",
    "Conversations": "layers.conversations",
    "EpisodicMemory": "memories.episodic",
    "EventStream": "layers.stream.event_stream",
    "FactMemory": "memories.fact",
    "Facts": "layers.facts.layer",
    "ImpressionMemory": "memories.impression",
    "Impressions": "layers.impressions",
    "LLMError": "errors",
    "LLMRejected": "errors",
    "LLMUnavailable": "errors",
    "Layer": "layers.base",
    "LayeredMemory": "memories.layered",
    "LongTermMemory": "memories.long_term",
    "MemoryModule": "memories.host.memory_module",
    "MemoryRecord": "core.records",
    "MemoryStalled": "errors",
    "MesaMemoryError": "errors",
    "NarrativeMemory": "memories.narrative",
    "OfflineLLM": "llm.doubles.offline",
    "Recording": "runs.recording.config",
    "ReplayMismatch": "errors",
    "Run": "runs",
    "RunningSummary": "layers.summary",
    "STLTMemory": "memories.stlt",
    "Scoring": "retrieval.scoring",
    "ScriptedLLM": "llm.doubles.scripted",
    "Services": "runtime.services",
    "ShortTermMemory": "memories.short_term",
    "StoreError": "errors",
    "Window": "layers.window",
    "add_memory_tools": "memories.tools",
    "arrange_prompts": "runtime.reasoning",
    "carry_over": "runs.recording.past_run",
    "checkpoint": "runs.recording.resume",
    "close": "runs.recording.resume",
    "configure": "runs.recording.configure",
    "fork": "runs.recording.resume",
    "open_run": "runs",
    "register_policy": "llm.doubles.policy",
    "resume": "runs.recording.resume",
}

__all__ = sorted(_PLACES)  # noqa: PLE0605 - names come from the table above


def exported(package: str, places: Mapping[str, str], name: str) -> Any:
    """A public name of a package, from the module that defines it, on first use.

    Args:
        package: full name of the package.
        places: module of each public name, without ``mesa_memory.``.

    Raises:
        AttributeError: if the package lacks this name.
    """
    if name not in places:
        raise AttributeError(f"module {package!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{places[name]}"), name)
    setattr(sys.modules[package], name, value)
    return value


def __getattr__(name: str) -> Any:
    if name not in _PLACES and name in import_module(f"{__name__}.experiments").__all__:
        raise AttributeError(
            f"module {__name__!r} has no attribute {name!r}: write from "
            f"{__name__}.experiments import {name}"
        )
    return exported(__name__, _PLACES, name)


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES])
