"""Memories for agents of Mesa-LLM simulations.

    from mesa_memory import STLTMemory

    agent.memory = STLTMemory(agent)

Public names are loaded on first use, so that importing the package is fast and
touches neither the network nor litellm.
"""

import logging
import os
import sys
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
    "Budget": "llm.cost.usage",
    "BudgetExceeded": "errors",
    "BudgetReport": "memories.prompt.sections",
    "Consolidation": "layers.consolidation",
    "ConversationMemory": "memories.conversation",
    "EpisodicMemory": "memories.episodic",
    "Conversations": "layers.conversations.layer",
    "EventStream": "layers.stream.event_stream",
    "EveryBatch": "layers.consolidation",
    "FactMemory": "memories.fact",
    "Facts": "layers.facts.layer",
    "From": "experiments.changes",
    "FrontHalf": "layers.consolidation",
    "Grader": "layers.stream.grading",
    "ImpressionMemory": "memories.impression",
    "Impressions": "layers.impressions",
    "LLMError": "errors",
    "LLMRejected": "errors",
    "LLMRequest": "core.requests",
    "LLMSettings": "llm.base",
    "LLMUnavailable": "errors",
    "Layer": "layers.base",
    "LayeredMemory": "memories.layered",
    "Ledger": "llm.cost.ledger",
    "Line": "layers.lines",
    "LongTermMemory": "memories.long_term",
    "MemoryModule": "memories.host.memory_module",
    "MemoryRecord": "core.records",
    "MemoryStalled": "errors",
    "MesaMemoryError": "errors",
    "Message": "layers.entry",
    "NarrativeMemory": "memories.narrative",
    "OfflineLLM": "llm.doubles.offline",
    "OverTokens": "layers.consolidation",
    "ScoredRecord": "retrieval.index",
    "Recording": "runs.recording.config",
    "Recollection": "layers.stream.recalling",
    "Reflection": "layers.stream.reflection",
    "Reflector": "layers.stream.reflecting",
    "Question": "experiments.measures.questions",
    "Questionnaire": "experiments.measures.questionnaires",
    "ReplayMismatch": "errors",
    "Run": "runs",
    "Reply": "core.requests",
    "RunningSummary": "layers.summary",
    "STLTMemory": "memories.stlt",
    "Scoring": "retrieval.scoring",
    "StoreError": "errors",
    "Study": "experiments.studies.study",
    "Term": "retrieval.terms",
    "ScriptedLLM": "llm.doubles.scripted",
    "Services": "runtime.services",
    "ShortTermMemory": "memories.short_term",
    "Task": "tasks",
    "ToolCall": "llm.doubles.policy",
    "PolicyInput": "llm.doubles.policy",
    "Usage": "llm.cost.usage",
    "Window": "layers.window",
    "add_memory_tools": "memories.tools",
    "carry_over": "runs.recording.past_run",
    "checkpoint": "runs.recording.resume",
    "configure": "runs.recording.configure",
    "draw": "experiments.draws",
    "edit": "memories.host.interventions",
    "erase": "memories.host.interventions",
    "estimate": "experiments.estimates.forecast",
    "fork": "runs.recording.resume",
    "implant": "memories.host.interventions",
    "open_run": "runs",
    "probe": "memories.host.interventions",
    "register_policy": "llm.doubles.policy",
    "resume": "runs.recording.resume",
    "route_reasoning": "runtime.reasoning",
    "swap": "memories.host.interventions",
}

#: modules of public functions
_MODULES = {"metrics": "experiments.measures.metrics"}

__all__ = sorted([*_PLACES, *_MODULES])  # noqa: PLE0605 - names come from the table above


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f"{__name__}.{_MODULES[name]}")
    if name not in _PLACES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_PLACES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_PLACES, *_MODULES])
