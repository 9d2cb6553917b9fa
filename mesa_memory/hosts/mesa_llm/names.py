"""The agents of a model and their names in a text."""

import weakref
from collections.abc import Collection, Iterable, Mapping
from functools import lru_cache
from typing import Any, ClassVar

from mesa_memory.core.by_identity import ByIdentity
from mesa_memory.core.content import (
    by_id,
    id_of,
    is_id,
    one_line,
    plain,
    shorten,
    storable,
)

#: longest name in a text, in characters
NAME_CHARS = 60
#: of an agent's role, as much is told in every request of its memory, in characters
ROLE_CHARS = 200


class Names:
    """The agents of one model by unique id; an agent that has left keeps its name.

    Called with a unique id, it gives what a text calls that agent: its attribute
    ``name`` if that is a text, ``Ada (Agent 4)`` if another agent has the same name, and
    else ``Agent 4``.
    """

    _of: ClassVar[ByIdentity["Names"]] = ByIdentity()

    def __init__(self, model: Any) -> None:
        self._model = weakref.ref(model)
        self._agents: dict[Any, weakref.ref] = {}
        self._names: dict[Any, str] = {}
        self._bearers: dict[str, dict[Any, None]] = {}  # of a name, ids in order
        self._minds: dict[Any, bool] = {}
        self._looked: Any = None  # agents made and there, when all were looked through
        self._left: tuple[Any, list[list]] = (None, [])  # by then, and who

    @classmethod
    def of(cls, model: Any) -> "Names":
        """Those of ``model``, made on first use."""
        found = cls._of.get(model)
        return cls._of.setdefault(model, cls(model)) if found is None else found

    def __call__(self, unique_id: Any) -> str:
        """The name of the agent in a text."""
        name = self.name(unique_id)
        if not name:
            return by_id(unique_id)
        self._look()
        bearers = self._bearers.get(name, ())
        return name if len(bearers) == 1 else _called(unique_id, name)

    def full(self, unique_id: Any) -> str:
        """The name with the id behind it: ``Ada (Agent 4)``."""
        name = self.name(unique_id)
        return _called(unique_id, name) if name else by_id(unique_id)

    def name(self, unique_id: Any) -> str:
        """The agent's own name; empty without one."""
        if not is_id(unique_id):
            return ""
        if (agent := self.agent(unique_id)) is not None:
            self._note_name(unique_id, agent)
        return self._names.get(unique_id, "")

    def unique_id(self, who: Any) -> Any:
        """The id of an agent given as itself, by its id, or by its id as text.

        Text of digits is the number unless an agent has this text as its id. A label
        such as ``"Agent 4"`` or ``"Ada (Agent 4)"`` is the agent if that is known here.
        Anything else stays as it is.
        """
        who = getattr(who, "unique_id", who)
        if isinstance(who, int | float) and not isinstance(who, bool):
            return int(who) if who == who // 1 else who
        if not isinstance(who, str):
            return plain(who)
        text = str.__str__(who)
        if self.has_mind(text) is not None:
            return text
        label = text.strip()
        if label.removeprefix("-").isdecimal() and label == str(int(label)):
            return int(label)
        last = id_of(label.removesuffix(")"))
        known = self.has_mind(last) is not None
        return last if known and label in self._labels(last) else text

    def with_ids(self, message: Mapping) -> dict:
        """A message whose sender and recipients are unique ids."""
        found = dict(message)
        if "sender" in found:
            found["sender"] = self.unique_id(found["sender"])
        recipients = found.get("recipients")
        if isinstance(recipients, Iterable) and not isinstance(
            recipients, str | Mapping
        ):
            ids = map(self.unique_id, recipients)
            unordered = isinstance(recipients, set | frozenset)
            found["recipients"] = set(ids) if unordered else list(ids)
        elif recipients is not None:
            found["recipients"] = self.unique_id(recipients)
        return found

    def _labels(self, unique_id: Any) -> list[str]:
        """The texts that stand for an agent: as in a prompt, and with its class."""
        kind = type(self.agent(unique_id)).__name__
        return [by_id(unique_id), self.full(unique_id), f"{kind} {unique_id}"]

    def has_mind(self, unique_id: Any) -> bool | None:
        """True if it has a memory or a model; None if it was never here."""
        if not is_id(unique_id):
            return None
        if (agent := self.agent(unique_id)) is not None:
            self.meet(agent)
        return self._minds.get(unique_id)

    def has_left(self, unique_id: Any) -> bool:
        """True if an agent with this id was made in the model and is there no more.

        Only whole numbers are known to be ids of the model's own agents.
        """
        model = self._model()
        made = _attribute(model, "agent_id_counter")
        if type(unique_id) is not int or not made or not 0 < unique_id < made:
            return False
        agent = self.agent(unique_id)
        return agent is None or agent not in _agents_of(model)

    def meet(self, agent: Any) -> None:
        """Takes note of an agent as it is now."""
        unique_id = _attribute(agent, "unique_id")
        if not is_id(unique_id):
            return
        known = self._agents.get(unique_id)
        if known is None or known() is not agent:
            self._agents[unique_id] = weakref.ref(agent)
        self._note_name(unique_id, agent)
        mind = (_attribute(agent, part) for part in ("memory", "llm"))
        self._minds[unique_id] = any(part is not None for part in mind)

    def departed(self) -> list[list]:
        """Unique ids and names of agents that have left the model."""
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
        """Restores the names that ``departed`` returned in another process."""
        for unique_id, name in departed:
            if unique_id not in self._names:
                self._call(unique_id, name)
            self._minds.setdefault(unique_id, True)

    def agent(self, unique_id: Any) -> Any:
        """The agent with an id; None if it is not known or has gone."""
        if unique_id not in self._agents:
            self._look()
        known = self._agents.get(unique_id)
        return None if known is None else known()

    def _note_name(self, unique_id: Any, agent: Any) -> None:
        self._call(unique_id, own_name(agent))

    def _call(self, unique_id: Any, name: str) -> None:
        before = self._names.get(unique_id, "")
        if name != before:
            self._bearers.get(before, {}).pop(unique_id, None)
            self._names[unique_id] = name
        if name:
            self._bearers.setdefault(name, {})[unique_id] = None

    def _look(self) -> None:
        """Looks through all agents, unless they are those of the last time."""
        model = self._model()
        agents = _agents_of(model)
        there = _attribute(model, "agent_id_counter"), len(agents)
        if there != self._looked:
            self._looked = there
            for agent in list(agents):
                self.meet(agent)


class NamesNow:
    """The names of a model's agents at one moment: each is looked up once."""

    __slots__ = ("_called", "_full", "all")

    def __init__(self, names: Names) -> None:
        self.all = names
        self._called: dict[Any, str] = {}
        self._full: dict[Any, str] = {}

    def __call__(self, unique_id: Any) -> str:
        """See ``Names``."""
        if type(unique_id) is not int and type(unique_id) is not str:
            return self.all(unique_id)
        name = self._called.get(unique_id)
        if name is None:
            name = self._called[unique_id] = self.all(unique_id)
        return name

    def full(self, unique_id: Any) -> str:
        """See ``Names``."""
        if type(unique_id) is not int and type(unique_id) is not str:
            return self.all.full(unique_id)
        name = self._full.get(unique_id)
        if name is None:
            name = self._full[unique_id] = self.all.full(unique_id)
        return name

    def name(self, unique_id: Any) -> str:
        """The agent's own name; empty without one."""
        return self.all.name(unique_id)

    def unique_id(self, who: Any) -> Any:
        """The id of an agent given as itself, by its id, or by its id as text."""
        return self.all.unique_id(who)


def own_name(agent: Any) -> str:
    """An agent's ``name`` on one line; empty without one."""
    name = _attribute(agent, "name")
    return _line(name, NAME_CHARS) if isinstance(name, str) else ""


def role_of(agent: Any) -> str:
    """The beginning of an agent's ``system_prompt`` on one line; empty without one."""
    role = _attribute(agent, "system_prompt")
    return _line(role, ROLE_CHARS) if isinstance(role, str) else ""


@lru_cache(maxsize=10_000)
def _line(text: str, chars: int) -> str:
    return storable(one_line(shorten(" ".join(text.split()), chars)))


@lru_cache(maxsize=10_000, typed=True)
def _called(unique_id: Any, name: str) -> str:
    """The text for an agent with this name."""
    plain = by_id(unique_id)
    return plain if name in (plain, str(unique_id)) else f"{name} ({plain})"


def _agents_of(model: Any) -> Collection[Any]:
    agents = _attribute(model, "agents")
    return agents if isinstance(agents, Collection) else ()  # of a stand-in: anything


def _attribute(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # a user's property may do anything
        return None
