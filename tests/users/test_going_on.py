"""After an error that ends a step, the model goes on as the error says."""

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Budget,
    BudgetExceeded,
    EpisodicMemory,
    FactMemory,
    LayeredMemory,
    LLMRejected,
    LLMUnavailable,
    LongTermMemory,
    MemoryStalled,
    NarrativeMemory,
    ScriptedLLM,
    STLTMemory,
    configure,
    open_run,
    register_policy,
)


def brief_chapters(agent):
    """A life told every other step."""
    return NarrativeMemory(agent, chapters=2, keep_last=9)


MEMORIES = [
    EpisodicMemory,
    LongTermMemory,
    STLTMemory,
    FactMemory,
    brief_chapters,
    LayeredMemory,
]


def talk(turn):
    """What README's neighbours say."""
    return "I greet my neighbour."


class Neighbour(LLMAgent):
    """README's agent, with a message that says when it was sent."""

    def step(self):
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"The bridge broke on day {self.model.steps}!", others)


class Street(mesa.Model):
    """README's model."""

    def __init__(self, n=3, rng=None, memory=EpisodicMemory, **services):
        super().__init__(rng=rng)
        if services:
            configure(self, **services)
        for _ in range(n):
            agent = Neighbour(self, CoTReasoning, register_policy("talk", talk))
            agent.memory = memory(agent)

    def step(self):
        self.agents.shuffle_do("step")


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


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
@pytest.mark.parametrize("memory", MEMORIES, ids=lambda memory: memory.__name__)
def test_a_run_whose_budget_is_raised_as_advised_takes_its_next_step(memory, execution):
    street = Street(
        rng=1, memory=memory, llm="offline", execution=execution, budget=Budget(calls=4)
    )
    failed = until_it_fails(street, BudgetExceeded)
    configure(street, budget=Budget())
    for _ in range(2):
        street.step()
    assert street.steps == street.time == failed + 2
    for text in heard(street):
        for day in range(1, failed):
            assert f"day {day}!" in text
        assert f"day {failed + 2}!" in text or f"day {failed + 1}!" in text


def test_a_recorded_run_whose_budget_is_raised_has_all_its_steps(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = Street(rng=1, llm="offline", record=file, budget=Budget(calls=4))
    failed = until_it_fails(street, BudgetExceeded)
    configure(street, budget=None)
    for _ in range(3):
        street.step()
    configure(street, record=None)
    with open_run(file) as run:
        assert run.steps == [*range(1, failed), *range(failed + 1, failed + 4)]
        text = str(run.state(1, failed + 3)["content"].to_list())
        assert all(f"day {day}!" in text for day in range(1, failed))


@pytest.mark.parametrize("error", [LLMRejected("no key"), LLMUnavailable("is down")])
@pytest.mark.parametrize("configured_late", [True, False])
def test_a_run_goes_on_once_the_fault_is_repaired(error, configured_late):
    llm = ScriptedLLM(rules={"*": lambda _: error})
    given = {"llm": llm, "max_pending_steps": 2, "execution": "blocking"}
    street = Street(rng=1, memory=LongTermMemory, **({} if configured_late else given))
    if configured_late:
        configure(street, **given)
    failed = until_it_fails(street, (LLMRejected, MemoryStalled))
    configure(street, llm=ScriptedLLM(rules={"*": {"summary": "The bridge broke."}}))
    street.step()
    assert street.steps == failed + 1
    assert all(a.memory.long_term_memory == "The bridge broke." for a in street.agents)


def test_an_error_in_the_very_first_step_of_a_model_that_nobody_configured(monkeypatch):
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    street = Street(rng=1, memory=lambda agent: LongTermMemory(agent))
    for agent in street.agents:
        agent.llm.llm_model = "openai/gpt-4o-mini"
    until_it_fails(street, LLMRejected, most=2)
    failed = street.steps
    configure(street, llm="offline")
    street.step()
    assert street.steps == failed + 1


def test_a_step_that_fails_for_a_reason_of_the_users_own_is_followed_by_the_next():
    street = Street(rng=1, llm="offline", record=True)
    street.step()
    street.agents[0].step = None  # a bug
    with pytest.raises(TypeError):
        street.step()
    del street.agents[0].step
    street.step()
    assert street.steps == street.time == 3
    configure(street, record=None)


def test_a_step_that_does_not_fail_is_taken_once():
    street = Street(rng=1, llm="offline")
    street.run_for(5)
    assert street.steps == street.time == 5
