"""A flood of statements by one speaker does not evict all else."""

from functools import partial

import pytest

from mesa_memory import EpisodicMemory, FactMemory
from tests.layers.test_fact_costs import RULES
from tests.support.models import hear
from tests.support.single import memory_of, scripted


def facts_with(most):
    return scripted(partial(FactMemory, max_facts=most), RULES)[0]


def stream_of(most):
    return memory_of(partial(EpisodicMemory, max_capacity=most))


SEEN = [(None, f"house {n}: colour: red") for n in range(4)]
TOLD = [(2, f"Dana {n}: mood: merry") for n in range(3)]


@pytest.mark.parametrize("speakers", [(3,), (3, 4), tuple(range(3, 23))])
@pytest.mark.parametrize("times", [1, 3])
def test_made_up_facts_evict_nothing_that_the_agent_has_seen(speakers, times):
    memory = facts_with(8)
    for event in SEEN:  # of observations in one step, the last one counts
        hear(memory, event)
    hear(memory, *TOLD)
    for day in range(20):
        for _ in range(times):  # said again, a fact is stronger
            hear(memory, *[(who, f"lie {day} {who}: is: true") for who in speakers])
    kept = [r.content["subject"] for r in memory.facts()]
    assert {f"house {n}" for n in range(4)} <= set(kept) and len(kept) == 8
    if len(speakers) == 1:
        assert sum(name.startswith("Dana") for name in kept) == 2, "half of the rest"


@pytest.mark.parametrize(
    "cue",
    [
        "URGENT: fire, murder, danger! I love you, number {n}!",
        "promise {n}",
        "secret {n}",
    ],
)
def test_messages_with_cue_words_do_not_evict_all_other_events(cue):
    memory = stream_of(20)
    for n in range(8):
        hear(memory, (None, f"A quiet day, number {n}."), (2, f"Good day, number {n}."))
    for n in range(60):
        hear(memory, (3, cue.format(n=n)))
    held = [e.events[0] for e in memory.memory_entries]
    by = [e.content.get("sender") for e in held]
    assert len(held) == 20 and (by.count(None), by.count(2)) == (8, 6)


def test_witnessed_events_do_not_evict_all_messages_either():
    memory = stream_of(10)
    hear(memory, *[(who, "Hello.") for who in (2, 3, 4)])
    for n in range(40):
        hear(memory, (None, f"Fire and murder, number {n}!"))
    by = [e.events[0].content.get("sender") for e in memory.memory_entries]
    assert sorted(filter(None, by)) == [2, 3, 4]
