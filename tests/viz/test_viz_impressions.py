"""Who thinks what of whom at a step, and how it came to that."""

import pytest

from mesa_memory.runs import open_run
from mesa_memory.stores import open_store
from mesa_memory.viz.views import impressions as charts
from mesa_memory.viz.views import impressions as data
from tests.support.recorded import Minds, Story


@pytest.fixture(scope="module")
def minds(tmp_path_factory):
    """What two agents think of each other."""
    store = open_store(str(tmp_path_factory.mktemp("minds") / "run.sqlite"))
    Story(store)  # another run, in which nobody has a sentiment
    number = Minds(store).run
    with open_run(store, number) as run:
        yield data.opinions(run)
    store.close()


def told(opinions):
    return [(o["agent"], o["subject"], o["sentiment"], data.sign(o)) for o in opinions]


def test_each_step_has_the_impressions_of_its_time(minds):
    assert told(minds.at(1)) == [(7, "b", 0.5, "+"), ("b", 7, -0.2, "−")]
    assert told(minds.at(3)) == told(minds.at(1))
    assert told(minds.at(4)) == [(7, "b", 0.0, "0"), ("b", 7, 0.8, "+")]
    assert told(minds.at(8)) == [(7, "b", -0.75, "−"), ("b", 7, None, "?")]
    assert minds.at(0.5) == []


def test_a_pair_has_a_history(minds):
    assert [
        (o["valid_from"], o["valid_to"], o["closed_because"])
        for o in minds.pair("b", 7)
    ] == [(1, 4, "superseded"), (4, 7, "superseded"), (7, None, None)]
    steps = [float(n) for n in range(9)]
    there = minds.pair(7, "b")
    felt = data.line(there, steps, "sentiment")
    assert felt == [None, 0.5, 0.5, 0.5, 0.0, 0.0, 0.0, -0.75, -0.75]
    familiar = data.line(there, steps, "familiarity")
    assert familiar[1] == pytest.approx(0.1)
    assert familiar[8] == pytest.approx(0.7)
    assert (minds.of(7), minds.of("b"), minds.of(1)) == (["b"], [7], [])


def test_a_cell_of_the_matrix_is_observer_by_subject(minds):
    option = charts.matrix(minds, minds.at(4), (7, "b"))
    values = [cell["value"] for cell in option["series"][0]["data"]]
    assert option["yAxis"]["data"] == option["xAxis"]["data"] == ["7", "b"]
    assert values == [[1, 0, 0.0], [0, 1, 0.8]]  # across: whom it is about
