"""What a long run and a step with many events cost."""

import sys
from collections import Counter
from functools import partial

import mesa
import pytest

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LayeredMemory,
    LongTermMemory,
    NarrativeMemory,
    Services,
    STLTMemory,
    configure,
    open_run,
)
from mesa_memory.layers import Reflection
from tests.support.classes import EVERY
from tests.support.single import memory_of, settle
from tests.support.turns import in_turn


def lines_run(work):
    """How many lines of the package Python ran, however fast the machine is."""
    watch, count = sys.monitoring, Counter()

    def line(code, number):
        if "mesa_memory" not in code.co_filename:
            return watch.DISABLE
        count["line"] += 1

    watch.use_tool_id(watch.PROFILER_ID, "lines")
    watch.register_callback(watch.PROFILER_ID, watch.events.LINE, line)
    watch.set_events(watch.PROFILER_ID, watch.events.LINE)
    try:
        work()
    finally:
        watch.set_events(watch.PROFILER_ID, 0)
        watch.free_tool_id(watch.PROFILER_ID)
    return count["line"]


def step_of(cls, kind, count):
    """Work: a step with so many events, until its memory has been read."""
    memory = memory_of(cls)
    memory.agent.model.step()

    def work():
        for number in range(count):
            said = f"Bridge number {number} is broken"
            event = {"message": {"message": said, "sender": 5}}
            memory.add_to_memory(kind, event.get(kind, {"seen": said}))
        memory.process_step()
        assert memory.get_prompt_ready()

    return work


@in_turn(kind=["message", "observation"], cls=EVERY)
def test_four_times_the_events_of_a_step_take_about_four_times_the_work(cls, kind):
    step_of(cls, kind, 10)()  # what is loaded on first use
    # A statement costs much. Of fewer events, this limit shows the same growth.
    count, limit = (125, 4.9) if cls is FactMemory else (500, 6)
    few = lines_run(step_of(cls, kind, count))
    many = lines_run(step_of(cls, kind, 4 * count))
    assert many < limit * few


def reflecting(agent, **settings):
    return EpisodicMemory(agent, reflection=Reflection.questions(), **settings)


@pytest.mark.parametrize(
    ("cls", "settings"),
    [
        (STLTMemory, {}),
        (LongTermMemory, {}),
        (ImpressionMemory, {}),
        (EpisodicMemory, {"max_capacity": 50}),
        (reflecting, {"max_capacity": 50}),
        (reflecting, {"max_capacity": 10_000}),
        (ConversationMemory, {"idle_steps": 1, "recent": 5}),
        (NarrativeMemory, {"chapters": 2, "section_chars": 2000}),
        (LayeredMemory.unimatrix, {"budget": 1000}),
        (LayeredMemory.generative_agent, {}),
    ],
)
def test_a_late_step_takes_as_much_work_and_as_long_a_prompt_as_an_early_one(
    cls, settings
):
    memory, prompts = memory_of(partial(cls, **settings)), []
    model = memory.agent.model

    def live(steps):
        for _ in range(steps):
            model.step()
            now, sender = model.steps, 7 + model.steps // 4 % 5
            seen = {"local_state": {f"Villager {sender}": {"mood": now % 3}}}
            memory.add_to_memory("observation", seen)
            if now % 4 < 2:
                said = f"Mill {now % 9} is broken.{' Water rises.' * 20}"
                memory.add_to_memory("message", {"message": said, "sender": sender})
            memory.process_step()
            prompts.append(len(memory.get_prompt_ready()))

    live(140)
    early = lines_run(lambda: live(20))
    live(180)
    late = lines_run(lambda: live(20))
    assert late <= 1.2 * early
    assert sum(prompts[-20:]) <= 1.2 * sum(prompts[140:160])


def test_a_model_that_keeps_its_class_of_memory_can_be_recorded(tmp_path):
    for name in ("memory", "memory_class", "kinds"):
        model = mesa.Model(rng=1)
        setattr(model, name, [EpisodicMemory] if name == "kinds" else EpisodicMemory)
        configure(model, llm="offline", record=tmp_path / f"{name}.sqlite")
        (agent,) = settle(model, EpisodicMemory)
        agent.memory.add_to_memory("note", {"text": "Hi."})
        model.step()
        Services.of(model).recorder.close()
        with open_run(tmp_path / f"{name}.sqlite") as run:
            assert len(run.state(1, 1, as_records=True)) == 1
