"""Who remembers something like a text: data, then in a browser."""

import re

import pytest

from mesa_memory.runs.claims.claim import Verdict
from mesa_memory.runs.claims.clauses import sentences
from mesa_memory.viz.data import spread
from tests.support.browser import Window
from tests.support.dashboards import dashboard

TEXT = "On day 3 I sold 3 fish."
STEPS = 8


def test_a_text_that_is_remembered_word_for_word_is_most_similar(run):
    best, *others = spread.listed(spread.found(run, TEXT), 3)
    assert (best["text"], best["similarity"]) == (TEXT, 1)
    assert best["counts"] and best["first"] == 3
    assert best["ever"] >= best["agents"] > 1
    # Numbers that the text does not have are all one sentence.
    reasons = {row["text"]: row["verdict"] for row in others}
    assert reasons["On day # I sold # fish."] == Verdict.OTHER


def test_a_summary_is_found_by_the_sentence_that_is_about_it(run):
    found = spread.found(run, TEXT)
    held = spread.holders(found, STEPS)
    texts = [row["text"] for row in held if row["kind"] == "summary"]
    assert texts and all(len(sentences(text)) > 1 for text in texts)


def test_holders_of_a_step_are_those_of_the_map(run):
    found = spread.found(run, TEXT)
    held = spread.holding(found)
    for place, step in enumerate(held.steps):
        rows = spread.holders(found, step)
        assert [row["records"] for row in rows] == [
            count for count in held.counts[:, place].tolist() if count
        ]
    assert held.reached == sorted(held.reached)
    assert all(now <= ever for now, ever in zip(held.holders, held.reached))


@pytest.mark.slow
def test_the_view_shows_who_holds_a_text_and_follows_the_step(chromium, town_file):
    with dashboard(town_file) as address, Window(chromium, address) as window:
        window.open("?view=spread&step=3", see="text=Type a sentence")
        box = window.page.get_by_label("Text in all memories")
        box.fill(TEXT)
        box.press("Enter")
        window.until(
            lambda: (
                "of 7 agents remember" in window.text()
                and "Holders at step 3" in window.text()
            )
        )
        assert "text=On+day+3" in window.query()
        window.page.keyboard.press("Tab")
        window.page.get_by_label("Step forward").click()
        window.until(lambda: "Holders at step 4" in window.text())
        assert window.page.locator(".mm-chart canvas").count()
        said = window.page.get_by_text("of 7 agents remember").first
        assert box.bounding_box()["y"] < said.bounding_box()["y"], "the field is above"
        assert re.search(r"Sentences counted: [1-9]", window.text())
        assert "other names or numbers" in window.text()
        with window.page.expect_download() as download:
            window.page.get_by_text("CSV").first.click()
        assert download.value.suggested_filename == "spread-texts.csv"
