"""Records in the words in which their agent is shown them: ``Ada to you: …``."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import mesa_memory.stores.schema as schema
from mesa_memory.core.content import by_id
from mesa_memory.core.events import event_text
from mesa_memory.core.records import DERIVED
from mesa_memory.core.render import RECORD_CHARS
from mesa_memory.core.wording import Voice
from mesa_memory.runs.recalls import columns_of
from mesa_memory.runs.recorded import RecordedRun
from mesa_memory.runs.state import wording_of


def teller(run: RecordedRun) -> Callable[..., str]:
    """Tells records of a run, with the names and the prompt files that it was made with.

    Returns:
        A function of a record with ``agent`` (its name in the store), ``kind``,
        ``origin``, ``content`` and ``text``, and of the longest text in characters.
    """
    naming, wording, unique_ids = _naming(run.names), wording_of(run), run.unique_ids

    def tell(record: Mapping[str, Any], limit: int = RECORD_CHARS) -> str:
        content = record["content"]
        if record["origin"] == DERIVED or not isinstance(content, dict) or not content:
            return record["text"] or ""
        owner = unique_ids.get(str(record["agent"]))
        voice = Voice(naming, wording, owner, to_owner=True)
        return event_text(record["kind"], content, limit, voice)

    return tell


def told(run: RecordedRun, ids: Iterable[str]) -> dict[str, str]:
    """The records among these ids in words, by id; see ``teller``."""
    names, tell = ("agent", "kind", "origin", "content", "text"), teller(run)
    columns = (schema.records.c[name] for name in names)
    rows = columns_of(run, list(ids), *columns)
    return {id: tell(dict(zip(names, row))) for id, *row in rows}


def _naming(names: Mapping[Any, str]) -> Callable[[Any], str]:
    """Agents as prompts call them."""
    bearers = Counter(names.values())

    def called(agent: Any) -> str:
        name, plain = names.get(agent, ""), by_id(agent)
        if name in ("", plain, str(agent)):
            return plain
        return name if bearers[name] == 1 else f"{name} ({plain})"

    return called
