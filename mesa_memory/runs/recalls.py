"""The recalls of an agent, and the texts of memory it was shown."""

from typing import Any

from sqlalchemy import select

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StoreCorrupt
from mesa_memory.retrieval.scoring import RESERVED_NAMES
from mesa_memory.runs.recorded import RecordedRun, logged
from mesa_memory.runs.table import Table, table

#: what a candidate has
RANK_FIELDS = (
    "id", "rank", "score", "shown", "used", "relevance", "dense", "lexical", "importance",
    "recency", "time_match", "session", "superseded", "question",
)  # fmt: skip
#: what a recall has
_RECALL_COLUMNS = ("seq", "step", "agent", "layer", "purpose", "query")
#: how many ids stand in one statement
IDS_PER_QUERY = 5_000


def recalls(run: RecordedRun, agent: Any, step: Any) -> Table:
    """See ``Run.recalls``."""
    lines: list[dict[str, Any]] = []
    added: dict[str, None] = {}
    for row in run.table(logged(run, schema.recalls, agent, step)).rows:
        terms = [name for name, _ in added_terms(row["scoring"])]
        added |= dict.fromkeys(terms)
        for candidate in _candidates(run, row):
            parts = {name: candidate.get(name) for name in (*RANK_FIELDS, *terms)}
            lines.append(row | parts)
    said = texts(run, list(dict.fromkeys(line["id"] for line in lines)))
    for line in lines:
        line["text"] = said.get(line["id"])
    lacking = dict.fromkeys(added)
    columns = (*_RECALL_COLUMNS, *RANK_FIELDS, *added, "text")
    return table(columns, [lacking | line for line in lines])


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


def prompts(run: RecordedRun, agent: Any, step: Any) -> Table:
    """See ``Run.prompts``."""
    return run.table(logged(run, schema.prompts, agent, step))


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
        raise StoreCorrupt(
            f"the recall with seq {row['seq']} of run {run.id} does not hold a "
            "list of candidates. The file was changed; restore a backup.",
            location=run.location,
        )
    return given
