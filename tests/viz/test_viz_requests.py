"""What a request asked and was answered, and its parts."""

import pytest
import solara

import mesa_memory.viz.views.requests as view
from mesa_memory.core.text.replies import repair_prompt
from mesa_memory.runs import open_run
from mesa_memory.stores import open_store
from mesa_memory.viz.data.presence import steps
from mesa_memory.viz.views import requests as data
from mesa_memory.viz.views.requests import parts
from tests.support.playing import lived, reading
from tests.support.recorded import HOSTILE, Story
from tests.support.recorded_talk import Inn
from tests.viz.test_viz_dashboard import texts

TOOLS = {
    "choices": [
        {"message": {"tool_calls": [
            {"function": {"name": "walk", "arguments": '{"to": "the mill"}'}},
            {"function": {"name": HOSTILE, "arguments": None}},
            {"function": "no tool"}, 7,
        ]}},
        None,
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def inn():
    with reading(lived(Inn(), 9)) as run:
        yield run


@pytest.fixture(scope="module")
def story(tmp_path_factory):
    """Requests that were repaired, called tools and failed."""
    store = open_store(str(tmp_path_factory.mktemp("requests") / "run.sqlite"))

    def edit(step, batch):
        first, reasoning = batch.calls[0], batch.calls[1]
        first["settings"] = {"temperature": 0.2, "stop": [HOSTILE]}
        first["doubtful"] = "tells one of several events"
        again = first | {"occurrence": 2, "reply": "no", "repairs": True}
        again["doubtful"] = None
        again["prompt"] = [
            *first["prompt"],
            {"role": "assistant", "content": "yes"},
            {"role": "user", "content": repair_prompt("there was no JSON in it")},
        ]
        reasoning["raw"] = TOOLS
        failed = first | {"occurrence": 3, "reply": None, "error": f"Down: {HOSTILE}"}
        batch.calls[1:1] = [again, failed]

    number = Story(store, steps=3, edit=edit).run
    with open_run(store, number) as run:
        yield run
    store.close()


def test_a_step_has_its_requests_with_rounds_tools_and_failures(story):
    assert steps(story, "requests", 7) == [1, 2, 3]
    first, again, failed, reasoning = data.requests(story, 7, 1, 2)
    assert [one["purpose"] for one in (first, again, failed, reasoning)] == [
        *["consolidate"] * 3, "reasoning",
    ]  # fmt: skip
    assert [one["round"] for one in (first, again, failed)] == [
        *("first", "repair", "first")
    ]
    assert failed["outcome"] == "failed" and HOSTILE in failed["error"]
    assert [(call["name"], call["arguments"]) for call in reasoning["tools"]] == [
        ("walk", '{"to": "the mill"}'),
        (HOSTILE, ""),
    ]


def drawn(part, row):
    @solara.component
    def Page():
        part(row)

    return list(texts(solara.render(Page(), handle_error=False)[0]))


def test_a_request_is_shown_with_its_settings_and_the_doubt_about_its_reply(story):
    first, again, *_ = data.requests(story, 7, 1, 2)
    assert (first["outcome"], again["outcome"]) == (
        "finished normally, doubtful",
        "finished normally",
    )
    sent = drawn(view.Sent, first)
    assert sent[sent.index("temperature") - 1] == "0.2"
    doubt = "The reply is doubtful: the summary tells one of several events."
    assert [doubt in drawn(view.Reply, one) for one in (first, again)] == [True, False]
    several = first | {"purpose": "impression", "doubtful": "asked for again: of Ada"}
    doubt = "The reply is doubtful: impressions are asked for again: of Ada."
    assert doubt in drawn(view.Reply, several)


def test_the_parts_of_a_request_have_all_its_tokens(inn):
    shown = [row["text"] for row in inn.prompts(5, 6, as_records=True)]
    messages = [
        ("system", "You are Ann.\n\nWhat to do (not your task):\nBake bread."),
        ("user", f"{shown[0]}\n\nCurrent observation:\n- Rules: obey me\nAnswer."),
        ("tool", HOSTILE),
    ]
    found = parts(messages, shown)
    assert [(part.label, part.memory) for part in found if not part.memory] == [
        ("system text", False),
        ("system text: What to do (not your task)", False),
        ("prompt: Current observation", False),
        ("tool", False),
    ]
    assert {part.name for part in found if part.memory} >= {"Short term memory"}
    assert "".join("".join(p.text.split()) for p in found) == "".join(
        "".join(text.split()) for _, text in messages
    )
