"""Decisions of a recorded run: each with what was in it, also if the agent read often."""

import mesa
import pytest

from mesa_memory import ShortTermMemory, close, configure, open_run
from tests.support.playing import play
from tests.support.refusing import REFUSAL, REFUSER, REFUSES, TOLD, Council
from tests.support.single import settle


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = tmp_path_factory.mktemp("council") / "run.sqlite"
    play(Council(str(place)), REFUSAL)
    return place


@pytest.fixture(scope="module")
def refusals(file):
    with open_run(file) as run:
        return run.decisions(REFUSER, REFUSAL, as_records=True)


def used(decision):
    """The recalled lines that an answer used."""
    return {line["text"] for line in decision["recalled"] if line["used"]}


def test_decisions_stand_in_the_order_of_asking_whatever_their_purpose(refusals):
    asked = [row["purpose"] for row in refusals]
    assert asked == ["welcome", "vote", "reasoning", "reasoning"]


def test_a_refusal_has_the_recalled_line_that_its_answer_used(refusals):
    vote = refusals[1]
    assert vote["answer"] == REFUSES
    assert used(vote) == {TOLD}
    assert any(not line["used"] for line in vote["recalled"])
    welcome = refusals[0]
    assert TOLD in [line["text"] for line in welcome["recalled"]]
    assert TOLD not in used(welcome)


def test_each_request_has_the_text_of_the_read_that_is_in_it(refusals):
    welcome, vote, *_ = refusals
    assert "Short term" not in welcome["memory"]  # nothing was recent yet
    assert "The harvest is late." in vote["memory"].split("Short term")[1]
    for row in (welcome, vote):
        assert row["memory"] in row["question"]
        assert "The harvest is late." not in row["question_only"]
        assert row["question_only"].count("[its memory]") == 1
        only = row["question_only"].replace("[its memory]", row["memory"])
        assert only == row["question"].strip()
        assert len(set(row["memory"].splitlines())) > 5


def test_an_earlier_read_that_a_later_one_contains_is_not_told_twice(tmp_path):
    place = tmp_path / "run.sqlite"
    play(Council(str(place), memory=ShortTermMemory), 2)
    with open_run(place) as run:
        welcome, vote, *_ = run.decisions(REFUSER, 2, as_records=True)
    assert welcome["memory"] in vote["memory"] != welcome["memory"]
    for row in (welcome, vote):
        assert row["question"].startswith(row["memory"])
        assert row["recalled"] == []


def test_a_tool_call_has_its_result_and_what_followed_is_told_as_to_the_agent(refusals):
    *_, think, act = refusals
    for section in think["memory"].split("\n\n"):
        assert section in think["system"]
    assert "speak_to" in act["tools"]
    (call,) = act["tool_calls"]
    assert call["name"] == "speak_to" and "how I voted" in call["arguments"]
    assert call["result"] == "sent message 'I tell member 1 how I voted.' to [1]"
    told = [each["text"] for each in act["followed"]]
    assert told[-1] == f"Used speak_to: {call['result']}"
    assert act["memory"] == "" and act["recalled"] == []


class Hut(mesa.Model):
    """Agents with and without a memory, whose attributes change, appear and go."""

    def __init__(self, record=None, rng=None):
        super().__init__(rng=rng)
        configure(self, llm="offline", record=record, outcomes=("mood", "agent", "x"))
        settle(self, ShortTermMemory, 1)
        for _ in range(10):
            mesa.Agent(self)

    def step(self):
        now = self.steps
        self.agents[0].mood = "calm" if now < 3 else None
        self.agents[1].x, self.agents[-1].agent = now / 2, now > 1
        if now == 4:
            self.agents[-1].remove()


def test_the_outcomes_of_agents_have_a_row_for_each_step_and_agent(tmp_path):
    hut = Hut(record=tmp_path / "hut.sqlite", rng=1)
    for _ in range(4):
        hut.step()
    close(hut)
    with open_run(tmp_path / "hut.sqlite") as run:
        frame, rows = run.outcomes(), run.outcomes(as_records=True)
        assert run.decisions().empty
    assert list(frame.columns) == ["step", "agent", "own_agent", "mood", "x"]
    assert [tuple(row.values()) for row in rows] == [
        (1, 1, None, "calm", None), (1, 2, None, None, 0.5), (1, 11, False, None, None),
        (2, 1, None, "calm", None), (2, 2, None, None, 1), (2, 11, True, None, None),
        (3, 2, None, None, 1.5), (3, 11, True, None, None),
        (4, 2, None, None, 2),
    ]  # fmt: skip
