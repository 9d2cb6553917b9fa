"""What memories made, recalled and showed in each arm of a study, and who answered them."""

import logging

import mesa
import pytest
from mesa_llm.llm_agent import LLMAgent
from mesa_llm.reasoning.cot import CoTReasoning

from mesa_memory import FactMemory, ScriptedLLM, configure, open_run, register_policy
from mesa_memory.experiments import Study
from tests.support.study_results import run

#: sentences that the offline rules read, and sentences that they do not
PLAIN, FLOWERY = "Ann lives in Rome", "Word of Ann's Roman days spreads"
CHECKS = (
    "events_remembered", "records_made", "records_summarised", "records_recalled",
    "lines_shown", "thoughts_asked", "thoughts_by_rules", "thoughts_by_model",
    "thoughts_doubtful", "thoughts_given_up",
)  # fmt: skip


class Gossip(LLMAgent):
    """Reads its memory, and says the same to everybody."""

    def step(self):
        self.shown = self.memory.get_prompt_ready()
        others = [agent for agent in self.model.agents if agent is not self]
        self.send_message(f"{self.model.says} since day {self.model.steps}.", others)


class Square(mesa.Model):
    """Gossips who know nothing of studies."""

    def __init__(self, n=2, says=PLAIN, rng=None):
        super().__init__(rng=rng)
        self.says = says
        for _ in range(n):
            Gossip(self, CoTReasoning, register_policy("quiet", lambda turn: "ok"))

    def step(self):
        self.agents.do("step")


def square(file, factors, **given):
    return Study(
        Square, factors, **({"seeds": [1, 2], "steps": 6, "store": file} | given)
    )


def counted(study):
    """The table of runs, with the names that counts have elsewhere."""
    return study.results().runs.rename(columns=lambda name: name.removeprefix("run_"))


def test_the_table_of_runs_says_what_each_memory_made_recalled_and_showed(file):
    memories = ["short_term", "stlt", "fact", "episodic"]
    factors = {"memory": memories, "llm": "offline"}
    study = square(file, factors, seeds=[1], steps=10)
    run(study)
    runs = counted(study).set_index("memory")
    assert list(runs.columns[-len(CHECKS) - 2 : -2]) == list(CHECKS)
    # Each of the two says and hears a message a day.
    assert set(runs["events_remembered"]) == {40}
    assert not runs.loc["short_term", ["records_made", "thoughts_asked"]].any()
    assert runs.loc["stlt", "records_summarised"] > 0
    assert runs.loc["fact", "records_made"] > 0
    assert runs.loc["fact", "records_summarised"] >= 38, "the newest are not read yet"
    assert runs.loc["episodic", "records_recalled"] > 0
    assert not runs["records_recalled"].drop("episodic").any()
    assert (runs["lines_shown"] > 0).all()
    assert (runs["thoughts_by_rules"] == runs["thoughts_asked"]).all()
    assert list(runs["calls"]) == list(runs["thoughts_asked"])
    assert not runs[[*CHECKS[-3:]]].to_numpy().any()


def test_the_numbers_are_those_of_the_record(file):
    study = square(file, {"memory": ["fact", "episodic"], "llm": "offline"}, seeds=[1])
    run(study)
    for row in counted(study).to_dict("records"):
        with open_run(file, row["run"]) as recorded:
            states = [recorded.state(a, step=s) for a in (1, 2) for s in recorded.steps]
            ids = {i for state in states for i in state["id"]}
            assert row["events_remembered"] + row["records_made"] >= len(ids)
            found = recorded.recalls()
            assert row["records_recalled"] == (
                found["shown"].sum() if len(found) else 0
            )
            assert row["thoughts_asked"] == len(recorded.calls())
            lines = recorded.prompts()["text"].str.count(r"(?m)^- ").sum()
            assert row["lines_shown"] == lines


def test_the_status_has_one_row_for_each_arm_in_which_runs_are_added_up(file):
    study = square(file, {"memory": ["short_term", "fact"], "llm": "offline"})
    run(study)
    short, fact = study.status().checks
    assert short["parameters"] == {"memory": "short_term", "llm": "offline"}
    assert short["arm"] == "memory='short_term'"
    assert (short["runs"], short["events_remembered"]) == (2, 48)
    runs = counted(study).query("memory == 'fact'")
    assert {name: fact[name] for name in CHECKS} == {
        name: runs[name].sum() for name in CHECKS
    }


def test_who_answered_is_told_apart_and_so_is_what_could_not_be_used(file):
    summary = {"summary": "Nothing of the kind."}
    llm = ScriptedLLM(rules={"consolidate": summary, "extract": "no"})
    study = square(
        file, {"memory": ["stlt", "fact"], "llm": {"script": llm}}, seeds=[1], steps=8
    )
    run(study)
    stlt, fact = counted(study).to_dict("records")
    assert stlt["thoughts_by_model"] == stlt["thoughts_asked"] > 0
    assert stlt["thoughts_by_rules"] == fact["thoughts_by_rules"] == 0
    assert stlt["thoughts_doubtful"] > 0 and stlt["thoughts_given_up"] == 0
    # Each is sent back once, and then it is given up.
    assert fact["thoughts_given_up"] == fact["thoughts_asked"] / 2 > 0
    assert fact["records_made"] == 0
    counts = f"{stlt['thoughts_doubtful']:,} of {stlt['records_made']:,}"
    told = f"{counts} texts that memories made are marked as doubtful."
    assert told in study.methods() and told in study.checklist()


def test_without_a_record_there_are_the_numbers_of_the_ledger(file):
    study = square(file, {"memory": "fact", "llm": "offline"}, seeds=[1], record=False)
    run(study)
    (row,) = counted(study).to_dict("records")
    assert row["thoughts_asked"] == row["thoughts_by_rules"] == row["calls"] > 0
    unknown = [name for name in CHECKS if name not in CHECKS[5:8]]
    assert counted(study)[unknown].isna().all(axis=None)


def test_an_arm_whose_memory_made_nothing_says_so_in_results_and_on_the_console(
    file, caplog
):
    factors = {"memory": ["short_term", "fact"], "says": [PLAIN, FLOWERY]}
    study = square(file, factors | {"llm": "offline"}, seeds=[1])
    with caplog.at_level(logging.WARNING):
        status = run(study)
    (warning,) = study.results().warnings
    assert status.warnings == [warning] and warning in str(status)
    assert "memory='fact'" in warning and f"says={FLOWERY!r}" in warning
    assert "made nothing of 24 events" in warning
    assert "the offline rules of mesa-memory" in warning
    assert "What the offline model reads" in warning
    assert [r for r in caplog.records if warning in r.getMessage()]


@pytest.mark.parametrize(("says", "times"), [(FLOWERY, 1), (PLAIN, 0)])
def test_a_memory_that_finds_no_fact_says_so_once(says, times, caplog):
    model = Square(n=3, says=says, rng=1)
    configure(model, llm="offline")
    for agent in model.agents:
        agent.memory = FactMemory(agent)
    for _ in range(9):
        model.step()
    said = [r.getMessage() for r in caplog.records if "no fact" in r.getMessage()]
    assert len(said) == times
    for text in said:
        assert "no fact in 12 of 12 events" in text
        assert "the offline rules of mesa-memory" in text
