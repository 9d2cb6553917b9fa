"""All texts of a run, each once, and the times at which agents had them."""

import json
from dataclasses import dataclass
from typing import Any

import pandas as pd
from sqlalchemy import select

from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import record_text
from mesa_memory.core.text.clauses import sentences
from mesa_memory.runs import Run
from mesa_memory.stores import schema

records = schema.records


@dataclass(frozen=True)
class Corpus:
    """The texts of a run, and the lives of the records that have them.

    Attributes:
        agents, steps: unique ids, and the finished steps.
        texts: each once, in order of arrival.
        pieces: their sentences, each once.
        parts: ``text`` and ``piece`` (places of these), a row for each sentence of each
            text, in order.
        lives: a row for each record, by ``seq``; columns seq, agent (place), kind, text
            (place), valid_from and valid_to (NaN: until now).
    """

    agents: list[Any]
    steps: list[float]
    texts: list[str]
    pieces: list[str]
    parts: pd.DataFrame
    lives: pd.DataFrame


def corpus(run: Run) -> Corpus:
    """The texts until now."""
    known = run.unique_ids
    lives = _lives(run)
    lives["agent"] = lives["agent"].map({name: n for n, name in enumerate(known)})
    lives = lives.dropna(subset="agent").astype({"agent": int})
    lives["text"], texts = pd.factorize(lives["text"])
    split = [(n, piece) for n, text in enumerate(texts) for piece in sentences(text)]
    parts = pd.DataFrame(split, columns=["text", "piece"])
    parts["piece"], pieces = pd.factorize(parts["piece"])
    agents = list(known.values())
    return Corpus(agents, run.steps, list(texts), list(pieces), parts, lives)


def _lives(run: Run) -> pd.DataFrame:
    """The columns of ``Corpus.lives`` of all records with a text, as in the store."""
    names = ("seq", "agent", "kind", "text", "valid_from", "valid_to")
    # From end to end: through an index, every record takes ten times as long.
    wanted = select(*(records.c[name] for name in names), records.c.origin).where(
        records.c.run + 0 == run.id
    )
    rows = [
        (*row[:3], _text(row[2], row[6], row[3]), *row[4:6])
        for rows in run.chunks(wanted)
        for row in rows
        if row[3]
    ]
    lives = pd.DataFrame(rows, columns=list(names)).sort_values("seq")
    return lives.astype({"valid_from": float, "valid_to": float})


def _text(kind: str, origin: str, text: str) -> str:
    """The text of a record; of an event that the store wrote as JSON, its ``record_text``."""
    if origin == DERIVED or not text.startswith(f"{kind}: "):
        return text
    try:
        return record_text(kind, origin, json.loads(text[len(kind) + 2 :]))
    except (ValueError, RecursionError):  # a text of its own, or a crafted file
        return text
