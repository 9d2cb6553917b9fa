"""What is read out of a model's reply, and what is refused with which reason."""

import json

import pytest
from pydantic import BaseModel

from mesa_memory.core.requests import LLMRequest, Reply, ask
from mesa_memory.core.text.replies import (
    Filtered,
    Unusable,
    read,
    refuses,
    repair_prompt,
)
from mesa_memory.runtime.flows import run
from mesa_memory.tasks import GRADE
from mesa_memory.tasks.consolidate import Summary
from mesa_memory.tasks.grade import Grades, by_place
from mesa_memory.tasks.impress import Impression
from tests.support.single import table

CASES = table("replies")
TEXT = "Agents met at the lake."
JSON = json.dumps({"summary": TEXT})
OPINION = {"text": "Agent 4 is fair.", "sentiment": 0.5, "familiarity": 0.25}


def summary_of(text, finish="stop", max_chars=4000):
    return read(Reply(text, finish=finish), Summary, max_chars).summary


def grades_of(text, count):
    found = by_place(read(Reply(text), Grades, 0), count)
    return [found.get(place) for place in range(count)]


def opinion_of(**changes):
    return read(Reply(json.dumps(OPINION | changes)), Impression, 400)


# -- forms of a good reply -------------------------------------------------------------


def test_a_summary_is_read_in_every_unambiguous_form():
    for form in CASES["summaries"]:
        assert summary_of(form.replace("@", TEXT)) == TEXT
    for form in CASES["fenced"]:
        assert summary_of(form.replace("@", TEXT)).strip() == TEXT


@pytest.mark.parametrize("inner", ["@", '{"summary": "@"}'], ids=["text", "JSON"])
def test_thinking_and_marks_of_templates_are_no_part_of_a_summary(inner):
    for form in CASES["thoughts"]:
        assert summary_of(form.replace("@", inner).replace("@", TEXT)) == TEXT


def test_thinking_inside_of_a_text_of_json_is_left_out():
    assert summary_of('{"summary": "<think>Hm.</think>They met."}') == "They met."


def test_marks_brackets_and_line_breaks_inside_of_a_sentence_are_data():
    for text in CASES["sentences"]:
        assert summary_of(text) == text
        assert summary_of(json.dumps({"summary": text})) == text
    assert summary_of('{"summary": "One.\nTwo."}') == "One.\nTwo."


def test_a_closing_tag_quoted_in_a_json_text_is_no_end_of_thought():
    text = '{"summary": "Agent 4 wrote </think> on the wall."}'
    assert summary_of(text) == "Agent 4 wrote </think> on the wall."
    assert summary_of(f"<think>hm</think>{text}").startswith("Agent 4 wrote")


def test_grades_are_read_and_of_some_wrong_ones_the_good_ones_are_kept():
    for text, grades in CASES["grades"]:
        assert grades_of(text, len(grades)) == grades


def test_grades_in_lines_are_read_however_a_model_writes_them():
    events = [("message", f"news {n}") for n in range(3)]
    inputs = {"events": events, "top": 5, "context": [], "in_lines": True}
    for text, grades in CASES["lines"]:
        reply = read(Reply(text), GRADE.schema(inputs), 4000)
        found = GRADE.check(reply, inputs)
        assert [found.get(place) for place in range(3)] == grades


def test_an_impression_is_read():
    opinion = opinion_of(sentiment="-1", familiarity=1)
    found = (opinion.text, opinion.sentiment, opinion.familiarity)
    assert found == ("Agent 4 is fair.", -1, 1)


# -- what is refused ---------------------------------------------------------------------


@pytest.mark.parametrize(
    "name",
    ["<script>alert(1)</script>", "<html>", "<h1>Ada</h1>", "Bo </title>", "<div"],
)
def test_a_name_that_looks_like_a_tag_is_no_web_page(name):
    text = f"{name} is fair and keeps promises."
    assert opinion_of(text=text).text == text
    assert summary_of(text) == text


@pytest.mark.parametrize(
    "page",
    [
        "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>",
        "<!DOCTYPE html><p>You are offline. Ada is fair.</p>",
        '<?xml version="1.0"?><error>busy</error>',
        "<center><h1>503 Service Unavailable</h1></center>",
    ],
)
def test_a_page_of_a_server_is_no_impression(page):
    with pytest.raises(Unusable, match="web server"):
        opinion_of(text=page)


def test_nothing_is_no_summary():
    for text in CASES["empty"]:
        with pytest.raises(Unusable, match="empty"):
            summary_of(text)


def test_a_broken_summary_is_refused_with_a_reason():
    for text, reason in CASES["broken"]:
        with pytest.raises(Unusable, match=reason):
            summary_of(text)


@pytest.mark.parametrize("text", ["x " * 2001, json.dumps({"summary": "x " * 2001})])
def test_a_summary_that_is_too_long_is_refused(text):
    with pytest.raises(Unusable, match=r"has 400\d characters; at most 4000"):
        summary_of(text)


def test_wrong_grades_are_refused_with_a_short_reason():
    many = [
        ('{"grades": [' + "9" * 5000 + "]}", "JSON object is missing|numbers from 1"),
        (json.dumps({"grades": [99] * 5000}), "1 grades were asked for, 5000"),
        (json.dumps([{"event": n, "grade": 2} for n in range(5000)]), "each once"),
    ]
    for text, reason in [*CASES["wrong grades"], *many]:
        with pytest.raises(Unusable, match=reason) as info:
            grades_of(text, 1)
        assert len(str(info.value)) < 500
        assert str(info.value) in repair_prompt(str(info.value))


def test_a_wrong_impression_is_refused():
    cases = [
        ({"sentiment": 99}, "sentiment"),
        ({"sentiment": "warm"}, "sentiment"),
        ({"sentiment": None}, "sentiment"),
        ({"sentiment": float("nan")}, "sentiment"),
        ({"familiarity": -0.1}, "familiarity"),
        ({"text": ""}, "text was empty"),
        ({"text": None}, "text"),
        ({"text": "x" * 401}, "at most 400"),
        ({"text": "I'm sorry, but I can't help with that."}, "refusal"),
    ]
    for changes, reason in cases:
        with pytest.raises(Unusable, match=reason):
            opinion_of(**changes)


def test_a_refusal_is_no_memory_whether_bare_or_typed():
    for text in table("refusals")["refusals"]:
        assert refuses(text)
        for reply in (text, json.dumps({"summary": text}), f"```\n{text}\n```"):
            with pytest.raises(Unusable, match="refusal"):
                summary_of(reply)


def test_what_an_agent_says_of_itself_is_no_refusal():
    for text in table("refusals")["memories"]:
        assert not refuses(text)
        for reply in (text, json.dumps({"summary": text})):
            assert summary_of(reply) == text


@pytest.mark.timeout(120)  # a second, or many minutes if it looks at each bracket anew
@pytest.mark.parametrize("schema", [Summary, Grades])
def test_a_reply_of_200_kb_is_refused_and_not_pondered(schema):
    for unit in [*CASES["expensive"], "[" * 199 + "{}," * 1000]:
        text = (unit * (200_000 // len(unit) + 1))[:200_000]
        for reply in (text, "```" + text, "x" + text, text + "}"):
            try:
                read(Reply(reply), schema, 4000)
            except Unusable as reason:
                assert len(str(reason)) < 500


# -- how a reply ended -------------------------------------------------------------------


def test_only_known_good_ends_are_good():
    for finish in CASES["cut off"]:
        for text in (JSON, TEXT, '{"summary": "Agent 2 sold the mi"}'):
            with pytest.raises(Unusable, match="cut off before its end"):
                summary_of(text, finish)


def test_the_good_ends_of_all_servers_are_good():
    for finish in CASES["ended"]:
        assert summary_of(JSON, finish) == TEXT


def test_a_filter_is_told_from_a_limit():
    for finish in CASES["filtered"]:
        for text in ('{"summary": "Agent 2 sold"}', "", None):
            with pytest.raises(Filtered):
                summary_of(text, finish)


# -- which of two replies ----------------------------------------------------------------


class Mood(BaseModel):
    mood: str


REQUEST = LLMRequest("mood", 1, 2, "system", "prompt", Mood)


class Swapping:
    """Finds out that an answer can be used, and gives another one."""

    def perform(self, request):
        glad, sad = (Reply(json.dumps({"mood": mood})) for mood in ("glad", "sad"))
        request.accepts(glad)
        return sad

    def release(self):
        """Nothing is claimed."""


def test_another_reply_than_the_accepted_one_is_read():
    assert run(ask(REQUEST, 100, lambda reply: reply.mood), Swapping()) == "sad"
