"""From one run to the next: an agent goes on with what it remembered in a recorded one."""

import json
import os
import re
import shutil
import sqlite3
from contextlib import closing

import pytest
from sqlalchemy import select

from mesa_memory import LayeredMemory, carry_over, fork, open_run, resume
from mesa_memory.errors import MemoryMismatch, StoreCorrupt, StoreError
from mesa_memory.memories.registry import find
from mesa_memory.stores import schema
from tests.support.classes import EVERY, PRESETS
from tests.support.hamlet import Hamlet
from tests.support.playing import held, lived, play
from tests.support.turns import in_turn

KINDS = {kind.__name__: kind for kind in EVERY} | {n: find(n) for n in PRESETS}
NAMES = ("Ada", "Bob", "Cleo")


class Town(Hamlet):
    """Three people who tell each other news; each may come from an earlier run."""

    makers = KINDS

    def __init__(
        self, memory="LayeredMemory", past=None, record=None, layers=None, day=0, **given
    ):  # fmt: skip
        super().__init__(memory, record, 3, **given)
        self.day, self.people = day, list(self.agents)
        for person, name in zip(self.people, NAMES, strict=True):
            person.name = name
        self.carried = [
            carry_over(past, person, layers) for person in self.people if past
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
            town = play(Town(memory, record=str(file)), 12)
            made[memory] = file, [p.memory.format_long_term() for p in town.people]
        return made[memory]

    return run


@pytest.mark.parametrize("memory", KINDS)
def test_an_agent_knows_what_it_knew_and_the_recorded_run_is_only_read(memory, runs):
    file, known = runs(memory)
    before = file.read_bytes()
    town = Town(memory, past=str(file))
    assert all(town.carried), "each has something to carry over"
    for person, text in zip(town.people, known, strict=True):
        assert undated(person.memory.format_long_term()) == undated(text)
        steps = [r.step for r in person.memory.current_records()]
        assert max(steps) <= 0, "all of it was before this run"
    assert file.read_bytes() == before
    lived(town, 8)
    for person in town.people:
        ids = [record.id for record in person.memory.held_records()]
        assert len(ids) == len(set(ids))


@in_turn(quick=3, memory=[*KINDS][::2])
def test_a_run_that_goes_on_has_its_own_copies_and_is_replayed_too(
    memory, runs, tmp_path
):
    file, _ = runs(memory)
    past, here, entire = (
        str(tmp_path / f"{n}.sqlite") for n in ("past", "run", "whole")
    )
    shutil.copy(file, past)
    given = {"past": past, "day": 12}
    whole = play(Town(memory, record=entire, **given), 7)
    play(Town(memory, record=here, **given), 4)
    again = lived(Town(memory, replay=entire, **given), 7)
    os.remove(past)
    gone_on = play(resume(Town, here, trust=True), 3)
    for one in (gone_on, again):
        assert held(one) == held(whole)
        for mine, theirs in zip(one.people, whole.people, strict=True):
            assert mine.memory.get_prompt_ready() == theirs.memory.get_prompt_ready()
    with open_run(here) as run, open_run(entire) as other:
        assert run.differences(other) is None
    branch = play(fork(Town, here, name="branch", trust=True), 2)
    assert branch.people[0].memory.get_prompt_ready()


def test_each_copy_says_where_it_comes_from(runs, tmp_path):
    file, _ = runs("story_engine")
    here = str(tmp_path / "run.sqlite")
    play(Town("story_engine", past=str(file), record=here), 2)
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
        kinds = {now[new]["kind"] for new in copied}
        assert {"fact", "summary", "chapter", "message"} <= kinds
        for new, old in copied.items():
            assert now[new]["sources"][0] == f"{file.name}#1:{old}"
            assert now[new]["step"] == then[old]["step"] - 12
            made = then[old]["origin"] == "derived"
            assert now[new]["origin"] == ("derived" if made else "imported")
        fact = next(new for new in copied if now[new]["kind"] == "fact")
        told = run.provenance(fact, as_records=True)
        assert any(row["missing"] and row["id"].startswith(file.name) for row in told)


def test_what_is_newer_here_ends_what_was_known_there(runs):
    file, _ = runs("FactMemory")
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
    lived(town, 1)
    assert set(homes().values()) == {"house 1"}  # of day 101
    assert homes().keys() == before.keys()


def test_chosen_layers_are_carried_over_and_no_others(runs):
    file, _ = runs("session")
    town = Town("session", past=str(file), layers=("facts",))
    for person in town.people:
        held_now = person.memory.current_records()
        assert {r.kind for r in held_now if r.origin == "derived"} == {"fact"}
        assert "On day 12" not in person.memory.format_short_term()


def test_what_does_not_fit_is_refused_and_nothing_has_changed(runs, tmp_path):
    file, _ = runs("LongTermMemory")
    town = Town("LongTermMemory")
    ada, bob, _ = town.people
    before = ada.memory.snapshot()

    missing = tmp_path / "none.sqlite"
    for past, given, error, said in (
        (file, {"layers": ("facts",)}, ValueError, "facts"),
        (file, {"layers": "summary"}, TypeError, "tuple of names"),
        (f"{file}#7", {}, ValueError, "not have run '7'"),
        (missing, {}, StoreError, "does not exist"),
    ):
        with pytest.raises(error, match=said):
            carry_over(past, ada, **given)
    bob.name = "Berta"
    with pytest.raises(ValueError, match="'Bob' in run 1 and 'Berta' here"):
        carry_over(file, ada)
    assert ada.memory.snapshot() == before
    ada.unique_id = 9
    with pytest.raises(ValueError, match=r"no agent 9 .* same in both"):
        carry_over(file, ada)
    ada.memory = None
    with pytest.raises(TypeError, match="memory of mesa_memory"):
        carry_over(file, ada)


def test_a_memory_that_has_begun_takes_nothing_over(runs):
    file, _ = runs("LongTermMemory")
    town = lived(Town("LongTermMemory"))
    with pytest.raises(ValueError, match="before the agent's first step"):
        carry_over(file, town.people[0])


def test_a_layer_of_another_class_is_refused_and_the_memory_goes_on(runs):
    from mesa_memory import Layer

    class Summary(Layer):
        name = "summary"

        def restore(self, snapshot, shelf):
            self.known = snapshot["known"] if snapshot else None

    file, _ = runs("LongTermMemory")
    town = Town("LongTermMemory")
    ada = town.people[0]
    ada.memory = LayeredMemory(ada, [Summary()])
    with pytest.raises(MemoryMismatch, match="summary"):
        carry_over(file, ada)


@in_turn(key=["layer", "parts"], odd=["deleted", None, 3, ["short_term"], True])
def test_a_checkpoint_without_its_layers_is_told_as_damaged(key, odd, tmp_path):
    file = tmp_path / "past.sqlite"
    play(Town("ShortTermMemory", record=file), 2)
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
