"""The records that a search ranks: all of a few, the most promising of many.

Of many records, a search ranks those with the nearest embeddings and those with the rarest
words of the query. One pass over the records finds both, and keeps only the id, the cosine
and the words of each.
"""

import unicodedata
from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import (
    Double,
    Integer,
    Select,
    Text,
    case,
    cast,
    func,
    literal,
    select,
    type_coerce,
)
from sqlalchemy.types import NullType

import mesa_memory.stores.schema as schema
from mesa_memory.retrieval.bm25 import terms, words
from mesa_memory.retrieval.stop_words import STOP_WORDS
from mesa_memory.runs.recorded import RecordedRun, table_of
from mesa_memory.stores.columns import vector_text

records = schema.records
#: up to this number of records all are ranked
RANKED_RECORDS = 1_000
#: a run with more is read from end to end, not through an index
LARGE_RUN = 20_000
#: how many words of a query count where there are more records
QUERY_WORDS = 16


class Candidates:
    """The records among which a search looks.

    Args:
        run: the run, or another one of the same store.
        number: only records of this run; None is all runs of the store.
        agent: only records of this agent, by its name in the store; None is all.
        conditions: further ones.
    """

    def __init__(
        self,
        run: RecordedRun,
        number: int | None,
        agent: str | None,
        conditions: list[Any],
    ) -> None:
        self._store_run, self._run = run, number
        self._conditions = list(conditions)
        if agent is not None:
            self._conditions.append(records.c.agent == agent)
            if number is None:
                # The index begins with the run; without this it would be of no use.
                of_any = select(schema.runs.c.id)
                self._conditions.append(records.c.run.in_(of_any))
        self._whole = (
            agent is None and number is not None and self._size(number) > LARGE_RUN
        )

    def rows(
        self, columns: tuple[Any, ...], text: str, vector: np.ndarray, source: str
    ) -> list[dict[str, Any]]:
        """At most ``RANKED_RECORDS`` of them, by run, agent, layer and order of arrival.

        Args:
            columns: what is wanted of each, also its run, agent, layer and seq.
            text, vector: the query and its embedding.
            source: name of the embedder; other embeddings do not count.
        """
        found = table_of(
            self._store_run.store, self._of_these(*columns).limit(RANKED_RECORDS + 1)
        ).rows
        if len(found) <= RANKED_RECORDS:
            return sorted(found, key=_place)
        found = []
        for run, ids in self._promising(text, vector, source).items():
            of_run = (records.c.run == run, records.c.id.in_(ids))
            found += table_of(
                self._store_run.store, select(*columns).where(*of_run)
            ).rows
        # Not sorted by the database, which would walk through the run in that order.
        return sorted(found, key=_place)

    def _promising(
        self, text: str, vector: np.ndarray, source: str
    ) -> dict[int, list[str]]:
        """The ids of the most promising records of each run."""
        needles = beginnings(text)
        near = self._nearness(vector, source)
        columns = (records.c.run, records.c.id, self._holds(needles), near)
        statement = self._of_these(*columns)
        names: list[str] = []
        of_run, held, cosines = [], [], []
        for rows in self._store_run.chunks(statement):
            runs, ids, masks, vectors = zip(*rows)
            names += ids
            of_run.append(np.array(runs, dtype=np.int64))
            held.append(np.array(masks, dtype=np.int64))
            cosines.append(_cosines(vectors, vector))
        by_words = _rarity(np.concatenate(held), len(needles))
        chosen = [_best(np.concatenate(cosines)), _best(by_words)]
        places = np.unique(np.concatenate(chosen))
        found: dict[int, list[str]] = {}
        for run, place in zip(np.concatenate(of_run)[places].tolist(), places.tolist()):
            found.setdefault(run, []).append(names[place])
        return found

    def _size(self, run: int) -> int:
        """The number of records of a run's finished steps."""
        of_run = select(func.sum(schema.steps.c.records)).filter_by(run=run)
        return self._store_run.rows(of_run)[0][0] or 0

    def _of_these(self, *columns: Any) -> Select:
        """Columns of these records."""
        wanted = select(*columns).where(*self._conditions)
        if self._run is None:
            return wanted
        # Through an index, every record of a run takes ten times as long.
        run = records.c.run + 0 if self._whole else records.c.run
        return wanted.where(run == self._run)

    def _holds(self, needles: list[str]) -> Any:
        """The words in a text, as the sum of 2 ** n over their numbers."""
        total: Any = literal(0)
        for number, needle in enumerate(needles):
            if self._store_run.dialect == "postgresql":
                has = records.c.text.icontains(needle, autoescape=True)
            else:  # LIKE ignores the case of ASCII letters here
                has = records.c.text.contains(needle, autoescape=True)
            total = total + func.coalesce(cast(has, Integer), 0) * 2**number
        return total

    def _nearness(self, vector: np.ndarray, source: str) -> Any:
        """The cosine, where the database can tell; else the embedding."""
        near: Any = type_coerce(records.c.embedding, NullType())
        if self._store_run.dialect == "postgresql":
            asked = literal(vector_text(vector.astype("<f2").tobytes()), Text)
            # pgvector's <#> is the inner product with its sign changed.
            near = -records.c.embedding.op("<#>", return_type=Double())(
                cast(asked, records.c.embedding.type)
            )
        return case((records.c.embedder == source, near))


def _place(row: dict[str, Any]) -> tuple:
    return row["run"], row["agent"], row["layer"], row["seq"]


def beginnings(text: str) -> list[str]:
    """The common beginnings of a query's words and their stems, each once."""
    found = []
    for word in dict.fromkeys(words(text)):
        if word not in STOP_WORDS:
            stem = terms(word)[0]
            found.append(_common(word, stem))
            if not word.isascii():  # some programs write letters and accents apart
                found.append(unicodedata.normalize("NFD", found[-1]))
    return list(dict.fromkeys(found))[:QUERY_WORDS]


def _common(word: str, stem: str) -> str:
    """The common beginning; a stem need not be the beginning of its word."""
    length = next((n for n, (a, b) in enumerate(zip(word, stem)) if a != b), len(stem))
    return word[:length] or word


def _cosines(found: Sequence[Any], vector: np.ndarray) -> np.ndarray:
    """The cosine of each, from embeddings or from cosines; without one, -1."""
    cosines = np.full(len(found), -1.0, dtype=np.float32)
    size = 2 * len(vector)
    places = [n for n, v in enumerate(found) if _usable(v, size)]
    if places and isinstance(found[places[0]], bytes):
        joined = b"".join([found[n] for n in places])
        rows = np.frombuffer(joined, dtype="<f2").reshape(len(places), -1)
        cosines[places] = rows.astype(np.float32) @ vector
    elif places:
        cosines[places] = [found[n] for n in places]
    # Damaged embeddings rank last, and do not stop the search.
    return np.nan_to_num(cosines, nan=-1.0, posinf=-1.0, neginf=-1.0)


def _usable(value: Any, size: int) -> bool:
    return isinstance(value, float) or (isinstance(value, bytes) and len(value) == size)


def _rarity(masks: np.ndarray, count: int) -> np.ndarray:
    """For each record, how rare the words are that it shares with the query, summed."""
    total = np.zeros(len(masks))
    for number in range(count):
        has = (masks >> number) & 1
        total += has * np.log1p(len(masks) / (1 + has.sum()))
    return total


def _best(values: np.ndarray) -> np.ndarray:
    """The places of the highest values, half of the ranked number; the newest of equals."""
    newest = np.arange(len(values))
    return np.lexsort((newest, values))[-RANKED_RECORDS // 2 :]
