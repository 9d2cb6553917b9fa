"""From one run to the next: an agent goes on with what it remembered in a recorded one."""

import json
import re
import sqlite3
from contextlib import closing

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning
from sqlalchemy import select

from mesa_memory import (
    LayeredMemory,
    Services,
    carry_over,
    configure,
    fork,
    open_run,
    register_policy,
    resume,
)
from mesa_memory.errors import MemoryMismatch, StoreCorrupt, StoreError
from mesa_memory.memories.registry import find
from mesa_memory.stores import schema
from tests.support.classes import EVERY, PRESETS

QUIET = register_policy("quiet", lambda turn: "Nothing to do.")
KINDS = {kind.__name__: kind for kind in EVERY} | {n: find(n) for n in PRESETS}
NAMES = ("Ada", "Bob", "Cleo")


class Person(LLMAgent):
    """Has a name, and tells the next one some news in each step."""

    def __init__(self, model, name, memory):
        super().__init__(model, CoTReasoning, QUIET)
        self.name = name
        self.memory = KINDS[memory](self)


class Town(mesa.Model):
    """Three people who tell each other news; each may come from an earlier run."""

    def __init__(
        self,
        memory="LayeredMemory",
        past=None,
        record=None,
        layers=None,
        day=0,
        **given,
    ):
        super().__init__(rng=1)
        configure(self, llm="offline", record=record, **given)
        self.day = day
        self.people = [Person(self, name, memory) for name in NAMES]
        self.carried = [
            carry_over(past, person, layers, identity=person.name)
            for person in self.people
            if past
        ]

    def get_state(self):
        return {"day": self.day}

    def set_state(self, state):
        self.day = state["day"]

    def step(self):
        self.day += 1
        for person in self.people:
            person.memory.process_step(pre_step=True)
        for place, person in enumerate(self.people):
            said = f"I live in house {self.day % 4}. On day {self.day} I sold {place} eggs."
            person.send_message(said, [self.people[place - 1]])
            person.memory.get_prompt_ready()
        for person in self.people:
            person.memory.process_step()

    def lived(self, days):
        for _ in range(days):
            self.step()
        Services.of(self).flush()
        return self

    def end(self):
        Services.of(self).recorder.close()
        return self


def undated(text):
    """A text without the numbers of its steps."""
    return re.sub(r"[Ss]teps? -?\d+( to -?\d+)?", "step", text)


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """A run of 12 days for each kind of memory, made once: its file and its last prompts."""
    made = {}

    def run(memory):
        if memory not in made:
            file = tmp_path_factory.mktemp("past") / f"{memory}.sqlite"
            town = Town(memory, record=str(file)).lived(12).end()
            with_prompts = [p.memory.format_long_term() for p in town.people]
            made[memory] = file, with_prompts, town
        return made[memory]

    return run


@pytest.mark.parametrize("memory", KINDS)
def test_an_agent_knows_what_it_knew_and_the_recorded_run_is_only_read(memory, runs):
    file, known, _ = runs(memory)
    before = file.read_bytes()
    town = Town(memory, past=str(file))
    assert all(town.carried), "each has something to carry over"
    for person, text in zip(town.people, known, strict=True):
        assert undated(person.memory.format_long_term()) == undated(text)
        steps = [r.step for r in person.memory.current_records()]
        assert max(steps) <= 0, "all of it was before this run"
    assert file.read_bytes() == before
    town.lived(8)
    for person in town.people:
        ids = [record.id for record in person.memory.held_records()]
        assert len(ids) == len(set(ids))


@pytest.mark.parametrize("memory", KINDS)
def test_a_run_that_goes_on_has_its_own_copies_and_is_replayed_too(
    memory, runs, tmp_path
):
    file, *_ = runs(memory)
    past, here = tmp_path / "past.sqlite", str(tmp_path / "run.sqlite")
    past.write_bytes(file.read_bytes())
    whole = Town(memory, past=str(past), record=str(tmp_path / "whole.sqlite"), day=12)
    whole.lived(7).end()
    Town(memory, past=str(past), record=here, day=12).lived(4).end()
    again = Town(memory, past=str(past), day=12, replay=str(tmp_path / "whole.sqlite"))
    again.lived(7)
    past.unlink()
    gone_on = resume(Town, here, trust=True).lived(3).end()
    for one in (gone_on, again):
        for mine, theirs in zip(one.people, whole.people, strict=True):
            assert mine.memory.get_prompt_ready() == theirs.memory.get_prompt_ready()
            mine_ids = [r.id for r in mine.memory.current_records()]
            assert mine_ids == [r.id for r in theirs.memory.current_records()]
    with open_run(here) as run, open_run(str(tmp_path / "whole.sqlite")) as other:
        assert run.differences(other) is None
    branch = fork(Town, here, name="branch", trust=True).lived(2)
    assert branch.people[0].memory.get_prompt_ready()
    branch.end()


def test_each_copy_says_where_it_comes_from(runs, tmp_path):
    file, *_ = runs("story_engine")
    here = str(tmp_path / "run.sqlite")
    Town("story_engine", past=str(file), record=here).lived(2).end()
    with open_run(here) as run, open_run(file) as past:
        carried = run.interventions(as_records=True)
        assert [row["kind"] for row in carried] == ["carry_over"] * 3
        detail = carried[0]["detail"]
        assert detail["run"] == 1 and detail["store"] == file.name
        assert detail["step"] == 12 and detail["agent"] == "1"
        rows = select(schema.records).where(schema.records.c.agent == "1")
        then = {row["id"]: row for row in past.records(rows)}
        now = {row["id"]: row for row in run.records(rows)}
        copied = detail["records"]
        assert {"fact", "summary", "chapter", "message"} <= {
            now[new]["kind"] for new in copied
        }
        for new, old in copied.items():
            assert now[new]["sources"][0] == f"{file.name}#1:{old}"
            assert now[new]["step"] == then[old]["step"] - 12
            made = then[old]["origin"] == "derived"
            assert now[new]["origin"] == ("derived" if made else "imported")
        fact = next(new for new in copied if now[new]["kind"] == "fact")
        told = run.provenance(fact, as_records=True)
        assert any(row["missing"] and row["id"].startswith(file.name) for row in told)


def test_what_is_newer_here_ends_what_was_known_there(runs):
    file, *_ = runs("FactMemory")
    town = Town("FactMemory", past=str(file), day=100)
    ada = town.people[0]

    def homes():
        return {
            r.content["subject"]: r.content["value"]
            for r in ada.memory.facts()
            if r.content["attribute"] == "home"
        }

    before = homes()
    assert before and set(before.values()) == {"house 0"}  # of day 12
    town.lived(1)
    assert set(homes().values()) == {"house 1"}  # of day 101
    assert homes().keys() == before.keys()


def test_chosen_layers_are_carried_over_and_no_others(runs):
    file, *_ = runs("session")
    town = Town("session", past=str(file), layers=("facts",))
    for person in town.people:
        kinds = {
            r.kind for r in person.memory.current_records() if r.origin == "derived"
        }
        assert kinds == {"fact"}
        assert "On day 12" not in person.memory.format_short_term()


def test_what_does_not_fit_is_refused_and_nothing_has_changed(runs, tmp_path):
    file, *_ = runs("LongTermMemory")
    town = Town("LongTermMemory")
    ada, bob, _ = town.people
    before = ada.memory.snapshot()

    with pytest.raises(ValueError, match="facts"):
        carry_over(file, ada, ("facts",))
    with pytest.raises(TypeError, match="tuple of names"):
        carry_over(file, ada, "summary")
    with pytest.raises(ValueError, match="no agent"):
        carry_over(file, ada, identity="Nobody")
    with pytest.raises(ValueError, match="same in both"):
        carry_over(file, ada, identity="Bob")
    with pytest.raises(StoreError):
        carry_over(tmp_path / "none.sqlite", ada)
    with pytest.raises(ValueError, match="not have run 7"):
        carry_over(file, ada, run=7)
    with pytest.raises(TypeError, match="past must be"):
        carry_over(3, ada)
    bob.name = "Berta"
    with pytest.raises(ValueError, match="'Bob' in run 1 and 'Berta' here"):
        carry_over(file, ada)
    assert ada.memory.snapshot() == before
    ada.memory = None
    with pytest.raises(TypeError, match="memory of mesa_memory"):
        carry_over(file, ada)


def test_a_memory_that_has_begun_takes_nothing_over(runs):
    file, *_ = runs("LongTermMemory")
    town = Town("LongTermMemory").lived(2)
    with pytest.raises(ValueError, match="before the agent's first step"):
        carry_over(file, town.people[0])


def test_a_layer_of_another_class_is_refused_and_the_memory_goes_on(runs):
    from mesa_memory import Layer

    class Summary(Layer):
        name = "summary"

        def restore(self, snapshot, shelf):
            self.known = snapshot["known"] if snapshot else None

    file, *_ = runs("LongTermMemory")
    town = Town("LongTermMemory")
    ada = town.people[0]
    ada.memory = LayeredMemory(ada, [Summary()])
    with pytest.raises(MemoryMismatch, match="summary"):
        carry_over(file, ada)


@pytest.mark.parametrize("key", ["layer", "parts"])
@pytest.mark.parametrize("odd", ["deleted", None, 3, ["short_term"], True])
def test_a_checkpoint_without_its_layers_is_told_as_damaged(key, odd, tmp_path):
    file = tmp_path / "past.sqlite"
    Town("ShortTermMemory", record=file).lived(2).end()
    with closing(sqlite3.connect(file)) as on:
        chosen = "FROM checkpoints WHERE agent = '1'"
        (text,) = on.execute(f"SELECT state {chosen} ORDER BY step DESC").fetchone()
        state = json.loads(text) | {key: odd}
        if odd == "deleted":
            del state[key]
        on.execute(
            "UPDATE checkpoints SET state = ? WHERE agent = '1'", [json.dumps(state)]
        )
        on.commit()
    with pytest.raises(StoreCorrupt, match=r"agent 1 in run 1.*damaged"):
        Town("ShortTermMemory", past=file)
