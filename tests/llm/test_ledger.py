"""The sums of a ledger, for which a long run takes no longer."""

from mesa_memory.core.requests import LLMRequest
from mesa_memory.core.text.replies import Refusal
from mesa_memory.llm.ledger import Ledger, Usage


def counted(refusals):
    """A ledger that has counted a call with each of these verdicts."""
    ledger = Ledger()
    for refusal in refusals:
        asked = {"agent": 1, "step": 1, "system": "", "prompt": "", "schema": None}
        request = LLMRequest("grade", inputs={}, refusal=refusal, **asked)
        ledger.count(request, "m", Usage(calls=1))
    return ledger


def test_a_sum_has_verdicts_that_came_after_the_call_was_counted():
    refusals = [Refusal() for _ in range(5)]
    ledger = counted(refusals)
    refusals[1].doubt, refusals[3].doubt, refusals[4].reason = "vague", "short", "empty"
    found = ledger.by("purpose")[("grade",)]
    assert (found.calls, found.doubtful, found.given_up) == (5, 2, 1)


def test_a_sum_adds_no_more_numbers_after_many_calls(monkeypatch):
    ledger, added, add = counted(Refusal() for _ in range(500)), [], Usage.__add__
    monkeypatch.setattr(
        Usage, "__add__", lambda *both: added.append(both) or add(*both)
    )
    assert ledger.by("purpose")[("grade",)].calls == 500
    assert len(added) == 1
