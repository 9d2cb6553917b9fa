"""The audience of a message, made known to everybody who got the message.

Mesa-LLM's agents and tools tell each recipient the sender alone, and then the sender all
recipients. With the sender's own record the recipients' staged messages are completed.

An event that its memory has committed by then does not change any more, nor does one of
an earlier step: its audience stays unknown, and it counts as said to its owner alone.
Agents that step in threads or event loops meet this only if a recipient's step ends
between two calls of one ``send_message``.
"""

from collections.abc import Iterable
from typing import Any

from mesa_memory.core.events import deliveries, plain_event, recipients_of
from mesa_memory.core.records import MemoryRecord
from mesa_memory.hosts.mesa_llm import Names
from mesa_memory.memories.host.layer_names import layers_of, memories_of

#: kinds of events that may say to whom their agent has spoken
TELLING_KINDS = ("message", "action")


def tell_audience(event: MemoryRecord, names: Names) -> None:
    """Completes the messages that an agent's own event says it has sent.

    Args:
        event: a message with its recipients, or an action such as ``speak_to``.
        names: of the model's agents.
    """
    if event.kind == "message":
        if event.sender == event.agent:
            _complete(event.content, names)
        return
    # The newest message of a text is the first to be completed.
    for text, recipients in reversed(deliveries(event.content)):
        told = {"message": text, "sender": event.agent, "recipients": recipients}
        _complete(plain_event("message", told, names)[1], names)


def _complete(message: dict[str, Any], names: Names) -> None:
    """Completes the copies of a message that its recipients have."""
    sender, text = message["sender"], message.get("message")
    recipients = recipients_of(message)
    for unique_id in recipients:
        agent = None if unique_id == sender else names.agent(unique_id)
        for memory in () if agent is None else _memories(agent):
            inbox = memory.journal.inbox
            inbox.complete(sender, text, recipients, memory.clock)


def _memories(agent: Any) -> Iterable[Any]:
    """The package's memories of an agent; of most it is the only one."""
    memory = getattr(agent, "memory", None)
    if len(layers_of(agent)) == 1 and hasattr(memory, "journal"):
        return (memory,)
    return [memory for _, memory in memories_of(agent)]
