"""All texts of a run, each once, with who had them from when to when.

A text is embedded sentence by sentence, so that a long summary matches a query by the
sentence that is about it.
"""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from sqlalchemy import select

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder
from mesa_memory.runs import Run
from mesa_memory.stores import schema
from mesa_memory.viz.data.spread.groups import Groups, grouped

records = schema.records
#: number of newest steps that are read again for records that have ended
REREAD_STEPS = 12
#: sentences that are embedded at once
BATCH = 20_000
_BETWEEN = re.compile(r"(?<=[.!?。！？])\s+|\n+|\s•\s")


@dataclass(frozen=True)
class Corpus:
    """The texts of a run, and the lives of the records that have them.

    Attributes:
        agents, steps: unique ids, and the finished steps.
        texts: each once, in order of arrival.
        pieces: their sentences, each once.
        vectors: shape (pieces, dim), float16; length 1 or zero.
        parts: the numbers of the pieces of all texts, one text after the other.
        starts: shape (texts,), where in ``parts`` a text begins.
        groups: which of the pieces say the same.
        kinds: names of the kinds of record.
        lives: one row for each record, by ``seq``; fields seq, agent, kind, text
            (numbers of these) and valid_from, valid_to (NaN: until now).
    """

    agents: list[Any]
    steps: list[float]
    texts: list[str]
    pieces: list[str]
    vectors: np.ndarray
    parts: np.ndarray
    starts: np.ndarray
    groups: Groups
    kinds: list[str]
    lives: np.ndarray


LIFE = np.dtype(
    [
        ("seq", "i8"),
        ("agent", "i4"),
        ("kind", "i4"),
        ("text", "i4"),
        ("valid_from", "f8"),
        ("valid_to", "f8"),
    ]
)


@cache
def static() -> Embedder:
    """The embedder that comes with the package; it needs no network."""
    return embedder("static")


def corpus(run: Run, before: Corpus | None = None) -> Corpus:
    """The texts until now.

    Args:
        before: what was read earlier; then only what is new is read and embedded.
    """
    steps, known = run.steps, run.unique_ids
    agents = list(known.values())
    old = before
    if old and (old.agents != agents or steps[: len(old.steps)] != old.steps):
        old = None
    old = old or _nothing(agents)
    after = int(old.lives["seq"][-1]) if len(old.lives) else -1
    kinds, texts = _Numbers(old.kinds), _Numbers(old.texts)
    places = {name: place for place, name in enumerate(known)}
    fresh = np.array(
        [
            (seq, places[agent], kinds[kind], texts[text], opened, _until(closed))
            for seq, agent, kind, text, opened, closed in _rows(run, after)
            if text and agent in places
        ],
        dtype=LIFE,
    )
    fresh.sort(order="seq")
    lives = np.concatenate([_ended(run, old), fresh])
    pieces = _Numbers(old.pieces)
    parts, starts = _taken_apart(texts.names[len(old.texts) :], pieces)
    vectors = _embedded(pieces.names[len(old.pieces) :])
    return Corpus(
        agents,
        steps,
        texts.names,
        pieces.names,
        np.concatenate([old.vectors, vectors]),
        np.concatenate([old.parts, parts]),
        np.concatenate([old.starts, starts + len(old.parts)]),
        grouped(pieces.names) if len(pieces.names) > len(old.pieces) else old.groups,
        kinds.names,
        lives,
    )


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text; a blank text is one."""
    found = [piece for piece in _BETWEEN.split(text) if piece.strip()]
    return found or [text]


class _Numbers:
    """Numbers names in the order in which they come."""

    def __init__(self, names: Sequence[str]) -> None:
        self.names = list(names)
        self._places = {name: place for place, name in enumerate(names)}

    def __getitem__(self, name: str) -> int:
        place = self._places.setdefault(name, len(self.names))
        if place == len(self.names):
            self.names.append(name)
        return place


def _nothing(agents: list[Any]) -> Corpus:
    numbers = np.zeros(0, dtype=np.int64)
    return Corpus(
        *(agents, [], [], [], np.zeros((0, static().dim), dtype=np.float16)),
        *(numbers, numbers, grouped([]), [], np.zeros(0, dtype=LIFE)),
    )


def _until(closed: float | None) -> float:
    return np.nan if closed is None else closed


def _rows(run: Run, after: int) -> Iterable[Any]:
    own = (records.c.seq, records.c.agent, records.c.kind, records.c.text)
    lived = (records.c.valid_from, records.c.valid_to)
    # From end to end: through an index, every record takes ten times as long.
    wanted = select(*own, *lived).where(records.c.run + 0 == run.id)
    for rows in run.chunks(wanted.where(records.c.seq > after)):
        yield from rows


def _ended(run: Run, old: Corpus) -> np.ndarray:
    """The lives that were known, with the ends that have come since."""
    if not len(old.lives):
        return old.lives
    last = int(old.lives["seq"][-1])
    since = old.steps[-REREAD_STEPS:][0]
    wanted = select(records.c.seq, records.c.valid_to).where(
        records.c.run + 0 == run.id,
        records.c.seq <= last,
        records.c.valid_to >= since,
    )
    lives = old.lives.copy()
    rows = run.rows(wanted)
    if rows:
        seqs, ends = (np.array(column) for column in zip(*rows))
        places = np.searchsorted(lives["seq"], seqs)
        same = lives["seq"][places] == seqs
        lives["valid_to"][places[same]] = ends[same]
    return lives


def _taken_apart(
    texts: Sequence[str], pieces: _Numbers
) -> tuple[np.ndarray, np.ndarray]:
    parts: list[int] = []
    starts = []
    for text in texts:
        starts.append(len(parts))
        parts += [pieces[piece] for piece in sentences(text)]
    return np.array(parts, dtype=np.int64), np.array(starts, dtype=np.int64)


def _embedded(pieces: Sequence[str]) -> np.ndarray:
    """Their vectors in half precision: a hundred thousand are 50 MB."""
    maker = static()
    blocks = [np.zeros((0, maker.dim), dtype=np.float16)]
    for start in range(0, len(pieces), BATCH):
        block = maker.embed(pieces[start : start + BATCH])
        blocks.append(block.astype(np.float16))
    return np.concatenate(blocks)
