"""What the write gate of facts said of each statement, as a run has recorded it."""

import pytest

from mesa_memory import FactMemory, LayeredMemory, ScriptedLLM, Services, open_run
from mesa_memory.core.records import REFUSED
from mesa_memory.stores import schema
from tests.layers.test_staleness import Village
from tests.support.playing import lived

SAID = {
    1: [("Carl", "home", "the mill", {})],
    2: [("Carl", "mood", "tired", {"stable": False, "useful": False})],
    3: [("Carl", "home", "the mill", {}), ("Bob", "wish", "rain", {"fact": False})],
    4: [("Carl", "home", "the inn", {"changed": True})],
}


def extract(request):
    names = ("subject", "attribute", "value")
    return {
        "facts": [
            dict(zip(names, stated), sources=[1], **gate)
            for *stated, gate in SAID.get(request.step, ())
        ],
        "summary": "Much was said of Carl and of the mill.",
    }


def gate(**verdict):
    return {"fact": True, "stable": True, "useful": True} | verdict


@pytest.mark.parametrize("kind", [FactMemory, LayeredMemory.session])
def test_each_verdict_can_be_read_also_of_what_was_refused(kind, tmp_path):
    file = str(tmp_path / "run.sqlite")
    rules = {"extract": extract, "*": {"summary": "Carl lives at the mill."}}
    village = lived(Village(kind, record=file, llm=ScriptedLLM(rules=rules)), 5)
    Services.of(village).recorder.close()
    facts = schema.records.select().filter_by(agent="1", kind="fact")
    with open_run(file) as run:
        rows = run.records(facts.order_by(schema.records.c.seq))
    told = [
        (row["text"], row["closed_because"] != REFUSED, row["content"]["gate"])
        for row in rows
        if row["origin"] == "derived"
    ]
    assert ("Carl: home: the mill", True, gate()) in told
    assert ("Carl: mood: tired", False, gate(stable=False, useful=False)) in told
    assert ("Bob: wish: rain", False, gate(fact=False)) in told
    assert ("Carl: home: the inn", True, gate()) in told
    assert all(row["sources"] for row in rows)
