"""Grades that a model gives wrongly: the good ones are kept, no run ends, none is guessed."""

import asyncio
import json
import re
from functools import partial

import mesa
import pytest

from mesa_memory import (
    EpisodicMemory,
    LLMUnavailable,
    ScriptedLLM,
    configure,
    open_run,
    resume,
)
from mesa_memory.memories.tools import search_memories
from tests.support.playing import ended
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


# -- grades that wait ------------------------------------------------------------------


def hear(memory, *texts):
    """One step in which the agent hears these."""
    model = memory.agent.model
    model.steps += 1
    for text in texts:
        memory.add_to_memory("message", {"message": text, "sender": 9})
    memory.process_step()


def weigh(request):
    """The grade that each event's text names."""
    return listed(weights(request))


NEWS = ("粉屋が燃えた weight 5", "and another of weight 2", "Ruhe, weight 3")


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
def test_few_events_wait_are_shown_meanwhile_and_graded_together(execution):
    memory, llm = memory_of(weigh, execution=execution)
    for number, text in enumerate(NEWS, 1):
        hear(memory, text)
        assert grades_of(memory) == dict.fromkeys(NEWS[:number])
        shown = memory.get_prompt_ready()
        assert all(text in shown for text in NEWS[:number])
    assert not llm.history
    hear(memory, "The fourth of weight 4")
    assert fitting(grades_of(memory)) == 4 and len(llm.history) == 1


RECALLS = {
    "recall": lambda memory: [each.record for each in memory.recall("weight", 9)],
    "arecall": lambda m: [r.record for r in asyncio.run(m.arecall("weight", 9))],
    "explain": lambda memory: memory.explain("weight") and memory.current_records(),
    "retrieve_top_k_entries": lambda memory: [
        entry.events[0] for entry in memory.retrieve_top_k_entries(9)
    ],
    "search_memories": lambda memory: (
        search_memories(memory.agent, "weight") and memory.current_records()
    ),
}


@pytest.mark.parametrize("execution", ["blocking", "deferred"])
@pytest.mark.parametrize("way", RECALLS)
def test_a_recall_has_them_graded_first(way, execution):
    memory, llm = memory_of(weigh, execution=execution)
    hear(memory, "A rumour of weight 1", "A fire of weight 5")
    found = RECALLS[way](memory)
    assert {r.content["message"]: r.importance for r in found} == {
        "A rumour of weight 1": 1,
        "A fire of weight 5": 5,
    }
    assert len(llm.history) == 1
    RECALLS[way](memory)
    assert len(llm.history) == 1, "nothing waits any more"


def test_a_look_that_leaves_no_trace_asks_nobody():
    memory, llm = memory_of(weigh)
    hear(memory, "A rumour of weight 1")
    with memory.peek():
        (found,) = memory.recall("rumour")
    assert found.record.importance is None and not llm.history


def test_the_grade_of_a_waiting_event_does_not_depend_on_who_recalls_first():
    def grade(request):  # a model that grades by what stands beside an event
        return listed([min(5, len(request.inputs["events"]))] * len(weights(request)))

    found = []
    for first in (0, 1):
        model = mesa.Model(rng=1)
        configure(model, llm=ScriptedLLM(rules={"grade": grade}))
        agents = settle(model, EpisodicMemory, 2)
        own = (["One, weight 1"], ["One, weight 1", "Two, weight 1", "Three, weight 1"])
        for agent, texts in zip(agents, own, strict=True):
            hear(agent.memory, *texts)
        for agent in agents if not first else agents[::-1]:
            agent.memory.recall("weight")
        found.append([grades_of(agent.memory) for agent in agents])
    assert found[0] == found[1]


def test_waiting_events_survive_a_resumed_run_and_an_outage(tmp_path):
    def build(record=None):
        model = mesa.Model(rng=1)
        down = [True]
        rule = {
            "grade": lambda r: (
                LLMUnavailable("off") if down and down.pop() else weigh(r)
            )
        }
        configure(model, llm=ScriptedLLM(rules=rule), record=record)
        (model.ann,) = settle(model, EpisodicMemory)
        return model

    def day(model, text):
        model.step()
        model.ann.memory.add_to_memory("message", {"message": text, "sender": 9})
        model.ann.memory.process_step()

    file = str(tmp_path / "run.sqlite")
    first = build(file)
    for number in (1, 2):
        day(first, f"Event {number} of weight {number}")
    ended(first)
    again = resume(build, file)
    for number in (3, 4, 5):
        day(again, f"Event {number} of weight {number}")
    assert fitting(grades_of(again.ann.memory)) == 5
    ended(again)
    with open_run(file) as run:
        rows = run.state(1, 5, as_records=True)
    assert [row["importance"] for row in rows] == [1, 2, 3, 4, 5]
