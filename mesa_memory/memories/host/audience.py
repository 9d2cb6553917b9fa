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

from mesa_memory.core.events import deliveries, recipients_of
from mesa_memory.core.records import MemoryRecord
from mesa_memory.memories.host.layer_names import layers_of, memories_of

#: kinds of events that may say to whom their agent has spoken
TELLING_KINDS = ("message", "action")


def tell_audience(event: MemoryRecord, context: Any) -> None:
    """Completes the messages that an agent's own event says it has sent.

    Args:
        event: a message with its recipients, or an action such as ``speak_to``.
        context: the layer context of the agent's memory.
    """
    if event.kind == "message":
        if event.sender == event.agent:
            _complete(event.content, context)
        return
    # The newest message of a text is the first to be completed.
    for text, recipients in reversed(deliveries(event.content)):
        told = {"message": text, "sender": event.agent, "recipients": recipients}
        _complete(context.plain_event("message", told)[1], context)


def _complete(message: dict[str, Any], context: Any) -> None:
    """Completes the copies of a message that its recipients have."""
    sender, text = message["sender"], message.get("message")
    recipients = recipients_of(message)
    for unique_id in recipients:
        agent = None if unique_id == sender else context.all_names.agent(unique_id)
        for memory in () if agent is None else _memories(agent):
            own = memory.layer_context
            own.inbox.complete(sender, text, recipients, own.clock)


def _memories(agent: Any) -> Iterable[Any]:
    """The package's memories of an agent; of most it is the only one."""
    memory = getattr(agent, "memory", None)
    if len(layers_of(agent)) == 1 and hasattr(memory, "layer_context"):
        return (memory,)
    return [memory for _, memory in memories_of(agent)]
