"""``configure`` called again, called wrongly, or called late."""

import mesa
import pytest
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Budget,
    BudgetExceeded,
    LongTermMemory,
    ScriptedLLM,
    Services,
    ShortTermMemory,
    configure,
)
from tests.support.hamlet import Hamlet
from tests.support.models import StubLLM
from tests.support.openai_server import OpenAIServer
from tests.support.street import Neighbour


class Street(Hamlet):
    """Neighbours who remember in sentences of a language model."""

    def __init__(self, n=3, **services):
        super().__init__("long_term", n=n, **services)


def in_force(model):
    """All that was ever set, by name."""
    services = Services.of(model)
    names = (
        "llm", "model", "execution", "embedder", "recorder", "replay",
        "max_pending_steps", "on_failure",
    )  # fmt: skip
    return {name: getattr(services, name) for name in names} | {
        "budget": services.ledger.budget,
        "timeout": services.settings.timeout,
        "concurrency": services.settings.concurrency,
    }


@pytest.fixture
def configured():
    """A model for which everything was chosen once."""
    model = Street(
        llm=ScriptedLLM(rules={"*": {"summary": "All is well."}}),
        execution="blocking",
        budget=Budget(calls=100),
        max_pending_steps=4,
        on_failure="raise",
        embedder="static",
        record=True,
        timeout=7,
        concurrency=2,
    )
    yield model
    configure(model, record=None)


# -- called again --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("named", "changed"),
    [
        ({}, set()),
        ({"budget": Budget(calls=7)}, {"budget"}),
        ({"llm": "offline"}, {"llm"}),
        ({"llm": "openai/gpt-4o-mini"}, {"llm", "model"}),
        ({"max_pending_steps": 5}, {"max_pending_steps"}),
        ({"record": None}, {"recorder"}),
        ({"record": True}, {"recorder"}),
        ({"timeout": 9}, {"timeout"}),
    ],
)
def test_a_second_call_changes_only_what_it_names(configured, named, changed):
    before = in_force(configured)
    configure(configured, **named)
    after = in_force(configured)
    assert {name for name in after if after[name] is not before[name]} == changed


def test_the_second_call_that_a_crossed_budget_advises_keeps_the_offline_model():
    street = Street(budget=Budget(calls=2), execution="blocking")
    with pytest.raises(BudgetExceeded, match=r"configure\(model, budget=Budget\(…\)\)"):
        street.step()
    configure(street, budget=Budget())
    for agent in street.agents:
        agent.memory.process_step()
        assert "bridge is broken" in agent.memory.long_term_memory


def test_a_second_call_keeps_the_limits_of_requests():
    with OpenAIServer(latency=0.02) as server:
        model = mesa.Model(rng=1)
        configure(model, llm="openai/gpt-4o-mini", concurrency=1)
        agents = [Neighbour(model, CoTReasoning, "openai/x") for _ in range(6)]
        for half in (agents[:3], agents[3:]):
            for agent in half:
                agent.memory = LongTermMemory(agent, api_base=server.base)
                agent.memory.add_to_memory("observation", {"seen": "a bridge"})
                agent.memory.process_step()
            configure(model, budget=Budget(calls=100))  # while requests are under way
        Services.of(model).flush()
        assert server.requests == 6
        assert server.in_flight_max == 1


def test_a_setting_that_does_not_exist_is_told_those_that_do():
    for given, told in (
        ("tiemout", r"'tiemout'.*did you mean 'timeout'\?"),
        ("recorder", r"'recorder'.*did you mean 'record'\?"),
        ("zzz", r"'zzz'\. The settings are: agents, llm, "),
    ):
        with pytest.raises(TypeError, match=f"no setting {told}") as info:
            configure(mesa.Model(rng=1), **{given: 3})
        text = str(info.value)
        assert "timeout, attempts, deadline" in text and "__init__" not in text


def test_what_is_no_model_is_refused():
    street = Street()
    for given in (None, "street", 5, Street):
        with pytest.raises(TypeError, match="needs the Mesa model"):
            configure(given, llm="offline")
    with pytest.raises(TypeError, match=r"got Neighbour 1.*configure\(agent\.model"):
        configure(street.agents[0], llm="offline")
    for memory in (ShortTermMemory, LongTermMemory):
        for given, told in ((None, "None"), (street, "the model Street")):
            said = f"{memory.__name__} needs the agent.*got {told}"
            with pytest.raises(TypeError, match=said):
                memory(given)


@pytest.mark.parametrize("services", [{"llm": "offline"}, {"record": True}])
def test_a_model_that_is_not_made_yet_is_refused(services):
    class Hasty(mesa.Model):
        def __init__(self):
            configure(self, **services)
            super().__init__(rng=1)

    with pytest.raises(ValueError, match=r"Hasty.*after super\(\).__init__\(\)"):
        Hasty()


def test_a_budget_that_is_a_bare_number_is_refused():
    with pytest.raises(TypeError, match=r"budget must be a Budget\(.*got 1000"):
        configure(mesa.Model(rng=1), budget=1000)


def test_the_rules_answer_memories_that_name_a_model_and_when_asked_those_with_another_llm():
    def remembered(**services):
        street = Street(execution="blocking", **services)
        named, replaced = street.agents
        named.memory = LongTermMemory(named, llm_model="openai/gpt-4o-mini")
        replaced.memory.llm = asked
        street.step()
        street.step()
        return Services.of(street).ledger.by("model", "agent")

    asked = StubLLM()
    counted = remembered(n=2, llm="offline")
    assert asked.answered
    assert {model for model, agent in counted if agent == 1} == {"offline"}

    asked = StubLLM()
    counted = remembered(n=2, llm="offline", offline="all")
    assert not asked.answered
    assert {model for model, _ in counted} == {"offline"}
    assert {agent for _, agent in counted} == {1, 2}


def test_whom_the_rules_answer_is_said_together_with_the_rules():
    model = mesa.Model(rng=1)
    with pytest.raises(ValueError, match="offline must be 'all' or None, got 'some'"):
        configure(model, llm="offline", offline="some")
    for given in ({}, {"llm": None}, {"llm": "openai/gpt-4o-mini"}):
        with pytest.raises(ValueError, match="offline='all' needs llm='offline'"):
            configure(model, offline="all", **given)
    assert configure(model, llm="offline", offline="all").offline_for_all
    assert configure(model, timeout=7).offline_for_all, "a call changes what it names"
    assert not configure(model, llm="offline").offline_for_all
