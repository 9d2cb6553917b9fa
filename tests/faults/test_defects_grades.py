"""Mesa-LLM's defects D32-D36: the grades of episodic memory."""

import pytest

from tests.support.models import (
    Citizen,
    StubLLM,
    Town,
    citizen,
    each,
    grades,
    live,
    said,
    seen,
)

THREES = grades(lambda _: 3)


def grade_of(memory):
    """The grade that the only event of an episodic memory shows."""
    (entry,) = memory.memory_entries
    return next(iter(entry.content.values())).get("importance")


READABLE = {
    "fenced": '```json\n{"grade": 4}\n```',
    "prose": 'I would say this: {"grade": 4}. It matters.',
    "thought": '<think>{"grade": 1}? No.</think>{"grade": 4}',
}
UNREADABLE = {
    "empty": "",
    "nothing": None,
    "other key": '{"importance": 4}',
    "number": "4",
    "null": "null",
    "cut": '{"grade": ',
}


@pytest.mark.parametrize("answer", [*READABLE.values()], ids=[*READABLE])
@each("EpisodicMemory", raises=ValueError)
def test_d32_a_grade_in_imperfect_json_is_read(make, answer):
    memory = make(citizen(), StubLLM(answer=answer))
    live(memory, seen("smoke"))
    memory.get_prompt_ready()
    assert grade_of(memory) == 4


@pytest.mark.parametrize("answer", [*UNREADABLE.values()], ids=[*UNREADABLE])
@each("EpisodicMemory", raises=(ValueError, KeyError, TypeError))
def test_d32_a_reply_without_a_grade_does_not_lose_the_event(make, answer):
    town = Town()
    sender, receiver = Citizen(town), Citizen(town)
    make(sender, StubLLM(answer=THREES))
    memory = make(receiver, StubLLM(answer=answer))
    sender.send_message("the dam has burst", [receiver])
    live(memory)
    assert "the dam has burst" in memory.get_prompt_ready()
    assert grade_of(memory) is None


@pytest.mark.parametrize("grade", ["10", "-3", "0", "NaN", "1e999", "3.5e2"])
@each("EpisodicMemory")
def test_d33_a_grade_outside_the_scale_is_not_stored(make, grade):
    memory = make(citizen(), StubLLM(answer=f'{{"grade": {grade}}}'))
    live(memory, seen("smoke"))
    memory.get_prompt_ready()
    found = grade_of(memory)
    assert found is None or (isinstance(found, int | float) and 1 <= found <= 5)


@each("EpisodicMemory")
def test_d33_a_missing_grade_is_asked_for_again(make):
    nothing = '{"grade": null}'
    memory = make(citizen(), StubLLM(nothing, nothing, answer=grades(lambda _: 5)))
    live(memory, seen("smoke"))
    live(memory)
    memory.get_prompt_ready()
    assert grade_of(memory) == 5


@each("EpisodicMemory")
def test_d33_a_grade_written_as_text_counts_as_its_number(make):
    memory = make(citizen(), StubLLM(answer='{"grade": "5"}'))
    live(memory, seen("smoke"))
    memory.get_prompt_ready()
    assert grade_of(memory) == 5


@each("EpisodicMemory")
def test_d34_the_grader_is_told_the_agents_task(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(step_prompt="Find water."), llm)
    live(memory, seen("a well"))
    memory.get_prompt_ready()
    assert "Find water." in llm.asked


def _recalled(memory):
    memory.get_prompt_ready()
    best = memory.retrieve_top_k_entries(10)
    return [entry.content["observation"]["view"] for entry in best]


def _order_of_recall(make, decay):
    llm = StubLLM(answer=grades(lambda text: 3 if "oak" in text else 1))
    memory = make(citizen(), llm, recency_decay=decay)
    live(memory, seen("an oak"))
    memory.agent.model.steps = 300
    live(memory, seen("rain"))
    return _recalled(memory)


@each("EpisodicMemory")
def test_d35_the_decay_decides_how_long_a_memory_lasts(make):
    assert _order_of_recall(make, 0.9999) == ["an oak", "rain"]
    assert _order_of_recall(make, 0.99) == ["rain", "an oak"]


@each("EpisodicMemory")
def test_d35_one_step_of_age_weighs_less_than_a_grade(make):
    rated = {"grave": 5, "fresh": 4, "trifle": 3}

    def rate(text):
        return next(grade for name, grade in rated.items() if name in text)

    memory = make(citizen(), StubLLM(answer=grades(rate)))
    live(memory, seen("grave"))
    live(
        memory, ("observation", {"view": "fresh"}), ("observation", {"view": "trifle"})
    )
    assert _recalled(memory) == ["grave", "fresh", "trifle"]


@each("EpisodicMemory")
async def test_d36_hearing_something_does_not_block_the_event_loop(make):
    llm = StubLLM(answer=THREES)
    memory = make(citizen(), llm)
    for number in range(5):
        memory.add_to_memory(*said(f"news {number}"))
    assert not llm.answered, "it waited for the model"
