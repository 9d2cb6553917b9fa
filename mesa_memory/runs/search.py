"""Search by meaning and by words, over agents and over runs.

Ranked as ``Scoring.relevance_only()`` ranks an agent's own records; see ``index``.
"""

import re
from collections.abc import Collection
from typing import Any

import numpy as np
from sqlalchemy import Text, literal, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.records import MemoryRecord
from mesa_memory.embedders import embedder as embedder_of
from mesa_memory.embedders.base import Embedder, vectors_by
from mesa_memory.errors import StoreCorrupt
from mesa_memory.retrieval.index import RecordIndex, ScoredRecord, checked_k
from mesa_memory.retrieval.scoring import Scoring
from mesa_memory.runs.recorded import RecordedRun, table_of
from mesa_memory.runs.state import valid_at
from mesa_memory.runs.table import Table, table

records = schema.records
_UNUSED_COLUMNS = ("sources", "content", "closed_because", "superseded_by")
COLUMNS = (
    *(c for c in records.columns if c.name not in _UNUSED_COLUMNS),
    # Only this of the content: taking all of it apart is slow.
    records.c.content.op("->>", return_type=Text())(literal("sender", Text)).label(
        "sender"
    ),
)
SHOWN_COLUMNS = (
    "rank", "score", "relevance", "dense", "lexical", "run", "agent", "layer", "kind",
    "origin", "step", "id", "text", "importance", "valid_from", "valid_to",
)  # fmt: skip


def search(
    run: RecordedRun,
    text: str,
    agent: Any,
    step: Any,
    k: int | None,
    kinds: str | Collection[str] | None,
    across: bool,
    embedder: Any,
) -> Table:
    """See ``Run.search``."""
    k = checked_k(k)
    if not isinstance(text, str) or not text.strip():
        raise ValueError(f"search needs a text to look for, got {text!r}")
    maker = embedder_of(embedder)
    if across and step is not None:
        raise ValueError(f"a step is one of a run, not of all; got step {step!r}")
    wanted = select(*COLUMNS)
    if not across:
        wanted = wanted.where(run.mine(records))
    if agent is not None:
        name = str(agent) if across else run.name_of(agent)
        wanted = wanted.where(records.c.agent == name)
    if step is not None:
        wanted = wanted.where(valid_at(run.step(step)))
    if kinds is not None:
        names = [kinds] if isinstance(kinds, str) else list(kinds)
        wanted = wanted.where(records.c.kind.in_(names))
    rows = sorted(table_of(run.store, wanted).rows, key=_place)
    for row in rows:
        if row["run"] == run.id:
            row["agent"] = run.unique_id(row["agent"])
    found = _ranked(rows, run.location, text, k, maker)
    return table(SHOWN_COLUMNS, [_line(rows[int(hit.record.id)], hit) for hit in found])


def _place(row: dict[str, Any]) -> tuple:
    return row["run"], row["agent"], row["layer"], row["seq"]


def _ranked(
    rows: list[dict[str, Any]], location: str, text: str, k: int | None, maker: Embedder
) -> list[ScoredRecord]:
    index = RecordIndex()
    found, said = [], []
    for number, row in enumerate(rows):
        kept = (str(number), row["agent"], row["layer"], row["kind"], row["step"])
        found.append(MemoryRecord(*kept, {}))
        text_of = row["text"] or ""
        said.append(_SPEAKER.sub("", text_of))
        # Neighbours are messages of one talk, or what the agent met in the same step.
        talk = row["subject"] if row["kind"] == "message" else None
        place = (row["run"], row["agent"], row["layer"], talk or row["step"], talk)
        full = f"Step {row['step']:.15g}: {text_of}"
        index.add(found[-1], full, who=_speaker(row), place=place)
    ready = [n for n, row in enumerate(rows) if row["embedder"] == maker.name]
    stored = _stored([rows[n] for n in ready], maker.dim, location)
    if ready:
        index.embed_all([found[n] for n in ready], stored, maker.name)
    bare = sorted(set(range(len(rows))) - set(ready))
    if bare:
        vectors = vectors_by(maker, [said[n] for n in bare])
        index.embed_all([found[n] for n in bare], vectors, maker.name)
    scoring = Scoring.relevance_only()
    vector = vectors_by(maker, [index.body(text, scoring)])[0]
    return index.recall(text, k, vector=vector, source=maker.name, scoring=scoring)


def _stored(rows: list[dict[str, Any]], dim: int, location: str) -> np.ndarray:
    """The embeddings of records, shape (rows, dim).

    Raises:
        StoreCorrupt: if they are not what their embedder makes.
    """
    wrong = [r["id"] for r in rows if len(r["embedding"] or b"") != 2 * dim]
    if not wrong:
        joined = b"".join(row["embedding"] for row in rows)
        vectors = np.frombuffer(joined, dtype="<f2").reshape(len(rows), dim)
        whole = np.isfinite(vectors).all(axis=1)
        if whole.all():
            return vectors.astype(np.float32)
        wrong = [rows[n]["id"] for n in np.flatnonzero(~whole)]
    raise StoreCorrupt(
        f"the embedding of record {wrong[0]!r} is not {dim} finite numbers. The file "
        "was changed or damaged; restore a backup.",
        location=location,
    )


#: who says what is said, as texts of messages begin
_SPEAKER = re.compile(r"^Agent \S{1,60} says: ")


def _speaker(row: dict[str, Any]) -> str | None:
    said = row["kind"] == "message" and row["sender"] is not None
    return f"Agent {row['sender']}" if said else None


def _line(row: dict[str, Any], hit: ScoredRecord) -> dict[str, Any]:
    parts = {name: hit.parts[name] for name in ("relevance", "dense", "lexical")}
    return row | parts | {"rank": hit.rank, "score": hit.score}
