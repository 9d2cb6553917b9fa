"""Messages between agents, step by step."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.records import IMPORTED
from mesa_memory.runs import Run, measured, past


@dataclass(frozen=True)
class SpokenMessage:
    """Words that one agent said to another.

    Attributes:
        sender, recipient: unique ids of agents of the run.
        text: the words alone.
        record: id of the record, if there is one the recipient's.
    """

    sender: Any
    recipient: Any
    text: str
    record: str


def said(run: Run, first: int, count: int) -> list[list[SpokenMessage]]:
    """The messages of some finished steps that follow each other, in order.

    A message to several is one for each of them. Messages of others than the run's
    agents, and messages that were carried in by hand, are left out.

    Args:
        run: a recorded run.
        first: place of the first of these steps among all finished ones, from 0.
        count: number of steps; unfinished ones are left out.

    Returns:
        A list for each step.
    """
    ends = measured.ends(run)
    after = ends[first - 1][1] if first else -1
    seqs = [seq for _, seq in ends[first : first + count]]
    found: list[dict[tuple, SpokenMessage]] = [{} for _ in seqs]
    if not seqs:
        return []
    place, known = 0, run.unique_ids
    for row in past.messages(run, after, seqs[-1]):
        while row["seq"] > seqs[place]:
            place += 1
        for message in _messages(row, known):
            _keep(found[place], message, row["agent"])
    return [list(messages.values()) for messages in found]


def _messages(
    row: Mapping[str, Any], known: Mapping[str, Any]
) -> Iterable[SpokenMessage]:
    """The messages in a record, one for each recipient."""
    content = row["content"]
    if not isinstance(content, Mapping) or row["origin"] == IMPORTED:
        return
    sender = known.get(str(content.get("sender")))
    text = content.get("message")
    if sender is None or text is None:
        return
    heard = [row["agent"]] if row["agent"] != sender else _recipients(content, known)
    for recipient in heard:
        if recipient != sender:
            yield SpokenMessage(sender, recipient, str(text), row["id"])


def _recipients(content: Mapping[str, Any], known: Mapping[str, Any]) -> list[Any]:
    given = content.get("recipients")
    several = given if isinstance(given, list | tuple) else [given]
    return [known[str(one)] for one in several if str(one) in known]


def _keep(
    found: dict[tuple, SpokenMessage], message: SpokenMessage, owner: Any
) -> None:
    """Sender and recipient remember one message; the recipient's record stands for it."""
    key = (message.sender, message.recipient, message.text)
    if key not in found or message.recipient == owner:
        found[key] = message
