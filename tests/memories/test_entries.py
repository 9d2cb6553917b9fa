"""Mesa-LLM's entries are made at the door: a memory itself holds records alone."""

from collections import deque

import mesa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.memory.memory import MemoryEntry

from mesa_memory import (
    EpisodicMemory,
    LongTermMemory,
    ShortTermMemory,
    STLTMemory,
    configure,
    open_run,
    resume,
)
from tests.support.agreement import agrees, held
from tests.support.playing import ended
from tests.support.single import memory_of, settle

KINDS = {
    "short_term": lambda agent: ShortTermMemory(agent, n=9),
    "stlt": lambda agent: STLTMemory(agent, short_term_capacity=9),
    "episodic": lambda agent: EpisodicMemory(agent, importance="offline"),
}
BELL = {"message": {"message": "The bell is cracked.", "sender": 7}}


class Square(mesa.Model):
    """Two agents that see something each day."""

    def __init__(self, memory, file=None, rng=None):
        super().__init__(rng=rng)
        self.file = file
        configure(self, llm="offline", execution="blocking", record=file)
        settle(self, KINDS[memory], 2, cls=Passer)

    def step(self):
        self.agents.do("step")


class Passer(LLMAgent):
    def step(self):
        self.memory.add_to_memory("plan", {"content": f"Plan {self.model.steps}"})


def entries_of(memory):
    """The attribute that has a memory's entries."""
    name = "memory_entries" if memory.layer == "episodic" else "short_term_memory"
    return getattr(memory, name)


def entry(content, step=1, agent=None):
    return MemoryEntry(content=content, step=step, agent=agent)


@pytest.mark.parametrize("kind", KINDS)
def test_an_entry_that_is_put_in_becomes_records_of_the_run(kind, tmp_path):
    file = str(tmp_path / "run.sqlite")
    square = Square(kind, file, rng=1)
    agrees(square, 2)
    memory = square.agents[0].memory
    entries_of(memory).append(entry(BELL | {"weather": ["hail", "snow"]}))
    put_in = [r for r in memory.current_records() if r.origin == "imported"]
    assert [(r.kind, r.step, r.valid_from) for r in put_in] == [
        (kind, 1, 2) for kind in ("message", "weather", "weather")
    ]
    assert memory.messages()[-1].text == "The bell is cracked."
    assert "The bell is cracked." in memory.get_prompt_ready()
    agrees(square, 2)
    assert {r.id for r in put_in} <= set(held(square)[0])
    ended(square)
    again = resume(Square, file, memory=kind, file=file, rng=1)
    assert held(again) == held(square)
    assert [e.content for e in entries_of(again.agents[0].memory)] == [
        e.content for e in entries_of(memory)
    ]
    entries_of(again.agents[0].memory).clear()
    agrees(again, 2)
    with open_run(file) as run:
        ends = {
            row["id"]: row["because"] for row in run.history(agent=1, as_records=True)
        }
    assert {ends[r.id] for r in put_in} == {"evicted"}


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 9), st.integers(-4, 3)), max_size=12))
def test_entries_can_be_changed_like_a_deque(changes):
    for make in (KINDS["short_term"], KINDS["episodic"]):
        memory = memory_of(make)
        entries, plain = entries_of(memory), deque()
        for number, (what, place) in enumerate(changes):
            note = {"text": f"number {number}", "importance": 1 + number % 5}
            new = entry({"note": note}, agent=memory.agent)
            place = place if len(plain) > abs(place) else 0
            for each in (entries, plain):
                if what < 4 or not plain:
                    each.append(new)
                elif what == 4:
                    each.insert(place, new)
                elif what == 5:
                    each[place] = new
                elif what == 6:
                    each.rotate(place)
                elif what == 7:
                    each.reverse()
                elif what == 8:
                    each.appendleft(each.pop())
                else:
                    del each[place]
            assert entries == plain and len(entries) == len(plain)
            assert [e.content for e in entries] == [e.content for e in plain]
        memory.close_dropped()
        current = memory.current_records()
        assert {r.id for e in entries for r in e.events} == {r.id for r in current}


def test_reading_an_entry_twice_gives_equal_entries_and_taking_it_back_the_same_records():
    memory = memory_of(KINDS["short_term"])
    memory.add_to_memory("message", BELL["message"])
    memory.process_step()
    (held_entry,) = list(memory.short_term_memory)
    assert list(memory.short_term_memory) == [held_entry] and held_entry != BELL
    memory.short_term_memory = deque([held_entry, entry({"weather": "hail"})])
    event, weather = memory.current_records()
    assert held_entry.events == (event,) and weather.origin == "imported"
    memory.short_term_memory = deque([held_entry])
    assert (weather.closed_because, event.current) == ("erased", True)


@pytest.mark.parametrize("given", ["a text", None, {"message": "hello"}])
def test_what_is_no_entry_is_refused(given):
    for make in KINDS.values():
        memory = memory_of(make)
        with pytest.raises(TypeError, match="MemoryEntry"):
            entries_of(memory).append(given)
        assert not memory.current_records()


def test_a_buffer_that_is_set_goes_into_the_next_summary():
    memory = memory_of(LongTermMemory)
    memory.buffer = entry(BELL)
    assert memory.buffer.content == {"message": [BELL["message"]]}
    memory.add_to_memory("message", {"message": "It rains.", "sender": 7})
    memory.process_step()
    assert "bell is cracked" in memory.long_term_memory
    assert memory.buffer.content["message"][0]["message"] == "It rains."
