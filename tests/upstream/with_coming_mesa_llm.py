"""What holds with the coming version of Mesa-LLM; run by test_hosts_mesa_llm.

It needs ``tests/support/coming``, or a checkout of Mesa-LLM, before all else on the path.
"""

import asyncio
import copy
import inspect
import pickle
from functools import partial

import mesa
import mesa_llm.memory.memory
import pytest
from mesa_llm.actions import ActionChoice, action
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    Services,
    ShortTermMemory,
    add_memory_tools,
    arrange_prompts,
    configure,
    open_run,
    register_policy,
)
from mesa_memory.errors import HostChanged
from mesa_memory.llm import ToolCall
from mesa_memory.memories.registry import OUR_MEMORIES, find
from tests.support.classes import EVERY
from tests.support.openai_server import OpenAIServer

CHOICE = {"name": "wave", "arguments": {"times": 2}, "rationale": "I know\nthem."}


@action
def wave(agent, times: int) -> str:
    """Waves.

    Args:
        agent: who waves; filled in.
        times: how often.
    """
    return f"waved {times} times at {agent.unique_id}"


class Person(LLMAgent):
    def step(self):
        pass


def person(memory=ShortTermMemory, reasoning=CoTReasoning, **given):
    """An agent that was told a secret in the step before, and the turns of its model."""
    turns = []

    def decide(turn):
        turns.append(turn)
        return CHOICE if "arguments" in turn.fields else "I greet my neighbour."

    model = mesa.Model(rng=1)
    configure(model, llm="offline")
    agent = Person(
        model,
        reasoning,
        register_policy("decide", decide),
        step_prompt="Greet.",
        actions=[wave],
        **given,
    )
    agent.memory = memory(agent)
    agent.memory.add_to_memory("message", {"message": "SECRET", "sender": 7})
    agent.step()
    return agent, turns


def count(turn, text="SECRET"):
    return (turn.system + turn.prompt).count(text)


def test_this_is_the_coming_version():
    assert "act" in vars(LLMAgent)
    agent, _ = person()
    assert {"_tool_manager", "_action_manager"} <= vars(agent).keys()
    with pytest.warns(DeprecationWarning, match="tool_manager"):
        _ = agent.tool_manager


def held_text(agent):
    """The memory's text, exactly as it holds it."""
    with agent.memory.peek():
        return agent.memory.get_prompt_ready()


def test_without_arranging_a_request_to_act_shows_no_memory():
    agent, turns = person()
    agent.act("Do something.")
    assert count(turns[0]) == 0


def test_requests_to_act_are_counted_without_arranging():
    agent, turns = person()
    agent.act("Do something.")
    asyncio.run(agent.aact("Do more."))
    used = Services.of(agent.model).ledger.by("purpose")
    assert used[("reasoning",)].calls == len(turns) == 2


@pytest.mark.parametrize("memory", EVERY)
def test_each_request_to_act_shows_the_memory_once(memory):
    agent, turns = person(memory)
    arrange_prompts(agent)
    first = held_text(agent)
    assert agent.act("Do something.").result == "waved 2 times at 1"
    second = held_text(agent)
    asyncio.run(agent.aact(["Do something", "more."]))
    assert [count(turns[0], first), count(turns[1], second)] == [1, 1]
    assert all(turn.prompt.count("Do something") == 1 for turn in turns)
    assert [count(turn) for turn in turns] == [1, 1]


@pytest.mark.parametrize("memory", EVERY)
@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning])
def test_each_request_to_plan_shows_the_memory_once(memory, reasoning):
    agent, turns = person(memory, reasoning)
    shown = agent.memory.format_short_term() if reasoning is CoTReasoning else None
    shown = shown or held_text(agent)
    arrange_prompts(agent)
    agent.reasoning.plan(obs="nothing new")
    planning, carrying_out = turns
    assert count(planning, shown) == 1
    assert count(carrying_out) == 0


@pytest.mark.parametrize("memory", list(OUR_MEMORIES))
def test_a_request_to_act_shows_the_placebo_alone(memory):
    agent, turns = person(find(f"placebo:neutral:{memory}"))
    arrange_prompts(agent)
    shown = held_text(agent)
    assert agent.act("Do something.").result == "waved 2 times at 1"
    assert "SECRET" not in shown and count(turns[0]) == 0
    assert count(turns[0], shown) == 1


def test_a_prompt_that_shows_the_memory_already_is_left_alone():
    agent, turns = person()
    arrange_prompts(agent)
    agent.act(f"{agent.memory.get_prompt_ready()}\nDo something.")
    agent.act(f"Lately: {agent.memory.format_short_term()} Do something.")
    assert [count(turn) for turn in turns] == [1, 1]


def test_a_recorded_run_has_what_the_request_to_act_showed(tmp_path):
    agent, _ = person()
    configure(agent.model, record=tmp_path / "run.sqlite")
    arrange_prompts(agent)
    agent.act(
        f"Do something, {agent.memory.format_short_term()}"
    )  # looked at, not shown
    agent.act("Do something.")
    agent.model.step()
    Services.of(agent.model).recorder.close()
    run = open_run(tmp_path / "run.sqlite")
    assert list(run.prompts(agent=1)["section"]) == ["short term", "memory"]
    assert list(run.calls(agent=1)["purpose"]) == ["reasoning"] * 2


def test_an_action_is_remembered_as_a_sentence():
    agent, _ = person()
    agent.act("Do something.")
    line = "Did wave (times: 2): waved 2 times at 1. Reason: I know them."
    short = line.replace(" (times: 2)", "")  # what came of it says how often
    assert short in agent.memory.get_prompt_ready()
    assert "{" not in agent.memory.get_prompt_ready()


def test_an_agent_that_acts_in_its_own_way_does_so_still():
    agent, turns = person()
    agent.choose_action = lambda prompt, **given: (turns.append(prompt), 1 / 0)
    arrange_prompts(agent)
    agent.choose_action = lambda prompt, **given: type(agent).choose_action(
        agent, prompt, **given
    )
    agent.act("Do something.")  # chosen by what the user put there last
    assert count(turns[0]) == 0


def test_an_agent_whose_class_chooses_is_shown_its_memory():
    class Careful(Person):
        def choose_action(self, prompt, **given):
            return super().choose_action([prompt, "Be careful."], **given)

        def act(self, prompt):
            return super().act(f"{prompt} Now.")

    agent, turns = person()
    agent.__class__ = Careful
    arrange_prompts(agent)
    agent.act("Do something.")
    assert count(turns[0]) == 1
    assert "Do something. Now.\nBe careful." in turns[0].prompt


def test_copies_of_an_agent_show_their_own_memory():
    agent, turns = person()
    arrange_prompts(agent)
    agent.model.walker = agent
    twin = copy.deepcopy(agent.model).walker
    twin.memory.add_to_memory("message", {"message": "OTHER", "sender": 7})
    twin.act("Do something.")
    agent.act("Do something.")
    assert [count(turn, "OTHER") for turn in turns] == [1, 0]
    again = pickle.loads(pickle.dumps(agent.choose_action))
    assert again.agent is not agent


def test_no_tools_are_sent_as_none_and_thinking_is_left_to_the_model(monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with OpenAIServer() as server:
        agent = Person(
            mesa.Model(rng=1), CoTReasoning, "openai/x", api_base=server.base,
            step_prompt="Go.", tools=None,
        )  # fmt: skip
        agent.memory = ShortTermMemory(agent)
        arrange_prompts(agent)
        agent.reasoning.plan(tools=None)
        agent.llm.generate(prompt="Say it.", suppress_thinking=True)
        bodies = [received.body for received in server.log]
        assert len(bodies) == 3
        absent = {"tools", "tool_choice", "think", "suppress_thinking", "drop_params"}
        assert all(not absent & body.keys() for body in bodies)


def test_a_model_of_ollama_is_asked_not_to_think():
    agent, _ = person()
    arrange_prompts(agent).llm_model = "ollama/qwen3"
    given = agent.llm.options({"suppress_thinking": True})
    assert given == {"think": False, "drop_params": True}
    assert agent.llm.options({"suppress_thinking": False}) == {}


def test_what_the_model_object_has_besides_is_still_there():
    agent, _ = person()
    agent.llm.inner.temper = "mild"
    assert arrange_prompts(agent).temper == "mild"
    with pytest.raises(AttributeError, match="no_such_thing"):
        _ = agent.llm.no_such_thing


def test_an_unknown_argument_of_generate_is_sent_with_one_warning(monkeypatch, caplog):
    monkeypatch.setenv("OPENAI_API_KEY", "test")
    with OpenAIServer() as server:
        base = {"api_base": server.base, "actions": [wave]}
        agent = Person(mesa.Model(rng=1), CoTReasoning, "openai/x", **base)
        agent.memory = ShortTermMemory(agent)
        arrange_prompts(agent)
        for text in ("Go.", "Stop."):
            agent.llm.generate(prompt=text, patience=3, suppress_thinking=True)
        bodies = [received.body for received in server.log]
    assert [body["patience"] for body in bodies] == [3, 3]
    assert caplog.text.count("generate() was called with patience") == 1
    assert "suppress_thinking" not in caplog.text


@pytest.mark.parametrize("name", ["choose_action", "achoose_action"])
def test_a_name_that_is_gone_is_an_error_that_says_what_to_do(name, monkeypatch):
    monkeypatch.delattr(LLMAgent, name)
    agent, _ = person()
    with pytest.raises(HostChanged, match=f"no {name}.*pip install"):
        arrange_prompts(agent)


@pytest.mark.parametrize("memory", EVERY)
def test_memories_take_what_those_of_mesa_llm_take(memory, caplog):
    known = inspect.signature(mesa_llm.memory.memory.Memory.__init__).parameters
    agent, _ = person()
    given = {name: getattr(agent.memory, name, None) for name in known}
    given = {k: v for k, v in given.items() if k not in ("self", "agent", "llm_model")}
    for _ in range(2):
        memory(agent, **given, fallback_model="openai/other", max_retries=0)
    assert caplog.text.count("configure(model, fallbacks=") == 1


# -- the agent's own hand ---------------------------------------------------------------


def keeper(memory, reasoning, record=None):
    """An agent that is offered to search its memory, and to save in it as an action."""

    def decide(turn, number):
        if "arguments" in turn.fields:
            text = f"The key of agent {number} is below the stone."
            arguments = {"text": text, "importance": 5}
            return {"name": "save_memory", "arguments": arguments, "rationale": None}
        if turn.tools:
            return [ToolCall("search_memories", {"query": "Where is the key?", "k": 2})]
        return "I search my memory."

    model = mesa.Model(rng=1)
    configure(model, llm="offline", record=record)
    people = [
        Person(
            model,
            reasoning,
            register_policy(f"keep-{n}", partial(decide, number=n)),
            step_prompt="Go.",
        )
        for n in (1, 2)
    ]
    for agent in people:
        agent.memory = memory(agent)
        arrange_prompts(agent)
        add_memory_tools(agent)
        add_memory_tools(agent)  # again changes nothing
    return people


@pytest.mark.parametrize("reasoning", [CoTReasoning, ReActReasoning, ReWOOReasoning])
@pytest.mark.parametrize("memory", EVERY)
def test_saving_is_an_action_and_searching_a_tool_in_all_ways_of_reasoning(
    memory, reasoning
):
    people = keeper(memory, reasoning)
    for agent in people:
        assert list(agent._tool_manager.tools) == ["search_memories"]
        assert list(agent._action_manager.actions) == ["save_memory"]
        done = agent.act("Save what matters.")
        mine = f"The key of agent {agent.unique_id} is below the stone."
        assert done.result == f"Saved: {mine}"
        agent.memory.process_step()
    for agent in people:
        (answer,) = agent.apply_plan(agent.reasoning.plan(obs="nothing new"))
        mine, other = (
            f"key of agent {n} " for n in (agent.unique_id, 3 - agent.unique_id)
        )
        assert answer["name"] == "search_memories"
        assert mine in answer["response"] and other not in answer["response"]


def test_what_is_saved_by_an_action_in_an_event_loop_is_recorded_with_its_grade(
    tmp_path,
):
    file = tmp_path / "run.sqlite"
    first, _ = keeper(EpisodicMemory, CoTReasoning, record=file)
    first.model.step()
    asyncio.run(first.aact("Save what matters."))
    first.memory.process_step()
    first.model.step()
    Services.of(first.model).recorder.close()
    with open_run(file) as run:
        kinds = {r["kind"]: r for r in run.state(1, as_records=True)}
    assert kinds["note"]["importance"] == 5 and kinds["note"]["origin"] == "event"
    assert "Saved: The key" in kinds["action"]["text"] + str(kinds["action"]["content"])


def test_an_agent_without_tools_cannot_be_offered_any():
    class Bare:
        memory = keeper(ShortTermMemory, CoTReasoning)[0].memory

    with pytest.raises(HostChanged, match=r"lack a manager of tools.*pip install"):
        add_memory_tools(Bare())


# -- the order of what happened ---------------------------------------------------------


def entries(memory):
    """(content, order of events) of all that a memory shows, as Mesa-LLM's example."""
    for name in ("short_term_memory", "memory_entries"):
        for entry in getattr(memory, name, ()):
            yield entry.content, entry._event_order
    for name in ("buffer", "_current_step_entry"):
        if (entry := getattr(memory, name, None)) is not None:
            yield entry.content, entry._event_order
    yield memory.step_content, memory._step_event_order


def dialogue(memory):
    """What was heard and done, oldest first."""
    told = []
    for content, order in entries(memory):
        kinds = ("message", "action")
        waiting = {k: content[k] for k in kinds if k in content}
        waiting = {k: list(v) if type(v) is list else [v] for k, v in waiting.items()}
        assert sorted(order) == sorted(k for k, v in waiting.items() for _ in v)
        for kind in order:
            event = waiting[kind].pop(0)
            told.append(event.get("message") or event["action"]["arguments"]["times"])
    return told


@pytest.mark.parametrize("memory", EVERY)
def test_what_was_heard_and_done_stands_in_its_order(memory):
    agent, _ = person(memory)
    agent.memory = memory(agent)
    happened = []

    def hear():
        happened.append(f"message {len(happened)}")
        content = {"message": happened[-1], "sender": 7}
        agent.memory.add_to_memory("message", content)

    def do():
        happened.append(len(happened))
        agent.execute_action(
            ActionChoice(name="wave", arguments={"times": happened[-1]})
        )

    def seen():
        found = dialogue(agent.memory)
        latest = happened[-5:] if memory is LongTermMemory else happened
        assert found == latest and dialogue(copy.deepcopy(agent.memory)) == latest

    for _ in range(3):
        agent.model.step()
        hear(), hear()
        agent.memory.process_step(pre_step=True)
        do(), hear(), do()
        seen()
        agent.memory.process_step()
        seen()
