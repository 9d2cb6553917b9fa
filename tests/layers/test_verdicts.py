"""What the write gate of facts said of each statement, as a run has recorded it."""

import pytest

from mesa_memory import FactMemory, LayeredMemory, ScriptedLLM, Services, open_run
from tests.layers.test_staleness import Village, lived

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


def layered(agent):
    return LayeredMemory.session(agent)


@pytest.mark.parametrize("kind", [FactMemory, layered])
def test_each_verdict_can_be_read_also_of_what_was_refused(kind, tmp_path):
    file = str(tmp_path / "run.sqlite")
    rules = {"extract": extract, "*": {"summary": "Carl lives at the mill."}}
    village = lived(Village(kind, record=file, llm=ScriptedLLM(rules=rules)), 5)
    Services.of(village).recorder.close()
    with open_run(file) as run:
        told = run.verdicts(1, as_records=True)
        columns = ("step", "text", "kept", "fact", "stable", "useful")
        assert [tuple(row[name] for name in columns) for row in told] == [
            (1, "Carl: home: the mill", True, True, True, True),
            (2, "Carl: mood: tired", False, True, False, False),
            (3, "Carl: home: the mill", True, True, True, True),
            (3, "Bob: wish: rain", False, False, True, True),
            (4, "Carl: home: the inn", True, True, True, True),
        ]
        assert all(row["sources"] for row in told)
        assert len(run.verdicts(step=3)) == 2 and len(run.verdicts()) == 5
        with pytest.raises(ValueError, match="no agent"):
            run.verdicts(77)
