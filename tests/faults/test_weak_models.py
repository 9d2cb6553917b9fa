"""Small models that miscount, ramble or answer in prose: no run ends, nothing is lost."""

import re

import pytest

from mesa_memory import LLMUnavailable
from mesa_memory.errors import PromptTooLong
from tests.memories.test_grades import grades_of, numbered
from tests.support import fleet
from tests.support.single import scripted

LONG = "news {}-{} " + "and so on " * 5
PROSE = "Once upon a time there was a little model that loved to tell stories."


def told(request):
    """The events of a request for grades, as its prompt shows them."""
    return re.findall(r"^\d+\. Agent 9 says: (.*)$", request.prompt, re.MULTILINE)


def right(request):
    return numbered([3] * len(told(request)))


def one_less(request):
    return numbered([3] * (len(told(request)) - 1))


def memory_of(make, answer, **settings):
    return scripted(fleet.MEMORIES[make], {"*": answer}, **settings)


def live(memory, step, count=1, text="news {}-{}"):
    memory.agent.model.steps = step
    for number in range(count):
        message = {"message": text.format(step, number), "sender": 9}
        memory.add_to_memory("message", message)
    memory.process_step()


def ungraded(memory):
    return [text for text, grade in grades_of(memory).items() if grade is None]


# -- what is asked for -----------------------------------------------------------------


# -- grades ----------------------------------------------------------------------------


@pytest.mark.parametrize("count", [1, 2, 3, 39, 40])
def test_a_model_that_gives_one_grade_less_needs_two_more_requests_at_most(count):
    memory, llm = memory_of("episodic", one_less)
    for step in range(1, 6):
        before = len(llm.history)
        live(memory, step, count)
        assert len(llm.history) - before <= 3
        assert not ungraded(memory)


def test_what_has_waited_is_graded_in_several_requests_the_oldest_first():
    down = {"now": True}
    memory, llm = memory_of(
        "episodic",
        lambda r: LLMUnavailable("down", purpose="grade") if down["now"] else right(r),
    )
    for step in range(1, 6):
        live(memory, step, 30)
    down["now"] = False
    before = len(llm.history)
    live(memory, 6, 30)
    asked = [told(request) for request in llm.history[before:]]
    assert [len(events) for events in asked] == [40, 40, 40, 40, 20]
    assert [event for events in asked for event in events] == [*grades_of(memory)]
    assert not ungraded(memory)


@pytest.mark.parametrize("hard", [{3}, {0, 1, 2, 3}, {17, 18, 19, 20, 21}, {39}])
def test_hard_events_keep_no_neighbour_waiting(hard):
    names = {f"news 1-{number}" for number in hard}

    def grade(request):
        return "I cannot do that." if names & {*told(request)} else right(request)

    memory, llm = memory_of("episodic", grade)
    live(memory, 1, 40)
    assert {*ungraded(memory)} == names
    for step in range(2, 14):
        before = len(llm.history)
        live(memory, step, 40)
        assert {*ungraded(memory)} == names
        first = told(llm.history[before])
        assert len(first) == 40 and not names & {*first}, "they poison no other request"
        assert len(llm.history) - before <= 3
    assert len(llm.history) == before + 1, "they are asked for no longer"


def test_a_model_that_grades_nothing_is_asked_little_and_nothing_piles_up(caplog):
    memory, llm = memory_of("episodic", PROSE)
    stream = memory.layers[0]
    for step in range(1, 31):
        before = len(llm.history)
        live(memory, step, 12)
        assert step == 1 or len(llm.history) - before <= 3
        assert len(stream.snapshot()["fresh"]) <= 9 * 12
    assert len(grades_of(memory)) == 30 * 12, "nothing is lost"
    said = [r.message for r in caplog.records if "did not grade" in r.message]
    assert len(said) == 1
    assert "did not grade 12 of the 120 event(s)" in said[0] and "10 step(s)" in said[0]
    assert len(caplog.records) <= 12
    llm._rules["*"] = right
    live(memory, 31, 12)
    assert len([g for g in grades_of(memory).values() if g]) == 9 * 12 + 12


# -- a short context -------------------------------------------------------------------


def no_more_than(chars, answer):
    """A model that can read no more than this."""

    def answered(request):
        if len(request.prompt) > chars:
            return PromptTooLong("this model can read less", purpose=request.purpose)
        return answer(request)

    return answered


def retold(request):
    told = [line.partition(" and ")[0] for _, line in request.inputs["lines"]]
    return {"summary": f"{request.inputs['summary']} {told[-1]}"}


def test_steps_that_a_model_cannot_read_at_once_go_into_the_summary_one_by_one():
    down = {"now": True}
    read = no_more_than(1500, retold)
    memory, llm = memory_of(
        "long_term",
        lambda r: LLMUnavailable("down", purpose="x") if down["now"] else read(r),
    )
    for step in range(1, 7):
        live(memory, step, 5, LONG)
    down["now"] = False
    llm.history.clear()
    live(memory, 7, 5, LONG)
    assert len(memory.layers[0].held) == 0
    assert all(f"news {s}-4" in memory.long_term_memory for s in range(1, 8))
    assert len(llm.history) == 8


@pytest.mark.parametrize("make", ["stlt", "long_term", "episodic"])
def test_a_single_event_that_a_model_cannot_read_is_told_at_once(make):
    memory, _ = memory_of(make, no_more_than(10, right))
    with pytest.raises(PromptTooLong, match="can read less"):
        for step in range(1, 9):
            live(memory, step, 3)
    assert f"news {memory.agent.model.steps}-2" in memory.get_prompt_ready()


# -- no run stalls ---------------------------------------------------------------------


@pytest.mark.parametrize("make", ["stlt", "long_term"])
def test_a_summary_that_never_comes_is_asked_for_with_the_oldest_step_alone(make):
    memory, llm = memory_of(make, '{"nonsense": 1}')
    for step in range(1, 31):
        live(memory, step, 2)
    lines = [len(request.inputs["lines"]) for request in llm.history]
    assert max(lines[4:]) == 2 and len(lines) <= 2 * 30
    llm._rules["*"] = lambda r: {
        "summary": " ".join(line for _, line in r.inputs["lines"])
        + f" {r.inputs['summary']}"
    }
    live(memory, 31, 2)
    text = memory.long_term_memory + memory.format_short_term()
    assert all(f"news {step}-1" in text for step in range(1, 31))
    assert len(memory.short_term_memory if make == "stlt" else ()) <= 3


@pytest.mark.parametrize("make", ["stlt", "long_term", "impression"])
def test_a_useless_answer_is_no_outage_and_does_not_count_as_one(make):
    answers = iter([LLMUnavailable("down"), LLMUnavailable("down"), PROSE, PROSE] * 99)
    bad = '{"nonsense": 1}'
    memory, _ = memory_of(
        make,
        lambda r: bad if (given := next(answers)) is PROSE else given,
        max_pending_steps=3,
    )
    for step in range(1, 30):
        live(memory, step, 2)
