"""Every class of memory of the package: what holds for one of them holds for all."""

from mesa_memory.memories.registry import OUR_MEMORIES

EVERY = tuple(kind for kind in OUR_MEMORIES.values() if isinstance(kind, type))
#: configurations of ``LayeredMemory``, by the name that users give
PRESETS = tuple(n for n, kind in OUR_MEMORIES.items() if not isinstance(kind, type))
