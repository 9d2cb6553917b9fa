"""How the runs of a page are told apart and stay in its list."""

import re
import shutil

import mesa
import pandas as pd
import pytest

from mesa_memory import Services, ShortTermMemory, configure
from mesa_memory.examples.rumor.hearsay import BELIEFS
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.experiments import Study
from mesa_memory.runs import open_run
from mesa_memory.viz.data import decisions
from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.data.colouring import colour_keys, of_outcome
from mesa_memory.viz.data.scene import scene
from mesa_memory.viz.explorer import open_feeds
from mesa_memory.viz.serving.live_run import labels, short_labels
from mesa_memory.viz.views import compare, cost
from mesa_memory.viz.views.focus import Focus
from tests.viz.test_viz_selection import selection


def town(memory="stlt", rng=1, record=True, days=2):
    model = RumorModel(4, memory=memory, rng=rng, record=record)
    for _ in range(days):
        model.step()
    return model


@pytest.fixture
def file(tmp_path):
    """A store with two runs."""
    path = str(tmp_path / "town.sqlite")
    for memory in ("stlt", "episodic"):
        Services.of(town(memory, record=path)).recorder.close()
    return path


@pytest.fixture
def opened():
    """Opens runs, which are closed after the test."""
    found = []

    def feeds(*runs):
        found.extend(made := open_feeds(runs))
        return made

    yield feeds
    for feed in found:
        feed.close()


def test_a_run_has_the_same_address_whatever_is_shown_beside_it(file, tmp_path, opened):
    other = str(tmp_path / "other.sqlite")
    Services.of(town(rng=5, record=other)).recorder.close()
    first, second = opened((file, 1), (file, 2))
    behind = opened((other, 1), (file, 2), (file, 1))
    assert [feed.key for feed in behind[1:]] == [second.key, first.key]
    assert len({feed.key for feed in behind}) == 3
    moved = tmp_path / "elsewhere"
    moved.mkdir()
    shutil.copy(file, moved / "town.sqlite")
    (there,) = opened((str(moved / "town.sqlite"), 1))
    assert there.key == first.key
    both = opened((file, 1), (str(moved / "town.sqlite"), 1))
    assert both[0].key != both[1].key


def test_runs_are_named_by_file_memory_what_differs_and_state(file, opened):
    feeds = opened((file, 1), (file, 2))
    one, other = labels(feeds).values()
    assert one.startswith("memory stlt · town.sqlite#1 · RumorModel · STLTMemory")
    assert other.startswith("memory episodic · town.sqlite#2 · RumorModel · Episodic")
    assert "n_agents" not in one
    assert other.endswith(" · finished")


def moved(model):
    return float(model.steps)


def agrees_with_itself(run):
    """The numbers that stand on two pages or in the report are the same on each."""
    shown, last = compare.numbers(run), run.steps[-1]
    seen, counted, spent = scene(run), activity(run), cost.spent(run)
    story = of_outcome(seen, "belief")
    named = {belief: name for name, belief in BELIEFS.items()}
    for label, values in story.curves():
        together = shown[f"outcome:agents with belief {label}"]
        assert together.tolist() == values.tolist()
        assert together.tolist() == shown[f"model:believes_{named[label]}"].tolist()
        assert f"{label} {values[-1]}" in story.summary(len(seen.steps) - 1)
    for place in range(len(seen.steps)):
        told = re.findall(r" (\d+)(?=,|$)", story.summary(place).partition(": ")[2])
        assert sum(map(int, told)) == len(story.agents)
    until = spent.until(last)
    for name in ("calls", "tokens"):
        population = sum(counted.totals(step)[name] for step in run.steps)
        table = sum(run.cost((), as_records=True)[0][each] for each in SUMMED[name])
        assert until[name] == shown[name].iloc[-1] == population == table > 0
    decided = decisions.decided(run)
    asked = sum(
        len(decisions.decisions(run, a, s))
        for a in run.unique_ids.values()
        for s in run.steps
    )
    assert len(decided) == asked == len(run.decisions(as_records=True)) > 0


SUMMED = {"calls": ["calls"], "tokens": ["tokens_in", "tokens_out"]}


@pytest.mark.slow
def test_arms_and_seeds_are_told_apart_by_the_first_words_of_their_names(
    tmp_path, opened
):
    place = str(tmp_path / "a_study_with_a_very_long_name_of_its_file.sqlite")
    arms = ["stlt", "episodic", "short_term"]
    study = Study(
        RumorModel, {"memory": arms, "n_agents": 4}, seeds=[3, 4], steps=2,
        store=place, outcomes={"moved": moved}, measures={"steps so far": moved},
    )  # fmt: skip
    study.run(progress=False)
    feeds = opened(*((place, number) for number in range(1, 7)))
    told = {f"memory {arm}, seed {seed}" for arm in arms for seed in (3, 4)}
    assert set(short_labels(feeds).values()) == told
    assert {name.split(" · ")[0] for name in labels(feeds).values()} == told
    assert all(
        f"· seed {seed}" not in name
        for name in labels(feeds).values()
        for seed in (3, 4)
    )
    assert len({id(feed.run.store) for feed in feeds}) == 1
    for feed in feeds:
        own = Focus(feed.source, selection(), 1, 2)
        beside = compare._other_source(own).feed.facts
        assert beside.seed == feed.facts.seed
        assert beside.parameters["memory"] != feed.facts.parameters["memory"]
    of_arm = [
        n for n, f in enumerate(feeds, 1) if f.facts.parameters["memory"] == "stlt"
    ]
    alone, other = opened(*((place, number) for number in of_arm))
    beside = compare._other_source(Focus(alone.source, selection(), 1, 2))
    assert beside.feed is other, "without another arm, another seed"
    numbers = compare.numbers(feeds[0].run)
    assert numbers["measure:steps so far"].to_dict() == {0: 0.0, 1: 1.0, 2: 2.0}
    for feed in feeds:
        agrees_with_itself(feed.run)
    names = list(numbers)
    kinds = [name.partition(":")[0] for name in names]
    assert list(dict.fromkeys(kinds)) == [
        *("outcome", "measure", "model", "calls", "tokens", "cost")
    ]
    assert names[0] == "outcome:agents with belief the well is poisoned"


def test_a_study_is_one_line_for_each_arm_with_its_runs_faint_in_its_colour():
    of_arm = ["stlt", "episodic", "none", "stlt", "episodic"]
    table = pd.DataFrame({n: [n, 2.0 * n] for n in range(5)}, index=[1.0, 2.0])
    lines = compare.by_arm(table, of_arm)
    thick, thin = lines[:3], lines[3:]
    assert {line["name"]: line["data"] for line in thick} == {
        "stlt": [1.5, 3], "episodic": [2.5, 5], "none": [2, 4],
    }  # fmt: skip
    colours = {line["name"]: line["color"] for line in thick}
    assert len(set(colours.values())) == 3
    runs = [(line["name"], line["data"][0]) for line in thin]
    assert runs == [("stlt", 0), ("episodic", 1), ("stlt", 3), ("episodic", 4)]
    for line in thin:
        assert line["color"] == colours[line["name"]]
        assert line["lineStyle"]["opacity"] < 0.5 and not line["tooltip"]["show"]


class Sayer(mesa.Model):
    """Agents with outcomes of all kinds."""

    def __init__(self, n):
        super().__init__(rng=1)
        outcomes = ("own", "sentence", "mood", "wealth")
        configure(self, llm="offline", record=True, outcomes=outcomes)
        for number in range(n):
            agent = mesa.Agent(self)
            agent.memory = ShortTermMemory(agent)
            agent.own, agent.mood = f"says {number}", ("glad", "sad")[number % 2]
            agent.sentence = f"I wonder what will become of us {number % 2}."
            agent.wealth = number / 2

    def step(self):
        for agent in self.agents:
            agent.memory.add_to_memory("observation", {"day": self.steps})


@pytest.mark.parametrize("n", [3, 5, 9])
def test_texts_that_tell_every_agent_apart_are_no_colours(n):
    model = Sayer(n)
    model.step()
    recorder = Services.of(model).recorder
    recorder.sync()
    with open_run(recorder.store, recorder.run) as run:
        keys = [key for key in colour_keys(scene(run)) if key.startswith("outcome")]
        numbers = list(compare.numbers(run))
    assert keys == ["outcome:mood", "outcome:wealth"]
    assert numbers[:3] == [
        "outcome:agents with mood glad", "outcome:agents with mood sad", "outcome:mean wealth",
    ]  # fmt: skip
    recorder.close()
