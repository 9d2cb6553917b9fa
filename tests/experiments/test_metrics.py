"""Measures of memory, in a plain DataCollector and on models whose values are known."""

import math
import re
from functools import partial

import mesa
import pandas as pd
import pytest

from mesa_memory import (
    ImpressionMemory,
    LongTermMemory,
    ScriptedLLM,
    ShortTermMemory,
    STLTMemory,
    configure,
    metrics,
    resume,
)
from tests.support.playing import lived, play
from tests.support.recorded_town import RecordedTown
from tests.support.single import settle
from tests.support.tables import assert_equal, tables

WELL = "The well is poisoned"


class Place(mesa.Model):
    """Agents who hear what the test tells them; a day passes with each step."""

    def __init__(self, memory, n=3, llm="offline", **given):
        super().__init__(rng=1)
        configure(self, llm=llm, **given)
        self.told: list[tuple[int, str]] = []
        settle(self, memory, n, name="openai/test")

    def step(self):
        for agent in self.agents:
            agent.memory.process_step(pre_step=True)
        for place, text in self.told:
            said = {"message": text, "sender": 99}
            list(self.agents)[place].memory.add_to_memory("message", said)
        for agent in self.agents:
            agent.memory.process_step()
        self.told = []

    def day(self, *told):
        self.told = list(told)
        self.step()


def test_size_is_the_mean_over_agents():
    place = Place(lambda agent: ShortTermMemory(agent, n=2))
    assert metrics.size(place) == 0
    place.day((0, "One"), (0, "Two"), (1, "One"))
    place.day((0, "Three"))
    assert metrics.size(place) == pytest.approx(4 / 3)
    place.day()
    place.day((0, "Four"))
    place.day((0, "Five"))
    assert metrics.size(place) == pytest.approx(3 / 3)  # a window of two steps
    table = metrics.layers(place)
    assert table["records"].sum() == 3
    assert set(table["layer"]) == {"window"}


def test_each_layer_is_counted_for_itself():
    place = Place(lambda agent: STLTMemory(agent, 1, 1), n=1)
    for day in range(5):
        place.day((0, f"On day {day} the mill was loud."))
    of = metrics.layers(place).set_index("layer")
    names = list(of.index)
    assert len(names) == 2
    for name in names:
        assert metrics.size(place, name) == of.loc[name, "records"]
    assert metrics.size(place) == of["records"].sum()
    assert metrics.size(place, "attic") == 0


def test_what_has_just_come_is_pending():
    place = Place(ShortTermMemory, n=1)
    place.agents[0].memory.add_to_memory("news", {"text": WELL})
    assert metrics.size(place, "pending") == 1
    assert metrics.holders(WELL)(place) == 1


def test_holders_are_found_by_a_text_by_a_pattern_and_by_a_function():
    place = Place(ShortTermMemory)
    place.day((0, WELL), (1, "They poison our wells!"), (2, "The well is deep"))
    assert metrics.holders(WELL)(place) == 2
    assert metrics.who_holds(place, WELL) == [1, 2]
    assert metrics.holders(re.compile(r"\bdeep\b").search)(place) == 1
    assert metrics.holders(lambda text: "well" in text)(place) == 3
    assert metrics.holders("the moon")(place) == 0


def friends(values):
    """A place in which agents have these impressions, by observer and subject."""

    def impression(request):
        found = re.findall(r"Agent (\d+)", request.prompt)
        who = next(int(n) for n in found if int(n) != request.agent)
        sentiment = values[request.agent, who]
        return {"text": "Well.", "sentiment": sentiment, "familiarity": 0.5}

    llm = ScriptedLLM(rules={"impression": impression})
    place = Place(lambda agent: ImpressionMemory(agent, update_every=1), 4, llm)
    agents = {agent.unique_id: agent for agent in place.agents}
    for observer, subject in values:
        said = {"message": "Good day.", "sender": subject}
        agents[observer].memory.process_step(pre_step=True)
        agents[observer].memory.add_to_memory("message", said)
        agents[observer].memory.process_step()
    return place


def test_impressions_are_a_matrix():
    values = {(1, 2): 0.5, (2, 1): 0.5, (1, 3): -0.5, (3, 1): -0.5, (4, 1): 0.25}
    place = friends(values)
    matrix = metrics.impressions(place)
    assert list(matrix.index) == list(matrix.columns) == [1, 2, 3, 4]
    known = {(i, j): v for i, row in matrix.iterrows() for j, v in row.items()}
    assert {pair: v for pair, v in known.items() if not math.isnan(v)} == values
    assert metrics.impressions(place, "familiarity").loc[1, 2] == 0.5


def test_calls_tokens_and_cost_leave_out_what_a_researcher_asks():
    from mesa_memory.interventions import probe

    place = Place(LongTermMemory, n=2)
    place.day((0, WELL), (1, WELL))
    before = metrics.calls(place), metrics.tokens(place), metrics.cost(place)
    assert before[0] == 2
    assert before[1] > 0
    assert before[2] == 0
    probe(place.agents[0], "Is the well safe?")
    assert (metrics.calls(place), metrics.tokens(place)) == before[:2]
    assert metrics.calls(place, ("probe",)) == 1
    assert metrics.calls(place, ("probe", "consolidate")) == 3
    assert metrics.tokens(place, ("consolidate",)) == before[1]
    assert metrics.cost(place, ("probe",)) == 0
    assert metrics.calls(mesa.Model()) == 0


REPORTERS = {
    "size": metrics.size,
    "window": partial(metrics.size, layer="window"),
    "holders": metrics.holders("sold fish"),
    "calls": metrics.calls,
    "graded": partial(metrics.calls, purposes=("grade",)),
    "tokens": metrics.tokens,
    "cost": metrics.cost,
    "impressions": metrics.impressions,
    "layers": metrics.layers,
}


class Collected(RecordedTown):
    """A town with every kind of memory, that collects all measures."""

    measured = True

    def __init__(self, file, **given):
        super().__init__(file, **given)
        self.datacollector = mesa.DataCollector(REPORTERS if self.measured else {})

    def step(self):
        super().step()
        self.datacollector.collect(self)


class Unmeasured(Collected):
    measured = False


def scalars(model):
    frame = model.datacollector.get_model_vars_dataframe()
    return frame.drop(columns=["impressions", "layers"]).round(12)


def test_a_data_collector_takes_them_and_they_leave_no_trace(tmp_path):
    files = [tmp_path / "without.sqlite", tmp_path / "with.sqlite"]
    for file, kind in zip(files, (Unmeasured, Collected)):
        town = play(kind(str(file)), 6)
    # What was collected is recorded, too, and numbered with the rest.
    assert_equal(*(tables(file, ignore=("seq",)) for file in files))
    found = scalars(town)
    assert len(found) == 6
    assert found["size"].iloc[-1] > 0
    assert found["calls"].is_monotonic_increasing
    matrix = town.datacollector.model_vars["impressions"][-1]
    assert matrix.notna().to_numpy().any()


def test_a_resumed_run_goes_on_with_the_same_values(tmp_path):
    file = str(tmp_path / "run.sqlite")
    whole = lived(Collected(str(tmp_path / "whole.sqlite")), 6)
    play(Collected(file), 4)
    again = lived(resume(Collected, file, file=file), 2)
    expected = scalars(whole).iloc[4:].reset_index(drop=True)
    pd.testing.assert_frame_equal(scalars(again), expected)
    table = whole.datacollector.model_vars["layers"][-1]
    pd.testing.assert_frame_equal(again.datacollector.model_vars["layers"][-1], table)


def test_wrong_arguments_are_refused():
    cases = [
        (lambda: metrics.holders(3), "fact must be a text or a function"),
        (lambda: metrics.holders("?!"), "must have words"),
        (lambda: metrics.impressions(Place(ShortTermMemory), "mood"), "'sentiment' or"),
    ]
    for make, said in cases:
        with pytest.raises((TypeError, ValueError), match=said):
            make()
