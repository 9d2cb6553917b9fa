"""Memories by name: ours, those of installed packages, and ``module:class``.

A package offers a memory by an entry point of the group ``mesa_memory.memories``:

    [project.entry-points."mesa_memory.memories"]
    mood = "mypackage:MoodMemory"
"""

import inspect
import pkgutil
import re
from collections.abc import Callable, Mapping
from importlib.metadata import EntryPoint, entry_points
from typing import Any

from mesa_memory.errors import UnknownMemory
from mesa_memory.hosts.mesa_llm.agents import Memory
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

#: group of the entry points
ENTRY_POINT_GROUP = "mesa_memory.memories"

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
    """All names there are: ours, a program's ``own``, the installed ones by alphabet."""
    known = {**OUR_MEMORIES, **(own or {})}
    offered = {entry.name for entry in entry_points(group=ENTRY_POINT_GROUP)}
    return (*known, *sorted(offered - set(known)))


def find(name: str | Maker, own: Mapping[str, Maker] | None = None) -> Maker:
    """The class of memory, or its preset, that a name means; called with an agent.

    A class, or another function of the agent, is given back.

    Args:
        name: one of ``names``, ``"module:class"``, or ``"placebo:kind:name"``, see
            ``experiments.placebo``. An installed package cannot take
            a name that is ours or the program's.
        own: further memories of the program that asks, by name.

    Raises:
        UnknownMemory: if the name is unknown, or does not lead to a memory.
        ValueError: for an unknown kind of placebo, or a placebo of one.
    """
    if callable(name):
        return name
    known = {**OUR_MEMORIES, **(own or {})}
    if name in known:
        return known[name]
    if isinstance(name, str) and name.startswith(PREFIX):
        kind, _, of = name.removeprefix(PREFIX).partition(":")
        return placebo_of(find(of, own), kind)
    if isinstance(name, str) and re.fullmatch(r"[\w.]+:[\w.]+", name):
        return _checked(name, _loaded(name, EntryPoint(name, name, ENTRY_POINT_GROUP)))
    offers = sorted(
        {(e.value, e) for e in entry_points(group=ENTRY_POINT_GROUP, name=str(name))}
    )
    if len(offers) > 1:
        classes = " and ".join(value for value, _ in offers)
        raise UnknownMemory(
            f"several installed packages call a memory {name!r}: {classes}. Give one "
            "of these instead of the name.",
            names=names(own),
        )
    if not offers:
        listed = names(own)
        raise UnknownMemory(
            f"no memory has the name {name!r}: choose from {', '.join(listed)}; or give a "
            "class as module:class, such as mypackage:MoodMemory.",
            names=listed,
        )
    return _checked(f"{name} = {offers[0][0]}", _loaded(name, offers[0][1]))


def _loaded(name: str, entry: EntryPoint) -> Any:
    """The object that an entry point names."""
    try:
        return pkgutil.resolve_name(f"{entry.module}:{entry.attr}")
    except (ImportError, AttributeError) as error:
        raise UnknownMemory(
            f"the memory {name!r} cannot be loaded from {entry.value}: {error}. Check "
            "both names, and that the package is installed or its folder on sys.path."
        ) from error


def _checked(name: str, found: Any) -> type[Memory]:
    """A class that an agent alone makes a memory of."""
    if not (isinstance(found, type) and issubclass(found, Memory)):
        raise UnknownMemory(
            f"{name} is {found!r}, not a class of memory. Give a class that inherits "
            "from mesa_memory.MemoryModule or from Mesa-LLM's Memory."
        )
    made: Any = found
    if inspect.isabstract(found):
        lacking = ", ".join(sorted(made.__abstractmethods__))
        raise UnknownMemory(f"{name} is an abstract class: it lacks {lacking}.")
    try:
        inspect.signature(made.__init__).bind(None, None)
    except TypeError as error:
        raise UnknownMemory(
            f"{name} cannot be made with the agent alone, as it is here: {error}. Give "
            "its other arguments default values, or name a subclass that sets them."
        ) from error
    return found
