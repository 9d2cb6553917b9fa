"""The requests of agents themselves are counted, capped, recorded and replayed."""

import asyncio
import logging
from collections import Counter
from types import SimpleNamespace

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    Budget,
    BudgetExceeded,
    EpisodicMemory,
    Services,
    ShortTermMemory,
    configure,
    open_run,
    resume,
)
from mesa_memory.examples.rumor.model import RumorModel
from tests.support.deciding import REASONINGS, Deciders, provider
from tests.support.examples import code_of


@pytest.fixture(autouse=True)
def a_key(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")


def counted(model):
    """Requests by purpose, as the ledger has them."""
    Services.of(model).flush()
    by = Services.of(model).ledger.by("purpose")
    return Counter({purpose: used.calls for (purpose,), used in by.items()})


def pages(server):
    """The models of README, tutorial and rumor, with a provider for their agents."""
    street = code_of("README.md", asks='"openai/test"')["Street"]
    village = code_of("docs/tutorial.md", asks='"openai/test"')["Village"]
    return {
        "README": lambda **given: street(EpisodicMemory, rng=1),
        "tutorial": lambda **given: village(rng=1, **given),
        "rumor": lambda **given: RumorModel(
            n_agents=4, llm="openai/test", api_base=server.base, memory="stlt", rng=1,
            **given,
        ),
    }  # fmt: skip


def test_each_request_of_the_models_of_the_pages_is_in_the_ledger(monkeypatch):
    with provider() as server:
        monkeypatch.setenv("OPENAI_API_BASE", server.base)
        for name, make in pages(server).items():
            server.clear()
            model = make()
            for _ in range(4):
                model.step()
            found = counted(model)
            offline = 0 if name == "rumor" else found.total() - found["reasoning"]
            assert found["reasoning"] > 0, name
            assert found.total() - offline == len(server.log), name


def test_every_way_to_ask_is_counted_by_purpose():
    with provider() as server:
        for mode in ("sync", "asyncio", "threads"):
            for reasoning in REASONINGS:
                server.clear()
                model = Deciders(server.base, reasoning, mode, services={})
                for _ in range(2):
                    model.step()
                found = counted(model)
                assert found["talk"] == 6 and found["reasoning"] >= 6, (mode, reasoning)
                assert found.total() == len(server.log)


def test_a_budget_lets_no_more_than_one_request_beyond_it_through(monkeypatch):
    makers = {
        **dict.fromkeys(["README", "tutorial", "rumor"]),
        "asyncio": lambda base: Deciders(base, mode="asyncio", services={}),
        "threads": lambda base: Deciders(base, "react", "threads", services={}),
    }
    for calls in (0, 7):
        for name, make in makers.items():
            with provider() as server:  # its own: one that was cut off may come late
                monkeypatch.setenv("OPENAI_API_BASE", server.base)
                model = make(server.base) if make else pages(server)[name]()
                configure(model, budget=Budget(calls=calls))
                try:
                    for _ in range(12):
                        model.step()
                        Services.of(model).flush()
                except BudgetExceeded as error:
                    assert "configure" in str(error)
                assert len(server.log) <= calls + 1, name


def test_agents_made_later_and_models_put_in_later_are_counted():
    class Own:
        """A language model of the user's own."""

        def generate(self, prompt, mood="calm"):
            message = SimpleNamespace(content=f"{mood}: {prompt}", tool_calls=None)
            return SimpleNamespace(choices=[SimpleNamespace(message=message)])

    with provider() as server:
        model = Deciders(server.base, services={})
        own = Own()
        model.agents[0].llm = own
        answer = model.agents[0].llm.generate("Hello?", mood="glad")
        assert answer.choices[0].message.content == "glad: Hello?"
        later = LLMAgent(model, CoTReasoning, "openai/test", api_base=server.base)
        later.llm.generate("Hello?")  # with Mesa-LLM's own memory
        model.agents[1].llm.generate = own.generate
        model.agents[1].llm.generate("Hello?")
        assert counted(model) == {"reasoning": 3}
        assert len(server.log) == 1


def test_agents_are_left_alone_where_it_is_wished_and_told_where_nothing_was(caplog):
    with provider() as server, caplog.at_level(logging.WARNING):
        alone = Deciders(server.base, services={"agents": False})
        alone.step()
        assert counted(alone) == {} and len(server.log) == 9
        assert "not counted" not in caplog.text
        unknown = Deciders(server.base)
        unknown.agents[0].llm.generate("Hello?")
        unknown.agents[0].llm.generate("Hello?")
        assert caplog.text.count("is not counted, capped or recorded") == 1
        assert "configure(model)" in caplog.text
    with pytest.raises(TypeError, match="agents must be True or False, got 'all'"):
        configure(alone, agents="all")


def test_a_purpose_must_not_be_that_of_a_memory():
    with provider() as server:
        model = Deciders(server.base, services={})
        for wrong in ("grade", "", 3):
            with pytest.raises(ValueError, match="purpose must be a name"):
                model.agents[0].llm.generate("Hello?", purpose=wrong)


def said(agent):
    """What an answer says, without what a provider's own library adds to it."""
    (choice,) = agent.said.choices
    message, usage = choice.message, agent.said.usage
    return (
        (message.role, message.content, message.tool_calls, choice.finish_reason),
        (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens),
        (agent.said.model, agent.said.object),
    )


def replies(model):
    """What the agents were told last, as data."""
    return [agent.said.model_dump() for agent in model.agents]


@pytest.mark.parametrize("mode", ["sync", "asyncio", "threads"])
def test_a_recorded_run_is_replayed_without_a_provider(mode, tmp_path):
    for reasoning in REASONINGS:
        file = tmp_path / f"{reasoning}.sqlite"
        with provider() as server:
            given = {"reasoning": reasoning, "mode": mode, "says": mode == "sync"}
            first = Deciders(server.base, **given, services={}, record=file)
            for _ in range(3):
                first.step()
            told = replies(first)
            Services.of(first).recorder.close()
            server.clear()
            again = Deciders(server.base, **given, services={"replay": file})
            for _ in range(3):
                again.step()
            assert len(server.log) == 0
        assert replies(again) == told
        for one, other in zip(first.agents, again.agents, strict=True):
            assert one.memory.get_prompt_ready() == other.memory.get_prompt_ready()


def test_no_recorded_decision_is_asked_again_after_a_stop(tmp_path):
    file = tmp_path / "run.sqlite"
    with provider() as server:
        model = Deciders(server.base, services={}, record=file)
        model.step()
        model.agents[0].llm.generate("Who is there?")  # of a step that does not end
        Services.of(model).recorder.sync()
        paid = len(server.log)
        del model
        again = resume(Deciders, file, trust=True)
        again.agents[0].llm.generate("Who is there?")
        assert len(server.log) == paid
        again.step()
        assert len(server.log) == paid + 9


def test_the_agent_gets_what_it_would_get_without_us():
    with provider() as server:
        plain = Deciders(server.base, services={"agents": False})
        covered = Deciders(server.base, services={})
        for model in (plain, covered):
            model.step()
            asyncio.run(model.agents[0].llm.agenerate("Hello?"))
        for one, other in zip(plain.agents, covered.agents, strict=True):
            assert type(one.said) is type(other.said)
            assert said(one) == said(other)
        for model in (plain, covered):
            with pytest.raises(TypeError, match="Invalid prompt type 'int'"):
                model.agents[0].llm.generate(3)
            assert model.agents[0].llm.llm_model == "openai/test"
            model.agents[0].system_prompt = "Be brief."
            assert model.agents[0].llm.system_prompt == "Be brief."


def test_memories_of_mesa_llm_are_counted_beside_ours(tmp_path):
    with provider() as server:
        model = mesa.Model(rng=1)
        configure(model, record=tmp_path / "run.sqlite")
        agent = LLMAgent(
            model, CoTReasoning, "openai/test", step_prompt="Go.", api_base=server.base
        )
        for _ in range(9):  # its memory summarises now and then
            model.step()
            agent.pre_step()
            agent.reasoning.plan()
            agent.post_step()
        found = counted(model)
        assert found["reasoning"] == 18 and found["memory"] > 0
        assert found.total() == len(server.log)
        Services.of(model).recorder.close()
    with open_run(tmp_path / "run.sqlite") as run:
        assert len(run.calls()) == found.total() and len(run.decisions()) == 18


def test_a_model_without_memories_of_ours_is_covered_too():
    with provider() as server:
        model = mesa.Model(rng=1)
        configure(model, budget=Budget(calls=1))
        agent = LLMAgent(model, CoTReasoning, "openai/test", api_base=server.base)
        agent.llm.generate("Hello?")
        with pytest.raises(BudgetExceeded):
            agent.llm.generate("Hello?")
        assert ShortTermMemory(agent).services is Services.of(model)
