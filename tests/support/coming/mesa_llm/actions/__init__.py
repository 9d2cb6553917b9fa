"""Actions: what an agent may do, chosen by the model and carried out here."""

import inspect
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from mesa_llm.tools.tool_decorator import parameters

#: no selection: all actions of the agent
UNSET = object()


class ActionChoice(BaseModel):
    name: str
    arguments: dict[str, Any]
    rationale: str | None = None


@dataclass(frozen=True)
class ActResult:
    action: ActionChoice
    result: Any


def action(fn, *, action_manager=None):
    """Makes a function an action, of one manager or to be named by anybody."""
    fn.__action_schema__ = {
        "name": fn.__name__,
        "description": inspect.getdoc(fn),
        "parameters": parameters(fn),
    }
    if action_manager is not None:
        action_manager.register(fn)
    return fn


class ActionManager:
    """The actions of one agent, by name; bare it has none."""

    def __init__(self, actions=None):
        self.actions = {}
        for each in actions or ():
            self.register(each)

    def register(self, fn):
        if not hasattr(fn, "__action_schema__"):
            raise TypeError(f"{fn.__name__} must be decorated with @action")
        if self.actions.setdefault(fn.__name__, fn) is not fn:
            raise ValueError(f"{fn.__name__} is another action already")

    def available_actions(self, agent=None, actions=UNSET):
        if actions is UNSET:
            return dict(self.actions)
        return {name: self.actions[name] for name in actions or ()}

    def get_actions_schema(self, agent=None, actions=UNSET):
        allowed = self.available_actions(agent, actions).values()
        return [fn.__action_schema__ for fn in allowed]

    def execute(self, agent, choice, actions=UNSET):
        allowed = self.available_actions(agent, actions)
        return allowed[choice.name](agent=agent, **choice.arguments)
