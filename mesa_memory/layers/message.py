"""A message with its sender and recipients."""

from dataclasses import dataclass
from typing import Any

from mesa_memory.core import render
from mesa_memory.core.wording import PLAIN, Voice


@dataclass(frozen=True)
class Message:
    """A message with its sender, recipients and step.

    Attributes:
        step: the model's clock when it arrived.
        sender: unique id, or None if it was not given.
        recipients: unique ids, as far as the owner of the memory knows them.
    """

    step: float
    sender: Any
    recipients: tuple
    text: str

    @classmethod
    def of(cls, step: float, content: Any) -> "Message":
        """A message from an event's content; a bare text comes without a sender."""
        if not isinstance(content, dict):
            return cls(step, None, (), str(content))
        said = content.get("message")
        text = (
            said
            if isinstance(said, str)
            else render.message_text(
                {k: v for k, v in content.items() if k != "sender"}
            )
        )
        recipients = content.get("recipients") or ()
        several = isinstance(recipients, list | tuple)
        return cls(
            step,
            content.get("sender"),
            tuple(recipients) if several else (recipients,),
            text,
        )

    def line(self, voice: Voice = PLAIN) -> str:
        """``Agent 4 says: …`` on one line."""
        said = {"message": self.text, "sender": self.sender}
        said["recipients"] = list(self.recipients)
        return render.message_text(said, voice=voice)
