"""A study's report: one file whose numbers are those of the comparison and the store."""

import html
import inspect
import re

import mesa
import pytest
from axe_playwright_python.sync_playwright import Axe
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import EpisodicMemory, configure, open_run, register_policy
from mesa_memory.examples.trust_market.model import TrustMarket
from mesa_memory.experiments import Plan, Study
from mesa_memory.experiments.reports.facts import shown_value
from mesa_memory.statistics.difference import number
from tests.support.browser import browser
from tests.support.study_results import run

ATTACK = "</p><script>alert(1)</script>{{ 1 + 1 }}"


def cooperation(model):
    return model.cooperation


@pytest.fixture(scope="module")
def market(tmp_path_factory):
    """A small market with a plan, and its report."""
    folder = tmp_path_factory.mktemp("market")
    found = Study(
        TrustMarket,
        {"memory": ["none", "short_term"], "n_agents": 12, "side": 4},
        seeds=range(6), steps=8, outcomes={"cooperation": cooperation},
        store=folder / "market.sqlite",
        plan=Plan("memory", base="none", outcome="cooperation", margin=0.2, looks=(6,)),
    )  # fmt: skip
    run(found)
    return found, found.report(folder / "report.html")


def text_of(path):
    """The words of a page."""
    page = path.read_text(encoding="utf-8")
    return html.unescape(
        re.sub(r"<style>.*?</style>|<[^>]+>", " ", page, flags=re.DOTALL)
    )


def test_every_number_of_the_table_is_that_of_the_comparison(market):
    study, path = market
    found, page = study.compare(), path.read_text(encoding="utf-8")
    body = page[page.index('aria-label="Table of arms"') :]
    rows = re.findall(r"<tr>(<td.*?)</tr>", body[: body.index("</table>")])
    cell = r'<td data-name="([^"]*)"[^>]*>([^<]+)</td>'
    shown = [{k: v for k, v in row.items() if v} for row in found.printed]
    assert [dict(re.findall(cell, row)) for row in rows] == shown
    text = text_of(path)
    for sentence in found.sentences:
        assert sentence in text
    for paragraph in study.methods().split("\n\n"):
        assert paragraph in text
    status = study.status()
    assert re.search(rf"calls\s+{status.calls}\s", text)


def test_it_has_the_values_of_each_seed_and_the_settings_left_at_their_defaults(market):
    study, path = market
    text, frame = " ".join(text_of(path).split()), study.results().runs
    pairs = frame.pivot(index="seed", columns="memory", values="cooperation")
    for seed, row in pairs.iterrows():
        assert f"{seed} {number(row['none'])} {number(row['short_term'])}" in text
    left = text[text.index("Settings left at their defaults") :]
    for name, each in inspect.signature(TrustMarket).parameters.items():
        given = ("memory", "n_agents", "side", "rng", "record", "replay", "cache")
        is_left = name not in given
        assert (f" {name} {shown_value(each.default)} " in left) == is_left


def test_it_follows_the_median_seed_to_the_first_decision_that_differs(market):
    study, path = market
    frame, text = study.results().runs, text_of(path)
    pairs = frame.pivot(index="seed", columns="memory", values="cooperation")
    difference = pairs["short_term"] - pairs["none"]
    seed = (difference - difference.median()).abs().idxmin()
    assert f"The seed nearest to the median difference is {seed}." in text
    step, agent = re.search(r"differently at step (\d+): agent (\d+)", text).groups()
    for memory in ("none", "short_term"):
        name = frame[(frame.seed == seed) & (frame.memory == memory)]["run"].iloc[0]
        with open_run(study.location, name) as recorded:
            before = recorded.decisions(int(agent), int(step), as_records=True)
            assert before and any(row["answer"] in text for row in before)
            assert any(row["memory"].strip() in text for row in before)


class Rememberer(LLMAgent):
    """Recalls, and says what its policy says."""

    def step(self):
        self.memory.add_to_memory(
            "observation", {"text": f"{ATTACK} day {self.model.steps}"}
        )
        self.memory.process_step()
        self.memory.get_prompt_ready()
        shown = self.memory.get_prompt_ready()
        said = self.llm.generate(f"{shown}\n\nStay or go?").choices[0].message.content
        self.model.stayed += "stay" in said


class House(mesa.Model):
    """One agent, whose answer depends on the arm and the day."""

    def __init__(self, mood="calm", rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline")
        self.stayed = 0

        def policy(turn):
            return f"stay {ATTACK}" if mood == "calm" or self.steps < 3 else "go"

        agent = Rememberer(self, CoTReasoning, register_policy(f"house-{mood}", policy))
        agent.memory = EpisodicMemory(agent, grade_together=1)

    def step(self):
        self.agents.do("step")


def stayed(model):
    return model.stayed


def study_of_house(folder, **given):
    found = Study(
        House, {"mood": ["calm", "restless"]}, seeds=range(6), steps=4,
        outcomes={"stayed": stayed}, store=folder / "house.sqlite", **given,
    )  # fmt: skip
    run(found)
    return found


def test_the_evidence_of_a_decision_is_shown_and_texts_are_no_markup(tmp_path):
    path = study_of_house(tmp_path).report(tmp_path / "report.html")
    page, text = path.read_text(encoding="utf-8"), text_of(path)
    assert "differently at step 3" in text and "Recalled, with what it was made" in text
    assert "<script>alert" not in page and "{{ 1 + 1 }}" in page


def test_a_study_that_is_not_recorded_has_a_report_without_a_trace(tmp_path):
    found = study_of_house(tmp_path, record=False)
    text = text_of(found.report(tmp_path / "report.html"))
    assert "The runs are not recorded, so no decision can be shown." in text
    with pytest.raises(FileExistsError, match="overwrite=True"):
        found.report(tmp_path / "report.html")


class Giver(Rememberer):
    """Answers in other words in each arm, and keeps or gives."""

    gives = None

    def step(self):
        said = self.llm.generate("Give or keep?").choices[0].message.content
        self.gives = GIVES[self.model.told](said)


#: an outcome as the models record it: a word, or nothing
GIVES = {
    "word": lambda said: "gives" if "give" in said else "withholds",
    "none": lambda said: None,
}


class Fair(mesa.Model):
    def __init__(self, mood="calm", told="word", rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", outcomes=("gives",))
        self.told, self.calm = told, mood == "calm"

        def policy(turn):
            return (
                {"calm": "I give."}.get(mood, "I gladly keep it.")
                if self.steps > 2
                else f"No, I am {mood}."
            )

        Giver(self, CoTReasoning, register_policy(f"fair-{mood}", policy))
        for agent in self.agents:
            agent.memory = EpisodicMemory(agent)
        self.datacollector = mesa.DataCollector(
            {"trust": lambda m: m.steps * (mood == "calm")}
        )

    def step(self):
        self.agents.do("step")
        for agent in self.agents:
            agent.memory.add_to_memory("observation", {"day": self.steps})
        self.datacollector.collect(self)


def given(model):
    return model.calm + model.random.random()


def kept(model):
    return model.random.random()


def mood(model):
    return "glad"


@pytest.mark.parametrize("told", GIVES)
def test_the_first_different_decision_is_the_first_with_another_recorded_outcome(
    told, tmp_path
):
    found = Study(
        Fair, {"mood": ["calm", "restless"], "told": [told]}, seeds=range(6), steps=4,
        outcomes={"given": given}, store=tmp_path / "fair.sqlite",
    )  # fmt: skip
    run(found)
    text = " ".join(text_of(found.report(tmp_path / "report.html")).split())
    if told == "none":
        assert "Its runs first decide differently at step 1: agent 1" in text
    else:
        assert "recorded outcome of a decision, gives, first differs at step 3" in text
        for value in ("gives", "withholds"):
            assert f"gives: {value} It answers" in text


def test_all_outcomes_and_the_measures_by_step_are_in_the_report(tmp_path):
    found = Study(
        Fair, {"mood": ["calm", "restless"]}, seeds=range(7), steps=3,
        outcomes={"given": given, "kept": kept, "mood ": mood}, store=tmp_path / "fair.sqlite",
    )  # fmt: skip
    run(found)
    path = found.report(tmp_path / "report.html")
    text = text_of(path)
    for name in ("given", "kept"):
        for sentence in found.compare(outcome=name).sentences:
            assert sentence in text
    assert "mood  is not compared: the outcome 'mood ' must be a finite" in text
    page = path.read_text(encoding="utf-8")
    assert page.count("data:image/png") == 2
    assert "the mean over all runs of each arm, of: trust." in page
    same = found.report(tmp_path / "same.html", outcome="kept")
    assert "From the outcome to one decision" in text
    assert "From the outcome to one decision" not in text_of(same)
    # What is archived has the report, too, whatever the number of outcomes.
    assert (found.archive(tmp_path / "archive") / "report.html").exists()


@pytest.mark.slow
def test_a_browser_shows_it_without_a_network_to_all_on_a_phone(market):
    _, path = market
    assert path.stat().st_size < 5_000_000
    with browser() as chromium:
        for theme in ("light", "dark"):
            size = {"width": 400, "height": 800}
            page = chromium.new_context(viewport=size, color_scheme=theme).new_page()
            asked, said = [], []
            page.on("request", lambda request: asked.append(request.url))
            page.on("console", lambda message: said.append(message.text))
            page.goto(path.as_uri())
            wide = page.evaluate("document.documentElement.scrollWidth")
            found = Axe().run(page, options={"resultTypes": ["violations"]})
            assert wide <= 400 and found.response["violations"] == []
            assert [
                url for url in asked if not url.startswith(("file:", "data:"))
            ] == []
            assert not [text for text in said if "violates" in text]
