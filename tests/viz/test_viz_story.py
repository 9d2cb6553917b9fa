"""What the Story view shows, without a browser."""

import re
from types import SimpleNamespace
from typing import Any

import mesa
import networkx as nx
import numpy as np
import pytest
from mesa.discrete_space import (
    CellAgent,
    HexGrid,
    Network,
    OrthogonalMooreGrid,
    VoronoiGrid,
)
from mesa.experimental.continuous_space import ContinuousSpace, ContinuousSpaceAgent
from mesa.space import ContinuousSpace as OldContinuousSpace
from mesa.space import MultiGrid, NetworkGrid

from mesa_memory import Services, ShortTermMemory, configure, fork, open_run, resume
from mesa_memory.examples.rumor.hearsay import BELIEFS
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.examples.rumor.page import portrayal
from mesa_memory.runs.past import past
from mesa_memory.stores import open_store
from mesa_memory.viz.data import colouring, frames
from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.data.recall import FIRST_CANDIDATES
from mesa_memory.viz.data.said import said
from mesa_memory.viz.data.scene import circle, scene
from mesa_memory.viz.report import write_report
from mesa_memory.viz.report.payload import as_json
from mesa_memory.viz.serving.live_run import LiveRun
from mesa_memory.viz.views import person
from mesa_memory.viz.views.cost import written
from mesa_memory.viz.views.focus import Focus
from mesa_memory.viz.widgets.chart import COLOURS, SYMBOLS
from mesa_memory.viz.widgets.stage import NEUTRAL
from tests.support.playing import lived, play, reading
from tests.support.recorded import Story
from tests.support.stored import everything

DAYS = 12


KINDS = (
    "moore", "hex", "network", "network without a layout", "voronoi", "continuous",
    "old grid", "old network", "old continuous",
)  # fmt: skip
EXPECTED = {"voronoi": "points", "moore": "grid", "hex": "grid", "old grid": "grid"}
SIZE, COUNT = 9, 5
WORDS = "The harbour is open."


class Floater(ContinuousSpaceAgent):
    """Lives in a continuous space of Mesa's experimental kind."""


class Walk(mesa.Model):
    """Agents that are somewhere else in each step, and remember that it rained."""

    def __init__(self, kind: str) -> None:
        super().__init__(rng=1)
        configure(self, llm="offline", record=True, outcomes=("mood",))
        self.kind = kind
        self.expected = EXPECTED.get(kind, kind.removeprefix("old ").split()[0])
        self.world = self._world()
        for _ in range(COUNT):
            agent = self._agent()
            agent.memory = ShortTermMemory(agent)
            self._move(agent, 0)

    def step(self) -> None:
        """Everybody walks, and those with a memory get wet."""
        for agent in self.agents:
            self._move(agent, self.steps)
            agent.mood = "wet" if hasattr(agent, "memory") else None
            if agent.mood:
                agent.memory.add_to_memory("observation", {"seen": "rain"})

    def place(self, agent: Any) -> Any:
        """Where an agent is, by Mesa's own words."""
        if "network" in self.kind:
            node = agent.pos if "old" in self.kind else agent.cell.coordinate
            if self.kind == "network":
                return agent.cell.position
            turn = 2 * np.pi * node / SIZE
            return np.cos(turn), np.sin(turn)
        if hasattr(agent, "cell"):
            return agent.cell.position
        return agent.pos if "old" in self.kind else agent.position

    def _world(self) -> Any:
        graph, random = nx.cycle_graph(SIZE), self.random
        made = {
            "moore": lambda: OrthogonalMooreGrid((SIZE, SIZE), random=random),
            "hex": lambda: HexGrid((SIZE + 1, SIZE + 1), random=random),
            "network": lambda: Network(graph, random=random, layout=nx.circular_layout),
            "network without a layout": lambda: Network(graph, random=random, layout=None),
            "voronoi": lambda: VoronoiGrid(
                [[n, n * n % 7] for n in range(SIZE)], random=random
            ),
            "continuous": lambda: ContinuousSpace([[0, SIZE], [0, SIZE]], random=random),
            "old grid": lambda: MultiGrid(SIZE, SIZE, torus=True),
            "old network": lambda: NetworkGrid(graph),
            "old continuous": lambda: OldContinuousSpace(SIZE, SIZE, torus=False),
        }  # fmt: skip
        return made[self.kind]()

    def _agent(self) -> Any:
        if self.kind == "continuous":
            return Floater(self.world, self)
        return mesa.Agent(self) if "old" in self.kind else CellAgent(self)

    def _move(self, agent: Any, step: int) -> None:
        number = (agent.unique_id * 2 + step) % SIZE
        if self.kind == "continuous":
            agent.position = (number + 0.25, SIZE - number - 0.5)
        elif self.kind == "old continuous":
            self._put(agent, (number + 0.25, SIZE - number - 0.5))
        elif "old" in self.kind:
            to = number if "network" in self.kind else (number, SIZE - 1 - number)
            self._put(agent, to)
        else:
            cells = list(self.world.all_cells)
            agent.cell = cells[number * 3 % len(cells)]

    def _put(self, agent: Any, to: Any) -> None:
        new = agent.pos is None
        (self.world.place_agent if new else self.world.move_agent)(agent, to)


@pytest.fixture(scope="module")
def town(tmp_path_factory):
    """A town, what it believed on each day, and who told whom what."""
    file = str(tmp_path_factory.mktemp("story") / "run.sqlite")
    town, believed, told = RumorModel(8, correction_step=4, rng=3, record=file), [], []
    words: dict = {}

    def hear(sender, text, recipients):
        words[sender.unique_id, recipients[0].unique_id] = text
        type(sender).send_message(sender, text, recipients)

    for one in town.agents:
        one.send_message = lambda text, to, one=one: hear(one, text, to)
    for _ in range(DAYS):
        words.clear()
        town.step()
        told.append(dict(words))
        believed.append({a.unique_id: a.belief for a in town.agents})
    Services.of(town).recorder.close()
    with open_run(file) as run:
        yield town, run, believed, told


def test_messages_are_those_that_were_said(town):
    _, run, _, told = town
    found = said(run, 0, DAYS)
    for messages, words in zip(found, told, strict=True):
        assert {(m.sender, m.recipient): m.text for m in messages} == words
    assert said(run, 3, 2) == found[3:5]
    assert said(run, DAYS - 1, 20) == found[-1:]
    assert said(run, DAYS, 20) == []
    (first, *_) = found[0]
    assert run.history(first.record, as_records=True)[0]["agent"] == first.recipient


def test_what_nobody_of_the_run_said_or_heard_is_no_arrow(tmp_path):
    store = open_store(tmp_path / "run.sqlite")

    def edit(step, batch):
        for row in batch.opened:
            if row["kind"] == "message" and step == 2:
                row["content"] = {"message": "Boo", "sender": "a ghost"}
            if row["kind"] == "message" and step == 3:
                row["content"] = {"text": "a bare text"}

    Story(store, steps=4, edit=edit)
    store.close()
    with open_run(str(tmp_path / "run.sqlite")) as run:
        found = said(run, 0, 4)
    assert [len(messages) for messages in found] == [2, 0, 0, 2]
    assert {(m.sender, m.recipient) for m in found[0]} == {(7, "b"), ("b", 7)}


def test_people_have_the_colour_of_what_they_believed(town):
    _, run, believed, _ = town
    usual, *others = colouring.colour_keys(scene(run))
    assert usual == "outcome:belief" and others[0] == "memory:events"
    found = colouring.coloured(usual, scene(run), lambda: activity(run))
    assert set(found.classes) == set(BELIEFS.values())
    for place, of_day in enumerate(believed):
        for row, agent in enumerate(found.agents):
            value = found.values[row, place]
            name = None if np.isnan(value) else found.classes[int(value)]
            assert name == of_day[agent]
    collected = scene(run).collected
    stories = {words: story for story, words in BELIEFS.items()}
    for name, counts in found.curves():
        assert counts.tolist() == collected[f"believes_{stories[name]}"].tolist()


def test_agents_are_where_they_were_in_every_space_of_mesas():
    for kind in KINDS:
        model, where = Walk(kind), []
        for _ in range(4):
            model.step()
            where.append([np.array(model.place(agent)) for agent in model.agents])
        with reading(model) as run:
            found = scene(run)
        for place, of_step in enumerate(where):
            assert np.allclose(found.places[:, place], of_step, atol=1e-5)
        assert found.moving
        assert found.space(3)["kind"] == model.expected
        low, high = found.places.min(axis=(0, 1)), found.places.max(axis=(0, 1))
        left, bottom, right, top = frames.box(found, 3)
        assert left <= low[0] <= high[0] <= right
        assert bottom <= low[1] <= high[1] <= top


def test_agents_without_a_place_stand_on_a_circle(tmp_path):
    store = open_store(tmp_path / "run.sqlite")
    Story(store, steps=3)
    store.close()
    with open_run(str(tmp_path / "run.sqlite")) as run:
        found = scene(run)
        assert not found.placed
        assert found.outcomes == {}
        measured = colouring.of_measure(activity(run), "events")
        made = frames.frames(measured, found, said(run, 0, 20), 0)
    assert frames.flat(found, 0) == [round(v, 4) for v in circle(2).ravel().tolist()]
    assert [frame["place"] for frame in made] == [0, 1, 2]
    assert made[0]["spots"] is None
    assert made[1]["messages"] == [
        [1, 0, "The mill of ward 2 is on fire"],
        [0, 1, "The mill of ward 2 is on fire"],
    ]
    # A message, something seen, a fact and an impression.
    assert [frame["values"] for frame in made] == [[4, 4], [2, 2], [2, 2]]


def test_agents_without_a_memory_are_where_they_are_without_a_value():
    walk = Walk("moore")
    lived(walk, 2)
    other = CellAgent(walk)  # it comes when two steps are over
    lived(walk, 2)
    with reading(walk) as run:
        found = scene(run)
    assert found.others == ["6"]
    assert found.agents == [1, 2, 3, 4, 5, "6"]
    assert np.isnan(found.places[5, :2]).all()
    assert found.places[5, 3].tolist() == list(walk.place(other))
    coloured = colouring.of_outcome(found, "mood")
    made = frames.frames(coloured, found, [[]] * 4, 0)
    assert [frame["values"] for frame in made] == [[0, 0, 0, 0, 0, None]] * 4


def panel(run, agent, step):
    """The parts of the panel of an agent, by title without numbers."""
    selection = SimpleNamespace(choose=print)
    found = person.parts(Focus(LiveRun(run, "").source, selection, agent, step))
    return {part.title.partition(" (")[0]: part for part in found}


def test_one_agent_is_told_as_it_was_in_the_step(tmp_path):
    store = open_store(tmp_path / "run.sqlite")
    Story(store, steps=5)
    store.close()
    with open_run(str(tmp_path / "run.sqlite")) as run:
        found = panel(run, 7, 4)
        heard = [row["text"] for row in past(run, 7).opened(3, 4)]
    assert heard[:2] == ["The mill of ward 4 is on fire", "I see field 4"]
    assert len(found["Saw and heard"].lines) == len(heard) - 1
    assert [one.text for one in found["Its memory made"].lines] == ["All until step 3"]
    gone = "No longer remembered: 2 superseded, 2 consolidated."
    assert found["Its memory made"].tail == gone
    assert [one.faint for one in found["Recalled"].lines] == [False, True]


def test_a_thought_says_why_it_came_to_mind_in_the_order_of_its_parts():
    town = lived(RumorModel(4, "episodic", rng=2, record=True), 6)
    with reading(town) as run:
        lines = panel(run, 1, 6.0)["Recalled"].lines
        rows = run.recalls(1, 6, as_records=True)
    assert len(lines) == FIRST_CANDIDATES
    best = next(row for row in rows if row["purpose"] == "prompt" and row["rank"] == 1)
    reason = lines[0].note
    assert reason.startswith("because it ")
    parts = [float(number) for number in re.findall(r"\(\w+ ([\d.]+)\)", reason)]
    assert parts == sorted(parts, reverse=True)
    assert sum(parts) == pytest.approx(best["score"], abs=0.02)


#: what an agent does with its memory in a step, and what it holds
READS = {
    "an empty memory": (lambda memory: memory.get_prompt_ready(), ""),
    "events": (lambda memory: memory.format_short_term(), "rain"),
    "a message": (lambda memory: memory.get_communication_history(), "hail"),
    "nothing is read": (lambda memory: None, "rain"),
}


@pytest.mark.parametrize("reads", READS)
def test_a_memory_was_read_if_it_was_shown_to_the_agent(reads):
    read, held = READS[reads]

    class Reader(mesa.Model):
        def __init__(self):
            super().__init__(rng=1)
            configure(self, llm="offline", record=True)
            for _ in range(2):
                agent = mesa.Agent(self)
                agent.memory = ShortTermMemory(agent)

        def step(self):
            for agent in self.agents:
                if held == "hail":
                    agent.memory.add_to_memory(
                        "message", {"message": "hail", "sender": 2}
                    )
                elif held:
                    agent.memory.add_to_memory("observation", {"sky": held})
                read(agent.memory)
                if self.steps == 2:
                    agent.memory.add_to_memory("observation", {"sky": "late"})

    model = lived(Reader(), 2)
    with reading(model) as run:
        found = panel(run, 1, 1.0)["Read"]
    read = reads != "nothing is read"
    assert found.empty == (person.READ if read else person.NOT_READ)
    assert bool(found.lines) == (read and bool(held))


@pytest.mark.parametrize("name", ["Jonas", "Agent 1", "Ζωή <b>"])
def test_the_page_and_the_report_name_who_spoke_and_to_whom(name, tmp_path):
    class Talkers(mesa.Model):
        def __init__(self):
            super().__init__(rng=1)
            configure(self, llm="offline", record=True)
            for called in (name, "Mina"):
                agent = mesa.Agent(self)
                agent.name, agent.memory = called, ShortTermMemory(agent)

        def step(self):
            said = {"message": "The harbour is open.", "sender": 1, "recipients": [2]}
            for agent in self.agents:
                agent.memory.add_to_memory("message", said)
                agent.memory.get_prompt_ready()

    model = lived(Talkers(), 1)
    with reading(model) as run:
        spoke, heard = f"You to Mina: {WORDS}", f"{name} to you: {WORDS}"
        for agent, line in ((1, spoke), (2, heard)):
            found = panel(run, agent, 1.0)
            events = found["Saw and heard"].lines + found["Said and did"].lines
            assert [one.text for one in events] == [line]
            assert [one.text for one in found["Read"].lines] == [line]
        found = write_report(run, tmp_path / "report.html").path
        page = found.read_text(encoding="utf-8")
        assert as_json(spoke)[1:-1] in page and as_json(heard)[1:-1] in page
        assert f"says: {WORDS}" not in page


@pytest.mark.parametrize(
    "value", [0.0064, 0.0000213, 0.98765, 12.34567, 7.0, 0.0, -0.00012]
)
def test_small_sums_keep_their_digits_in_pictures(value):
    (shown,) = frames.plain(np.array([value]))
    assert shown == pytest.approx(value, rel=0.005)
    assert frames.plain(np.array([np.nan, value / 1, 3.0])) == [None, shown, 3]
    assert len(str(shown)) <= 8
    if value > 0:
        assert float(written("cost", value).strip("$")) == pytest.approx(
            value, rel=0.05
        )


def test_the_demos_own_picture_has_the_colours_and_shapes_of_the_story():
    town = lived(RumorModel(8, "stlt", rng=1, correction_step=2, record=True), 6)
    with reading(town) as run:
        classes = colouring.of_outcome(scene(run), "belief").classes
    assert classes == tuple(BELIEFS.values())
    markers = {"circle": "o", "triangle": "^"}
    for agent in town.agents:
        drawn = portrayal(agent)
        if agent.belief is None:
            assert drawn.color == NEUTRAL
            continue
        place = classes.index(agent.belief)
        assert drawn.color == COLOURS[place]
        assert drawn.marker == markers[SYMBOLS[place]]


def test_a_town_that_was_resumed_or_forked_has_the_scenes_of_one_that_was_not(tmp_path):
    whole, halved = str(tmp_path / "whole.sqlite"), str(tmp_path / "halved.sqlite")
    for file, days in ((whole, 8), (halved, 5)):
        play(RumorModel(6, correction_step=3, rng=1, record=file), days)
    for begin in (resume, fork):
        play(begin(RumorModel, halved), 3)
    found = []
    for file, run in ((whole, 1), (halved, 1), (halved, 2)):
        store = open_store(file)
        # What it has cost is counted anew by a model that goes on.
        rows = [r for r in everything(store, run)["scenes"] if r["kind"] != "collected"]
        found.append([(r["step"], r["kind"], r["state"]) for r in rows])
        store.close()
    assert found[0] == found[1]
    # The fork is of the run when it had ended.
    assert found[2] == found[1]


def test_an_outcome_that_is_no_word_or_number_is_refused_by_name():
    town = RumorModel(3, rng=1, record=True)
    Services.of(town).outcomes = ("memory",)
    with pytest.raises(TypeError, match=r"outcomes=\('memory',\) needs .* agent 1 has"):
        town.step()
    Services.of(town).recorder.abandon()
