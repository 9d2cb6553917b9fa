"""Every layer and memory of the package keeps the contract that it asks of others."""

import pytest

from mesa_memory import (
    Conversations,
    EpisodicMemory,
    EventStream,
    Facts,
    Impressions,
    Reflection,
    RunningSummary,
    Window,
)
from mesa_memory.layers.chapters import Chapters
from mesa_memory.layers.story import Story
from mesa_memory.memories.registry import OURS
from mesa_memory.testing import check_layer, check_memory
from tests.support.network import elsewhere  # noqa: F401 - guards every test here


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


LAYERS = {
    "window": Window,
    "summary": summary,
    "impressions": impressions,
    "story": story,
    "chapters": chapters,
    "stream": lambda: EventStream(capacity=6),
    "facts": lambda: Facts(most=5, summarised=True),
    "conversations": lambda: Conversations(idle_steps=0),
}
MEMORIES = OURS | {
    "reflecting": lambda agent: EpisodicMemory(agent, reflection=Reflection()),
}


@pytest.mark.parametrize("name", LAYERS)
def test_each_layer_keeps_the_contract(name):
    check_layer(LAYERS[name])


@pytest.mark.parametrize("name", MEMORIES)
def test_each_memory_keeps_the_contract(name):
    check_memory(MEMORIES[name])
