"""After an error that ends a step, the model goes on as the error says."""

import pytest

from mesa_memory import (
    Budget,
    BudgetExceeded,
    LLMRejected,
    LLMUnavailable,
    MemoryStalled,
    NarrativeMemory,
    ScriptedLLM,
    Services,
    configure,
    fork,
    open_run,
    resume,
)
from tests.support.playing import ended, lived
from tests.support.street import Street
from tests.support.turns import in_turn


def brief_chapters(agent):
    """A life told every other step."""
    return NarrativeMemory(agent, chapters=2, keep_last=9)


MEMORIES = ["episodic", "long_term", "stlt", "fact", brief_chapters, "layered"]


def until_it_fails(street, error, most=12):
    for _ in range(most):
        before = street.steps
        try:
            street.step()
        except error:
            assert street.steps == before + 1
            return street.steps
    raise AssertionError("nothing failed")


def heard(street):
    """All that the agents hold and show, as one text for each."""
    return [
        "\n".join(
            [str(r.content) for r in agent.memory.current_records()]
            + [
                agent.memory.get_prompt_ready(),
                agent.memory.get_communication_history(),
            ]
        )
        for agent in street.agents
    ]


@in_turn(execution=["blocking", "deferred"], memory=MEMORIES)
def test_a_run_whose_budget_is_raised_as_advised_takes_its_next_step(
    memory, execution, tmp_path
):
    file = str(tmp_path / "run.sqlite")
    street = Street(file, memory=memory, execution=execution, budget=Budget(calls=4))
    failed = until_it_fails(street, BudgetExceeded)
    configure(street, budget=Budget())
    lived(street, 2)
    assert street.steps == street.time == failed + 2
    for text in heard(street):
        for day in range(1, failed):
            assert f"Day {day}:" in text
        assert f"Day {failed + 2}:" in text or f"Day {failed + 1}:" in text
    ended(street)
    with open_run(file) as run:
        assert run.steps == [*range(1, failed), failed + 1, failed + 2]


@pytest.mark.parametrize("again", [resume, fork])
def test_the_budget_of_a_run_counts_what_it_used_before_it_went_on(again, tmp_path):
    given = {"memory": "long_term", "execution": "blocking", "budget": Budget(calls=4)}
    whole = Street(str(tmp_path / "whole.sqlite"), **given)
    failed = until_it_fails(whole, BudgetExceeded)
    file = str(tmp_path / "cut.sqlite")
    street = Street(file, **given)
    for _ in range(failed - 1):
        then = lived(street, 1)
        used = Services.of(then).ledger
        before = used.total, used.by("purpose"), used.by("model", "purpose")
        ended(then)
        street = again(Street, file, trust=True, **given)
        ledger = Services.of(street).ledger
        after = ledger.total, ledger.by("purpose"), ledger.by("model", "purpose")
        assert map_calls(before) == map_calls(after)
    assert before[0].calls > 0
    with pytest.raises(BudgetExceeded):
        street.step()
    assert used.total.calls <= Services.of(street).ledger.total.calls <= 4
    for one in (whole, street):
        configure(one, budget=Budget())
        ended(lived(one, 1))


def map_calls(usage):
    """Calls and tokens of a total and of tables of usage."""
    total, *tables = usage
    rows = [{k: (u.calls, u.tokens, u.cost) for k, u in t.items()} for t in tables]
    return (total.calls, total.tokens, total.cost), rows


@pytest.mark.parametrize("error", [LLMRejected("no key"), LLMUnavailable("is down")])
@pytest.mark.parametrize("late", [True, False])
def test_a_run_goes_on_once_the_fault_is_repaired(error, late):
    llm = ScriptedLLM(rules={"*": lambda _: error})
    given = {"llm": llm, "max_pending_steps": 2, "execution": "blocking"}
    street = Street(memory="long_term", **({"llm": None} if late else given))
    if late:
        configure(street, **given)
    failed = until_it_fails(street, (LLMRejected, MemoryStalled))
    configure(street, llm=ScriptedLLM(rules={"*": {"summary": "The bridge broke."}}))
    street.step()
    assert street.steps == failed + 1
    assert all(a.memory.long_term_memory == "The bridge broke." for a in street.agents)


def test_an_error_in_the_very_first_step_of_a_model_that_nobody_configured(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    street = Street(memory="long_term", llm=None)
    for agent in street.agents:
        agent.llm.llm_model = "openai/gpt-4o-mini"
    until_it_fails(street, LLMRejected, most=2)
    failed = street.steps
    configure(street, llm="offline")
    street.step()
    assert street.steps == failed + 1


def test_a_step_that_fails_for_a_reason_of_the_users_own_is_followed_by_the_next():
    street = Street(record=True)
    street.step()
    street.agents[0].step = None  # a bug
    with pytest.raises(TypeError):
        street.step()
    del street.agents[0].step
    street.step()
    assert street.steps == street.time == 3
    ended(street)
