"""Grades in lines, as models write them."""

import pytest

from mesa_memory.core.reply import Reply
from mesa_memory.core.text.replies import read
from mesa_memory.tasks import GRADE

READABLE = {
    "plain": "1: 3\n2: 5\n3: 1",
    "stops": "1. 3\n2. 5\n3. 1",
    "bold": "**1**: 3\n**2**: 5\n**3**: 1",
    "bold with the colon": "**1:** 3\n**2:** 5\n**3:** 1",
    "a list": "- 1: 3\n- 2: 5\n- 3: 1",
    "words": "Event 1: grade 3\nEvent 2: grade 5\nEvent 3: grade 1",
    "a table": "| Event | Grade |\n|---|---|\n| 1 | 3 |\n| 2 | 5 |\n| 3 | 1 |",
    "reasons": "1: 3 - useful later\n2: 5 (changes the plan)\n3: 1, mere routine",
    "prose around": "Here are the grades:\n\n1: 3\n2: 5\n3: 1\n\nTell me more!",
    "a fence": "```\n1: 3\n2: 5\n3: 1\n```",
    "dashes": "1 – 3\n2 – 5\n3 – 1",
    "thinking": "<think>1: 5? No.</think>\n1: 3\n2: 5\n3: 1",
}


def grades(text):
    inputs = {
        "events": [("message", f"news {n}") for n in range(3)],
        "top": 5,
        "context": [],
        "in_lines": True,
    }
    reply = read(Reply(text), GRADE.schema(inputs), 4000)
    return GRADE.check(reply, inputs)


@pytest.mark.parametrize("text", [*READABLE.values()], ids=[*READABLE])
def test_lines_are_read_however_a_model_writes_them(text):
    assert grades(text) == {0: 3, 1: 5, 2: 1}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("1: 3.5\n2: 5\n3: 1", {1: 5, 2: 1}),
        ("1: 3/5\n2: 5\n3: 1", {1: 5, 2: 1}),
        ("1: 3 apples were sold\n2: 5\n3: 1", {1: 5, 2: 1}),
        ("2: 5", {1: 5}),
        ("1: 0\n2: 6\n3: 1", {2: 1}),
    ],
)
def test_lines_without_a_whole_grade_are_left_out(text, found):
    assert grades(text) == found
