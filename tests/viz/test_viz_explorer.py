"""The dashboard of recorded runs, in a browser."""

from urllib.parse import urlencode

import pytest

from mesa_memory import Services
from mesa_memory.stores import open_store
from tests.support.browser import Window, run_key
from tests.support.dashboards import dashboard
from tests.support.recorded import Story
from tests.support.recorded_town import RecordedTown

pytestmark = pytest.mark.slow

STEPS = 8
OPEN_MENU = ".menuable__content__active"
ATTACK = "<img src=x onerror=alert(1)>{{constructor.constructor('alert(2)')()}}"


@pytest.fixture(scope="module")
def going(tmp_path_factory):
    """A town whose run is being written by this process, not by the server's."""
    file = str(tmp_path_factory.mktemp("going") / "run.sqlite")
    town = RecordedTown(file, n=3)
    town.step()
    Services.of(town).recorder.sync()
    yield town, file
    Services.of(town).recorder.close()


def chosen(window):
    """The address without the run, which is named as there are several."""
    parts = window.query().split("&")
    return "&".join(part for part in parts if not part.startswith("run="))


def evil(row):
    """Makes an attack of all that a row says, without breaking its references."""
    for name in ("layer", "section", "purpose", "model", "query", "finish"):
        if row.get(name) is not None:
            row[name] = ATTACK
    for name in ("agent", "subject"):
        if row.get(name) == "b":
            row[name] = ATTACK
    if "id" in row:
        row["id"], row["sources"] = row["id"] + ATTACK, hostile_ids(row["sources"])
    if row.get("kind") not in (None, "impression"):
        row["kind"] = ATTACK
    if "text" in row:
        row["text"] = f"{row['text']} {ATTACK}"
    if "content" in row:
        row["content"] = {"text": row["text"], ATTACK: 1, "sentiment": 0.5}
    if isinstance(row.get("prompt"), list):
        row["prompt"] = [{"role": ATTACK, "content": f"{ATTACK}:\n{ATTACK}"}]
    for one in row.get("candidates", ()):
        one["id"] += ATTACK


def hostile_ids(names):
    return [name + ATTACK for name in names]


@pytest.fixture(scope="module")
def hostile(tmp_path_factory):
    """A file in which every name and text is an attack."""
    file = str(tmp_path_factory.mktemp("hostile") / "run.sqlite")
    store = open_store(file)

    def edit(step, batch):
        for rows in (batch.opened, batch.prompts, batch.calls, batch.recalls):
            for row in rows:
                evil(row)
        batch.closed[:] = [
            (name + ATTACK, at, ATTACK if reason == "deleted" else reason,
             by and by + ATTACK)
            for name, at, reason, by in batch.closed
        ]  # fmt: skip
        for row in batch.agents:
            evil(row)
            row["class"] = row["memory"] = ATTACK
            row["unique_id"] = ATTACK if row["agent"] == ATTACK else row["unique_id"]

    Story(store, edit=edit, name=ATTACK, model=ATTACK)
    store.close()
    return file


@pytest.fixture(scope="module")
def address(town_file, going, hostile):
    """A server with a small run, one that goes on, and a hostile one."""
    with dashboard(town_file, going[1], hostile) as base:
        assert base.startswith("http://127.0.0.1:")
        yield base


def test_the_slider_goes_back_and_shows_the_past(chromium, address):
    with Window(chromium, address) as window:
        window.open("?view=agent&agent=2", see="text=Agent 2, step 8")
        window.page.get_by_label("Step back").click()
        window.until(lambda: "Agent 2, step 7" in window.text())
        window.page.keyboard.press("ArrowLeft")
        window.shows(view="agent", agent=2, step=6)
        assert "Agent 2, step 6" in window.text()
        assert chosen(window) == "view=agent&step=6&agent=2"
        assert "On day 6 I sold 6 fish." in window.text()
        assert "On day 7 I sold 0 fish." not in window.text()


def test_a_click_into_the_heat_map_selects_agent_and_step(chromium, address):
    with Window(chromium, address) as window:
        window.open("?view=population", see=".mm-heat-canvas")
        box = window.page.locator(".mm-heat-canvas").bounding_box()
        across, down = box["width"] * 2.5 / STEPS, box["height"] * 4.5 / 7
        window.page.mouse.click(box["x"] + across, box["y"] + down)
        window.shows(view="population", step=3, agent=5)
        assert window.step() == "3"
        assert chosen(window) == "view=population&step=3&agent=5"


def test_the_back_button_takes_a_choice_back(chromium, address):
    with Window(chromium, address) as window:
        window.open()
        window.page.get_by_role("tab", name="Agent", exact=True).click()
        window.shows(view="agent")
        assert "Agent 1, step 8" in window.text()
        assert chosen(window) == "view=agent"
        window.page.go_back()
        window.shows(view="story")
        assert "Said and did" in window.text()
        assert chosen(window) == ""


def test_a_run_that_is_being_written_shows_its_new_steps(chromium, address, going):
    town, place = going
    with Window(chromium, address) as window:
        window.open(f"?run={run_key(place)}&view=agent&agent=2")
        window.shows(agent=2, step=1)
        assert "Agent 2, step 1" in window.text()
        town.step()
        window.shows(agent=2, step=2)
        assert "Agent 2, step 2" in window.text()
        assert "On day 2 I sold" in window.text()
        window.page.get_by_label("Step back").click()
        window.shows(agent=2, step=1)
        assert "Agent 2, step 1" in window.text()
        town.step()
        window.until(lambda: "of 3" in window.text(".mm-step"))
        assert window.step() == "1"
        assert "On day 2 I sold" not in window.text()


#: stands for the hostile run itself
SAME = object()
#: view -> the rest of its address, where something hostile has to be read
HOSTILE_PLACES = {
    "story": (".mm-section", {}),
    "population": (".mm-page", {}),
    "agent": (".mm-section", {}),
    "recall": (".mm-section", {"step": 3}),
    "evidence": (".mm-tree", {}),
    "conversations": (".mm-page", {}),  # says that there are none
    "requests": (".mm-prompt", {"step": 3}),
    "impressions": (".mm-section", {}),
    "spread": (".mm-section", {"text": ATTACK}),
    "cost": (".mm-table", {}),
    "compare": (".mm-section", {"other_run": SAME, "other_agent": "7"}),
}


@pytest.fixture(scope="module")
def window(chromium, address):
    """One for all views of the hostile file."""
    with Window(chromium, address) as opened:
        yield opened


@pytest.mark.parametrize("view", HOSTILE_PLACES)
def test_a_hostile_file_stays_inert(window, hostile, view):
    where, rest = HOSTILE_PLACES[view]
    rest = {
        name: run_key(hostile) if value is SAME else value
        for name, value in rest.items()
    }
    chosen = {"run": run_key(hostile), "view": view, "agent": ATTACK, **rest}
    window.open("?" + urlencode(chosen), see=where)
    window.shows(run=chosen["run"], view=view)
    if view == "population":
        runs = window.page.get_by_label("Run", exact=True)
        assert ATTACK in "".join(runs.locator("option").all_inner_texts())
        window.page.locator(".mm-bar .v-select__slot").click()  # the agents
        window.until(lambda: window.page.query_selector(OPEN_MENU))
        assert ATTACK in window.text(OPEN_MENU)
        window.page.keyboard.press("Escape")
        window.until(lambda: not window.page.query_selector(OPEN_MENU))
    read = window.page.locator(where)
    for chart in window.page.locator(".mm-chart").all():
        chart.locator("canvas").first.hover()  # what it says there is markup
    window.until(lambda: ATTACK in "".join(read.all_inner_texts()))
    assert not window.page.query_selector("img[src=x], a[href^=javascript]")
    assert not window.faults
