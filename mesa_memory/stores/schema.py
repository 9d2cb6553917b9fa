"""The tables of a store of recorded runs, one definition for SQLite and PostgreSQL.

PostgreSQL checks types by itself, and SQLite those of strict tables. What stands in a
column of JSON is checked when it is read, as a file may come from another person.

``seq`` counts up within a run, over all tables together: later rows have a higher
one. JSON is text in SQLite. In PostgreSQL it is ``json`` where the order of keys
counts, and ``jsonb`` where queries look into it.
"""

import json
import math
import re
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import orjson
import sqlalchemy as sa
from sqlalchemy import (
    Column,
    Index,
    MetaData,
    PrimaryKeyConstraint,
    Table,
    UniqueConstraint,
)
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.types import TypeDecorator

from mesa_memory.core.text.redaction import REDACTED, scrub_json, secrets
from mesa_memory.errors import StoreCorrupt

#: JSON that is nested deeper than this was not written by this package
MAX_JSON_DEPTH = 100
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


Text, Integer = sa.Text, sa.Integer
#: a whole number of 64 bits
BigInteger = sa.BigInteger().with_variant(sa.Integer(), "sqlite")


class Double(TypeDecorator):
    """A finite number; NaN and infinite ones are written as NULL."""

    impl, cache_ok = sa.Double, True
    place = "a column"

    def load_dialect_impl(self, dialect: Any) -> Any:
        """``REAL`` in SQLite, whose strict tables have no ``DOUBLE``."""
        kind: Any = sa.REAL() if dialect.name == "sqlite" else sa.Double()
        return dialect.type_descriptor(kind)

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """The number; None for NaN and infinite ones."""
        return value if value is None or math.isfinite(value) else None

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """The number.

        Raises:
            StoreCorrupt: if it is infinite, or anything else.
        """
        number = isinstance(value, int | float) and math.isfinite(value)
        if value is None or number:
            return value
        raise wrong(self.place, "a finite number", value)


class Boolean(TypeDecorator):
    """True or false; 1 or 0 in SQLite."""

    impl, cache_ok = sa.Boolean, True

    def load_dialect_impl(self, dialect: Any) -> Any:
        """An integer in SQLite, whose strict tables have no ``BOOLEAN``."""
        kind: Any = sa.Integer() if dialect.name == "sqlite" else sa.Boolean()
        return dialect.type_descriptor(kind)

    def process_result_value(self, value: Any, dialect: Any) -> bool | None:
        """True or False; None is NULL."""
        return None if value is None else bool(value)


def wrong(place: str, wanted: str, value: Any, location: str = "") -> StoreCorrupt:
    """The error for a value that does not belong where it is."""
    return StoreCorrupt(
        f"{place} holds {value!r:.60}, not {wanted}. The file was changed or damaged; "
        "restore a backup.",
        location=location,
    )


def is_too_deep(value: Any) -> bool:
    """True for plain data that is nested deeper than ``MAX_JSON_DEPTH``."""
    level = [value]
    for _ in range(MAX_JSON_DEPTH):
        level = [
            item
            for one in level
            if isinstance(one, list | dict)
            for item in (one.values() if isinstance(one, dict) else one)
        ]
        if not level:
            return False
    return True


class Document(TypeDecorator):
    """JSON whose keys keep their order; None and JSON's null are both NULL.

    Args:
        holds: what it is, such as ``dict``; None is anything.
        each: what each item of a list is; None is anything.
    """

    impl = sa.Text
    cache_ok = True
    postgres: type[Any] = sa.JSON
    place = "a column"

    def __init__(self, holds: Any = None, each: Any = None) -> None:
        super().__init__()
        self.holds, self.each = holds, each

    def load_dialect_impl(self, dialect: Any) -> Any:
        """``json`` in PostgreSQL, text in SQLite."""
        if dialect.name == "postgresql":
            return dialect.type_descriptor(self.postgres(none_as_null=True))
        return dialect.type_descriptor(sa.Text())

    def process_bind_param(self, value: Any, dialect: Any) -> Any:
        """The value as JSON."""
        if value is None or dialect.name == "postgresql":
            return value  # see ``json_serializer`` of its engine
        return json_text(value)

    def process_result_value(self, value: Any, dialect: Any) -> Any:
        """The plain data again.

        Raises:
            StoreCorrupt: if it is anything other than what belongs there.
        """
        if value is None:
            return None
        found = value if dialect.name == "postgresql" else self._loaded(value)
        if found is None or self._right(found):
            return found
        each = f" of {_named(self.each)}" if self.each else ""
        wanted = f"{_named(self.holds)}{each}" if self.holds else "plain data"
        raise wrong(self.place, f"JSON of {wanted}", value)

    def _loaded(self, value: Any) -> Any:
        try:
            return json.loads(value, parse_constant=_refused)
        except (ValueError, TypeError, RecursionError) as error:
            raise StoreCorrupt(
                f"{self.place} must hold JSON, and holds {value!r:.60} "
                f"({type(error).__name__}: {error!s:.80}). The file was changed or "
                "damaged; restore a backup."
            ) from error

    def _right(self, found: Any) -> bool:
        if self.holds and not isinstance(found, self.holds):
            return False
        if self.each and not all(isinstance(item, self.each) for item in found):
            return False
        return not isinstance(found, list | dict) or not is_too_deep(found)


def _named(kind: Any) -> str:
    return getattr(kind, "__name__", str(kind))


def _refused(constant: str) -> None:
    raise ValueError(f"{constant} is not JSON")


class Searchable(Document):
    """JSON that queries look into: ``jsonb`` in PostgreSQL."""

    cache_ok = True
    postgres = JSONB


# -- values ---------------------------------------------------------------------------


def clean_rows(rows: Sequence[dict[str, Any]]) -> Sequence[dict[str, Any]]:
    r"""Rows of plain data without known secrets.

    NUL and lone surrogates, which PostgreSQL cannot keep, become ``"\ufffd"``.

    Raises:
        TypeError: for anything but plain data.
    """
    try:
        text = orjson.dumps(rows)
    except TypeError:  # a lone surrogate, a long integer or a key that is not text
        return storable(rows)
    clean = b"\\u0000" not in text and scrub_json(text) == text
    return rows if clean else storable(rows)


def storable(value: Any) -> Any:
    """Plain data as every database can keep it; see ``clean_rows``."""
    if isinstance(value, str):
        for secret in secrets():
            value = value.replace(secret, REDACTED)
        return _UNSTORABLE.sub("\ufffd", value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {
            storable(key) if isinstance(key, str) else key: storable(item)
            for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [storable(item) for item in value]
    if value is None or isinstance(value, int):
        return value
    raise TypeError(f"{type(value).__name__} is not plain data: {value!r:.80}")


def json_text(value: Any) -> str:
    """Plain data as JSON; NaN and infinite numbers become null."""
    try:
        return orjson.dumps(value).decode()
    except TypeError:  # a long integer or a key that is not text
        return json.dumps(storable(value), ensure_ascii=False, allow_nan=False)


#: version of the schema below
VERSION = 1
#: marks a store as ours: in a row of ``schema_version``, and in a SQLite file's header
APPLICATION = "mesa-memory"
APPLICATION_ID = 0x4D656D79

#: rows of ``calls`` above this number are probes and other requests of a researcher, which
#: count up from it in each run: they change no number of the simulation's own rows
PROBES = 10**15

#: columns in which two equal runs differ: what clocks say, and how a provider numbers answers
UNREPEATABLE = frozenset({"latency", "date", "response_id", "started", "since", "beat"})

#: what an agent's id may be
SCALAR = str | int | float
#: the types of columns by the words of ``_columns``
_TYPES: dict[str, Callable[[], Any]] = {
    "text": Text, "int": Integer, "long": lambda: BigInteger, "real": Double,
    "bool": Boolean, "json": Document, "dict": partial(Document, dict),
    "list": partial(Document, list), "dicts": partial(Document, list, dict),
    "searched": Searchable, "id": partial(Searchable, SCALAR),
    "names": partial(Searchable, list, str),
}  # fmt: skip

metadata = MetaData()


def _columns(said: str) -> list[Column]:
    """Columns from names and types, such as ``"step real!, name"``.

    Without a type a column is text; ``!`` means that no value may be missing.
    """
    found = []
    for each in said.split(","):
        name, _, kind = each.strip().rstrip("!").partition(" ")
        needed = each.strip().endswith("!")
        found.append(Column(name, _TYPES[kind or "text"](), nullable=not needed))
    return found


def _table(name: str, *columns: Any, **options: Any) -> Table:
    """A table in which SQLite, too, keeps values of the columns' types alone."""
    return Table(name, metadata, *columns, sqlite_strict=True, **options)


schema_version = _table(
    "schema_version",
    Column("application", Text, primary_key=True),
    *_columns("version int!"),
)

#: state: running, finished, stopped or failed. ``parameters`` are told to readers; a run
#: of a study keeps in ``recipe`` how its model is made, see ``resume.keep_recipe``
runs = _table(
    "runs",
    Column("id", Integer, primary_key=True, autoincrement=True),
    *_columns("name, model!, parameters dict, recipe dict, seed, versions dict, "
              "started!, state!, parent int, parent_step real"),
    sqlite_autoincrement=True,
)  # fmt: skip


def _of_runs(name: str, said: str, *more: Any, key: tuple[str, ...]) -> Table:
    """A table of which each row belongs to a run; ``key`` names it within the run."""
    columns = _columns(f"run int!, {said}")
    return _table(name, *columns, *more, PrimaryKeyConstraint("run", *key))


#: ``agent`` is ``str(unique_id)`` here and everywhere; ``name`` is the name it goes by in
#: texts, if it has one
agents = _of_runs(
    "agents",
    "agent!, unique_id id, class, memory, layers names, settings dict, name",
    key=("agent",),
)

#: the prompt files from which something was told, with their text and its hash, from which
#: step on
prompt_files = _of_runs(
    "prompt_files",
    "language!, name!, hash!, step real!, text!",
    key=("language", "name", "hash"),
)

#: see ``mesa_memory.core.records.MemoryRecord``; ``graded_at``, ``closed_at`` and
#: ``staled_at`` are the steps with which the change was written: what is changed between
#: two steps belongs to the second
records = _of_runs(
    "records",
    "seq long!, id!, agent!, layer!, kind!, step real!, text, content dict, "
    "importance real, subject id, sources searched, valid_from real!, valid_to real, "
    "closed_because, superseded_by, graded_at real, origin, stale_since real, "
    "closed_at real, staled_at real",
    Index("records_by_agent", "run", "agent", "seq"),
    key=("id",),
)


def _log(name: str, said: str) -> Table:
    """A table of things that happened to an agent at a step, in order."""
    index = Index(f"{name}_by_agent", "run", "agent", "step")
    columns = f"seq long!, step real!, agent, {said}"
    return _of_runs(name, columns, index, key=("seq",))


def _at_step(name: str, said: str, *key: str) -> Table:
    """A table with a row for an agent at a step; the agent ``""`` is the model."""
    return _of_runs(name, f"step real!, agent!, {said}", key=("step", "agent", *key))


#: the columns of a request's answer, and how it was answered
_ANSWER = (
    "reply, raw dict, tokens_in int, tokens_out int, cost real, latency real, "
    "attempts int, finish, tokens_cached int, tier, cached bool, client, form, "
    "failed list, answered, response_id, date"
)

#: a candidate is an object with id, rank, score, relevance, dense, lexical,
#: importance, recency, time_match, session, superseded, question, shown and used
recalls = _log("recalls", "layer, purpose, query, scoring dict, candidates searched")

#: the exact memory text that an agent was shown; ``budget`` says what became of its
#: tokens, see ``memories.prompt.sections.BudgetReport``
prompts = _log("prompts", "layer, section, text, budget dict")

#: one request to a language model; ``asked`` is the model that it names, ``model`` that
#: whose price counts (a fallback, maybe), ``answered`` the provider's name of it;
#: ``address`` of the server, if it is not the provider's own; ``settings`` are those that
#: may change the answer; ``prompt_hash`` is of model, settings and messages; ``date`` in
#: UTC, of a model outside this process; ``failed`` lists its failed attempts (model, kind,
#: HTTP status, action); ``replayed`` if a recorded run answered it, ``cached``
#: if the response cache did; ``tokens_cached`` are those of ``tokens_in`` that the provider read
#: from its cache; ``repairs`` if it asks again after a reply that could not be used;
#: ``given_up`` says why a memory could not use the reply, if it gave up, and ``doubtful``
#: why a reply is doubtful, whether it was used or asked for again;
#: ``decision`` of an agent's own request has the names of its ``tools``,
#: ``tool_choice``, ``response_format`` and the ids of the records that ``followed``
calls = _log(
    "calls",
    "purpose, occurrence int, model, asked, address, settings dict, prompt dicts, "
    "prompt_hash, replayed bool, error, repairs bool, given_up, doubtful, "
    f"decision dict, {_ANSWER}",
)

#: answers of the step that is not finished yet, so that a resumed run need not pay for
#: them again; ``number`` counts up within a run
unfinished_calls = _of_runs(
    "unfinished_calls",
    f"number int!, step real!, agent!, purpose!, model, prompt_hash!, {_ANSWER}",
    key=("number",),
)

#: what a researcher did to a memory
interventions = _log("interventions", "kind, detail dict")

#: what holds for many agents and was found once, such as the grade of an event; the
#: key is a hash
answers = _log("answers", "key, value json")

#: what a step has changed of all that is to be seen of a model besides its memories, by
#: ``kind``: ``population`` (agent to class), ``space`` (see ``hosts.space``), ``places``
#: (agent to x and y), ``outcomes/NAME`` (agent to value) and ``collected`` (number by
#: reporter); null is gone; no row belongs to one agent
scenes = _log("scenes", "kind, state dict")

#: a row exists exactly for the finished steps; ``seq`` is the highest one by then, and
#: ``calls`` are without probes
steps = _of_runs(
    "steps",
    "step real!, seq long!, records int!, recalls int!, calls int!",
    key=("step",),
)

#: what a run goes on from; the agent ``""`` is the model itself; ``kept`` ones stay
checkpoints = _at_step("checkpoints", "state dict!, kept bool")

#: what an embedder elsewhere gave for a text: float32 in base64, by a hash of both; they
#: belong to no step
vectors = _of_runs("vectors", "key!, vector!", key=("key",))

#: the writer of a run, see ``leases``; without a row, the run has no writer
leases = _table(
    "leases",
    Column("run", Integer, primary_key=True, autoincrement=False),
    *_columns("token!, host!, pid int!, since!"),
)

#: what was measured of a run's model at a step, and of its agents; the agent ``""`` is
#: the model. ``outcomes`` are a study's, of the model at the end of the run
measures = _at_step("measures", "measured dict!, outcomes dict")

#: what agents said to a questionnaire; ``error`` if the answer could not be used
responses = _at_step("responses", "question!, value json, error", "question")

#: ``fingerprint`` says with what its runs are made, ``drift`` what was accepted to differ
studies = _table(
    "studies",
    Column("id", Integer, primary_key=True, autoincrement=True),
    *_columns("name!, model!, design dict!, fingerprint dict!, drift list!"),
    UniqueConstraint("name"),
    sqlite_autoincrement=True,
)

#: a run that a study wants, under its name: ``steps`` is how far, ``done`` how far it came; ``ended`` if
#: its model stopped by itself; state: waiting, running, finished, stopped or failed
cases = _table(
    "cases",
    *_columns("study int!, number int!, key!, name!, parameters dict!, seed json, "
              "replicate int!, steps real!, run int, state!, done real, ended bool, "
              "usage dict, error, fingerprint"),
    PrimaryKeyConstraint("study", "number"),
    UniqueConstraint("study", "key"),
)  # fmt: skip

#: what the runs of a study have used of its budget, and what is set aside for calls
#: under way; only while there is a budget
spending = _table(
    "spending",
    *_columns("study int!, number int!, used dict!, reserved dict!, beyond dict!"),
    PrimaryKeyConstraint("study", "number"),
)

for _each in metadata.tables.values():
    for _column in _each.columns:
        if isinstance(_column.type, Document | Double):
            _column.type.place = f"{_each.name}.{_column.name}"

#: the tables in which a row may take the place of an older one
REPLACED_TABLES = ("agents", "prompt_files", "vectors", "measures", "responses")
#: the tables with a run in them whose rows are none of the run's own
UNOWNED_TABLES = ("leases", "cases")

#: the tables whose rows have a ``seq`` and belong to a step
NUMBERED_TABLES = (records, recalls, prompts, calls, interventions, answers, scenes)
