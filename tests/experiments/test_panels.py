"""Panel data: the agent-steps lived, sums that agree, and files that read back equal."""

import duckdb
import mesa
import pandas as pd
import pytest
from click.testing import CliRunner
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import configure, open_run, register_policy
from mesa_memory.cli import main
from mesa_memory.errors import StudyError
from mesa_memory.experiments import Study
from mesa_memory.memories.registry import find
from mesa_memory.runs.panel import CODEBOOK
from tests.experiments.test_study_archive import CANARY, Aviary
from tests.support.study_results import run

FACTS = {"well": "The well is poisoned."}
STEPS, FOLK = 4, 3


class Citizen(LLMAgent):
    """Hears of the well in step 2, decides at each step, and dies or gives birth."""

    def step(self):
        if self.model.steps == 2 and self.unique_id == 1:
            self.memory.add_to_memory("news", {"text": "The well is poisoned."})
        self.memory.process_step()
        self.wealth = float(self.unique_id + self.model.steps)
        self.memory.get_prompt_ready()
        self.llm.generate(prompt="What do you do?")
        if self.model.steps == 3 and self.unique_id == 2:
            self.remove()
        if self.model.steps == 3 and self.unique_id == 3:
            self.model.settle()


class Born(mesa.Model):
    """Three citizens; in step 3 one dies and one is born."""

    def __init__(self, memory="short_term", record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record, outcomes=["wealth"])
        self.memory = memory
        self.datacollector = mesa.DataCollector(agent_reporters={"money": "wealth"})
        for _ in range(FOLK):
            self.settle()

    def settle(self):
        does = register_policy("panel citizen", lambda turn: "I wait, = 1 + 1.")
        agent = Citizen(self, CoTReasoning, does)
        agent.wealth, agent.memory = 0.0, find(self.memory)(agent)

    def step(self):
        self.agents.do("step")
        self.datacollector.collect(self)


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    study = Study(
        Born, {"memory": ["short_term", "episodic"]}, seeds=range(2), steps=STEPS,
        outcomes={"n": lambda model: len(model.agents)},
        store=tmp_path_factory.mktemp("panel") / "s.sqlite",
    )  # fmt: skip
    run(study)
    return study


def test_rows_are_the_agent_steps_lived_and_sums_are_those_of_cost_and_results(study):
    frame, results = study.panel(facts=FACTS), study.results()
    lived = frame[frame["present"]]
    alive = {1: [1, 2, 3], 2: [1, 2, 3], 3: [1, 3, 4], 4: [1, 3, 4]}
    for _, of_case in lived.groupby("case"):
        found = of_case.groupby("step")["agent"].apply(list).to_dict()
        assert found == alive
    gone = frame[~frame["present"]]  # it asked in the step in which it died
    assert set(zip(gone["step"], gone["agent"])) == {(3, 2)}
    by_case = frame.groupby("case").sum(numeric_only=True)
    runs = results.runs.set_index("case")
    for mine, theirs in (("requests", "run_calls"), ("tokens_in", "run_tokens_in"),
                         ("tokens_out", "run_tokens_out"), ("cost", "run_cost")):  # fmt: skip
        assert by_case[mine].tolist() == pytest.approx(runs[theirs].tolist())
    for name in runs["run"]:
        with open_run(study.location, name) as one:
            cost, own = one.cost([]).iloc[0], one.panel()
            assert own["requests"].sum() == cost["calls"]
            assert own["tokens_in"].sum() == cost["tokens_in"]
            for step in (2, STEPS):
                held = own[(own["agent"] == 1) & (own["step"] == step)]["records"]
                assert held.item() == len(one.state(1, step)) > 0
    collected = results.agents.set_index(["case", "step", "agent"])["money"]
    mine = lived.set_index(["case", "step", "agent"])
    assert mine["money"].to_dict() == collected.to_dict()
    assert mine["wealth"].to_dict() == collected.to_dict()


def test_who_holds_a_fact_what_was_shown_and_what_was_decided_are_columns(study):
    frame = study.panel(facts=FACTS)
    held = frame[frame["holds_well"]]
    assert set(held["agent"]) == {1} and held["step"].min() == 2
    assert {"memory", "memory_class", "seed", "run_state"} <= set(frame.columns)
    born = (frame["agent"] == 4) & (frame["step"] == 3)
    assert (frame["decisions"] == 1 - born).all()
    assert set(frame[~born]["answer"]) == {"I wait, = 1 + 1."}
    assert frame[(frame["agent"] == 1) & (frame["step"] == 3)]["lines_shown"].all()
    layers = [name for name in frame.columns if name.startswith("records_")]
    assert (frame[layers].sum(axis=1) == frame["records"]).all() and layers


@pytest.mark.parametrize("ending", ["parquet", "csv"])
def test_files_are_read_back_equal_and_the_codebook_has_every_column(
    study, tmp_path, ending
):
    path = study.panel(tmp_path / f"panel.{ending}")
    frame = study.panel()
    reads = pd.read_parquet if ending == "parquet" else pd.read_csv
    book = pd.read_csv(tmp_path / CODEBOOK)
    assert book["name"].tolist() == frame.columns.tolist()
    assert book[["meaning", "source"]].notna().all().all()
    theirs = duckdb.sql(f"select * from '{path}'").df()
    for read in (reads(path), theirs):
        assert read.columns.tolist() == frame.columns.tolist()
        for name in frame.columns:
            same = read[name].astype(object).where(read[name].notna(), None)
            mine = frame[name].astype(object).where(frame[name].notna(), None)
            assert same.tolist() == mine.tolist(), name
    with pytest.raises(FileExistsError, match="choose another folder"):
        study.panel(tmp_path / f"panel.{ending}")
    with pytest.raises(ValueError, match=r"must end with .csv or .parquet"):
        study.panel(tmp_path / "panel.xlsx")


def test_without_texts_nothing_of_what_was_said_is_left(tmp_path):
    study = Study(Aviary, seeds=[1], steps=2, store=tmp_path / "s.sqlite")
    run(study)
    assert CANARY in study.panel().to_csv()
    assert CANARY not in study.panel(texts=False).to_csv()
    study.archive(tmp_path / "folder", texts=False)
    assert CANARY not in (tmp_path / "folder" / "panel.csv").read_text()
    assert (tmp_path / "folder" / CODEBOOK).exists()


def test_the_command_writes_a_panel_and_an_unrecorded_study_says_why_not(
    study, tmp_path
):
    given = ["export", f"{study.location}#1", "--panel", "--out", str(tmp_path)]
    told = CliRunner().invoke(main, given)
    assert told.exit_code == 0, told.output
    assert len(pd.read_csv(tmp_path / "panel.csv")) == STEPS * FOLK + 1
    unrecorded = Study(
        Born, seeds=[1], steps=1, store=tmp_path / "s.sqlite", record=False
    )
    with pytest.raises(StudyError, match="run it with record=True"):
        unrecorded.panel()
