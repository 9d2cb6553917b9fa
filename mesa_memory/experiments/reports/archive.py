"""A study as a sealed folder: tables, texts, the store, and the hashes of all files."""

import hashlib
import json
import sqlite3
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

from mesa_memory.errors import StudyError
from mesa_memory.experiments.reports.facts import facts_of_study
from mesa_memory.experiments.reports.methods import checklist, methods
from mesa_memory.experiments.reports.study_report import write_study_report
from mesa_memory.runs.spreadsheet import write_csv
from mesa_memory.stores.copying import copy_file
from mesa_memory.stores.open import is_postgres

#: the list of all files with their hashes (SHA-256)
SEAL = "seal.json"
#: tables of results, and those of their columns that hold what was said
TABLES = {"runs": ("error",), "steps": (), "agents": (), "calls": ("error",),
          "answers": ("value", "error")}  # fmt: skip
#: columns of the store that hold what was said; the whole of a table that needs it
_SAID = {
    "records": ("text", "content"), "prompts": ("text",), "recalls": ("query",),
    "calls": ("prompt", "reply", "raw", "error", "decision", "given_up"),
    "responses": ("value", "error"), "interventions": ("detail",), "cases": ("error",),
}  # fmt: skip
_EMPTIED = ("checkpoints", "unfinished_calls", "answers", "vectors", "scenes")


def archive_study(study: Any, folder: Path, texts: bool) -> Path:
    """See ``Study.archive``."""
    results = study.results()
    folder.mkdir(parents=True)
    for name, said in TABLES.items():
        frame = getattr(results, name)
        hidden = [] if texts else [n for n in said if n in frame.columns]
        write_csv(frame.drop(columns=hidden), folder / f"{name}.csv")
    with study.stored() as (studies, row):
        facts, versions = (
            facts_of_study(studies, row),
            dict(row.fingerprint)["versions"],
        )
    (folder / "methods.txt").write_text(methods(facts) + "\n", encoding="utf-8")
    (folder / "checklist.md").write_text(checklist(facts), encoding="utf-8")
    if texts:
        # Without two arms, one outcome or a seed that all have, there is no report.
        with suppress(ValueError):
            write_study_report(study, folder / "report.html", study.compare())
    if not is_postgres(study.location):
        copy_file(study.location, str(folder / "store.sqlite"))
        if not texts:
            _silence(folder / "store.sqlite")
    sealed = {
        "study": study.name, "code": facts["code"], "versions": versions, "texts": texts,
        "files": _hashes(folder),
    }  # fmt: skip
    text = json.dumps(sealed, indent=1, sort_keys=True)
    (folder / SEAL).write_text(text + "\n", encoding="utf-8")
    return folder


def verify(folder: str | Path) -> list[str]:
    """Checks a folder of ``Study.archive``.

    Returns:
        A sentence for each file that was changed, is missing or was added; an empty
        list if the folder is as it was sealed.

    Raises:
        StudyError: if the seal of the folder is missing or cannot be read.
    """
    place = Path(folder)
    try:
        sealed = dict(json.loads((place / SEAL).read_text(encoding="utf-8"))["files"])
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StudyError(
            f"{place} is not a sealed folder of a study: {SEAL} cannot be read ({error}). "
            "Give the folder that study.archive(…) has written."
        ) from error
    now = _hashes(place)
    told = {
        "is missing": sealed.keys() - now.keys(),
        "was added": now.keys() - sealed.keys(),
        "was changed": {n for n in sealed.keys() & now.keys() if sealed[n] != now[n]},
    }
    return [f"{name} {how}" for how, names in told.items() for name in sorted(names)]


def _hashes(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): hashlib.sha256(
            path.read_bytes()
        ).hexdigest()
        for path in files
        if path.name != SEAL
    }


def _silence(file: Path) -> None:
    """Takes all that was said out of a store, and out of the free pages of its file."""
    with closing(sqlite3.connect(file)) as store:
        for table, columns in _SAID.items():
            values = ", ".join(f'"{name}" = NULL' for name in columns)
            store.execute(f'UPDATE "{table}" SET {values}')  # noqa: S608 - names from above
        for table in _EMPTIED:
            store.execute(f'DELETE FROM "{table}"')  # noqa: S608 - names from above
        store.commit()
        store.execute("VACUUM")
