"""Who calls the dashboard in a wrong way is told so, before any page is drawn."""

import mesa
import pytest

from mesa_memory import ShortTermMemory, configure
from mesa_memory.viz import MemoryViz, make_memory_component
from tests.support.single import settle


class Town(mesa.Model):
    def __init__(self, agents=1, record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record)
        settle(self, ShortTermMemory, agents)

    def step(self):
        """Nothing happens."""


NO_MODEL = r"shows a Mesa model, as Town\(\) makes one, got .*MemoryViz\(model\)"


@pytest.mark.parametrize("wrong", [None, Town])
def test_what_is_no_model_is_refused(wrong):
    with pytest.raises(TypeError, match=NO_MODEL):
        MemoryViz(wrong)


@pytest.mark.parametrize(
    "call", [lambda **k: MemoryViz(Town(rng=1), **k), make_memory_component]
)
def test_an_unknown_argument_is_refused_by_name(call):
    with pytest.raises(TypeError, match="colour"):
        call(colour="red")


def test_a_page_that_is_no_number_is_refused():
    with pytest.raises(TypeError, match="number of a tab"):
        make_memory_component("1")
    with pytest.raises(TypeError, match="the model is given by SolaraViz"):
        make_memory_component(Town(rng=1))
