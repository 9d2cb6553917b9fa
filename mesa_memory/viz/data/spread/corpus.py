"""All texts of a run, each once, and the times at which agents had them.

A text is embedded sentence by sentence, so that a long summary matches a query by the
sentence that is about it.
"""

import re
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
#: sentences that are embedded at once
BATCH_SENTENCES = 20_000
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
        before: an earlier result; then only new sentences are embedded.
    """
    known = run.unique_ids
    agents = {name: place for place, name in enumerate(known)}
    kinds: dict[str, int] = {}
    texts: dict[str, int] = {}
    lives = np.array(
        [
            (
                seq,
                agents[agent],
                kinds.setdefault(kind, len(kinds)),
                texts.setdefault(text, len(texts)),
                opened,
                np.nan if closed is None else closed,
            )
            for seq, agent, kind, text, opened, closed in _rows(run)
            if text and agent in agents
        ],
        dtype=LIFE,
    )
    pieces: dict[str, int] = {}
    parts: list[int] = []
    starts = []
    for text in texts:
        starts.append(len(parts))
        parts += [pieces.setdefault(piece, len(pieces)) for piece in sentences(text)]
    return Corpus(
        list(known.values()),
        run.steps,
        list(texts),
        list(pieces),
        _embedded(list(pieces), before),
        np.array(parts, dtype=np.int64),
        np.array(starts, dtype=np.int64),
        grouped(list(pieces)),
        list(kinds),
        lives,
    )


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text; a blank text is one."""
    found = [piece for piece in _BETWEEN.split(text) if piece.strip()]
    return found or [text]


def _rows(run: Run) -> list[tuple]:
    """The columns of ``LIFE`` of all records, with names and texts, in order."""
    own = (records.c.seq, records.c.agent, records.c.kind, records.c.text)
    lived = (records.c.valid_from, records.c.valid_to)
    # From end to end: through an index, every record takes ten times as long.
    wanted = select(*own, *lived).where(records.c.run + 0 == run.id)
    return sorted(row for rows in run.chunks(wanted) for row in rows)


def _embedded(pieces: list[str], before: Corpus | None) -> np.ndarray:
    """Their vectors in half precision: a hundred thousand are 50 MB."""
    maker = static()
    known = dict(zip(before.pieces, before.vectors)) if before else {}
    fresh = [piece for piece in pieces if piece not in known]
    for start in range(0, len(fresh), BATCH_SENTENCES):
        batch = fresh[start : start + BATCH_SENTENCES]
        known |= zip(batch, maker.embed(batch).astype(np.float16))
    vectors = [known[piece] for piece in pieces]
    return np.array(vectors, dtype=np.float16).reshape(len(pieces), maker.dim)
