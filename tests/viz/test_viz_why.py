"""Recall, evidence and impressions in the browser."""

from functools import partial

import pytest

from mesa_memory.runs import open_run
from mesa_memory.runs.past import past
from mesa_memory.stores import open_store
from mesa_memory.viz.data import recall
from tests.support.browser import Window, run_key
from tests.support.dashboards import dashboard
from tests.support.recorded import Minds

pytestmark = pytest.mark.slow
STEPS = 8
#: a chart that is drawn
CHART = ".mm-chart canvas"
#: importance and recency count, relevance does not
WITHOUT_RELEVANCE = (0.0, 1.0, 1.0)


@pytest.fixture(scope="module")
def files(town_file, tmp_path_factory):
    """A town's run, and a story of two agents."""
    minds = str(tmp_path_factory.mktemp("why") / "minds.sqlite")
    store = open_store(minds)
    Minds(store, steps=STEPS)
    store.close()
    return town_file, minds


@pytest.fixture(scope="module")
def window(chromium, files):
    with dashboard(*files) as base, Window(chromium, base) as opened:
        yield opened


def order(found, weights):
    """The recorded ranks of the first page, as other weights rank them."""
    ranked = recall.ranked(found, weights)[:25]
    return [str(one.candidate.rank) for one in ranked]


@pytest.fixture
def asked(files):
    """Agent 5's first recall with a query, its step, and its number in the step."""
    with open_run(files[0]) as run:
        for step in reversed(run.steps):
            rows = recall.recalls(run, 5, step)
            for number, row in enumerate(rows, 1):
                if row["query"] and len(row["candidates"]) > 3:
                    found = recall.understood(row, past(run, 5))
                    # A recall in which relevance counts: without it, the order is another.
                    if order(found, WITHOUT_RELEVANCE) != order(found, None):
                        return found, step, number
    raise AssertionError("nobody asked anything whose order depends on relevance")


def download(window, button, within=""):
    """The name of the file that a click on a button gives."""
    found = window.page.locator(f"{within} button:visible", has_text=button).first
    with window.page.expect_download() as given:
        found.click()
    return given.value.suggested_filename


def test_weights_rank_again_at_once_and_stand_in_the_address(window, asked):
    found, step, number = asked

    def shown():
        heads = window.page.locator(".mm-table th").all_inner_texts()
        was = [n for n, head in enumerate(heads, 1) if head.strip().startswith("was")]
        place = was[0] if was else 1  # while no rank has changed, they are the ranks
        return window.page.locator(f".mm-table td:nth-child({place})").all_inner_texts()

    expected = partial(order, found)

    address = f"?view=recall&agent=5&step={step:g}&recall_number={number}"
    window.open(address, see=CHART)
    window.until(lambda: shown() == expected(None))
    window.open(f"{address}&weights=1,1,1", see=CHART)
    window.until(lambda: shown() == expected((1.0, 1.0, 1.0)))
    window.page.get_by_role("slider", name="Relevance").focus()
    window.page.keyboard.press("Home")
    window.until(lambda: "weights=0%2C1%2C1" in window.query())
    assert expected(WITHOUT_RELEVANCE) != expected(None)
    window.until(lambda: shown() == expected(WITHOUT_RELEVANCE))
    assert "ranks change" in window.text()
    assert download(window, "SVG") == f"recall-agent-5-step-{step:g}.svg"


def test_evidence_opens_down_to_an_event_and_leads_to_its_step(window):
    window.open("?view=evidence&agent=2&step=3&record=2/long_term/summary/3")
    tree = window.page.get_by_role("tree")
    window.until(lambda: tree.get_by_role("treeitem").count() > 4)
    window.page.get_by_role("button", name="Close all").click()
    window.until(lambda: tree.get_by_role("treeitem").count() == 1)
    tree.focus()
    window.page.keyboard.press("ArrowRight")
    window.until(lambda: tree.get_by_role("treeitem").count() > 1)
    window.page.get_by_role("button", name="Open all").click()
    event = tree.get_by_role("treeitem").filter(has_text="observation, step 1, agent 2")
    event.get_by_role("button", name="Go there").click()
    window.shows(view="agent", agent=2, step=1)
    assert "Agent 2, step 1" in window.text()
    assert download(window, "CSV").startswith("agent-2-step-1")


def test_a_click_on_an_impression_chooses_the_pair_and_leads_to_its_evidence(
    window, files
):
    run = run_key(files[1])
    window.open(f"?view=impressions&run={run}&step=5", see=CHART)
    held = window.page.locator(".mm-section", has_text="All impressions")
    held.locator("tbody tr").nth(1).click()
    window.until(lambda: "agent=b&other_agent=7" in window.query())
    pair = window.page.locator("[role=img][aria-label^='Sentiment and']")
    window.until(lambda: "of b and 7" in (pair.get_attribute("aria-label") or ""))
    assert "changes since step 1 are marked" in window.text()
    assert download(window, "PNG").startswith("impressions-matrix")
    assert download(window, "CSV", ".mm-section:has-text('All impressions')") == (
        "impressions-step-5.csv"
    )
    window.open(f"?view=impressions&run={run}&step=3&agent=b&other_agent=7", see=CHART)
    window.page.get_by_role("button", name="See its evidence").click()
    window.shows(view="evidence", record="b/stlt/impression/1")
    assert "Evidence of b/stlt/impression/1" in window.text()
    assert "gone/stlt/message/1" in window.text()
    assert "missing: the record is not in this run" in window.text()
    assert "1 of its sources are not in this run" in window.text()
