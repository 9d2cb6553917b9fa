"""What agents concluded, down to the events that it rests on."""

import pytest

from mesa_memory.runs import open_run
from mesa_memory.runs.past import past
from mesa_memory.stores import open_store
from mesa_memory.viz.views import evidence as data
from tests.support.recorded import Minds


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A story of eight steps."""
    store = open_store(str(tmp_path_factory.mktemp("evidence") / "run.sqlite"))
    number = Minds(store).run
    with open_run(store, number) as opened:
        yield opened
    store.close()


def test_conclusions_are_those_until_the_step_newest_first(run):
    made = data.conclusions(past(run, 7), 3)
    assert [row["id"] for row in made] == [
        "7/stlt/summary/2",
        "7/stlt/summary/1",
        "7/stlt/impression/1",
    ]
    standing = [data.standing(row, 3) for row in made]
    assert standing == ["remembered", "superseded in step 3", "remembered"]


def test_a_summary_rests_on_each_event_once(run):
    found = data.evidence(run, "7/stlt/summary/3")
    assert [row["id"] for row in found.events] == [
        f"7/stlt/{kind}/{step}"
        for step in (1, 2, 3)
        for kind in ("message", "observation")
    ]
    assert found.kinds == {"message": 3, "observation": 3}
    assert (max(line["depth"] for line in found.lines), found.missing) == (3, [])


def test_a_missing_source_is_said(run):
    found = data.evidence(run, "7/stlt/impression/1")
    assert found.missing == ["gone/stlt/message/1"]
    assert [row["id"] for row in found.events] == ["7/stlt/message/1"]
    top, known, gone = data.nodes(found, past(run, 7))
    assert (top["head"], top["depth"]) == ("impression, step 1, agent 7", 0)
    assert (known["known"], known["note"]) == (True, "consolidated in step 2")
    assert (gone["known"], gone["head"]) == (False, "gone/stlt/message/1")
    assert gone["note"] == "missing: the record is not in this run"


def test_long_texts_are_cut_below_the_top(town_file):
    with open_run(town_file) as town:
        known = past(town, 2)
        made = data.conclusions(known, 8)
        long = [row for row in made if len(row["text"]) > data.LINE_CHARS]
        found = data.evidence(town, long[0]["id"])
    top, *below = data.nodes(found, known)
    assert top["text"] == long[0]["text"]
    assert max(len(node["text"]) for node in below) == data.LINE_CHARS
