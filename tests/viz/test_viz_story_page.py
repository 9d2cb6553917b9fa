"""The Story view in the browser: it plays, it leads on."""

import re
from itertools import groupby

import pytest

from mesa_memory import open_run
from mesa_memory.examples.rumor.hearsay import BELIEFS
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.data.activity import activity
from mesa_memory.viz.data.opening import opening
from mesa_memory.viz.data.said import said
from mesa_memory.viz.data.scene import scene
from tests.support.browser import run_key
from tests.support.dashboards import dashboard
from tests.support.playing import play

pytestmark = pytest.mark.slow
DAYS = 14
#: what one sees of the picture
ARROWS = ".mm-stage-arrow"
PLAY = "Replay"
#: notes each day that is drawn, and who tells whom in it
WATCH = """() => {
  window.mmSeen = [];
  const look = () => {
    const day = document.querySelector(".mm-stage-step strong").innerText;
    const titles = [...document.querySelectorAll(".mm-stage-arrow title")];
    if (!mmSeen.length || mmSeen.at(-1).day !== day) mmSeen.push({ day });
    mmSeen.at(-1).told = titles.map((title) => title.textContent);
  };
  new MutationObserver(look).observe(document.querySelector(".mm-stage"),
    { subtree: true, childList: true, characterData: true, attributes: true });
  look();
}"""
#: presses a key as soon as a day is drawn, however slow everything else is
PRESS_AT = """([key, day]) => {
  const strong = document.querySelector(".mm-stage-step strong");
  const look = new MutationObserver(() => {
    if (strong.innerText !== day) return;
    look.disconnect();
    document.body.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
  });
  look.observe(document.querySelector(".mm-stage"),
    { subtree: true, childList: true, characterData: true });
}"""
#: words that lie upon an agent
COVERED = """() => {
  const boxes = (of) => [...document.querySelectorAll(of)].map((one) => one.getBoundingClientRect());
  const people = boxes(".mm-stage-dot > path");
  return boxes(".mm-stage-words rect").filter((a) => people.some((b) =>
    a.left < b.right && b.left < a.right && a.top < b.bottom && b.top < a.bottom));
}"""
#: pairs of words that touch each other, and words that are wider than their box
CROWDED = """() => {
  const words = [...document.querySelectorAll(".mm-stage-words")];
  const boxes = words.map((one) => one.querySelector("rect").getBoundingClientRect());
  const touching = boxes.flatMap((a, n) => boxes.slice(n + 1).filter((b) =>
    a.left < b.right + 3 && b.left < a.right + 3 && a.top < b.bottom + 3 && b.top < a.bottom + 3));
  const wide = words.filter((one, n) => one.querySelector("text").getBoundingClientRect().width > boxes[n].width);
  return [touching.length, wide.length];
}"""
#: the colours of the selected agent's ring, of its words' frame and of all classes
SIGNS = """() => {
  const paint = (of, name) => [...document.querySelectorAll(of)].map((one) => getComputedStyle(one)[name]);
  return [paint(".mm-stage-dot .mm-stage-ring, .mm-stage-mine", "stroke"), paint(".mm-stage-key path", "fill")];
}"""
#: is over when the page has had the time for two days at the slowest speed
TWO_DAYS = "() => new Promise((done) => setTimeout(done, 2000))"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = str(tmp_path_factory.mktemp("story") / "run.sqlite")
    play(RumorModel(9, "episodic", correction_step=5, rng=4, record=place), DAYS)
    return place


@pytest.fixture(scope="module")
def told(file):
    """Who told whom what, by day."""
    with open_run(file) as run:
        days = said(run, 0, DAYS)
    return [None, *([(m.sender, m.recipient, m.text) for m in day] for day in days)]


@pytest.fixture(scope="module")
def address(file, town_file):
    with dashboard(file, town_file) as base:
        yield base


def opened(window, query=f"?step={DAYS}"):
    window.open(query, see=".mm-stage-svg")
    window.until(lambda: window.page.locator(ARROWS).count() > 0)
    return window


def titles(window):
    """What the arrows say: who tells whom what."""
    return window.page.locator(f"{ARROWS} title").all_text_contents()


def expected(told, day):
    return [f"{a} tells {b}: {text}" for a, b, text in told[day]]


def shown_day(window):
    return int(re.findall(r"Step (\d+):", window.text(".mm-stage-step"))[0])


def test_the_page_opens_with_the_day_of_most_changes_and_words_that_cover_no_agent(
    window, told, file
):
    opened(window, "")
    with open_run(file) as run:
        day, agent = opening(scene(run), lambda: activity(run))
    assert 1 < day < DAYS
    window.until(lambda: titles(window) == expected(told, int(day)))
    assert f"agent={agent}" in window.page.evaluate(
        "() => document.querySelector('[data-shows]').dataset.shows"
    )
    assert window.query() == ""
    for belief in BELIEFS.values():
        assert belief in window.text(".mm-stage-legend")
    assert window.page.locator(".mm-stage-words rect").count() > 0
    assert window.page.evaluate(COVERED) == []
    assert window.page.evaluate(CROWDED) == [0, 0]
    chosen, classes = window.page.evaluate(SIGNS)
    assert chosen and not set(chosen) & set(classes)
    assert f"selected: {agent}" in window.text(".mm-stage-legend")
    assert window.page.locator(".mm-stage-dot").count() == 9


def test_play_goes_through_the_days_without_a_click_more_and_shows_who_tells_whom(
    window, told
):
    opened(window)
    window.page.evaluate(WATCH)
    window.page.get_by_label("Steps a second").select_option("5")
    window.page.get_by_role("button", name=PLAY).click()
    begun = "mmSeen.some((one) => one.day === '1')"
    window.sometime(lambda: window.page.evaluate(begun))
    window.until(lambda: shown_day(window) == DAYS)
    seen = window.page.evaluate("mmSeen")
    days = [int(one["day"]) for one in seen]
    assert days[days.index(1) :] == list(range(1, DAYS + 1))
    wrong = [n for n in seen if n["told"] != expected(told, int(n["day"]))]
    assert wrong == []
    window.until(lambda: window.page.get_by_role("button", name=PLAY).count() == 1)
    window.until(lambda: window.step() == str(DAYS))


def test_a_server_that_answers_late_turns_no_day_back(window):
    late, held = [False], []

    def hold(page):
        def hear(said):
            if late[0]:
                held.append((page, said))
            else:
                page.send(said)

        page.connect_to_server().on_message(hear)

    window.page.route_web_socket("**", hold)
    opened(window)
    window.page.evaluate(WATCH)
    late[0] = True
    window.page.get_by_role("button", name=PLAY).click()
    window.sometime(lambda: shown_day(window) >= 9)
    late[0] = False
    for page, late_one in held:
        page.send(late_one)
    window.until(lambda: window.page.get_by_role("button", name=PLAY).count() == 1)
    window.shows(step=DAYS)
    days = [int(one["day"]) for one in window.page.evaluate("mmSeen")]
    assert days == [DAYS, *range(1, DAYS + 1)]


def test_space_plays_and_pauses_and_arrows_step(window, told):
    opened(window)
    window.page.keyboard.press("ArrowLeft")
    window.until(lambda: titles(window) == expected(told, DAYS - 1))
    window.page.keyboard.press("ArrowRight")
    window.until(lambda: shown_day(window) == DAYS)
    window.page.evaluate(PRESS_AT, [" ", "4"])
    window.page.keyboard.press("Space")
    window.shows(step=4)
    assert window.page.get_by_role("button", name=PLAY).count() == 1
    window.page.evaluate(TWO_DAYS)
    assert shown_day(window) == 4
    assert window.step() == "4"


def test_an_agent_that_is_clicked_stands_beside_the_picture_as_a_person(window, told):
    opened(window, "?step=8")
    window.page.locator(".mm-stage-dot").nth(4).click()
    window.shows(agent=5, step=8)
    assert "agent=5" in window.query()
    person = ".mm-story .mm-section:nth-child(2)"
    assert window.text(f"{person} h3") == "Agent 5"
    heard = [text for _, to, text in told[8] if to == 5]
    spoken = [text for sender, _, text in told[8] if sender == 5]
    shown = window.text(person)
    for text in [*heard, *spoken]:
        assert text in shown
    for part in ("Saw and heard", "Recalled", "Its memory made", "Said and did"):
        assert part in shown
    assert "because it " in shown


@pytest.mark.parametrize(
    ("selector", "leads"),
    [
        (".mm-stage-words", "view=spread"),
        ("ul[aria-label^='Recalled'] button", "view=recall"),
        ("ul[aria-label='Saw and heard'] button:has-text('to you:')", "view=spread"),
        ("text=All that it remembered", "view=agent"),
    ],
)
def test_what_is_clicked_leads_to_the_view_that_explains_it(window, selector, leads):
    opened(window, "?step=8&agent=5")
    window.page.wait_for_selector(selector)
    window.page.locator(selector).first.click()
    window.shows(view=leads.removeprefix("view="))
    assert leads in window.query()
    assert window.page.locator(".mm-stage").count() == 0
    window.page.go_back()
    window.shows(view="story")
    window.until(lambda: window.page.locator(ARROWS).count() > 0)


def test_a_run_without_places_or_outcomes_is_a_circle_coloured_by_its_memory(
    window, town_file
):
    window.open(f"?run={run_key(town_file)}", see=".mm-stage-svg")
    window.until(lambda: window.page.locator(".mm-stage-dot").count() == 7)
    assert "Events" in window.text(".mm-stage-legend")
    colours = window.page.get_by_label("Colour shows", exact=True)
    colours.select_option(label="Memory: recalls")
    window.until(lambda: "Recalls" in window.text(".mm-stage-legend"))
    assert "colour=memory" in window.query()


def test_the_population_is_coloured_and_sorted_by_an_outcome(window, file):
    with open_run(file) as run:
        shown = scene(run)
    held = dict(zip(map(str, shown.agents), shown.outcomes["belief"][:, 8]))
    see = ".mm-heat-canvas"
    window.open("?view=population&step=9", see=see)
    assert "Belief by agent and step" in window.text()
    known = {str(value) for value in shown.outcomes["belief"].flat if value}
    legend = window.text(".mm-legend")
    assert known and all(value in legend for value in known)
    beliefs = [held[agent] for agent in window.text(".mm-heat-y").split()]
    assert len(beliefs) == 9 and len([*groupby(beliefs)]) == len(set(beliefs)) > 1
    window.open("?view=population&colour=memory:events&step=9", see=see)
    assert "Events by agent and step" in window.text()
    with open_run(file) as run:
        sums = activity(run).totals(9)
    assert f"9 agents got {sums['events']:.0f} events" in window.text()
    assert f"{sums['calls']:.0f} calls with {sums['tokens']:,.0f}" in window.text()
