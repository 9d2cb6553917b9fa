"""The buttons of a live page, pressed at any time."""

import threading

import mesa
import pytest
import solara
from ipyvuetify import Alert, Btn

from mesa_memory import Services, ShortTermMemory, configure
from mesa_memory.viz.live.controls import Controls
from mesa_memory.viz.live.page_runs import PageRuns, use_current
from mesa_memory.viz.selection import Choice, Selection
from tests.support.waiting import HUNG, until


class Town(mesa.Model):
    """One agent that sees rain; it may end, or fail, at a step."""

    def __init__(self, rng=1, ends=None, fails=None):
        super().__init__(rng=rng)
        self.ends, self.fails = ends, fails
        configure(self, llm="offline", record=True)
        agent = mesa.Agent(self)
        agent.memory = ShortTermMemory(agent)

    def step(self):
        if self.steps == self.fails:
            raise RuntimeError("the bridge broke")
        for agent in self.agents:
            agent.memory.add_to_memory("observation", {"seen": "rain"})
        self.running = self.steps != self.ends


class Shown:
    """A live page's controls, with the runs of some models."""

    def __init__(self, *models, repeat=False):
        self.page = PageRuns.of(models[0])
        for model in models[1:]:
            self.page.show(model)
        self.keys = [feed.key for feed in self.page.feeds]
        self.selection = Selection(solara.Reactive(Choice(run=self.keys[0])))
        self.slow, self.begun = solara.Reactive(0), threading.Event()
        self.drawn = threading.Event()

        @solara.component
        def Page():
            current = use_current(self.page, self.selection)
            if self.slow.value:
                self.begun.set()
                self.drawn.wait(HUNG)
            Controls(self.page, current, {"rng": 1}, self.selection, 1, repeat)

        _, self.context = solara.render(Page(), handle_error=False)

    def choose(self, number):
        self.selection.choose(run=self.keys[number])

    def button(self, label):
        return self.context.find(Btn, children=[label]).widget

    def has(self, label):
        return bool(self.context.find(Btn, children=[label]).widgets)

    def press(self, label):
        self.button(label).click()

    def close(self):
        self.drawn.set()
        self.context.close()
        for feed in self.page.feeds:
            Services.of(feed.model).recorder.close()


@pytest.fixture
def show():
    found = []

    def shown(*models, **given):
        found.append(Shown(*models, **given))
        return found[-1]

    yield shown
    for one in found:
        one.close()


def test_a_press_is_for_the_run_chosen_last_also_while_the_page_is_being_drawn(show):
    first, second = Town(), Town()
    shown = show(first, second)
    drawing = threading.Thread(target=lambda: shown.slow.set(1))
    drawing.start()
    assert shown.begun.wait(HUNG)
    shown.choose(1)
    shown.press("Step")
    shown.drawn.set()
    drawing.join()
    assert (first.steps, second.steps) == (0, 1)


def test_what_plays_rests_when_another_run_is_chosen_and_does_not_go_on_by_itself(show):
    first, second = Town(), Town()
    shown = show(first, second)
    shown.press("▶")
    until(lambda: first.steps > 2)
    assert shown.has("❚❚")
    shown.choose(1)
    until(lambda: shown.has("▶"))
    shown.choose(0)
    until(lambda: shown.has("▶"))
    made = first.steps
    shown.press("Step")
    assert made < first.steps <= made + 2  # one may still have been under way
    assert second.steps == 0


def test_a_play_ends_with_its_model_and_another_run_can_go_on(show):
    first, second = Town(ends=3), Town()
    shown = show(first, second)
    shown.press("▶")
    # The last step is made a moment before the button says so.
    until(lambda: shown.has("▶") and shown.button("▶").disabled)
    assert first.steps == 3
    shown.choose(1)
    until(lambda: not shown.button("Step").disabled)
    shown.press("Step")
    assert second.steps == 1


@pytest.mark.parametrize("label", ["Step", "▶"])
def test_a_model_that_fails_says_so_on_the_page_until_it_goes_on(show, label):
    town = Town(fails=1)
    shown = show(town)

    def said():
        notes = shown.context.find(Alert).widgets
        return [note.children[0] for note in notes]

    shown.press(label)
    until(lambda: said() == ["RuntimeError: the bridge broke"])
    until(lambda: not shown.button("Step").disabled)
    shown.press("Step")
    until(lambda: said() == [])
    assert town.steps == 2


def test_reset_plays_the_new_model_until_it_is_as_old_as_the_one_before(show):
    town = Town()
    shown = show(town, repeat=True)
    for _ in range(3):
        shown.press("Step")
    shown.press("Reset")
    assert shown.selection.choice.run == shown.page.feeds[1].key
    until(lambda: shown.page.newest.steps == 3 and shown.has("▶"))
    assert (len(shown.page.feeds), town.steps) == (2, 3)
    shown.press("Step")
    assert shown.page.newest.steps == 4
