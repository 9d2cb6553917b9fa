"""The request that made a record.

The recording does not link them. Both are of one agent and one step, and the words of
the record stand in the reply.
"""

import re
from collections.abc import Iterable

from mesa_memory.core.content import words
from mesa_memory.core.records import DERIVED
from mesa_memory.viz.data.agent import Row

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


def _says(request: Row, row: Row) -> bool:
    """True if the words of a record stand in a reply."""
    texts = [str(row["content"][name]) for name in SAID if row["content"].get(name)]
    text = _bare(texts[-1] if texts else row["text"] or "")
    reply = _ESCAPED.sub(lambda m: chr(int(m[1] or "20", 16)), request["reply"])
    return bool(text) and text in _bare(reply)


def _bare(text: str) -> str:
    return " ".join(words(text))
