"""What a run cost: data, then in a browser."""

import sqlite3
from pathlib import Path

import pytest

from mesa_memory.viz.views import cost
from tests.support.browser import Window
from tests.support.dashboards import dashboard
from tests.support.playing import play
from tests.support.recorded_town import RecordedTown

STEPS = 8


def priced(path):
    """Gives the calls prices and times; those of reflections have no price."""
    with sqlite3.connect(path) as database:
        database.execute(
            "UPDATE calls SET cost = 0.001 * tokens_in, latency = 0.1 + seq % 7"
        )
        database.execute(
            "UPDATE calls SET cost = NULL, model = 'local/free' WHERE purpose = 'reflect'"
        )
        database.execute(
            "UPDATE calls SET replayed = 1, latency = 0 WHERE purpose = 'grade' AND seq % 2"
        )
    database.close()


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = str(tmp_path_factory.mktemp("cost") / "run.sqlite")
    play(RecordedTown(path, n=7), STEPS)
    priced(path)
    return path


def test_sums_until_a_step_are_those_of_the_single_calls(run):
    spent = cost.spent(run)
    calls = run.calls(as_records=True)
    for step in spent.steps:
        until = [call for call in calls if call["step"] <= step]
        sums = spent.until(step)
        assert sums["calls"] == len(until)
        assert sums["tokens_in"] == sum(call["tokens_in"] for call in until)
        known = [call["cost"] for call in until if call["cost"] is not None]
        assert sums["known"] == pytest.approx(sum(known))
        whole = len(known) == len(until)
        assert sums["cost"] == (pytest.approx(sum(known)) if whole else None)
    assert spent.until(spent.steps[-1])["cost"] is None


def test_an_unknown_price_is_a_gap_and_no_zero(run):
    assert None in dict(cost.spent(run).series("cost"))["reflect"]
    count = sum(call["cost"] is None for call in run.calls(as_records=True))
    rows = {row["model"]: row for row in cost.grouped(run, ("model",))}
    assert rows["local/free"]["unpriced"] == count
    rows = {row["purpose"]: row for row in cost.grouped(run, ("purpose",))}
    assert rows["reflect"]["cost"] is None
    assert rows["reflect"]["unpriced"] == rows["reflect"]["calls"]
    assert rows["grade"]["cost"] > 0
    assert sum(row["share"] for row in rows.values()) == pytest.approx(1)


@pytest.mark.slow
def test_the_view_says_that_a_price_is_unknown(chromium, file):
    dark = {"color_scheme": "dark"}
    with dashboard(file) as address, Window(chromium, address, **dark) as window:
        window.open(f"?view=cost&step={STEPS}", see=f"text=Until step {STEPS}")
        assert "No price is known for: local/free" in window.text()
        assert "unknown (" in window.text()
        window.page.get_by_label("Step back").click()
        window.shows(view="cost", step=STEPS - 1)
        assert f"Until step {STEPS - 1}" in window.text()
        assert window.page.locator(".mm-chart canvas").count()
        window.open("?view=cost&cost_measure=cost")
        window.shows(view="cost", cost_measure="cost")
        assert "the chart has a gap" in window.text()
        assert window.page.locator(".mm-chart canvas").count()
        chart = window.page.locator(".mm-chart").first
        for kind, begins in (("PNG", b"\x89PNG"), ("SVG", b"<svg")):
            with window.page.expect_download() as download:
                chart.get_by_role("button", name=kind).click()
            assert download.value.suggested_filename == f"cost-cost.{kind.lower()}"
            assert Path(download.value.path()).read_bytes().startswith(begins)
