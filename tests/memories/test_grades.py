"""Grades that a model gives wrongly: the good ones are kept, no run ends, none is guessed."""

import json
import re
from functools import partial

import mesa
import pytest

from mesa_memory import EpisodicMemory, LLMUnavailable, ScriptedLLM, configure
from tests.support.single import scripted, settle

#: how many steps a run has, more than the ten that a failing memory is given
STEPS = 14


def weights(request):
    """The grade that each event of a request deserves; its text says it."""
    lines = re.findall(r"^\d+\. (.*)$", request.prompt, re.MULTILINE)
    return [int(re.search(r"weight (\d)", line)[1]) for line in lines]


def listed(grades):
    return json.dumps({"grades": grades})


def numbered(grades, numbers=None):
    numbers = numbers or range(1, len(grades) + 1)
    return listed([{"event": n, "grade": g} for n, g in zip(numbers, grades)])


def but(grades, place, value):
    """The grades with one of them replaced."""
    return [value if p == place % len(grades) else g for p, g in enumerate(grades)]


ALL, SOME, NONE = "all", "some", "none"
#: name -> (what is graded in the end, the reply to a request for these grades)
FAULTY = {
    # a list of the right length with something wrong in it
    "a half": (SOME, lambda g: listed(but(g, 2, 3.5))),
    "a list inside": (SOME, lambda g: listed(but(g, 0, [4]))),
    "of five": (SOME, lambda g: listed(but(g, 2, "3/5"))),
    # too few or too many, and nothing that says which
    "one less": (NONE, lambda g: listed(g[:-1])),
    "one more": (NONE, lambda g: listed([*g, 3])),
    "always fifty": (NONE, lambda g: listed([3] * 50)),
    "up to twenty": (ALL, lambda g: listed(g if len(g) <= 20 else g[:20])),
    "one alone": (ALL, lambda g: listed(g[:1])),
    # numbered
    "numbered, one less": (ALL, lambda g: numbered(g[:-1])),
    "numbered, one too high": (SOME, lambda g: numbered(but(g, 2, 9))),
    "numbered from nought": (NONE, lambda g: numbered(g, range(len(g)))),
    "numbered, one twice": (
        NONE,
        lambda g: numbered([*g[:1], *g], [1, *range(1, len(g) + 1)]),
    ),
    "numbered backwards": (ALL, lambda g: numbered(g[::-1], range(len(g), 0, -1))),
    "some without a number": (NONE, lambda g: listed([{"event": 1, "grade": g[0]}, 2])),
    # no JSON
    "lines with a half": (
        SOME,
        lambda g: "\n".join(f"{n}. {x}" for n, x in enumerate(but(g, 0, 2.5), 1)),
    ),
    "only numbers": (NONE, lambda g: " ".join(map(str, g))),
    "a page": (NONE, lambda g: "<html><h1>502 Bad Gateway</h1><p>nginx 3</p></html>"),
    "a schema": (NONE, lambda g: '{"grades": "array of integers", "type": "object"}'),
    "cut": (NONE, lambda g: listed(g)[: 12 + len(g)]),
    "nothing": (NONE, lambda g: ""),
}


def memory_of(grade, **settings):
    """An agent's memory whose events the function grades."""
    return scripted(
        partial(EpisodicMemory, max_capacity=1000), {"grade": grade}, **settings
    )


def live(memory, step, count):
    memory.agent.model.steps = step
    for number in range(count):
        text = f"news {step}-{number} of weight {1 + (step + 3 * number) % 5}"
        memory.add_to_memory("message", {"message": text, "sender": 9})
    memory.process_step()


def grades_of(memory):
    """Text of each event -> the grade that it has."""
    entries = [entry.content["message"] for entry in memory.memory_entries]
    return {content["message"]: content.get("importance") for content in entries}


def fitting(grades):
    """How many are graded; each of them as it deserves."""
    given = {text: grade for text, grade in grades.items() if grade is not None}
    assert given == {text: int(text[-1]) for text in given}
    return len(given)


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_a_wrong_list_of_grades_ends_no_run_and_becomes_no_wrong_memory(execution):
    for kept, fault in FAULTY.values():
        memory, _ = memory_of(lambda r: fault(weights(r)), execution=execution)
        for step in range(1, STEPS + 1):
            live(memory, step, 6)
        found = grades_of(memory)
        assert len(found) == 6 * STEPS
        graded = fitting(found)
        assert {
            ALL: graded == len(found),
            SOME: graded > len(found) / 2,
            NONE: not graded,
        }[kept]
        assert f"news {STEPS}-5" in memory.get_prompt_ready()


def test_after_a_wrong_list_a_right_one_grades_what_is_left():
    for kept, fault in FAULTY.values():
        faults = iter([True] * 3)
        memory, _ = memory_of(
            lambda r: fault(weights(r)) if next(faults, False) else listed(weights(r))
        )
        for step in (1, 2, 3):
            live(memory, step, 12)
        assert fitting(grades_of(memory)) == 36


def test_what_was_graded_before_an_outage_is_not_asked_for_again():
    outage = iter([False, False, True])

    def grade(request):
        if next(outage, False):
            return LLMUnavailable("the line is dead")
        return listed(weights(request))

    memory, llm = memory_of(grade)
    live(memory, 1, 100)
    assert fitting(grades_of(memory)) == 80
    live(memory, 2, 0)
    assert fitting(grades_of(memory)) == 100
    assert len(llm.history) == 4


def test_agents_that_share_grades_each_keep_what_came():
    model = mesa.Model(rng=1)
    llm = ScriptedLLM(
        rules={"grade": lambda r: numbered(weights(r)[::2], range(1, 99, 2))}
    )
    configure(model, llm=llm)
    agents = settle(model, EpisodicMemory, 5)
    for step in (1, 2, 3):
        for agent in agents:
            live(agent.memory, step, 9)
    assert [fitting(grades_of(agent.memory)) for agent in agents] == [27] * 5
    asked = [event for request in llm.history for event in weights(request)]
    assert len(asked) < 27 * 5, "each event was graded once for all"


def test_an_event_asked_about_alone_says_why_it_has_no_grade():
    memory, _ = memory_of(lambda r: "no idea")
    with pytest.raises(Exception, match="JSON object is missing"):
        memory.grade_event_importance("message", {"message": "of weight 3"})
