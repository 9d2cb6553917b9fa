"""The agents that an event is about, as Mesa-LLM writes events."""

from collections.abc import Callable, Iterable, Mapping
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
        named, sender = _recipients(content), content.get("sender")
        return [sender, *named] if is_id(sender) else named
    seen = content.get("local_state")
    return [id_of(key) for key in seen] if is_mapping(seen) else []


def with_ids(content: Mapping, unique_id: Callable[[Any], Any]) -> dict:
    """A message whose sender and recipients are unique ids.

    Args:
        unique_id: gives the id of an agent that is given in any form.
    """
    found = dict(content)
    if "sender" in found:
        found["sender"] = unique_id(found["sender"])
    recipients = found.get("recipients")
    if isinstance(recipients, Iterable) and not isinstance(recipients, str | Mapping):
        ids = [unique_id(who) for who in recipients]
        unordered = isinstance(recipients, set | frozenset)
        found["recipients"] = set(ids) if unordered else ids
    elif recipients is not None:
        found["recipients"] = unique_id(recipients)
    return found


def _recipients(message: Mapping) -> list[Any]:
    """The unique ids among those to whom a message went."""
    recipients = message.get("recipients") or ()
    several = recipients if isinstance(recipients, list | tuple) else [recipients]
    return [i for i in several if is_id(i)]


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
        others = set(_recipients(content))
    else:
        seen = content.get("local_state")
        if not is_mapping(seen) or len(seen) > 2:
            return None  # nobody, or a crowd, which would take long to look through
        others = set(map(id_of, seen))
    others.discard(me)
    return others.pop() if len(others) == 1 else None


def is_id(value: Any) -> bool:
    """True for a value that can be an agent's unique id."""
    return isinstance(value, int | str) and not isinstance(value, bool)


def evidence(kind: str, content: Any, subject: Any) -> Any:
    """The part of an observation about one agent; any other event unchanged."""
    if not is_state(kind, content):
        return content
    near = content.get("local_state")
    keys = near if isinstance(near, Mapping) else ()
    return only_of(content, [key for key in keys if id_of(key) == subject])
