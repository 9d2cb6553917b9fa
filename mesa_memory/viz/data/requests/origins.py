"""The request that made a record, and the records that a request made.

The recording does not link them. Both are of one agent and one step, and the words of
the record stand in the reply.
"""

import re
from collections.abc import Iterable, Sequence

from mesa_memory.core.content import words
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data.agent import Past, Row

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
#: a letter, or a space, as strings in JSON write it
_ESCAPED = re.compile(r"\\(?:u([0-9a-fA-F]{4})|[nrt])")


def maker(row: Row, among: Iterable[Row]) -> tuple[Row, bool] | None:
    """The request that made a record; None if no request of these did.

    Args:
        row: a record.
        among: its agent's requests of the step in which it was made.

    Returns:
        The request, and whether the record's words stand in its reply. Else it is the
        only one of its step and purpose.
    """
    if row["origin"] != DERIVED:
        return None
    answered = [r for r in among if r["error"] is None and r["step"] == row["step"]]
    fitting = [r for r in answered if row["kind"] in MAKES.get(r["purpose"], ())]
    own = [r for r in answered if r["purpose"] not in MAKES]
    # One that was asked again comes last.
    for request in (*reversed(fitting), *reversed(own)):
        if _says(request, row):
            return request, True
    return (fitting[0], False) if len(fitting) == 1 else None


def made(request: Row, past: Past, among: Sequence[Row]) -> list[Row]:
    """The records that a request made, in order of arrival.

    Args:
        past: of the agent.
        among: its requests of the same step.
    """
    rows = [row for row in past.rows if row["step"] == request["step"]]
    makers = [(row, maker(row, among)) for row in rows]
    return [row for row, by in makers if by and by[0]["id"] == request["id"]]


def graded(request: Row, past: Past) -> list[Row]:
    """The events that a request for grades names, with the grade they have now."""
    if request["purpose"] != "grade":
        return []
    told = _bare("\n".join(text for _, text in request["messages"]))
    step = request["step"]
    events = [r for r in past.rows if r["origin"] != DERIVED and r["step"] <= step]
    late = [r for r in events if r["graded_at"] is not None and r["graded_at"] >= step]
    return [row for row in late if _bare(row["text"] or "") in told]


def _says(request: Row, row: Row) -> bool:
    """True if the words of a record stand in a reply."""
    texts = [str(row["content"][name]) for name in SAID if row["content"].get(name)]
    text = _bare(texts[-1] if texts else row["text"] or "")
    reply = _ESCAPED.sub(lambda m: chr(int(m[1] or "20", 16)), request["reply"])
    return bool(text) and text in _bare(reply)


def _bare(text: str) -> str:
    return " ".join(words(text))
