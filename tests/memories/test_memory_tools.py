"""An agent searches its own memory and saves in it, by its own decision."""

import copy
import pickle

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from mesa_llm.reasoning.react import ReActReasoning
from mesa_llm.reasoning.rewoo import ReWOOReasoning

from mesa_memory import (
    EpisodicMemory,
    LayeredMemory,
    add_memory_tools,
    configure,
    open_run,
    register_policy,
)
from mesa_memory.errors import CannotRecall
from mesa_memory.llm import ToolCall
from mesa_memory.memories.host.recalls import RecallMixin
from mesa_memory.memories.tools import save_memory, search_memories
from tests.support.classes import EVERY
from tests.support.single import memory_of
from tests.support.turns import in_turn

LAYERED = (LayeredMemory.unimatrix, LayeredMemory.session)
OURS = ("search_memories", "save_memory")


def decides(room, number):
    """How an agent thinks: it saves something first, and searches afterwards."""

    def decide(turn):
        if not set(OURS) & set(turn.tools):
            return "I think about my memory."
        if room.searching:
            query = {"query": "Where is the key?", "k": 2}
            return [ToolCall("search_memories", query)]
        text = f"The key of agent {number} is below the stone."
        return [ToolCall("save_memory", {"text": text, "importance": 5})]

    return register_policy(f"thinker-{number}", decide)


class Thinker(LLMAgent):
    def step(self):
        plan = self.reasoning.plan(
            obs=self.generate_obs(), prompt="What now?", selected_tools=list(OURS)
        )
        self.said = self.apply_plan(plan)

    async def astep(self):
        plan = await self.reasoning.aplan(
            obs=await self.agenerate_obs(),
            prompt="What now?",
            selected_tools=list(OURS),
        )
        self.said = await self.aapply_plan(plan)


class Room(mesa.Model):
    def __init__(self, reasoning=CoTReasoning, memory=EpisodicMemory, record=None):
        super().__init__(rng=1)
        self.searching = False
        configure(self, llm="offline", record=record)
        for number in (1, 2):
            agent = Thinker(self, reasoning, decides(self, number))
            agent.memory = memory(agent)
            add_memory_tools(agent)

    def step(self):
        self.searching = self.steps > 1
        self.agents.do("step")


@in_turn(
    reasoning=[CoTReasoning, ReActReasoning, ReWOOReasoning], memory=[*EVERY, *LAYERED]
)
def test_what_an_agent_saves_it_finds_again_in_all_ways_of_reasoning(reasoning, memory):
    room = Room(reasoning, memory)
    for _ in range(3):  # ReWOO carries out one call of its plan in each step
        room.step()
    for agent in room.agents:
        (answer,) = agent.said
        assert answer["name"] == "search_memories"
        mine = f"The key of agent {agent.unique_id} is below the stone."
        assert mine in answer["response"], "word for word, or in a summary"
        other = f"The key of agent {3 - agent.unique_id} "
        assert other not in answer["response"]


@pytest.mark.parametrize("memory", EVERY)
async def test_a_memory_that_does_not_rank_says_which_do_and_what_to_do(memory):
    held = memory_of(memory)
    if issubclass(memory, RecallMixin):
        assert held.recall("key") == await held.arecall("key") == []
        return
    for read in ("recall", "arecall", "explain"):
        with pytest.raises(
            CannotRecall, match=r"search_memories\(agent, query\)"
        ) as told:
            getattr(held, read)
        ranked = [kind for kind in EVERY if issubclass(kind, RecallMixin)]
        assert all(kind.__name__ in str(told.value) for kind in ranked)
        assert str(told.value).startswith(f"{memory.__name__} lacks '{read}'")
        assert not hasattr(held, read), "an AttributeError, too"
    assert "nothing" in search_memories(held.agent, "key")
    with pytest.raises(AttributeError, match="no attribute 'recalls'"):
        held.recalls
    assert pickle.loads(pickle.dumps(copy.deepcopy(held.agent.model)))


async def test_it_works_in_an_event_loop():
    room = Room(ReActReasoning, LayeredMemory)
    for searching in (False, True):
        room.searching = searching
        for agent in room.agents:
            await agent.astep()
    for agent in room.agents:
        said = f"The key of agent {agent.unique_id} is below the stone."
        assert said in agent.said[0]["response"]


def test_what_was_saved_is_an_event_with_the_grade_that_the_agent_gave(tmp_path):
    file = str(tmp_path / "run.sqlite")
    room = Room(record=file)
    for _ in range(2):
        room.step()
    configure(room, record=None)
    with open_run(file) as run:
        (note,) = (r for r in run.state(1, 2, as_records=True) if r["kind"] == "note")
        assert (note["importance"], note["origin"], note["step"]) == (5, "event", 1)
        assert note["id"] in list(run.recalls(agent=1, step=2)["id"])


def test_tools_are_those_of_one_agent():
    room = Room()
    plain = LLMAgent(room, CoTReasoning, register_policy("quiet", lambda turn: ""))
    assert not set(OURS) & set(plain.tool_manager.tools)
    first = room.agents[0]
    add_memory_tools(first)
    schema = first.tool_manager.get_all_tools_schema(list(OURS))
    assert [set(s["function"]["parameters"]["properties"]) for s in schema] == [
        {"query", "k"},
        {"text", "importance"},
    ]


@pytest.mark.parametrize(
    ("function", "given", "told"),
    [
        (search_memories, {"query": " "}, "query must be a text"),
        (search_memories, {"query": "key", "k": 0}, "k must be >= 1"),
        (save_memory, {"text": ""}, "text must be a text"),
        (save_memory, {"text": "key", "importance": 6}, "importance"),
        (save_memory, {"text": "key", "importance": "much"}, "importance"),
    ],
)
def test_what_cannot_be_searched_or_saved_is_said_and_changes_nothing(
    function, given, told
):
    agent = Room().agents[0]
    with pytest.raises((ValueError, TypeError), match=told):
        function(agent, **given)
    assert agent.memory.current_records() == []
