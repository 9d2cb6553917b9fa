"""The agents of a model and their names in a text."""

import weakref
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

from mesa_memory.core.content import one_line, plain, shorten
from mesa_memory.core.events import by_id, id_of
from mesa_memory.core.subjects import is_id
from mesa_memory.hosts.mesa.model import agents_made

#: longest name in a text, in characters
NAME_CHARS = 60


class Names:
    """The agents of one model by unique id; an agent that has left keeps its name.

    Called with a unique id, it gives what a text calls that agent: ``Ada (Agent 4)`` if
    the agent has an attribute ``name`` with a text in it, else ``Agent 4``. The id
    stays, as two agents may have one name, and tools such as Mesa-LLM's ``speak_to``
    ask for it.
    """

    _of: ClassVar[weakref.WeakKeyDictionary[Any, "Names"]] = weakref.WeakKeyDictionary()
    #: a model and its names, asked for last: with each event it is the same one
    _last: ClassVar[tuple[Callable[[], Any], Any]] = (lambda: None, None)

    def __init__(self, model: Any) -> None:
        self._model = weakref.ref(model)
        self._agents: dict[Any, weakref.ref] = {}
        self._names: dict[Any, str] = {}
        # What a text calls an agent, and the attribute that this was made of.
        self._called: dict[Any, tuple[Any, str]] = {}
        self._minds: dict[Any, bool] = {}
        self._looked: Any = None  # agents made and there, when all were looked through
        self._left: tuple[Any, list[list]] = (None, [])  # by then, and who

    @classmethod
    def of(cls, model: Any) -> "Names":
        """Those of ``model``, made on first use."""
        last, names = cls._last
        if last() is model and names is not None:
            return names
        found = cls._of.get(model)
        names = found if found is not None else cls._of.setdefault(model, cls(model))
        cls._last = (weakref.ref(model), names)
        return names

    def __call__(self, unique_id: Any) -> str:
        """The name of the agent in a text."""
        if not is_id(unique_id):
            return self._text(unique_id)
        known = self._agents.get(unique_id)
        if known is None or (agent := known()) is None:
            return self._text(unique_id)
        given, called = _attribute(agent, "name"), self._called.get(unique_id)
        if called is not None and called[0] is given:
            return called[1]
        return self._call(unique_id, given)

    def _call(self, unique_id: Any, given: Any) -> str:
        """The text for an agent whose ``name`` is this; both are cached."""
        text = self._text(unique_id)
        if given is None or type(given) is str:  # anything else may hold the agent
            self._called[unique_id] = (given, text)
        return text

    def _text(self, unique_id: Any) -> str:
        name, plain = self.name(unique_id), by_id(unique_id)
        if not name or name in (plain, str(unique_id)):
            return plain
        return f"{name} ({plain})"

    def name(self, unique_id: Any) -> str:
        """The agent's own name; empty without one."""
        if not is_id(unique_id):
            return ""
        known = self._agents.get(unique_id)
        agent = None if known is None else known()
        if agent is None:
            self._find(unique_id)
        else:
            self._note_name(unique_id, agent)
        return self._names.get(unique_id, "")

    def unique_id(self, who: Any) -> Any:
        """The id of an agent given as itself, by its id, or by its id as text.

        Text of digits is the number unless an agent has this text as its id. A label
        such as ``"Agent 4"`` or ``"Ada (Agent 4)"`` is the agent if that is known here.
        Anything else stays as it is.
        """
        if type(who) is int:  # as nearly always
            return who
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

    def _labels(self, unique_id: Any) -> list[str]:
        """The texts that stand for an agent: as in a prompt, and with its class."""
        known = self._agents.get(unique_id)
        agent = None if known is None else known()
        return [
            by_id(unique_id),
            self(unique_id),
            f"{type(agent).__name__} {unique_id}",
        ]

    def has_mind(self, unique_id: Any) -> bool | None:
        """True if it has a memory or a model; None if it was never here."""
        self._find(unique_id)
        return self._minds.get(unique_id) if is_id(unique_id) else None

    def has_left(self, unique_id: Any) -> bool:
        """True if an agent with this id was made in the model and is there no more.

        Only whole numbers are known to be ids of the model's own agents.
        """
        model = self._model()
        made = agents_made(model)
        if type(unique_id) is not int or not made or not 0 < unique_id < made:
            return False
        self._find(unique_id)
        known = self._agents.get(unique_id)
        agent = None if known is None else known()
        return agent is None or agent not in (_attribute(model, "agents") or ())

    def meet(self, agent: Any) -> None:
        """Takes note of an agent as it is now."""
        unique_id, given, thinks = _looks(agent)
        if not is_id(unique_id):
            return
        known, called = self._agents.get(unique_id), self._called.get(unique_id)
        if known is None or known() is not agent:
            self._agents[unique_id] = weakref.ref(agent)
            called = None
        if called is None or called[0] is not given:
            self._call(unique_id, given)
        self._minds[unique_id] = thinks

    def _note_name(self, unique_id: Any, agent: Any) -> None:
        name = own_name(agent)
        if name or unique_id in self._names:
            if self._names.get(unique_id) != name:
                self._called.pop(unique_id, None)
            self._names[unique_id] = name

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
        if not is_id(unique_id):
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


def _looks(agent: Any) -> tuple[Any, Any, bool]:
    """An agent's id, its name if it has one, and whether it has a memory or a model."""
    get: Any = getattr
    try:
        thinks = get(agent, "memory", None) is not None
        thinks = thinks or get(agent, "llm", None) is not None
        return get(agent, "unique_id", None), get(agent, "name", None), thinks
    except Exception:  # one of them is a user's property: each is asked for alone
        names = ("unique_id", "name", "memory", "llm")
        unique_id, name, *mind = [_attribute(agent, each) for each in names]
        return unique_id, name, any(part is not None for part in mind)


def own_name(agent: Any) -> str:
    """An agent's ``name`` on one line; empty without one."""
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
    """The number of agents."""
    try:
        return len(_attribute(model, "agents") or ())
    except TypeError:
        return len(_agents_of(model))


def _attribute(thing: Any, name: str) -> Any:
    try:
        return getattr(thing, name, None)
    except Exception:  # a user's property may do anything
        return None
