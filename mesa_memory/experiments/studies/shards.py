"""Shards: a study in several files, each written by one job of a cluster.

A shard has each n-th run, and writes into a file of its own beside the study's. No job
needs to reach another one or a database, and any of them may run again at any time. The files
have rollback journals, as network file systems lack shared memory.
"""

import re
from contextlib import closing
from copy import copy
from pathlib import Path
from typing import Any

from mesa_memory.core.validate import checked_int
from mesa_memory.errors import StoreError, StudyChanged
from mesa_memory.experiments.studies.entry import add_cases, enter
from mesa_memory.experiments.studies.fingerprint import differences
from mesa_memory.stores.base import ROLLBACK
from mesa_memory.stores.copying import copy_case
from mesa_memory.stores.open import is_postgres, open_store
from mesa_memory.stores.studies import FAILED, FINISHED, Studies


def shard_of(study: Any, number: int, of: int) -> Any:
    """See ``Study.shard``."""
    checked_int("of", of)
    if checked_int("number", number) > of:
        raise ValueError(f"shard {number} of {of} does not exist: number is 1 to {of}")
    if is_postgres(study.location):
        raise ValueError(
            "a study in PostgreSQL needs no shards: any number of processes may call "
            "study.run() at once"
        )
    mine = copy(study)
    path = Path(study.location)
    mine.location = str(path.with_name(f"{path.stem}.{number}-of-{of}{path.suffix}"))
    mine.share, mine.journal = (number, of), ROLLBACK
    return mine


def shard_files(location: str) -> list[Path]:
    """The files of a study's shards, in order of their names."""
    path = Path(location)
    name = re.compile(
        rf"{re.escape(path.stem)}\.\d+-of-\d+{re.escape(path.suffix)}", re.ASCII
    )
    return sorted(file for file in path.parent.glob("*") if name.fullmatch(file.name))


def gather(study: Any) -> int:
    """See ``Study.gather``."""
    gathered = 0
    with closing(open_store(study.location, journal=ROLLBACK)) as store:
        studies = Studies(store)
        row, print_ = enter(study, studies, False)
        add_cases(study, studies, row, study.design.cases)
        for file in shard_files(study.location):
            mine = {case.key: case for case in studies.cases(row.id) if case.due}
            try:
                other = open_store(file, read_only=True)
            except StoreError:
                if file.stat().st_size:
                    raise
                continue  # its job was killed before it wrote anything
            with closing(other):
                theirs = Studies(other)
                found = theirs.find(study.name)
                if found is None:
                    continue
                _check(file, differences(found.fingerprint, print_))
                for case in theirs.cases(found.id):
                    ended = case.state in (FINISHED, FAILED) and case.run is not None
                    if ended and case.key in mine:
                        other_steps = f"steps was {case.steps:g}, is {study.steps}"
                        _check(file, [other_steps] * (case.steps != study.steps))
                        copy_case(other, case, store, mine[case.key])
                        gathered += 1
    return gathered


def _check(file: Path, found: list[str]) -> None:
    """Raises if a shard was made with other code, outcomes, versions or steps."""
    if found:
        raise StudyChanged(
            f"{file} was not made with what is here now: {'; '.join(found)}. Undo the "
            "changes, or run this shard again, for other code in a new folder.",
            differences=tuple(found),
        )
