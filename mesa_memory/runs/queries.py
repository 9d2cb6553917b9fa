"""Queries of a recorded run: states, versions, evidence, recalls, calls.

A record takes the place of another one that names it (``superseded_by``). It also does if
it was made from the other one, has the same kind, layer and subject, and begins at the
step at which the other one ended. Operations have the names that mem0 gives them: ADD, UPDATE, DELETE, and
NONE for a new version that says the same.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, case, func, or_, select

import mesa_memory.stores.schema as schema
from mesa_memory.core.codec import readable
from mesa_memory.core.prompt_files import PromptFile
from mesa_memory.core.wording import COMMON, ENGLISH, Wording, restored, step_sentence
from mesa_memory.retrieval.scoring import RESERVED_NAMES
from mesa_memory.runs.recorded import RecordedRun, Table, logged, table, table_of
from mesa_memory.stores.sql import Store

records = schema.records
#: the columns that only programs need
_NOT_SHOWN = ("run", "graded_at", "closed_at", "staled_at")
#: the columns of a record
COLUMNS = tuple(c for c in records.columns if c.name not in _NOT_SHOWN)


def valid_at(step: float) -> ColumnElement[bool]:
    """The condition that a record was current at the end of ``step``."""
    still = or_(records.c.valid_to.is_(None), records.c.valid_to > step)
    return and_(records.c.valid_from <= step, still)


def held(
    run: RecordedRun,
    agent: Any = None,
    layer: str | None = None,
    kind: str | None = None,
) -> Select[Any]:
    """The query for all records in order, or those of an agent, a layer or a kind."""
    name = None if agent is None else run.name_of(agent)
    own = {"run": run.id, "agent": name, "layer": layer, "kind": kind}
    given = {column: value for column, value in own.items() if value is not None}
    wanted = select(*COLUMNS, records.c.graded_at).filter_by(**given)
    return wanted.order_by(records.c.seq)


def as_known(row: dict[str, Any], step: float) -> dict[str, Any]:
    """A record as it was at the end of a step, without later grades and doubts.

    Args:
        row: of ``records``, with ``graded_at``.
    """
    graded, stale = row["graded_at"], row["stale_since"]
    later: dict[str, Any] = {}
    if graded is not None and graded > step:
        later["importance"] = None
    if stale is not None and stale > step:
        later["stale_since"] = None
    return row | later if later else row


def step_names(files: Iterable[Mapping[str, Any]]) -> list[str]:
    """The sentences that say what a step is, from rows of ``prompt_files``, each once."""
    known = {row["text"]: None for row in files if row["name"] == COMMON}
    told = (step_sentence(PromptFile(COMMON, text)) for text in known)
    return list(dict.fromkeys(filter(None, told)))


def wording_of(run: "Queries") -> Wording:
    """The words in which a run's agents were told of events; of several, the first."""
    rows = run.prompt_files(as_records=True)
    files = [row for row in rows if row["name"] == "events"]
    if not files:
        return ENGLISH
    return _wording(files[-1]["language"], files[-1]["text"])


@lru_cache(maxsize=16)
def _wording(language: str, events: str) -> Wording:
    """With these templates of events, which take long to compile."""
    return restored(language, {"events": events})


def overview(store: Store) -> Table:
    """See ``Run.runs``."""
    runs, steps, calls = schema.runs, schema.steps, schema.calls
    of_run = steps.c.run == runs.c.id
    counted = [
        select(value).where(of_run).scalar_subquery().label(name)
        for name, value in (
            ("steps", func.count()),
            ("last_step", func.max(steps.c.step)),
            ("records", func.coalesce(func.sum(steps.c.records), 0)),
        )
    ]
    # A step counts the calls of the simulation; probes are beside it.
    probes = select(func.count()).where(calls.c.run == runs.c.id)
    probes = probes.where(calls.c.seq > schema.PROBES)
    asked = select(func.coalesce(func.sum(steps.c.calls), 0)).where(of_run)
    counted.append((asked.scalar_subquery() + probes.scalar_subquery()).label("calls"))
    people = select(func.count()).where(schema.agents.c.run == runs.c.id)
    wanted = select(runs, people.scalar_subquery().label("agents"), *counted)
    table = table_of(store, wanted.order_by(runs.c.id))
    for row in table.rows:
        row["parameters"] = readable(row["parameters"])
    return table


#: what a candidate has
RANK_FIELDS = (
    "id", "rank", "score", "shown", "used", "relevance", "dense", "lexical", "importance",
    "recency", "time_match", "session", "superseded", "question",
)  # fmt: skip
#: and how often it was said, if more than once
REPEATED = ("times", "repetitions")
#: what a recall has
_RECALL_COLUMNS = ("seq", "step", "agent", "layer", "purpose", "query")
#: how many ids stand in one statement
IDS_PER_QUERY = 5_000


def added_terms(scoring: Any) -> list[tuple[str, float]]:
    """Name and weight of each term that a recorded scoring has of its user's own.

    What is damaged in it is left out.
    """
    given = scoring.get("terms") if isinstance(scoring, dict) else None
    pairs = [p for p in given if isinstance(p, list)] if isinstance(given, list) else []
    return [
        (name, float(weight))
        for name, weight in (pair for pair in pairs if len(pair) == 2)
        if isinstance(name, str) and name.isidentifier() and name not in RESERVED_NAMES
        if isinstance(weight, int | float) and not isinstance(weight, bool)
    ]


def texts(run: RecordedRun, ids: list[str]) -> dict[str, str | None]:
    """The texts of the existing records among these ids."""
    return dict(columns_of(run, ids, schema.records.c.text))


def columns_of(run: RecordedRun, ids: list[str], *columns: Any) -> list[Any]:
    """(id, and the values of these columns) of the existing records among these ids."""
    records, found = schema.records, []
    for start in range(0, len(ids), IDS_PER_QUERY):
        some = records.c.id.in_(ids[start : start + IDS_PER_QUERY])
        wanted = select(records.c.id, *columns).where(run.mine(records), some)
        found += run.rows(wanted)
    return found


def _candidates(run: RecordedRun, row: dict[str, Any]) -> list[dict[str, Any]]:
    """The candidates of a recall."""
    given = row["candidates"] or []
    if not isinstance(given, list) or not all(
        isinstance(c, dict) and isinstance(c.get("id"), str) for c in given
    ):
        raise schema.wrong(
            "recalls.candidates", "a list of candidates", given, run.location
        )
    return given


CALLS = schema.calls
#: what cost can be grouped by
KEYS = (
    "purpose", "agent", "step", "model", "replayed", "finish", "tier", "cached", "client",
    "form",
)  # fmt: skip
#: columns that are summed, and truths that are counted, under other names
_SUMMED = ("attempts", "tokens_in", "tokens_out", "tokens_cached")
_TRUE = {
    "replayed": "replayed_calls",
    "cached": "cached_calls",
    "repairs": "asked_again",
}
#: the columns of a call; the raw reply is for replays
CALL_COLUMNS = tuple(c for c in CALLS.columns if c.name not in ("run", "raw"))


def _sum(column: Any) -> Any:
    return func.coalesce(func.sum(column), 0)


#: more records, or lines, than this are no evidence that anyone reads
EVIDENCE_LINES = 100_000
EVIDENCE_COLUMNS = (
    "depth", "id", "parent", "kind", "origin", "step", "agent", "layer", "text",
    "missing", "repeated",
)  # fmt: skip


def _below(run: RecordedRun, record: str) -> dict[str, dict[str, Any]]:
    """The record and all that it came from by id, each once, so that a cycle ends."""
    found: dict[str, dict[str, Any]] = {}
    wanted = [record]
    while wanted and len(found) < EVIDENCE_LINES:
        some = records.c.id.in_(wanted)
        rows = run.records(select(*COLUMNS).where(run.mine(records), some))
        found |= {row["id"]: row for row in rows}
        below = dict.fromkeys(name for row in rows for name in source_ids(row))
        wanted = [name for name in below if name not in found]
    return found


VERSION_COLUMNS = (
    "step", "operation", "id", "previous", "text", "because", "by", "agent", "layer",
    "kind", "origin", "subject", "importance", "valid_from", "valid_to", "seq",
)  # fmt: skip


def run_record(run: RecordedRun, name: str) -> dict[str, Any]:
    """A record by its id.

    Raises:
        ValueError: if the run lacks it; shows an id.
    """
    of_run = select(*COLUMNS).where(run.mine(records))
    found = run.table(of_run.where(records.c.id == name)).rows
    if not found:
        some = run.table(of_run.limit(1)).rows
        like = f", such as {some[0]['id']!r}" if some else "; it has none"
        raise ValueError(
            f"run {run.id} has no record {name!r}. Ids are "
            f"'agent/layer/kind/number'{like}"
        )
    return found[0]


def source_ids(row: dict[str, Any]) -> list[str]:
    """The ids of the records that a record was made from, each once."""
    given = row["sources"]
    named = given if isinstance(given, list) else []
    return list(dict.fromkeys(name for name in named if isinstance(name, str)))


class Versions:
    """The successions among some records.

    Args:
        rows: records of one agent, in order of ``seq``.
    """

    def __init__(self, rows: Iterable[dict[str, Any]]) -> None:
        self._rows = {row["id"]: row for row in rows}
        self.before: dict[str, list[str]] = defaultdict(list)
        self.after: dict[str, list[str]] = defaultdict(list)
        for row in self._rows.values():
            self._link(row, self._rows.get(row["superseded_by"]))
            for name in source_ids(row):
                old = self._rows.get(name)
                if old is None or old["superseded_by"]:
                    continue
                if old["valid_to"] == row["valid_from"]:
                    self._link(old, row)

    def _link(self, old: dict[str, Any], new: dict[str, Any] | None) -> None:
        if new is None or any(old[n] != new[n] for n in ("kind", "layer", "subject")):
            return
        self.before[new["id"]].append(old["id"])
        self.after[old["id"]].append(new["id"])

    def chain(self, record: str) -> set[str]:
        """The ids of a record, of those before it and of those after it."""
        found = {record}
        for links in (self.before, self.after):
            seen, waiting = {record}, [record]
            while waiting:
                new = [n for n in links.get(waiting.pop(), ()) if n not in seen]
                seen.update(new)
                waiting.extend(new)
            found |= seen
        return found

    def operations(self, rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """The operations that made and ended these records, oldest first."""
        found = []
        for row in rows:
            found.append(self._opening(row))
            if row["valid_to"] is not None and not self.after.get(row["id"]):
                found.append(self._ending(row))
        # A stable sort: of one step, openings in order of arrival, then endings.
        return sorted(found, key=lambda o: (o["step"], o["operation"] == "DELETE"))

    def _opening(self, row: dict[str, Any]) -> dict[str, Any]:
        previous = self.before.get(row["id"], [])
        operation = "UPDATE" if previous else "ADD"
        if len(previous) == 1:
            old = self._rows[previous[0]]
            same = all(old[n] == row[n] for n in ("text", "content"))
            operation = "NONE" if same else operation
        return row | {
            "step": row["valid_from"],
            "operation": operation,
            "previous": previous,
            "because": None,
            "by": None,
        }

    def _ending(self, row: dict[str, Any]) -> dict[str, Any]:
        return row | {
            "step": row["valid_to"],
            "operation": "DELETE",
            "previous": [row["id"]],
            "because": row["closed_because"],
            "by": row["superseded_by"],
        }


class Queries(RecordedRun):
    """The queries of a recorded run, each a table; see ``Run``."""

    def agents(self, *, as_records: bool = False) -> Any:
        """Each agent: class, memory, layers, and how many records from when to when.

        ``first_step`` and ``last_step`` are the steps of its first and last record.
        """
        who = schema.agents

        def own(wanted: Select[Any]) -> Any:
            # One look into the index for each agent is faster than GROUP BY over all of it.
            of_agent = (self.mine(records), records.c.agent == who.c.agent)
            return wanted.where(*of_agent).correlate(who).scalar_subquery()

        step = select(records.c.step).limit(1)
        found = self.table(
            select(
                *(who.c.agent, who.c.name, who.c["class"], who.c.memory, who.c.layers),
                own(select(func.count()).select_from(records)).label("records"),
                own(step.order_by(records.c.seq)).label("first_step"),
                own(step.order_by(records.c.seq.desc())).label("last_step"),
            ).where(self.mine(who))
        )
        places = {name: place for place, name in enumerate(self.unique_ids.values())}
        found.rows.sort(key=lambda row: places[row["agent"]])
        return found.given(as_records)

    def memories(self, *, as_records: bool = False) -> Any:
        """The kinds of agents and memories, with their settings.

        One row for each combination: ``class`` of the agents, ``memory``, ``settings`` of
        the memory and its layers, and the number of ``agents``.
        """
        agents = schema.agents.columns
        wanted = select(agents["class"], agents.memory, agents.settings)
        wanted = wanted.where(self.mine(schema.agents)).order_by(agents.agent)
        found: dict[str, dict[str, Any]] = {}
        for row in self.records(wanted):
            known = found.setdefault(repr(row), row | {"agents": 0})
            known["agents"] += 1
        columns = ("class", "memory", "settings", "agents")
        return table(columns, [*found.values()]).given(as_records)

    @property
    def step_name(self) -> str:
        """The meaning of a step in the agents' prompts; empty without one."""
        return next(iter(step_names(self.prompt_files(as_records=True))), "")

    def prompt_files(self, *, as_records: bool = False) -> Any:
        """The prompt files from which models and agents were told something.

        One row for each text of a file: ``language``, ``name``, ``hash`` (SHA-256), the
        ``step`` from which on it was used, and the ``text``.
        """
        files = schema.prompt_files
        names = ("language", "name", "hash", "step", "text")
        wanted = select(*(files.c[name] for name in names)).where(self.mine(files))
        order = files.c.language, files.c.name, files.c.step
        return self.table(wanted.order_by(*order)).given(as_records)

    def state(
        self,
        agent: Any,
        step: float | None = None,
        layer: str | None = None,
        kind: str | None = None,
        *,
        as_records: bool = False,
    ) -> Any:
        """The memory of an agent at the end of a step, in order of arrival.

        Args:
            agent: its unique id.
            step: a finished step; None is the last one.
            layer, kind: only this one; None is all.
            as_records: a list of dicts instead of a DataFrame.
        """
        at = self.step(step)
        wanted = held(self, agent, layer, kind).where(valid_at(at))
        rows = [as_known(row, at) for row in self.records(wanted)]
        return table(tuple(column.name for column in COLUMNS), rows).given(as_records)

    def history(
        self,
        record: str | None = None,
        *,
        agent: Any = None,
        layer: str | None = None,
        kind: str | None = None,
        as_records: bool = False,
    ) -> Any:
        """The operations that made and ended memories, oldest first; see ``versions``.

        Args:
            record: the id of one; the versions before and after it count, too.
            agent: instead of a record, everything of an agent.
            layer, kind: only this one of the agent's.
            as_records: a list of dicts instead of a DataFrame.
        """
        if (record is None) == (agent is None):
            raise ValueError(
                "history needs a record's id or an agent, one of them; got "
                f"record {record!r}, agent {agent!r}"
            )
        if record is not None:
            own = run_record(self, record)
            # Versions of a record stand beside it, so these few rows are enough.
            agent, layer, kind = own["agent"], own["layer"], own["kind"]
        rows = self.records(held(self, agent, layer, kind))
        versions = Versions(rows)
        if record is not None:
            chain = versions.chain(record)
            rows = [row for row in rows if row["id"] in chain]
        return table(VERSION_COLUMNS, versions.operations(rows)).given(as_records)

    def provenance(self, record: str, *, as_records: bool = False) -> Any:
        """The evidence of a record down to raw events, depth first.

        A source that the run does not have is ``missing``; one that was told further up
        is ``repeated``, without what is below it.
        """
        run_record(self, record)
        found = _below(self, record)
        lines: list[dict[str, Any]] = []
        waiting: list[tuple[int, str, str | None]] = [(0, record, None)]
        told: set[str] = set()
        while waiting:
            depth, name, parent = waiting.pop()
            row = found.get(name)
            repeated = name in told
            place = {"id": name, "depth": depth, "parent": parent}
            place |= {"missing": row is None, "repeated": repeated}
            lines.append(dict.fromkeys(EVIDENCE_COLUMNS) | (row or {}) | place)
            if len(lines) > EVIDENCE_LINES:
                wanted = f"at most {EVIDENCE_LINES:,} lines of evidence"
                raise schema.wrong("records.sources", wanted, record, self.location)
            if row and not repeated:
                told.add(name)
                # The last one put in is told first.
                below = reversed(source_ids(row))
                waiting.extend((depth + 1, source, name) for source in below)
        return table(EVIDENCE_COLUMNS, lines).given(as_records)

    def recalls(
        self, agent: Any = None, step: float | None = None, *, as_records: bool = False
    ) -> Any:
        """The recalls of an agent, or of all, with a row for each candidate.

        ``used`` tells if the agent's reply used a shown record, by their common words
        (``retrieval.overlap``). It is None if the agent said nothing then, or was left
        alone (``configure(model, agents=False)``). ``times`` and ``repetitions`` of a
        record that was said several times have the number and the ids of the newest others.
        """
        lines: list[dict[str, Any]] = []
        added: dict[str, None] = {}
        again: dict[str, None] = {}  # columns that only some recalls need
        for row in self.table(logged(self, schema.recalls, agent, step)).rows:
            terms = [name for name, _ in added_terms(row["scoring"])]
            added |= dict.fromkeys(terms)
            for candidate in _candidates(self, row):
                parts = {name: candidate.get(name) for name in (*RANK_FIELDS, *terms)}
                said = {n: candidate[n] for n in REPEATED if n in candidate}
                again, parts = again | dict.fromkeys(said), parts | said
                lines.append(row | parts)
        said = texts(self, list(dict.fromkeys(line["id"] for line in lines)))
        for line in lines:
            line["text"] = said.get(line["id"])
        lacking = dict.fromkeys([*added, *again])
        columns = (*_RECALL_COLUMNS, *RANK_FIELDS, *again, *added, "text")
        return table(columns, [lacking | line for line in lines]).given(as_records)

    def prompts(
        self, agent: Any = None, step: float | None = None, *, as_records: bool = False
    ) -> Any:
        """The texts of memory that an agent was shown, or all were, in order."""
        return self.table(logged(self, schema.prompts, agent, step)).given(as_records)

    def calls(
        self,
        agent: Any = None,
        step: float | None = None,
        purpose: str | None = None,
        *,
        as_records: bool = False,
    ) -> Any:
        """The requests to language models, in the order they were recorded."""
        wanted = logged(self, CALLS, agent, step, CALL_COLUMNS)
        if purpose is not None:
            wanted = wanted.where(CALLS.c.purpose == purpose)
        return self.table(wanted).given(as_records)

    def cost(
        self, by: str | Sequence[str] = ("purpose",), *, as_records: bool = False
    ) -> Any:
        """Calls, tokens, US dollars and seconds, summed.

        Args:
            by: any of purpose, agent, step, model, replayed, finish, tier, cached, client,
                form; an empty list gives one row for all calls. A ``cost`` is None if any call's price
                is unknown; ``unpriced`` is the number of these calls. ``tokens_cached``
                is the part of ``tokens_in`` that providers read from their caches. Of
                the calls, ``asked_again`` repeat a request after an unusable reply,
                ``doubtful`` have a reply that may be wrong, and ``given_up`` a last
                reply that was unusable.
            as_records: a list of dicts instead of a DataFrame.
        """
        names = [by] if isinstance(by, str) else list(dict.fromkeys(by))
        unknown = [name for name in names if name not in KEYS]
        if unknown:
            raise ValueError(f"cost is by {', '.join(KEYS)}, got {unknown[0]!r}")
        keys = [CALLS.c[name] for name in names]
        count = func.count()
        unpriced = count - func.count(CALLS.c.cost)
        summed = select(
            *keys,
            count.label("calls"),
            *(_sum(CALLS.c[name]).label(name) for name in _SUMMED),
            # A sum with an unknown part is unknown, not smaller.
            case((unpriced == 0, func.coalesce(func.sum(CALLS.c.cost), 0.0))).label(
                "cost"
            ),
            unpriced.label("unpriced"),
            _sum(CALLS.c.latency).label("latency"),
            func.count(CALLS.c.error).label("failures"),
            *(
                _sum(case((CALLS.c[n], 1), else_=0)).label(own)
                for n, own in _TRUE.items()
            ),
            func.count(CALLS.c.doubtful).label("doubtful"),
            func.count(CALLS.c.given_up).label("given_up"),
        ).where(self.mine(CALLS))
        summed = summed.group_by(*keys).order_by(*keys) if keys else summed
        return self.table(summed).given(as_records)

    def interventions(self, *, as_records: bool = False) -> Any:
        """The interventions of a researcher, in order."""
        log = schema.interventions
        columns = (log.c.seq, log.c.step, log.c.agent, log.c.kind, log.c.detail)
        wanted = select(*columns).where(self.mine(log)).order_by(log.c.seq)
        return self.table(wanted).given(as_records)
