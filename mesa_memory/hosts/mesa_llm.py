"""Mesa-LLM: its agents with their names, its memory, and its language model.

Agents, reasonings and tools of Mesa-LLM ask ``agent.llm``, and Mesa-LLM calls no hook
before a request. So ``llm`` is a descriptor of its class of agents: it holds the object
that was put there, at any time, and returns a stand-in for it where there is one.
"""

import weakref
from collections.abc import (
    Awaitable,
    Callable,
    Collection,
    Iterable,
    Iterator,
    Mapping,
    Sequence,
)
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import lru_cache
from typing import Any, ClassVar

from mesa_memory.core.by_identity import ByIdentity
from mesa_memory.core.content import (
    attribute,
    by_id,
    id_of,
    is_id,
    one_line,
    plain,
    shorten,
    storable,
)
from mesa_memory.hosts import changed

VERSIONS = "mesa-llm>=0.3.2,<0.4"
UPGRADE_ADVICE = f"Use a supported version: pip install '{VERSIONS}'."

try:
    from mesa_llm.llm_agent import LLMAgent
    from mesa_llm.memory.memory import Memory, MemoryEntry
    from mesa_llm.module_llm import ModuleLLM
except ImportError as error:
    raise changed(
        "mesa-llm",
        f"it cannot be imported ({error})",
        "Versions up to 0.3.2 need Mesa 3: pip install 'mesa>=3.5.1,<4'."
        if (error.name or "").partition(".")[0] in ("mesa", "mesa_llm")
        else "If a file of yours has the name of a module that it imports, such as "
        f"attr.py, rename the file; else repair it: pip install '{VERSIONS}'.",
    ) from error

__all__ = [
    "LLMAgent",
    "Memory",
    "MemoryEntry",
    "ModuleLLM",
    "forget_tools",
    "give_tools",
    "plan_about_prompts",
]


def plan_about_prompts(agent: Any) -> None:
    """Lets what an agent is shown while it plans be about the prompt of its plan.

    Again changes nothing, nor does an agent without Mesa-LLM's reasoning. A prompt that
    is the agent's ``step_prompt`` is a task, not a question of the step.
    """
    reasoning = getattr(agent, "reasoning", None)
    for name in ("plan", "aplan"):
        own = hasattr(type(reasoning), name)
        if own and not isinstance(vars(reasoning).get(name), _Planning):
            setattr(reasoning, name, _Planning(agent, name))


def forget_tools(model: Any) -> None:
    """Takes the tools of a finished model's agents out of Mesa-LLM's list.

    The list is of the process and never shrinks. A tool that is a method of an agent
    would keep the agent and its model alive there.
    """
    for agent in model.agents:
        for manager in vars(agent).values():  # its attribute's name is to change
            listed = getattr(type(manager), "instances", None)
            if isinstance(listed, list):
                with suppress(ValueError):  # it is not in the list
                    listed.remove(manager)


def give_tools(agent: Any, tools: Sequence[Callable[..., str]]) -> None:
    """Offers functions to the language model of one agent; again changes nothing.

    Args:
        tools: each takes the agent first, and says in a docstring of Google's style what
            it does and what its arguments mean.

    Raises:
        HostChanged: if the agent lacks a manager of tools.
    """
    manager = getattr(agent, "tool_manager", None)
    if manager is None:
        raise changed("mesa-llm", "its agents lack a manager of tools", UPGRADE_ADVICE)
    from mesa_llm.tools.tool_decorator import tool

    for function in tools:
        tool(function, tool_manager=manager)


class _Planning:
    """An agent planning, with a memory that knows for what.

    The method is looked up when it is called, so that copies have theirs.
    """

    def __init__(self, agent: Any, name: str) -> None:
        self.agent, self.name = agent, name

    def __call__(self, *args: Any, **given: Any) -> Any:
        reasoning = self.agent.reasoning
        method = getattr(type(reasoning), self.name).__get__(reasoning)
        prompt = args[0] if args else given.get("prompt")
        about = getattr(self.agent.memory, "reads_about", None)
        task = getattr(self.agent, "step_prompt", None)
        if about is None or prompt == task or not isinstance(prompt, str):
            return method(*args, **given)
        if self.name == "aplan":
            return self._await(about(prompt), method(*args, **given))
        with about(prompt):
            return method(*args, **given)

    async def _await(self, about: AbstractContextManager, plan: Awaitable) -> Any:
        with about:
            await self.agent.memory.aprepare("observation", once=True)
            return await plan


class LLMPlace:
    """Stands in for an agent's ``llm``, and delegates all attributes to it.

    Args:
        inner: what was put into ``agent.llm``.

    Raises:
        HostChanged: if Mesa-LLM makes messages in another way.
    """

    #: attributes of the stand-in itself; a subclass adds its own
    OWN: frozenset[str] = frozenset({"inner"})

    def __init__(self, inner: Any) -> None:
        if not hasattr(ModuleLLM, "_build_messages"):
            raise changed(
                "mesa-llm", "its ModuleLLM lacks _build_messages", UPGRADE_ADVICE
            )
        self.inner = inner

    def __getattr__(self, name: str) -> Any:
        if name in self.OWN or name.startswith("__"):  # not there yet
            raise AttributeError(name)
        return getattr(self.inner, name)

    def __setattr__(self, name: str, value: Any) -> None:
        if name in self.OWN:
            object.__setattr__(self, name, value)
        elif getattr(value, "__self__", None) is self:
            vars(self.inner).pop(name, None)  # puts the stand-in's own method back
        else:
            setattr(self.inner, name, value)

    def __delattr__(self, name: str) -> None:
        delattr(self.inner, name)

    @contextmanager
    def _one_shot_completion(self) -> Iterator[None]:
        """Switches Mesa-LLM's retries off for a request; already the case here."""
        yield

    def messages(self, prompt: Any, system: str) -> list[dict[str, str]]:
        """A prompt as messages, as Mesa-LLM makes them.

        Raises:
            TypeError: if the prompt is neither text nor a list of texts.
        """
        make = getattr(self.inner, "_build_messages", None)
        if make is None:  # a model of the user's own
            return list(ModuleLLM._build_messages(self.inner, prompt, system))
        return list(make(prompt, system))


class AgentLLMAttribute:
    """``LLMAgent.llm``, and the ``llm`` of Mesa-LLM's own memories.

    Args:
        stand_in: takes an agent or a memory, and what was put into its ``llm``; gives
            the stand-in, or None to leave it.
    """

    def __init__(self, stand_in: Callable[[Any, Any], LLMPlace | None]) -> None:
        self._stand_in = stand_in

    def __get__(self, agent: Any, owner: Any = None) -> Any:
        if agent is None:
            return self
        try:
            held = vars(agent)["llm"]
        except KeyError:
            raise AttributeError(f"{type(agent).__name__} has no llm yet") from None
        if held is None or isinstance(held, LLMPlace):
            return held
        place = self._stand_in(agent, held)
        if place is not None:
            vars(agent)["llm"] = place
        return place or held

    def __set__(self, agent: Any, llm: Any) -> None:
        vars(agent)["llm"] = llm


def put_between(
    of_agent: Callable[[Any, Any], LLMPlace | None],
    of_memory: Callable[[Any, Any], LLMPlace | None],
) -> None:
    """Lets Mesa-LLM's agents and memories ask through stand-ins; see ``AgentLLMAttribute``."""
    LLMAgent.llm = AgentLLMAttribute(of_agent)
    Memory.llm = AgentLLMAttribute(of_memory)


def own_llm(agent: Any) -> Any:
    """The object that was put into an agent's ``llm``; None without one."""
    llm = getattr(agent, "llm", None)
    return llm.inner if isinstance(llm, LLMPlace) else llm


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
        self.look()
        return self.called(unique_id)

    def called(self, unique_id: Any) -> str:
        """A call, without a look for new agents."""
        name = self._name(unique_id) if is_id(unique_id) else ""
        if not name:
            return by_id(unique_id)
        bearers = self._bearers.get(name, ())
        return name if len(bearers) == 1 else _called(unique_id, name)

    def full(self, unique_id: Any) -> str:
        """The name with the id behind it: ``Ada (Agent 4)``."""
        name = self.name(unique_id)
        return _called(unique_id, name) if name else by_id(unique_id)

    def name(self, unique_id: Any) -> str:
        """The agent's own name; empty without one."""
        if type(unique_id) is not int and not is_id(unique_id):
            return ""
        if unique_id not in self._agents:
            self.look()
        return self._name(unique_id)

    def _name(self, unique_id: Any) -> str:
        known = self._agents.get(unique_id)
        agent = None if known is None else known()
        if agent is not None:
            name = own_name(agent)
            if name or unique_id in self._names:
                self._call(unique_id, name)
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
        made = attribute(model, "agent_id_counter")
        if type(unique_id) is not int or not made or not 0 < unique_id < made:
            return False
        agent = self.agent(unique_id)
        return agent is None or agent not in _agents_of(model)

    def meet(self, agent: Any) -> None:
        """Takes note of an agent as it is now."""
        unique_id = attribute(agent, "unique_id")
        if not is_id(unique_id):
            return
        known = self._agents.get(unique_id)
        if known is None or known() is not agent:
            self._agents[unique_id] = weakref.ref(agent)
        self._call(unique_id, own_name(agent))
        has_mind = attribute(agent, "memory") is not None
        self._minds[unique_id] = has_mind or attribute(agent, "llm") is not None

    def departed(self) -> list[list]:
        """Unique ids and names of agents that have left the model."""
        if not self._names:
            return []
        self.look()
        if self._left[0] != self._looked:
            agents = _agents_of(self._model())
            here = {attribute(agent, "unique_id") for agent in agents}
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
            self.look()
        known = self._agents.get(unique_id)
        return None if known is None else known()

    def _call(self, unique_id: Any, name: str) -> None:
        before = self._names.get(unique_id, "")
        if name != before:
            self._bearers.get(before, {}).pop(unique_id, None)
            self._names[unique_id] = name
        if name:
            self._bearers.setdefault(name, {})[unique_id] = None

    def look(self) -> None:
        """Looks through all agents, unless they are those of the last time."""
        model = self._model()
        agents = _agents_of(model)
        there = attribute(model, "agent_id_counter"), len(agents)
        if there != self._looked:
            self._looked = there
            for agent in list(agents):
                self.meet(agent)


class NamesNow:
    """The names of a model's agents at one moment: each is looked up once."""

    __slots__ = ("_called", "_full", "_looked", "all", "name", "unique_id")

    def __init__(self, names: Names) -> None:
        self.all, self.name, self.unique_id = names, names.name, names.unique_id
        self._looked = False
        self._called: dict[Any, str] = {}
        self._full: dict[Any, str] = {}

    def __call__(self, unique_id: Any) -> str:
        """See ``Names``."""
        if type(unique_id) is not int and type(unique_id) is not str:
            return self.all(unique_id)
        name = self._called.get(unique_id)
        if name is None:
            if not self._looked:
                self._looked = True
                self.all.look()
            name = self._called[unique_id] = self.all.called(unique_id)
        return name

    def full(self, unique_id: Any) -> str:
        """See ``Names``."""
        if type(unique_id) is not int and type(unique_id) is not str:
            return self.all.full(unique_id)
        name = self._full.get(unique_id)
        if name is None:
            name = self._full[unique_id] = self.all.full(unique_id)
        return name


def own_name(agent: Any) -> str:
    """An agent's ``name`` on one line; empty without one."""
    try:
        name = agent.name
    except Exception:  # mostly there is none; a user's property may do anything
        return ""
    return _line(name, NAME_CHARS) if isinstance(name, str) else ""


def role_of(agent: Any) -> str:
    """The beginning of an agent's ``system_prompt`` on one line; empty without one."""
    role = attribute(agent, "system_prompt")
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
    agents = attribute(model, "agents")
    return agents if isinstance(agents, Collection) else ()  # of a stand-in: anything
