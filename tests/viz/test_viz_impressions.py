"""Who thinks what of whom at a step, and how it came to that."""

import math
from itertools import combinations

import pytest

from mesa_memory import Services
from mesa_memory.layers.impressions import Impressions
from mesa_memory.runs import open_run
from mesa_memory.stores import open_store
from mesa_memory.viz.data.contents import impressions as data
from mesa_memory.viz.views.contents import impression_charts as charts
from tests.support.postgres import postgres  # noqa: F401 - a fixture
from tests.support.recorded import Story
from tests.support.recorded_minds import Minds
from tests.support.recorded_town import RecordedTown


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def place(request, tmp_path_factory):
    """Where a store may be."""
    if request.param == "sqlite":
        return str(tmp_path_factory.mktemp("minds") / "run.sqlite")
    return request.getfixturevalue("postgres").database()


@pytest.fixture(scope="module")
def minds(place):
    """What two agents think of each other."""
    store = open_store(place)
    Story(store)  # another run, in which nobody has a sentiment
    number = Minds(store).run
    with open_run(store, number) as run:
        yield data.opinions(run)
    store.close()


def told(opinions):
    return [(o.observer, o.subject, o.sentiment, o.sign) for o in opinions]


def test_each_step_has_the_impressions_of_its_time(minds):
    assert told(minds.at(1)) == [(7, "b", 0.5, "+"), ("b", 7, -0.2, "−")]
    assert told(minds.at(3)) == told(minds.at(1))
    assert told(minds.at(4)) == [(7, "b", 0.0, "0"), ("b", 7, 0.8, "+")]
    assert told(minds.at(8)) == [(7, "b", -0.75, "−"), ("b", 7, None, "?")]
    assert minds.at(0.5) == []


def test_a_pair_has_a_history(minds):
    assert [(o.since, o.until, o.ended) for o in minds.pair("b", 7)] == [
        (1, 4, "superseded"),
        (4, 7, "superseded"),
        (7, None, None),
    ]
    steps = [float(n) for n in range(9)]
    there = minds.pair(7, "b")
    felt = data.line(there, steps, "sentiment")
    assert felt == [None, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, -0.75, -0.75]
    familiar = data.line(there, steps, "familiarity")
    assert familiar[1] == pytest.approx(0.1)
    assert familiar[8] == pytest.approx(0.7)
    assert (minds.of(7), minds.of("b"), minds.of(1)) == (["b"], [7], [])


def test_a_town_has_the_impressions_that_its_memories_have(tmp_path):
    town = RecordedTown(str(tmp_path / "run.sqlite"), n=7)
    for _ in range(8):
        town.step()
    Services.of(town).recorder.sync()
    expected = [
        (citizen.unique_id, subject, record.content["sentiment"])
        for citizen in town.citizens
        for layer in getattr(citizen.memory, "layers", ())
        if isinstance(layer, Impressions)
        for subject, record in sorted(layer.current().items())
    ]
    with open_run(str(tmp_path / "run.sqlite")) as run:
        held = data.opinions(run).at(8)
    Services.of(town).recorder.close()
    assert [(o.observer, o.subject, o.sentiment) for o in held] == expected
    assert expected


def test_a_run_without_impressions_is_no_error(tmp_path):
    store = open_store(str(tmp_path / "run.sqlite"))
    with open_run(store, Story(store).run) as run:
        found = data.opinions(run)
    store.close()
    assert (found.all, found.people, found.at(3)) == ([], [], [])


def crowd(count):
    """As many agents, each of whom thinks of the next one and of one far away."""
    found = [
        data.HeldOpinion(f"{n}/{m}", n, m, "", 0.5, n / count, 1, None, None)
        for n in range(count)
        for m in ((n + 1) % count, n * n % count)
        if m != n
    ]
    return data.Opinions(found, range(count))


@pytest.mark.parametrize("count", [3, 60])
def test_agents_stand_at_the_same_place_each_time(count):
    one, other = crowd(count), crowd(count)
    assert one.places == other.places
    assert len(set(one.places.values())) == count


def test_of_many_the_arrows_of_the_chosen_agent_come_first():
    crowded = crowd(60)
    drawn = data.strongest(crowded.at(1), 50, 4)
    own = [o for o in crowded.at(1) if 4 in (o.observer, o.subject)]
    assert len(drawn) == 50
    assert [o for o in drawn if 4 in (o.observer, o.subject)] == drawn[: len(own)]
    rest = [o.familiarity for o in drawn[len(own) :]]
    assert rest == sorted(rest, reverse=True)


def test_around_an_agent_stand_those_it_thinks_of_far_from_each_other():
    crowded = crowd(30)
    own = [o for o in crowded.at(1) if 4 in (o.observer, o.subject)]
    places = data.around(own, 4, crowded.people)
    named = {one for o in own for one in (o.observer, o.subject)}
    assert set(places) == named
    assert places.pop(4) == (0, 0)
    assert min(map(math.dist, *zip(*combinations(places.values(), 2)))) > 0.5
    assert list(places) == sorted(places)


def test_names_of_thirty_agents_stand_outside_their_circle():
    crowded = crowd(30)
    option = charts.graph(crowded.places, crowded.at(1), (3, 4))
    nodes = option["series"][0]["nodes"]
    assert all(node["label"]["show"] for node in nodes)
    outside = {(1, 0): "right", (-1, 0): "left", (0, 1): "bottom", (0, -1): "top"}
    for (x, y), side in outside.items():
        node = max(nodes, key=lambda one: x * one["x"] + y * one["y"])
        assert node["label"]["position"] == side
    few = charts.graph(crowd(5).places, crowd(5).at(1), (3, 4))["series"][0]
    assert few["label"]["show"] and "position" not in few["label"]


def test_arrows_say_by_dash_sign_and_width_what_their_colour_says(minds):
    held = minds.at(8)
    (series,) = charts.graph(minds.places, held, (7, "b"))["series"]
    assert [node["name"] for node in series["nodes"]] == ["7", "b"]
    hostile, unknown = series["links"]
    assert hostile["label"]["formatter"] == "−"
    assert hostile["lineStyle"]["type"] == "dashed"
    assert unknown["label"]["formatter"] == "?"
    assert unknown["lineStyle"]["color"] == charts.NEITHER
    assert hostile["lineStyle"]["width"] == pytest.approx(1 + 5 * 0.7)
    (series,) = charts.graph(minds.places, minds.at(1), (7, "b"))["series"]
    first = series["links"][0]
    assert first["lineStyle"]["width"] < hostile["lineStyle"]["width"]


def test_a_cell_of_the_matrix_is_observer_by_subject(minds):
    option = charts.matrix(minds, minds.at(4), (7, "b"))
    values = [cell["value"] for cell in option["series"][0]["data"]]
    assert option["yAxis"]["data"] == option["xAxis"]["data"] == ["7", "b"]
    assert values == [[1, 0, 0.0], [0, 1, 0.8]]  # across: whom it is about


def test_colours_go_from_hostile_over_neither_to_friendly():
    assert charts.colour(-1.0) == charts.HOSTILE
    assert charts.colour(0.0) == charts.colour(None) == charts.NEITHER
    assert charts.colour(1.0) == charts.FRIENDLY
