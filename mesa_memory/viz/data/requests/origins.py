"""The request that made a record, and the records that a request made.

The recording does not link them. Both are of one agent and one step, and the words of
the record stand in the reply.
"""

import json
from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.content import words
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data.agent import Past, Row
from mesa_memory.viz.data.requests.requests import Request

#: kinds of records that requests of a purpose make; for other purposes words decide
MAKES = {
    "chapter": {"chapter"},
    "consolidate": {"summary"},
    "conversation": {"conversation"},
    "extract": {"fact", "summary"},
    "impression": {"impression"},
    "judge": {"fact"},
    "reflect": {"reflection"},
    "story": {"story"},
}
#: fields of a record's content that are copied from the reply
SAID = ("text", "value")
#: characters of a reply that are looked through
REPLY_CHARS = 100_000


@dataclass(frozen=True)
class Maker:
    """The request that made a record.

    Attributes:
        certain: the record's words stand in its reply; else it is the only one of its
            step and purpose.
    """

    request: Request
    certain: bool


def maker(
    row: Row, among: Iterable[Request], by_hand: Container[str] = ()
) -> Maker | None:
    """The request that made a record; None if no request of these did.

    Args:
        row: a record.
        among: its agent's requests of the step in which it was made.
        by_hand: ids of records that were made or changed by hand.
    """
    if row["origin"] != DERIVED or row["id"] in by_hand:
        return None
    answered = [
        r for r in among if r.row["error"] is None and r.row["step"] == row["step"]
    ]
    fitting = [r for r in answered if row["kind"] in MAKES.get(r.row["purpose"], ())]
    own = [r for r in answered if r.row["purpose"] not in MAKES]
    for group in (fitting, own):
        for request in reversed(group):  # one that was asked again comes last
            if _says(request, row):
                return Maker(request, certain=True)
    return Maker(fitting[0], certain=False) if len(fitting) == 1 else None


def made(
    request: Request,
    past: Past,
    among: Sequence[Request],
    by_hand: Container[str] = (),
) -> list[Row]:
    """The records that a request made, in order of arrival.

    Args:
        past: of the agent.
        among: its requests of the same step.
        by_hand: see ``maker``.
    """
    step = request.row["step"]
    rows = [row for row in past.rows if row["step"] == step]
    makers = [(row, maker(row, among, by_hand)) for row in rows]
    return [row for row, by in makers if by and by.request.id == request.id]


def graded(request: Request, past: Past) -> list[Row]:
    """The events that a request for grades names, with the grade they have now."""
    if request.row["purpose"] != "grade":
        return []
    told = _bare("\n".join(text for _, text in request.messages))
    step = request.row["step"]
    events = [r for r in past.rows if r["origin"] != DERIVED and r["step"] <= step]
    late = [r for r in events if r["graded_at"] is not None and r["graded_at"] >= step]
    return [row for row in late if _bare(row["text"] or "") in told]


def _says(request: Request, row: Row) -> bool:
    """True if the words of a record stand in a reply."""
    texts = [str(row["content"][name]) for name in SAID if row["content"].get(name)]
    text = _bare(texts[-1] if texts else row["text"] or "")
    return bool(text) and text in _bare(_strings(request.reply))


def _strings(reply: str) -> str:
    """The strings of a reply in JSON, or all of another reply."""
    begin = max(0, reply.find("{"))
    try:
        value = json.JSONDecoder(strict=False).raw_decode(reply[:REPLY_CHARS], begin)[0]
        return _joined(value)
    except (ValueError, RecursionError):
        return reply[:REPLY_CHARS]


def _joined(value: Any) -> str:
    if isinstance(value, str):
        return value
    parts = value.values() if isinstance(value, dict) else value
    return " ".join(map(_joined, parts)) if isinstance(value, dict | list) else ""


def _bare(text: str) -> str:
    return " ".join(words(text))
