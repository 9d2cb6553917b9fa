"""Statements of one's own about a run."""

import pytest
from sqlalchemy import select

from mesa_memory.runs import open_run
from mesa_memory.stores import open_store, schema
from tests.support.recorded import Story

records = schema.records


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    place = str(tmp_path_factory.mktemp("runs") / "run.sqlite")
    store = open_store(place)
    story = Story(store, name="told")
    store.close()
    with open_run(place, story.run) as opened:
        yield opened


def test_agents_have_names_in_the_store_and_ids_of_their_own(run):
    assert run.unique_ids == {"7": 7, "b": "b"}
    assert run.name_of(7) == "7"
    with pytest.raises(ValueError, match="has no agent 'nobody'; its agents are 7, b"):
        run.name_of("nobody")


def test_a_statement_gives_rows_as_they_are_stored_or_by_column(run):
    wanted = select(records.c.agent, records.c.seq).where(records.c.run == run.id)
    wanted = wanted.order_by(records.c.seq)
    rows = run.rows(wanted)
    assert {agent for agent, _ in rows} == {"7", "b"}
    named = run.records(wanted)
    assert [row["seq"] for row in named] == [seq for _, seq in rows]
    assert {row["agent"] for row in named} == {7, "b"}
    assert [tuple(row) for part in run.chunks(wanted) for row in part] == rows
