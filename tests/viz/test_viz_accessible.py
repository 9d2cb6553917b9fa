"""Every view, on every width, by keyboard, in both themes, and for screen readers."""

import re
from pathlib import Path

import pytest

import mesa_memory.viz
from mesa_memory.viz.views import GROUPS
from tests.support.axe import UNFOLD, faults
from tests.support.browser import Window, run_key
from tests.support.dashboards import command, dashboard
from tests.support.live_pages import Minds
from tests.support.playing import play
from tests.support.recorded_town import RecordedTown

pytestmark = pytest.mark.slow
VIEWS = [view for group in GROUPS for view in group.views]
#: one of each group, with fields of every kind
REACHED = [group.views[0] for group in GROUPS if group.label != "Society"]
REACHED += [view for view in VIEWS if view.key in ("hand", "impressions", "spread")]
WIDTHS = (400, 1280)
#: stands in a place of a page that is drawn
DRAWN = ".mm-section, .mm-empty, .mm-note"
STEPS = 6
#: parts of a page that are wider than it, without being scrolled in a box of their own
TOO_WIDE = """() => {
  const page = document.querySelector(".mm-page"), right = page.getBoundingClientRect().right;
  const boxed = (one) => { for (let at = one.parentElement; at && at !== page; at = at.parentElement)
    if (["auto", "scroll", "hidden", "clip"].includes(getComputedStyle(at).overflowX)) return true; return false; };
  return [...page.querySelectorAll("*")].filter((one) => one.getClientRects().length && one.getBoundingClientRect().right > right + 1 && !boxed(one))
    .map((one) => one.outerHTML.slice(0, 160)).slice(0, 5);
}"""
#: what a person can use: marks each, and counts them
USABLE = """() => [...document.querySelectorAll(".mm-page button, .mm-page input, .mm-page select, .mm-page textarea, .mm-page summary, .mm-page [tabindex='0']")]
  .filter((one) => one.getClientRects().length && !one.disabled && one.tabIndex >= 0 && one.type !== "hidden" && !one.closest("[aria-hidden=true]"))
  .map((one, n) => { one.dataset.usable = n; return one.outerHTML.slice(0, 160); })"""
#: those of some icons that the page's font does not have
WITHOUT_PICTURE = """(names) => names.filter((name) => {
  const icon = document.createElement("i");
  icon.className = `v-icon mdi ${name}`;
  document.body.append(icon);
  const drawn = getComputedStyle(icon, "::before").content;
  icon.remove();
  return ["none", "normal"].includes(drawn);
})"""
FOCUSED_TAB = "() => document.activeElement.innerText.trim()"
FOCUSED = "() => document.activeElement && document.activeElement.dataset.usable"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A run with memories of several kinds, and another one to compare it with."""
    folder = tmp_path_factory.mktemp("accessible")
    found = [str(folder / "minds.sqlite"), str(folder / "town.sqlite")]
    for model in (Minds(record=found[0]), RecordedTown(found[1], n=5)):
        play(model, STEPS)
    return found


@pytest.fixture(scope="module")
def page(files, chromium):
    with dashboard(*files) as base, Window(chromium, base) as window:
        yield window


def show(page, view, files, width=1280, **more):
    """Opens a view of the first run on a screen of this width."""
    page.page.set_viewport_size({"width": width, "height": 1000})
    rest = "".join(f"&{name}={value}" for name, value in more.items())
    run = run_key(files[0])
    page.open(f"?run={run}&view={view.key}{rest}", see=DRAWN)
    page.shows(run=run, view=view.key, **more)


def test_every_icon_has_a_picture(page, files):
    show(page, VIEWS[0], files)
    folder = Path(mesa_memory.viz.__file__).parent
    sources = [file for end in ("py", "vue") for file in folder.rglob(f"*.{end}")]
    texts = [file.read_text(encoding="utf-8") for file in sources]
    names = sorted({name for text in texts for name in re.findall(r"mdi-[\w-]+", text)})
    assert "mdi-magnify" in names
    assert page.page.evaluate(WITHOUT_PICTURE, names) == []


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("view", VIEWS, ids=lambda view: view.key)
def test_a_view_can_be_read_and_fits_with_a_way_to_every_other(
    page, files, view, width
):
    """On the wide screen it says what its parts are, in both themes."""
    page.page.emulate_media(color_scheme="dark")
    show(page, view, files, width, agent=1, text="the well is poisoned")
    page.page.evaluate(UNFOLD)
    assert page.page.evaluate(TOO_WIDE) == []
    tabs, menu = (
        page.page.get_by_role("tab"),
        page.page.locator(".mm-tabs-menu select"),
    )
    names = tabs.all_inner_texts() or menu.locator("option").all_inner_texts()
    group = next(one for one in GROUPS if view in one.views)
    own = [one.label for one in group.views] if len(group.views) > 1 else []
    shown = [name.removesuffix("(empty)").strip() for name in names]
    assert shown == [one.label for one in GROUPS] + own
    for tab in tabs.all():
        box = tab.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    for text in page.page.locator(".mm-wide:visible").all()[:5]:
        box = text.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= width
    if width == max(WIDTHS):
        page.settled()
        assert faults(page.page) == []
        # Drawn anew, as colours that change would be read half-way.
        page.page.emulate_media(color_scheme="light")
        show(page, view, files, width, agent=1, text="the well is poisoned")
        page.settled()
        assert faults(page.page) == []


#: where the score 0 and 1 stand in the chart of a recall, and its bars with a name
SCORES = """async () => {
  const echarts = await new Promise((done) => requirejs([`${solara.cdn}/echarts@5.4.0/dist/echarts.js`], done));
  const box = document.querySelector("[aria-label^='Scores of']"), chart = echarts.getInstanceByDom(box);
  const at = (value) => chart.convertToPixel({ xAxisIndex: 0 }, value);
  const names = chart.getOption().yAxis[0].data;
  const bars = names.map((_, n) => chart.convertToPixel({ yAxisIndex: 0 }, n)).filter((y) => y > 0 && y < box.clientHeight);
  return { zero: at(0), one: at(1), wide: box.clientWidth, names: names.length, bars: bars.length };
}"""


@pytest.mark.parametrize("width", [390, 1440])
def test_the_bars_of_a_recall_run_to_the_right_on_every_screen(page, files, width):
    recall = next(view for view in VIEWS if view.key == "recall")
    show(page, recall, files, width, agent=1)
    page.settled()
    found = page.page.evaluate(SCORES)
    assert 0 < found["zero"] < found["one"] <= found["wide"]
    assert found["zero"] < 0.6 * found["wide"]
    assert found["bars"] == found["names"] > 3


@pytest.mark.parametrize("view", REACHED, ids=lambda view: view.key)
def test_a_view_is_reached_and_used_by_keyboard_alone(page, files, view):
    first = VIEWS[0] if view is not VIEWS[0] else VIEWS[1]
    show(page, first, files, agent=1, text="the well is poisoned")
    keyboard = page.page.keyboard
    group = next(one for one in GROUPS if view in one.views)
    page.page.get_by_role("tab", selected=True).first.focus()
    begun = next(n for n, one in enumerate(GROUPS) if first in one.views)
    for _ in range((GROUPS.index(group) - begun) % len(GROUPS)):
        keyboard.press("ArrowRight")
    keyboard.press("Enter")
    if len(group.views) > 1:
        page.until(lambda: page.page.get_by_role("tablist").count() == 2)
        page.page.get_by_role("tab", selected=True).last.focus()
        for _ in group.views:  # past the last one comes the first
            if page.page.evaluate(FOCUSED_TAB) == view.label:
                break
            keyboard.press("ArrowRight")
        keyboard.press("Enter")
    page.shows(view=view.key)
    assert f"view={view.key}" in page.query()
    page.page.evaluate(UNFOLD)
    usable = page.page.evaluate(USABLE)
    assert usable
    reached = set()
    for _ in range(2 * len(usable) + 20):
        keyboard.press("Tab")
        number = page.page.evaluate(FOCUSED)
        reached |= {int(number)} if number is not None else set()
    missed = [html for n, html in enumerate(usable) if n not in reached]
    assert missed == []
    page.page.get_by_role("tab", selected=True).last.focus()
    page.page.get_by_label("Step", exact=True).focus()
    keyboard.press("Home")
    page.until(lambda: page.step() == "1")
    keyboard.press("ArrowRight")
    page.until(lambda: page.step() == "2")


@pytest.mark.parametrize("width", WIDTHS)
def test_the_page_of_a_running_model_fits_and_can_be_read(chromium, width):
    town = ("--agents", "5", "--steps", "2")
    with command("demo", *town) as base, Window(chromium, base) as window:
        window.page.set_viewport_size({"width": width, "height": 1000})
        window.open(see=DRAWN)
        assert window.page.evaluate(TOO_WIDE) == []
        assert faults(window.page) == []
        controls = window.page.locator(".mm-side")
        for name in ("Reset", "▶", "Step"):
            box = controls.get_by_role("button", name=name, exact=True).bounding_box()
            assert 0 <= box["x"] < box["x"] + box["width"] <= width
        fold = controls.locator("summary")
        if width == 400:
            fold.press("Enter")
            window.settled()
        value = controls.get_by_label("People").evaluate("one => one.value")
        told = controls.locator(".mm-slide", has_text="People").locator("output")
        assert told.inner_text() == value == "5"
        window.page.goto("about:blank")
        window.faults.clear()
