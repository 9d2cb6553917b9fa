"""The lists of the page about the offline model are what its rules do."""

import re
from pathlib import Path

import pytest

import mesa_memory.tasks as tasks
from mesa_memory.core.wording import ENGLISH

PAGE = Path(__file__).parent.parent.parent / "docs" / "guide" / "offline.md"
MEMORY = """
- Agent 2 says: Ann lives in Rome with her three cows
- Agent 3 says: the bridge is broken
- observation: price: 5
- Agent 4 says: Carl was elected mayor
"""


def columns(of):
    """The columns of the first table after a word of the page, without empty cells."""
    lines = PAGE.read_text("utf-8").partition(f"`{of}`")[2].splitlines()
    first = next(n for n, line in enumerate(lines) if line.startswith("|"))
    rows = []
    for line in lines[first:]:
        if not line.startswith("|"):
            break
        rows.append([cell.strip() for cell in line.strip("|").split("|")])
    return [[cell for cell in column if cell] for column in zip(*rows[2:])]


def message(text):
    return f"Agent 2 says: {text}"


def states_a_fact(text):
    said = {
        "me": "Agent 1",
        "said": [("Agent 2", "Agent 1", text)],
        "lines": [message(text)],
    }
    return bool(tasks.EXTRACT.offline(said | {"known": [], "summary": None})["facts"])


def same_attribute(names):
    def fact(attribute, value):
        line = f"Ann: {attribute}: {value}"
        return {"line": line, "attribute": attribute, "value": value, "holds": True}

    known, new = names.split(", ")
    asked = {
        "known": [fact(known, "this")],
        "new": [fact(new, "that") | {"may_be": [0]}],
    }
    (decision,) = tasks.JUDGE.offline(asked)["decisions"]
    return decision["operation"] == "UPDATE"


def grade(text):
    given = {"events": [("message", message(text))], "top": 5}
    return tasks.GRADE.offline(given)["grades"][0]


def shares_a_theme(text):
    lines = [message("The well in the square is poisoned."), f"Agent 3 says: {text}"]
    asked = {"lines": lines, "count": 1, "questions": [], "held": [], "top": 0}
    (insight,) = tasks.REFLECT.offline(asked)["insights"]
    (question,) = tasks.QUESTIONS.offline(asked)["questions"]
    theme = question.removeprefix("What is known about ").rstrip("?")
    shared = insight["evidence"] == [1, 2]
    assert shared == all(re.search(rf"\b{theme}\b", line.lower()) for line in lines)
    return shared


def is_answered(question):
    asked = {"question": question, "memory": MEMORY, "recalled": []}
    return tasks.PROBE.offline(asked) != ENGLISH("probe", "offline unknown")


@pytest.mark.parametrize(
    ("task", "reads"),
    [
        ("extract", states_a_fact),
        ("judge", same_attribute),
        ("grade", lambda text: grade(text) >= 4),
        ("reflect", shares_a_theme),
        ("probe", is_answered),
    ],
)
def test_the_rules_read_the_first_column_and_miss_the_second(task, reads):
    read, missed = columns(task)
    assert len(read) > 4 and len(missed) > 4
    assert [text for text in read if not reads(text)] == []
    assert [text for text in missed if reads(text)] == []


def summaries(text):
    told = [text, *(f"I sweep room {number}." for number in range(6))]
    lines = [(step, message(each)) for step, each in enumerate(told)]
    given = {"lines": lines, "summary": "", "story": "", "number": 1, "judge": False}
    given |= {"me": "Agent 1", "others": "Agent 2"}
    given["turns"] = [("Agent 2", each) for each in told]
    for task, limit in (
        (tasks.CONSOLIDATE, 200),
        (tasks.STORY, 1000),
        (tasks.CHAPTER, 1000),
        (tasks.CONVERSATION, 1000),
    ):
        yield task.offline(given | {"max_chars": limit})["summary"]


def test_summaries_copy_what_the_rules_find_important():
    read, missed = columns("grade")
    assert all(grade(text) == 2 for text in missed), "as routine as the weather"
    assert all(text in summary for text in read for summary in summaries(text))
    assert not any(text in summary for text in missed for summary in summaries(text))


def sentiment(text):
    asked = {"observer": "Agent 1", "subject": "Agent 2", "since": []}
    asked["seen"] = [(message(text), text, False)]  # not the observer's own
    asked |= {"previous": None, "meetings": 1, "max_chars": 400}
    return tasks.IMPRESS.offline(asked)["sentiment"]


def test_impressions_have_the_signs_of_the_page():
    friendly, hostile, missed = columns("impression")
    assert all(sentiment(text) > 0 for text in friendly)
    assert all(sentiment(text) < 0 for text in hostile)
    assert all(sentiment(text) == 0 for text in missed)
    assert sentiment("I do not trust you.") > 0, "a wrong sign"
    assert sentiment("What a fine friend you are!") > 0
    assert sentiment("You are not a liar.") < 0
