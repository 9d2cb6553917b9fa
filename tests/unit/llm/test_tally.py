"""What is set aside for the calls under way."""

from mesa_memory.llm.cost.ledger import Usage
from mesa_memory.llm.cost.tally import Held, Tally

CALL = Usage(calls=1, attempts=1, prompt_tokens=10, completion_tokens=5, cost=0.5)
MORE = Usage(completion_tokens=100, cost=2.0)
UNKNOWN = Usage(calls=1, prompt_tokens=10, cost=None)


def test_one_more_call_comes_on_top_of_what_was_used_and_is_held():
    held, used = Held(), Tally().add(CALL)
    held.hold(CALL, MORE)
    after = held.after(used, CALL)
    assert after == {"calls": 3, "tokens": 45, "cost": 1.5}
    assert held.beyond(after) == {"calls": 3, "tokens": 145, "cost": 3.5}


def test_an_unknown_cost_is_unknown_until_nothing_is_held():
    held = Held()
    held.hold(UNKNOWN, MORE)
    held.hold(CALL, MORE)
    held.let_go(UNKNOWN, MORE)
    after = held.after(Tally(), CALL)
    assert after["cost"] is None and held.beyond(after)["cost"] is None
    held.let_go(CALL, MORE)
    assert held.after(Tally(), CALL) == {"calls": 1, "tokens": 15, "cost": 0.5}
