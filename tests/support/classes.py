"""Every class of memory of the package: what holds for one of them holds for all."""

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
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
)
