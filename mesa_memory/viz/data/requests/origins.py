"""Which request made a record, and which records came of a request.

No column says so. A request and what its reply became are of one agent and one step, and
the words of the record stand in the reply; so the two are found from each other.
"""

import json
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from mesa_memory.core.content import words
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data.agent import Past, Row
from mesa_memory.viz.data.requests.requests import Request

#: what requests of a purpose make; those of a user's own are known by their words
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
#: fields of a record's content that a reply says in the same words
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
        by_hand: ids of records that somebody made or changed.
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
    """The records that came of a request, in order of arrival.

    Args:
        past: of the agent.
        among: its requests of the same step.
        by_hand: see ``maker``.
    """
    step = request.row["step"]
    rows = [row for row in past.rows if row["step"] == step]
    found = []
    for row in rows:
        by = maker(row, among, by_hand)
        if by is not None and by.request.id == request.id:
            found.append(row)
    return found


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
    content = row["content"] if isinstance(row["content"], Mapping) else {}
    texts = [_bare(str(content[name])) for name in SAID if content.get(name)]
    texts = texts[-1:] or [_bare(row["text"] or "")]
    reply = _words_of(request.reply)
    return any(text and text in reply for text in texts)


@lru_cache(maxsize=64)
def _words_of(reply: str) -> str:
    return " ".join(map(_bare, _texts(reply)))


def _texts(reply: str) -> list[str]:
    """The texts in a reply: those of its JSON, or all of it."""
    begin = reply.find("{")
    try:
        given = json.JSONDecoder(strict=False).raw_decode(reply[:REPLY_CHARS], begin)[0]
    except (ValueError, RecursionError):
        return [reply[:REPLY_CHARS]]
    return _leaves(given)


def _leaves(value: Any) -> list[str]:
    found: list[str] = []
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if isinstance(one, Mapping):
            waiting.extend(reversed(list(one.values())))
        elif isinstance(one, list):
            waiting.extend(reversed(one))
        elif isinstance(one, str):
            found.append(one)
    return found


def _bare(text: str) -> str:
    return " ".join(words(text))
