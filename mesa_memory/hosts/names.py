"""Who is who in one model: the name of an agent, and whether it has a mind."""

import weakref
from collections.abc import Iterable
from typing import Any, ClassVar

from mesa_memory.core.events import by_id
from mesa_memory.core.text import one_line, shorten
from mesa_memory.hosts.mesa import agents_made

#: longest name in a text, in characters
NAME_CHARS = 60


class Names:
    """The agents of one model by unique id; those that have left keep their names.

    Called with a unique id, it gives what a text calls that agent: ``Ada (Agent 4)`` if
    the agent has an attribute ``name`` with a text in it, else ``Agent 4``. The id
    stays, as two agents may have one name, and tools such as Mesa-LLM's ``speak_to``
    ask for it.
    """

    _of: ClassVar[weakref.WeakKeyDictionary[Any, "Names"]] = weakref.WeakKeyDictionary()

    def __init__(self, model: Any) -> None:
        self._model = weakref.ref(model)
        self._agents: dict[Any, weakref.ref] = {}
        self._names: dict[Any, str] = {}
        self._minds: dict[Any, bool] = {}
        self._looked: Any = None  # agents made and there, when all were looked through
        self._left: tuple[Any, list[list]] = (None, [])  # by then, and who

    @classmethod
    def of(cls, model: Any) -> "Names":
        """Those of ``model``, made on first use."""
        found = cls._of.get(model)
        return found if found is not None else cls._of.setdefault(model, cls(model))

    def __call__(self, unique_id: Any) -> str:
        """What a text calls the agent."""
        name, plain = self.name(unique_id), by_id(unique_id)
        return plain if name in ("", plain, str(unique_id)) else f"{name} ({plain})"

    def name(self, unique_id: Any) -> str:
        """The agent's own name; empty if it has none."""
        self._find(unique_id)
        return self._names.get(unique_id, "") if _is_id(unique_id) else ""

    def has_mind(self, unique_id: Any) -> bool | None:
        """True if it has a memory or a model; None if it was never here."""
        self._find(unique_id)
        return self._minds.get(unique_id) if _is_id(unique_id) else None

    def meet(self, agent: Any) -> None:
        """Takes note of an agent as it is now."""
        unique_id = _attribute(agent, "unique_id")
        if not _is_id(unique_id):
            return
        known = self._agents.get(unique_id)
        if known is None or known() is not agent:
            self._agents[unique_id] = weakref.ref(agent)
        name = own_name(agent)
        if name or unique_id in self._names:
            self._names[unique_id] = name
        parts = (_attribute(agent, "memory"), _attribute(agent, "llm"))
        self._minds[unique_id] = any(part is not None for part in parts)

    def departed(self) -> list[list]:
        """Unique id and name of those who are no longer in the model."""
        if not self._names:
            return []
        self._look()
        if self._left[0] != self._looked:
            agents = _agents_of(self._model())
            here = {_attribute(agent, "unique_id") for agent in agents}
            left = [[i, name] for i, name in self._names.items() if i not in here]
            self._left = (self._looked, left)
        return self._left[1]

    def remember(self, departed: Iterable) -> None:
        """Takes up what ``departed`` gave in another process."""
        for unique_id, name in departed:
            self._names.setdefault(unique_id, name)
            self._minds.setdefault(unique_id, True)

    def _find(self, unique_id: Any) -> None:
        """Brings what is known of an agent up to date."""
        if not _is_id(unique_id):
            return
        known = self._agents.get(unique_id)
        if known is None:
            self._look()
        elif (agent := known()) is not None:
            self.meet(agent)

    def _look(self) -> None:
        """Looks through all agents, unless they are those of the last time."""
        model = self._model()
        made, count = agents_made(model), _count_of(model)
        if (made, count) != self._looked:
            self._looked = (made, count)
            for agent in _agents_of(model):
                self.meet(agent)


def own_name(agent: Any) -> str:
    """An agent's ``name`` on one line; empty if it has none."""
    name = _attribute(agent, "name")
    if not isinstance(name, str):
        return ""
    return one_line(shorten(" ".join(name.split()), NAME_CHARS))


def _agents_of(model: Any) -> list:
    try:
        return list(_attribute(model, "agents") or ())
    except TypeError:  # a stand-in for a model
        return []


def _count_of(model: Any) -> int:
    """How many agents there are; asked for with each unknown name, so quick."""
    try:
        return len(_attribute(model, "agents") or ())
    except TypeError:
        return len(_agents_of(model))


def _attribute(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # a user's property may do anything
        return None


def _is_id(value: Any) -> bool:
    return isinstance(value, int | str) and not isinstance(value, bool)
