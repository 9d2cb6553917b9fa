"""Blocking, async and deferred execution remember the same."""

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    NarrativeMemory,
    STLTMemory,
)
from mesa_memory.layers import FrontHalf, OverTokens, Reflection
from mesa_memory.memories.registry import find
from tests.support import layered
from tests.support.turns import in_turn
from tests.support.twins import live

DAYS = 9
MEMORIES = {
    **{name: find(name) for name in ("short_term", "long_term", "impression", "fact")},
    **{name: find(name) for name in ("layered", "unimatrix", "story_engine")},
    "stlt": lambda agent: STLTMemory(agent, 2, 1),
    "stlt_tokens": lambda a: STLTMemory(a, consolidation=OverTokens(120, 1)),
    "stlt_front": lambda a: STLTMemory(a, consolidation=FrontHalf(3, 0.5)),
    "episodic_small": lambda agent: EpisodicMemory(agent, max_capacity=20),
    "episodic_focus": lambda agent: EpisodicMemory(agent, considered_entries=3),
    "episodic_context": lambda agent: EpisodicMemory(agent, grade_context=5),
    "reflection": lambda agent: reflecting(agent, Reflection.direct(5, 2)),
    "questions": lambda agent: reflecting(agent, Reflection.questions(2)),
    "fact_character": lambda a: FactMemory(a, max_facts=3, summary=True),
    "fact_recalled": lambda a: FactMemory(a, direct_tokens=20, considered_facts=2),
    "layered_four": layered.four,
    "layered_small": lambda agent: layered.four(agent, 200),
    "narrative": lambda a: NarrativeMemory(a, 3, story_tokens=120, keep_last=1),
    "conversation": lambda agent: ConversationMemory(agent, 2, 1, idle_steps=0),
}


def reflecting(agent, plan):
    return EpisodicMemory(agent, reflection=plan, reflect_threshold=20)


@in_turn(name=MEMORIES, left_out=[0, 1, 2])
def test_every_execution_gives_the_same_requests_records_and_prompts(name, left_out):
    """Each memory is compared with two of the three other executions."""
    blocking = live(MEMORIES[name], "blocking", asynchronous=False, days=DAYS)
    assert blocking["records"], "the run recorded nothing, so it proves nothing"
    assert bool(blocking["requests"]) == (name != "short_term")
    assert len(set(blocking["shown"])) > 20
    made = any(row[1] == "reflection" for row in blocking["records"])
    assert made or name not in ("reflection", "questions")
    others = [("blocking", True), ("deferred", False), ("deferred", True)]
    del others[left_out]
    for execution, asynchronous in others:
        other = live(MEMORIES[name], execution, asynchronous, DAYS)
        for part, expected in blocking.items():
            assert other[part] == expected, (execution, asynchronous, part)
