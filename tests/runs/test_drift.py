"""Drift of consolidation: what summaries kept, changed, omitted and added."""

import random
import re
from collections import Counter

import mesa
import pytest

from mesa_memory import STLTMemory, close, configure, open_run
from mesa_memory.cli import main
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.llm.doubles.scripted import ScriptedLLM
from mesa_memory.runtime.services import Services
from mesa_memory.statistics.difference import share
from tests.support.single import settle

CHANGED, OMITTED, ADDED = 0.2, 0.3, 0.25
STATED = re.compile(r"(\w+) sells (\d+) barrels of herring")


class Summariser:
    """Rewrites a summary, and changes, omits and adds at known rates."""

    def __init__(self, seed):
        self.chance, self.fates = random.Random(seed), Counter()

    def __call__(self, request):
        told = []
        for name, number in STATED.findall(request.prompt):
            drawn = self.chance.random()
            fate = "kept"
            if drawn < CHANGED:
                fate, number = "changed", str(int(number) + 1000)
            elif drawn < CHANGED + OMITTED:
                fate = "omitted"
            self.fates[fate] += 1
            if fate != "omitted":
                told.append(f"{name} sells {number} barrels of herring.")
        if self.chance.random() < ADDED:
            self.fates["added"] += 1
            told.append(f"The mayor met Quirl{self.chance.randrange(999)} at the mill.")
        return {"summary": " ".join(told) or "No one sells anything."}


class Market(mesa.Model):
    """One agent that hears four prices in each step."""

    def __init__(self, seed, **services):
        super().__init__(rng=seed)
        configure(self, **services)
        (self.listener,) = settle(self, lambda agent: STLTMemory(agent, 2, 1))

    def step(self):
        for letter in "ndrt":
            name = f"Ba{letter}{'aeiou'[self.steps % 5]}{'bcdfg'[self.steps // 5]}"
            said = (
                f"{name} sells {self.random.randrange(100, 1000)} barrels of herring."
            )
            content = {"message": said, "sender": 7}
            self.listener.memory.add_to_memory("message", content)
        self.listener.memory.process_step()


def recorded(file, seed, steps=12):
    summariser = Summariser(seed)
    llm = ScriptedLLM(rules={"consolidate": summariser})
    model = Market(seed, llm=llm, record=str(file))
    for _ in range(steps):
        model.step()
    Services.of(model).recorder.close()
    return summariser.fates


@pytest.mark.filterwarnings("ignore:the run of Market")
def test_changes_at_known_rates_are_recovered_within_intervals(tmp_path):
    found, injected, generations = Counter(), Counter(), set()
    for seed in range(6):
        injected += recorded(tmp_path / f"{seed}.sqlite", seed)
        with open_run(tmp_path / f"{seed}.sqlite") as run:
            rows = run.drift(as_records=True)
        generations |= {row["generation"] for row in rows}
        found += Counter(row["fate"] for row in rows)
    statements = sum(found[fate] for fate in ("kept", "changed", "omitted"))
    assert statements > 150 and generations >= {1, 2, 3}
    for fate, rate in (("changed", CHANGED), ("omitted", OMITTED)):
        _, low, high = share(found[fate], statements)
        assert low <= rate <= high, (fate, found, injected)
    assert found["added"] == injected["added"]


@pytest.mark.filterwarnings("ignore:the run of Market")
def test_the_command_tells_drift_by_generation(tmp_path, capsys):
    recorded(tmp_path / "run.sqlite", 1)
    with pytest.raises(SystemExit) as ended:
        main(["drift", str(tmp_path / "run.sqlite")])
    assert not ended.value.code
    told = capsys.readouterr().out
    assert "summary" in told and "omitted" in told


def test_a_summary_of_word_for_word_events_adds_nothing(tmp_path):
    file = str(tmp_path / "town.sqlite")
    town = RumorModel(n_agents=8, memory="stlt", rng=1, record=file)
    for _ in range(12):
        town.step()
    close(town)
    with open_run(file) as run:
        rows = run.drift(as_records=True)
    assert [row["statement"] for row in rows if row["fate"] == "added"] == []
    assert any(row["fate"] == "kept" for row in rows)
