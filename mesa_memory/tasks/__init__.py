"""Thoughts: each file is one, from the system text to the answer without a model."""

from mesa_memory.core.text.replies import Unusable
from mesa_memory.tasks.base import Task, bulleted, find, numbered, registered
from mesa_memory.tasks.chapter import CHAPTER
from mesa_memory.tasks.consolidate import CONSOLIDATE, STORY
from mesa_memory.tasks.conversation import CONVERSATION
from mesa_memory.tasks.extract import EXTRACT
from mesa_memory.tasks.grade import GRADE
from mesa_memory.tasks.impress import IMPRESS
from mesa_memory.tasks.judge import JUDGE
from mesa_memory.tasks.probe import PROBE
from mesa_memory.tasks.reflect import QUESTIONS, REFLECT

#: purposes of what a researcher asks, and nobody in the simulation
BY_RESEARCHER = frozenset((PROBE.purpose,))

__all__ = (
    "BY_RESEARCHER", "CHAPTER", "CONSOLIDATE", "CONVERSATION", "EXTRACT", "GRADE",
    "IMPRESS", "JUDGE", "PROBE", "QUESTIONS", "REFLECT", "STORY", "Task",
    "Unusable", "bulleted", "find", "numbered", "registered",
)  # fmt: skip
