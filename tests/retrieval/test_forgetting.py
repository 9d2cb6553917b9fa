"""Forgetting by base-level activation: its formulas, and where it is kept and told."""

import copy
import io
import math
from dataclasses import replace

import mesa
import numpy as np
import pandas as pd
import pytest
from rich.console import Console

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    Scoring,
    Services,
    configure,
    fork,
    open_run,
    resume,
)
from mesa_memory.core.records import MemoryRecord
from mesa_memory.interventions import biography
from mesa_memory.memories.host.interventions import probe
from mesa_memory.retrieval.activation import KEPT, activations, later_ones, moved
from mesa_memory.retrieval.index import RecordIndex
from mesa_memory.runs.past import past
from mesa_memory.viz.data import recall as data
from mesa_memory.viz.report.page import write_report
from tests.support.playing import ended, lived
from tests.support.single import memory_of, settle

DAY = 86400.0
DICE = np.random.default_rng(5)
SCHEDULES = [np.cumsum(DICE.integers(1, 9, 40)).astype(float) for _ in range(20)]


def learned(steps, decay=0.5, spacing=0.0, unit=DAY):
    """The presentations of a record that came at the first step and was recalled at others."""
    first, *others = steps
    known = []
    for step in others:
        (level,) = activations([(first, known)], step, unit, decay, spacing)
        known = later_ones(first, known, step, level)
    return first, known


def level(steps, now, decay=0.5, spacing=0.0, unit=DAY):
    (found,) = activations(
        [learned(steps, decay, spacing, unit)], now, unit, decay, spacing
    )
    return found


@pytest.mark.parametrize("decay", [0.2, 0.5, 0.8])
def test_up_to_ten_presentations_the_activation_is_the_sum_and_beyond_petrovs(decay):
    for steps in SCHEDULES:
        for count in range(1, 41):
            for later in (1, 5, 300):
                now = steps[count - 1] + later
                exact = math.log((((now - steps[:count]) * DAY) ** -decay).sum())
                within = 1e-9 if count <= KEPT else 0.05
                assert level(steps[:count], now, decay) == pytest.approx(
                    exact, abs=within
                )


def test_log_odds_of_recall_fall_with_the_log_of_the_interval():
    decay, noise, ages = 0.5, 0.25, [2.0**n for n in range(7)]
    given = Scoring.act_r(1.0, decay, noise, threshold=-1.0, relevance=0.0)
    scoring, index, odds = replace(given, refresh="off"), RecordIndex(), []
    for number in range(1000):
        index.add(MemoryRecord(f"1/x/m/{number}", 1, "x", "m", 0, {}), "word")
    for age in ages:
        chance = np.random.default_rng(int(age))
        found = index.search(scoring=scoring, now=age, chance=chance)
        assert len(found.records) + len(found.forgotten) == 1000
        share = len(found.records) / 1000
        odds.append(math.log(share / (1 - share)))
    slope = np.polyfit(np.log(ages), odds, 1)[0]
    assert slope == pytest.approx(-decay / noise, rel=0.1)


def test_what_was_learned_apart_lasts_longer_and_learned_at_once_is_better_at_first():
    massed, spaced = [0.0, 1, 2], [0.0, 14, 28]
    rates = {"decay": 0.177, "spacing": 0.217, "unit": 60.0}
    ahead = [
        level(spaced, 28 + later, **rates) - level(massed, 2 + later, **rates)
        for later in (1, 1000)
    ]
    assert ahead[0] < 0 < ahead[1]
    plain = [level(spaced, 28 + t) - level(massed, 2 + t) for t in (1, 1000)]
    assert max(plain) < 0  # the formula alone has no such effect


def test_a_step_counts_once_and_presentations_move_with_their_steps():
    assert later_ones(3, [], 3, 0.0) == []
    once = later_ones(3, [], 5, 0.0)
    assert later_ones(3, once, 5, 1.0) == once == [2.0, 3, 0.0, 5, 1.0]
    assert moved(once, 10) == [2.0, 13, 0.0, 15, 1.0]
    many = learned([float(n) for n in range(100)])[1]
    assert many[0] == 100 and len(many) == 1 + 2 * KEPT
    assert activations([], 5, 1.0, 0.5).shape == (0,)


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (("fortnight",), "day"), ((0,), "unit"), (("day", 1.0), "decay"),
        (("day", 0.5, -1), "noise"), (("day", 0.5, 0.1, math.nan), "threshold"),
    ],
)  # fmt: skip
def test_wrong_settings_are_told(given, told):
    with pytest.raises(ValueError, match=told):
        Scoring.act_r(*given)


LEAST = -5.7
FORGETFUL = Scoring.act_r("day", noise=0.5, threshold=LEAST)
MAKERS = {
    "episodic": lambda a: EpisodicMemory(a, scoring=FORGETFUL, importance="offline"),
    "conversation": lambda a: ConversationMemory(
        a, 3, recent=1, idle_steps=0, scoring=FORGETFUL
    ),
}


class Mill(mesa.Model):
    """Two people who tell each other of fish, and read what they remember."""

    def __init__(self, memory="episodic", record=None, **services):
        super().__init__(rng=3)
        configure(self, llm="offline", record=record, **services)
        self.people = settle(self, MAKERS[memory], 2)
        self.read = []

    def get_state(self):
        return {"read": self.read}

    def set_state(self, state):
        self.read = state["read"]

    def step(self):
        one, other = self.people
        one.send_message(f"On day {self.steps} I sold {self.steps % 4} fish.", [other])
        for each in self.people:
            each.memory.process_step(pre_step=True)
            self.read.append(each.memory.get_prompt_ready())
            each.memory.process_step()


@pytest.mark.parametrize("memory", MAKERS)
def test_a_fork_a_resumed_run_a_copy_and_a_replay_go_on_alike(memory, tmp_path):
    file = tmp_path / "run.sqlite"
    whole = lived(Mill(memory, file), 14)
    ended(whole)
    assert len(set(whole.read)) > 10
    assert lived(Mill(memory, replay=file), 14).read == whole.read
    for model in (fork(Mill, file, 6), copy.deepcopy(lived(Mill(memory), 6))):
        assert lived(model, 8).read == whole.read
    again = tmp_path / "again.sqlite"
    ended(lived(Mill(memory, again), 6))
    assert lived(resume(Mill, again), 8).read == whole.read


def test_what_was_not_recalled_is_recorded_and_told(tmp_path):
    file = tmp_path / "run.sqlite"
    model = lived(Mill(record=file), 14)
    low = Scoring.act_r("day", threshold=-4.2)
    page = Console(file=io.StringIO(), width=200)
    page.print(model.people[1].memory.explain("weather", scoring=low))
    assert "below the threshold) " in page.file.getvalue()
    ended(model)
    with open_run(file) as run:
        rows = data.recalls(run, 2)
        known = past(run, 2)
        recalls = [data.understood(row, known) for row in rows]
    below = 0
    for recall in [each for each in recalls if each.purpose == "prompt"]:
        assert recall.dropped == 0
        for each in recall.candidates:
            assert each.shown == (each.score >= LEAST)
            if not each.shown:
                why = f"not recalled: {LEAST - each.score:.2f} below the threshold"
                assert data.reason(recall, each) == why
                below += 1
    assert below > 3
    page = tmp_path / "report.html"
    with open_run(file) as run:
        write_report(run, page)
    told = "the base-level activation of ACT-R (decay 0.5, noise 0.5, threshold -5.7"
    assert told in page.read_text(encoding="utf-8")


def test_being_asked_leaves_no_trace_and_a_biography_is_not_forgotten():
    model = lived(Mill(), 6)
    one = model.people[1]
    biography(model.agents, pd.DataFrame({"unique_id": [1, 2], "home": "Turku"}))
    before = one.memory._stream.snapshot()
    assert any(isinstance(each, list) for each in before["accessed"].values())
    probe(one, "How many fish?")
    assert one.memory._stream.snapshot() == before
    later = lived(model, 300)
    assert "Turku" in later.people[1].memory.get_prompt_ready()
    assert "day 5 " not in later.read[-1]


def test_without_forgetting_nothing_of_it_is_kept():
    memory = memory_of(lambda a: EpisodicMemory(a, scoring=Scoring(refresh="always")))
    memory.add_to_memory("message", {"message": "I sold fish.", "sender": 5})
    memory.agent.model.step()
    memory.recall("fish")
    assert memory._stream.index.ranking.presented == {}
    assert "unit" not in Scoring().settings()
    assert Services.of(memory.agent.model) is memory.services
