"""A memory of a user's own in twenty lines: it thinks, is shown, and is not lost."""

import re
from pathlib import Path

import mesa
import pytest
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import (
    MemoryModule,
    ScriptedLLM,
    Services,
    Window,
    configure,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.llm import Reply
from tests.support.street import Neighbour
from tests.users.mood import Mood, MoodMemory


def talk(turn):
    return "I greet my neighbour."


class Street(mesa.Model):
    def __init__(self, rng=None, llm="offline", model=None, api_base=None):
        super().__init__(rng=rng)
        configure(self, **({"llm": llm} if llm else {}))
        for _ in range(2):
            name = model or register_policy("talk", talk)
            agent = Neighbour(self, CoTReasoning, name, api_base=api_base)
            agent.memory = MoodMemory(agent)

    def step(self):
        self.agents.shuffle_do("step")


def moods(street):
    Services.of(street).flush()
    kept = [agent.memory.layers[-1].mood for agent in street.agents]
    return [mood and (mood.id, mood.step, mood.content["text"]) for mood in kept]


def lived(steps, **given):
    street = Street(rng=1, **given)
    for _ in range(steps):
        street.step()
    return street


def feels(mood):
    return ScriptedLLM(rules={"temper": lambda request: {"mood": mood}})


def test_it_takes_twenty_lines_and_no_private_name():
    code = Path("tests/users/mood.py").read_text()
    lines = [line for line in code.splitlines() if line.strip()]
    assert len(lines) <= 20
    assert not re.search(r"(\.|import )_[a-z]", code)


def test_every_third_step_it_asks_and_the_mood_is_in_the_prompt():
    asked = []
    llm = ScriptedLLM(
        rules={"temper": lambda r: asked.append(r) or {"mood": "worried"}}
    )
    street = lived(7, llm=llm)
    assert [mood[1] for mood in moods(street)] == [6, 6]
    assert [request.step for request in asked] == [3, 3, 6, 6]
    for agent in street.agents:
        prompt = agent.memory.get_prompt_ready()
        assert "I feel worried." in prompt
        assert "Day 7: the bridge is broken!" in prompt
        assert "I feel worried." in agent.memory.format_long_term()


def test_it_thinks_without_a_model():
    street = lived(3)
    assert [mood[2] for mood in moods(street)] == ["calm", "calm"]
    assert moods(lived(3)) == moods(street)


def test_a_failure_keeps_it_due_and_the_mood_as_it_was():
    llm = ScriptedLLM(rules={"temper": lambda request: {"mood": 5}})
    street = lived(5, llm=llm)
    assert moods(street) == [None, None]
    Services.of(street).llm = feels("better")
    street.step()
    assert [mood[1] for mood in moods(street)] == [6, 6]


def test_a_resumed_run_goes_on_with_the_mood(tmp_path):
    file = str(tmp_path / "run.sqlite")
    street = Street(rng=1)
    configure(street, record=file)
    for _ in range(4):
        street.step()
    configure(street, record=None)
    again = resume(Street, file)
    assert moods(again) == moods(street)
    for _ in range(4):
        again.step()
    assert moods(again) == moods(lived(8))
    configure(again, record=None)
    with open_run(file) as run:
        found = run.state(1, 8, as_records=True)
        kinds = [
            (row["kind"], row["content"]["text"])
            for row in found
            if row["kind"] == "mood"
        ]
        assert kinds == [("mood", "calm")]


def test_its_layer_is_tested_alone_with_next_and_send():
    street = Street(rng=1)
    layer = Mood()
    layer.join(street.agents[0].memory.layer_context)
    assert list(layer.remember()) == [], "it is not due yet"
    street.steps = 3
    flow = layer.remember()
    request = next(flow)
    assert (request.purpose, request.prompt) == (
        "temper",
        "You felt None. How do you feel now?",
    )
    assert layer.mood is None, "nothing changes before the reply is there"
    with pytest.raises(StopIteration):
        flow.send(Reply('{"mood": "glad"}'))
    assert [line.text for line in layer.summary()] == ["I feel glad."]
    assert layer.snapshot() == {"mood": layer.mood}


def test_what_is_no_layer_is_refused_with_an_example():
    street = Street(rng=1)
    with pytest.raises(TypeError, match=r"Window\(5\)"):
        MemoryModule(street.agents[0], layers=[Window])
