"""The choice of step, agent, view, …, as one value that is also an address."""

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, fields, replace
from functools import partial
from typing import Any
from urllib.parse import parse_qsl, urlencode

from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.data.opening import opening
from mesa_memory.viz.data.scene import scene
from mesa_memory.viz.serving.live_run import RunState

#: characters of an address that are read; a person's choice is shorter
MAX_QUERY_CHARS = 8_000
#: the step of a choice that stays with the newest one
NEWEST = math.inf


@dataclass(frozen=True)
class Choice:
    """All choices of a person; the others have their defaults.

    Attributes:
        view: key of a view.
        run: key of a run, see ``run_names``; empty is the page's first one, or of a
            running model the one that is played.
        step: a finished step, or ``NEWEST``; None also stays with the newest. Only a
            page without any choice opens at the step with the most changes, until the
            run goes on.
        agent: its unique id as text; None is the first one, or one that changed in the
            step at which the page opens.
        other_run, other_agent: to compare with.
        text: for the search in memories.
        weights: of relevance, importance and recency, 0 or more; None are the run's.
        options: of single views, as (name, value), sorted.
    """

    view: str = ""
    run: str = ""
    step: float | None = None
    agent: str | None = None
    other_run: str = ""
    other_agent: str | None = None
    text: str = ""
    weights: tuple[float, ...] | None = None
    options: tuple[tuple[str, str], ...] = ()

    @classmethod
    def parse(cls, query: str | None) -> "Choice":
        """The choice of a query string; invalid values are left out."""
        known, options = {}, {}
        pairs = parse_qsl((query or "")[:MAX_QUERY_CHARS], keep_blank_values=True)
        for name, value in pairs:
            if name not in _READERS:
                options[name] = value
            elif (read := _READERS[name](value)) is not None:
                known[name] = read
        return cls(**known, options=tuple(sorted(options.items())))

    def query(self) -> str:
        """The query string that stands for this choice."""
        pairs = []
        for field in fields(self)[:-1]:
            value = getattr(self, field.name)
            if value != field.default:
                pairs.append((field.name, _written(value)))
        return urlencode([*pairs, *self.options])


def _step(text: str) -> float | None:
    return NEWEST if text == "newest" else _number(text)


def _number(text: str) -> float | None:
    try:
        value = float(text)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


def _weights(text: str) -> tuple[float, ...] | None:
    values = [_number(part) for part in text.split(",")]
    found = tuple(v for v in values if v is not None and v >= 0)
    return found if len(found) == len(values) == 3 else None


#: readers of the fields of a ``Choice``
_READERS: dict[str, Callable[[str], Any]] = {
    **dict.fromkeys((field.name for field in fields(Choice)[:-1]), str),
    "step": _step,
    "weights": _weights,
}


def _written(value: Any) -> str:
    if isinstance(value, tuple):
        return ",".join(f"{v:g}" for v in value)
    if value == NEWEST:
        return "newest"
    return f"{value:.15g}" if isinstance(value, float) else str(value)


@dataclass(frozen=True)
class Opening:
    """The step and agent of a run at which a session began.

    Attributes:
        stamp: the run's state at that time.
        step, agent: None for the newest step, and for the first agent.
    """

    stamp: tuple
    step: float | None = None
    agent: Any = None


class Selection:
    """The choice of one browser session; reading it in a component follows it.

    Attributes:
        held: an object whose ``value`` is the ``Choice``, such as a Solara reactive.
    """

    def __init__(self, held: Any) -> None:
        self.held = held
        self._openings: dict[str, Opening] = {}
        self._shown: dict[str, Any] = {}  # step and agent while none is chosen

    @property
    def choice(self) -> Choice:
        """All of it."""
        return self.held.value

    def choose(self, **changes: Any) -> None:
        """Changes some fields of the ``Choice``; the address follows.

        The step and the agent at which the page has opened stay, but in another run.
        """
        if self._blank and "run" not in changes:
            changes = self._shown | changes
        if changes.get("agent") is not None:
            changes["agent"] = str(changes["agent"])
        self.held.value = replace(self.choice, **changes)

    @property
    def _blank(self) -> bool:
        """True if nothing but a run is chosen."""
        return self.choice == Choice(run=self.choice.run)

    def _opening(self, source: RunState) -> Opening:
        """The step and agent that are shown without a choice."""
        known = self._openings.get(source.key)
        if known is None:
            known = self._openings[source.key] = _opened(source)
        if known.stamp != source.stamp:
            known = replace(known, step=None)
        self._shown = {"step": known.step, "agent": known.agent}
        return known

    def step(self, source: RunState) -> float | None:
        """The chosen step, or the last finished one before it; None without steps."""
        chosen = self._opening(source).step if self._blank else self.choice.step
        return nearest(source.steps, chosen)

    def follows(self, source: RunState) -> bool:
        """True if new steps are shown as they come."""
        return self.choice.step in (None, NEWEST) and not (
            self._blank and self._opening(source).step is not None
        )

    def agent(self, source: RunState) -> Any:
        """The chosen agent's unique id, else the first one's; None without agents."""
        opened = self._opening(source).agent if self._blank else None
        chosen = self.choice.agent if opened is None else str(opened)
        return _meant(source.agent_ids, chosen)

    def other_agent(self, source: RunState) -> Any:
        """The agent to compare with; None if none is chosen."""
        chosen = self.choice.other_agent
        return None if chosen is None else _meant(source.agent_ids, chosen)

    def shown(self, source: RunState, view: str) -> Choice:
        """The choice with the run, step and agent that a view shows, chosen or not."""
        agent = self.agent(source)
        return replace(
            self.choice,
            view=view,
            run=source.key,
            step=self.step(source),
            agent=None if agent is None else str(agent),
        )

    def option(self, name: str, default: str, allowed: Iterable[str] = ()) -> str:
        """The value that a view has stored in the address.

        Args:
            name: none of the fields of ``Choice``.
            default: without a value that is ``allowed``.
            allowed: the possible values; empty allows any.
        """
        value = dict(self.choice.options).get(name, default)
        return value if not allowed or value in allowed else default

    def set_option(self, name: str, value: str | None) -> None:
        """Stores a value of a view in the address; None removes it."""
        self.choose(options=self.with_option(name, value))

    def setter(self, name: str) -> Callable[[str | None], None]:
        """``set_option`` of one name, for a field."""
        return partial(self.set_option, name)

    def with_option(self, name: str, value: str | None) -> tuple[tuple[str, str], ...]:
        """The ``options`` with one of them changed, for ``choose``; None removes it."""
        options = {**dict(self.choice.options), name: value}
        return tuple(sorted((k, v) for k, v in options.items() if v is not None))


def _opened(source: RunState) -> Opening:
    """The opening of a run that stands; one that another program plays is followed."""
    feed = source.feed
    if not source.steps or (feed.live and feed.model is None):
        return Opening(source.stamp)
    found = opening(source.of(scene), lambda: source.of(activity))
    return Opening(source.stamp, *(found or ()))


def nearest(steps: list[float], chosen: float | None) -> float | None:
    """The last of the steps that is not after the chosen one, else the first."""
    if not steps:
        return None
    if chosen is None:
        return steps[-1]
    return max((step for step in steps if step <= chosen), default=steps[0])


def _meant(agents: list[Any], chosen: str | None) -> Any:
    found = (agent for agent in agents if str(agent) == chosen)
    return next(found, agents[0] if agents else None)
