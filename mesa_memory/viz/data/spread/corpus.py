"""All texts of a run, each once, and the times at which agents had them.

A text is embedded sentence by sentence, so that a long summary matches a query by the
sentence that is about it.
"""

import re
import zlib
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
from sqlalchemy import select

from mesa_memory.embedders import embedder
from mesa_memory.embedders.base import Embedder
from mesa_memory.runs import Run
from mesa_memory.stores import schema

records = schema.records
_BETWEEN = re.compile(r"(?<=[.!?。！？])\s+|\n+|\s•\s")
#: who speaks and when, before what is said; a summary may name several
_FRAME = re.compile(
    r"^\W*(?:Step [\d.]+:\s*|(?:Agent )?[^\s:][^:]{0,40}? says(?: to [^:]{1,60})?:\s*)+"
)
_DIGITS = re.compile(r"\d+")


@dataclass(frozen=True)
class Corpus:
    """The texts of a run, and the lives of the records that have them.

    Attributes:
        agents, steps: unique ids, and the finished steps.
        texts: each once, in order of arrival.
        pieces: their sentences, each once.
        vectors: shape (pieces, dim), float16; length 1 or zero.
        parts: ``text`` and ``piece`` (places of these), a row for each sentence of each
            text, in order.
        groups: words of each group of sentences that say the same, in order of arrival;
            a number in it is ``#``.
        group_of: shape (pieces,), the group of each sentence.
        lives: a row for each record, by ``seq``; columns seq, agent (place), kind, text
            (place), valid_from and valid_to (NaN: until now).
    """

    agents: list[Any]
    steps: list[float]
    texts: list[str]
    pieces: list[str]
    vectors: np.ndarray
    parts: pd.DataFrame
    groups: list[str]
    group_of: np.ndarray
    lives: pd.DataFrame

    @property
    def keys(self) -> list[str]:
        """Short names of the groups, the same in every process."""
        return [f"{zlib.crc32(name.encode()):08x}" for name in self.groups]


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
    lives = _lives(run)
    lives["agent"] = lives["agent"].map({name: n for n, name in enumerate(known)})
    lives = lives.dropna(subset="agent").astype({"agent": int})
    lives["text"], texts = pd.factorize(lives["text"])
    split = [(n, piece) for n, text in enumerate(texts) for piece in sentences(text)]
    parts = pd.DataFrame(split, columns=["text", "piece"])
    parts["piece"], pieces = pd.factorize(parts["piece"])
    group_of, groups = pd.factorize(np.array([*map(said, pieces)], dtype=object))
    return Corpus(
        list(known.values()),
        run.steps,
        list(texts),
        list(pieces),
        _embedded(list(pieces), before),
        parts,
        list(groups),
        group_of,
        lives,
    )


def sentences(text: str) -> list[str]:
    """The sentences and lines of a text; a blank text is one."""
    found = [piece for piece in _BETWEEN.split(text) if piece.strip()]
    return found or [text]


def said(piece: str) -> str:
    """The words of a sentence, without speaker, step and numbers."""
    bare = _FRAME.sub("", piece).strip(" -•")
    return _DIGITS.sub("#", bare) or piece


def _lives(run: Run) -> pd.DataFrame:
    """The columns of ``Corpus.lives`` of all records with a text, as in the store."""
    names = ("seq", "agent", "kind", "text", "valid_from", "valid_to")
    # From end to end: through an index, every record takes ten times as long.
    wanted = select(*(records.c[name] for name in names)).where(
        records.c.run + 0 == run.id
    )
    rows = [row for rows in run.chunks(wanted) for row in rows if row[3]]
    lives = pd.DataFrame(rows, columns=list(names)).sort_values("seq")
    return lives.astype({"valid_from": float, "valid_to": float})


def _embedded(pieces: list[str], before: Corpus | None) -> np.ndarray:
    """Their vectors in half precision: a hundred thousand are 50 MB."""
    maker = static()
    known = dict(zip(before.pieces, before.vectors)) if before else {}
    fresh = [piece for piece in pieces if piece not in known]
    if fresh:
        known |= zip(fresh, maker.embed(fresh).astype(np.float16))
    vectors = [known[piece] for piece in pieces]
    return np.array(vectors, dtype=np.float16).reshape(len(pieces), maker.dim)
