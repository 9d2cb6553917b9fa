"""Every class of memory of the package: what holds for one of them holds for all."""

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    ShortTermMemory,
    STLTMemory,
)

EVERY = (
    ShortTermMemory,
    STLTMemory,
    LongTermMemory,
    EpisodicMemory,
    ImpressionMemory,
    FactMemory,
    ConversationMemory,
    NarrativeMemory,
    LayeredMemory,
)
#: configurations of ``LayeredMemory``, by the name that users give
PRESETS = ("unimatrix", "story_engine", "session", "generative_agent")
