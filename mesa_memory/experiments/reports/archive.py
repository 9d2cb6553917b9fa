"""A study as a sealed folder: tables, texts, the store, and the hashes of all files."""

import hashlib
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import mesa_memory.stores.schema as schema
from mesa_memory.errors import StudyError
from mesa_memory.experiments.reports.facts import facts_of_study
from mesa_memory.experiments.reports.methods import checklist, methods
from mesa_memory.experiments.studies.results import Results, numbers_only
from mesa_memory.runs.spreadsheet import write_csv
from mesa_memory.stores.copying import copy_file
from mesa_memory.stores.open import is_postgres

#: the list of all files with their hashes (SHA-256)
SEAL = "seal.json"
#: in it, the hash of all else that it says
_OWN = "seal"
#: tables of results, and those of their columns that hold what was said
TABLES = {"runs": ("error",), "steps": (), "agents": (), "calls": ("call_error",),
          "answers": ("answer", "error")}  # fmt: skip
#: columns of the store that hold no word of an agent or a model: numbers, and names
#: that programs choose; all others are emptied
_NAMES = {
    "schema_version": "application",
    "runs": "name model parameters seed versions started state",
    "agents": "agent unique_id class memory layers settings name",
    "prompt_files": "language name hash text",
    "records": "id agent layer kind sources closed_because superseded_by origin",
    "recalls": "agent layer purpose scoring candidates",
    "prompts": "agent layer section budget",
    "calls": "agent purpose model asked address settings prompt_hash failed finish "
    "tier client form answered response_id date doubtful",
    "interventions": "agent kind",
    "leases": "token host since",
    "measures": "agent measured outcomes",
    "responses": "agent question",
    "studies": "name model design fingerprint drift",
    "cases": "key name parameters seed state usage fingerprint",
}
_EMPTIED = ("checkpoints", "unfinished_calls", "answers", "vectors", "scenes")


def archive_study(study: Any, folder: Path, texts: bool) -> Path:
    """See ``Study.archive``."""
    with study.stored() as (studies, row):
        results = Results(studies, row, texts)
        facts, versions = facts_of_study(studies, row), row.fingerprint["versions"]
    folder.mkdir(parents=True)
    for name, said in TABLES.items():
        frame = getattr(results, name)
        hidden = [] if texts else [n for n in said if n in frame.columns]
        write_csv(frame.drop(columns=hidden), folder / f"{name}.csv")
    if study.record:
        study.panel(folder / "panel.csv", texts=texts)
    (folder / "methods.txt").write_text(methods(facts) + "\n", encoding="utf-8")
    (folder / "checklist.md").write_text(checklist(facts), encoding="utf-8")
    if texts:
        # Without two arms, an outcome or a seed that all have, there is no report.
        with suppress(ValueError):
            study.report(folder / "report.html")
    if not is_postgres(study.location):
        copy_file(study.location, str(folder / "store.sqlite"))
        if not texts:
            _silence(folder / "store.sqlite")
    sealed = {
        "study": study.name, "code": facts["code"], "versions": versions, "texts": texts,
        "files": _hashes(folder),
    }  # fmt: skip
    text = json.dumps(sealed | {_OWN: _hash_of(sealed)}, indent=1, sort_keys=True)
    (folder / SEAL).write_text(text + "\n", encoding="utf-8")
    return folder


def verify(folder: str | Path, *, seal: str | None = None) -> list[str]:
    """Checks a folder of ``Study.archive``.

    A seal is a checksum, which tells of damage and of changes by mistake. A seal that was
    written anew with the files is detected by the hash of the first one alone.

    Args:
        folder: that ``Study.archive`` has written.
        seal: the hash under ``"seal"`` in its ``seal.json``, as a paper gives it.

    Returns:
        A sentence for each file that was changed, is missing or was added, and for a
        changed seal; an empty list if the folder is as it was sealed.

    Raises:
        StudyError: if the seal of the folder is missing or cannot be read.
    """
    place = Path(folder)
    try:
        told = dict(json.loads((place / SEAL).read_text(encoding="utf-8")))
        sealed, own = dict(told["files"]), told.pop(_OWN, None)
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise StudyError(
            f"{place} is not a sealed folder of a study: {SEAL} cannot be read ({error}). "
            "Give the folder that study.archive(…) has written."
        ) from error
    now = _hashes(place)
    found = {
        "is missing": sealed.keys() - now.keys(),
        "was added": now.keys() - sealed.keys(),
        "was changed": {n for n in sealed.keys() & now.keys() if sealed[n] != now[n]},
    }
    if own != _hash_of(told) or seal not in (None, own):
        found["was changed"].add(SEAL)
    return [f"{name} {how}" for how, names in found.items() for name in sorted(names)]


def _hashes(folder: Path) -> dict[str, str]:
    """The hash of each file of a folder, but for its seal."""
    return {
        path.relative_to(folder).as_posix(): _sha256(path.read_bytes())
        for path in sorted(folder.rglob("*"))
        if path.is_file() and path != folder / SEAL
    }


def _hash_of(seal: dict[str, Any]) -> str:
    return _sha256(json.dumps(seal, sort_keys=True).encode())


def _sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def _silence(file: Path) -> None:
    """Takes all that was said out of a store, and out of the free pages of its file."""
    with closing(sqlite3.connect(file)) as store:
        for name in _EMPTIED:
            store.execute(f'DELETE FROM "{name}"')  # noqa: S608 - names from above
        # A number in a record's subject, or a text, is an agent's id, or what was heard.
        store.execute(
            "UPDATE records SET subject = NULL WHERE NOT EXISTS (SELECT 1 FROM agents "
            "WHERE agents.run = records.run AND agents.unique_id = records.subject)"
        )
        for table in schema.metadata.sorted_tables:
            names = {"subject", *_NAMES.get(table.name, "").split()}
            values = ", ".join(
                f'"{column.name}" = NULL'
                for column in table.columns
                if isinstance(column.type, schema.Document | schema.Text)
                and column.name not in names
                and table.name not in _EMPTIED
            )
            if values:
                store.execute(f'UPDATE "{table.name}" SET {values}')  # noqa: S608
        # The note names who spoke, and a sender may be any text.
        store.execute("UPDATE recalls SET scoring = json_remove(scoring, '$.note')")
        for name in ("measured", "outcomes"):
            found = store.execute(f"SELECT rowid, {name} FROM measures").fetchall()  # noqa: S608
            kept = (
                (numbers_only(json.loads(told)), row) for row, told in found if told
            )
            store.executemany(
                f"UPDATE measures SET {name} = ? WHERE rowid = ?",  # noqa: S608
                [(json.dumps(numbers), row) for numbers, row in kept],
            )
        store.commit()
        store.execute("VACUUM")
