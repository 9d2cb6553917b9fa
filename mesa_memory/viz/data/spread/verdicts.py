"""Which sentences state the same as a text, as a model judges it: requests, then ticks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from mesa_memory.core.content import brief, one_line
from mesa_memory.core.requests import Flow, LLMRequest
from mesa_memory.errors import BadReply, PromptTooLong
from mesa_memory.tasks.offline.same import BATCH, SAME
from mesa_memory.viz.data.spread import spread
from mesa_memory.viz.data.spread.groups import Ticks

#: what is less similar than this share of the least that counts is not judged
NEAR = 0.5
#: sentences that are judged, at most
MOST = 200
#: characters of the text, and of a sentence, that are sent
TEXT_CHARS, LINE_CHARS = 1000, 300
#: a piece of a batch with this many sentences is not halved any more
SMALL = 10
#: small pieces without a usable reply, after which the model is asked no more
HARD = 3
#: tokens of a reply for each sentence, about
REPLY_TOKENS = 14


@dataclass(frozen=True)
class Wanted:
    """What is looked for.

    Attributes:
        text: it is one line.
        unlike: what is not meant; empty if nothing.
    """

    text: str
    unlike: str = ""


@dataclass(frozen=True)
class Judged:
    """What came of the verdicts.

    Attributes:
        ticks: of the groups that got a verdict, by key.
        same, other: how many of them state the same, and how many do not.
        changed: how many counted before and do not now, or the other way round.
        left: how many got no verdict.
    """

    ticks: Ticks
    same: int
    other: int
    changed: int
    left: int


def candidates(
    found: spread.Found, least: float, kind: str | None, ticks: Ticks
) -> list[dict[str, Any]]:
    """The rows of ``spread.nearest`` that are worth a verdict, best first."""
    rows = spread.nearest(found, least, kind, MOST, ticks)
    return [row for row in rows if row["similarity"] >= NEAR * least]


def requests(
    wanted: Wanted, rows: Sequence[Mapping[str, Any]], **whose: Any
) -> list[LLMRequest]:
    """The requests about such rows, if each gets a usable reply.

    Args:
        **whose: see ``Task.request``.
    """
    lines = _lines(rows)
    return [
        _request(wanted, [lines[n] for n in places], **whose)
        for places in _batches(len(lines))
    ]


def verdicts(
    wanted: Wanted,
    rows: Sequence[Mapping[str, Any]],
    told: Callable[[int], None] = lambda count: None,
    **whose: Any,
) -> Flow[dict[int, bool]]:
    """Asks whether the rows state the same; gives the verdicts by place.

    What a reply leaves out is asked for again. A batch that gets no usable reply is
    halved; a small piece that gets none has no verdict.

    Args:
        told: is told how many rows have a verdict.
        **whose: see ``Task.request``.

    Raises:
        BadReply: if the model seems to be unable to judge anything at all.
        LLMError: what ended the asking.
    """
    lines, found, hard = _lines(rows), dict[int, bool](), 0
    waiting = list(_batches(len(lines)))[::-1]
    while waiting:
        places = waiting.pop()
        request = _request(wanted, [lines[place] for place in places], **whose)
        try:
            said = yield from SAME.ask(request)
        except (BadReply, PromptTooLong):
            if len(places) > SMALL:
                half = (len(places) + 1) // 2
                waiting += [places[half:], places[:half]]
                continue
            hard += 1
            if not found or hard == HARD:
                raise
            continue
        found |= {places[number]: same for number, same in said.items()}
        told(len(found))
        if rest := [place for place in places if place not in found]:
            waiting.append(rest)
    return found


def judged(rows: Sequence[Mapping[str, Any]], found: Mapping[int, bool]) -> Judged:
    """What verdicts by place, from ``verdicts``, make of the rows."""
    same = sum(found.values())
    return Judged(
        {rows[place]["key"]: found[place] for place in sorted(found)},
        same,
        len(found) - same,
        sum(rows[place]["counts"] != verdict for place, verdict in found.items()),
        len(rows) - len(found),
    )


def _batches(count: int) -> Iterator[list[int]]:
    for start in range(0, count, BATCH):
        yield list(range(start, min(start + BATCH, count)))


def _lines(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return [one_line(brief(row["text"], LINE_CHARS)) for row in rows]


def _request(wanted: Wanted, lines: Sequence[str], **whose: Any) -> LLMRequest:
    """A request that is nobody's in the simulation."""
    text, unlike = (
        one_line(brief(each, TEXT_CHARS)) for each in (wanted.text, wanted.unlike)
    )
    inputs = {"text": text, "unlike": unlike, "lines": list(lines)}
    return SAME.request(inputs, agent=None, **whose)
