"""Questions about generated worlds, few of those of ``benchmarks/facts.py``."""

import pytest

from benchmarks.facts import measure


@pytest.mark.parametrize("offline", [False, True], ids=["scripted", "offline"])
def test_facts_answer_what_they_are_for(offline):
    found = measure(2, 25, offline)
    shares = found["shares"]["facts"]
    assert shares["current"] >= 0.95 and shares["at a step"] >= 0.95
    assert shares["two hops"] >= 0.5 and shares["premise"] >= 0.8
    assert shares["conflict"] == 1.0 and shares["false alarms"] == 0.0
    assert found["judged"] < 0.3
