"""One agent's live records as growing arrays, with their words and embeddings."""

import math
from collections.abc import Collection, Sequence
from typing import Any

import numpy as np

from mesa_memory import retrieval
from mesa_memory.errors import EmbedderError
from mesa_memory.lexical import LexicalIndex, words
from mesa_memory.records import MemoryRecord

#: not worth tidying up below so many
SMALL = 64
_COLUMNS = {
    "importance": "f8", "step": "f8", "accessed": "f8",
    "who": "i4", "kind": "i4", "place": "i4", "alive": "?",
    "embedded": "?",
}  # fmt: skip


class RecordTable:
    """The live records of one agent, in order of arrival.

    Attributes:
        source: name of the embedder whose vectors are kept; empty before the first.
        dim: their length; 0 before the first.
    """

    def __init__(self) -> None:
        self.source, self.dim = "", 0
        self._records: list[MemoryRecord] = []
        self._slots: dict[str, int] = {}
        self._lexical = LexicalIndex()
        self._columns = {n: np.zeros(16, dtype=t) for n, t in _COLUMNS.items()}
        self._vectors = np.zeros((16, 0), dtype=np.float32)
        self._codes: dict[Any, int] = {}  # of kinds and places
        self._speakers: dict[str, int] = {"": 0}

    def __len__(self) -> int:
        """How many records are live."""
        return len(self._slots)

    def __contains__(self, record: MemoryRecord) -> bool:
        return record.id in self._slots

    def add(
        self,
        record: MemoryRecord,
        text: str,
        vector: Any = None,
        who: Any = None,
        *,
        source: str = "",
        place: Any = None,
    ) -> None:
        """Appends a record.

        Args:
            text: says what, who and when.
            vector: its embedding; without one, the record is found by words only.
            who: whose words or deeds these are, as a query would name them.
            source: name of the embedder.
            place: neighbours have the same; by default the record's step.

        Raises:
            EmbedderError: if the vector is not of the kind that is kept here.
            ValueError: if the record is here already.
        """
        if record.id in self._slots:
            raise ValueError(f"the record {record.id!r} is in the index already")
        # Whatever may fail comes first, so that nothing is half added.
        importance = retrieval.importance_of(record.importance)
        row = None if vector is None else self._checked(vector, source)
        slot = self._lexical.add(text)
        self._make_room(slot + 1)
        self._records.append(record)
        self._slots[record.id] = slot
        columns = self._columns
        columns["importance"][slot] = importance
        columns["step"][slot] = columns["accessed"][slot] = record.step
        columns["who"][slot] = self._speaker(who)
        columns["kind"][slot] = self._code(("kind", record.kind))
        columns["place"][slot] = self._code(record.step if place is None else place)
        columns["alive"][slot] = True
        columns["embedded"][slot] = row is not None
        self._vectors[slot] = 0 if row is None else row

    def embed_all(
        self, records: Sequence[MemoryRecord], vectors: Any, source: str = ""
    ) -> None:
        """Gives records the embeddings that they lack; all or none, raises as ``add``.

        Args:
            records: records of this index.
            vectors: one row for each.
            source: name of the embedder.
        """
        slots = [self._slots[record.id] for record in records]
        if len(vectors) != len(slots):
            raise EmbedderError(f"{len(vectors)} vectors came for {len(slots)} records")
        before = self.source, self.dim
        try:
            rows = [self._checked(vector, source) for vector in vectors]
        except EmbedderError:
            self.source, self.dim = before
            raise
        self._make_room(1)
        if slots:
            self._vectors[slots] = rows
            self._columns["embedded"][slots] = True

    def lacking(self) -> list[MemoryRecord]:
        """The live records without an embedding, oldest first."""
        count, columns = len(self._records), self._columns
        bare = columns["alive"][:count] & ~columns["embedded"][:count]
        return [self._records[slot] for slot in np.flatnonzero(bare)]

    def grade(self, record: MemoryRecord, importance: float | None) -> None:
        """Takes up a record's importance."""
        part = retrieval.importance_of(importance)
        self._columns["importance"][self._slots[record.id]] = part

    def remove(self, record: MemoryRecord) -> None:
        """Takes a record out, if it is in."""
        slot = self._slots.pop(record.id, None)
        if slot is None:
            return
        self._columns["alive"][slot] = False
        self._lexical.remove(slot)
        if len(self._records) > max(SMALL, 2 * len(self._slots)):
            self._compact()

    def _candidates(
        self,
        kinds: Collection[str] | None,
        since: float | None,
        until: float | None,
        without: Collection[MemoryRecord] = (),
    ) -> slice | np.ndarray:
        """Where the records asked for are; a slice, which copies nothing, if all."""
        count, columns = len(self._records), self._columns
        whole = kinds is None and since is None and until is None and not without
        if whole and count == len(self._slots):
            return slice(0, count)
        wanted = columns["alive"][:count]
        if kinds is not None:
            names = [kinds] if isinstance(kinds, str) else kinds
            codes = [self._codes.get(("kind", name), -1) for name in names]
            wanted = wanted & np.isin(columns["kind"][:count], codes)
        if since is not None:
            wanted = wanted & (columns["step"][:count] >= since)
        if until is not None:
            wanted = wanted & (columns["step"][:count] <= until)
        if left_out := [self._slots[r.id] for r in without if r.id in self._slots]:
            wanted = wanted.copy()
            wanted[left_out] = False
        return np.flatnonzero(wanted)

    def _checked(self, vector: Any, source: str, keep: bool = True) -> np.ndarray:
        row = np.asarray(vector, dtype=np.float32)
        if self.dim and source != self.source:
            raise EmbedderError(
                f"the vectors kept here are of {self.source!r}, this one is of "
                f"{source!r}: their cosines mean nothing. Use one embedder per run."
            )
        if row.ndim != 1 or not row.size or (self.dim and row.size != self.dim):
            raise EmbedderError(
                f"an embedding must be one row of {self.dim or 'some'} numbers, got "
                f"shape {row.shape}"
            )
        if not math.isfinite(row @ row):
            raise EmbedderError("an embedding must not hold NaN or infinite numbers")
        if keep and not self.dim:
            self.source, self.dim = source, row.size
        return row

    def _make_room(self, count: int) -> None:
        have = len(self._vectors)
        if count > have:
            for name, column in self._columns.items():
                self._columns[name] = np.resize(column, 2 * have)
        if count > have or self._vectors.shape[1] != self.dim:
            rows = np.zeros((len(self._columns["step"]), self.dim), dtype=np.float32)
            if self._vectors.shape[1] == self.dim:
                rows[:have] = self._vectors
            self._vectors = rows

    def _compact(self) -> None:
        kept = self._lexical.compact()
        self._records = [self._records[slot] for slot in kept]
        self._slots = {record.id: slot for slot, record in enumerate(self._records)}
        for column in (*self._columns.values(), self._vectors):
            column[: len(kept)] = column[kept]

    def _code(self, thing: Any) -> int:
        return self._codes.setdefault(thing, len(self._codes))

    def _speaker(self, who: Any) -> int:
        name = " ".join(words(str(who))) if who is not None else ""
        return self._speakers.setdefault(name, len(self._speakers))
