"""Servers that ignore the exact length of a schema: lines are asked for, in few requests."""

import json
from functools import partial

import pytest

from mesa_memory import EpisodicMemory, Services
from tests.memories.test_grades import fitting, grades_of, listed, numbered, weights
from tests.memories.test_grades import live as happens
from tests.support.models import Town
from tests.support.openai_server import OpenAIServer
from tests.support.single import settle

STEPS, EVENTS = 12, 4


#: replies to a request with a schema that fit it in everything but their length
MISCOUNTED = {
    "one less": lambda g: listed(g[:-1]),
    "the first left out": lambda g: listed(g[1:]),
    "one more": lambda g: listed([*g, 3]),
    "padded to ten": lambda g: listed((g + [1] * 10)[:10]),
    "a mean": lambda g: listed([round(sum(g) / len(g))]),
    "numbered, one less": lambda g: numbered(g[:-1]),
    "numbered, one more": lambda g: numbered([*g, 2]),
    "numbered from nought": lambda g: numbered(g, range(len(g))),
    "by number, one left out": lambda g: listed(
        {n: x for n, x in enumerate(g, 1) if n > 1}
    ),
}


def in_lines(grades):
    return "\n".join(f"{n}: {g}" for n, g in enumerate(grades, 1))


class Server(OpenAIServer):
    """Miscounts where a schema is asked for, and answers in lines otherwise."""

    def __init__(self, miscount, lines=in_lines):
        super().__init__(self._answer)
        self.miscount, self.lines = miscount, lines

    def _answer(self, received):
        form = received.body.get("response_format")
        return (self.miscount if form else self.lines)(weights(received))


def memory_at(server):
    kind = partial(EpisodicMemory, max_capacity=1000)
    (agent,) = settle(Town(), kind, name="openai/test", api_base=server.base)
    return agent.memory


def live(memory, step):
    happens(memory, step, EVENTS)
    Services.of(memory.agent.model).flush()


def right(memory):
    """The number of events with a grade; each has the one that it deserves."""
    return fitting(grades_of(memory))


@pytest.mark.parametrize("miscount", [*MISCOUNTED.values()], ids=[*MISCOUNTED])
def test_a_server_that_miscounts_twice_is_asked_in_lines_from_then_on(miscount):
    with Server(miscount) as server:
        memory = memory_at(server)
        for step in range(1, STEPS + 1):
            live(memory, step)
        assert right(memory) == STEPS * EVENTS
        assert server.requests == STEPS + 2
        forms = ["response_format" in received.body for received in server.log]
        assert forms == [True, False, True, False] + [False] * (STEPS - 2)
        assert "one line for each event" in server.log[-1].prompt


def test_lines_that_never_come_cost_few_requests_and_no_event_is_lost():
    with Server(MISCOUNTED["one less"], lambda g: "They are all important.") as server:
        memory = memory_at(server)
        live(memory, 1)
        server.clear()
        for step in range(2, STEPS + 1):
            live(memory, step)
        assert len(memory.memory_entries) == STEPS * EVENTS and right(memory) == 0
        assert server.requests <= 4 * STEPS
        assert f"news {STEPS}-0" in memory.get_prompt_ready()


def test_the_form_that_a_server_needs_is_part_of_a_memorys_state():
    with Server(MISCOUNTED["a mean"]) as server:
        memory, other = memory_at(server), memory_at(server)
        for step in (1, 2):
            live(memory, step)
        stream = other.layers[0]
        state = memory.layers[0].snapshot()
        assert server.base not in str(state)

        class Shelf:
            def current(self):
                return []

        stream.restore(json.loads(json.dumps({**state, "fresh": []})), Shelf())
        server.clear()
        live(other, 3)
        assert len(server.log) == 1 and "response_format" not in server.log[0].body
