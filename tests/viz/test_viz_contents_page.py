"""Requests, and what memories made of an inn's talk, in the browser."""

import csv
from pathlib import Path
from urllib.parse import quote

import pytest

from mesa_memory.viz.widgets import table
from tests.support.browser import Window
from tests.support.dashboards import dashboard
from tests.support.playing import play
from tests.support.recorded import HOSTILE
from tests.support.recorded_talk import Inn

pytestmark = pytest.mark.slow
STEPS = 9
HARM = "img[src=x], a[href^=javascript]"
#: views of a memory: agent, view, and a heading
PAGES = [
    (1, "conversations", "Threads of agent 1"),
    (2, "facts", "Facts known to agent 2"),
    (3, "chapters", "Life of agent 3"),
]


@pytest.fixture(scope="module")
def address(tmp_path_factory):
    """A server with three inns; in the last one a guest says what should harm a page."""
    folder = tmp_path_factory.mktemp("contents")
    kinds = {"plain": {}, "quiet": {"quiet": 3}, "hostile": {"words": HOSTILE}}
    files = {name: str(folder / f"{name}.sqlite") for name in kinds}
    for name, file in files.items():
        play(Inn(record=file, **kinds[name]), STEPS)
    with dashboard(*files.values()) as base:
        yield base


@pytest.fixture(scope="module")
def window(chromium, address):
    with Window(chromium, address) as opened:
        yield opened


def section(window, title):
    return window.page.locator(".mm-section", has_text=title)


def downloaded(window, within):
    """Name and rows of a table's file."""
    with window.page.expect_download() as given:
        within.get_by_role("button", name="CSV").last.click()
    with Path(given.value.path()).open(encoding="utf-8-sig", newline="") as file:
        return given.value.suggested_filename, list(csv.DictReader(file))


def test_large_numbers_of_a_table_have_separators_unless_they_are_steps(chromium):
    file = Path(table.__file__).with_suffix(".vue").read_text(encoding="utf-8")
    script = file.partition("<script>")[2].partition("</script>")[0]
    shown = """([script, values]) => { const module = {}; eval(script);
      return values.map(([value, time]) => module.exports.methods.shown(value, { time })); }"""
    told = {
        (1234, False): "1,234", (-1234567, False): "-1,234,567", (1234, True): "1234",
        (0.000123456, False): "0.0001235", (12345.6, False): "12,350", (999, False): "999",
        ("1234", False): "1234", (None, False): "", (True, False): "true",
    }  # fmt: skip
    page = chromium.new_page()
    assert page.evaluate(shown, [script, [list(each) for each in told]]) == [
        *told.values()
    ]
    page.close()
    times = [
        h for h in ("first step", "since", "known until") if h.endswith(table.TIMES)
    ]
    assert len(times) == 3 and not "agents at step 4".endswith(table.TIMES)


def test_a_request_is_read_by_keyboard_with_its_parts(window):
    window.open("?view=requests&agent=5&step=5", see=".mm-prompt")
    rows = section(window, "Requests of agent 5, step 5").locator("tbody tr")
    assert rows.count() >= 1
    rows.first.locator("button.mm-open").focus()
    window.page.keyboard.press("Enter")
    window.until(lambda: "request=" in window.query())
    assert section(window, "Context window").count() == 1
    assert "Summary so far" in window.text(".mm-prompt >> nth=1")
    name, parts = downloaded(window, section(window, "Context window"))
    assert name.endswith("-parts.csv")
    assert sum(float(part["share"]) for part in parts) == pytest.approx(1, abs=0.01)


def test_a_thread_is_read_with_what_became_of_each_line(window):
    window.open("?view=conversations&agent=1", see=".mm-passage")
    threads = section(window, "Threads of agent 1").locator("tbody tr")
    threads.nth(2).locator("button.mm-open").focus()
    window.page.keyboard.press("Enter")
    window.shows(thread=5)
    assert "thread=5" in window.query()
    told = "\n".join(window.page.locator(".mm-passage").all_inner_texts())
    assert "Agent 1: summarised since step" in told
    assert "Agent 1 remembers: step 4" in told
    own = window.page.locator(".mm-passage-own")
    assert "The key is under the mat." in own.first.inner_text()
    own.first.locator("button").first.focus()
    window.page.keyboard.press("Enter")
    window.until(lambda: "Evidence of 1/conversation/conversation/" in window.text())


def test_facts_show_their_history_and_dispute(window):
    window.open("?view=facts&agent=2&step=5", see=".mm-table")
    known = section(window, "Facts known to agent 2")
    assert "the tower" in known.inner_text()
    assert "the memory keeps them all" in window.text()
    history = section(window, "over time")
    assert "superseded by the inn" in history.inner_text()
    _, rows = downloaded(window, history)
    assert [row["value"] for row in rows] == ["the mill", "the inn", "the tower"]


def test_chapters_are_read_and_lead_to_where_they_begin(window):
    window.open("?view=chapters&agent=3", see=".mm-passage")
    assert "Chapter 2, steps 5 to 8" in window.text(".mm-passages")
    window.page.get_by_role("button", name="go to its first step").nth(1).click()
    window.shows(view="agent", step=5)
    assert "view=agent" in window.query() and "step=5" in window.query()


@pytest.mark.parametrize(
    ("run", "view", "button", "then"),
    [
        (0, "requests&agent=1&step=9", "Go to step", "Context window"),
        (0, "facts&agent=1", "Show agent 2", "Facts known to agent 2"),
        (1, "facts&agent=2&step=1", "Go to step", "Facts known to agent 2"),
        (1, "chapters&agent=3&step=1", "Go to step", "The story so far"),
    ],
)
def test_where_there_is_nothing_a_button_leads_to_where_something_is(
    window, run, view, button, then
):
    chosen = quote(nth_run(window.open(see=".mm-bar"), run))
    window.open(f"?run={chosen}&view={view}", see=f"text={button}")
    window.page.get_by_role("button", name=button).click()
    window.until(lambda: window.page.get_by_role("button", name=button).count() == 0)
    assert then in window.text()


def test_hostile_words_stay_inert(chromium, address):
    with Window(chromium, address) as window:
        window.open(see=".mm-bar")
        second = quote(nth_run(window, 2))
        for agent, page, title in PAGES:
            window.open(f"?run={second}&view={page}&agent={agent}")
            window.shows(view=page, agent=agent)
            assert title in window.text()
            if page != "facts":
                assert HOSTILE[:20] in window.text(".mm-page")
            assert not window.page.query_selector(HARM)


def nth_run(window, place):
    """What stands for a run in the address."""
    runs = window.page.get_by_label("Run", exact=True).locator("option")
    return runs.nth(place).evaluate("one => one.value")
