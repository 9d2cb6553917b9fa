"""One agent's live records as growing arrays, with their words and embeddings."""

import math
from collections import Counter
from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from mesa_memory.core.importance import GRADE_MAX
from mesa_memory.core.records import MemoryRecord
from mesa_memory.core.text.vocabulary import ENGLISH_WORDS, Vocabulary, words
from mesa_memory.errors import EmbedderError
from mesa_memory.retrieval import scoring
from mesa_memory.retrieval.bm25 import LexicalIndex
from mesa_memory.retrieval.dialogue import DialogueContext, Likeness
from mesa_memory.retrieval.query import Speakers

#: with fewer rows than this, tidying up is not worth it
SMALLEST_TO_TIDY = 64
#: the newest records tell how alike those of a memory are
LIKENESS_RECORDS, LIKENESS_STRIDE = 400, 25
#: a remark of somebody about others loses this share of the boost of a named speaker
ABOUT_OTHERS = 0.5
#: of records that say the same, so many are named with the one recalled
KEPT_REPETITIONS = 20
#: a text that ends with one of them is a question
QUESTION_MARKS = ("?", "？", "؟")
#: the numbers of kept embeddings are multiples of 1/FRACTIONS
FRACTIONS = 2048
Slots = slice | np.ndarray
_COLUMNS = {
    "importance": "f8", "step": "f8", "accessed": "f8",
    "who": "i4", "kind": "i4", "subject": "i4", "place": "i4", "said": "i4",
    "times": "i4",
    "alive": "?", "embedded": "?", "voiced": "?", "dump": "?", "question": "?",
}  # fmt: skip


def rounded(rows: np.ndarray) -> np.ndarray:
    """Embeddings whose cosines single precision computes without an error.

    Products of multiples of 2**-11 are multiples of 2**-22, and single precision sums
    these exactly up to 4. So a cosine is the same in any order of summation: on every
    machine, with any number of threads, and with any rows beside it. Rounding
    itself moves a cosine by some 0.0001.

    Args:
        rows: float32, each row of length 1 or zero.
    """
    return np.rint(rows * FRACTIONS) / np.float32(FRACTIONS)


class RecordTable:
    """The live records of one agent, in order of arrival.

    Args:
        vocabulary: the words of the texts' language.

    Attributes:
        vocabulary: as given.
        source: name of the embedder whose vectors are kept; empty before the first.
        dim: their length; 0 before the first.
        top: the highest grade of importance there is; set before the first record.
        records: in slots, that is in order of arrival; also some that were removed.
        columns: an array for each property of a record, a row for each slot;
            there may be more rows than slots.
        vectors: an embedding for each slot, ``rounded``; zero without one.
        lexical: the words of each slot.
        speakers: who speaks, as numbers, and how a query names them.
        presented: record id -> its presentations, see ``activation.later_ones``, for those
            recalled by a scoring that forgets.
    """

    def __init__(self, vocabulary: Vocabulary = ENGLISH_WORDS) -> None:
        self.vocabulary = vocabulary
        self.source, self.dim = "", 0
        self.top: float = GRADE_MAX
        self.records: list[MemoryRecord] = []
        self._slots: dict[str, int] = {}
        self.presented: dict[str, list[float]] = {}
        self.lexical = LexicalIndex(vocabulary)
        self.columns = {n: np.zeros(16, dtype=t) for n, t in _COLUMNS.items()}
        self.vectors = np.zeros((16, 0), dtype=np.float32)
        self._codes: dict[Hashable, int] = {}  # of kinds, subjects and places
        self._coded = 0
        self._said: dict[Hashable, int] = {}  # the slot that first said each thing
        self._repeats = False
        self.speakers = Speakers()
        self._spoken: Counter[int] = Counter()  # live records of each speaker
        self._likeness: tuple[bytes, Likeness] | None = None  # and of which slots
        self._changed()

    def _changed(self) -> None:
        """Forgets what follows from the records: some came or went, or were embedded."""
        self._of_others: np.ndarray | None = None
        self._dialogue: tuple[Slots, DialogueContext] | None = None  # the last

    def __len__(self) -> int:
        """The number of live records."""
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
        alias: str = "",
        dump: bool = False,
        said: Hashable = None,
    ) -> None:
        """Appends a record.

        Args:
            text: says what, who and when.
            vector: its embedding, of length 1 or zero; without one, the record is found
                by words only.
            who: whose words or deeds these are, as a query would name them.
            source: name of the embedder.
            alias: another name that a query may use for ``who``.
            place: neighbours have the same; by default the record's step.
            dump: it lists the state of all things in sight.
            said: what it says: records that share it take one place among those found;
                None is shared by none.

        Raises:
            EmbedderError: if the vector is not of the kind that is kept here.
            ValueError: if it is here already, or step or importance are not finite.
            TypeError: if the text is not a str.
        """
        # Whatever may fail comes first, so that nothing is half added.
        self._check_new(record, text)
        importance = scoring.importance_of(record.importance, self.top)
        row = None if vector is None else self.checked(vector, source)
        place = self._code(record.step if place is None else place)
        kind = self._code(("kind", record.kind))
        subject = self._code(("subject", record.subject))
        slot = self.lexical.add(text)
        self._make_room(slot + 1, source, row)
        self.records.append(record)
        self._slots[record.id] = slot
        columns = self.columns
        columns["importance"][slot] = importance
        columns["step"][slot] = columns["accessed"][slot] = record.step
        columns["who"][slot] = speaker = self.speakers.code(who, alias)
        self._spoken[speaker] += 1
        columns["kind"][slot], columns["subject"][slot] = kind, subject
        columns["place"][slot], columns["dump"][slot] = place, dump
        first = slot if said is None else self._said.setdefault(said, slot)
        columns["said"][slot], columns["times"][slot] = first, 1 + record.earlier
        self._repeats |= first != slot or record.earlier > 0
        columns["alive"][slot], columns["embedded"][slot] = True, row is not None
        columns["voiced"][slot] = speaker and row is not None
        columns["question"][slot] = text.rstrip().endswith(QUESTION_MARKS)
        self.vectors[slot] = 0 if row is None else row
        self._changed()

    def embed_all(
        self, records: Sequence[MemoryRecord], vectors: Any, source: str = ""
    ) -> None:
        """Gives records the embeddings that they lack; all or none, raises as ``add``.

        Args:
            records: records of this index.
            vectors: one row for each, shape (n, dim).
            source: name of the embedder.
        """
        slots = [self._slots[record.id] for record in records]
        if len(vectors) != len(slots):
            raise EmbedderError(f"{len(vectors)} vectors came for {len(slots)} records")
        if slots:
            rows = self.checked(vectors, source, axes=2)
            self._make_room(1, source, rows)
            self.vectors[slots] = rows
            self.columns["embedded"][slots] = True
            self.columns["voiced"][slots] = self.columns["who"][slots] > 0
            self._changed()

    def lacking(self) -> list[MemoryRecord]:
        """The live records without an embedding, oldest first."""
        count, columns = len(self.records), self.columns
        bare = columns["alive"][:count] & ~columns["embedded"][:count]
        return [self.records[slot] for slot in np.flatnonzero(bare)]

    def of_kind(self, kind: str) -> list[MemoryRecord]:
        """The live records of a kind, oldest first."""
        code, count = self._codes.get(("kind", kind), -1), len(self.records)
        of_kind = self.columns["kind"][:count] == code
        slots = np.flatnonzero(of_kind & self.columns["alive"][:count])
        return [self.records[slot] for slot in slots]

    def by_arrival(self, keys: Iterable[str]) -> list[str]:
        """Ids of live records, in order of arrival."""
        return sorted(keys, key=self._slots.__getitem__)

    def grade(self, record: MemoryRecord, importance: float | None) -> None:
        """Takes up a record's importance."""
        part = scoring.importance_of(importance, self.top)
        self.columns["importance"][self._slots[record.id]] = part

    def accessed(self) -> dict[str, float | list[float]]:
        """Record id -> step of its last access, for those recalled since they came.

        With a scoring that forgets, its presentations.
        """
        count, columns = len(self.records), self.columns
        moved = columns["accessed"][:count] != columns["step"][:count]
        found = np.flatnonzero(moved & columns["alive"][:count])
        last = {self.records[s].id: float(columns["accessed"][s]) for s in found}
        return {key: list(self.presented.get(key, ())) or s for key, s in last.items()}

    def set_accessed(self, steps: Mapping[str, float | list[float]]) -> None:
        """Takes up last accesses; of records that are not here nothing is kept."""
        for key, given in steps.items():
            if key not in self._slots:
                continue
            if isinstance(given, list):
                self.presented[key] = list(given)
            last = given[-2] if isinstance(given, list) else given
            self.columns["accessed"][self._slots[key]] = last

    def remove(self, record: MemoryRecord) -> None:
        """Takes a record out, if it is in."""
        slot = self._slots.pop(record.id, None)
        if slot is None:
            return
        self.presented.pop(record.id, None)
        self.columns["alive"][slot] = self.columns["voiced"][slot] = False
        self._spoken[int(self.columns["who"][slot])] -= 1
        self.lexical.remove(slot)
        self._changed()
        if len(self.records) > max(SMALLEST_TO_TIDY, 2 * len(self._slots)):
            self._compact()

    def _check_new(self, record: MemoryRecord, text: Any) -> None:
        if record.id in self._slots:
            raise ValueError(f"the record {record.id!r} is in the index already")
        if not isinstance(text, str):
            raise TypeError(f"text must be a str, got {text!r}")
        if not math.isfinite(record.step):
            raise ValueError(f"a step must be a finite number, got {record.step}")

    def candidates(
        self,
        kinds: Collection[str] | None,
        since: float | None,
        until: float | None,
        subject: Any,
        without: Collection[MemoryRecord],
        dumps: bool = True,
    ) -> Slots:
        """The slots of the records that pass the filters; a slice if all do."""
        count, columns = len(self.records), self.columns
        filters = (kinds, since, until, subject)
        whole = not without and filters == (None,) * 4
        if whole and dumps and count == len(self._slots):
            return slice(0, count)
        wanted = columns["alive"][:count].copy()
        if not dumps and (others := wanted & ~columns["dump"][:count]).any():
            wanted = others
        if kinds is not None:
            names = [kinds] if isinstance(kinds, str) else kinds
            codes = [self._codes.get(("kind", name), -1) for name in names]
            wanted &= np.isin(columns["kind"][:count], codes)
        if subject is not None:
            code = self._codes.get(("subject", subject), -1)
            wanted &= columns["subject"][:count] == code
        if since is not None:
            wanted &= columns["step"][:count] >= since
        if until is not None:
            wanted &= columns["step"][:count] <= until
        wanted[[self._slots[r.id] for r in without if r.id in self._slots]] = False
        return slice(0, count) if wanted.all() else np.flatnonzero(wanted)

    def dialogue(self, slots: Slots) -> DialogueContext:
        """The talks among candidates; kept until others are asked for."""
        whole, kept = isinstance(slots, slice), self._dialogue
        if kept and (kept[0] is slots or (whole and isinstance(kept[0], slice))):
            return kept[1]
        places, who = self.columns["place"][slots], self.columns["who"][slots]
        found = DialogueContext.of(places, who, self.likeness().coherent)
        self._dialogue = slots, found
        return found

    def distinct(self, slots: Slots, scores: np.ndarray) -> np.ndarray | None:
        """Positions of candidates, of those that say the same only the best, and of equal
        ones the newest; None if no two say the same.

        Args:
            scores: of each candidate.
        """
        if not self._repeats:
            return None
        said, count = self.columns["said"][slots], len(self.records)
        top = np.full(count, -math.inf)
        np.maximum.at(top, said, scores)
        best = np.flatnonzero(scores >= top[said] - scoring.TIE_TOLERANCE)
        lead = np.full(count, -1)
        lead[said[best]] = best  # of several, the last stays
        return np.sort(lead[lead >= 0])

    def repetitions(
        self, slots: Slots, places: np.ndarray
    ) -> tuple[list[np.ndarray], list[int]]:
        """Of each of these positions, those of candidates that say the same, and how
        often it was said.

        Of many they are the newest, and one of each other speaker.
        """
        said, times = self.columns["said"][slots], self.columns["times"][slots]
        who = self.columns["who"][slots]
        found, counts = [], []
        for place in places.tolist():
            alike = np.flatnonzero(said == said[place])
            counts.append(int(times[alike].sum()))
            if len(alike) > KEPT_REPETITIONS:
                _, first = np.unique(who[alike], return_index=True)
                newest = np.arange(len(alike) - KEPT_REPETITIONS, len(alike))
                alike = alike[np.union1d(first, newest)]
            found.append(alike)
        return found, counts

    def recount(self, record: MemoryRecord) -> None:
        """Takes up how many older repetitions of a record were forgotten."""
        if record.id in self._slots:
            self.columns["times"][self._slots[record.id]] = 1 + record.earlier
            self._repeats = True

    def likeness(self) -> Likeness:
        """The likeness of the newest records with a speaker.

        It is computed again for each ``LIKENESS_STRIDE`` new ones.
        """
        columns, count = self.columns, len(self.records)
        spoken = columns["voiced"][:count].nonzero()[0]
        spoken = spoken[: len(spoken) // LIKENESS_STRIDE * LIKENESS_STRIDE]
        newest = spoken[-LIKENESS_RECORDS:]
        key = newest.tobytes()
        if self._likeness is None or self._likeness[0] != key:
            found = Likeness.of(self.vectors[newest], columns["place"][newest])
            self._likeness = key, found
        return self._likeness[1]

    def speaking(self, said: Sequence[str]) -> list[int]:
        """Numbers of the speakers with live records whom the words of a text name."""
        return [c for c in self.speakers.named_in(said) if self._spoken[c] > 0]

    def named(self, slots: Slots, codes: Sequence[int]) -> np.ndarray:
        """For each candidate, how many of some speakers it is by or about.

        In a crowd, a record by one of them that names others alone counts half.

        Args:
            codes: numbers of the speakers.
        """
        found = np.zeros(len(self.records))[slots]
        if not codes:
            return found
        talks, who = self.dialogue(slots), self.columns["who"][slots]
        mentions = {code: self._mentions(code)[slots] for code in codes}
        for code in codes:
            speaks = who == code
            found[talks.named(speaks, mentions[code])] += 1
            elsewhere = speaks & ~talks.talk[talks.run]
            if elsewhere.any():
                elsewhere &= self._about_others()[slots]
                for other in codes:
                    if other != code:
                        elsewhere &= ~mentions[other]
                found[elsewhere] -= ABOUT_OTHERS
        return found

    def spoken_by(self, slots: Slots, names: Sequence[str]) -> np.ndarray:
        """For each candidate, whether it is by or about a bearer of these names."""
        found = np.zeros(len(self.records), dtype=bool)
        who = self.columns["who"][: len(self.records)]
        for said in map(words, names):
            found[self.lexical.holding(said)] = True
            for code in self.speakers.named_in(said):
                found |= who == code
        return found[slots]

    def _mentions(self, code: int) -> np.ndarray:
        """For each slot, whether it has a name of a speaker."""
        found = np.zeros(len(self.records), dtype=bool)
        for name in self.speakers.names(code):
            found[self.lexical.holding(name)] = True
        return found

    def _about_others(self) -> np.ndarray:
        """For each slot, whether it names a speaker other than its own."""
        if self._of_others is None:
            live = [code for code, number in self._spoken.items() if code and number]
            called = [
                (c, self.lexical.holding(name))
                for c in live
                for name in self.speakers.names(c)
            ]
            slots = np.frombuffer(b"".join([h for _, h in called]), dtype=np.int64)
            whose = np.repeat([c for c, _ in called], [len(h) for _, h in called])
            self._of_others = np.zeros(len(self.records), dtype=bool)
            self._of_others[slots[self.columns["who"][slots] != whose]] = True
        return self._of_others

    def checked(self, given: Any, source: str, axes: int = 1) -> np.ndarray:
        """One embedding, or several with 2 axes, of the kind that is kept here."""
        try:
            rows = np.asarray(given, dtype=np.float32)
        except (TypeError, ValueError):
            rows = np.zeros(0)
        length = rows.shape[-1] if rows.ndim == axes else 0
        fits = length and (not self.dim or (length, source) == (self.dim, self.source))
        if not fits or not math.isfinite(np.vdot(rows, rows)):
            raise EmbedderError(
                f"an embedding must be a row of {self.dim or 'some'} finite numbers of "
                f"{self.source or source!r}, got shape {rows.shape} of {source!r}. Use "
                "one embedder per run."
            )
        return rounded(rows)

    def _make_room(self, count: int, source: str, rows: np.ndarray | None) -> None:
        """Room for ``count`` records, and for vectors like these, the first of all."""
        have = len(self.vectors)
        if rows is not None and not self.dim:
            self.source, self.dim = source, rows.shape[-1]
        elif count <= have:
            return
        if count > have:
            for name, column in self.columns.items():
                self.columns[name] = np.resize(column, 2 * have)
        vectors = np.zeros((len(self.columns["step"]), self.dim), dtype=np.float32)
        if self.vectors.shape[1] == self.dim:
            vectors[:have] = self.vectors
        self.vectors = vectors

    def _compact(self) -> None:
        self._likeness = None
        kept = self.lexical.compact()
        self.records = [self.records[slot] for slot in kept]
        self._slots = {record.id: slot for slot, record in enumerate(self.records)}
        for column in (*self.columns.values(), self.vectors):
            column[: len(kept)] = column[kept]
        self._count_said_anew(len(kept))
        coded = ("kind", "subject", "place")
        used = {int(c) for n in coded for c in self.columns[n][: len(kept)]}
        self._codes = {t: code for t, code in self._codes.items() if code in used}

    def _count_said_anew(self, count: int) -> None:
        """The slots that first said something, after slots were moved."""
        said = self.columns["said"]
        codes, first, place = np.unique(
            said[:count], return_index=True, return_inverse=True
        )
        moved = dict(zip(codes.tolist(), first.tolist()))
        said[:count] = first[place]
        self._said = {s: moved[c] for s, c in self._said.items() if c in moved}
        self._repeats = self.columns["times"][:count].sum() > len(codes)

    def _code(self, thing: Hashable) -> int:
        code = self._codes.get(thing)
        if code is None:
            code = self._codes[thing] = self._coded
            self._coded += 1
        return code
