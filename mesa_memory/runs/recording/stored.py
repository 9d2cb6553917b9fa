"""Records and vectors of one memory, read from a store.

The shipped embedder gives the same vector everywhere, so its vectors are not kept. Any
other may be out of reach, cost money, or answer differently tomorrow.
"""

import base64
import hashlib
from collections.abc import Sequence
from itertools import islice
from typing import Any

import numpy as np
import sqlalchemy as sa

from mesa_memory.core.records import BY_HAND, DERIVED, EDITED, ORIGINS, MemoryRecord
from mesa_memory.core.snapshot import newest as newest_of
from mesa_memory.errors import ReplayMismatch
from mesa_memory.stores.schema import records, steps, vectors, wrong
from mesa_memory.stores.sql import CHANGES, Store

#: rows that are fetched at a time where only the newest are wanted
PAGE_ROWS = 200
#: columns of a record as they are, and steps
_AS_STORED = (
    "id", "layer", "kind", "content", "importance", "subject", "origin",
    "closed_because", "superseded_by",
)  # fmt: skip
_CLOCKS = ("step", "valid_from", "valid_to", "stale_since")
#: kinds of records whose content is read as a text
CONCLUDED_KINDS = (
    "summary", "impression", "reflection", "fact", "conversation", "story", "chapter",
)  # fmt: skip


class StoredRecords:
    """The records of an agent's layer as they were at the end of a step.

    Args:
        agent: the agent's unique id.
        step: what was written after it does not count, see ``Store.truncate``.
    """

    def __init__(
        self, store: Store, run: int, agent: Any, layer: str, step: float
    ) -> None:
        self._store, self._agent, self._step = store, agent, step
        own = {"run": run, "agent": str(agent), "layer": layer}
        end = last_number(run, step)
        self._reopened = sa.func.coalesce(records.c.closed_at > step, False)
        found = sa.select(records, self._reopened.label("reopened"))
        self._own = found.filter_by(**own).where(records.c.seq <= end)
        self._read: dict[str, MemoryRecord] = {}
        self._edited: dict[str, int] | None = None

    def __getitem__(self, key: str) -> MemoryRecord:
        """See ``snapshot.RecordLookup``."""
        if not self._read:
            self.current()
        if key not in self._read and not self._all(self._own.filter_by(id=key)):
            place = self._store.location
            raise wrong("a checkpoint", "the id of a record of its run", key, place)
        return self._read[key]

    def current(self) -> list[MemoryRecord]:
        """See ``snapshot.RecordLookup``."""
        open_ = self._own.where(records.c.valid_to.is_(None) | self._reopened)
        found = self._all(open_.order_by(records.c.seq))
        return sorted(found, key=lambda record: record.order)

    def of_kind(self, kind: str, last: int | None = None) -> list[MemoryRecord]:
        """See ``snapshot.RecordLookup``."""
        ended = sa.func.coalesce(records.c.closed_because, "")
        still = self._own.where(ended.not_in(BY_HAND) | self._reopened)
        newest = still.filter_by(kind=kind).order_by(records.c.seq.desc())
        newest = newest.execution_options(yield_per=PAGE_ROWS)
        # What was edited has a late number and stands at an early place.
        most = None if last is None else last + len(self._places())
        with self._store.reading() as on:
            rows = list(islice(on.execute(newest).mappings(), most))
        found = [self._record(row) for row in reversed(rows)]
        return newest_of(sorted(found, key=lambda record: record.order), last)

    def _all(self, query: sa.Select) -> list[MemoryRecord]:
        with self._store.reading() as on:
            rows = list(on.execute(query).mappings())
        return [self._record(row) for row in rows]

    def _places(self) -> dict[str, int]:
        """The numbers of the records in whose place others were put by ``edit``."""
        if self._edited is None:
            c = records.c
            edits = self._own.where(c.closed_because == EDITED, ~self._reopened)
            edits = edits.with_only_columns(c.superseded_by, c.id, c.seq)
            found: dict[str, int] = {}
            with self._store.reading() as on:
                rows: Any = on.execute(edits.order_by(c.seq))
                for new, old, seq in rows:
                    found[new] = found.get(old, seq)
            self._edited = found
        return self._edited

    def _record(self, row: Any) -> MemoryRecord:
        known = self._read.get(row["id"])
        made = row["kind"] in CONCLUDED_KINDS and row["origin"] == DERIVED
        told = not made or (row["content"] or {}).get("text")
        sources = row["sources"] or []
        plain = isinstance(sources, list) and all(isinstance(n, str) for n in sources)
        plain = plain and row["origin"] in ORIGINS
        if not plain or (told is not True and not isinstance(told, str)):
            place = self._store.location
            raise wrong("records.content", "what its kind has", row["id"], place)
        if known is None:
            known = self._read[row["id"]] = _record(self._then(row), self._agent)
            known.order = (0, self._places().get(known.id, row["seq"]))
        return known

    def _then(self, row: Any) -> dict[str, Any]:
        """The row as it was at the end of the step."""
        then = dict(row)
        for columns in CHANGES.values():
            changed_at = row[columns[-1]]
            if changed_at is not None and changed_at > self._step:
                then |= dict.fromkeys(columns)
        return then


def last_number(run: int, step: float) -> sa.ScalarSelect:
    """The query for the number of the last row written by the end of a step."""
    seq = sa.func.coalesce(sa.func.max(steps.c.seq), 0)
    query = sa.select(seq).where(steps.c.run == run, steps.c.step <= step)
    return query.scalar_subquery()


def _record(row: Any, agent: Any) -> MemoryRecord:
    same = {name: row[name] for name in _AS_STORED}
    clocks = {name: _clock(row[name]) for name in _CLOCKS}
    sources = tuple(row["sources"] or ())
    return MemoryRecord(agent=agent, sources=sources, **same, **clocks)


def _clock(step: Any) -> Any:
    """A step as the model counts it: whole where it is; None stays."""
    return step if step is None or step != int(step) else int(step)


class RecordedVectors:
    """The vectors in a run.

    Args:
        store, run: where they are.
        complete: True if nothing else may be asked: the run is being replayed.
    """

    def __init__(self, store: Store, run: int, complete: bool = False) -> None:
        self._store, self._run, self.complete = store, run, complete

    def find(self, name: str, texts: Sequence[str]) -> dict[str, np.ndarray]:
        """Float32 vectors by text, of those texts that the embedder ``name`` was given.

        Raises:
            StoreError: if the store fails.
        """
        keys = {key_of(name, text): text for text in texts}
        query = sa.select(vectors.c.key, vectors.c.vector).filter_by(run=self._run)
        with self._store.reading() as on:
            rows = on.execute(query.where(vectors.c.key.in_(keys))).all()
        return {keys[key]: self._vector(written) for key, written in rows}

    def missing(self, name: str, texts: Sequence[str]) -> ReplayMismatch:
        """The error for texts that a replayed run was not given."""
        return ReplayMismatch(
            f"the recorded run lacks the vectors by {name} of {len(texts)} texts, such as "
            f"{texts[0]!r:.80}. Replay needs the same model, parameters, embedder and "
            "versions.",
            purpose="embed",
        )

    def _vector(self, written: str) -> np.ndarray:
        try:
            raw = base64.b64decode(written, validate=True)
            vector = np.frombuffer(raw, dtype="<f4").astype(np.float32)
        except ValueError:
            vector = np.array([np.nan])
        if not np.isfinite(vector).all():
            place = self._store.location
            raise wrong("vectors.vector", "a vector of finite numbers", written, place)
        return vector


def key_of(name: str, text: str) -> str:
    """Under which the vector of a text by the embedder ``name`` is kept."""
    said = f"{name}\0{text}".encode("utf-8", "surrogatepass")
    return hashlib.blake2b(said, digest_size=20).hexdigest()


def row_of(key: str, vector: np.ndarray) -> dict[str, str]:
    """The row of a vector: float32, little-endian, in base64."""
    raw = np.asarray(vector, dtype="<f4").tobytes()
    return {"key": key, "vector": base64.b64encode(raw).decode("ascii")}
