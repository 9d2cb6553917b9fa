"""A recorded run whose texts and names would all harm a page."""

from pathlib import Path
from typing import Any

from mesa_memory.stores import open_store
from tests.support.recorded import Story

ATTACK = (
    "</script><img src=x onerror=alert(1)>{{constructor.constructor('alert(2)')()}}<!--"
)


def hostile_run(path: Path) -> str:
    """Writes the run, in which ``ATTACK`` is the agent "b"; gives its file."""
    store = open_store(str(path))
    names = {"parameters": {ATTACK: ATTACK}, "versions": {ATTACK: ATTACK}}
    Story(store, edit=_edit, name=ATTACK, model=ATTACK, seed=ATTACK, **names)
    store.close()
    return str(path)


def _edit(step: int, batch: Any) -> None:
    for rows in (batch.opened, batch.prompts, batch.calls, batch.recalls, batch.agents):
        for row in rows:
            _harm(row)
    batch.closed[:] = [
        (name + ATTACK, at, ATTACK if reason == "deleted" else reason, by and by + ATTACK)
        for name, at, reason, by in batch.closed
    ]  # fmt: skip
    for row in batch.agents:
        row["class"] = row["memory"] = row["name"] = ATTACK
        row["unique_id"] = ATTACK if row["agent"] == ATTACK else row["unique_id"]


def _harm(row: dict[str, Any]) -> None:
    """Makes an attack of all that a row says, without breaking its references."""
    for name in ("layer", "section", "purpose", "model", "query", "finish"):
        if row.get(name) is not None:
            row[name] = ATTACK
    for name in ("agent", "subject"):
        if row.get(name) == "b":
            row[name] = ATTACK
    if "text" in row:
        row["text"] = f"{row['text']} {ATTACK}\u2028"
    if "id" in row:
        row["id"] += ATTACK
        row["sources"] = [name + ATTACK for name in row["sources"]]
        said = {"message": row["text"], "sender": ATTACK}
        own = {"text": row["text"], ATTACK: 1, "sentiment": 0.5}
        row["content"] = said if row["kind"] == "message" else own
        if row["kind"] not in ("message", "impression"):
            row["kind"] = ATTACK
    if isinstance(row.get("prompt"), list):
        row["prompt"] = [{"role": ATTACK, "content": f"{ATTACK}:\n{ATTACK}"}]
    for one in row.get("candidates", ()):
        one["id"] += ATTACK
