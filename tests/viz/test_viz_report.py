"""A report to send: one file that says what a run was, and plays it offline."""

import json
import re

import pytest
from click.testing import CliRunner

from mesa_memory import open_run
from mesa_memory.cli import main
from mesa_memory.examples.rumor.model import RumorModel
from mesa_memory.viz.report import write_report
from tests.support.axe import faults
from tests.support.browser import Window
from tests.support.hostile import ATTACK
from tests.support.playing import play

RUMOUR = "the town well is poisoned"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("reports")


@pytest.fixture(scope="module")
def rumour(folder):
    """The demo, small."""
    file = str(folder / "rumour.sqlite")
    play(RumorModel(8, "episodic", rng=1, record=file), 12)
    return file


def read(path):
    """The page, and the data in it."""
    text = path.read_text(encoding="utf-8")
    found = re.findall(
        r'<script type="application/json" id="data">(.*?)</script>', text
    )
    assert len(found) == 1
    return text, json.loads(found[0])


def test_a_report_has_the_whole_run_of_the_chosen_agents(town_file, tmp_path):
    with open_run(town_file) as run:
        written = write_report(run, tmp_path / "report.html", ["2", 5])
        text, data = read(written.path)
        assert written.size == written.path.stat().st_size
        assert written.notes == []
        assert data["steps"] == run.steps
        assert [agent[0] for agent in data["agents"]] == [str(n) for n in range(1, 8)]
        for person, agent in zip(data["people"], (2, 5), strict=True):
            assert data["agents"][person["agent"]][0] == str(agent)
            past = run.history(agent=agent, as_records=True)
            opened = {row["id"] for row in past}
            assert len(person["records"]) == len(opened)
            recalls = run.recalls(agent, as_records=True)
            assert len(person["recalls"]) == len({row["seq"] for row in recalls})
    for part in (
        "was run once for 8 steps",
        "mesa-llm 0.",
        "Records were ranked by a weighted sum",
        "Cost",
    ):
        assert part in text


def test_agents_stand_where_the_model_has_them_with_what_it_says_of_them(
    rumour, tmp_path
):
    with open_run(rumour) as run:
        _, data = read(write_report(run, tmp_path / "report.html").path)
    (spots,) = data["places"]  # nobody moves
    left, low, right, high = data["box"]
    assert len(spots) == 16 and all(left <= x <= right for x in spots[::2])
    assert all(low <= y <= high for y in spots[1::2])
    assert len(data["ties"]) > 7
    told = {measure["name"]: measure for measure in data["measures"]}
    belief, known = told["belief"], told["knows_rumour"]
    assert belief["classes"] == ["the well is poisoned", "the well is safe"]
    assert known["agents"] is None
    for place, row in enumerate(belief["agents"]):
        for number, (_, counts) in enumerate(belief["lines"], 1):
            assert row.count(number) == counts[place]


def test_a_report_that_would_be_too_large_is_a_sample_and_says_so(town_file, tmp_path):
    with open_run(town_file) as run:
        whole = write_report(run, tmp_path / "whole.html")
        least = whole.size * 7 // 10
        small = write_report(run, tmp_path / "small.html", largest=least)
        assert small.size <= least and small.notes
        text, _ = read(small.path)
        assert all(note in text for note in small.notes)
        with pytest.raises(ValueError, match="allow more"):
            write_report(run, tmp_path / "none.html", largest=1000)
    assert not (tmp_path / "none.html").exists()


def test_the_same_run_gives_the_same_report(town_file, tmp_path):
    files = [tmp_path / "one.html", tmp_path / "two.html"]
    for file in files:
        with open_run(town_file) as run:
            write_report(run, file)
    assert files[0].read_bytes() == files[1].read_bytes()


def test_no_file_is_lost_and_bad_names_are_told(town_file, tmp_path):
    target = tmp_path / "report.html"
    target.write_text("mine")
    with open_run(town_file) as run:
        with pytest.raises(FileExistsError, match="choose another name"):
            write_report(run, target)
        assert target.read_text() == "mine"
        with pytest.raises(ValueError, match="no agent 'Nobody'; its agents are 1, 2"):
            write_report(run, tmp_path / "other.html", ["Nobody"])
        write_report(run, target, overwrite=True)
    assert target.read_text(encoding="utf-8").startswith("<!DOCTYPE html>")


def test_hostile_texts_are_no_markup_in_the_file(hostile, tmp_path):
    with open_run(hostile) as run:
        text, data = read(write_report(run, tmp_path / "report.html").path)
    assert "<img" not in text and text.count("<script") == 2
    assert text.count("</script>") == 2 and "<!--" not in text
    assert any(ATTACK in one for one in data["texts"])
    policy = re.search(r'Policy" content="([^"]+)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; style-src 'sha256-")
    assert "unsafe" not in policy and "http" not in policy


def test_the_command_writes_a_report_and_says_how_large(town_file, tmp_path):
    target = str(tmp_path / "report.html")
    done = CliRunner().invoke(
        main, ["report", town_file, "--agents", "1, 3", "-o", target]
    )
    assert done.exit_code == 0, done.output
    assert re.search(r"Wrote .*report\.html \(0\.\d MB\)", done.output)
    again = CliRunner().invoke(main, ["report", town_file, "-o", target])
    assert again.exit_code == 2 and "exists" in again.output
    wordless = ["report", town_file, "--about", "?!", "-o", target, "--overwrite"]
    refused = CliRunner().invoke(main, wordless)
    assert refused.exit_code == 2 and "must have words, got '?!'" in refused.output


# -- in a browser ---------------------------------------------------------------------


class Page(Window):
    """A report from the disk, in a browser without a network."""

    def __init__(self, chromium, file, path, **given):
        with open_run(file) as run:
            write_report(run, path, **given)
        super().__init__(chromium, path.as_uri(), offline=True)
        self.page.goto(self.base)
        self.settled()


@pytest.mark.slow
def test_a_report_plays_from_the_disk_without_a_network(chromium, rumour, tmp_path):
    with Page(chromium, rumour, tmp_path / "report.html", about=RUMOUR) as window:
        page = window.page
        assert page.locator("#town circle").count() == 8
        assert window.text("#now") == "1 of 12"
        assert page.locator("#town path[marker-end]").count() > 0
        page.select_option("#speed", "100")
        page.click("#play")
        window.until(lambda: window.text("#now") == "12 of 12")
        window.until(lambda: window.text("#play") == "Play")
        assert page.locator("#town circle.class0").count() > 1
        assert " to " in window.text("#said")
        # By keyboard, too.
        page.focus("#slider")
        page.keyboard.press("ArrowLeft")
        window.until(lambda: window.text("#now") == "11 of 12")


@pytest.mark.slow
def test_a_report_shows_what_came_to_mind_and_what_it_rests_on(
    chromium, town_file, tmp_path
):
    with open_run(town_file) as run:
        derived = next(
            (agent, row)
            for agent in run.unique_ids.values()
            for row in run.state(agent, as_records=True)
            if row["origin"] == "derived" and row["sources"]
        )
    agent, row = derived
    with Page(
        chromium, town_file, tmp_path / "report.html", agents=[agent, 5]
    ) as window:
        page = window.page
        place = [1, 2, 3, 4, 5, 6, 7, 8].index(int(row["valid_from"]))
        page.fill("#slider", str(place))
        window.until(lambda: window.text("#now") == f"{place + 1} of 8")
        page.locator("#mind button", has_text=row["kind"]).first.click()
        window.until(lambda: "sources" in window.text("#tree"))
        page.select_option("#who", label="Agent 5")
        page.fill("#slider", "7")
        window.until(lambda: "relevance" in window.text("#mind"))
        assert page.locator("#mind .parts rect").count() > 0
        # Of an agent that was not chosen, what it said and heard.
        page.select_option("#who", label="Agent 7 (messages only)")
        window.until(lambda: "is not in the report" in window.text("#mind"))


@pytest.mark.slow
def test_hostile_texts_stay_texts_in_a_report(chromium, hostile, tmp_path):
    with Page(chromium, hostile, tmp_path / "report.html", title=ATTACK) as window:
        for place in range(6):
            window.page.fill("#slider", str(place))
        window.until(lambda: "<img src=x onerror=alert(1)>" in window.text("#mind"))
        assert "{{constructor" in window.text("h1")
        assert window.page.locator("img").count() == 0
        # What is not ours may not run at all.
        refused = window.page.evaluate(
            """() => new Promise((done) => {
                document.addEventListener("securitypolicyviolation",
                    (event) => done(event.violatedDirective));
                const script = document.createElement("script");
                script.textContent = "document.title = 'taken'";
                document.body.append(script);
            })"""
        )
        assert refused.startswith("script-src")
        window.faults.clear()  # the browser says that it has refused it


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_report_can_be_read_by_all(chromium, town_file, tmp_path, theme):
    with Page(chromium, town_file, tmp_path / "report.html", about="harvest") as window:
        window.page.emulate_media(color_scheme=theme)
        window.page.fill("#slider", "7")
        window.page.locator("#mind button").first.click()
        window.settled()
        assert faults(window.page) == []
