"""Mesa: a model's clock, what happens around its step, and who is in it.

Known are Mesa 3.5 and the pre-release of 4.0. There a model has no ``steps`` and no
``_seed``, its time is a float, and the schedule calls the user's step as it was when the
model was made.
"""

import math
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping
from numbers import Integral, Real
from types import MethodType
from typing import Any, ClassVar

from mesa_memory.core import gc_tuning
from mesa_memory.core.content import one_line, shorten
from mesa_memory.core.events import by_id
from mesa_memory.core.subjects import is_id
from mesa_memory.errors import HostChanged
from mesa_memory.hosts.around import Around
from mesa_memory.hosts.changed import changed

#: what Mesa itself keeps in a model; the clock and the generators are restored anyway
MODEL_ATTRIBUTES = frozenset(
    {"steps", "time", "running", "random", "rng", "seed", "scenario", "agents", "step"}
)
#: what this package uses of a model, besides what Mesa documents
NEEDED = (
    "_user_step", "_default_schedule", "_event_list", "_event_generators",
    "_advance_time",
)  # fmt: skip
#: longest name in a text, in characters
NAME_CHARS = 60


# -- the clock -------------------------------------------------------------------------


def clock(model: Any) -> float:
    """The model's time: ``model.steps``, or ``model.time`` where they do not move.

    Mesa's discrete event simulators move the time alone; Mesa 4 has nothing else, and
    there a whole number is given as an int, like the number of a step.
    """
    steps = getattr(model, "steps", None)
    if type(steps) is int and steps:
        return steps
    now = steps
    if steps is None or (type(steps) is int and getattr(model, "time", None)):
        now = model.time
    if not isinstance(now, Real) or not math.isfinite(now):
        return 0
    if steps is None and not float(now) % 1:
        return int(float(now))
    return int(now) if isinstance(now, Integral) else float(now)


def clock_state(model: Any) -> dict[str, Any]:
    """Steps, time and number of agents made, for a checkpoint."""
    return {
        "steps": getattr(model, "steps", None),
        "time": model.time,
        "agents": model.agent_id_counter,
    }


def set_clock(model: Any, state: Mapping[str, Any]) -> None:
    """Puts the clock where ``clock_state`` found it."""
    model.agent_id_counter = state["agents"]
    _set_time(model, state)


def _set_time(model: Any, state: Mapping[str, Any]) -> None:
    model.time = state["time"]
    if hasattr(model, "steps") and state["steps"] is not None:
        model.steps = state["steps"]


def agents_made(model: Any) -> Any:
    """How many agents were made in a model, plus one; None if it does not say."""
    return getattr(model, "agent_id_counter", None)


def advance(model: Any, state: Mapping[str, Any]) -> None:
    """Lets the clock and the schedules of a new model run to a state of the clock.

    Nothing of the user's is called: neither the step nor any event.
    """
    check_model(model)
    own_step = model._user_step
    # Whoever plans events in a constructor has planned them in the recorded run, too.
    generators = [
        g for g in model._event_generators if g is not model._default_schedule
    ]
    functions = {g: g.function for g in generators}
    put_step(model, _nothing)
    for generator in generators:
        generator.function = weakref.ref(_nothing)
    try:
        _drop_events(model, state["time"], generators)
        if state["time"] > model.time:
            model._advance_time(state["time"])
    finally:
        put_step(model, own_step)
        for generator, function in functions.items():
            generator.function = function
    _set_time(model, state)


def _drop_events(model: Any, until: float, generators: list[Any]) -> None:
    """Takes out what was planned once, and has happened by then."""
    events, kept = model._event_list, []
    recurring = {g._current_event for g in [*generators, model._default_schedule]}
    while not events.is_empty():
        event = events.pop_event()
        if event.time > until or event in recurring:
            kept.append(event)
    for event in kept:
        events.add_event(event)


def _nothing() -> None:
    """A step in which nothing happens."""


# -- the user's step -------------------------------------------------------------------


class StepGuard(Around):
    """A model's own step; when it has failed, the model can take the next one.

    Mesa plans a step only once the one before has ended well: after an error,
    ``model.step()`` moves the clock and silently does nothing else, for ever.

    Args:
        inner: the model's own step.
        model: is held weakly.
        failed: called after an error.
    """

    def __init__(
        self, inner: Callable[[], Any], model: Any, failed: Callable[[], None]
    ) -> None:
        super().__init__(inner)
        self._model, self._failed = weakref.ref(model), failed

    def __call__(self) -> None:
        """One step."""
        gc_tuning.collector.look_less()
        try:
            self.inner()
        except BaseException:  # Ctrl-C, too: in a notebook, the model stays
            _plan_next(self._model())
            self._failed()
            raise
        finally:
            gc_tuning.collector.look_as_before()


def guard(model: Any, failed: Callable[[], None]) -> None:
    """Lets a model go on after a step that has failed; again changes nothing.

    Args:
        failed: called after each such step.

    Raises:
        HostChanged: if this Mesa has no such step.
    """
    own = getattr(model, "__dict__", {})
    if "_user_step" not in own and "running" in own and _is_model(model):
        check_model(model)
    step = own.get("_user_step")
    if step is not None and not isinstance(step, StepGuard):
        put_step(model, StepGuard(step, model, failed))


def put_step(model: Any, step: Callable[[], Any]) -> None:
    """Has the model's schedule call this in the place of the user's step."""
    model._user_step = step
    if not hasattr(model, "_do_step"):  # Mesa 4: the schedule calls it directly
        held: Any = weakref.WeakMethod if isinstance(step, MethodType) else weakref.ref
        model._default_schedule.function = held(step)


def _plan_next(model: Any) -> None:
    schedule = getattr(model, "_default_schedule", None)
    if schedule is not None and schedule.is_active:
        schedule.pause()  # what is planned already shall not come twice
        schedule.resume()


# -- who is in a model -----------------------------------------------------------------


class Names:
    """The agents of one model by unique id; those that have left keep their names.

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
        """What a text calls the agent."""
        known = self._agents.get(unique_id) if is_id(unique_id) else None
        agent = None if known is None else known()
        if agent is None:
            return self._text(unique_id)
        given, called = _attribute(agent, "name"), self._called.get(unique_id)
        if called is not None and called[0] is given:
            return called[1]
        return self._call(unique_id, given)

    def _call(self, unique_id: Any, given: Any) -> str:
        """What a text calls an agent whose ``name`` is this; both are noted."""
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
        """The agent's own name; empty if it has none."""
        if not is_id(unique_id):
            return ""
        known = self._agents.get(unique_id)
        agent = None if known is None else known()
        if agent is None:
            self._find(unique_id)
        else:
            self._note_name(unique_id, agent)
        return self._names.get(unique_id, "")

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
        unique_id = _attribute(agent, "unique_id")
        if not is_id(unique_id):
            return
        known, called = self._agents.get(unique_id), self._called.get(unique_id)
        if known is None or known() is not agent:
            self._agents[unique_id] = weakref.ref(agent)
            called = None
        given = _attribute(agent, "name")
        if called is None or called[0] is not given:
            self._call(unique_id, given)
        thinks = _attribute(agent, "memory") is not None
        self._minds[unique_id] = thinks or _attribute(agent, "llm") is not None

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


# -- what is gone ----------------------------------------------------------------------


def _is_model(model: Any) -> bool:
    mesa = sys.modules.get("mesa")
    return mesa is not None and isinstance(model, mesa.Model)


def check_model(model: Any) -> None:
    """Raises HostChanged if a model lacks what is used of it here."""
    gone = [name for name in NEEDED if not hasattr(model, name)]
    if gone:
        raise mesa_changed(f"a model of it has no {' and no '.join(gone)}")


def mesa_changed(what: str) -> HostChanged:
    """The error that says what is missing, and what to do."""
    return changed(
        "mesa", what, "Use a supported version: pip install 'mesa>=3.5.1,<4'."
    )
