"""Rows for stores, and what is in one."""

import sqlalchemy as sa

from mesa_memory.errors import StoreCorrupt
from mesa_memory.stores import Batch, schema


def record(number, step=1, agent="7", **fields):
    """A row of ``records``."""
    return {
        "id": f"{agent}/episodic/message/{number}",
        "agent": agent,
        "layer": "episodic",
        "kind": "message",
        "step": step,
        "text": f"Step {step}: the mill is on fire, says {number}",
        "content": {"message": "the mill is on fire", "sender": number},
        "importance": None,
        "subject": None,
        "sources": [],
        "origin": "event",
        "valid_from": step,
    } | fields


def full(step, agents=3, start=None):
    """A batch in which everything happens; records of the step before are closed."""
    first = step if start is None else start
    ids = [f"{agent}/episodic/message" for agent in range(agents)]
    batch = Batch(step)
    batch.opened = [record(step, step, str(a))
                    for a in range(agents)]  # fmt: skip
    batch.graded = [(f"{name}/{step}", 1 + step % 5, step) for name in ids]
    if step > first:
        batch.closed = [
            (f"{n}/{step - 1}", step, "superseded", f"{n}/{step}") for n in ids
        ]
    row = {"step": step, "agent": "0", "layer": "episodic"}
    batch.recalls = [row | {"purpose": "read", "query": "mill", "scoring": {"relevance": 1},
                            "candidates": [{"id": f"{ids[0]}/{step}", "rank": 1, "score": 0.5, "relevance": 0.25,
                                            "dense": 0.1, "lexical": 0.2, "importance": 0.0, "recency": 1.0, "shown": True},
                                           {"id": f"{ids[1]}/{step}", "rank": 2, "score": 0.25, "shown": False}]}]  # fmt: skip
    batch.prompts = [row | {"section": "recalled", "text": "the mill is on fire"}]
    batch.calls = [{"step": step, "agent": "0", "purpose": "grade", "occurrence": 1, "model": "m",
                    "prompt": [{"role": "user", "content": "grade"}], "prompt_hash": "h", "reply": "5",
                    "tokens_in": 3, "tokens_out": 1, "cost": 0.25, "latency": 0.5, "attempts": 1,
                    "replayed": False, "finish": "stop"}]  # fmt: skip
    batch.probes = [batch.calls[0] | {"purpose": "probe", "reply": "at the mill"}]
    batch.interventions = [
        {"step": step, "agent": "0", "kind": "implant", "detail": {"b": 1, "a": 2}}
    ]
    batch.answers = [{"step": step, "key": f"hash{step}", "value": {"grade": 3}}]
    batch.scenes = [
        {"step": step, "kind": "places", "state": {"1": [0.5, step], "0": None}}
    ]
    batch.agents = [{"agent": str(a), "unique_id": a, "class": "Villager", "memory": "EpisodicMemory",
                     "layers": ["episodic"]} for a in range(agents)]  # fmt: skip
    batch.vectors = [{"key": f"text{step}", "vector": "AACAPw=="}]
    batch.checkpoint = {"": {"steps": step}, "0": {"z": [step], "a": 1}}
    return batch


def rows(store, table, **where):
    """Rows of a table as dicts, in order of its primary key."""
    chosen = schema.metadata.tables[table]
    query = sa.select(chosen).filter_by(**where).order_by(*chosen.primary_key)
    with store.reading() as on:
        return [dict(row) for row in on.execute(query).mappings()]


def everything(store, run):
    """All rows of a run, by table; who writes it is no part of it."""
    tables = [t.name for t in schema.metadata.sorted_tables if "run" in t.columns]
    tables.remove("leases")
    return {name: rows(store, name, run=run) for name in tables}


def check(store):
    """Reads everything once; damage that shows is a ``StoreCorrupt``."""
    with store.reading() as on:
        said = on.scalar(sa.text("PRAGMA integrity_check(1)"))
        if said != "ok":
            raise StoreCorrupt(said)
        for table in schema.metadata.sorted_tables:
            on.execute(sa.select(table)).all()
