"""Two runs are compared as their agents would compare what came to mind."""

import json
import shutil
import sqlite3

import pytest

from mesa_memory import Services, open_run
from tests.support.recorded_town import RecordedTown


@pytest.mark.parametrize(("by", "same"), [(2e-6, True), (2e-4, False)])
def test_scores_that_rank_alike_are_the_same(tmp_path, by, same):
    town = RecordedTown(str(tmp_path / "run.sqlite"))
    for _ in range(2):
        town.step()
    Services.of(town).recorder.close()
    shutil.copy(tmp_path / "run.sqlite", tmp_path / "other.sqlite")
    with sqlite3.connect(tmp_path / "other.sqlite") as on:
        query = "SELECT seq, candidates FROM recalls WHERE candidates <> '[]' LIMIT 1"
        seq, candidates = on.execute(query).fetchone()
        changed = json.loads(candidates)
        changed[0]["score"] += by
        values = json.dumps(changed), seq
        on.execute("UPDATE recalls SET candidates = ? WHERE seq = ?", values)
    on.close()
    files = [tmp_path / "run.sqlite", tmp_path / "other.sqlite"]
    with open_run(files[0]) as run, open_run(files[1]) as other:
        found = run.differences(other)
    assert (found is None) == same
    assert same or found.table == "recalls"
