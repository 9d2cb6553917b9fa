"""Layers alone, by ``next`` and ``send``."""

import pytest

from mesa_memory.core.requests import Embedded, EmbedRequest, Reply, SharedAnswers
from mesa_memory.layers.stream.event_stream import EventStream
from mesa_memory.layers.stream.grading import Grader
from mesa_memory.layers.window import Window
from tests.memories.alone import happens, joined


def ended(flow, answer):
    with pytest.raises(StopIteration):
        flow.send(answer)


CALL = (
    "Message(content=None, tool_calls=[ChatCompletionMessageToolCall(function="
    "Function(arguments='{\"to\": \"mill\"}', name='walk'), id='1', type='function')])"
)


@pytest.mark.parametrize(
    "later",
    [
        [("message", {"message": "Two.", "sender": 2})],
        [("observation", {"local_state": {"Citizen 2": {"mood": "sad"}}})],
        [
            ("plan_execution", {"content": CALL}),
            ("action", {"tool_calls": [{"name": "walk", "response": "went"}]}),
        ],
    ],
    ids=["a message", "another observation", "a call and its action"],
)
def test_lines_of_a_step_that_was_told_already_are_those_of_all_its_events(later):
    window = joined(Window(5))
    view = window.memory.view()
    seen = {"local_state": {"Citizen 2": {"mood": "glad"}}}
    first = [view.open("observation", seen)]
    first.append(view.open("message", {"message": "One.", "sender": 2}))
    window.admit(view, 1, first)
    before = [line.text for line in window.recent(window.memory.view())]
    events = [view.open(kind, content) for kind, content in later]
    window.admit(view, 1, events[:1])
    window.recent(window.memory.view())
    window.admit(view, 1, events[1:])
    afresh = joined(Window(5))
    afresh.admit(view, 1, [*first, *events])
    shown = [line.text for line in window.recent(window.memory.view())]
    assert (
        shown == [line.text for line in afresh.recent(afresh.memory.view())] != before
    )
    assert window.sizes(view)[0] == afresh.sizes(view)[0]


def test_a_stream_grades_then_embeds_and_stays_new_after_a_failure():
    stream = joined(EventStream(Grader(together=1), capacity=2))
    (event,) = happens([stream], "The mill burns!")
    flow = stream.remember(stream.memory.view())
    effect = next(flow)
    effect = flow.send(SharedAnswers({}, [*effect.keys], []))
    assert effect.purpose == "grade" and "The mill burns!" in effect.prompt
    assert [line.records for line in stream.recent(stream.memory.view())] == [(event,)]
    effect = flow.send(Reply('{"grades": [4]}'))
    effect = flow.send(None)
    assert event.importance == 4 and isinstance(effect, EmbedRequest)
    ended(flow, Embedded([[1.0, 0.0]], "none"))
    assert stream.recent(stream.memory.view()) == [] and list(stream.records()) == [
        event
    ]
