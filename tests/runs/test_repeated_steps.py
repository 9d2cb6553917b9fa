"""A fork or a resumed run begins at any step; the way to one is repeated, and asks nobody."""

import sqlite3
from contextlib import closing

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent

from mesa_memory import Recording, ShortTermMemory, configure, fork, open_run, resume
from mesa_memory.errors import ReplayMismatch, StoreError
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.interventions import implant
from tests.support.playing import ended, held, lived
from tests.support.recorded_town import RecordedTown
from tests.support.single import settle
from tests.support.studied import PaidStreet
from tests.support.tables import assert_equal, tables


def checkpoints(file, run=1):
    with closing(sqlite3.connect(file)) as on:
        query = "SELECT step, agent, state FROM checkpoints WHERE run = ?"
        return {tuple(row[:2]): row[2] for row in on.execute(query, [run])}


def steps_of(file, run=1):
    return sorted({step for step, _ in checkpoints(file, run)})


def towns(tmp_path, steps):
    """Two runs of one town: only the second has a checkpoint of each step."""
    files = [tmp_path / "few.sqlite", tmp_path / "all.sqlite"]
    for file, every in zip(files, (None, 1)):
        ended(lived(RecordedTown(str(file), record=Recording(file, checkpoint_every=every)), steps))  # fmt: skip
    return files


def test_a_repeated_step_has_the_same_checkpoint_as_the_run_itself(tmp_path):
    few, every = towns(tmp_path, 9)
    assert steps_of(every) == [1, 2, 3, 4, 5, 6, 7, 8, 9]
    assert 3 not in steps_of(few)
    there = checkpoints(every)
    for step in (3, 6):
        branch = fork(RecordedTown, few, step, run=1)
        run = ended(branch)
        here = checkpoints(few, run)
        for place in [(step, name) for at, name in there if at == step]:
            assert here[place] == there[place], place
        twin = fork(RecordedTown, every, step, run=1)
        assert branch.diary == twin.diary and held(branch) == held(twin)
        ended(twin)


def test_repeating_asks_no_provider_and_counts_what_was_paid(tmp_path, server):
    file = tmp_path / "run.sqlite"
    street = PaidStreet(server.base, n=3, rng=1)
    configure(street, record=Recording(file, checkpoint_every=1))
    ended(lived(street, 6))
    there = checkpoints(file)
    with closing(sqlite3.connect(file)) as on:
        on.execute("DELETE FROM checkpoints")
        on.commit()
    asked = len(server.log)
    assert asked > 0
    branch = fork(PaidStreet, file, 4, base=server.base)
    assert branch.steps == 4 and len(server.log) == asked
    branch.step()
    assert len(server.log) > asked, "from then on it asks again"
    run = ended(branch)
    assert checkpoints(file, run)[4, ""] == there[4, ""], "usage is part of it"


def test_a_run_is_resumed_from_any_step(tmp_path):
    few, every = towns(tmp_path, 7)
    town = resume(RecordedTown, few, 4)
    assert town.steps == 4
    ended(lived(town, 3))
    assert_equal(tables(few), tables(every))


def test_a_step_with_a_change_by_hand_keeps_its_checkpoint(tmp_path):
    file = tmp_path / "run.sqlite"
    model = lived(RumorModel(n_agents=6, rng=1, record=str(file)), 3)
    implant(model.agents[0], "news", {"text": "The mill is sold!"})
    ended(lived(model, 6))
    assert 4 in steps_of(file)
    branch = fork(RumorModel, file, 6)
    assert "The mill is sold!" in str(held(branch))
    ended(branch)


def test_what_is_not_in_the_record_is_found_and_leaves_no_fork(tmp_path):
    file = tmp_path / "run.sqlite"
    model = lived(RumorModel(n_agents=6, rng=1, record=str(file)), 2)
    model.agents[0].memory.add_to_memory("news", {"text": "The mill is sold!"})
    ended(lived(model, 6))
    said = "step 5 of run 1 lacks a checkpoint, and the run cannot be repeated"
    with pytest.raises(ReplayMismatch, match=said):
        fork(RumorModel, file, 5)
    for step in (0, 2.5, 9):
        with pytest.raises(
            StoreError, match=f"lacks a finished step {step}; .* 1 to 8"
        ):
            fork(RumorModel, file, step)
    with open_run(file) as run:
        assert len(run.runs()) == 1


def test_a_fork_with_a_change_can_be_forked_at_each_of_its_steps(tmp_path):
    file = tmp_path / "run.sqlite"
    ended(lived(RumorModel(n_agents=6, rng=1, record=str(file)), 4))

    def scandal(model):
        implant(model.agents[0], "news", {"text": "The mill is sold!"})

    branch = fork(RumorModel, file, 2, edit=scandal, memory="episodic")
    then = {2: held(branch)}
    for step in (3, 4, 5, 6):
        then[step] = held(lived(branch, 1))
    ended(branch)
    for step, memories in then.items():
        twig = fork(RumorModel, file, step, run=2)
        assert held(twig) == memories, step
        ended(twig)


class Deciding(LLMAgent):
    """Asks its own model what to do; goes on as if it had said nothing if that fails."""

    def step(self):
        shown = self.memory.get_prompt_ready()
        try:
            self.said = self.llm.generate(shown).choices[0].message.content
        except Exception:
            self.said = ""
        seen = {"text": f"day {self.model.steps}: I said {self.said}"}
        self.memory.add_to_memory("observation", seen)
        self.memory.process_step()


class Council(mesa.Model):
    def __init__(self, file, base=None, agents=True):
        super().__init__(rng=1)
        configure(self, record=str(file), agents=agents)
        settle(self, ShortTermMemory, 2, Deciding, "openai/test", api_base=base)

    def step(self):
        self.agents.do("step")


def test_decisions_are_repeated_too_and_nobody_is_asked(tmp_path, server):
    file = tmp_path / "run.sqlite"
    council = Council(file, server.base)
    then = {}
    for step in range(1, 7):
        then[step] = held(lived(council, 1))
    ended(council)
    asked = len(server.log)
    assert asked == 12
    branch = fork(Council, file, 3, base=server.base)
    assert held(branch) == then[3] and len(server.log) == asked
    lived(branch, 1)
    assert len(server.log) == asked + 2
    ended(branch)


def test_a_decision_that_was_not_recorded_is_said_and_not_asked(tmp_path, server):
    file = tmp_path / "run.sqlite"
    ended(lived(Council(file, server.base, agents=False), 5))
    asked = len(server.log)
    assert asked == 10
    with pytest.raises(ReplayMismatch, match=r"configure\(model, agents=False\)"):
        fork(Council, file, 2, base=server.base)
    assert len(server.log) == asked
    with open_run(file) as run:
        assert len(run.runs()) == 1
