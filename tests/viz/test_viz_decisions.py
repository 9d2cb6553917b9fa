"""A decision on one page: question, memory in it, answer, tool calls, what followed."""

import re

import pytest

from mesa_memory.runs.past import past
from mesa_memory.viz.data import decisions as data
from mesa_memory.viz.report import write_report
from mesa_memory.viz.widgets.chart import COLOURS
from tests.support.axe import faults
from tests.support.browser import Window
from tests.support.playing import play
from tests.support.refusing import REFUSAL, REFUSER, REFUSES, TOLD, Council

RESULT = "sent message 'I tell member 1 how I voted.' to [1]"
QUESTION = "Do you sign the treaty with member 4?"
AT = f"agent={REFUSER}&step={REFUSAL}"


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    place = str(tmp_path_factory.mktemp("council") / "run.sqlite")
    play(Council(place), REFUSAL + 1)
    return place


def test_the_lines_of_memory_that_an_answer_used_are_marked(run):
    _, vote, think, act = data.decisions(run, REFUSER, REFUSAL)
    lines = data.memory_lines(vote)
    assert [text for mark, text in lines if mark == data.USED] == [f"- {TOLD}"]
    assert sum(mark == data.RECALLED for mark, _ in lines) > 3
    assert "\n".join(text for _, text in lines) == re.sub("\n+", "\n", vote["memory"])
    assert data.memory_lines(act) == []
    assert data.answer(vote) == REFUSES
    assert data.answer(act).startswith('calls speak_to {"listener_agents')
    remembered = past(run, REFUSER)
    names = [
        data.name_of(one, remembered) for one in data.decisions(run, REFUSER, REFUSAL)
    ]
    assert names == ["welcome", "vote", "plan", "tool call"]
    assert data.name_of(vote | {"purpose": "reasoning"}, remembered) == "answer"
    assert data.subject_of(vote) == f"asked “{QUESTION}”"
    long = {"question_only": f"{'Say it now. ' * 6}Do you meet Agent 29?"}
    assert data.subject_of(long).endswith("Do you …”")
    assert data.answer(think | {"error": "Down: no"}) == "no answer: Down: no"


@pytest.mark.parametrize(
    ("asked", "end"),
    [
        ("Be brief.\n\nYour memory:\n[its memory]\n\nSign?", "Sign?"),
        ("Be brief.\nSign?\n\nYour memory:\n[its memory]", "Be brief. Sign?"),
        ("Sign?\n[its memory]\n", "Sign?"),
        ("Memory:\n[its memory]\nSign?\n\nMore:\n[its memory]", "Sign?"),
        ("Memory:\n[its memory]", "Memory: [its memory]"),
        ("Sign?", "Sign?"),
    ],
)
def test_a_table_of_decisions_has_what_was_asked_and_not_the_heading_of_memory(
    asked, end
):
    assert data.end_of(asked) == end


def test_all_decisions_stand_in_one_table_of_the_view_and_the_report(run, tmp_path):
    found = data.decided(run)
    rows = run.decisions(as_records=True)
    # Of the twelve, the second comes before the tenth.
    rows.sort(key=lambda row: (row["step"], row["agent"]))
    assert [(one["step"], one["agent"]) for one in found] == [
        (row["step"], row["agent"]) for row in rows
    ]
    for one, row in zip(found, rows):
        end = one["question"].removeprefix("… ").removesuffix(" [its memory]")
        assert end and end in " ".join(
            row["question_only"].replace(data.MEMORY_SIGN, " ").split()
        )
        assert len(one["question"]) <= data.END_CHARS + 2
        assert one["answer"] == data.answer(row)
    assert any(one["question"].endswith(QUESTION) for one in found)
    page = write_report(run, tmp_path / "all.html").path.read_text(encoding="utf-8")
    table = page[page.index('<table id="decided"') :]
    assert table[: table.index("</table>")].count("<tr><td") == len(found)
    style = page[page.index("<style>") : page.index("</style>")]
    for place, colour in enumerate(COLOURS):
        assert (
            f".class{place}, #town circle.class{place} {{ fill: {colour}; }}" in style
        )


def test_lines_of_a_memory_that_does_not_recall_are_marked_too():
    decision = {
        "memory": "Step 1:\n- The mill burns.\n- Geese walk.", "recalled": [],
        "answer": None, "tool_calls": [{"name": "say", "arguments": "The mill burns!"}],
    }  # fmt: skip
    assert [mark for mark, _ in data.memory_lines(decision)] == ["", data.USED, ""]
    worded = {"text": "Mill: burnt down", "used": True, "score": 1.0}
    *_, last = data.memory_lines(decision | {"recalled": [worded]})
    assert last == (data.USED, "Mill: burnt down")


@pytest.mark.slow
def test_why_an_agent_refused_is_answered_on_one_page(window):
    window.open(f"?view=agent&{AT}", see="text=Decision: vote")
    window.until(lambda: window.text().count("Decision: ") == 4)
    vote = window.page.locator(".mm-section", has_text="Decision: vote")
    shown = vote.inner_text()
    for text in (
        QUESTION,
        f"- {TOLD} (shares words with answer)",
        REFUSES,
        "Saw nobody.",
    ):
        assert text in shown, text
    act = window.page.locator(".mm-section", has_text="4 of 4 in step").inner_text()
    assert RESULT in act and "speak_to" in act and f"Used speak_to: {RESULT}" in act
    assert window.page.locator("img[src=x]").count() == 0
    assert faults(window.page) == []
    vote.get_by_role("button", name="Tokens and cost").click()
    window.shows(view="requests")
    window.until(lambda: f"- {TOLD} (shares words with answer)" in window.text())
    assert QUESTION in window.text() and "tokens in" in window.text()
    assert window.faults == []


@pytest.mark.slow
def test_the_story_tells_a_decision_and_leads_to_all_of_it(window):
    window.open(f"?{AT}", see="ul[aria-label='Its decisions']")
    line = window.page.locator("ul[aria-label='Its decisions'] button").nth(1)
    assert line.inner_text() == f"vote, asked “{QUESTION}”: {REFUSES}"
    line.click()
    window.shows(view="agent", agent=REFUSER, step=REFUSAL)
    window.until(lambda: QUESTION in window.text())


@pytest.mark.slow
def test_a_report_has_the_decisions_of_the_agents_that_it_shows(
    run, chromium, tmp_path
):
    path = write_report(run, tmp_path / "report.html", [REFUSER]).path
    with Window(chromium, path.as_uri(), offline=True) as one:
        one.page.goto(one.base)
        one.page.fill("#slider", str(REFUSAL - 1))
        decided = one.page.locator("#mind > div", has_text="Its decisions")
        one.until(lambda: REFUSES in decided.inner_text())
        shown = decided.inner_text()
        for text in (
            QUESTION,
            f"- {TOLD} shares words with answer",
            RESULT,
            "Used speak_to",
        ):
            assert text in shown, text
        assert one.page.locator("img").count() == 0
        assert faults(one.page) == []
