"""Whom an event is about, as Mesa-LLM writes events."""

from collections.abc import Mapping
from typing import Any

from mesa_memory.core.content import is_mapping
from mesa_memory.core.events import id_of, is_state, only_of

#: the kinds of events that name agents
_ABOUT_AGENTS = ("message", "observation")


def subjects(kind: str, content: Any) -> list[Any]:
    """Unique ids of the agents that an event speaks of.

    Messages name sender and recipients; observations have the agents seen as keys of
    ``local_state``, ``"ClassName 7"``.
    """
    if kind not in _ABOUT_AGENTS or not is_mapping(content):
        return []
    if kind == "message":
        recipients = content.get("recipients") or ()
        several = recipients if isinstance(recipients, list | tuple) else [recipients]
        return [i for i in (content.get("sender"), *several) if is_id(i)]
    seen = content.get("local_state")
    return [id_of(key) for key in seen] if is_mapping(seen) else []


def counterpart(kind: str, content: Any, me: Any) -> Any:
    """The one other agent that a message or an observation is about; None if several.

    Of a message heard it is the sender, of one sent the only recipient.

    Args:
        me: unique id of the agent that remembers the event.
    """
    if kind not in _ABOUT_AGENTS or not is_mapping(content):
        return None
    if kind == "message":
        sender = content.get("sender")
        if sender != me and is_id(sender):  # as of most messages
            return sender
    else:
        seen = content.get("local_state")
        if is_mapping(seen) and len(seen) > 2:
            return None  # a crowd, which would take long to look through
    met = dict.fromkeys(subjects(kind, content))
    others = [agent for agent in met if agent != me]
    return others[0] if len(others) == 1 else None


def is_id(value: Any) -> bool:
    """True for what can be an agent's unique id."""
    kind = type(value)
    if kind is int or kind is str:  # as nearly all are
        return True
    return isinstance(value, (int, str)) and kind is not bool


def evidence(kind: str, content: Any, subject: Any) -> Any:
    """Of an observation, what it says of one agent; any other event as it is."""
    if not is_state(kind, content):
        return content
    near = content.get("local_state")
    keys = near if isinstance(near, Mapping) else ()
    return only_of(content, [key for key in keys if id_of(key) == subject])
