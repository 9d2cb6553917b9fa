"""Memories by name: ours, and those of others as ``module:class``."""

import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from typing import Any

from mesa_memory.errors import UnknownMemory
from mesa_memory.hosts.mesa_llm import Memory
from mesa_memory.memories.conversation import ConversationMemory
from mesa_memory.memories.episodic import EpisodicMemory
from mesa_memory.memories.fact import FactMemory
from mesa_memory.memories.impression import ImpressionMemory
from mesa_memory.memories.layered import LayeredMemory
from mesa_memory.memories.long_term import LongTermMemory
from mesa_memory.memories.narrative import NarrativeMemory
from mesa_memory.memories.placebo import PREFIX, placebo_of
from mesa_memory.memories.short_term import ShortTermMemory
from mesa_memory.memories.stlt import STLTMemory

#: makes a memory of an agent: a class, or a preset of one
type Maker = Callable[[Any], Memory]

OUR_MEMORIES: dict[str, Maker] = {
    "short_term": ShortTermMemory,
    "stlt": STLTMemory,
    "long_term": LongTermMemory,
    "episodic": EpisodicMemory,
    "impression": ImpressionMemory,
    "fact": FactMemory,
    "conversation": ConversationMemory,
    "narrative": NarrativeMemory,
    "layered": LayeredMemory,
    "unimatrix": LayeredMemory.unimatrix,
    "story_engine": LayeredMemory.story_engine,
    "session": LayeredMemory.session,
    "generative_agent": LayeredMemory.generative_agent,
}


def names(own: Mapping[str, Maker] | None = None) -> tuple[str, ...]:
    """All names there are: ours, and a program's ``own``."""
    return (*{**OUR_MEMORIES, **(own or {})},)


def own_memories(model: Any) -> Mapping[str, Maker] | None:
    """The memories that a model's class names in ``own_memories``.

    None without them, and for an attribute of this name that means something else.
    """
    own = getattr(model, "own_memories", None)
    ours = isinstance(own, Mapping) and all(map(callable, own.values()))
    return own if ours else None


def find(name: str | Maker, own: Mapping[str, Maker] | None = None) -> Maker:
    """The class of memory, or its preset, that a name means; called with an agent.

    A class, or another function of the agent, is given back.

    Args:
        name: one of ``names``, ``"module:class"``, or ``"placebo:kind:name"``, see
            ``experiments.placebo``.
        own: further memories of the program that asks, by name.

    Raises:
        UnknownMemory: if the name is unknown, or does not lead to a memory.
        ValueError: for an unknown kind of placebo, or a placebo of one.
    """
    if callable(name):
        return name
    known = {**OUR_MEMORIES, **(own or {})}
    if isinstance(name, str) and name in known:
        return known[name]
    if isinstance(name, str) and name.startswith(PREFIX):
        kind, _, of = name.removeprefix(PREFIX).partition(":")
        return placebo_of(find(of, own), kind)
    if isinstance(name, str) and re.fullmatch(r"[\w.]+:[\w.]+", name):
        return _checked(name, _loaded(name))
    raise UnknownMemory(
        f"no memory has the name {name!r}: choose from {', '.join(known)}; or give a "
        "class as module:class, such as mypackage:MoodMemory.",
        names=tuple(known),
    )


def _loaded(name: str) -> Any:
    """The object that ``module:class`` names."""
    try:
        return pkgutil.resolve_name(name)
    except (ImportError, AttributeError) as error:
        raise UnknownMemory(
            f"the memory {name!r} cannot be loaded: {error}. Check both names, and that "
            "the package is installed or its folder on sys.path."
        ) from error


def _checked(name: str, found: Any) -> type[Memory]:
    """A class that an agent alone makes a memory of."""
    if not (isinstance(found, type) and issubclass(found, Memory)):
        raise UnknownMemory(
            f"{name} is {found!r}, not a class of memory. Give a class that inherits "
            "from mesa_memory.MemoryModule or from Mesa-LLM's Memory."
        )
    made: Any = found
    try:
        inspect.signature(made.__init__).bind(None, None)
        if lacking := ", ".join(sorted(getattr(made, "__abstractmethods__", ()))):
            raise TypeError(f"it is an abstract class and lacks {lacking}")
    except TypeError as error:
        raise UnknownMemory(
            f"{name} cannot be made with the agent alone, as it is here: {error}. Give "
            "its other arguments default values, or name a subclass that sets them."
        ) from error
    return found
