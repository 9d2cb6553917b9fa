"""A recorded run whose texts and names would all harm a page."""

from pathlib import Path
from typing import Any

from mesa_memory.stores import open_store
from tests.support.recorded import Story

ATTACK = "</script><img src=x onerror=alert(1)>{{1+1}}<!--\u2028"


def hostile_run(path: Path) -> str:
    """Writes the run; gives its file."""
    store = open_store(str(path))
    names = {"parameters": {ATTACK: ATTACK}, "versions": {ATTACK: ATTACK}}
    Story(store, edit=_edit, name=ATTACK, model=ATTACK, seed=ATTACK, **names)
    store.close()
    return str(path)


def _edit(step: int, batch: Any) -> None:
    for row in batch.opened:
        row["text"] = row["kind"] = row["layer"] = f"{ATTACK}{step}"
        row["content"] = {"text": ATTACK, "message": ATTACK, "sender": "b"}
        if row["agent"] == "7":
            row["kind"] = "message"
    for row in batch.recalls:
        row["query"] = row["purpose"] = ATTACK
    for row in batch.calls:
        row["purpose"] = row["model"] = ATTACK
    for row in batch.agents:
        row["memory"] = row["name"] = row["class"] = ATTACK
