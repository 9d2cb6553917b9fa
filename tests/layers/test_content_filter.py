"""A provider's content filter refuses an event: that event alone goes without an answer."""

import json
import logging
from functools import partial

import mesa
import pytest

from mesa_memory import (
    ConversationMemory,
    EpisodicMemory,
    FactMemory,
    ImpressionMemory,
    LongTermMemory,
    NarrativeMemory,
    Services,
    STLTMemory,
    configure,
    resume,
)
from mesa_memory.layers import Reflection
from tests.support.models import hear
from tests.support.openai_server import Behaviour, OpenAIServer
from tests.support.single import settle, table

BLOOD = "stabbed"


#: how providers say it
REFUSALS = [
    Behaviour("reply", code=row["status"], body=json.dumps(row["body"]).encode())
    for row in table("provider_errors")
    if row["kind"] == "filtered"
    and row["provider"] in ("Azure", "DeepSeek", "xAI", "DashScope")
] + [
    Behaviour.text("", "content_filter"),
    Behaviour.text('{"summary": "Carl w', "PROHIBITED_CONTENT"),
]


@pytest.fixture
def server():
    with OpenAIServer() as server:
        server.behave = filtering(REFUSALS[0])
        yield server


def filtering(refused):
    return lambda received: refused if BLOOD in received.prompt else None


class Town(mesa.Model):
    def __init__(self, base="", memory=LongTermMemory, record=None, seed=1, **more):
        super().__init__(rng=seed)
        recorded = {} if record is None else {"record": record}
        hasty = {"execution": "blocking", "attempts": 1, "timeout": 20, "deadline": 20}
        configure(self, **hasty, **recorded)
        kind = partial(memory, **more)
        (self.citizen,) = settle(self, kind, name="openai/m", api_base=base or None)

    def hear(self, *texts):
        hear(self.citizen.memory, *((2, text) for text in texts))


def marks(town):
    records = town.citizen.memory.current_records()
    found = {r.content["message"]: r for r in records if r.kind == "message"}
    return {text: record.importance is not None for text, record in found.items()}


def derived(town):
    found = town.citizen.memory.current_records()
    return [record for record in found if record.origin == "derived"]


NEWS = ["It rains", "Ann sells bread", f"Carl was {BLOOD}", "The mill is new", "Fish!"]


def test_the_other_events_get_their_grades_and_the_run_goes_on():
    for refused in REFUSALS:
        with OpenAIServer(behave=filtering(refused)) as server:
            town = Town(server.base, EpisodicMemory, grade_together=1)
            town.hear(*NEWS)
            sent = server.requests
            town.hear("It snows")
            # The marked event is not asked about again.
            assert server.requests == sent + 1
            assert marks(town) == {
                text: BLOOD not in text for text in [*NEWS, "It snows"]
            }


@pytest.mark.parametrize("places", [{0}, {1}, {2}, {3}, {4}, {0, 3, 6}], ids=str)
def test_refused_events_are_found_wherever_they_stand(places, server):
    days = range(3 + 2 * len(places))
    news = [f"{BLOOD} {n}" if n in places else f"quiet day {n}" for n in days]
    town = Town(server.base, EpisodicMemory)
    town.hear(*news)
    assert marks(town) == {text: BLOOD not in text for text in news}
    assert server.requests <= 6 * len(places)


def test_the_log_names_the_event_once_and_not_its_text(server, caplog):
    caplog.set_level(logging.DEBUG, "mesa_memory")
    town = Town(server.base, EpisodicMemory)
    town.hear(*NEWS)
    town.hear("It snows")
    said = [r.getMessage() for r in caplog.records if "content filter" in r.message]
    assert len(said) == 1
    assert "agent 1" in said[0]
    assert "step 1" in said[0]
    assert "message" in said[0]
    assert BLOOD not in caplog.text


@pytest.mark.parametrize("memory", [LongTermMemory, STLTMemory])
def test_a_summary_covers_the_other_events(memory, server):
    town = Town(server.base, memory)
    for text in (*NEWS, *(f"quiet day {n}" for n in range(12))):
        town.hear(text, f"{text}, says Bob")
    said = town.citizen.memory.long_term_memory
    assert said
    assert BLOOD not in said
    (summary,) = [r for r in derived(town) if r.kind == "summary"]
    assert summary.sources


def test_a_summary_of_nothing_but_refused_events_is_not_asked_for_again(server):
    town = Town(server.base, LongTermMemory)
    for day in range(3):
        town.hear(f"Carl was {BLOOD} {day}")
    sent = server.requests
    town.hear("It rains")
    assert server.requests - sent <= 2
    assert BLOOD not in town.citizen.memory.long_term_memory
    for day in range(3):
        assert f"{BLOOD} {day}" in town.citizen.memory.get_prompt_ready()


def test_what_is_made_of_events_comes_from_the_others(server):
    at_three = {"reflection": Reflection.direct(), "reflect_threshold": 3}
    for memory, kind, more in (
        (ConversationMemory, "conversation", {"short_term_turns": 1}),
        (EpisodicMemory, "reflection", at_three),
        (FactMemory, "fact", {}),
        (ImpressionMemory, "impression", {"update_every": 3}),
        (NarrativeMemory, "chapter", {"chapters": 2}),
    ):
        town = Town(server.base, memory, **more)
        for day in range(4):
            town.hear(*NEWS, f"quiet day {day}")
        found = [r for r in derived(town) if r.kind == kind]
        assert found, memory
        refused = {
            r.id
            for r in town.citizen.memory.current_records()
            if BLOOD in str(r.content)
        }
        assert all(refused.isdisjoint(r.sources) for r in found), memory


def test_a_conversation_of_one_refused_line_is_kept_word_for_word(server):
    town = Town(server.base, ConversationMemory, idle_steps=1)
    town.hear(f"Carl was {BLOOD}")
    for _ in range(3):
        town.hear()
    sent = server.requests
    assert f"Carl was {BLOOD}" in town.citizen.memory.get_prompt_ready()
    town.hear()
    assert server.requests == sent


def test_a_run_that_goes_on_does_not_ask_about_the_event_again(server, tmp_path):
    file = tmp_path / "run.sqlite"
    at_once = partial(EpisodicMemory, grade_together=1)
    town = Town(server.base, at_once, record=str(file))
    town.hear(*NEWS)
    town.step()
    Services.of(town).recorder.close()
    server.clear()
    again = resume(Town, str(file), base=server.base, memory=at_once)
    again.hear("It snows")
    assert not any(BLOOD in received.prompt for received in server.log)
    assert marks(again)["It snows"]
