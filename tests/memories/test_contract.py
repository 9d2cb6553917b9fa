"""Every layer and memory of the package keeps the contract that it asks of others."""

import importlib
import os
import pkgutil

import pytest
from pydantic import create_model

import mesa_memory.memories
from mesa_memory import (
    Conversations,
    EpisodicMemory,
    EventStream,
    Facts,
    Impressions,
    Layer,
    LayeredMemory,
    LLMUnavailable,
    MemoryModule,
    RunningSummary,
    Window,
)
from mesa_memory.errors import UndeclaredState
from mesa_memory.layers import Line, Reflection
from mesa_memory.layers.chapters import Chapters
from mesa_memory.layers.summary import Story
from mesa_memory.memories.conversation import Surroundings
from mesa_memory.memories.long_term import PendingWindow
from mesa_memory.memories.registry import OUR_MEMORIES
from mesa_memory.tasks import Task
from mesa_memory.testing import check_layer, check_memory
from tests.memories.reliability import Reliability, ReliabilityMemory
from tests.support.fleet import Town


def summary():
    window = Window(None)
    return [window, RunningSummary(window)]


def impressions():
    window = Window(3)
    return [window, Impressions(window, update_every=2)]


def story():
    window = Window(None)
    return [window, Story(window, tokens=30, keep_last=1)]


def chapters():
    window = Window(None)
    told = Story(window, tokens=30, keep_last=1)
    return [window, told, Chapters(2, told)]


#: class of a layer -> what makes it, with the layers that it reads
LAYERS = {
    Window: Window,
    PendingWindow: PendingWindow,
    Surroundings: lambda: [Window(), Surroundings()],
    RunningSummary: summary,
    Impressions: impressions,
    Story: story,
    Chapters: chapters,
    EventStream: lambda: EventStream(capacity=6),
    Facts: lambda: Facts(most=5, summarised=True),
    Conversations: lambda: Conversations(idle_steps=0),
}
MEMORIES = OUR_MEMORIES | {
    "reflecting": lambda agent: EpisodicMemory(agent, reflection=Reflection())
}


#: the others are parts of one memory
FOR_USERS = [
    kind for kind in LAYERS if kind.__module__.startswith("mesa_memory.layers")
]


@pytest.mark.parametrize("kind", FOR_USERS)
def test_each_layer_keeps_the_contract(kind):
    check_layer(LAYERS[kind])


def test_every_layer_of_the_package_is_in_this_table():
    for module in pkgutil.iter_modules(mesa_memory.memories.__path__):
        importlib.import_module(f"mesa_memory.memories.{module.name}")
    ours = {kind for kind in kinds_of(Layer) if "mesa_memory" in kind.__module__}
    assert ours == set(LAYERS)


def kinds_of(base):
    for kind in base.__subclasses__():
        yield kind
        yield from kinds_of(kind)


@pytest.mark.parametrize("name", MEMORIES)
def test_each_memory_keeps_the_contract(name):
    check_memory(MEMORIES[name])


# -- a memory of a third party -------------------------------------------------------


GOLD = (
    "The mayor gives everybody who comes to the market hall before noon a bag of gold."
)


def town_of_liars(host):
    town = Town("short_term", 1, llm="offline", execution="blocking")
    (ann,) = town.citizens
    ann.memory = host(ann)
    for day, lie in enumerate(["castle", "harbour", "market"]):
        town.tell(ann, f"There is a {lie} in town.", sender=7)
        town.tell(ann, f"Carl repairs roof number {day}.", sender=8)
        town.show(ann, f"I see no {lie} here.")
        town.advance()
    town.tell(ann, GOLD, sender=7)
    town.tell(ann, "Carl sells apples.", sender=8)
    town.advance()
    return town, ann


def test_a_memory_written_from_the_page_keeps_the_contract():
    check_memory(ReliabilityMemory)
    check_layer(Reliability)


def test_speakers_who_were_wrong_count_less():
    _, ann = town_of_liars(ReliabilityMemory)
    prompt = ann.memory.get_prompt_ready()
    assert "castle" not in prompt.partition("Short term")[0]
    assert "gold. (Agent 7 was wrong 3 of 4 times)" in prompt
    assert "apples. (" not in prompt


@pytest.mark.parametrize("host", [MemoryModule, LayeredMemory])
def test_heading_rank_and_notes_on_shown_events_work_in_every_host(host):
    _, ann = town_of_liars(lambda agent: host(agent, layers=[Window(9), Reliability()]))
    memory = ann.memory
    known, _, recent = memory.get_prompt_ready().partition("Short term memory")
    assert "Statements, and who makes them:" in known
    assert "gold" in recent and "gold. (Agent 7 was wrong 3 of 4 times)" in known
    if host is MemoryModule:
        memory.section_chars = 190
    else:
        memory.shares, memory.budget = {"recent": 0.01}, 100
    known = memory.format_long_term()
    assert "apples" in known and "gold" not in known and "not shown" in known


# -- layers that break it ------------------------------------------------------------


class Broken(Layer):
    """Asks each day how the agent feels, properly."""

    name, state, mood, asked = "broken", ("mood", "asked"), "calm", 0

    def remember(self, view):
        reply = yield from view.ask(BROKEN, before=self.mood)
        self.mood = reply.mood
        self.asked += 1

    def summary(self, view):
        return [Line(f"I feel {self.mood} on day {self.asked}.")]


class Early(Broken):
    def remember(self, view):
        self.asked += 1
        yield from super().remember(view)


class Forgetful(Broken):
    def snapshot(self):
        return {}

    def restore(self, snapshot, shelf):
        self.asked = 0


class Random(Broken):
    def summary(self, view):
        return [Line(f"{os.urandom(8).hex()}")]


class Giving(Broken):
    """Gives up on a day when the model is down."""

    state, given_up = ("mood", "asked", "given_up"), ()

    def remember(self, view):
        try:
            yield from super().remember(view)
        except LLMUnavailable:
            self.given_up = (*self.given_up, view.now)


class Undeclared(Broken):
    state = ("mood",)


class Ending(Broken):
    """Shows what it has closed."""

    state, kept = ("mood", "asked", "kept"), ()

    def admit(self, view, step, events):
        self.kept = (*self.kept, *events)
        for event in events:
            self.memory.journal.close(event, step, "evicted")

    def recent(self, view):
        return [self.line(view, event) for event in self.kept]


BROKEN = Task(
    "broken",
    create_model("Feeling", mood=(str, ...)),
    system="You have moods.",
    prompt="You felt {before}.".format_map,
    offline=lambda inputs: {"mood": "calm"},
)


def test_a_layer_that_breaks_a_clause_is_told_which():
    check_layer(Broken)
    for kind, clause in (
        (Early, "a failed request changes nothing"),
        (Giving, "a failed request changes nothing"),
        (Forgetful, "a restored snapshot shows the same prompt"),
        (Random, "two offline runs have the same prompts"),
        (Ending, "is shown and was closed"),
    ):
        with pytest.raises(AssertionError, match=clause):
            check_layer(kind)
    with pytest.raises(UndeclaredState, match="'asked'"):
        check_layer(Undeclared)
