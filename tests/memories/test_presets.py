"""Each system that the package can be is a named configuration with its own constants."""

from functools import partial

import pytest

from benchmarks.context import curve
from mesa_memory import (
    EpisodicMemory,
    LayeredMemory,
    LongTermMemory,
    ShortTermMemory,
    STLTMemory,
)
from tests.support.classes import PRESETS
from tests.support.models import hear
from tests.support.single import memory_of

# -- A: Mesa-LLM ------------------------------------------------------------------------


def test_the_classes_of_mesa_llm_have_its_constants():
    kinds = (ShortTermMemory, STLTMemory, EpisodicMemory, LongTermMemory)
    short, two, stream, long = map(memory_of, kinds)
    assert short.n == 5
    assert (two.capacity, two.consolidation_capacity) == (5, 2)
    assert (stream.max_capacity, stream.considered_entries) == (200, 30)
    assert (stream.recency_decay, stream.importance_scale) == (0.995, 5)
    for memory in (short, two, stream, long):
        assert memory.additive_event_types == {"message", "action"}


# -- B: UNIMATRIx -----------------------------------------------------------------------------


def test_unimatrix_has_its_constants():
    memory = memory_of(LayeredMemory.unimatrix)
    _, talks, impressions = memory.layers
    assert (talks.short_term_turns, talks.newest) == (15, 20)
    assert talks.recollection.considered == 3
    assert impressions.update_every == 5


def test_of_a_conversation_the_last_turns_are_shown_and_then_the_summary():
    memory = memory_of(LayeredMemory.unimatrix)
    for turn in range(20):
        hear(memory, (7, f"Turn {turn} of our talk."))
    text = memory.get_prompt_ready().partition("Short term memory")[2]
    shown = [turn for turn in range(20) if text.count(f"Turn {turn} of") == 1]
    assert shown == list(range(5, 20)), text
    for _ in range(6):
        memory.agent.model.step()
        memory.process_step(pre_step=True)
        memory.process_step()
    assert "Conversations before:\n- Steps 1 to 20, with Agent 7: " in (
        memory.get_prompt_ready()
    )


# -- C: the story engine --------------------------------------------------------------------


def test_the_story_engine_has_its_constants():
    memory = memory_of(LayeredMemory.story_engine)
    facts, _, story, chapters = memory.layers
    assert (facts.most, facts.summarised) == (10, True)
    policy = story.due.policy
    assert (policy.limit, policy.keep_last) == (1500, 4)
    assert story.kind == "story" and chapters.rule == 10
    assert memory.budget == 2000
    assert memory.shares["recent"] == 1500


def test_a_story_of_50_steps_takes_hardly_more_than_one_of_5():
    sizes = curve(LayeredMemory.story_engine)
    assert max(sizes) <= 2000
    assert sizes[49] <= 1.2 * sizes[4]


# -- D: session and long-term memory ------------------------------------------------------------


def test_a_session_has_the_constants_of_its_authors():
    memory = memory_of(LayeredMemory.session)
    facts, _, summary = memory.layers
    assert facts.most is None and facts.lines.direct_tokens == 2000
    assert set(facts.reader.gate) == {"fact", "stable", "useful"}
    policy = summary.due.policy
    assert (policy.max_entries, policy.fraction) == (20, 0.5)


# -- by name ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", PRESETS)
def test_a_preset_takes_other_arguments(name):
    memory = memory_of(
        partial(getattr(LayeredMemory, name), budget=300, event_chars=100)
    )
    assert (memory.budget, memory.event_chars) == (300, 100)
    for day in range(8):
        news = [f"On day {day} I sold {day * sender} eggs." for sender in (7, 8)]
        said = [f"I live in house {day % 9}. {text}" for text in news]
        hear(memory, *zip((7, 8), said))
    assert memory.budget_report().tokens <= 300
